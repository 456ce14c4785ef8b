"""Documents to words: how often each word of a vocabulary stands in each document.

Many documents are split at once by the compiled tokeniser; blocks of them go to workers. Blocks are cut by the
documents alone, and counts are integers, so the result is the same for any number of workers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.counts.tally import with_phrases
from wordforest.errors import InputError
from wordforest.runtime.disk import ScratchFiles
from wordforest.runtime.machine import Executor, Threads, kernel
from wordforest.text import TextRules, Tokens, Vocabulary, WordRules, choose_words
from wordforest.text.documents import Document
from wordforest.text.phrases import Joiner, Phrase
from wordforest.text.reader import as_utf8
from wordforest.text.scripts import warn
from wordforest.text.tokenizer import FormTable, split_documents
from wordforest.text.tokens import FormRows, WordIds, tell_clauses

CSR: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"
Int32s: TypeAlias = NDArray[np.int32]
Int64s: TypeAlias = NDArray[np.int64]

_BLOCK_BYTES = 1 << 22
_MOST_DOCUMENTS = 1 << 13  # of a block
_LONGEST = 1 << 30  # positions in a block are 32-bit numbers
_MOST_FORMS = 1 << 19  # that a worker remembers before it begins anew


@dataclass(frozen=True, eq=False)
class Bags:
    """How often each word of a vocabulary stands in each document; ``counts`` is (documents, V) CSR of integers."""

    ids: list[str]
    fields: dict[str, list[Any]]  # columns kept beside the text, a value for each document
    counts: CSR


def count_words(
    documents: Iterable[Document],
    vocabulary: Vocabulary,
    rules: TextRules | None = None,
    *,
    executor: Executor | None = None,
) -> Iterator[Bags]:
    """Yield the words of documents, a block of some thousand documents at a time.

    Words outside of the vocabulary count as its ``#rare#``, or not at all where it has none. A list of tokens is split
    as it is; lower case and numbers follow the rules all the same.
    """
    rules, n_rows = rules or TextRules(), len(vocabulary)

    def counted(block: _Block) -> Bags:
        known, breaks = _known_forms(vocabulary, rules), bool(rules.known_phrases)
        forms, borders = split_documents(block.texts, block.tokenizer(rules), known.table, breaks=breaks)
        if not breaks:
            return block.bags(_counted(forms.ids, borders, known.of(forms), n_rows), n_rows)
        found, first = known.joined(forms)
        same = np.append(np.arange(n_rows, dtype=np.int32), np.int32(-1))
        return block.bags(_counted(found, np.searchsorted(first, borders), same, n_rows), n_rows)

    return (executor or Threads()).map(counted, _blocks(documents))


def words_in_order(
    documents: Iterable[Document],
    vocabulary: Vocabulary,
    rules: TextRules | None = None,
    *,
    executor: Executor | None = None,
) -> Iterator[tuple[Int32s, Int64s]]:
    """Yield the words of documents as rows of a vocabulary, -1 between sentences, and where documents begin and end.

    A block of some thousand documents at a time; words outside of the vocabulary are ``#rare#``, or -1 where it has
    none.
    """
    rules = rules or TextRules()

    def read(block: _Block) -> tuple[Int32s, Int64s]:
        known = _known_forms(vocabulary, rules)
        forms, borders = split_documents(block.texts, block.tokenizer(rules), known.table, breaks=True)
        rows, first = known.joined(forms)
        return rows, np.searchsorted(first, borders)

    return (executor or Threads()).map(read, _blocks(documents))


_own = threading.local()


def _known_forms(vocabulary: Vocabulary, rules: TextRules) -> FormRows:
    """Return what this thread has learned of a vocabulary's forms, when it counted with the same one before."""
    if getattr(_own, "of", (None, None)) != (id(vocabulary), rules):
        _own.of, _own.vocabulary, _own.known = (id(vocabulary), rules), vocabulary, FormRows(vocabulary.index, rules)
    known: FormRows = _own.known
    return known


