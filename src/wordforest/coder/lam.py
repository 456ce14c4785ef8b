"""The weight of the penalty for a wanted density of what learning will come to: ``lam="auto"``."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from wordforest.coder import kernels
from wordforest.coder.coding import Gram
from wordforest.coder.density import lam_for_density, search_lam
from wordforest.coder.online import OnlineSettings, learn_online
from wordforest.coder.penalties import Penalty, with_lam
from wordforest.coder.rows import Rows
from wordforest.coder.rows.base import Loss
from wordforest.coder.rows.weighted import Factor
from wordforest.coder.weighted import WeightedSettings, encode_weighted, learn_weighted
from wordforest.runtime.machine import one_blas_thread

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
