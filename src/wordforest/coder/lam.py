"""The weight of the penalty for a wanted density of the codes: ``lam="auto"``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import log, sqrt
from typing import Any

import numpy as np

from wordforest.coder import kernels
from wordforest.coder.certificate import lam_max, zero_is_best
from wordforest.coder.coding import Gram, Solver, admm
from wordforest.coder.kernels import namespace
from wordforest.coder.online import OnlineSettings, learn_online
from wordforest.coder.penalties import Penalty, with_lam
from wordforest.coder.rows import Rows
from wordforest.coder.rows.base import Loss
from wordforest.coder.rows.weighted import Factor
from wordforest.coder.weighted import WeightedSettings, encode_weighted, learn_weighted
from wordforest.errors import InputError
from wordforest.runtime.machine import one_blas_thread

Array = Any  # a NumPy array or a PyTorch tensor
_TOL, _MAX_ITER = 1e-5, 500  # of the solver, at each weight
_NEAR_DENSITY = 0.01  # share of the wanted density by which another is as good
_SMALLEST = 1e-8  # share of the largest weight below which no density is looked for
_HALVINGS = 30


def lam_for_density(
    XD: Array,
    gram: Gram,
    penalty: Penalty,
    density: float,
    *,
    solver: Solver = admm,
    max_iter: int = _MAX_ITER,
    smallest: float = _SMALLEST,
    seen: Callable[[Array], Array] = lambda codes: codes,
) -> float:
    """Return the lam whose codes of the words XD (b, M) have about this share of non-zeros.

    That is within a hundredth of it, or the closest that was met. The penalty's own lam does not matter. Ten-fold steps
    down from ``lam_max``, to ``smallest`` times that, then halvings of log lam. ``seen`` makes of codes what the
    density is of.

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
        return kernels.density(seen(A))

    return search_lam(density_at, density, largest, smallest)


def search_lam(
    density_at: Callable[[float], float], density: float, largest: float, smallest: float = _SMALLEST
) -> float:
    """Return the lam at which a density is about the wanted one; at ``largest`` all codes are zero."""
    low, high, best, reached = 0.0, largest, largest, 0.0
    for _ in range(_HALVINGS):
        if abs(reached - density) <= _NEAR_DENSITY * density or (low and log(high / low) < _TOL):
            break
        lam = sqrt(low * high) if low else high / 10
        if lam < smallest * largest:
            break
        found = density_at(lam)
        low, high = (low, lam) if found < density else (lam, high)
        if abs(found - density) < abs(reached - density):
            best, reached = lam, found
    return best


_ROWS = 16384  # a sample of the words
_JUDGES = 1024  # of it, those whose density is looked at
_ROUNDS = 4
_NEAR_LAM = 0.05  # two lam that differ by less are one


def lam_for_training(
    rows: Rows,
    penalty: Penalty,
    n_components: int,
    density: float,
    seed: int = 0,
    *,
    nonnegative: bool = False,
    loss: Loss | None = None,
) -> float:
    """Return the lam with which learning on X (V, C) gives codes with about this share of non-zeros.

    The dictionary depends on lam and the density on both, so a few rounds on a sample of the rows go back and forth:
    a dictionary for the lam so far, then the lam that gives the density with it. The penalty's lam is the start.
    ``nonnegative`` is that of the dictionary; under a ``loss`` pairs of the sample keep their weights.
    """
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(rows.shape[0])[:_ROWS])
    judging = np.sort(rng.permutation(len(chosen))[:_JUDGES])
    sample, sample_loss = rows.sample(chosen, loss or Loss())
    judges, judge_loss = sample.sample(judging, sample_loss)
    settings = OnlineSettings(epochs=3, seed=seed, exact_tol=1e-2, nonnegative=nonnegative)
    weighted = WeightedSettings(epochs=3, seed=seed, nonnegative=nonnegative)
    lam = penalty.lam
    for _ in range(_ROUNDS):
        own = with_lam(penalty, lam)
        if sample_loss.is_plain:
            D = learn_online(sample, own, n_components, settings).D
            with one_blas_thread():
                XD = judges.times(judges.numbers(len(judging)), D)
                found = lam_for_density(XD, Gram(D.T @ D), penalty, density)
        else:
            D = learn_weighted(sample, sample_loss, own, n_components, weighted).D
            linear = judges.weighted(judge_loss, n_components)[0].form(Factor.of(D, judges.executor)).linear
            density_at = partial(_weighted_density, judges, judge_loss, D, penalty)
            found = search_lam(density_at, density, 2 * float(abs(linear).max()))
        if abs(np.log(found / lam)) < _NEAR_LAM:
            return found
        lam = found
    return lam


def _weighted_density(rows: Rows, loss: Loss, D: Any, penalty: Penalty, lam: float) -> float:
    return kernels.density(encode_weighted(rows, loss, D, with_lam(penalty, lam)))
