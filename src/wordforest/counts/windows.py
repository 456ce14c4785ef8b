"""Windows over token ids: what a pair is, and the compiled loops that count pairs and add up what was counted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.runtime.compile import kernel, part_of_kernel, prefetch

Integers: TypeAlias = "NDArray[np.int32] | NDArray[np.int64]"
Rows: TypeAlias = "tuple[NDArray[np.int32], NDArray[np.int32], Integers]"  # row sizes, columns (sorted), counts
Arrays: TypeAlias = "tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]"

INT32_MAX = int(np.iinfo(np.int32).max)
BLOCK_PAIRS = 1 << 20  # in a block of rows at most, unless it is one row
_AHEAD = 12  # positions
# Twice the sum of lcm(1..16) / d is below 5 million, so that 64 bits hold a word's pairs up to 10^12 tokens.
_WIDEST_DYNAMIC_WINDOW = 16
# 2^i times this number has in its upper six bits a number of its own for each i (de Bruijn); BIT finds i by it.
_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
BIT = np.array([i for _, i in sorted((((int(_BRUIJN) << i) % (1 << 64)) >> 58, i) for i in range(64))])


@dataclass(frozen=True)
class WindowRules:
    """What a pair is. The defaults are the paper's."""

    window: int = 5
    dynamic_window: bool = False  # a pair at distance d counts in proportion to 1/d
    subsample: float = 0.0  # drop frequent words before windows are made (see keep_probability); 0 keeps all
    max_contexts: int | None = None  # the most frequent words are contexts; pairs with others are not counted
    mark_sides: bool = False  # left neighbours are columns 0 to C - 1, right ones C to 2 C - 1
    subsample_seed: int = 0  # which occurrences are dropped

    def __post_init__(self) -> None:
        """Refuse what cannot be counted."""
        if self.window < 1:
            raise InputError(f"window = {self.window}, but it must be at least 1.")
        if self.dynamic_window and self.window > _WIDEST_DYNAMIC_WINDOW:
            raise InputError(
                f"window = {self.window}, but with a dynamic window it must be at most {_WIDEST_DYNAMIC_WINDOW}: "
                "weights 1/d in integers would grow past 64 bits. Use a smaller window, or one that is not dynamic."
            )
        if not 0 <= self.subsample < 1:
            raise InputError(
                f"subsample = {self.subsample}, but it must be at least 0 (keep all) and below 1. "
                "Typical are 1e-3 to 1e-5."
            )
        if not 0 <= self.subsample_seed < 1 << 63:
            raise InputError(f"subsample_seed = {self.subsample_seed}, but it must be a whole number from 0 on.")
        if self.max_contexts is not None and self.max_contexts < 1:
            raise InputError(
                f"max_contexts = {self.max_contexts}, but it must be at least 1. Leave it out to keep all words."
            )

    def contexts(self, n_words: int) -> int:
        """Return C, how many words are contexts."""
        return n_words if self.max_contexts is None else min(n_words, self.max_contexts)

    def columns(self, n_words: int) -> int:
        """Return the number of columns: C, or 2 C if sides are marked."""
        return self.contexts(n_words) * (2 if self.mark_sides else 1)

    def weights(self, longest: int) -> NDArray[np.int64]:
        """Return how often a pair at distance 1, 2, .. counts; no further than the longest stream of ids."""
        return harmonic_weights(self.window) if self.dynamic_window else np.ones(min(self.window, longest), np.int64)


