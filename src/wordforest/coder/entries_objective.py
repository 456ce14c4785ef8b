"""What a pass of the entry learner goes down, in float64; on a fixed sample of entries if there are many."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.kernels.entries import ENTRY, weighted_squares
from wordforest.coder.penalties import Penalty
from wordforest.execution import Executor

Array = NDArray[Any]

_SAMPLE = 1 << 20  # entries looked at
_PART = 1 << 15  # entries that a worker takes at a time
_SLICE = 4096  # rows that a worker takes at a time


class EntryObjective:
    """The objective of the entry learner as a function of D (C, M) and A (V, M).

        sum over stored of w (x - d.a)^2  +  W sum over unstored of (d.a)^2
            +  lam sum_v s_v Omega(a_v)  +  tau sum_c s_c |d_c|^2

    ``charged`` is s, one number or one for each word and context. With w = 1, W = 0 and s = 1 this is
    ``entry_objective``, and with w = W = 1, s = 1, tau = 0 it is ``objective``.
    """

    def __init__(
        self, X: Any, weights: Array, penalty: Penalty, tau: float, zeros: float, charged: tuple[Any, Any], seed: int
    ) -> None:
        self.penalty, self.tau, self.zeros, self.charged = penalty, tau, zeros, charged
        chosen: Any = slice(None)
        words = np.repeat(np.arange(X.shape[0], dtype=np.int32), np.diff(X.indptr))
        self.scale = 1.0
        if X.nnz > _SAMPLE:
            chosen = np.sort(np.random.default_rng((seed, 3)).choice(X.nnz, _SAMPLE, replace=False, shuffle=False))
            self.scale = X.nnz / _SAMPLE
        x, w = X.data[chosen].astype(np.float64), weights[chosen].astype(np.float64)
        mass = w + zeros
        per_mass = np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0)
        self.entries = np.zeros(len(x), dtype=ENTRY)
        self.entries["word"], self.entries["context"] = words[chosen], X.indices[chosen]
        self.entries["value"], self.entries["keep"] = w * x * per_mass, (w - zeros) * per_mass
        self.entries["mass"] = mass
        self.energy = float((w * x) @ x)

    def __call__(self, D: Array, A: Array, executor: Executor) -> float:
        """Return the objective; sums run in a fixed order."""
        parts = [self.entries[i : i + _PART] for i in range(0, len(self.entries), _PART)]
        stored = self.energy + sum(executor.map(lambda part: weighted_squares(part, A, D), parts))
        total = self.scale * stored
        if self.zeros > 0:
            total += self.zeros * float(np.vdot(gram(A, executor), gram(D, executor)))
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
