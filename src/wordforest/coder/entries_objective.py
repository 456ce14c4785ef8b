"""What a pass of the entry learner goes down, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.kernels.entries import weighted_squares
from wordforest.coder.pairs import Pairs, Part
from wordforest.coder.penalties import Penalty
from wordforest.execution import Executor

Array = NDArray[Any]

_SAMPLE = 1 << 20  # pairs in the sample
_PIECE = 1 << 15  # of them, that a worker takes at a time
_SLICE = 4096  # rows that a worker takes at a time


class EntryObjective:
    """The objective of the entry learner as a function of D (C, M) and A (V, M).

        sum over stored of w (x - d.a)^2  +  W sum over unstored of (d.a)^2
            +  lam sum_v s_v Omega(a_v)  +  tau sum_c s_c |d_c|^2

    ``charged`` is s, one number or one for each word and context. With w = 1, W = 0 and s = 1 this is
    ``entry_objective``, and with w = W = 1, s = 1, tau = 0 it is ``objective``.
    """

    def __init__(
        self, pairs: Pairs, penalty: Penalty, tau: float, zeros: float, charged: tuple[Any, Any], seed: int
    ) -> None:
        self.pairs, self.penalty, self.tau, self.zeros, self.charged = pairs, penalty, tau, zeros, charged
        self.sample = pairs.sample(_SAMPLE, np.random.default_rng((seed, 3)))

    def __call__(self, D: Array, A: Array, executor: Executor) -> float:
        """Return the objective over all pairs; sums run in a fixed order."""

        def loss(chosen: slice) -> float:
            return weighted_squares(self.pairs.part(chosen), self.zeros, A, D)

        return sum(executor.map(loss, self.pairs.slices())) + self._rest(D, A, executor)

    def estimate(self, D: Array, A: Array, executor: Executor) -> float:
        """Return the same with the stored pairs judged by a fixed sample of them."""
        n = len(self.sample.words)
        pieces = [Part(*(array[i : i + _PIECE] for array in self.sample)) for i in range(0, n, _PIECE)]
        stored = sum(executor.map(lambda piece: weighted_squares(piece, self.zeros, A, D), pieces))
        return len(self.pairs) / n * stored + self._rest(D, A, executor)

    def _rest(self, D: Array, A: Array, executor: Executor) -> float:
        """Return ``W |A D'|^2``, of which the stored pairs take their share back, the penalty and the ridge."""
        total = self.zeros * float(np.vdot(gram(A, executor), gram(D, executor))) if self.zeros > 0 else 0.0
        total += float(np.sum(self.charged[0] * self.penalty.per_word(A)))
        return total + self.tau * float(np.sum(self.charged[1] * np.einsum("cm,cm->c", D, D, dtype=np.float64)))


def gram(rows: Array, executor: Executor) -> Array:
    """Return ``rows' rows``, (M, M), float64, from slices in their order."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for product in executor.map(lambda part: rows[part].T @ rows[part], slices(len(rows))):
        total += product
    return total


def slices(n: int) -> list[slice]:
    """Cut n rows into slices that do not depend on the workers."""
    return [slice(i, i + _SLICE) for i in range(0, n, _SLICE)]