def harmonic_weights(window: int) -> NDArray[np.int64]:
    """Return how often a pair at distance d = 1 .. window counts, ``lcm(1..window) / d``, (window,).

    Weights 1/d, as GloVe has them, in integers, so that shards add up exactly; the common factor, which is the first
    of them, cancels in PMI. (The shrinking window of word2vec weighs ``(window + 1 - d) / window`` in expectation.)

    >>> harmonic_weights(5).tolist()
    [60, 30, 20, 15, 12]
    """
    WindowRules(window, dynamic_window=True)
    distances = range(1, window + 1)
    return np.array([math.lcm(*distances) // d for d in distances], dtype=np.int64)


class Scratch:
    """The dense row and its helpers, zero between uses; one for each type of count."""

    def __init__(self, n_columns: int) -> None:
        self.n_columns = n_columns
        self._arrays: dict[type, Arrays] = {}

    def arrays(self, dtype: type) -> Arrays:
        """Return counts by column and one for what is dropped, columns met, and their bits on two levels."""
        if dtype not in self._arrays:
            n = self.n_columns
            bits, top = np.zeros((n >> 6) + 1, dtype=np.uint64), np.zeros((n >> 12) + 1, dtype=np.uint64)
            self._arrays[dtype] = (np.zeros(n + 1, dtype=dtype), np.empty(n + 2, dtype=np.int32), bits, top)
        return self._arrays[dtype]


def row_blocks(counts: NDArray[np.int64], pairs: int, n_columns: int) -> NDArray[np.int64]:
    """Return borders of blocks of rows, (blocks + 1,); a word seen n times has at most ``pairs`` n pairs."""
    most = np.minimum(counts, -(-n_columns // max(pairs, 1))) * pairs
    block = np.cumsum(np.minimum(most, n_columns)) // BLOCK_PAIRS
    inner = np.flatnonzero(block[1:] != block[:-1]) + 1
    return np.concatenate(([0], inner, [len(counts)])).astype(np.int64)


def count_rows(
    ids: NDArray[np.int32], positions: NDArray[np.int32], starts: NDArray[np.int64], block: tuple[int, int],
    weights: NDArray[np.int64], sides: tuple[int, int], scratch: Scratch,
) -> Rows:  # fmt: skip
    """Count the neighbours of the words of a block, in 64 bits where a sum might outgrow 32.

    ``ids`` has a window's margin before and behind all ``positions``. ``sides`` is the number of contexts, and the
    column at which those on the right begin.
    """
    seen = np.diff(starts[block[0] : block[1] + 1])  # (rows,)
    fits = 2 * int(weights.sum()) * int(seen.max(initial=0)) <= INT32_MAX
    used = weights.astype(np.int32) if fits else weights
    most = int(np.minimum(np.minimum(seen, scratch.n_columns) * 2 * len(weights), scratch.n_columns).sum())
    arrays = scratch.arrays(np.int32 if fits else np.int64)
    sizes, columns, values = _count_rows(ids, positions, starts, *block, used, *sides, most, *arrays, BIT)
    return sizes, columns, narrow(values)


def add_rows(parts: list[Rows], scratch: Scratch) -> Rows:
    """Add up counts of the same rows, in 64 bits where a sum might outgrow 32."""
    sizes = np.stack([size for size, _, _ in parts])  # (parts, rows)
    columns = np.concatenate([column for _, column, _ in parts])
    fits = sum(int(value.max(initial=0)) for _, _, value in parts) <= INT32_MAX
    dtype = np.int32 if fits else np.int64
    values = np.concatenate([value.astype(dtype, copy=False) for _, _, value in parts])
    size, column, value = _add_rows(sizes, columns, values, *scratch.arrays(dtype), BIT)
    return size, column, narrow(value)


def narrow(integers: Integers) -> Integers:
    """Use 32 bits where they are enough: less memory, and SciPy keeps both index arrays in one type."""
    if integers.dtype == np.int32 or integers.max(initial=0) > INT32_MAX:
        return integers
    return integers.astype(np.int32)


@kernel
def vocabulary_rows(ids: NDArray[np.int32], lookup: NDArray[np.int32], before: int, behind: int) -> NDArray[np.int32]:
    """Renumber ids; -1 finds the last of ``lookup``. So many borders come before and behind."""
    rows = np.full(before + len(ids) + behind, -1, dtype=np.int32)
    for i in range(len(ids)):
        rows[before + i] = lookup[ids[i]]
    return rows


@kernel
def find_positions(
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


@part_of_kernel
def _count_side(
    ids: NDArray[np.int32], p: int, step: int, weights: Integers, n_contexts: int, offset: int,
    seen: Integers, touched: NDArray[np.int32], n: int,
) -> int:  # fmt: skip
    """Count the neighbours of position p on one side; ``touched[:n]`` lists the columns met so far.

    Without branches that depend on the words: what is behind a border or is no context counts in the last place of
    ``seen``, which is never 0. Only every eighth word it is asked whether the sentence has ended.
    """
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
def _sort_touched(
    touched: NDArray[np.int32], n: int, columns: NDArray[np.int32],
    bits: NDArray[np.uint64], top: NDArray[np.uint64], bit: NDArray[np.int64],
) -> None:  # fmt: skip
    """Write the columns met in ascending order, by way of one bit for each, and one for each 64 of those."""
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
            b = (t << 6) + bit[(upper * _BRUIJN) >> np.uint64(58)]
            while bits[b]:
                lower = bits[b] & (~bits[b] + one)
                bits[b] ^= lower
                columns[k] = (b << 6) + bit[(lower * _BRUIJN) >> np.uint64(58)]
                k += 1


@part_of_kernel
def take_row(
    seen: Integers, touched: NDArray[np.int32], n: int, columns: NDArray[np.int32], values: Integers,
    bits: NDArray[np.uint64], top: NDArray[np.uint64], bit: NDArray[np.int64],
) -> None:  # fmt: skip
    """Move the counts of one word out of the dense row, in order of the columns, and clear it."""
    if n <= 24:
        for i in range(n):
            k = i
            while k > 0 and columns[k - 1] > touched[i]:
                columns[k] = columns[k - 1]
                k -= 1
            columns[k] = touched[i]
    else:
        _sort_touched(touched, n, columns, bits, top, bit)
    for k in range(n):
        values[k] = seen[columns[k]]
        seen[columns[k]] = 0


@kernel
def _count_rows(
    ids: NDArray[np.int32], positions: NDArray[np.int32], starts: NDArray[np.int64], first: int, last: int,
    weights: Integers, n_contexts: int, offset: int, most: int,
    seen: Integers, touched: NDArray[np.int32], bits: NDArray[np.uint64], top: NDArray[np.uint64],
    bit: NDArray[np.int64],
) -> Rows:  # fmt: skip
    """Count the neighbours of words first .. last - 1, at most ``most`` pairs.

    A neighbour at distance d counts ``weights[d - 1]`` times; sums are of the type of the weights.
    """
    sizes = np.zeros(last - first, dtype=np.int32)
    columns = np.empty(most, dtype=np.int32)
    values = np.empty(most, dtype=weights.dtype)
    filled = 0
    for v in range(first, last):
        n = 0
        seen[-1] = 1
        for k in range(starts[v], starts[v + 1]):
            prefetch(ids, np.int64(positions[min(k + _AHEAD, len(positions) - 1)]))
            n = _count_side(ids, positions[k], -1, weights, n_contexts, 0, seen, touched, n)
            n = _count_side(ids, positions[k], 1, weights, n_contexts, offset, seen, touched, n)
        take_row(seen, touched, n, columns[filled : filled + n], values[filled : filled + n], bits, top, bit)
        sizes[v - first] = n
        filled += n
    return sizes, columns[:filled].copy(), values[:filled].copy()


@kernel
def _add_rows(
    sizes: NDArray[np.int32], parts: NDArray[np.int32], counts: Integers,
    seen: Integers, touched: NDArray[np.int32], bits: NDArray[np.uint64], top: NDArray[np.uint64],
    bit: NDArray[np.int64],
) -> Rows:  # fmt: skip
    """Add up rows: ``sizes`` (parts, rows), columns and counts of one part behind those of another."""
    n_parts, n_rows = sizes.shape
    at = np.zeros(n_parts, dtype=np.int64)
    for part in range(1, n_parts):
        at[part] = at[part - 1] + sizes[part - 1].sum()
    summed = np.zeros(n_rows, dtype=np.int32)
    columns, values = np.empty_like(parts), np.empty_like(counts)
    filled = 0
    for row in range(n_rows):
        n = 0
        for part in range(n_parts):
            for k in range(at[part], at[part] + sizes[part, row]):
                c = parts[k]
                touched[n] = c
                n += seen[c] == 0
                seen[c] += counts[k]
            at[part] += sizes[part, row]
        take_row(seen, touched, n, columns[filled : filled + n], values[filled : filled + n], bits, top, bit)
        summed[row] = n
        filled += n
    return summed, columns[:filled].copy(), values[:filled].copy()
