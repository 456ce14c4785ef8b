"""The paper's first objective as a plain function, in float64. Logs, tests and benchmarks use it."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordforest.coder.kernels import row_squares
from wordforest.coder.penalties import Penalty

Array = Any
_ROWS = 1024  # words at a time, to bound memory


def objective(X: Any, D: Array, A: Array, penalty: Penalty) -> float:
    """``|X - A D'|^2 + lam * sum_v Omega(a_v)`` over all pairs, stored or not.

    X is (V, C), sparse or dense; D (C, M); A (V, M).
    """
    D = D.astype(np.float64)
    DD = D.T @ D  # (M, M)
    total = 0.0
    for start in range(0, X.shape[0], _ROWS):
        x, a = X[start : start + _ROWS].astype(np.float64), A[start : start + _ROWS].astype(np.float64)
        total += float(row_squares(x).sum()) - 2 * float(np.vdot(x @ D, a)) + float(np.vdot(a @ DD, a))
        total += float(penalty.per_word(a).sum())
    return total
