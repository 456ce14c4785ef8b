"""What a pass of the entry learner goes down, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.forest import Forest
from wordforest.coder.kernels import gram
from wordforest.coder.kernels.entries import LANES, Tree, weighted_squares
from wordforest.coder.penalties import L1, ForestL2, NoPenalty, Penalty
from wordforest.coder.rows.pairs import Pairs, SomePairs
from wordforest.errors import InputError
from wordforest.runtime.machine import Executor

Array = NDArray[Any]
_SAMPLE = 1 << 20  # pairs in the sample
_PIECE = 1 << 15  # of them, that a worker takes at a time


class EntryObjective:
    """The objective of the entry learner as a function of D (C, M) and A (V, M).

        sum over stored of w (x - d.a)^2  +  W sum over unstored of (d.a)^2
            +  lam sum_v s_v Omega(a_v)  +  tau sum_c s_c |d_c|^2

    ``charged`` is s, one number or one for each word and context. With w = 1, W = 0 and s = 1 this is the
    paper's second objective, and with w = W = 1, s = 1, tau = 0 it is ``objective``.
    """

    def __init__(
        self, pairs: Pairs, penalty: Penalty, tau: float, zeros: float, charged: tuple[Any, Any], seed: int
    ) -> None:
        self.pairs, self.penalty, self.tau, self.zeros, self.charged = pairs, penalty, tau, zeros, charged
        self.sample = pairs.sample(_SAMPLE, np.random.default_rng((seed, 3)))

    def __call__(self, D: Array, A: Array, executor: Executor) -> float:
        """Return the objective over all pairs; sums run in a fixed order."""

        def stored(chosen: slice) -> float:
            return float(weighted_squares(self.pairs.part(chosen), self.zeros, A, D))

        stored_loss = sum(executor.map(stored, self.pairs.slices()))
        return stored_loss + self._unstored(D, A, executor) + self._charges(D, A)

    def estimate(self, D: Array, A: Array, executor: Executor) -> float:
        """Return the same with the stored pairs judged by a fixed sample of them."""
        n = len(self.sample.words)
        pieces = [SomePairs(*(array[i : i + _PIECE] for array in self.sample)) for i in range(0, n, _PIECE)]
        stored = sum(executor.map(lambda piece: weighted_squares(piece, self.zeros, A, D), pieces))
        return len(self.pairs) / n * stored + self._unstored(D, A, executor) + self._charges(D, A)

    def _unstored(self, D: Array, A: Array, executor: Executor) -> float:
        """Return ``W |A D'|^2`` over all pairs, of which the stored ones take their share back."""
        if self.zeros == 0:
            return 0.0
        return self.zeros * float((gram(A, executor) * gram(D, executor)).sum())

    def _charges(self, D: Array, A: Array) -> float:
        """Return the penalty and the ridge."""
        total = float(np.sum(self.charged[0] * self.penalty.per_word(A)))
        return total + self.tau * float(np.sum(self.charged[1] * np.einsum("cm,cm->c", D, D, dtype=np.float64)))


_LOWEST = -3e38  # times any threshold, below all codes


def tree_of(penalty: Penalty, n_components: int, kind: Any) -> Tree:
    """Return a penalty as the visits see it, in floats of a kind; that of an l1 one is a forest of single nodes."""
    weights = np.ones(n_components)
    if isinstance(penalty, ForestL2):
        forest = penalty.forest
        if len(forest) != n_components:
            raise InputError(f"n_components = {n_components}, but the forest of the penalty has {len(forest)} nodes.")
        weights = weights if penalty.weights is None else np.asarray(penalty.weights)
    elif isinstance(penalty, L1 | NoPenalty):
        forest = Forest.flat(n_components)
    else:
        raise InputError(
            f"the penalty is {type(penalty).__name__}, but learning from entries knows ForestL2, L1 and NoPenalty. "
            "Use one of them, or learn_online."
        )
    return _in_order(forest, weights.astype(kind), penalty.nonnegative)


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
