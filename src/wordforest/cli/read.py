"""Commands that read vectors: inspect, path, neighbors, analogy, export, convert."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from wordforest.cli.command import (
    STOP_WORDS,
    VECTORS,
    argument,
    command,
    keep_existing,
    known_words,
    node_labels,
    note,
    option,
    read_vectors,
)
from wordforest.errors import InputError

_BASE = "https://example.org/forest/"
_EXPORTS = (
    "*.ttl SKOS in Turtle, *.jsonld SKOS in JSON-LD, *.npz features with words and names, also a .tsv of these; with "
    "--format what another tool reads."
)
Tool = Literal["huggingface", "sentence-transformers", "sparse-encoder", "spacy", "atlas", "codes"]
_TOOLS = (
    "For another tool: a folder with a model card (huggingface), one that SentenceTransformer, SparseEncoder or "
    "spacy.load reads; *.parquet for Embedding Atlas (atlas, also of a documents folder) or for SQL (codes)."
)
_FORMATS = (
    "*.txt *.vec word2vec text, *.bin word2vec binary, *.glove GloVe text, *.npz, *.safetensors, *.parquet, *.tsv for "
    "the Embedding Projector, else a run folder."
)
_READ_BY: dict[Tool, str] = {
    "huggingface": "wordforest.read_vectors('{out}') reads it, and huggingface-cli uploads it",
    "sentence-transformers": "SentenceTransformer('{out}') reads it",
    "sparse-encoder": "SparseEncoder('{out}') reads it",
    "spacy": "spacy.load('{out}') reads it",
    "atlas": "embedding-atlas {out} --text text --x x --y y --labels {labels} shows it",
    "codes": "SELECT word, label, value FROM '{out}' reads it",
}


@command()
def inspect(
    vectors: str = VECTORS,
    k: int | None = option(None, "Words of each node. Default: 6; with --node 20.", "-k", min=1),
    tree: list[int] | None = option(None, "Only this tree; give it again for more."),
    node: int | None = option(None, "The words of this node and all below it."),
    form: Literal["text", "json", "mermaid", "dot"] = option("text", "dot is for Graphviz.", "--format"),
    stop_words: Path | None = STOP_WORDS,
    *,
    json: bool,
) -> None:
    """Show size, sparsity by depth, and the forest with words that tell each node from the others."""
    from wordforest import reading
    from wordforest.cli import terminal

    loaded, form = read_vectors(vectors), "json" if json else form
    if node is not None:
        if tree or form in ("mermaid", "dot"):
            raise InputError("--node lists words, so it takes neither --tree nor a graph. Leave one of them out.")
        members = reading.subtree_words(loaded, node, k=k or 20)
        if form == "json":
            terminal.deliver_json(map(asdict, members), form="jsonl" if json else "json")
        else:
            terminal.deliver(reading.subtree_as_text(members, node_labels(loaded, 3, stop_words)))
        return
    k, tree = k or 6, None if tree is None else list(dict.fromkeys(tree))
    labels = node_labels(loaded, k, stop_words)
    if form == "json":
        terminal.deliver_json([reading.as_object(loaded, k=k, labels=labels, trees=tree)])
    elif form == "text":
        terminal.show_forest(vectors, loaded, k, labels=labels, trees=tree)
    else:
        write = {"mermaid": reading.as_mermaid, "dot": reading.as_graphviz}[form]
        terminal.deliver(write(reading.outline(loaded, k=k, labels=labels, trees=tree)))


@command()
def path(
    vectors: str = VECTORS,
    words: list[str] = argument("WORD"),
    k: int = option(4, "Words of each node.", "-k", min=1),
    stop_words: Path | None = STOP_WORDS,
    *,
    json: bool,
) -> None:
    """Show the path of words through the forest, and where several words part."""
    from wordforest.cli import terminal

    loaded = read_vectors(vectors)
    known, unknown = known_words(loaded, words)
    terminal.show_paths(loaded, known, k, labels=node_labels(loaded, k, stop_words), unknown=unknown, as_json=json)


@command()
def neighbors(
    vectors: str = VECTORS,
    words: list[str] = argument("WORD"),
    k: int = option(10, "How many words.", "-k", min=1),
    *,
    json: bool,
) -> None:
    """Show the nearest words by cosine."""
    from wordforest.cli import terminal

    loaded = read_vectors(vectors)
    known, unknown = known_words(loaded, words)
    for word in known:
        found = loaded.most_similar(word, topn=k) if loaded[word].any() else []  # a zero is equally far from all
        terminal.show_neighbors(word, found, as_json=json)
    if json:
        terminal.deliver_json(unknown)


@command()
def analogy(
    vectors: str = VECTORS,
    a: str = argument("A"),
    b: str = argument("B"),
    c: str = argument("C"),
    k: int = option(10, "How many words.", "-k", min=1),
    *,
    json: bool,
) -> None:
    """A is to B as C is to ?"""
    from wordforest.cli import terminal

    loaded = read_vectors(vectors)
    a, b, c = (loaded.words[row] for row in loaded.lookup.rows((a, b, c)))
    terminal.show_neighbors(f"{a} : {b} :: {c} :", loaded.analogy(a, b, c, topn=k), as_json=json)


@command()
def export(
    vectors: str = VECTORS,
    out: Path = argument("OUT", _EXPORTS),
    k: int = option(10, "Words of each node in a thesaurus.", "-k", min=1),
    base: str = option(_BASE, "Address that the names of the thesaurus begin with."),
    lang: str = option("en", "Language of the words; empty for none."),
    title: str | None = option(None, "Name of the thesaurus, or of the model on its card: else Forest, or OUT."),
    form: Tool | None = option(None, _TOOLS, "--format"),
    license: str = option("unknown", "Licence of the model, for its card."),  # noqa: A002 the field of a card
    stop_words: Path | None = STOP_WORDS,
    *,
    force: bool,
) -> None:
    """Write the forest as a thesaurus, the codes as features with readable names, or what another tool reads."""
    from wordforest import reading, store
    from wordforest.cli import terminal

    keep_existing(out, force)
    if form is not None:
        if (k, base, stop_words) != (10, _BASE, None):
            raise InputError("-k, --base and --stop-words are for a thesaurus, not for --format. Leave them out.")
        _export_to(form, vectors, out, lang, title, license)
        sys.stderr.write(f"wrote {out}: {_READ_BY[form].format(out=out, labels=out.with_suffix('.labels.parquet'))}\n")
        return
    loaded = read_vectors(vectors)
    labels = node_labels(loaded, 5, stop_words)
    suffix = out.suffix.lower()
    if suffix == ".npz":
        names = out.with_suffix(".tsv")
        keep_existing(names, force)
        if (k, base, lang, title) != (10, _BASE, "en", None):
            raise InputError("-k, --base, --lang and --title are for a thesaurus, not for features. Leave them out.")
        features, columns = reading.as_features(loaded, labels=labels)
        store.write_sparse(out, features, words=loaded.words, names=columns)
        terminal.deliver(reading.names_as_tsv(loaded, labels=labels), names)
        sys.stderr.write(f"wrote {out}\n")
    elif suffix in (".ttl", ".jsonld"):
        syntax: Literal["turtle", "json-ld"] = "turtle" if suffix == ".ttl" else "json-ld"
        text = reading.thesaurus(
            loaded, syntax, k=k, labels=labels, base=base, language=lang or None, title=title or "Forest"
        )
        terminal.deliver(text, out)
    else:
        raise InputError(
            f"{out}: expected a name that ends in .ttl, .jsonld or .npz. Rename OUT, or name a tool with --format."
        )


def _export_to(form: Tool, vectors: str, out: Path, lang: str, title: str | None, license: str) -> None:  # noqa: A002
    from wordforest import interop

    if form == "huggingface":
        interop.write_huggingface(vectors, out, title=title, license=license, language=lang or None)
    elif form == "spacy":
        interop.write_spacy(vectors, out, language=lang or "xx")
    elif form in ("atlas", "codes"):
        (interop.write_atlas if form == "atlas" else interop.write_codes)(vectors, out)
    else:
        interop.write_sentence_transformers(vectors, out, sparse=form == "sparse-encoder")


@command()
def convert(
    source: str = argument("IN", "A run folder, or a file of vectors."),
    target: Path = argument("OUT", _FORMATS),
    *,
    force: bool,
) -> None:
    """Read vectors in one format and write them in another."""
    from wordforest import store
    from wordforest.jobs.job import Job

    for path in store.vector_files(target):
        keep_existing(path, force)
    if target.exists() and target.resolve() == Path(source).resolve():
        raise InputError(f"{target}: IN and OUT are the same, and OUT would lose what vectors do not hold. Rename OUT.")
    is_copy = not target.suffix and store.is_run_folder(Path(source))  # counts and the dictionary go along
    run = store.load_run(Path(source)) if is_copy else None
    vectors = run.vectors if run else read_vectors(source)
    with nullcontext() if target.suffix else Job(target, force=True) as job:
        if run:
            store.save_run(target, run)
        else:
            store.write_vectors(target, vectors)
        if job:
            job.checkpoint.remove()
    sys.stderr.write(f"wrote {target}: {len(vectors)} words, {vectors.n_dimensions} dimensions\n")
    if vectors.forest is not None and vectors.forest.depth.any() and not store.keeps_forest(target):
        note(f"{target} has no place for the forest; .npz, .safetensors, .parquet and run folders keep it.")
