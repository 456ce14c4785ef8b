"""A penalty as the visits of the entry learner see it: an order of the columns of a code."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.forest import Forest
from wordforest.coder.kernels.entries import LANES, Tree
from wordforest.coder.kernels.visits import Shape
from wordforest.coder.penalties import L1, ForestL2, NonNegativeL1, NoPenalty, Penalty
from wordforest.errors import InputError

Array = NDArray[Any]

_LOWEST = -3e38  # times any threshold, below all codes


def tree_of(penalty: Penalty, n_components: int, kind: Any) -> Tree:
    """Return a penalty as the visits see it, in floats of a kind."""
    shape = shape_of(penalty, n_components)
    return _in_order(shape.forest, shape.weights.astype(kind), shape.nonnegative)


def shape_of(penalty: Penalty, n_components: int) -> Shape:
    """Return the forest of a penalty, that of an l1 one with single nodes, and the weights of the nodes."""
    if isinstance(penalty, ForestL2):
        forest = penalty.forest
        if len(forest) != n_components:
            raise InputError(f"n_components = {n_components}, but the forest of the penalty has {len(forest)} nodes.")
        weights = np.ones(n_components) if penalty.weights is None else np.asarray(penalty.weights)
    elif isinstance(penalty, L1 | NonNegativeL1 | NoPenalty):
        forest = Forest.flat(n_components)
        weights = np.ones(n_components)
    else:
        raise InputError(
            f"the penalty is {type(penalty).__name__}, but learning from entries knows ForestL2, L1, NonNegativeL1 and "
            "NoPenalty. Use one of them, or learn_online."
        )
    return Shape(forest, weights, is_nonnegative(penalty))


def is_nonnegative(penalty: Penalty) -> bool:
    """Return whether a penalty keeps codes from being negative."""
    return isinstance(penalty, NonNegativeL1) or (isinstance(penalty, ForestL2) and penalty.nonnegative)


def _in_order(forest: Forest, weights: Array, nonnegative: bool) -> Tree:
    """Return the forest in the order in which the prox meets it; columns that pad the codes are leaves of weight 0."""
    M = len(forest)
    is_leaf = forest.end == np.arange(1, M + 1)
    inner = np.flatnonzero(~is_leaf)
    inner = inner[np.argsort(forest.depth[inner], kind="stable")]
    place = np.full(M + 1, len(inner))  # the last is above all roots; leaves go to their parents, roots behind all
    place[inner] = np.arange(len(inner))
    owner = np.where(is_leaf, place[forest.parent], place[:M])
    columns = np.lexsort((np.arange(M), is_leaf, owner))  # a node before its leaves
    first = np.searchsorted(owner[columns], np.arange(len(inner) + 1))
    n_levels = int(forest.depth[inner].max()) + 1 if len(inner) else 0
    levels = np.searchsorted(forest.depth[inner], np.arange(n_levels + 1))
    leaf = np.zeros((2, -(-M // LANES) * LANES), dtype=weights.dtype)
    leaf[0, :M] = np.where(is_leaf, weights, 0)[columns]
    leaf[1] = _LOWEST if nonnegative else -leaf[0]
    above = np.where(forest.parent[inner] >= 0, place[forest.parent[inner]], 0)
    unsigned = [part.astype(np.uint64) for part in (first, above, levels)]
    return Tree(columns, leaf, weights[inner], unsigned[0], unsigned[1], unsigned[2])
