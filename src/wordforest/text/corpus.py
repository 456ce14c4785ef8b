"""What may be given as a corpus: names of files, or texts of Python, which are written to a file of their own."""

from __future__ import annotations

import tempfile
import weakref
from collections import Counter
from collections.abc import Iterable
from itertools import chain, islice
from pathlib import Path
from typing import Any

from wordforest.errors import InputError
from wordforest.text.documents import Document, check_texts, is_frame, read_documents
from wordforest.text.reader import Corpus, as_utf8
from wordforest.text.tables import is_text

_LOOK = 100  # strings that are looked at to tell texts from names
_LONGEST = 255  # bytes of a name, in most file systems


def as_corpus(given: Any, text: str | None = None) -> Corpus:
    """Return what was given as a corpus: paths, globs and URLs as names, all else as texts.

    Texts are those of a frame or a column, lists of tokens, rows, documents of spaCy, and strings that hold a space and
    name no file. ``text`` names the column of a frame or of rows.
    """
    if isinstance(given, str) and ("\n" in given or max(map(len, given.split("/"))) > _LONGEST):
        raise InputError(f"{given[:40]!r}...: this is a text, not the name of a file. Put it into a list.")
    if isinstance(given, str | Path):
        return Corpus([str(given)])
    if is_frame(given) or hasattr(given, "to_list"):
        return _spooled(read_documents(given, text=text))
    check_texts("corpus", given)
    items = iter(given)
    first = [*islice(items, _LOOK)]
    if all(isinstance(item, str | Path) for item in first) and not _are_texts(first):
        _refuse_tokens(first)
        return Corpus(str(item) for item in chain(first, items))
    return _spooled(read_documents(chain(first, items), text=text))


def _are_texts(items: list[Any]) -> bool:
    """Say whether more of the items look like text and name no file than are names of files or URLs."""
    names = [_is_name(item) for item in items]
    return sum(not name and is_text(item) for item, name in zip(items, names, strict=True)) > sum(names)


def _refuse_tokens(items: list[Any]) -> None:
    """Refuse single words where names of files or texts are expected, as a list of tokens has them."""
    if len(items) > 2 and not any(_is_name(item) or not str(item).isalnum() for item in items):
        raise InputError(
            f"{', '.join(items[:3])}: none of these is a file, and a text is several words. Check the paths; "
            "the tokens of a text go in as a list inside the list."
        )


def _is_name(item: Any) -> bool:
    if not isinstance(item, str) or item == "-" or ("://" in item and len(item.split()) == 1):
        return True
    try:
        return any(map(str.isalnum, item)) and Path(item).exists()
    except (OSError, ValueError):  # too long for a name, or with a byte 0
        return False


def _spooled(documents: Iterable[Document]) -> Corpus:
    corpus = Corpus()
    corpus.file = tempfile.NamedTemporaryFile(suffix=".txt")  # noqa: SIM115 closed with the corpus
    weakref.finalize(corpus, corpus.file.close)
    kinds: Counter[bool] = Counter()
    for document in documents:
        kinds[isinstance(document.text, str)] += 1
        corpus.file.write(as_utf8(document.joined) + b"\n")
    if corpus.file.tell() == kinds.total():
        raise InputError(f"{kinds.total()} texts, and there is nothing in any. Give others, or name another column.")
    if len(kinds) > 1:
        raise InputError("some texts are strings and some are lists of tokens. Give all of them alike.")
    corpus.file.flush()
    corpus.append(f"{kinds.total()} texts")
    corpus.tokenised = bool(kinds[False])
    return corpus
