"""Windows over token ids: what a pair is, and the compiled loops that drop words, count pairs and add up counts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.options import Checked, default
from wordforest.runtime.machine import kernel, part_of_kernel
from wordforest.runtime.prefetch import prefetch

Int32s: TypeAlias = NDArray[np.int32]
Int64s: TypeAlias = NDArray[np.int64]
Integers: TypeAlias = "Int32s | Int64s"
Rows: TypeAlias = "tuple[Int32s, Int32s, Integers]"  # row sizes, columns (sorted), counts

INT32_MAX = int(np.iinfo(np.int32).max)
BLOCK_PAIRS = 1 << 20  # in a block of rows at most, unless it is one row
_AHEAD = 12  # positions
# Twice the sum of lcm(1..16) / d is below 5 million, so that 64 bits hold a word's pairs up to 10^12 tokens.
_WIDEST_DYNAMIC_WINDOW = 16
# 2^i times this number has in its upper six bits a number of its own for each i (de Bruijn); _BIT finds i by it.
_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_BIT = np.array([i for _, i in sorted((((int(_BRUIJN) << i) % (1 << 64)) >> 58, i) for i in range(64))])


class DenseRow(NamedTuple):
    """The counts of one word by column, zero between uses, and what finds those that are not zero in order."""

    counts: Any  # (columns + 1,), the last for what is dropped
    touched: Int32s  # columns met, as they came
    bits: NDArray[np.uint64]  # one for each column
    top: NDArray[np.uint64]  # one for each 64 of those

    @classmethod
    def of(cls, n_columns: int, dtype: Any) -> DenseRow:
        """Return an empty row with counts of a type."""
        bits, top = (np.zeros((n_columns >> shift) + 1, dtype=np.uint64) for shift in (6, 12))
        return cls(np.zeros(n_columns + 1, dtype), np.empty(n_columns + 2, np.int32), bits, top)


@dataclass(frozen=True)
class WindowRules(Checked):
    """What a pair is. The defaults are the paper's."""

    window: int = default("window")
    dynamic_window: bool = default("dynamic_window")  # a pair at distance d counts in proportion to 1/d
    subsample: float = default("subsample")  # drop frequent words before windows are made; 0 keeps all
    max_contexts: int | None = default("max_contexts")  # pairs with rarer words are not counted
    mark_sides: bool = default("mark_sides")  # left neighbours are columns 0 to C - 1, right ones C to 2 C - 1
    subsample_seed: int = default("subsample_seed")  # which occurrences are dropped

    def __post_init__(self) -> None:
        """Refuse what cannot be counted."""
        super().__post_init__()
        if self.dynamic_window and self.window > _WIDEST_DYNAMIC_WINDOW:
            raise InputError(
                f"window = {self.window}, but with a dynamic window it must be at most {_WIDEST_DYNAMIC_WINDOW}: "
                "weights 1/d in integers would grow past 64 bits. Use a smaller window, or one that is not dynamic."
            )

    def contexts(self, n_words: int) -> int:
        """Return C, how many words are contexts."""
        return n_words if self.max_contexts is None else min(n_words, self.max_contexts)

    def columns(self, n_words: int) -> int:
        """Return the number of columns: C, or 2 C if sides are marked."""
        return self.contexts(n_words) * (2 if self.mark_sides else 1)

    def weights(self, longest: int) -> Int64s:
        """Return how often a pair at distance 1, 2, .. counts; no further than the longest stream of ids."""
        return harmonic_weights(self.window) if self.dynamic_window else np.ones(min(self.window, longest), np.int64)


