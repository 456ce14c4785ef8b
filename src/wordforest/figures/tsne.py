"""Words on a plane by t-SNE (openTSNE), the best of several runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError, MissingExtraError

RUNS = 10  # as in the paper
_EXACT = 300  # words up to which forces are not approximated
_MAX_WORDS = 3000

OnRun = Callable[[int, int], None]  # runs done, runs in all


class Projection(NamedTuple):
    """Points (n, 2) and their error, the Kullback-Leibler divergence."""

    points: NDArray[np.float64]
    error: float


def project(X: NDArray[np.floating], *, runs: int = RUNS, seed: int = 0, on_run: OnRun | None = None) -> Projection:
    """Return points (n, 2) for the rows of X (n, M), which have length one: the run with the lowest error.

    t-SNE is not convex, so it starts from ``runs`` random layouts, drawn from ``seed``. For fewer than 91 words the
    perplexity shrinks from 30 to a third of the other words, for fewer than 120 the early exaggeration from 12 to a
    tenth of them: few words under full exaggeration fall into one point and never part again.
    """
    n = len(X)
    if runs < 1:
        raise InputError(f"runs = {runs}, but at least one run is needed. The paper has {RUNS}.")
    if n > _MAX_WORDS:
        raise InputError(f"expected at most {_MAX_WORDS} words on a map, but {n} came. Choose fewer.")
    best = Projection(np.stack([np.arange(n) - (n - 1) / 2, np.zeros(n)], axis=1), 0.0 if n < 3 else np.inf)
    for run, start in enumerate(np.random.SeedSequence(seed).generate_state(runs), start=1):
        if n >= 3:  # one point, or two: any distance between two has no error
            best = min(best, _descend(np.asarray(X, np.float64), int(start)), key=lambda found: found.error)
        if on_run is not None:
            on_run(run, runs)
    return best


def _descend(X: NDArray[np.float64], seed: int) -> Projection:
    try:
        from openTSNE import TSNE
    except ImportError as error:
        raise MissingExtraError("a map", "figures") from error
    n = len(X)
    tsne = TSNE(
        perplexity=min(30.0, (n - 1) / 3),
        initialization="random",
        early_exaggeration=min(12.0, max(1.0, n / 10)),
        n_iter=750,
        neighbors="exact",
        negative_gradient_method="bh",
        theta=0.0 if n <= _EXACT else 0.5,
        n_jobs=1,
        random_state=seed,
    )
    found = tsne.fit(X)
    return Projection(np.array(found, dtype=np.float64), float(found.kl_divergence))
