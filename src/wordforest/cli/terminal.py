"""Results for a person at a terminal, or as JSON for a program: neighbours, scores, the forest."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from wordforest import reading
from wordforest.evaluation import (
    Grid,
    Outcome,
    Score,
    as_latex,
    as_lines,
    as_markdown,
    as_objects,
    as_table,
    compare,
    comparison_as_objects,
    scores_of,
    tabulate,
    tabulate_comparison,
)
from wordforest.evaluation.datasets import Dataset, Status
from wordforest.store import write_text
from wordforest.vectors import Neighbors, Vectors

Judged = list[tuple[str, list[Outcome]]]
Meanings = dict[str, list[Score]]

_NEVER_CUT = 10_000  # columns where nobody looks: a file or a pipe gets whole lines


def show_neighbors(title: str, found: Neighbors, *, as_json: bool = False) -> None:
    """Print words and their cosines."""
    if as_json:
        _print_json({"query": title, "neighbors": [{"word": word, "cosine": cosine} for word, cosine in found]})
        return
    console = _console()
    console.print(Text(title, style="bold"))
    width = max((len(word) for word, _ in found), default=0)
    for word, cosine in found:
        console.print(Text(f"  {word:<{width}}  {cosine:.3f}"))


def show_scores(title: str, scores: list[Score]) -> None:
    """Print the scores of one model as a table on a terminal and as lines elsewhere."""
    console = _console()
    console.print(Text(title, style="bold"))
    _print_grid(tabulate([(title, scores)]))


def show_judged(
    judged: Judged, meanings: Meanings, *, form: str, out: Path | None, compared: bool, seed: int
) -> None:  # fmt: skip
    """Print or write the scores of every model, or with ``compared`` the first against each of the others."""
    models = [(name, scores_of(outcomes, seed=seed) + meanings.get(name, [])) for name, outcomes in judged]
    first, others = judged[0], judged[1:] if compared else []
    comparisons = [(name, compare(first[1], outcomes, seed=seed)) for name, outcomes in others]
    if form == "json":
        objects = as_objects(models)
        for name, found in comparisons:
            objects += comparison_as_objects(found, first[0], name)
        deliver("".join(json.dumps(item, ensure_ascii=False, allow_nan=False) + "\n" for item in objects), out)
        return
    short = _short_names([name for name, _ in judged])
    grids = [tabulate([(short[name], scores) for name, scores in models])]
    grids += [tabulate_comparison(found, short[first[0]], short[name]) for name, found in comparisons]
    if form == "table" and out is None:
        titles = [", ".join(name for name, _ in models), *(f"{first[0]} against {name}" for name, _ in comparisons)]
        for title, grid in zip(titles, grids, strict=True):
            _console().print(Text(title, style="bold"))
            _print_grid(grid)
        return
    write = {"markdown": as_markdown, "latex": as_latex}.get(form, lambda grid: "\n".join(as_lines(grid)) + "\n")
    deliver("\n".join(write(grid) for grid in grids), out)


def _short_names(names: list[str]) -> dict[str, str]:
    """Return the last part of every path, for the head of a column; the whole path where two would look alike."""
    last = {name: Path(name).name or name for name in names}
    return last if len(set(last.values())) == len(last) else {name: name for name in names}


def _print_grid(grid: Grid) -> None:
    console = _console()
    if console.is_terminal:
        console.print(as_table(grid))
        return
    for line in as_lines(grid):
        console.print(Text(line))


def show_forest(title: str, vectors: Vectors, k: int, *, trees: Sequence[int] | None = None) -> None:
    """Print size, sparsity by depth, and the forest: labels, or where codes have signs the strongest words of both."""
    lines = reading.outline(vectors, k=k, trees=trees)
    console = _console()
    console.print(Text(f"{title}: {len(vectors)} words, {vectors.n_dimensions} dimensions", style="bold"))
    by_depth = ", ".join(f"depth {d}: {share:.1%}" for d, share in enumerate(vectors.density_by_depth()))
    console.print(Text(f"non-zero: {vectors.density():.1%} ({by_depth})"))
    if not vectors.has_negatives:
        for row in reading.as_text(lines, numbers=True, shares=True).splitlines():
            console.print(Text(row))
        return
    console.print(Text("strongest words of both signs:"))
    branches: dict[int, Tree] = {}
    for line in lines:
        label = _both_sides(vectors, line.node, k)
        branches[line.node] = branches[line.parent].add(label) if line.parent >= 0 else Tree(label)
    for line in lines:
        if line.parent < 0:
            console.print(branches[line.node])


def show_paths(vectors: Vectors, words: Sequence[str], k: int, *, as_json: bool = False) -> None:
    """Print the path of each word through the forest, and of several words where they part."""
    labels = reading.label_nodes(vectors, k)
    found = [reading.word_path(vectors, word, k=k, labels=labels) for word in words]
    common = reading.common_nodes(vectors, words, k=k, labels=labels) if len(words) > 1 else ()
    if as_json:
        _print_json(reading.paths_as_object(found, common))
        return
    for row in reading.paths_as_text(found, common).splitlines():
        _console().print(Text(row))


def deliver(text: str, out: Path | None = None) -> None:
    """Print a text, or write it to a file and say so."""
    if out is None:
        sys.stdout.write(text)
        return
    write_text(out, text)
    sys.stderr.write(f"wrote {out}\n")


def show_datasets(datasets: Sequence[Dataset], states: Sequence[Status], *, as_json: bool = False) -> None:
    """Print every data set: what it is, its terms, and how many of its files are here."""
    console = _console()
    for dataset in datasets:
        here = sum(status.state == "present" for status in states if status.dataset == dataset.name)
        facts = {"name": dataset.name, "title": dataset.title, "files": len(dataset.files), "here": here,
                 "bytes": dataset.size, "terms": dataset.terms, "source": dataset.source}  # fmt: skip
        if as_json:
            _print_json(facts)
            continue
        console.print(Text(f"{dataset.name:<9} {dataset.title}", style="bold"))
        console.print(Text(f"          {here} of {len(dataset.files)} files here, {dataset.size / 1e6:.1f} MB in all"))
        console.print(Text(f"          {dataset.terms}; {dataset.source}"))
        if dataset.by_hand and here < len(dataset.files):
            console.print(Text(f"          {dataset.by_hand}"))


def show_file_states(folder: Path, states: Sequence[Status], *, as_json: bool = False) -> None:
    """Print every file of the data and whether it is present, missing or different."""
    if as_json:
        for status in states:
            _print_json({"dataset": status.dataset, "path": str(status.path), "state": status.state})
        return
    console = _console()
    console.print(Text(str(folder), style="bold"))
    for status in states:
        shown = status.path.relative_to(folder) if status.path.is_relative_to(folder) else status.path
        console.print(Text(f"  {status.state:<9} {shown}", style="" if status.state == "present" else "red"))


def _both_sides(vectors: Vectors, node: int, k: int) -> Text:
    positive, negative = vectors.top_words(node, k)
    label = Text(f"{node} ", style="dim")
    label.append(" ".join(word for word, _ in positive), style="blue")
    label.append(" | ", style="dim")
    label.append(" ".join(word for word, _ in negative), style="red")
    return label


def _console() -> Console:
    on_terminal = sys.stdout.isatty()
    return Console(highlight=False, soft_wrap=not on_terminal, width=None if on_terminal else _NEVER_CUT)


def _print_json(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n")
