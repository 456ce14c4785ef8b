"""The commands that bring documents to a forest."""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from wordforest.cli.command import STOP_WORDS, argument, command, option, propose, read_vectors, reporter, stop_words_in
from wordforest.errors import InputError

DOCS = argument("DOCS", "Tables, folders (a file a document), text files (a line a document), globs or URLs.")
_TEXT = option(None, "Column of a table that holds the text.", metavar="COLUMN")
_ID = option(None, "Column of a table that names documents.", metavar="COLUMN")
_EMBEDDINGS = option(None, "Embeddings of the documents, a row each, in their order (NumPy).", metavar="FILE.npy")
_OR_WORDS = option(None, "Embeddings of the documents, a row each (.npy), or vectors of words.", "--embeddings")


@command()
def topics(
    docs: list[str] = DOCS,
    levels: str | None = option(
        None, "Nodes at each depth. Default: 20,60,180; fewer for few documents.", metavar="N,N,..."
    ),
    text: str | None = _TEXT,
    id: str | None = _ID,  # noqa: A002
    min_df: str = option("5", "Leave out words in fewer documents: a number, or a share such as 0.001."),
    max_df: str = option("1.0", "Leave out words in more documents: a number, or a share such as 0.5."),
    embeddings: Path | None = _OR_WORDS,
    max_vocab: int | None = option(None, "Keep at most this many words. Default: 30,000.", min=1),
    density: float | None = option(None, "Share of all nodes that a document has. Default: about 0.07."),
    stability: bool = option(False, "Say how stable every node is, for twice the time."),
    *,
    out: Path,
    tokenizer: Any,
    lowercase: bool,
    numbers: bool,
    phrases: bool,
    errors: Any,
    seed: int,
    device: str,
    workers: int | None,
    memory: int | None,
    resume: bool,
    force: bool,
    quiet: bool,
    json: bool,
) -> None:
    """Learn topics at every depth from documents."""
    from wordforest.documents.topics import MAX_VOCAB, TopicSettings
    from wordforest.jobs.documents import DocumentColumns, learn_topics_of
    from wordforest.text import TextRules
    from wordforest.text.reader import Corpus

    settings = TopicSettings(
        levels=_levels(levels) if levels else None,
        min_df=_df("min_df", min_df),
        max_df=_df("max_df", max_df),
        max_vocab=max_vocab or MAX_VOCAB,
        density=density,
        stability=stability,
        seed=seed,
        device=device,
    )
    with reporter(quiet, json) as report:
        learn_topics_of(
            Corpus(docs),
            out=out,
            columns=DocumentColumns(text, id),
            rules=TextRules(tokenizer, lowercase, numbers, errors),
            phrases=phrases,
            settings=settings,
            embeddings=_read(embeddings),
            force=force,
            resume=resume,
            workers=workers,
            memory=memory,
            report=report,
        )
        run, columns = shlex.quote(str(out)), shlex.join([f"--text={text}"] if text else [])
        propose(
            report, f"inspect {run}", " ".join(["documents", run, shlex.join(docs), *columns.split(), "--out FOLDER"])
        )


@command()
def documents(
    run: str = argument("RUN", "A run that `topics` or `train --preset readable` made."),
    docs: list[str] = DOCS,
    text: str | None = _TEXT,
    id: str | None = _ID,  # noqa: A002
    time: str | None = option(None, "Column with a date, year or number: shares over time.", metavar="COLUMN"),
    group: str | None = option(None, "Column by which documents are compared.", metavar="COLUMN"),
    bins: str | None = option(None, "Bins of time: a number, or decade, year, month, day.", metavar="N|UNIT"),
    merge: list[str] | None = option(
        None, "Nodes of one parent that become one, as 13,26. May be repeated.", metavar="NODES"
    ),
    hide: str | None = option(None, "Nodes to leave out, with all below them.", metavar="NODES"),
    embeddings: Path | None = _EMBEDDINGS,
    form: Literal["csv", "parquet"] = option("csv", "Of the tables.", "--format"),
    texts: bool = option(
        True, "Keep the texts in the folder, for the page and for keywords in context.", "--texts/--no-texts"
    ),
    stop_words: Path | None = STOP_WORDS,
    *,
    out: Path,
    errors: Any,
    workers: int | None,
    cluster: str | None,
    resume: bool,
    force: bool,
    quiet: bool,
    json: bool,
) -> None:
    """Find the shares of a forest's nodes in documents: topics at every depth, groups, time."""
    from wordforest.jobs.documents import DocumentColumns, place_documents
    from wordforest.text.reader import Corpus

    edits: list[Any] = [("merge", _nodes(one)) for one in merge or ()]
    edits += [("hide", _nodes(hide))] if hide else []
    with reporter(quiet, json) as report:
        place_documents(
            run,
            Corpus(docs),
            out=out,
            columns=DocumentColumns(text, id, time, group),
            embeddings=_read(embeddings),
            bins=int(bins) if bins and bins.isdigit() else bins,
            form=form,
            texts=texts,
            edits=edits,
            stop_words=stop_words_in(stop_words),
            errors=errors,
            workers=workers,
            cluster=cluster,
            resume=resume,
            force=force,
            report=report,
        )
        if find_spec("flask"):
            propose(report, f"explore {shlex.quote(run)} --documents {shlex.quote(str(out))}")


def _levels(text: str) -> tuple[int, ...]:
    return _numbers(text, "--levels", "numbers of nodes, as 6,20,60")


def _nodes(text: str) -> tuple[int, ...]:
    return _numbers(text, "nodes", "numbers of nodes, as 13,26")


def _numbers(text: str, name: str, expected: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"{name} {text!r}: expected {expected}.") from None


def _df(name: str, text: str) -> float:
    """Return a number of documents, or a share of all: a number with a point."""
    try:
        return int(text) if text.isdigit() else float(text)
    except ValueError:
        raise InputError(f"{name} = {text}: expected a number of documents, or a share such as 0.01.") from None


def _read(file: Path | None) -> Any:
    """Return embeddings from a file: of documents, mapped, not read, or of words."""
    if file is None:
        return None
    if file.suffix != ".npy":
        return read_vectors(str(file))
    import numpy as np

    from wordforest.runtime.disk import no_such_file

    if not file.exists():
        raise InputError(no_such_file(str(file)))
    try:
        return np.load(file, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: not an array of NumPy ({error}). Write one with numpy.save.") from error