def learn_words(
    documents: Iterable[Document],
    rules: TextRules | None = None,
    words: WordRules | None = None,
    *,
    min_df: float = 1,
    max_df: float = 1.0,
    executor: Executor | None = None,
    notice: Callable[[str], None] = warn,
) -> tuple[Vocabulary, Bags]:
    """Find the vocabulary of documents and count them under it, in one reading.

    Words are kept by the rules, if they stand in ``min_df`` documents or more and in ``max_df`` or fewer: a whole
    number of them, or a share of all. All others become ``#rare#``, as in training. ``notice`` hears what a person
    should know of them.
    """
    rules, words, own, executor = rules or TextRules(), words or WordRules(), threading.local(), executor or Threads()
    known, breaks = WordIds(rules), words.phrases or bool(rules.known_phrases)

    def split(block: _Block) -> tuple[_Block, Any, Int64s]:
        if getattr(own, "table", None) is None or own.table.n_forms > _MOST_FORMS:
            own.table = FormTable()
        return block, *split_documents(block.texts, block.tokenizer(rules), own.table, breaks=breaks)

    read: list[_Read] = []  # ids of words, and where documents begin and end
    for block, forms, borders in executor.map(split, _blocks(documents)):
        read.append((block.without_texts(), np.append(known.words_of(forms), np.int32(-1))[forms.ids], borders))
    if not read:
        raise InputError("there are no documents. Give at least one.")
    names, phrases = [*known.index], rules.known_phrases
    if breaks:
        names, read, phrases = _with_phrases(names, read, words, rules, executor)
    n_words = len(names)
    counts = np.sum([np.bincount(ids[ids >= 0], minlength=n_words) for _, ids, _ in read], axis=0)
    tell_clauses(names, counts, rules, notice)
    in_range = _within(read, n_words, min_df, max_df, executor)
    vocabulary, rows = choose_words(names, counts, words, in_range.__getitem__, phrases)
    rows = np.append(rows, np.int32(-1))  # of a border
    n_rows = len(vocabulary)
    done = executor.map(lambda part: part[0].bags(_counted(part[1], part[2], rows, n_rows), n_rows), read)
    return vocabulary, join_bags(list(done))


def _with_phrases(
    names: list[str], read: list[_Read], words: WordRules, rules: TextRules, executor: Executor
) -> tuple[list[str], list[_Read], tuple[Phrase, ...]]:
    """Return words and documents with phrases joined, those that are known or that are found."""
    ids = np.concatenate([ids for _, ids, _ in read])
    counts = np.bincount(ids[ids >= 0], minlength=len(names))
    with closing(ScratchFiles()) as scratch:
        _, phrases = with_phrases(Tokens(names, counts, ids, ""), words, rules, scratch, executor)
    joiner = Joiner(phrases)
    names, part_of, id_of = joiner.within(names)

    def joined(part: _Read) -> _Read:
        new, first = joiner.join(part_of[part[1]], part[1], id_of)
        return part[0], new, np.searchsorted(first, part[2])

    return names, [*executor.map(joined, read)], phrases


def join_bags(parts: Sequence[Bags]) -> Bags:
    """Put blocks of documents one below the other."""
    names = dict.fromkeys(name for part in parts for name in part.fields)
    fields = {
        name: [value for part in parts for value in part.fields.get(name, [None] * len(part.ids))] for name in names
    }
    counts = sparse.vstack([part.counts for part in parts], format="csr")
    return Bags([one for part in parts for one in part.ids], fields, sparse.csr_array(counts))


@dataclass(frozen=True, eq=False)
class _Block:
    """Some documents, their texts in UTF-8; either all of them came as lists of tokens, or none."""

    ids: list[str]
    fields: dict[str, list[Any]]
    texts: list[bytes]
    tokenised: bool

    def tokenizer(self, rules: TextRules) -> Any:
        return "whitespace" if self.tokenised else rules.tokenizer

    def without_texts(self) -> _Block:
        return _Block(self.ids, self.fields, [], self.tokenised)

    def bags(self, counted: tuple[Int64s, Int32s, Int32s], n_rows: int) -> Bags:
        indptr, columns, values = counted
        matrix = sparse.csr_array((values, columns, indptr), shape=(len(self.ids), n_rows))
        return Bags(self.ids, self.fields, matrix)


