"""Commands that draw: heatmap, tree, map."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

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

draw_app = group("draw", "Pictures for screen and print: heatmap, tree or map.")

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
    groups = _present(models, _groups(words))
    with reporter(quiet, json) as report:

        def on_run(done: int, total: int) -> None:
            report(Event("map", done, total, "runs"))

        figure = figures.word_map(models, groups, runs=runs, seed=seed, style=chosen, on_run=on_run)
    _write(out, figure, dpi)


def _labels(vectors: Any, asked: int | None, usual: int, stop_words: Path | None) -> Any:
    """Return the words of every node, or None for numbers alone: a node with two signs has no one name."""
    k = (0 if vectors.has_negatives else usual) if asked is None else asked
    return node_labels(vectors, k, stop_words) if k else None


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


def _present(models: Mapping[str, Any], groups: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the groups without words that a model lacks, which are named on standard error."""
    from wordforest.figures import drawable

    words = list(dict.fromkeys(word for group in groups.values() for word in group))
    for name, vectors in models.items():
        if missing := [word for word in words if word not in vectors]:
            note(f"{name} has no vector for {', '.join(missing)}; left out")
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


def _write(out: Path, figure: Any, dpi: int) -> None:
    from wordforest import store

    store.write_figure(out, figure, dpi=dpi)
    width, height = figure.get_size_inches()
    sys.stderr.write(f"wrote {out}: {width:.3g} x {height:.3g} inches\n")
