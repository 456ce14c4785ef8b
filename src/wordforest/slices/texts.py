"""Texts in slices: the words of every document in their order, and the slice that each document belongs to.

A slice is a party, a newspaper, a decade: whatever texts are compared by. All slices share one vocabulary, so that a
forest learned on all of them is one set of places to measure each slice on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.counts.windows import WindowRules, count_blocks, find_positions, row_blocks
from wordforest.documents.bags import words_in_order
from wordforest.documents.groups import in_order
from wordforest.documents.times import binned, in_time
from wordforest.errors import InputError
from wordforest.runtime.machine import Executor
from wordforest.text import TextRules, Vocabulary
from wordforest.text.documents import Document
from wordforest.text.tables import is_missing
from wordforest.text.tokenizer import BREAK

CSR: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"
Int32s: TypeAlias = NDArray[np.int32]
Int64s: TypeAlias = NDArray[np.int64]

_MOST_SLICES = 1000


@dataclass(frozen=True, eq=False, repr=False)
class Slices:
    """n documents in S slices over a vocabulary of V words.

    ``ids`` are rows of the vocabulary, BREAK (-1) between sentences and behind every document; document d is
    ``ids[borders[d]:borders[d + 1]]`` and belongs to slice ``code[d]``. ``is_time`` says that names are points in time,
    in order.
    """

    words: tuple[str, ...]
    ids: Int32s  # (tokens + breaks,)
    borders: Int64s  # (n + 1,)
    code: Int32s  # (n,)
    names: tuple[Any, ...]  # (S,)
    documents: tuple[str, ...]  # (n,) ids
    is_time: bool = False

    def __post_init__(self) -> None:
        n, S = len(self.documents), len(self.names)
        if not (len(self.borders) == n + 1 and len(self.code) == n and (n == 0 or self.code.min() >= 0)):
            raise InputError("documents, their borders and their slices do not agree. Read the slices again.")
        if n and (self.code.max() >= S or self.borders[-1] != len(self.ids)):
            raise InputError("documents, their borders and their slices do not agree. Read the slices again.")

    def __repr__(self) -> str:
        named = ", ".join(map(str, self.names[:4])) + (", ..." if len(self.names) > 4 else "")
        return f"Slices({len(self.documents)} documents in {len(self.names)} slices: {named})"

    def number(self, name: Any) -> int:
        """Return the number of a slice by its name, or by how it is written."""
        for number, own in enumerate(self.names):
            if own == name or str(own) == str(name):
                return number
        raise InputError(f"there is no slice {name!r}. There are: {', '.join(map(str, self.names))}.")

    def only(self, names: Sequence[Any]) -> Slices:
        """Return some of the slices, in the order given."""
        numbers = [*dict.fromkeys(self.number(name) for name in names)]
        numbers = sorted(numbers) if self.is_time else numbers
        if len(numbers) < 2:
            raise InputError(f"expected two slices or more, but {len(numbers)} came. Name those to compare.")
        place = np.full(len(self.names), -1, dtype=np.int32)
        place[numbers] = np.arange(len(numbers), dtype=np.int32)
        kept = np.flatnonzero(place[self.code] >= 0)
        sizes = np.diff(self.borders)[kept]
        ids = self.ids[np.repeat(place[self.code] >= 0, np.diff(self.borders))]
        return replace(
            self,
            ids=ids,
            borders=np.concatenate(([0], np.cumsum(sizes))),
            code=place[self.code[kept]],
            names=tuple(self.names[number] for number in numbers),
            documents=tuple(self.documents[d] for d in kept),
        )

    @cached_property
    def document(self) -> Int32s:
        """The document of every id, (tokens + breaks,)."""
        return np.repeat(np.arange(len(self.code), dtype=np.int32), np.diff(self.borders))

    @cached_property
    def positions(self) -> tuple[Int64s, Int32s]:
        """Where words stand: v at ``positions[1][positions[0][v]:positions[0][v + 1]]``."""
        return find_positions(self.ids, 0, len(self.ids), len(self.words))

    @cached_property
    def frequencies(self) -> Int64s:
        """How often each word stands in each slice, (S, V)."""
        found = np.zeros((len(self.names), len(self.words)), dtype=np.int64)
        for bags, rows in self.bags():
            sums = sparse.csr_array(
                (np.ones(len(rows)), (self.code[rows], np.arange(len(rows)))), shape=(len(self.names), len(rows))
            )
            found += (sums @ bags).astype(np.int64).toarray()
        return found

    def bags(self, size: int = 1 << 12) -> Iterator[tuple[CSR, Int64s]]:
        """Yield how often words stand in documents, (b, V), and the numbers of the documents, a block at a time."""
        for first in range(0, len(self.code), size):
            rows = np.arange(first, min(first + size, len(self.code)))
            part = slice(int(self.borders[rows[0]]), int(self.borders[rows[-1] + 1]))
            ids, document = self.ids[part], self.document[part] - first
            known = ids >= 0
            ones = np.ones(int(known.sum()), dtype=np.float64)
            yield sparse.csr_array((ones, (document[known], ids[known])), shape=(len(rows), len(self.words))), rows

    def ids_of(self, number: int | None = None) -> Int32s:
        """Return the ids of a slice, or of all."""
        return self.ids if number is None else self.ids[(self.code == number)[self.document]]

    def counts(self, rules: WindowRules, number: int | None = None) -> CSR:
        """Return the window counts (V, C) of a slice, or of all: what ``count`` counts, but nothing is dropped."""
        ids, V = self.ids_of(number), len(self.words)
        weights = rules.weights(len(ids))
        margin = np.full(len(weights), BREAK, dtype=np.int32)
        columns = rules.columns(V)
        borders = row_blocks(np.bincount(ids[ids >= 0], minlength=V), 2 * rules.window, columns)
        parts = list(count_blocks(np.concatenate((margin, ids, margin)), V, rules, weights, borders))
        sizes, indices, data = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        indptr = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        return sparse.csr_array((data, indices, indptr), shape=(V, columns))

    def line(self, position: int, width: int = 8) -> tuple[str, str, str]:
        """Return the words left of a position, the word there, and the words right of it, within its document."""
        d = int(self.document[position])
        first, last = int(self.borders[d]), int(self.borders[d + 1])
        left, right = (
            " ".join(self.words[i] for i in part if i >= 0)
            for part in (
                self.ids[max(first, position - width) : position],
                self.ids[position + 1 : min(last, position + 1 + width)],
            )
        )
        return left, self.words[self.ids[position]], right


def read_slices(
    documents: Iterable[tuple[Any, Document]],
    vocabulary: Vocabulary,
    rules: TextRules | None = None,
    *,
    bins: int | str | None = None,
    order: Sequence[Any] | None = None,
    executor: Executor | None = None,
) -> Slices:
    """Read documents, each with the name of its slice, into words of a vocabulary.

    Documents without a slice (None, nan, empty) are left out. ``bins`` takes names as times and puts them in bins: so
    many, or each a decade, year, month or day; without it names that are all numbers or dates are in their order.
    Other names are in the ``order`` given, or sorted.
    """
    values: list[Any] = []
    known: list[str] = []

    def named() -> Iterator[Document]:
        for value, document in documents:
            if not is_missing(value):
                values.append(value)
                known.append(document.id)
                yield document

    parts, borders, end = list[Int32s](), [np.zeros(1, np.int64)], 0
    for rows, within in words_in_order(named(), vocabulary, rules, executor=executor):
        parts.append(rows)
        borders.append(within[1:] + end)
        end += len(rows)
    if not parts:
        raise InputError("no document has a slice. Name a column that says which slice a text belongs to.")
    names, code, is_time = _coded(values, bins, order)
    ids = np.concatenate(parts)
    return Slices(vocabulary.words, ids, np.concatenate(borders), code, tuple(names), tuple(known), is_time)


def _plain(values: list[Any]) -> list[Any]:
    """Return names of slices as plain values: numbers of Python, dates as text; those that look alike are one."""
    known: dict[Any, Any] = {}
    alike: dict[str, Any] = {}
    for value in {*values}:
        own = value.item() if isinstance(value, np.generic) else value
        own = own.isoformat()[:10] if isinstance(own, date) else own
        own = own if isinstance(own, int | float | str) else str(own)
        known[value] = alike.setdefault(str(own), own)
    return [known[value] for value in values]


def _coded(values: list[Any], bins: int | str | None, order: Sequence[Any] | None) -> tuple[list[Any], Int32s, bool]:
    """Return the names of slices, the number of each document's, and whether they are times."""
    values = _plain(values)
    if bins is not None:
        starts, code = binned(values, bins)
        used, number = np.unique(code, return_inverse=True)
        names, is_time = [starts[old] for old in used.tolist()], True
        places = number.astype(np.int32)
    else:
        found = in_time({*values})
        listed = in_order({*values}) if order is None else [name for name in order if name in {*values}]
        names, is_time = found or listed, found is not None
        place = {name: number for number, name in enumerate(names)}
        places = np.array([place[value] for value in values], dtype=np.int32)
    if len(names) > _MOST_SLICES:
        raise InputError(
            f"expected at most {_MOST_SLICES} slices, but {len(names)} came. Is this a column of ids? "
            "Name another, or put times into bins, as in --bins decade."
        )
    if len(names) < 2:
        raise InputError(f"all documents are of the slice {names[0]!r}. Give two slices or more.")
    return names, places, is_time
