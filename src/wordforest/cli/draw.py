"""Commands that draw: heatmap, tree, map, curve."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from wordforest.cli.base import (
    Force,
    Json,
    Quiet,
    Seed,
    VectorsArg,
    Verbose,
    app,
    friendly,
    keep_existing,
    read_vectors,
    reporter,
)
from wordforest.errors import InputError

if TYPE_CHECKING:
    from wordforest.figures import Style as FigureStyle

draw_app = typer.Typer(help="Pictures for screen and print: heatmap, tree, map or curve.", no_args_is_help=True)
app.add_typer(draw_app, name="draw")

Words = Annotated[
    list[str],
    typer.Option(
        "--words",
        metavar="FILE_OR_LIST",
        help="A built-in list (animals, countries, good, bad, man, woman, good-bad, man-woman), a file with a word a "
        "line, or words with commas between. May be repeated: each is a block or a group of its own.",
    ),
]
Figure = Annotated[Path, typer.Option("--out", metavar="FIGURE", help="File to write: .png, .svg or .pdf.")]
Colors = Annotated[
    Literal["paper", "colorblind"],
    typer.Option(
        help="paper: red negative, blue positive; colorblind: orange and blue. White is exactly zero in both."
    ),
]
Style = Annotated[
    Literal["screen", "print"], typer.Option(help="print: at most 7 inches wide, with letters as in a caption.")
]
Size = Annotated[
    str | None,
    typer.Option(metavar="WxH", help="Width and height in inches, as in 7x4; or 18x10cm. Default: as needed."),
]
Dpi = Annotated[
    int, typer.Option(min=30, max=1200, help="Pixels per inch of .png, and of images within .svg and .pdf.")
]


@draw_app.command("heatmap")
@friendly
def heatmap(
    vectors: VectorsArg,
    words: Words,
    out: Figure,
    limit: Annotated[
        float | None, typer.Option(help="Coefficient at which the colours end. Default: the largest.")
    ] = None,
    colors: Colors = "paper",
    style: Style = "screen",
    size: Size = None,
    dpi: Dpi = 200,
    force: Force = False,
    verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:
    """Draw words by dimensions, each block from its most negative dimension to its most positive."""
    from wordforest import figures

    _check_out(out, force)
    chosen = _style(colors, style, size)
    loaded = read_vectors(vectors)
    blocks = _present({vectors: loaded}, _groups(words))
    titled = blocks if len(blocks) > 1 else {"": next(iter(blocks.values()))}
    _write(out, figures.heatmap(loaded, titled, limit=limit, style=chosen), dpi)


@draw_app.command("tree")
@friendly
def tree(
    vectors: VectorsArg,
    words: Words,
    out: Figure,
    which: Annotated[str, typer.Option("--tree", metavar="N|all", help="Number of a tree, from 0, or all.")] = "0",
    labels: Annotated[int, typer.Option(min=0, help="Name each node by so many of its strongest words.")] = 0,
    colors: Colors = "paper",
    style: Style = "screen",
    size: Size = None,
    dpi: Dpi = 200,
    force: Force = False,
    verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:
    """Draw one or all trees of some words, each node coloured by its coefficient."""
    from wordforest import figures

    _check_out(out, force)
    chosen = _style(colors, style, size)
    if which != "all" and not which.isdecimal():
        raise InputError(f"--tree {which}: expected a number from 0, or all.")
    loaded = read_vectors(vectors)
    blocks = _present({vectors: loaded}, _groups(words))
    shown = list(dict.fromkeys(word for block in blocks.values() for word in block))
    number = None if which == "all" else int(which)
    named = _labels(loaded, labels) if labels else None
    _write(out, figures.trees(loaded, shown, tree=number, labels=named, style=chosen), dpi)


@draw_app.command("map")
@friendly
def word_map(
    vectors: Annotated[
        list[str], typer.Argument(metavar="VECTORS...", help="Run folders or vector files, a map each.")
    ],
    out: Figure,
    words: Words = ["good-bad"],  # noqa: B006 Typer copies it
    nearest: Annotated[
        int, typer.Option(min=0, help="Draw, for each word of --words, the so many words nearest to it as a group.")
    ] = 0,
    titles: Annotated[
        list[str] | None, typer.Option("--title", help="Title of a map, in the order of VECTORS; may be repeated.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Runs of t-SNE; the one with the lowest error is kept.")] = 10,
    seed: Seed = 0,
    style: Style = "screen",
    size: Size = None,
    dpi: Dpi = 200,
    force: Force = False,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 read by friendly
    json: Json = False,
) -> None:
    """Draw groups of words on a plane by t-SNE, for one model or for several side by side."""
    from wordforest import figures
    from wordforest.runtime.progress import Event

    _check_out(out, force)
    chosen = _style("paper", style, size)
    models = {title: read_vectors(name) for title, name in _titles(vectors, titles).items()}
    groups = _groups(words)
    if nearest:
        title, first = next(iter(models.items()))
        seeds = _present({title: first}, {"": _seeds(words)})[""]
        groups = figures.nearest_groups(first, seeds, nearest)
    groups = _present(models, groups)
    with reporter(quiet, json) as report:
        figure = figures.word_map(
            models, groups, runs=runs, seed=seed, style=chosen,
            on_run=lambda done, total: report(Event("map", done, total, "runs")),
        )  # fmt: skip
    _write(out, figure, dpi)


@draw_app.command("curve")
@friendly
def curve(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Run folders, a line each.")],
    out: Figure,
    titles: Annotated[
        list[str] | None, typer.Option("--title", help="Name of a line, in the order of RUN; may be repeated.")
    ] = None,
    style: Style = "screen",
    size: Size = None,
    dpi: Dpi = 200,
    force: Force = False,
    verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:
    """Draw the objective and the share of non-zeros against seconds."""
    from wordforest import figures, store

    _check_out(out, force)
    chosen = _style("paper", style, size)
    histories = {title: store.load_run(Path(name)).history for title, name in _titles(runs, titles).items()}
    _write(out, figures.curve(histories, style=chosen), dpi)


def _check_out(out: Path, force: bool) -> None:
    """Complain before any work is done."""
    if out.suffix not in (".png", ".svg", ".pdf"):
        raise InputError(f"{out}: expected a name in .png, .svg or .pdf. Choose one of them.")
    keep_existing(out, force)


def _style(colors: str, style: str, size: str | None) -> FigureStyle:
    from dataclasses import replace

    from wordforest import figures

    base = {"screen": figures.SCREEN, "print": figures.PRINT}[style]
    return replace(base, palette=figures.PALETTES[colors], size=None if size is None else _inches(size))


def _inches(size: str) -> tuple[float, float]:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)x(\d+(?:\.\d+)?)(in|cm|mm)?", size.strip())
    if found is None:
        raise InputError(f"--size {size}: expected width x height, as in 7x4 (inches) or 18x10cm.")
    unit = {"in": 1.0, "cm": 2.54, "mm": 25.4}[found[3] or "in"]
    return float(found[1]) / unit, float(found[2]) / unit


def _groups(named: Sequence[str]) -> dict[str, list[str]]:
    """Return the words of every --words by title: built-in lists, files, and words as they stand."""
    from wordforest.figures import WORD_LISTS

    groups: dict[str, list[str]] = {}
    for text in named:
        if text in WORD_LISTS:
            found: Mapping[str, Sequence[str]] = WORD_LISTS[text]
        elif Path(text).is_file():
            found = {Path(text).stem: _lines(Path(text))}
        elif text.endswith((".txt", ".csv", ".tsv")):
            raise InputError(f"--words {text}: no such file. Check the name, or give words with commas between.")
        else:
            listed = [word.strip() for word in text.split(",") if word.strip()]
            found = {", ".join([*listed[:2], "…"] if len(listed) > 2 else listed): listed}
        for title, words in found.items():
            groups.setdefault(title, []).extend(words)
    return groups


def _seeds(named: Sequence[str]) -> list[str]:
    """Return the words whose neighbours are asked for; a built-in list stands for the words that name its groups."""
    from wordforest.figures import WORD_LISTS

    return [
        seed
        for text in named
        for seed in (WORD_LISTS[text] if text in WORD_LISTS else next(iter(_groups([text]).values())))
    ]


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8. Write the file again, or convert its encoding.") from error
    return [word for line in text.splitlines() if (word := line.strip())]


def _present(models: Mapping[str, Any], groups: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the groups without words that a model lacks, which are named on standard error."""
    for name, vectors in models.items():
        if missing := [w for w in dict.fromkeys(w for group in groups.values() for w in group) if w not in vectors]:
            sys.stderr.write(f"note: {name} has no vector for {', '.join(missing)}; left out\n")
    kept = {title: [w for w in words if all(w in v for v in models.values())] for title, words in groups.items()}
    kept = {title: words for title, words in kept.items() if words}
    if not kept:
        raise InputError(
            "expected at least one word with a vector to draw, but --words has none. "
            "Choose words of the vocabulary: wordforest neighbors VECTORS WORD suggests close spellings."
        )
    return kept


def _titles(names: Sequence[str], titles: Sequence[str] | None) -> dict[str, str]:
    """Return the name of every model by its title: the one given, else the last part of its path."""
    if titles and len(titles) != len(names):
        raise InputError(f"expected one --title for each of {len(names)}, but {len(titles)} came.")
    chosen = list(titles or [Path(name).resolve().name for name in names])
    if len(set(chosen)) < len(names):
        chosen = list(titles or names)
    if len(set(chosen)) < len(names):
        raise InputError(f"expected different titles, but {', '.join(chosen)} came. Give each its own --title.")
    return dict(zip(chosen, names, strict=True))


def _labels(vectors: Any, k: int) -> list[tuple[str, ...]]:
    from wordforest.reading import label_nodes

    labels: list[tuple[str, ...]] = label_nodes(vectors, k)
    return labels


def _write(out: Path, figure: Any, dpi: int) -> None:
    from wordforest import store

    store.write_figure(out, figure, dpi=dpi)
    width, height = figure.get_size_inches()
    sys.stderr.write(f"wrote {out}: {width:.3g} x {height:.3g} inches\n")
