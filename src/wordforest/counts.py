"""Token ids to sparse window counts. Counts are integers, so counts of shards add up exactly.

For each word all its positions are visited one after the other, and its neighbours are counted in one dense row
that stays in cache; no hash table, no sorting of pairs. Words are independent, so blocks of words go to workers.
"""

from __future__ import annotations

import math
import tempfile
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
Integers: TypeAlias = "NDArray[np.int32] | NDArray[np.int64]"

SHARD_TOKENS = 1 << 26
_BLOCKS = 64  # blocks of words in a shard, about equal in tokens
_PIECE = 1 << 20  # ids thinned at a time
_INT32_MAX = int(np.iinfo(np.int32).max)
# Twice the sum of lcm(1..16) / d is below 5 million, so that 64 bits hold a word's pairs up to 10^12 tokens.
_WIDEST_DYNAMIC_WINDOW = 16


@dataclass(frozen=True, eq=False)
class Counts:
    """How often word v (row) and context c (column) stand within a window: ``matrix`` is (V, C) CSR of integers.

    With a dynamic window a pair at distance d counts ``harmonic_weights(window)[d - 1]`` times.
    """

    matrix: CSR
    vocabulary: Vocabulary
    fingerprint: str = ""  # SHA-256 of the corpus


def count(
    corpus: str | Path | Iterable[str | Path],
    *,
    window: int = 5,
    min_count: int = 10,
    max_vocab: int | None = None,
    dynamic_window: bool = False,
    subsample: float = 0.0,
    rules: TextRules | None = None,
    executor: Executor | None = None,
    spool_folder: Path | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> Counts:
    """Count the words of a corpus and the pairs of words at most ``window`` apart within a sentence.

    ``dynamic_window`` lets a pair at distance d count in proportion to 1/d. ``subsample`` drops frequent words before
    windows are made (see ``keep_probability``), typically with 1e-3 to 1e-5; 0 keeps all, and the counts of the
    vocabulary are those of the text either way. ``on_progress`` is called with the stage ("read" or "count"), tokens
    done, and bytes read or tokens in all.
    """
    _check_settings(window, dynamic_window, subsample)
    report = on_progress or (lambda *_: None)
    executor = executor or Threads()
    tokens = read_tokens(
        corpus, rules, executor=executor, spool_folder=spool_folder,
        on_progress=lambda done, size: report("read", done, size),
    )  # fmt: skip
    vocabulary, rows = choose_vocabulary(tokens.words, tokens.counts, min_count, max_vocab)
    ids, counted = tokens.ids, 0

    def on_words(n_tokens: int) -> None:
        nonlocal counted
        counted += n_tokens
        report("count", counted, tokens.n_tokens)

    on_words(0)
    if subsample:
        keep = keep_probability(vocabulary.counts, subsample)[rows]
        ids = _thinned(ids, keep, executor, spool_folder, on_words)
    matrix: CSR | None = None
    for part, centres in _shards(ids, rows, window):
        shard = count_windows(
            part, len(vocabulary), window, dynamic_window=dynamic_window,
            centres=centres, executor=executor, on_words=on_words,
        )  # fmt: skip
        matrix = shard if matrix is None else add_counts(matrix, shard)
    assert matrix is not None  # noqa: S101 a corpus has at least one shard
    return Counts(matrix, vocabulary, tokens.fingerprint)


def count_windows(
    ids: NDArray[np.int32],
    n_words: int,
    window: int,
    *,
    dynamic_window: bool = False,
    centres: slice = slice(None),
    executor: Executor | None = None,
    on_words: Callable[[int], None] | None = None,
) -> CSR:
    """Return the (n_words, n_words) counts of pairs at most ``window`` apart; negative ids end a sentence.

    Rows are words at the positions ``centres``, columns their neighbours anywhere, so the counts of adjoining slices
    add up to the counts of the whole. With ``dynamic_window`` a pair at distance d counts as in ``harmonic_weights``.
    ``on_words`` is called with the number of centres just done.
    """
    weights = harmonic_weights(window) if dynamic_window else np.ones(min(window, len(ids)), dtype=np.int64)
    first, last, _ = centres.indices(len(ids))
    starts, positions = _positions(ids, first, last, n_words)
    blocks = [(a, b) for a, b in pairwise(_balanced(starts, _BLOCKS)) if a < b]
    sizes, columns, values = [], [], []
    rows = (executor or Threads()).map(lambda ab: _count_block(ids, positions, starts, *ab, weights), blocks)
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
    """Add the counts of two shards, in 64 bits if 32 do not hold them."""
    if int(a.data.max(initial=0)) + int(b.data.max(initial=0)) > _INT32_MAX:
        a = a.astype(np.int64)
    total: CSR = a + b
    total.data = _narrow(total.data)  # the type, too, must not depend on the shards
    return total


def harmonic_weights(window: int) -> NDArray[np.int64]:
    """Return how often a pair at distance d = 1 .. window counts, ``lcm(1..window) / d``, (window,).

    Weights 1/d, as GloVe has them, in integers, so that shards add up exactly; the common factor, which is the first
    of them, cancels in PMI. (The shrinking window of word2vec weighs ``(window + 1 - d) / window`` in expectation.)

    >>> harmonic_weights(5).tolist()
    [60, 30, 20, 15, 12]
    """
    _check_settings(window, dynamic_window=True)
    distances = range(1, window + 1)
    return np.array([math.lcm(*distances) // d for d in distances], dtype=np.int64)


def keep_probability(counts: NDArray[np.int64], subsample: float) -> NDArray[np.float64]:
    """Return how probably an occurrence of each word stays, word2vec's ``min(1, sqrt(t/f) + t/f)``, (V,).

    f is the share of the word in all tokens, above 0, and t the threshold ``subsample``.
    """
    ratio = subsample / (counts / counts.sum())
    kept: NDArray[np.float64] = np.minimum(1.0, np.sqrt(ratio) + ratio)
    return kept


def _check_settings(window: int, dynamic_window: bool, subsample: float = 0.0) -> None:
    if window < 1:
        raise InputError(f"window = {window}, but it must be at least 1.")
    if dynamic_window and window > _WIDEST_DYNAMIC_WINDOW:
        raise InputError(
            f"window = {window}, but with a dynamic window it must be at most {_WIDEST_DYNAMIC_WINDOW}: weights 1/d in "
            "integers would grow past 64 bits. Use a smaller window, or one that is not dynamic."
        )
    if not 0 <= subsample < 1:
        raise InputError(
            f"subsample = {subsample}, but it must be at least 0 (keep all) and below 1. Typical are 1e-3 to 1e-5."
        )


def _thinned(
    ids: NDArray[np.int32],
    keep: NDArray[np.float64],
    executor: Executor,
    spool_folder: Path | None,
    on_words: Callable[[int], None],
) -> NDArray[np.int32]:
    """Drop occurrences of word w with probability ``1 - keep[w]``; sentence borders stay.

    Whether one goes depends on its place in the corpus alone. What stays lies in another temporary file, so that
    windows can be cut from it anywhere. ``on_words`` is called with the number of tokens just dropped.
    """
    starts = range(0, len(ids), _PIECE)
    pieces = executor.map(lambda start: _kept(np.asarray(ids[start : start + _PIECE]), start, keep), starts)
    with tempfile.TemporaryFile(dir=spool_folder) as spool:  # what is mapped from it outlives the handle
        for start, kept in zip(starts, pieces, strict=True):
            spool.write(kept.tobytes())
            dropped = min(_PIECE, len(ids) - start) - len(kept)
            if dropped:  # a second report of none done would look like a second beginning
                on_words(dropped)
        spool.flush()
        return np.memmap(spool, dtype=np.int32, mode="r")  # never empty: a corpus ends with a border


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


def _count_block(
    ids: NDArray[np.int32], positions: NDArray[np.int32], starts: NDArray[np.int64],
    first: int, last: int, weights: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int32], Integers]:  # fmt: skip
    """Count the neighbours of words first .. last - 1, in 64 bits where a sum might outgrow 32."""
    most = 2 * int(weights.sum()) * int(np.diff(starts[first : last + 1]).max())
    weights_used = weights.astype(np.int32) if most <= _INT32_MAX else weights
    sizes, columns, values = _count_rows(ids, positions, starts, first, last, weights_used)
    return sizes, columns, _narrow(values)


def _narrow(integers: Integers) -> Integers:
    """Use 32 bits where they are enough: less memory, and SciPy keeps both index arrays in one type."""
    if integers.dtype == np.int32 or integers.max(initial=0) > _INT32_MAX:
        return integers
    return integers.astype(np.int32)


@kernel
def _kept(ids: NDArray[np.int32], first: int, keep: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return those of the ids that stay; ids[i] is number ``first + i`` of the corpus."""
    kept = np.empty(len(ids), dtype=np.int32)
    n = 0
    for i in range(len(ids)):
        if ids[i] < 0 or _uniform(first + i) < keep[ids[i]]:
            kept[n] = ids[i]
            n += 1
    return kept[:n]


@kernel
def _uniform(i: int) -> float:
    """Return number i of the splitmix64 sequence that starts from 0, as a number in [0, 1) of 53 bits."""
    z = np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * 2.0**-53


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
    first: int, last: int, weights: Integers,
) -> tuple[NDArray[np.int32], NDArray[np.int32], Integers]:  # fmt: skip
    """Count the neighbours of words first .. last - 1. Returns row sizes, columns (sorted in a row) and counts.

    A neighbour at distance d counts ``weights[d - 1]`` times; sums are of the type of the weights.
    """
    n_words = len(starts) - 1
    seen = np.zeros(n_words, dtype=weights.dtype)
    touched = np.empty(n_words, dtype=np.int32)
    sizes = np.zeros(last - first, dtype=np.int32)
    columns = np.empty(1 << 16, dtype=np.int32)
    values = np.empty(1 << 16, dtype=weights.dtype)
    filled = 0
    for v in range(first, last):
        n = 0
        for k in range(starts[v], starts[v + 1]):
            n = _count_around(ids, positions[k], weights, seen, touched, n)
        while filled + n > len(columns):
            columns = np.concatenate((columns, np.empty_like(columns)))
            values = np.concatenate((values, np.empty_like(values)))
        _take_row(seen, touched, n, columns[filled : filled + n], values[filled : filled + n])
        sizes[v - first] = n
        filled += n
    return sizes, columns[:filled].copy(), values[:filled].copy()


@kernel
def _count_around(
    ids: NDArray[np.int32], p: int, weights: Integers, seen: Integers, touched: NDArray[np.int32], n: int
) -> int:
    """Count the neighbours of position p; ``touched[:n]`` lists the words seen so far."""
    for step in (-1, 1):
        q = p + step
        for d in range(len(weights)):
            if q < 0 or q >= len(ids) or ids[q] < 0:
                break
            c = ids[q]
            if seen[c] == 0:
                touched[n] = c
                n += 1
            seen[c] += weights[d]
            q += step
    return n


@kernel
def _take_row(seen: Integers, touched: NDArray[np.int32], n: int, columns: NDArray[np.int32], values: Integers) -> None:
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
