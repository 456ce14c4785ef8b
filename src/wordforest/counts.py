"""Token ids to sparse window counts. Counts are integers, so counts of shards add up exactly.

For each word all its positions are visited one after the other, and its neighbours are counted in one dense row
that stays in cache; no hash table, no sorting of pairs. Words are independent, so blocks of words go to workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.compile import kernel
from wordforest.errors import InputError
from wordforest.execution import Executor, Threads
from wordforest.text import TextRules, Vocabulary, choose_vocabulary, read_tokens

CSR: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"

SHARD_TOKENS = 1 << 26
_BLOCKS = 64  # blocks of words in a shard, about equal in tokens


@dataclass(frozen=True, eq=False)
class Counts:
    """How often word v (row) and context c (column) stand within a window: ``matrix`` is (V, C) CSR of integers."""

    matrix: CSR
    vocabulary: Vocabulary
    fingerprint: str = ""  # SHA-256 of the corpus


def count(
    corpus: str | Path | Iterable[str | Path],
    *,
    window: int = 5,
    min_count: int = 10,
    max_vocab: int | None = None,
    rules: TextRules | None = None,
    executor: Executor | None = None,
    spool_folder: Path | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> Counts:
    """Count the words of a corpus and the pairs of words at most ``window`` apart within a sentence.

    ``on_progress`` is called with the stage ("read" or "count"), tokens done, and bytes read or tokens in all.
    """
    if window < 1:
        raise InputError(f"window = {window}, but it must be at least 1.")
    report = on_progress or (lambda *_: None)
    executor = executor or Threads()
    tokens = read_tokens(
        corpus, rules, executor=executor, spool_folder=spool_folder,
        on_progress=lambda done, size: report("read", done, size),
    )  # fmt: skip
    vocabulary, rows = choose_vocabulary(tokens.words, tokens.counts, min_count, max_vocab)
    counted = 0

    def on_words(n_tokens: int) -> None:
        nonlocal counted
        counted += n_tokens
        report("count", counted, tokens.n_tokens)

    matrix: CSR | None = None
    on_words(0)
    for ids, centres in _shards(tokens.ids, rows, window):
        shard = count_windows(ids, len(vocabulary), window, centres=centres, executor=executor, on_words=on_words)
        matrix = shard if matrix is None else add_counts(matrix, shard)
    assert matrix is not None  # noqa: S101 a corpus has at least one shard
    return Counts(matrix, vocabulary, tokens.fingerprint)


def count_windows(
    ids: NDArray[np.int32],
    n_words: int,
    window: int,
    *,
    centres: slice = slice(None),
    executor: Executor | None = None,
    on_words: Callable[[int], None] | None = None,
) -> CSR:
    """Return the (n_words, n_words) counts of pairs at most ``window`` apart; negative ids end a sentence.

    Rows are words at the positions ``centres``, columns their neighbours anywhere, so the counts of adjoining slices
    add up to the counts of the whole. ``on_words`` is called with the number of centres just done.
    """
    first, last, _ = centres.indices(len(ids))
    starts, positions = _positions(ids, first, last, n_words)
    blocks = [(a, b) for a, b in pairwise(_balanced(starts, _BLOCKS)) if a < b]
    sizes, columns, values = [], [], []
    rows = (executor or Threads()).map(lambda ab: _count_rows(ids, positions, starts, *ab, window), blocks)
    for (a, b), (size, column, value) in zip(blocks, rows, strict=True):
        sizes.append(size)
        columns.append(column)
        values.append(value)
        if on_words:
            on_words(int(starts[b] - starts[a]))
    indptr = np.zeros(n_words + 1, dtype=np.int64)
    np.cumsum(np.concatenate(sizes), out=indptr[1:])
    parts = (np.concatenate(values), np.concatenate(columns), _narrow(indptr))
    return sparse.csr_array(parts, shape=(n_words, n_words))


def add_counts(a: CSR, b: CSR) -> CSR:
    """Add the counts of two shards, in 64 bits if 32 might not hold them."""
    if int(a.data.max(initial=0)) + int(b.data.max(initial=0)) > np.iinfo(np.int32).max:
        a = a.astype(np.int64)
    total: CSR = a + b
    return total


def _shards(ids: NDArray[np.int32], rows: NDArray[np.int32], window: int) -> Iterator[tuple[NDArray[np.int32], slice]]:
    """Cut a stream of ids into shards that fit in memory, with a window's margin, renumbered to vocabulary rows."""
    lookup = np.append(rows, np.int32(-1))  # a sentence border, -1, finds the last
    for start in range(0, len(ids), SHARD_TOKENS):
        end = min(start + SHARD_TOKENS, len(ids))
        low, high = max(0, start - window), min(len(ids), end + window)
        yield lookup[ids[low:high]], slice(start - low, end - low)


