"""A corpus as one stream of word ids on disk, with the words and how often each occurs."""

from __future__ import annotations

import hashlib
import re
import tempfile
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.execution import Executor, Threads
from wordforest.text.reader import Chunk, Errors, find_sources, read_chunks
from wordforest.text.tokenizer import BREAK, Forms, Tokenizer, split_forms
from wordforest.text.vocabulary import NUMBER


@dataclass(frozen=True)
class TextRules:
    """How text becomes words. The defaults are the paper's."""

    tokenizer: Tokenizer = "words"
    lowercase: bool = True
    numbers: bool = True  # numbers become #number#
    errors: Errors = "strict"


@dataclass(frozen=True, eq=False)
class Tokens:
    """A corpus in ids: ``ids`` index ``words``, BREAK (-1) stands between sentences."""

    words: list[str]
    counts: NDArray[np.int64]  # (words,)
    ids: NDArray[np.int32]  # (tokens + breaks,), on disk
    fingerprint: str  # SHA-256 of the text

    @property
    def n_tokens(self) -> int:
        """Number of tokens, sentence borders not counted."""
        return int(self.counts.sum())


def read_tokens(
    corpus: str | Path | Iterable[str | Path],
    rules: TextRules | None = None,
    *,
    executor: Executor | None = None,
    spool_folder: Path | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Tokens:
    """Read a corpus once and keep it as ids in a temporary file, so that it may be larger than memory.

    ``on_progress`` is called with tokens and bytes read so far. The file lies in ``spool_folder`` (or the system's
    place for temporary files), needs four bytes a token, and goes away with the result.
    """
    rules = rules or TextRules()
    executor = executor or Threads()
    table = _WordTable(rules)
    digest = hashlib.sha256()
    n_bytes = 0

    def split(chunk: Chunk) -> tuple[Chunk, Forms]:
        return chunk, split_forms(chunk.data, rules.tokenizer)

    sources = find_sources(corpus)
    with tempfile.TemporaryFile(dir=spool_folder) as spool:  # the ids mapped from it outlive the handle
        for chunk, forms in executor.map(split, read_chunks(sources, rules.errors)):
            digest.update(chunk.data)
            _append(spool, table.number(forms), ends=chunk.last)
            n_bytes += len(chunk.data)
            if on_progress:
                on_progress(table.n_tokens, n_bytes)
        if not table.n_tokens:
            raise InputError(f"{_named(sources)}: the corpus holds no words. Check the path and the --tokenizer.")
        spool.flush()
        ids = np.memmap(spool, dtype=np.int32, mode="r")
    return Tokens(table.words, table.counts(), ids, digest.hexdigest())


def normalise(form: str, rules: TextRules) -> str:
    """Return the word that a form as written stands for: one apostrophe, NFC, lower case, ``#number#``."""
    if not form.isascii():
        form = form.replace("\u2019", "'").replace("\u00ad", "") or form
    if rules.numbers and is_number(form):
        return NUMBER
    if rules.lowercase:
        form = form.lower()
    return unicodedata.normalize("NFC", form)  # last: lower case may bring forth what can be composed


def is_number(form: str) -> bool:
    """Say whether a form is digits, with points or commas between them and perhaps a sign in front.

    >>> [is_number(form) for form in ("1,000.5", "-3", "20th", "٣٤", "½", "+", "三")]
    [True, True, False, True, True, False, False]
    """
    digits = form[1:] if form[:1] in ("+", "-", "−") else form
    return all(part.isnumeric() and not any(map(str.isalpha, part)) for part in re.split("[.,]", digits))


class _WordTable:
    """Numbers words in order of first appearance; remembers every form it has seen."""

    def __init__(self, rules: TextRules) -> None:
        self._rules = rules
        self._word_of_form: dict[bytes, int] = {}
        self._word_index: dict[str, int] = {}
        self._counts = np.zeros(1 << 16, dtype=np.int64)
        self.n_tokens = 0

    @property
    def words(self) -> list[str]:
        return list(self._word_index)

    def counts(self) -> NDArray[np.int64]:
        return self._counts[: len(self._word_index)].copy()

    def number(self, chunk: Forms) -> NDArray[np.int32]:
        """Return the chunk's tokens as ids of words and count them."""
        rows = np.fromiter(map(self._row, chunk.forms), dtype=np.int32, count=len(chunk.forms))
        while len(self._counts) < len(self._word_index):
            self._counts = np.concatenate((self._counts, np.zeros_like(self._counts)))
        np.add.at(self._counts, rows, chunk.counts)
        self.n_tokens += int(chunk.counts.sum())
        lookup = np.append(rows, np.int32(BREAK))  # BREAK = -1 finds the last
        return lookup[chunk.ids]

    def _row(self, form: bytes) -> int:
        row = self._word_of_form.get(form)
        if row is None:
            word = normalise(form.decode(), self._rules)
            row = self._word_index.setdefault(word, len(self._word_index))
            self._word_of_form[form] = row
        return row


def _append(spool: IO[bytes], ids: NDArray[np.int32], *, ends: bool) -> None:
    spool.write(ids.tobytes())
    if ends:
        spool.write(np.int32(BREAK).tobytes())


def _named(sources: list[str]) -> str:
    return sources[0] if len(sources) == 1 else f"{sources[0]} and {len(sources) - 1} more"
