"""How far codes are from the best ones, at most: a duality gap for each word, for any penalty with a prox.

The dual of ``min_a |x - D a|^2 + lam Omega(a)`` is ``max_t 2 x.t - |t|^2`` over all t with ``Omega*(2 D't) <= lam``.
The residual ``r = x - D a``, times a number s that keeps that bound, is such a t, and with ``c = D'r`` the two values
differ by ``(1 - s)^2 |r|^2 + lam Omega(a) - 2 s a.c``, which encloses the best one. Written so, nothing as large as
``|x|^2`` cancels. ``Omega*(2 u) <= lam`` holds exactly when the prox of ``lam/2 Omega`` maps u to zero, so no dual norm
has to be written down. Everything is known from XD, DD and ``|x|^2``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wordforest.coder.kernels import namespace, wide
from wordforest.coder.penalties import Penalty, with_lam

Array = Any  # a NumPy array or a PyTorch tensor

_EXCESS = (-10.0, 1.0)  # decades in which the residual may break the bound; beyond them it is given up
_SPLITS = 6  # of that range: the excess is at most half too large, and so is the gap; each costs a prox
_PRECISION = 1e-12  # of lam_max
_FLAT = 1e-12  # an eigenvalue below this share of the largest is rounding, or a flat direction


def duality_gaps(A: Array, XD: Array, squares: Array, DD: Array, penalty: Penalty) -> Array:
    """Return, for every word, a bound on ``objective(a) - min objective``, shape (b,), float64.

    A and XD are (b, M), ``squares`` holds ``|x|^2``, shape (b,), DD is (M, M). Infinite only where the penalty is.
    """
    A, XD, DD, squares = (wide(part) for part in (A, XD, DD, squares))
    c = XD - A @ DD
    gaps = residual_gaps(A, XD, c, squares, penalty)
    if penalty.lam == 0:
        gaps = namespace(A).minimum(gaps, _convex_gaps(A, c, DD, penalty.per_word(A), penalty))
    return gaps


def residual_gaps(A: Array, XD: Array, c: Array, squares: Array, penalty: Penalty) -> Array:
    """Return the gaps (b,), float64, given ``c = D'r`` (b, M).

    Under weights the residual, the values and D are multiplied by their roots: XD is b, c is ``b - H a``, and
    ``squares`` are the sums of w x^2.
    """
    xp = namespace(A)
    a_c = (A * c).sum(1)
    r_r = xp.clip(squares - (XD * A).sum(1) - a_c, 0.0, None)  # |r|^2
    s = _feasible(c, xp.clip(1 + a_c / xp.where(r_r > 0, r_r, 1.0), 0.0, 1.0), penalty)
    gaps = (1 - s) ** 2 * r_r + penalty.per_word(A) - 2 * s * a_c
    return xp.where(gaps >= 0, gaps, xp.where(gaps < 0, 0.0, np.inf))  # below 0 by rounding; NaN proves nothing


def zero_is_best(XD: Array, penalty: Penalty) -> Array:
    """Say for every word, XD (b, M), whether its best code is zero, shape (b,)."""
    return _vanishes(XD, penalty, 0.5)


def lam_max(XD: Array, penalty: Penalty) -> float:
    """Return the smallest ``lam`` for which the codes of all these words, XD (b, M), are zero.

    The penalty's own lam does not matter. Infinity if no lam makes them zero: without a penalty. With the lasso it is
    ``2 max |x . d|``.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> X, D = np.array([[1.0, 2.0, 3.0]]), np.eye(3)
        >>> round(wf.coder.lam_max(X @ D, wf.coder.L1(lam=1.0)), 6)
        6.0
    """
    unit, rows = with_lam(penalty, 1.0), wide(XD)
    rows = rows[~_vanishes(rows, unit, 0.0)]
    if len(rows) == 0:
        return 0.0
    low, high = 0.0, 2 * float(abs(rows).max())
    while len(left := rows[~_vanishes(rows, unit, high / 2)]):
        low, high, rows = high, 2 * high, left  # only these words can need more
        if high == np.inf:
            return high
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        left = rows[~_vanishes(rows, unit, middle / 2)]
        if len(left):
            low, rows = middle, left
        else:
            high = middle
    return high


def _feasible(c: Array, wished: Array, penalty: Penalty) -> Array:
    """Return numbers s in 0 .. ``wished`` with ``Omega*(2 s c) <= lam``, near the largest, shape (b,)."""
    xp = namespace(c)
    s = wished + 0
    broken = ~_vanishes(c * s[:, None], penalty, 0.5)
    if not bool(broken.any()):
        return s
    c, over = c[broken] * s[broken][:, None], s[broken]
    low, high = (xp.zeros_like(over) + decade for decade in _EXCESS)
    for _ in range(_SPLITS):
        middle = (low + high) / 2
        inside = _vanishes(c / (1 + 10**middle)[:, None], penalty, 0.5)
        low, high = xp.where(inside, low, middle), xp.where(inside, middle, high)
    s[broken] = xp.where(high < _EXCESS[1], over / (1 + 10**high), 0.0)
    return s


def _convex_gaps(A: Array, c: Array, DD: Array, value: Array, penalty: Penalty) -> Array:
    """Bound the gaps by strong convexity, shape (b,): ``|c|^2 / mu`` if nothing is constrained, infinity if mu is 0.

    With mu the smallest eigenvalue of DD, the objective of any b is at least
    ``|r|^2 - 2 c.(b - a) + mu |b - a|^2 + lam Omega(b)``, and a prox finds the b for which this is least.
    """
    eigenvalues = namespace(DD).linalg.eigvalsh(DD)
    mu = float(eigenvalues[0])
    if mu <= _FLAT * float(eigenvalues[-1]):
        return value + np.inf
    B = penalty.prox(A + c / mu, 1 / (2 * mu))
    step = B - A
    return value - penalty.per_word(B) + (2 * c * step - mu * step * step).sum(1)


def _vanishes(U: Array, penalty: Penalty, step: float) -> Array:
    """Say for every row whether the prox of ``step * lam * Omega`` maps it to zero, shape (b,)."""
    return ~(penalty.prox(U, step) != 0).any(1)
