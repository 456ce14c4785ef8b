"""A weight of the penalty for a wanted density: ``train --lam auto``."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordforest.coder.encode import Gram
from wordforest.coder.online import OnlineSettings, learn_online
from wordforest.coder.path import lam_for_density
from wordforest.coder.penalties import Penalty, with_lam
from wordforest.runtime.threads import Executor, one_blas_thread

_ROWS = 16384  # a sample of the words
_JUDGES = 1024  # of it, those whose density is looked at
_ROUNDS = 4


def lam_for_training(
    X: Any, penalty: Penalty, n_components: int, density: float, seed: int = 0, executor: Executor | None = None,
    *, nonnegative: bool = False,
) -> float:  # fmt: skip
    """Return the lam with which learning on X (V, C) gives codes with about this share of non-zeros.

    The dictionary depends on lam and the density on both, so a few rounds on a sample of the rows go back and forth:
    a dictionary for the lam so far, then the lam that gives the density with it. The penalty's lam is the start.
    ``nonnegative`` is that of the dictionary.
    """
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.permutation(X.shape[0])[:_ROWS])
    sample = X[chosen]
    judges = sample[np.sort(rng.permutation(len(chosen))[:_JUDGES])]
    settings = OnlineSettings(epochs=3, seed=seed, exact_tol=1e-2, nonnegative=nonnegative)
    lam = penalty.lam
    for _ in range(_ROUNDS):
        D = learn_online(sample, with_lam(penalty, lam), n_components, settings, executor=executor).D
        with one_blas_thread():
            found = lam_for_density(np.asarray(judges @ D), Gram(D.T @ D), penalty, density)
        if abs(np.log(found / lam)) < 0.05:
            return found
        lam = found
    return lam
