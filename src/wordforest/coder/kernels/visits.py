"""The visits of the entry learner on PyTorch tensors: every block of a round takes one at a time, all blocks at once.

Blocks of a round share neither words nor contexts, so the visits that come next in each of them are a batch without
conflicts, and what comes out is what ``kernels/entries.py`` makes of the same visits, block after block. On a GPU the
loop over a block's visits is one kernel (``fused_visits.py``); here it is written in whole-array operations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from wordforest.coder.forest import Forest
from wordforest.coder.kernels.arrays import forest_prox
from wordforest.coder.kernels.entries import Rule, Visited
from wordforest.runtime.machine import has_triton

Tensor = Any

_WIDEST = 2048  # numbers of a code, padded, that one program of the GPU holds
_PAIRS = 1 << 18  # pairs whose products are taken at a time


@dataclass(frozen=True, eq=False)
class Visits:
    """The visits of a round, block after block: those of block b are ``starts[b]`` to ``starts[b + 1]``, (P + 1,)."""

    words: Tensor  # (n,)
    contexts: Tensor
    values: Tensor
    keeps: Tensor
    masses: Tensor | None  # None: all 1
    starts: Tensor


@dataclass(frozen=True, eq=False)
class Shape:
    """The penalty of a code: its forest, a weight for each node (M,), and whether negatives are cut."""

    forest: Forest
    weights: Any
    nonnegative: bool

    @cached_property
    def tree(self) -> tuple[int, np.ndarray[Any, Any]] | None:
        """Nodes of a tree, and begin and end of its inner groups, children before parents, if all trees are alike."""
        roots = self.forest.roots
        n = len(self.forest) // len(roots)
        if n * len(roots) != len(self.forest) or (roots != np.arange(len(roots)) * n).any():
            return None
        ends = self.forest.end.reshape(-1, n) - np.asarray(roots)[:, None]
        if (ends != ends[0]).any():
            return None
        inner = np.flatnonzero(ends[0] > np.arange(1, n + 1))[::-1]
        return n, np.stack((inner, ends[0][inner]), 1).astype(np.int32)


def visit_blocks(visits: Visits, words: Visited, contexts: Visited, shape: Shape, rule: Rule) -> Tensor:
    """Make the visits of a round; change D and A. Returns whether all was within bounds, ().

    A visit is that of ``kernels/entries.py``.
    """
    single = words.vectors.element_size() == 4
    if words.vectors.is_cuda and single and has_triton() and fits(shape):
        from wordforest.coder.kernels import fused_visits

        return fused_visits.visit_blocks(visits, words, contexts, shape, rule)
    lengths = visits.starts[1:] - visits.starts[:-1]
    longest_first = lengths.argsort(descending=True, stable=True)
    waiting = lengths[longest_first].cpu().numpy()
    sane = lengths.new_ones((), dtype=bool)
    for number in range(int(waiting[0]) if len(waiting) else 0):
        blocks = longest_first[: np.searchsorted(-waiting, -number)]  # those with more visits than that
        sane &= _visit(visits, visits.starts[blocks] + number, words, contexts, shape, rule)
    return sane


def fits(shape: Shape) -> bool:
    """Say whether the GPU's own kernel knows forests of this shape."""
    if shape.tree is None:
        return False
    n = shape.tree[0]
    return _power(n) * _power(len(shape.forest) // n) <= _WIDEST


def _power(n: int) -> int:
    """Return the smallest power of two that is not below n."""
    return 1 << (n - 1).bit_length()


def _visit(visits: Visits, chosen: Tensor, words: Visited, contexts: Visited, shape: Shape, rule: Rule) -> Tensor:
    """Make visits that share neither words nor contexts."""
    v, c = visits.words[chosen].long(), visits.contexts[chosen].long()
    value, keep = visits.values[chosen], visits.keeps[chosen]
    d, a = contexts.vectors[c], words.vectors[v]  # (b, M)
    mass = d.new_ones(len(v)) if visits.masses is None else visits.masses[chosen]
    error = value - keep * (d * a).sum(1)
    sane = (error.abs() <= rule.limit).all()
    step = 2 * contexts.rates[c, 0] * mass
    new = (1 - step * contexts.rates[c, 1])[:, None] * d + (step * error)[:, None] * a
    if len(contexts.pull):
        new -= step[:, None] * contexts.pull[c]
    error = value - keep * (new * a).sum(1)
    pace = 2 * words.rates[v, 0] * mass
    moved = a + (pace * error)[:, None] * new
    if len(words.pull):
        moved -= pace[:, None] * words.pull[v]
    contexts.vectors[c] = new
    moved = moved.clip(0, None) if shape.nonnegative else moved
    thresholds = (pace * words.rates[v, 1] / 2)[:, None] * moved.new_tensor(shape.weights)  # (b, M)
    words.vectors[v] = forest_prox(moved, shape.forest, thresholds)
    return sane


def weighted_squares(pairs: tuple[Tensor, Tensor, Tensor, Tensor], zeros: float, A: Tensor, D: Tensor) -> float:
    """Return ``sum w (x - p)^2 - W p^2`` over pairs (word, context, x, w), float64, with p = d.a."""
    if A.is_cuda and has_triton():
        from wordforest.coder.kernels import fused_visits

        return fused_visits.weighted_squares(pairs, zeros, A, D)
    total = 0.0
    for part in zip(*(array.split(_PAIRS) for array in pairs), strict=True):
        v, c, x, w = part
        p = (A[v.long()].double() * D[c.long()].double()).sum(1)
        total += float((w * (x - p) ** 2 - zeros * p * p).sum())
    return total
