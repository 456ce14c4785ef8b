"""The stored entries, cut once into P x P blocks; what is drawn from each.

A round works on P blocks that share no words and no contexts (Gemulla et al. 2011), so workers need no locks and the
result does not depend on how many there are. Cuts and draws follow from one seed.

The entries may lie in a file: blocks are its shards, each in one piece. All blocks are written side by side in one pass
over X, and each grows from its front, so only the pages at P x P places are open at a time and each is written once
it is full, as long as these few megabytes fit into memory. Visits, which jump to and fro, see a copy of their block.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.kernels.entries import entry_type
from wordforest.coder.rows.pairs import Allocate, Pairs, SomePairs
from wordforest.errors import InputError
from wordforest.runtime.machine import Executor, kernel

Array = NDArray[Any]
Index = NDArray[Any]
Scalar = Any  # of the type of the values

_LARGEST_BLOCK = int(np.iinfo(np.int32).max)  # draws are int32


class Ordered(NamedTuple):
    """Words, or contexts, block after block, and in this order what they weigh."""

    order: Index  # (n,)
    mass: Array  # (n,), float64, in units of w + W
    share: Array  # (n,), the largest share of it that lies in one block

    @classmethod
    def of(cls, order: Index, masses: Array) -> Ordered:
        """Return rows in an order, given the masses that each of them has by block, (n, P)."""
        masses = masses[order]
        total = masses.sum(1)
        return cls(order, total, np.divide(masses.max(1), total, out=np.zeros_like(total), where=total > 0))


@dataclass(frozen=True, eq=False)
class Strata:
    """Entries sorted by block, and their masses. Words and contexts are renumbered so that a block is a range of rows.

    ``mass`` of an entry is ``w + W``, the weight of its pair plus that of the unstored ones, over the mean of all; over
    a pass an entry is visited ``mass`` times, or once with ``mass`` times the step. Memory: 24 bytes an entry in
    float32.
    """

    entries: Array  # (n,) of ``entry_type``, block after block
    starts: Index  # (P * P + 1,)
    block_mass: Array  # (P, P), float64
    mean: float  # of w + W
    words: Ordered
    contexts: Ordered
    proportional: bool

    @property
    def P(self) -> int:  # noqa: N802 the letter of the method
        """Blocks along a side."""
        return len(self.block_mass)

    def block(self, i: int, j: int) -> Array:
        """Return the entries of the i-th words with the j-th contexts."""
        return self.entries[self.starts[i * self.P + j] : self.starts[i * self.P + j + 1]]

    def rounds(self, seed: tuple[int, ...]) -> list[list[tuple[int, int]]]:
        """Return P rounds of P blocks each: a pass in random order that meets every block once."""
        rng = np.random.default_rng(seed)
        columns, shifts = rng.permutation(self.P), rng.permutation(self.P)
        return [[(i, int(columns[(i + shift) % self.P])) for i in range(self.P)] for shift in shifts.tolist()]

    def visits(self, i: int, j: int, seed: tuple[int, ...]) -> tuple[Array, Index]:
        """Return a copy of the entries of a block, and which of them a pass visits, in order.

        By mass: with replacement, as often as the block's mass asks, the fraction of a visit left to chance. Else every
        entry once, shuffled.
        """
        rng = np.random.default_rng((*seed, i, j))
        block = self.block(i, j).copy()
        if not self.proportional:
            return block, rng.permutation(np.arange(len(block), dtype=np.int32))
        order = np.empty(int(self.block_mass[i, j] + rng.random()), dtype=np.int32)
        _toss(block, rng.random(len(order)), order)
        return block, order


def cut(
    pairs: Pairs,
    zeros: float,
    *,
    blocks: int,
    proportional: bool,
    seed: int,
    executor: Executor,
    allocate: Allocate = np.empty,
) -> Strata:
    """Cut the stored pairs into blocks of about equal mass; ``allocate`` makes the array that holds the entries."""
    V, C = pairs.shape
    P = min(blocks, V, C)
    whole = np.zeros(V, dtype=np.int32), np.zeros(C, dtype=np.int32)
    of_words, of_contexts, _ = _masses(pairs, zeros, whole, 1)
    mean = float(of_words.sum()) / len(pairs)
    rng = np.random.default_rng((seed, 0))
    sides = _balance(of_words[:, 0], P, rng), _balance(of_contexts[:, 0], P, rng)
    words, contexts = (np.argsort(side, kind="stable") for side in sides)
    of_words, of_contexts, sizes = _masses(pairs, zeros, sides, P)
    if sizes.max() > _LARGEST_BLOCK:
        raise InputError(f"blocks = {blocks}, but then one holds {sizes.max()} entries, more than 2^31. Use more.")
    starts = np.concatenate(([0], np.cumsum(sizes)))
    entries = np.asarray(allocate(len(pairs), entry_type(pairs.dtype)))
    places = np.argsort(words).astype(np.int32), np.argsort(contexts).astype(np.int32)
    fill = starts[:-1].copy()
    for part in pairs.parts():
        _sort_entries(part, (np.dtype(pairs.dtype).type(zeros), mean), sides, places, fill, entries)
    block_mass = np.add.reduceat(of_words[words], np.searchsorted(sides[0][words], np.arange(P))) / mean
    if proportional:
        list(executor.map(lambda i: _fill_aliases(entries, starts[i * P : (i + 1) * P + 1]), range(P)))
    ordered = Ordered.of(words, of_words), Ordered.of(contexts, of_contexts)
    return Strata(entries, starts, block_mass, mean, *ordered, proportional)


def _masses(pairs: Pairs, zeros: float, sides: tuple[Index, Index], P: int) -> tuple[Array, Array, Index]:
    """Return the masses w + W of every word by blocks of contexts, (V, P), of every context by blocks of words, (C, P),
    and the number of entries of every block, (P * P,).
    """
    of_words, of_contexts = np.zeros((len(sides[0]), P)), np.zeros((len(sides[1]), P))
    sizes = np.zeros(P * P, dtype=np.int64)
    for part in pairs.parts():
        _sum_masses(part, np.dtype(pairs.dtype).type(zeros), sides, of_words, of_contexts, sizes)
    return of_words, of_contexts, sizes


def _balance(masses: Array, P: int, rng: np.random.Generator) -> Index:
    """Return a block for each row: heaviest first, each into the lightest block; equals in random order."""
    shuffled = rng.permutation(len(masses))
    order = shuffled[np.argsort(-masses[shuffled], kind="stable")]
    blocks = np.empty(len(masses), dtype=np.int32)
    heap = [(0.0, 0, i) for i in range(P)]  # mass, rows (which tell for rows without entries), block
    for row in order.tolist():
        mass, rows, i = heap[0]
        blocks[row] = i
        heapq.heapreplace(heap, (mass + float(masses[row]), rows + 1, i))
    return blocks


@kernel
def _sum_masses(
    part: SomePairs, zeros: Scalar, sides: tuple[Index, Index], of_words: Array, of_contexts: Array, sizes: Index
) -> None:
    """Add the masses of some pairs, and their number."""
    words, contexts, _, weights = part
    P = of_words.shape[1]
    for k in range(len(words)):
        v, c = words[k], contexts[k]
        i, j = sides[0][v], sides[1][c]
        of_words[v, j] += weights[k] + zeros
        of_contexts[c, i] += weights[k] + zeros
        sizes[i * P + j] += 1


@kernel
def _sort_entries(
    part: SomePairs,
    scale: tuple[Scalar, float],
    sides: tuple[Index, Index],
    places: tuple[Index, Index],
    fill: Index,
    out: Array,
) -> None:
    """Write some pairs behind those that their blocks have: ``value = w x / (w + W)``, ``keep = (w - W) / (w + W)``."""
    words, contexts, values, weights = part
    zeros, mean = scale
    P = int(np.sqrt(len(fill)))
    for k in range(len(words)):
        v, c = words[k], contexts[k]
        b = sides[0][v] * P + sides[1][c]
        entry = out[fill[b]]
        fill[b] += 1
        mass = weights[k] + zeros
        entry.word, entry.context = places[0][v], places[1][c]
        entry.value = weights[k] / mass * values[k] if mass > 0 else 0.0
        entry.keep = (weights[k] - zeros) / mass if mass > 0 else 0.0
        entry.mass = mass / mean
        entry.alias = 0


@kernel
def _fill_aliases(entries: Array, starts: Index) -> None:
    """Make draws from each of some blocks possible."""
    for b in range(len(starts) - 1):
        _fill_alias(entries[starts[b] : starts[b + 1]])


@kernel
def _fill_alias(block: Array) -> None:
    """Turn the masses of a block into coins and aliases (Vose 1991): a draw is then one uniform number."""
    n = len(block)
    total = 0.0
    for k in range(n):
        total += block[k].mass
    scaled = np.empty(n)
    stack = np.empty(n, dtype=np.int32)  # too light from the left, too heavy from the right
    light, heavy = 0, n
    for k in range(n):
        scaled[k] = block[k].mass * n / total if total > 0 else 1.0
        if scaled[k] < 1:
            stack[light] = k
            light += 1
        else:
            heavy -= 1
            stack[heavy] = k
        block[k].mass, block[k].alias = 1.0, k
    while light > 0 and heavy < n:
        light -= 1
        small, large = stack[light], stack[heavy]
        block[small].mass, block[small].alias = scaled[small], large
        scaled[large] -= 1 - scaled[small]
        if scaled[large] < 1:
            heavy += 1
            stack[light] = large
            light += 1


@kernel
def _toss(block: Array, uniform: Array, out: Index) -> None:
    """Write draws from a block: a number in [0, 1) picks a place, and its fraction tosses the coin of that place."""
    n = len(block)
    for i in range(len(out)):
        place = uniform[i] * n
        k = min(int(place), n - 1)
        out[i] = k if place - k < block[k].mass else block[k].alias