def harmonic_weights(window: int) -> Int64s:
    """Return how often a pair at distance d = 1 .. window counts, ``lcm(1..window) / d``, (window,).

    Weights 1/d, as GloVe has them, in integers, so that shards add up exactly; the common factor, which is the first
    of them, cancels in PMI. (The shrinking window of word2vec weighs ``(window + 1 - d) / window`` in expectation.)

    >>> harmonic_weights(5).tolist()
    [60, 30, 20, 15, 12]
    """
    WindowRules(window, dynamic_window=True)
    distances = range(1, window + 1)
    return np.array([math.lcm(*distances) // d for d in distances], dtype=np.int64)


def row_blocks(counts: Int64s, pairs: int, n_columns: int) -> Int64s:
    """Return borders of blocks of rows, (blocks + 1,); a word seen n times has at most ``pairs`` n pairs."""
    pairs = max(min(pairs, n_columns), 1)
    most = np.minimum(counts, -(-n_columns // pairs)) * pairs
    block = np.cumsum(np.minimum(most, n_columns)) // BLOCK_PAIRS
    inner = np.flatnonzero(block[1:] != block[:-1]) + 1
    return np.concatenate(([0], inner, [len(counts)])).astype(np.int64)


def count_blocks(ids: Int32s, n_words: int, rules: WindowRules, weights: Int64s, borders: Int64s) -> Iterator[Rows]:
    """Yield the counts of words with their neighbours for each block of rows between ``borders``.

    The first and the last ``len(weights)`` ids are only neighbours of others. Sums are in 64 bits where they might
    outgrow 32.
    """
    margin, n_columns = len(weights), rules.columns(n_words)
    starts, positions = find_positions(ids, margin, len(ids) - margin, n_words)
    sides = (rules.contexts(n_words), n_columns - rules.contexts(n_words))
    rows: dict[type, DenseRow] = {}
    for block in pairwise(borders.tolist()):
        seen = np.diff(starts[block[0] : block[1] + 1])  # (rows,)
        fits = 2 * int(weights.sum()) * int(seen.max(initial=0)) <= INT32_MAX
        dtype = np.int32 if fits else np.int64
        if dtype not in rows:
            rows[dtype] = DenseRow.of(n_columns, dtype)
        most = int(np.minimum(np.minimum(seen, n_columns) * 2 * margin, n_columns).sum())
        used: Any = weights.astype(dtype)
        sizes, columns, values = _count_rows(ids, starts, positions, block, used, sides, most, rows[dtype])
        yield sizes, columns, narrow(values)


def add_rows(parts: list[Rows], n_columns: int) -> Rows:
    """Add up counts of the same rows, in 64 bits where a sum might outgrow 32."""
    n_parts, n_rows = len(parts), len(parts[0][0])
    sizes, columns, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    indptr = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    order = np.arange(n_parts * n_rows).reshape(n_parts, n_rows).T.ravel()  # row 0 of all parts, then row 1
    starts = n_parts * np.arange(n_rows + 1)
    fits = sum(int(value.max(initial=0)) for _, _, value in parts) <= INT32_MAX
    total = DenseRow.of(n_columns, np.int32 if fits else np.int64)
    size, column, value = sum_rows((indptr, columns, values), order, starts, (0, n_rows), None, len(columns), total)
    return size, column, narrow(value)


def narrow(integers: Integers) -> Integers:
    """Use 32 bits where they are enough: less memory, and SciPy keeps both index arrays in one type."""
    if integers.dtype == np.int32 or integers.max(initial=0) > INT32_MAX:
        return integers
    return integers.astype(np.int32)


@kernel
def find_positions(ids: Int32s, first: int, last: int, n_words: int) -> tuple[Int64s, Int32s]:
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


@part_of_kernel
def _count_side(
    ids: Int32s, p: int, step: int, weights: Integers, sides: tuple[int, int], seen: Integers, touched: Int32s, n: int
) -> int:
    """Count the neighbours of position p on one side; ``touched[:n]`` lists the columns met so far.

    Without branches that depend on the words: what is behind a border or is no context counts in the last place of
    ``seen``, which is never 0. Only every eighth word it is asked whether the sentence has ended.
    """
    n_contexts, offset = sides
    dropped = len(seen) - 1
    inside = True
    for d in range(len(weights)):
        if d & 7 == 0 and not inside:
            break
        p += step
        c = ids[p]
        inside = inside & (c >= 0)
        column = c + offset if inside & (c < n_contexts) else dropped
        touched[n] = column
        so_far = seen[column]
        n += so_far == 0
        seen[column] = so_far + weights[d]
    return n


@part_of_kernel
def _sort_touched(row: DenseRow, n: int, columns: Int32s) -> None:
    """Write the columns met in ascending order, by way of one bit for each, and one for each 64 of those."""
    touched, bits, top = row.touched, row.bits, row.top
    one = np.uint64(1)
    for i in range(n):
        c = touched[i]
        bits[c >> 6] |= one << np.uint64(c & 63)
        top[c >> 12] |= one << np.uint64((c >> 6) & 63)
    k = 0
    for t in range(len(top)):
        while top[t]:
            upper = top[t] & (~top[t] + one)
            top[t] ^= upper
            b = (t << 6) + _BIT[(upper * _BRUIJN) >> np.uint64(58)]
            while bits[b]:
                lower = bits[b] & (~bits[b] + one)
                bits[b] ^= lower
                columns[k] = (b << 6) + _BIT[(lower * _BRUIJN) >> np.uint64(58)]
                k += 1


@part_of_kernel
def take_row(row: DenseRow, n: int, columns: Int32s, values: Integers) -> None:
    """Move the counts of one word out of the dense row, in order of the columns, and clear it."""
    seen, touched = row.counts, row.touched
    if n <= 24:
        for i in range(n):
            k = i
            while k > 0 and columns[k - 1] > touched[i]:
                columns[k] = columns[k - 1]
                k -= 1
            columns[k] = touched[i]
    else:
        _sort_touched(row, n, columns)
    for k in range(n):
        values[k] = seen[columns[k]]
        seen[columns[k]] = 0


@kernel
def _count_rows(
    ids: Int32s,
    starts: Int64s,
    positions: Int32s,
    block: tuple[int, int],
    weights: Integers,
    sides: tuple[int, int],
    most: int,
    row: DenseRow,
) -> Rows:
    """Count the neighbours of the words of a block, at most ``most`` pairs.

    A neighbour at distance d counts ``weights[d - 1]`` times; sums are of the type of the weights. ``sides`` is the
    number of contexts, and the column at which those on the right begin.
    """
    first, last = block
    left, seen, touched = (sides[0], 0), row.counts, row.touched  # out of the tuple once: it counts references
    sizes = np.zeros(last - first, dtype=np.int32)
    columns = np.empty(most, dtype=np.int32)
    values = np.empty(most, dtype=weights.dtype)
    filled = 0
    for v in range(first, last):
        n = 0
        seen[-1] = 1
        for k in range(starts[v], starts[v + 1]):
            prefetch(ids, np.int64(positions[min(k + _AHEAD, len(positions) - 1)]))
            n = _count_side(ids, positions[k], -1, weights, left, seen, touched, n)
            n = _count_side(ids, positions[k], 1, weights, sides, seen, touched, n)
        take_row(row, n, columns[filled : filled + n], values[filled : filled + n])
        sizes[v - first] = n
        filled += n
    return sizes, columns[:filled].copy(), values[:filled].copy()


@kernel
def sum_rows(
    csr: tuple[Int64s, Int32s, Integers],
    order: Int64s,
    starts: Int64s,
    block: tuple[int, int],
    lookup: Int32s | None,
    most: int,
    total: DenseRow,
) -> Rows:
    """Return a block of rows, row v of them the sum of the rows ``order[starts[v]:starts[v + 1]]`` of a CSR matrix.

    Column c goes to ``lookup[c]``, or nowhere if that is negative; without a lookup all stay. At most ``most`` pairs.
    """
    indptr, indices, data = csr
    (first, last), seen, touched = block, total.counts, total.touched
    sizes = np.zeros(last - first, dtype=np.int32)
    columns, values = np.empty(most, dtype=np.int32), np.empty(most, dtype=seen.dtype)
    filled = 0
    for row in range(first, last):
        n = 0
        for at in order[starts[row] : starts[row + 1]]:
            for k in range(indptr[at], indptr[at + 1]):
                c = indices[k]
                if lookup is not None:
                    c = lookup[c]
                    if c < 0:
                        continue
                touched[n] = c
                n += seen[c] == 0
                seen[c] += data[k]
        take_row(total, n, columns[filled : filled + n], values[filled : filled + n])
        sizes[row - first] = n
        filled += n
    return sizes, columns[:filled].copy(), values[:filled].copy()


def keep_probability(counts: Int64s, subsample: float) -> NDArray[np.float64]:
    """Return how probably an occurrence of each word stays, word2vec's ``min(1, sqrt(t/f) + t/f)``, (V,).

    f is the share of the word in all tokens, above 0, and t the threshold ``subsample``.
    """
    ratio = subsample / (counts / counts.sum())
    kept: NDArray[np.float64] = np.minimum(1.0, np.sqrt(ratio) + ratio)
    return kept


@kernel
def kept(ids: Int32s, first: int, keep: NDArray[np.float64], seed: int = 0) -> Int32s:
    """Return the ids that stay: borders, and word w with probability ``keep[w]``.

    ``ids[i]`` is number ``first + i`` of the corpus, by which it is decided: neither workers nor shards change it.
    """
    stay = np.empty(len(ids), dtype=np.int32)
    n = 0
    for i in range(len(ids)):
        if ids[i] < 0 or uniform(first + i, seed) < keep[ids[i]]:
            stay[n] = ids[i]
            n += 1
    return stay[:n]


@kernel
def uniform(i: int, seed: int = 0) -> float:
    """Return number i of the splitmix64 sequence that starts from ``seed``, as a number in [0, 1) of 53 bits."""
    z = np.uint64(seed) + np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * 2.0**-53
