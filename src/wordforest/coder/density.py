"""The weight of a penalty, or the price of a node, with which codes are as dense as is wanted."""

from __future__ import annotations

from collections.abc import Callable
from math import log, sqrt
from typing import Any

import numpy as np

from wordforest.coder import kernels
from wordforest.coder.certificate import lam_max, zero_is_best
from wordforest.coder.coding import Gram, Solver, admm, pursuit
from wordforest.coder.kernels import namespace
from wordforest.coder.penalties import MostActive, Penalty, with_lam
from wordforest.errors import InputError

Array = Any  # a NumPy array or a PyTorch tensor
_TOL, _MAX_ITER = 1e-5, 500  # of the solver, at each weight
_NEAR_DENSITY = 0.01  # share of the wanted density by which another is as good
_SMALLEST = 1e-8  # share of the largest weight below which no density is looked for
_HALVINGS = 30
_FAR_STEP, _NEAR_STEP = 10.0, 1.1  # first steps of lam


def lam_for_density(
    XD: Array,
    gram: Gram,
    penalty: Penalty,
    density: float,
    *,
    solver: Solver = admm,
    max_iter: int = _MAX_ITER,
    smallest: float = _SMALLEST,
    density_of: Callable[[Array], float] = kernels.density,
    near: float = 0.0,
) -> float:
    """Return the lam whose codes of the words XD (b, M) have about this share of non-zeros.

    That is within a hundredth of it, or the closest that was met. The penalty's own lam does not matter. Ten-fold steps
    down from the smallest lam that makes all codes zero, to ``smallest`` times that, then halvings of log lam; with
    ``near`` small steps from there in place of large ones. ``density_of`` says how dense codes are. Of ``MostActive``
    lam is the price of a node, which stays ``near`` where no atom explains anything.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> X, D = np.array([[1.0, 2.0, 3.0, 4.0]]), np.eye(4)
        >>> gram, penalty = wf.coder.Gram(D.T @ D), wf.coder.L1(lam=1.0)
        >>> lam = wf.coder.lam_for_density(X @ D, gram, penalty, density=0.5)
        >>> 4 < lam < 6  # |a_i| = max(|x_i| - lam / 2, 0): two of four are left
        True
    """
    if not 0 <= density <= 1:
        raise InputError(f"density = {density}, but a share of non-zeros lies between 0 and 1.")
    if isinstance(penalty, MostActive):
        return _price_for_density(XD, gram, penalty, density, density_of, near)
    largest = lam_max(XD, penalty)
    if not 0 < largest < np.inf:
        raise InputError(
            f"the smallest lam that makes all codes zero is {largest}, but a positive finite one is needed. "
            "Give words that the dictionary can explain, and a penalty other than NoPenalty."
        )
    A = namespace(XD).zeros_like(XD)

    def density_at(lam: float) -> float:
        """Code the words, but those whose best code is zero: no relative change can be small there."""
        nonlocal A
        own, start = with_lam(penalty, lam), A
        A = namespace(XD).zeros_like(XD)
        live = ~zero_is_best(XD, own)
        if bool(live.any()):
            A[live] = solver(XD[live], gram, own, start=start[live], tol=_TOL, max_iter=max_iter).A
        return density_of(A)

    return search_lam(density_at, density, largest, smallest, near)


def _price_for_density(
    XD: Array, gram: Gram, bound: MostActive, density: float, density_of: Callable[[Array], float], near: float
) -> float:
    """Return the price; from ``max XD^2 / DD_ii`` on no node is worth it. ``near`` where that is zero."""
    lengths = kernels.wide(gram.DD.diagonal())
    gains = kernels.wide(XD) ** 2 / namespace(XD).where(lengths > 0, lengths, np.inf)
    largest = float(gains.max()) if len(gains) else 0.0
    if not largest > 0:
        return near

    def density_at(price: float) -> float:
        return density_of(pursuit(XD, gram, with_lam(bound, price)).A)

    return search_lam(density_at, density, largest, near=near)


def search_lam(
    density_at: Callable[[float], float],
    density: float,
    largest: float,
    smallest: float = _SMALLEST,
    near: float = 0.0,
) -> float:
    """Return the lam at which a density is about the wanted one; at ``largest`` all codes are zero."""
    low, high, best, reached = 0.0, largest, largest, 0.0
    lam, step = (near, _NEAR_STEP) if 0 < near < largest else (largest / _FAR_STEP, _FAR_STEP)
    for _ in range(_HALVINGS):
        if lam < smallest * largest:
            break
        found = density_at(lam)
        low, high = (low, lam) if found < density else (lam, high)
        if abs(found - density) < abs(reached - density):
            best, reached = lam, found
        if abs(reached - density) <= _NEAR_DENSITY * density or (low and log(high / low) < _TOL):
            break
        lam = min(sqrt(low * high), low * step) if low else high / step
        step = min(step * step, _FAR_STEP)
    return best
