"""What codes are, beside their scores: objective and its parts, zeros by depth, bits, likeness to other codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder import kernels
from wordforest.coder.coding import Gram, word_objectives
from wordforest.coder.forest import Forest
from wordforest.coder.penalties import Penalty
from wordforest.coder.rows import Rows

Array = Any  # a NumPy array or a PyTorch tensor
VALUE_BITS = 8  # of a code that is not zero


def measured(rows: Rows, D: Array, A: Array, penalty: Penalty, forest: Forest) -> dict[str, Any]:
    """Return the facts of codes A (V, M) for a dictionary D (C, M); dimensions stand as nodes of the forest."""
    energy, omega = float(rows.squares().sum()), float(penalty.per_word(A).sum())
    objective = energy + float(kernels.wide(word_objectives(A, rows.all_times(D), Gram(D.T @ D), penalty)).sum())
    return {
        "objective": objective,
        "loss": objective - omega,
        "penalty": omega,
        "penalty_share": omega / objective,
        "error": (objective - omega) / energy,
        **zeros_of(A, forest),
    }


def zeros_of(A: Array, forest: Forest) -> dict[str, Any]:
    """Return how many codes are on, in all and by depth, how many without their parent, and bits for a word.

    ``orphans`` is the share, of nodes below a root that are on, whose parent is off. Which nodes are on takes bits: the
    entropy of the on-rates measured at each depth, of every dimension by itself (``bits_alone``) or given whether its
    parent is on (``bits_given_parent``). A code that is not zero takes 8 more.
    """
    (V, _), depth, below = A.shape, forest.depth, np.flatnonzero(forest.parent >= 0)
    is_on = A != 0
    uses, with_parent = kernels.on_host(kernels.uses(A)), np.zeros(len(forest), np.int64)
    parents = forest.parent[below].astype(np.int64)
    with_parent[below] = kernels.on_host((is_on[:, below] & is_on[:, parents]).sum(0))
    parent_uses = np.where(forest.parent >= 0, uses[forest.parent], V)
    levels = [depth == d for d in range(depth.max() + 1)]
    values = VALUE_BITS * float(uses.sum()) / V
    return {
        "density": float(uses.sum()) / (V * len(forest)),
        "density_by_depth": [float(uses[level].mean()) / V for level in levels],
        "orphans": 1 - float(with_parent.sum()) / float(uses[below].sum()) if uses[below].any() else 0.0,
        "bits_alone": values + sum(level.sum() * _entropy(uses[level].sum(), V * level.sum()) for level in levels),
        "bits_given_parent": values + sum(_bits(uses, with_parent, parent_uses, level, V) for level in levels),
    }


def _bits(
    uses: NDArray[Any], with_parent: NDArray[Any], parent_uses: NDArray[Any], level: NDArray[Any], V: int
) -> float:
    """Return the bits a word that say which nodes of a level are on, given their parents; roots have none."""
    on, under, n = uses[level].sum(), with_parent[level].sum(), V * level.sum()
    if parent_uses[level].sum() == n:  # roots, or parents that are always on
        return float(n / V * _entropy(on, n))
    there = parent_uses[level].sum()
    return float((there * _entropy(under, there) + (n - there) * _entropy(on - under, n - there)) / V)


def _entropy(on: float, of: float) -> float:
    """Return the bits that one of ``of`` yes or no takes, ``on`` of which are yes."""
    p = on / of if of else 0.0
    return float(-p * np.log2(p) - (1 - p) * np.log2(1 - p)) if 0 < p < 1 else 0.0


def likeness(A: Array, B: Array) -> float:
    """Return the median over dimensions of |correlation| of codes (V, M) by two learners, over all words.

    A dimension that is the same for all words in either has none: it counts as 0.
    """
    a, b = (kernels.wide(one) - kernels.wide(one).mean(0) for one in (A, B))
    products, squares = kernels.on_host((a * b).sum(0)), kernels.on_host((a * a).sum(0) * (b * b).sum(0))
    sizes = np.sqrt(squares)
    return float(np.median(np.divide(abs(products), sizes, out=np.zeros_like(sizes), where=sizes > 0)))
