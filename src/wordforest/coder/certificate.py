"""How far codes are from the best ones, at most: a duality gap for each word, for any penalty with a prox.

The dual of ``min_a |x - D a|^2 + lam Omega(a)`` is ``max_t 2 x.t - |t|^2`` over all t with ``Omega*(2 D't) <= lam``.
The residual ``r = x - D a``, made a little shorter where it breaks that bound, is such a t; the two values enclose the
best one. ``Omega*(u) <= s`` holds exactly when the prox of ``s Omega`` maps u to zero, so no dual norm has to be
written down. Everything is known from XD, DD and ``|x|^2``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wordforest.coder.kernels import namespace
from wordforest.coder.penalties import Penalty

Array = Any  # a NumPy array or a PyTorch tensor

_EXCESS = tuple(10.0**k for k in range(-9, 3))  # how far the residual may break the bound, tried in this order
_HALVINGS = 60


def duality_gaps(A: Array, XD: Array, squares: Array, DD: Array, penalty: Penalty) -> Array:
    """Return, for every word, a bound on ``objective(a) - min objective``, shape (b,), float64.

    A and XD are (b, M), ``squares`` holds ``|x|^2``, shape (b,), DD is (M, M).
    """
    xp = namespace(A)
    A, XD, DD, squares = (_wide(part) for part in (A, XD, DD, squares))
    correlation = XD - A @ DD  # D'r, (b, M)
    x_r = squares - (XD * A).sum(1)  # x.r
    r_r = xp.clip(x_r - (correlation * A).sum(1), 0.0, None)  # |r|^2
    shorter = 1 / (1 + _excess(correlation, penalty))
    dual = 2 * shorter * x_r - shorter * shorter * r_r
    return xp.clip(r_r + penalty.per_word(A) - dual, 0.0, None)


def _excess(correlation: Array, penalty: Penalty) -> Array:
    """Return a small e with ``Omega*(D'r) <= (1 + e) lam / 2`` for every word, shape (b,); infinity if none is."""
    xp = namespace(correlation)
    excess = xp.zeros_like(correlation[:, 0])
    open_rows = ~_vanishes(correlation, penalty, 0.5)
    for e in _EXCESS:
        if not bool(open_rows.any()):
            return excess
        excess[open_rows] = e
        still = ~_vanishes(correlation[open_rows], penalty, 0.5 * (1 + e))
        open_rows[xp.where(open_rows)[0][~still]] = False
    excess[open_rows] = np.inf
    return excess


def largest_lam(XD: Array, penalty: Penalty) -> float:
    """Return the smallest ``lam`` for which all codes of these words, XD (b, M), are zero, whatever lam is now.

    ``penalty`` must have ``lam = 1``. The zero code is best when ``Omega*(2 XD) <= lam``.
    """
    low, high = 0.0, 2 * float(abs(XD).max())
    if high == 0:
        return 0.0
    while not bool(_vanishes(XD, penalty, high / 2).all()):
        low, high = high, 2 * high
    rows = XD
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        left = ~_vanishes(rows, penalty, middle / 2)
        if bool(left.any()):
            low, rows = middle, rows[left]  # only these words can need more
        else:
            high = middle
        if high - low <= 1e-12 * high:
            break
    return high


def _vanishes(U: Array, penalty: Penalty, step: float) -> Array:
    """Say for every row whether the prox of ``step * lam * Omega`` maps it to zero, shape (b,)."""
    return ~(penalty.prox(U, step) != 0).any(1)


def _wide(array: Array) -> Array:
    return array.astype(np.float64) if isinstance(array, np.ndarray) else array.double()
