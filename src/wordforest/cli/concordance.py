"""The command that shows keywords in context."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Literal

from wordforest.cli.command import argument, command, note, option, read_vectors

_WIDTH = 40
_NAME = 16  # characters of a document's name that stand in a line


@command()
def concordance(
    run: str = argument("RUN", "A run folder: its text rules decide what is a word."),
    docs: list[str] = argument("DOCS", "Files, folders, globs or URLs; also a folder that `documents` wrote."),
    query: str = argument("WORD|NODE", "A word, a phrase, or the number of a node."),
    k: int = option(20, "How many lines; 0: all.", "-k", min=0),
    width: int | None = option(None, "Characters left and right. Default: what fits, 40 in a pipe.", min=1),
    sort: Literal["document", "left", "right", "strength"] = option("document", "strength: of the words of a node."),
    words: int = option(20, "Words of a node that are looked for.", min=1),
    seed: int | None = option(None, "Take lines at random, by this number, and not the first ones.", min=0),
    text: str | None = option(None, "Column of a table that holds the text.", metavar="COLUMN"),
    id: str | None = option(None, "Column of a table that names documents.", metavar="COLUMN"),  # noqa: A002
    form: Literal["table", "csv", "json", "jsonl"] = option("table", "All but table have whole records.", "--format"),
    *,
    errors: Any,
) -> None:
    """Show a word, or the words of a node, in the context of documents."""
    from wordforest import store
    from wordforest.cli import terminal
    from wordforest.documents.concordance import ContextLine
    from wordforest.documents.concordance import concordance as search
    from wordforest.text import TextRules
    from wordforest.text.documents import Columns

    is_run = store.is_run_folder(Path(run))
    loaded = store.load_run(Path(run)) if is_run else None
    vectors = _as_placed(loaded, docs) if loaded else read_vectors(run)
    found = search(
        _documents(docs, Columns(text, id), errors),
        vectors,
        int(query) if query.isascii() and query.isdigit() else query,
        rules=TextRules.of(loaded.config if loaded else {}),
        k=k or None,
        width=width or _room(),
        sort=sort,
        seed=seed,
        words=words,
    )
    if form in ("json", "jsonl"):
        terminal.deliver_json(map(asdict, found.lines), form=form)
    elif form == "csv":
        terminal.deliver_csv([asdict(line) for line in found.lines], [one.name for one in fields(ContextLine)])
    else:
        terminal.show_context(found, _NAME)


def _as_placed(run: Any, names: list[str]) -> Any:
    """Return the vectors of a run, with nodes merged and hidden as in the documents folders among the names."""
    from wordforest import store
    from wordforest.errors import InputError
    from wordforest.vectors.edits import as_edited

    folders = [name for name in names if store.is_documents_folder(Path(name))]
    edits = [store.load_documents(name).config.get("edits", []) for name in folders]
    if any(one != edits[0] for one in edits):
        raise InputError(f"nodes of {folders[0]} and another folder were merged or hidden otherwise. Name one of them.")
    return as_edited(run.learned, run.config, edits[0]) if edits else run.vectors


def _documents(names: list[str], columns: Any, errors: Any) -> Iterator[Any]:
    from wordforest import store
    from wordforest.text.documents import Document, read_files

    for name in names:
        if store.is_documents_folder(Path(name)):
            yield from (Document(str(one["id"]), one["text"]) for one in store.read_texts(name))
        else:
            store.refuse_results([name])
            yield from read_files([name], columns, errors, note)


def _room() -> int:
    """Return how many characters left and right fit beside a word and the name of a document."""
    from rich.console import Console

    return max((Console().width - _NAME - 20) // 2, 10) if sys.stdout.isatty() else _WIDTH