def _balanced(starts: NDArray[np.int64], n_blocks: int) -> NDArray[np.int64]:
    """Borders of blocks of words with about equally many tokens."""
    targets = np.linspace(0, starts[-1], n_blocks + 1)
    borders = np.searchsorted(starts, targets)
    borders[0], borders[-1] = 0, len(starts) - 1
    return np.maximum.accumulate(borders)


def _narrow(indptr: NDArray[np.int64]) -> NDArray[np.int32] | NDArray[np.int64]:
    """Use 32-bit row pointers where they are enough: SciPy keeps both index arrays in one type."""
    return indptr.astype(np.int32) if indptr[-1] <= np.iinfo(np.int32).max else indptr


@kernel
def _positions(
    ids: NDArray[np.int32], first: int, last: int, n_words: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the positions of words in ids[first:last], by word: v stands at positions[starts[v]:starts[v + 1]]."""
    starts = np.zeros(n_words + 1, dtype=np.int64)
    for p in range(first, last):
        if ids[p] >= 0:
            starts[ids[p] + 1] += 1
    for v in range(n_words):
        starts[v + 1] += starts[v]
    fill = starts[:-1].copy()
    positions = np.empty(starts[-1], dtype=np.int32)
    for p in range(first, last):
        v = ids[p]
        if v >= 0:
            positions[fill[v]] = p
            fill[v] += 1
    return starts, positions


@kernel
def _count_rows(
    ids: NDArray[np.int32], positions: NDArray[np.int32], starts: NDArray[np.int64],
    first: int, last: int, window: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:  # fmt: skip
    """Count the neighbours of words first .. last - 1. Returns row sizes, columns (sorted in a row) and counts."""
    n_words = len(starts) - 1
    seen = np.zeros(n_words, dtype=np.int32)
    touched = np.empty(n_words, dtype=np.int32)
    sizes = np.zeros(last - first, dtype=np.int32)
    columns = np.empty(1 << 16, dtype=np.int32)
    values = np.empty(1 << 16, dtype=np.int32)
    filled = 0
    for v in range(first, last):
        n = 0
        for k in range(starts[v], starts[v + 1]):
            n = _count_around(ids, positions[k], window, seen, touched, n)
        while filled + n > len(columns):
            columns = np.concatenate((columns, np.empty_like(columns)))
            values = np.concatenate((values, np.empty_like(values)))
        _take_row(seen, touched, n, columns[filled : filled + n], values[filled : filled + n])
        sizes[v - first] = n
        filled += n
    return sizes, columns[:filled].copy(), values[:filled].copy()


@kernel
def _count_around(
    ids: NDArray[np.int32], p: int, window: int, seen: NDArray[np.int32], touched: NDArray[np.int32], n: int
) -> int:
    """Count the neighbours of position p; ``touched[:n]`` lists the words seen so far."""
    for step in (-1, 1):
        q = p + step
        for _ in range(window):
            if q < 0 or q >= len(ids) or ids[q] < 0:
                break
            c = ids[q]
            if seen[c] == 0:
                touched[n] = c
                n += 1
            seen[c] += 1
            q += step
    return n


@kernel
def _take_row(
    seen: NDArray[np.int32],
    touched: NDArray[np.int32],
    n: int,
    columns: NDArray[np.int32],
    values: NDArray[np.int32],
) -> None:
    """Move the counts of one word out of the dense row, in order of the columns, and clear it."""
    if n > len(seen) // 16:
        k = 0
        for c in range(len(seen)):
            if seen[c]:
                columns[k] = c
                k += 1
    else:
        columns[:] = np.sort(touched[:n])
    for k in range(n):
        values[k] = seen[columns[k]]
        seen[columns[k]] = 0
