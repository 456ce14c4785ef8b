"""What a pass of the entry learner goes down, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.kernels import wide_gram
from wordforest.coder.kernels.entries import weighted_squares
from wordforest.coder.penalties import Penalty
from wordforest.coder.rows.pairs import Pairs, Part
from wordforest.runtime.threads import Executor

Array = NDArray[Any]

_SAMPLE = 1 << 20  # pairs in the sample
_PIECE = 1 << 15  # of them, that a worker takes at a time


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

        def stored(chosen: slice) -> float:
            return float(weighted_squares(self.pairs.part(chosen), self.zeros, A, D))

        stored_loss = sum(executor.map(stored, self.pairs.slices()))
        return stored_loss + self._unstored(D, A, executor) + self._charges(D, A)

    def estimate(self, D: Array, A: Array, executor: Executor) -> float:
        """Return the same with the stored pairs judged by a fixed sample of them."""
        n = len(self.sample.words)
        pieces = [Part(*(array[i : i + _PIECE] for array in self.sample)) for i in range(0, n, _PIECE)]
        stored = sum(executor.map(lambda piece: weighted_squares(piece, self.zeros, A, D), pieces))
        return len(self.pairs) / n * stored + self._unstored(D, A, executor) + self._charges(D, A)

    def _unstored(self, D: Array, A: Array, executor: Executor) -> float:
        """Return ``W |A D'|^2`` over all pairs, of which the stored ones take their share back."""
        if self.zeros == 0:
            return 0.0
        return self.zeros * float((wide_gram(A, executor) * wide_gram(D, executor)).sum())

    def _charges(self, D: Array, A: Array) -> float:
        """Return the penalty and the ridge."""
        total = float(np.sum(self.charged[0] * self.penalty.per_word(A)))
        return total + self.tau * float(np.sum(self.charged[1] * np.einsum("cm,cm->c", D, D, dtype=np.float64)))
