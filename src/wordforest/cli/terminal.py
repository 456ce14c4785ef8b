"""Results for a person at a terminal, or as JSON for a program: neighbours, scores, the forest."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from wordforest import evaluation, reading, store
from wordforest.cli.command import short_names
from wordforest.evaluation import report
from wordforest.evaluation.datasets import Dataset, Status
from wordforest.vectors import Neighbors, Vectors

if TYPE_CHECKING:
    from wordforest.documents.concordance import Concordance
    from wordforest.slices import Comparison

_NEVER_CUT = 10_000  # columns where nobody looks: a file or a pipe gets whole lines


def deliver(text: str, out: Path | None = None) -> None:
    """Print a text, or write it to a file and say so."""
    if out is None:
        sys.stdout.write(text)
        return
    store.write_text(out, text)
    sys.stderr.write(f"wrote {out}\n")


def deliver_json(objects: Iterable[Any], out: Path | None = None, *, form: str = "jsonl") -> None:
    """Print or write objects, one a line, or with the form json as one list."""
    lines = [json.dumps(one, ensure_ascii=False, allow_nan=False) for one in objects]
    text = "[\n" + ",\n".join(lines) + "\n]\n" if form == "json" else "".join(line + "\n" for line in lines)
    deliver(text, out)


def show(*lines: str | Text, title: str = "") -> None:
    """Print lines as they are, below a bold title."""
    on_terminal = sys.stdout.isatty()
    console = Console(highlight=False, soft_wrap=not on_terminal, width=None if on_terminal else _NEVER_CUT)
    for line in (Text(title, style="bold"), *lines) if title else lines:
        console.print(Text(line) if isinstance(line, str) else line)


def show_neighbors(title: str, found: Neighbors, *, as_json: bool = False) -> None:
    """Print words and their cosines."""
    if as_json:
        deliver_json([{"query": title, "neighbors": [{"word": word, "cosine": cosine} for word, cosine in found]}])
        return
    width = max((len(word) for word, _ in found), default=0)
    lines = [f"  {word:<{width}}  {cosine:.3f}" for word, cosine in found]
    show(*(lines or ["  none: its vector is zero"]), title=title)


def show_comparison(found: Comparison, k: int) -> None:
    """Print what differs between slices: nodes, words that moved, words that came and went, changes over time."""
    tables = found.tables
    for name, documents, tokens in zip(found.slices, *found.sizes.values(), strict=True):
        show(f"{name}: {documents:,} documents, {tokens:,} words")
    nodes = [row for row in _rows(tables["nodes"]) if row["q"] is not None and row["q"] < found.level]
    nodes.sort(key=lambda row: -abs(row["log_odds"]))
    lines = [
        f"  {row['slice']}  {row['node']} {row['label']}: {row['share']:.2%}, log odds {row['log_odds']:+.2f}"
        + ("" if row["log_low"] is None else f" [{row['log_low']:+.2f}, {row['log_high']:+.2f}]")
        for row in nodes[:k]
    ]
    show(*(lines or ["  none"]), title=f"nodes used more or less ({len(nodes)} cells at q < {found.level:g})")
    if found.is_time:
        _show_changes(tables["changes"], k)
    words = _rows(tables["words"])
    show(title=f"words that changed their company ({len(words)} of {found.n_tested} tested)")
    for row in words[:k]:
        show(*_word_lines(row))
    _show_vocabulary(tables["vocabulary"], k)


def _rows(table: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def _word_lines(row: dict[str, Any]) -> list[str | Text]:
    """Return what is said of a word that moved: its path and contexts before and after."""
    branch = {None: "", True: ", another branch", False: ", same branch"}[row["moved"]]
    facts = f"  effect {row['effect']:.3f}, z = {row['z']:.1f}, p = {row['p']:.1g}{branch}"
    lines: list[str | Text] = [Text.assemble("  ", (row["word"], "bold"), facts)]
    for side in ("before", "after"):
        path, contexts = row[f"path_{side}"], ", ".join(row[f"contexts_{side}"])
        leads = f" at {' > '.join(path)};" if path else ""
        lines.append(f"    {row[side]}:{leads} with {contexts or 'nothing of its own'}")
    return lines


def _show_changes(table: Mapping[str, Sequence[Any]], k: int) -> None:
    rows = sorted(_rows(table), key=lambda row: (row["p"], -abs(row["after"] - row["before"])))
    lines = [
        f"  {row['slice']}  {row['node']} {row['label']}: {row['before']:.2%} before, {row['after']:.2%} from then on"
        for row in rows[:k]
    ]
    show(*(lines or ["  none"]), title=f"nodes that change ({len(rows)} times)")


def _show_vocabulary(table: Mapping[str, Sequence[Any]], k: int) -> None:
    rows = _rows(table)
    for kind in ("came", "went"):
        some = [f"{row['word']} ({row['slice']})" for row in rows if row["kind"] == kind]
        show(f"  {', '.join(some[:k]) or 'none'}", title=f"words that {kind} ({len(some)})")


def deliver_csv(rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> None:
    """Print records as CSV."""
    writer = csv.DictWriter(sys.stdout, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def show_context(found: Concordance, name_width: int) -> None:
    """Print lines with the keyword below the keyword, and the name of the document before."""
    words, n = ", ".join(map(reading.one_line, found.words)) or "no words", len(found.lines)
    some = f"{n:,} of {found.n_found:,}" if n < found.n_found else f"{n:,}"
    show(title=f"{words}: {some} places in {found.n_with:,} of {found.n_documents:,} documents")
    parts = [(one.document, one.left, one.keyword, one.right) for one in found.lines]
    lines = [[reading.one_line(part) for part in line] for line in parts]
    name, left = (max((cell_len(line[i]) for line in lines), default=0) for i in range(2))
    for document, before, word, after in lines:
        named, gap = set_cell_size(document, min(name, name_width)), " " * (left - cell_len(before))
        show(Text.assemble((named, "dim"), "  ", gap, before, (word, "bold"), after))


def show_grid(title: str, grid: report.Grid) -> None:
    """Print scores as a table on a terminal and as lines elsewhere."""
    show(*([report.as_table(grid)] if sys.stdout.isatty() else report.as_text(grid).splitlines()), title=title)


def show_judged(
    judged: list[tuple[str, list[evaluation.Outcome]]],
    meanings: dict[str, list[evaluation.Score]],
    *,
    form: str,
    out: Path | None,
    compared: bool,
    nodes: Iterable[dict[str, Any]] = (),
) -> None:
    """Print or write the scores of every model, or with ``compared`` the first against each of the others.

    ``nodes`` is what is known of single nodes, for a program alone.
    """
    models = [(name, evaluation.scores_of(outcomes) + meanings.get(name, [])) for name, outcomes in judged]
    first, others = judged[0], judged[1:] if compared else []
    compared_sets = ((name, evaluation.compare([first[1]], [outcomes])) for name, outcomes in others)
    comparisons = [(name, evaluation.corrected(found)) for name, found in compared_sets]
    if form in ("json", "jsonl"):
        objects = [report.as_objects(name, scores) for name, scores in models]
        objects += [report.as_objects([first[0], name], found) for name, found in comparisons]
        deliver_json([one for several in (*objects, nodes) for one in several], out, form=form)
        return
    names = [name for name, _ in judged]
    short = dict(zip(names, short_names(names), strict=True))
    grids = [report.tabulate([(short[name], scores) for name, scores in models])]
    grids += [report.tabulate_comparison(found, short[first[0]], short[name]) for name, found in comparisons]
    if form == "table" and out is None:
        titles = [", ".join(name for name, _ in models), *(f"{first[0]} against {name}" for name, _ in comparisons)]
        for title, grid in zip(titles, grids, strict=True):
            show_grid(title, grid)
        return
    write = {"markdown": report.as_markdown, "latex": report.as_latex}.get(form, report.as_text)
    deliver("\n".join(write(grid) for grid in grids), out)


def show_forest(
    title: str, vectors: Vectors, k: int, *, labels: reading.Labels | None = None, trees: Sequence[int] | None = None
) -> None:
    """Print size, sparsity by depth, and the forest: labels, or where codes have signs the strongest words of both."""
    lines = reading.outline(vectors, k=k, labels=labels, trees=trees)
    by_depth = ", ".join(f"depth {d}: {share:.1%}" for d, share in enumerate(vectors.density_by_depth()))
    show(
        f"non-zero: {vectors.density():.1%} ({by_depth})",
        title=f"{title}: {len(vectors)} words, {vectors.n_dimensions} dimensions",
    )
    if n_hidden := int(vectors.hidden.sum()):
        show(f"hidden by labels.tsv: {n_hidden} nodes")
    if not vectors.has_negatives:
        show(*reading.as_text(lines, numbers=True, shares=True).splitlines())
        return
    show("strongest words of both signs:")
    for line in lines:
        positive, negative = (" ".join(word for word, _ in words) for words in vectors.top_words(line.node, k))
        given = f"{line.text}: " if line.node in vectors.given_labels else ""
        row = [("  " * line.depth, ""), (f"{line.node} ", "dim"), (given, "bold")]
        row += [(positive, "blue"), (" | ", "dim"), (negative, "red")]
        show(Text.assemble(*row))


def show_paths(
    vectors: Vectors,
    words: Sequence[str],
    k: int,
    *,
    labels: reading.Labels | None = None,
    unknown: Sequence[Any] = (),
    as_json: bool = False,
) -> None:
    """Print the path of each word through the forest, and of several words where they part."""
    found = [reading.word_path(vectors, word, k=k, labels=labels) for word in words]
    common = reading.common_nodes(vectors, words, k=k, labels=labels) if len(words) > 1 else ()
    if as_json:
        deliver_json([{**reading.paths_as_object(found, common), "unknown": [*unknown]}])
        return
    show(*reading.paths_as_text(found, common).splitlines())


def show_datasets(datasets: Sequence[Dataset], states: Sequence[Status], *, as_json: bool = False) -> None:
    """Print every data set: what it is, its terms, and how many of its files are here."""
    for one in datasets:
        here = sum(status.state == "present" for status in states if status.dataset == one.name)
        if as_json:
            facts = {"name": one.name, "title": one.title, "files": len(one.files), "here": here}
            deliver_json([{**facts, "terms": one.terms, "source": one.source}])
            continue
        lines = [f"{here} of {len(one.files)} files here", f"{one.terms}; {one.source}"]
        lines += [one.by_hand] if one.by_hand and here < len(one.files) else []
        show(*(f"          {line}" for line in lines), title=f"{one.name:<9} {one.title}")


def show_file_states(folder: Path, states: Sequence[Status], *, as_json: bool = False) -> None:
    """Print every file of the data and whether it is present, missing or different."""
    if as_json:
        deliver_json({"dataset": one.dataset, "path": str(one.path), "state": one.state} for one in states)
        return
    shown = [one.path.relative_to(folder) if one.path.is_relative_to(folder) else one.path for one in states]
    show(*(f"  {one.state:<9} {path}" for one, path in zip(states, shown, strict=True)), title=str(folder))
