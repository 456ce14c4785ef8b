"""Codes for many weights of the penalty, from all zero to dense, each started from the one before."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, prod, sqrt
from typing import Any

import numpy as np

from wordforest.coder.certificate import lam_max, zero_is_best
from wordforest.coder.encode import Gram, Solver, admm
from wordforest.coder.kernels import namespace
from wordforest.coder.penalties import Penalty, with_lam
from wordforest.errors import InputError

Array = Any  # a NumPy array or a PyTorch tensor

_TOL, _MAX_ITER = 1e-5, 500  # of the solver, at each weight
_NEAR = 0.01  # a density as good as the wanted one
_SMALLEST = 1e-8  # share of the largest weight below which no density is looked for
_HALVINGS = 30


@dataclass(frozen=True, eq=False)
class PathPoint:
    """Codes A (b, M) for one weight of the penalty, and the iterations they took."""

    lam: float
    A: Array
    n_iter: int

    @property
    def density(self) -> float:
        """Share of the codes that are not zero."""
        return int((self.A != 0).sum()) / int(prod(self.A.shape))


def lam_path(
    XD: Array, gram: Gram, penalty: Penalty, *, n: int = 20, smallest: float = 1e-3, solver: Solver = admm,
    tol: float = _TOL, max_iter: int = _MAX_ITER,
) -> list[PathPoint]:  # fmt: skip
    """Return codes of the words XD (b, M) for n weights in equal ratios, from ``lam_max`` down to a share of it.

    The penalty's own lam does not matter.
    """
    if n < 1 or not 0 < smallest < 1:
        raise InputError(f"n = {n} and smallest = {smallest}, but a path needs n >= 1 and 0 < smallest < 1.")
    largest = _finite_lam_max(XD, penalty)
    points: list[PathPoint] = []
    A = namespace(XD).zeros_like(XD)
    for lam in np.geomspace(largest, smallest * largest, n):
        point = _solve(XD, gram, with_lam(penalty, float(lam)), A, solver, tol, max_iter)
        points.append(point)
        A = point.A
    return points


def lam_for_density(
    XD: Array, gram: Gram, penalty: Penalty, density: float, *, solver: Solver = admm, tol: float = _TOL,
    max_iter: int = _MAX_ITER,
) -> float:  # fmt: skip
    """Return the lam whose codes have about this share of non-zeros: within 0.01, or the closest that was met.

    The penalty's own lam does not matter. Ten-fold steps down from ``lam_max``, then halvings of log lam.
    """
    if not 0 <= density <= 1:
        raise InputError(f"density = {density}, but a share of non-zeros lies between 0 and 1.")
    high = largest = _finite_lam_max(XD, penalty)
    low, lam = 0.0, largest
    best = PathPoint(largest, namespace(XD).zeros_like(XD), 0)
    A = best.A
    for _ in range(_HALVINGS):
        if abs(best.density - density) <= _NEAR or (low and log(high / low) < _TOL):
            break
        lam = sqrt(low * high) if low else high / 10
        if lam < _SMALLEST * largest:
            break
        point = _solve(XD, gram, with_lam(penalty, lam), A, solver, tol, max_iter)
        low, high = (low, lam) if point.density < density else (lam, high)
        best = min(best, point, key=lambda p: abs(p.density - density))
        A = point.A
    return best.lam


def _solve(
    XD: Array, gram: Gram, penalty: Penalty, start: Array, solver: Solver, tol: float, max_iter: int
) -> PathPoint:
    """Code the words, but those whose best code is zero: no relative change can be small there."""
    A = namespace(XD).zeros_like(XD)
    live = ~zero_is_best(XD, penalty)
    if not bool(live.any()):
        return PathPoint(penalty.lam, A, 0)
    codes = solver(XD[live], gram, penalty, start=start[live], tol=tol, max_iter=max_iter)
    A[live] = codes.A
    return PathPoint(penalty.lam, A, codes.n_iter)


def _finite_lam_max(XD: Array, penalty: Penalty) -> float:
    largest = lam_max(XD, penalty)
    if not 0 < largest < np.inf:
        raise InputError(
            f"the smallest lam that makes all codes zero is {largest}, but a path needs a positive finite one. "
            "Give words that the dictionary can explain, and a penalty other than NoPenalty."
        )
    return largest
