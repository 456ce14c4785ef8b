"""Commands that draw: heatmap, tree, map of words; treemap, sunburst, time, groups of documents."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from wordforest.cli.command import (
    STOP_WORDS,
    VECTORS,
    argument,
    check_target,
    command,
    group,
    node_labels,
    note,
    option,
    read_vectors,
    reporter,
    short_names,
    words_in,
)
from wordforest.errors import InputError

if TYPE_CHECKING:
    from wordforest.figures import Style as FigureStyle

draw_app = group("draw", "Pictures for screen and print: heatmap, tree, map, treemap, sunburst, time, groups.")

Colors = Literal["paper", "colorblind"]
Style = Literal["screen", "print"]
_WORDS = (
    "A built-in list (animals, countries, good, bad, man, woman, good-bad, man-woman), a file with a word a line, or "
    "words with commas between. May be repeated: each is a block or a group of its own."
)
_COLORS = "paper: red negative, blue positive; colorblind: orange and blue. White is exactly zero in both."
WORDS = option(..., _WORDS, "--words", metavar="FILE_OR_LIST")
OUT = option(..., "File to write: .png, .svg or .pdf.", "--out", metavar="FIGURE")
COLORS = option("paper", _COLORS)
_LABELS = "Name each node by so many words. Default: {} where no value is below zero, else none."
FOLDER = argument("FOLDER", "A documents folder, as wordforest documents writes it.")
DEPTH = option(None, "Last depth to show, 0 for the roots alone. Default: all.", min=0)
NODES = option(None, "Numbers of nodes with commas between.", "--nodes", metavar="N,N,...")
STYLE = option("screen", "print: at most 7 inches wide, with letters as in a caption.")
DPI = option(200, "Pixels per inch of .png, and of images within .svg and .pdf.", min=30, max=1200)


@command(draw_app)
def heatmap(
    vectors: str = VECTORS,
    words: list[str] = WORDS,
    out: Path = OUT,
    limit: float | None = option(None, "Coefficient at which the colours end. Default: the largest."),
    labels: int | None = option(None, _LABELS.format(2), min=0),
    stop_words: Path | None = STOP_WORDS,
    colors: Colors = COLORS,
    style: Style = STYLE,
    dpi: int = DPI,
    *,
    force: bool,
) -> None:
    """Draw words by the dimensions that they use, each block from its lowest dimension on average to its highest."""
    from wordforest import figures

    check_target(out, force, ".png", ".svg", ".pdf")
    chosen = _style(colors, style)
    loaded = read_vectors(vectors)
    blocks = _present({vectors: loaded}, _groups(words))
    titled = blocks if len(blocks) > 1 else {"": next(iter(blocks.values()))}
    named = _labels(loaded, labels, 2, stop_words)
    _write(out, figures.heatmap(loaded, titled, labels=named, limit=limit, style=chosen), dpi)


@command(draw_app)
def tree(
    vectors: str = VECTORS,
    words: list[str] = WORDS,
    out: Path = OUT,
    which: str = option(
        "strongest", "Of each word the tree it has most of, one by number, or all.", "--tree", metavar="N|all"
    ),
    labels: int | None = option(None, _LABELS.format(4), min=0),
    stop_words: Path | None = STOP_WORDS,
    colors: Colors = COLORS,
    style: Style = STYLE,
    dpi: int = DPI,
    *,
    force: bool,
) -> None:
    """Draw the strongest tree of each word, or others, each node named and coloured by its coefficient."""
    from wordforest import figures

    check_target(out, force, ".png", ".svg", ".pdf")
    chosen = _style(colors, style)
    if which not in ("strongest", "all") and not which.isdecimal():
        raise InputError(f"--tree {which}: expected a number from 0, strongest, or all.")
    loaded = read_vectors(vectors)
    blocks = _present({vectors: loaded}, _groups(words))
    shown = list(dict.fromkeys(word for block in blocks.values() for word in block))
    number: Any = int(which) if which.isdecimal() else which
    named = _labels(loaded, labels, 4, stop_words)
    _write(out, figures.trees(loaded, shown, tree=number, labels=named, style=chosen), dpi)


@command(draw_app, "map")
def word_map(
    vectors: list[str] = argument("VECTORS", "Run folders or vector files, a map each."),
    out: Path = OUT,
    words: list[str] = option(["good-bad"], _WORDS, metavar="FILE_OR_LIST"),
    titles: list[str] | None = option(None, "Title of each, in the same order; may be repeated.", "--title"),
    runs: int = option(10, "Runs of t-SNE; the one with the lowest error is kept.", min=1),
    style: Style = STYLE,
    dpi: int = DPI,
    *,
    seed: int,
    force: bool,
    quiet: bool,
    json: bool,
) -> None:
    """Draw groups of words on a plane by t-SNE, for one model or for several side by side."""
    from wordforest import figures
    from wordforest.runtime.progress import Event

    check_target(out, force, ".png", ".svg", ".pdf")
    chosen = _style("paper", style)
    models = {title: read_vectors(name) for title, name in _titles(vectors, titles).items()}
    with reporter(quiet, json) as report:
        groups = _present(models, _groups(words), lambda notice: report.say(f"note: {notice}"))

        def on_run(done: int, total: int) -> None:
            report(Event("map", done, total, "runs"))

        _write(out, figures.word_map(models, groups, runs=runs, seed=seed, style=chosen, on_run=on_run), dpi, report)


@command(draw_app)
def treemap(
    folder: Path = FOLDER,
    out: Path = OUT,
    depth: int | None = DEPTH,
    style: Style = STYLE,
    dpi: int = DPI,
    *,
    force: bool,
) -> None:
    """Draw the forest as rectangles within rectangles, as large as the shares of documents."""
    _draw_forest("treemap", folder, out, depth, style, dpi, force)


@command(draw_app)
def sunburst(
    folder: Path = FOLDER,
    out: Path = OUT,
    depth: int | None = DEPTH,
    style: Style = STYLE,
    dpi: int = DPI,
    *,
    force: bool,
) -> None:
    """Draw the forest as rings around rings, as wide as the shares of documents."""
    _draw_forest("sunburst", folder, out, depth, style, dpi, force)


@command(draw_app)
def time(
    folder: Path = FOLDER,
    out: Path = OUT,
    nodes: str | None = NODES,
    depth: int = option(0, "Depth of the nodes to choose from, where none are named.", min=0),
    style: Style = STYLE,
    dpi: int = DPI,
    *,
    force: bool,
) -> None:
    """Draw shares of nodes over time with their intervals: those named, or the six that change most."""
    from wordforest import figures

    check_target(out, force, ".png", ".svg", ".pdf")
    found = _cells(folder, "time", ("share", "low", "high"))
    there = found.values[0][found.values[0][:, 0] >= 0]  # not nan: bins with documents
    chosen = _chosen(nodes, found.nodes, depth, there.max(axis=0) - there.min(axis=0), 6)
    share, low, high = (part[:, chosen] for part in found.values)
    names = [found.nodes["label"][i] for i in chosen]
    _write(out, figures.over_time(found.groups, share, low, high, names, style=_style("paper", style)), dpi)


@command(draw_app)
def groups(
    folder: Path = FOLDER,
    out: Path = OUT,
    nodes: str | None = NODES,
    depth: int = option(0, "Depth of the nodes to choose from, where none are named.", min=0),
    colors: Colors = COLORS,
    style: Style = STYLE,
    dpi: int = DPI,
    *,
    force: bool,
) -> None:
    """Draw which groups have more of a node than all others, and which less: nodes named, or those that differ most."""
    from wordforest import figures

    check_target(out, force, ".png", ".svg", ".pdf")
    found = _cells(folder, "group", ("difference", "q"))
    most = abs(found.values[0] * (found.values[1] < 0.05)).max(axis=0)
    chosen = _chosen(nodes, found.nodes, depth, most, 40)
    difference, q = (part[:, chosen] for part in found.values)
    names = [found.nodes["label"][i] for i in chosen]
    _write(out, figures.differences(found.groups, names, difference, q, style=_style(colors, style)), dpi)


def _draw_forest(kind: str, folder: Path, out: Path, depth: int | None, style: str, dpi: int, force: bool) -> None:
    from wordforest import Forest, figures, store

    check_target(out, force, ".png", ".svg", ".pdf")
    nodes = store.load_documents(folder).nodes
    draw = {"treemap": figures.treemap, "sunburst": figures.sunburst}[kind]
    forest, chosen = Forest(nodes["parent"]), _style("paper", style)
    _write(out, draw(forest, nodes["share"], nodes["label"], depth=depth, style=chosen), dpi)


class _Cells(NamedTuple):
    """Groups or times, columns of their table, (G, M) each, and the table of nodes."""

    groups: list[str]
    values: list[Any]
    nodes: dict[str, list[Any]]


def _cells(folder: Path, by: str, columns: Sequence[str]) -> _Cells:
    import numpy as np

    from wordforest import store

    documents = store.load_documents(folder)
    table = documents.over_time if by == "time" else documents.by_group
    groups = list(dict.fromkeys(table.get(by, ())))
    size = len(groups) * len(documents.nodes["node"])
    if not size or any(len(table.get(name, ())) != size for name in columns):
        again = f"wordforest documents RUN DOCS --{by} COLUMN --force --out {shlex.quote(str(folder))}"
        raise InputError(f"{folder}: holds no shares by {by}. Make it again with: {again}")
    values = [np.array(table[name], dtype=np.float64).reshape(-1, len(groups)).T for name in columns]
    return _Cells(groups, values, documents.nodes)


def _chosen(asked: str | None, nodes: Mapping[str, list[Any]], depth: int, worth: Any, most: int) -> list[int]:
    """Return the nodes that were asked for, or of a depth those that are worth most, in their order."""
    if asked is None:
        at_depth = [i for i, d in enumerate(nodes["depth"]) if d == depth]
        if not at_depth:
            raise InputError(f"--depth {depth}: the deepest nodes are at {max(nodes['depth'])}. Choose a smaller one.")
        return sorted(sorted(at_depth, key=lambda i: -worth[i])[:most])
    numbers = [part.strip() for part in asked.split(",")]
    if not all(number.isdecimal() and int(number) < len(nodes["node"]) for number in numbers):
        raise InputError(f"--nodes {asked}: expected numbers from 0 to {len(nodes['node']) - 1}, with commas between.")
    return [int(number) for number in numbers]


def _labels(vectors: Any, asked: int | None, usual: int, stop_words: Path | None) -> Any:
    """Return the words of every node, none of a hidden one; or None, numbers alone: two signs have no one name."""
    k = (0 if vectors.has_negatives else usual) if asked is None else asked
    if not k:
        return None
    labels = node_labels(vectors, k, stop_words)
    return [() if hidden else label for hidden, label in zip(vectors.hidden, labels, strict=True)]


def _style(colors: str, style: str) -> FigureStyle:
    from wordforest import figures

    base = {"screen": figures.SCREEN, "print": figures.PRINT}[style]
    return replace(base, palette=figures.PALETTES[colors])


def _groups(named: Sequence[str]) -> dict[str, list[str]]:
    """Return the words of every --words by title: built-in lists, files, and words as they stand."""
    from wordforest.figures import WORD_LISTS

    groups: dict[str, list[str]] = {}
    for text in named:
        if text in WORD_LISTS:
            found: Mapping[str, Sequence[str]] = WORD_LISTS[text]
        elif Path(text).is_file():
            found = {Path(text).stem: words_in(Path(text))}
        elif text.endswith((".txt", ".csv", ".tsv")):
            raise InputError(f"--words {text}: no such file. Check the name, or give words with commas between.")
        else:
            listed = [word.strip() for word in text.split(",") if word.strip()]
            found = {", ".join([*listed[:2], "…"] if len(listed) > 2 else listed): listed}
        for title, words in found.items():
            groups.setdefault(title, []).extend(words)
    return groups


def _present(
    models: Mapping[str, Any], groups: Mapping[str, list[str]], say: Callable[[str], None] = note
) -> dict[str, list[str]]:
    """Return the groups without words that a model lacks, which are named on standard error."""
    from wordforest.figures import drawable
    from wordforest.vectors import UnknownWordError

    words = list(dict.fromkeys(word for group in groups.values() for word in group))
    for name, vectors in models.items():
        if missing := [word for word in words if word not in vectors]:
            say(f"{name} has no vector for {UnknownWordError(missing, vectors.lookup).listed()}; left out")
    known = {*drawable(words, *models.values())}
    kept = {title: [word for word in group if word in known] for title, group in groups.items()}
    return {title: group for title, group in kept.items() if group}


def _titles(names: Sequence[str], titles: Sequence[str] | None) -> dict[str, str]:
    """Return the name of every model by its title: the one given, else the last part of its path."""
    if titles and len(titles) != len(names):
        raise InputError(f"expected one --title for each of {len(names)}, but {len(titles)} came.")
    chosen = list(titles or short_names(names))
    if len(set(chosen)) < len(names):
        raise InputError(f"expected different titles, but {', '.join(chosen)} came. Give each its own --title.")
    return dict(zip(chosen, names, strict=True))


def _write(out: Path, figure: Any, dpi: int, report: Any = None) -> None:
    from wordforest import store
    from wordforest.runtime.progress import Reporter

    store.write_figure(out, figure, dpi=dpi)
    width, height = figure.get_size_inches()
    line = f"wrote {out}: {width:.3g} x {height:.3g} inches"
    (report or Reporter(sys.stderr)).tell({"wrote": str(out), "inches": [round(width, 2), round(height, 2)]}, line)