_Read: TypeAlias = tuple[_Block, Int32s, Int64s]  # documents, ids of their words, and where each begins and ends


def _blocks(documents: Iterable[Document]) -> Iterator[_Block]:
    waiting: list[Document] = []
    texts: list[bytes] = []
    size, tokenised = 0, False
    for document in documents:
        text = _in_utf8(document)
        is_list = not isinstance(document.text, str)
        full = size + len(text) > _BLOCK_BYTES or len(waiting) == _MOST_DOCUMENTS
        if waiting and (full or is_list != tokenised):
            yield _block(waiting, texts, tokenised)
            waiting, texts, size = [], [], 0
        tokenised, size = is_list, size + len(text)
        waiting.append(document)
        texts.append(text)
    if waiting:
        yield _block(waiting, texts, tokenised)


def _block(documents: list[Document], texts: list[bytes], tokenised: bool) -> _Block:
    names = dict.fromkeys(name for one in documents for name in one.fields)
    fields = {name: [one.fields.get(name) for one in documents] for name in names}
    return _Block([one.id for one in documents], fields, texts, tokenised)


def _in_utf8(document: Document) -> bytes:
    data = as_utf8(document.joined)
    if len(data) > _LONGEST:
        raise InputError(
            f"document {document.id}: it has more than {_LONGEST >> 30} GiB of text. Cut it into several documents."
        )
    return data


def _within(read: list[_Read], n_words: int, min_df: float, max_df: float, executor: Executor) -> NDArray[np.bool_]:
    """Say of every word whether the number of its documents is in the range, (words,)."""
    n_documents = sum(len(block.ids) for block, *_ in read)
    least, most = _number(min_df, n_documents), _number(max_df, n_documents)
    if least > most:
        raise InputError(
            f"min_df = {min_df} is more than max_df = {max_df} of {n_documents} documents. Lower min_df, or give more "
            "documents."
        )
    if least <= 1 and most >= n_documents:
        return np.ones(n_words, dtype=np.bool_)
    same = np.append(np.arange(n_words, dtype=np.int32), np.int32(-1))
    found = executor.map(
        lambda part: np.bincount(_counted(part[1], part[2], same, n_words)[1], minlength=n_words), read
    )
    in_documents = np.sum(list(found), axis=0)
    fits: NDArray[np.bool_] = (in_documents >= least) & (in_documents <= most)
    if not fits.any():
        raise InputError(
            f"no word stands in {least:g} to {most:g} of the {n_documents} documents. Lower min_df, or raise max_df."
        )
    return fits


def _number(df: float, n_documents: int) -> float:
    """Return a number of documents: a whole number is one, a float is a share of all, as in scikit-learn."""
    if df < 0 or (isinstance(df, float) and df > 1):
        raise InputError(f"min_df or max_df = {df}, but it must be a share from 0.0 to 1.0, or a whole number.")
    return df * n_documents if isinstance(df, float) else df


@kernel
def _counted(ids: Int32s, borders: Int64s, lookup: Int32s, n_rows: int) -> tuple[Int64s, Int32s, Int32s]:
    """Count rows by document: ``lookup`` has the row of every id, below 0 for none. Returns CSR, columns in order."""
    seen = np.zeros(n_rows, dtype=np.int32)
    columns, values = np.empty(len(ids), dtype=np.int32), np.empty(len(ids), dtype=np.int32)
    indptr = np.zeros(len(borders), dtype=np.int64)
    n = 0
    for d in range(len(borders) - 1):
        first = n
        for t in range(borders[d], borders[d + 1]):
            row = lookup[ids[t]]
            if row < 0:
                continue
            if seen[row] == 0:
                columns[n] = row
                n += 1
            seen[row] += 1
        columns[first:n].sort()
        for k in range(first, n):
            values[k] = seen[columns[k]]
            seen[columns[k]] = 0
        indptr[d + 1] = n
    return indptr, columns[:n].copy(), values[:n].copy()
