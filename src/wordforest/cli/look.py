"""Commands that look at vectors: neighbors, analogy, inspect, convert, demo."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from wordforest.cli.base import (
    Force,
    Json,
    Neighbours,
    OutOpt,
    VectorsArg,
    Verbose,
    app,
    friendly,
    read_vectors,
    reporter,
)
from wordforest.errors import InputError


@app.command()
@friendly
def neighbors(
    vectors: VectorsArg, words: Annotated[list[str], typer.Argument(metavar="WORD...")], k: Neighbours = 10,
    json: Json = False, verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:  # fmt: skip
    """Show the nearest words by cosine."""
    loaded = read_vectors(vectors)
    for word in words:
        _show_neighbors(word, loaded.most_similar(word, k=k), json)


@app.command()
@friendly
def analogy(
    vectors: VectorsArg,
    a: Annotated[str, typer.Argument(metavar="A")],
    b: Annotated[str, typer.Argument(metavar="B")],
    c: Annotated[str, typer.Argument(metavar="C")],
    k: Neighbours = 10,
    json: Json = False,
    verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:
    """A is to B as C is to ?"""
    _show_neighbors(f"{a} : {b} :: {c} :", read_vectors(vectors).analogy(a, b, c, k=k), json)


@app.command()
@friendly
def inspect(
    vectors: VectorsArg, k: Neighbours = 6, json: Json = False, verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:  # fmt: skip
    """Show size, sparsity by depth, and the forest with the strongest words of each node."""
    from wordforest import terminal

    terminal.show_forest(vectors, read_vectors(vectors), k, as_json=json)


@app.command()
@friendly
def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="A run folder, or a file of vectors.")],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="*.txt *.vec word2vec text, *.bin word2vec binary, *.glove GloVe text, *.npz, *.safetensors, "
            "*.parquet, *.tsv for the Embedding Projector, else a run folder.",
        ),
    ],
    force: Force = False,
    verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:
    """Read vectors in one format and write them in another."""
    from wordforest import store

    for path in store.vector_files(target):
        if path.exists() and not force:
            raise InputError(f"{path} already exists; add --force to replace it or choose another name.")
    if target.exists() and target.resolve() == Path(source).resolve():
        raise InputError(f"{target}: IN and OUT are the same, and OUT would lose what vectors do not hold. Rename OUT.")
    vectors = read_vectors(source)
    if target.is_dir() and not target.suffix:
        store.prepare_folder(target, force=force)
    store.write_vectors(target, vectors)
    sys.stderr.write(f"wrote {target}: {len(vectors)} words, {vectors.n_dimensions} dimensions\n")


@app.command()
@friendly
def demo(
    out: OutOpt = Path("demo"), force: Force = False, verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:  # fmt: skip
    """Train on the State of the Union addresses, show neighbours and scores, draw a heatmap and a tree."""
    from wordforest.demo import run_demo, show

    with reporter(quiet=False, as_json=False) as report:
        run = run_demo(out, force, report)
    show(run, out)


def _show_neighbors(title: str, found: list[tuple[str, float]], as_json: bool) -> None:
    from wordforest import terminal

    terminal.show_neighbors(title, found, as_json=as_json)
