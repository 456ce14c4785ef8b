"""Commands that look at vectors: neighbors, analogy, inspect, path, export, convert, demo."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import Annotated, Any, Literal

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
    keep_existing,
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
    vectors: VectorsArg,
    k: Annotated[int | None, typer.Option("-k", min=1, help="Words of each node. Default: 6; with --node 20.")] = None,
    tree: Annotated[list[int] | None, typer.Option(help="Only this tree; give it again for more.")] = None,
    node: Annotated[int | None, typer.Option(help="The words of this node and all below it.")] = None,
    form: Annotated[
        Literal["text", "json", "mermaid", "dot"], typer.Option("--format", help="dot is for Graphviz.")
    ] = "text",
    out: Annotated[Path | None, typer.Option(help="File to write to, in place of the terminal.")] = None,
    force: Force = False,
    json: Json = False,
    verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:
    """Show size, sparsity by depth, and the forest with words that tell each node from the others."""
    from wordforest import reading
    from wordforest.cli import terminal

    if out is not None:
        keep_existing(out, force)
    loaded, form = read_vectors(vectors), "json" if json else form
    if node is not None:
        if tree or form in ("mermaid", "dot"):
            raise InputError("--node lists words, so it takes neither --tree nor a graph. Leave one of them out.")
        members = reading.subtree_words(loaded, node, k=k or 20)
        rows = dumps([asdict(member) for member in members], ensure_ascii=False) + "\n"
        text = rows if form == "json" else reading.subtree_as_text(members, reading.label_nodes(loaded, 3))
        terminal.deliver(text, out)
        return
    k, tree = k or 6, None if tree is None else list(dict.fromkeys(tree))
    if form == "json":
        terminal.deliver(dumps(reading.as_object(loaded, k=k, trees=tree), ensure_ascii=False) + "\n", out)
    elif form == "text" and out is None:
        terminal.show_forest(vectors, loaded, k, trees=tree)
    else:
        lines = reading.outline(loaded, k=k, trees=tree)
        write = {"mermaid": reading.as_mermaid, "dot": reading.as_graphviz}.get(form, reading.as_text)
        terminal.deliver(write(lines), out)


@app.command()
@friendly
def path(
    vectors: VectorsArg,
    words: Annotated[list[str], typer.Argument(metavar="WORD...")],
    k: Neighbours = 4,
    json: Json = False,
    verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:
    """Show the way of words through the forest, and where several words part."""
    from wordforest.cli import terminal

    terminal.show_ways(read_vectors(vectors), words, k, as_json=json)


@app.command()
@friendly
def export(
    vectors: VectorsArg,
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="*.ttl SKOS in Turtle, *.jsonld SKOS in JSON-LD, *.npz features with their names in a .tsv beside.",
        ),
    ],
    k: Annotated[int, typer.Option("-k", min=1, help="Words of each node in a thesaurus.")] = 10,
    base: Annotated[str, typer.Option(help="Address that the names of the thesaurus begin with.")] = (
        "https://example.org/forest/"
    ),
    lang: Annotated[str, typer.Option(help="Language of the words; empty for none.")] = "en",
    title: Annotated[str, typer.Option(help="Name of the thesaurus.")] = "Forest",
    force: Force = False,
    verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:
    """Write the forest as a thesaurus, or the codes as features with readable names."""
    from wordforest import reading, store
    from wordforest.cli import terminal

    keep_existing(out, force)
    loaded = read_vectors(vectors)
    suffix = out.suffix.lower()
    if suffix == ".npz":
        names = out.with_suffix(".tsv")
        keep_existing(names, force)
        if (k, base, lang, title) != (10, "https://example.org/forest/", "en", "Forest"):
            raise InputError("-k, --base, --lang and --title are for a thesaurus, not for features. Leave them out.")
        features, _ = reading.as_features(loaded)
        store.write_sparse(out, features)
        terminal.deliver(reading.names_as_tsv(loaded), names)
        sys.stderr.write(f"wrote {out}\n")
    elif suffix == ".ttl":
        terminal.deliver(reading.as_skos_turtle(loaded, k=k, base=base, language=lang or None, title=title), out)
    elif suffix == ".jsonld":
        graph = reading.as_json_ld(loaded, k=k, base=base, language=lang or None, title=title)
        terminal.deliver(dumps(graph, ensure_ascii=False, indent=1) + "\n", out)
    else:
        raise InputError(f"{out}: expected a name that ends in .ttl, .jsonld or .npz. Rename OUT.")


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
        keep_existing(path, force)
    if target.exists() and target.resolve() == Path(source).resolve():
        raise InputError(f"{target}: IN and OUT are the same, and OUT would lose what vectors do not hold. Rename OUT.")
    vectors = read_vectors(source)
    if target.suffix:
        store.write_vectors(target, vectors)
    else:
        _write_folder(target, vectors)
    sys.stderr.write(f"wrote {target}: {len(vectors)} words, {vectors.n_dimensions} dimensions\n")


@app.command()
@friendly
def demo(
    out: OutOpt = Path("demo"), force: Force = False, verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:  # fmt: skip
    """Train on the State of the Union addresses: neighbours, scores, a heatmap, a tree, and a forest to read."""
    from wordforest.cli.demo import run_demo, show

    with reporter(quiet=False, as_json=False) as report:
        run, readable = run_demo(out, force, report)
    show(run, readable, out)


def _write_folder(target: Path, vectors: Any) -> None:
    """Write a run folder, alone in it; one made for nothing goes away."""
    from wordforest import store

    is_new = not target.exists()
    target.mkdir(parents=True, exist_ok=True)
    try:
        with store.locked(target):
            store.remove_leftovers(target)
            store.write_vectors(target, vectors)
            store.remove_checkpoint(target)
    except BaseException:
        if is_new:
            with suppress(OSError):  # somebody else's files are there by now
                target.rmdir()
        raise


def _show_neighbors(title: str, found: list[tuple[str, float]], as_json: bool) -> None:
    from wordforest.cli import terminal

    terminal.show_neighbors(title, found, as_json=as_json)
