"""Two-dimensional places for words by t-SNE, the best of several runs. The only file that imports openTSNE."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.errors import InputError, MissingExtraError

RUNS = 10  # as in the paper
_PERPLEXITY = 30.0
_EXAGGERATION = 12.0
_PASSES = 250, 750  # with and without exaggeration
_SPREAD = 1e-2  # of the random start; much less, and a few words fall into one point
_EXACT = 300  # words up to which forces are not approximated
_MAX_WORDS = 3000

OnRun = Callable[[int, int], None]  # runs done, runs in all


class Projection(NamedTuple):
    """Places (n, 2), their error (Kullback-Leibler divergence), and the errors of all runs."""

    places: NDArray[np.float64]
    error: float
    errors: tuple[float, ...]


def project(X: NDArray[np.floating], *, runs: int = RUNS, seed: int = 0, on_run: OnRun | None = None) -> Projection:
    """Return places (n, 2) for the rows of X (n, M), which have length one: the run with the lowest error.

    t-SNE is not convex, so it starts from ``runs`` random places, drawn from ``seed``. For fewer than 91
    words the perplexity shrinks from 30 to a third of the other words.
    """
    n = len(X)
    if runs < 1:
        raise InputError(f"runs = {runs}, but at least one run is needed. The paper has {RUNS}.")
    if n > _MAX_WORDS:
        raise InputError(f"expected at most {_MAX_WORDS} words on a map, but {n} came. Choose fewer.")
    if n < 3:  # one point, or two: any distance between two has no error
        places = np.stack([np.arange(n) - (n - 1) / 2, np.zeros(n)], axis=1)
        return Projection(places, 0.0, (0.0,) * runs)
    P = affinities(X)
    best, errors = np.zeros((n, 2)), []
    for run, stream in enumerate(np.random.SeedSequence(seed).spawn(runs)):
        places = _descend(P, np.random.default_rng(stream).normal(0, _SPREAD, (n, 2)))
        errors.append(divergence(P, places))
        if errors[-1] == min(errors) and errors.index(errors[-1]) == run:
            best = places
        if on_run is not None:
            on_run(run + 1, runs)
    return Projection(best, min(errors), tuple(errors))


def affinities(X: NDArray[np.floating]) -> sparse.csr_matrix[np.float64]:
    """Return P (n, n), symmetric and of sum 1: how near the rows of X (n, M) are, by t-SNE's Gaussians."""
    openTSNE = _open_tsne()
    perplexity = min(_PERPLEXITY, max(1.0, (len(X) - 1) / 3))
    near = openTSNE.affinity.PerplexityBasedNN(
        np.asarray(X, np.float64), perplexity=perplexity, method="exact", n_jobs=1
    )
    P: sparse.csr_matrix[np.float64] = near.P
    return P


def divergence(P: sparse.csr_matrix[np.float64], places: NDArray[np.float64]) -> float:
    """Return ``sum_ij P_ij log(P_ij / Q_ij)`` with ``Q_ij`` in proportion to ``1 / (1 + |y_i - y_j|^2)``, i not j.

    Computed without approximation, so that runs are compared by what they reached.
    """
    squares = (places**2).sum(axis=1)
    distance = np.maximum(squares[:, None] + squares - 2 * places @ places.T, 0)  # (n, n)
    Q = 1 / (1 + distance)
    np.fill_diagonal(Q, 0)
    p = P.tocoo()
    kept = (p.data > 0) & (p.row != p.col)
    weight = p.data[kept]
    return float((weight * np.log(weight * Q.sum() / Q[p.row[kept], p.col[kept]])).sum())


def _descend(P: sparse.csr_matrix[np.float64], start: NDArray[np.float64]) -> NDArray[np.float64]:
    openTSNE = _open_tsne()
    n = len(start)
    # a copy: openTSNE scales P in place and back, which leaves rounding for the next run
    fixed = openTSNE.affinity.PrecomputedAffinities(P.copy(), normalize=False)
    theta = 0.0 if n <= _EXACT else 0.5
    embedding = openTSNE.TSNEEmbedding(start, fixed, negative_gradient_method="bh", theta=theta, n_jobs=1)
    # few words under full exaggeration fall into one point and never part again
    exaggeration = min(_EXAGGERATION, max(1.0, n / 10))
    early, late = _PASSES
    embedding.optimize(early, exaggeration=exaggeration, momentum=0.5, inplace=True)
    embedding.optimize(late, momentum=0.8, inplace=True)
    return np.array(embedding, dtype=np.float64)


def _open_tsne() -> ModuleType:
    try:
        import openTSNE
        import openTSNE.affinity
    except ImportError as error:
        raise MissingExtraError("a map", "figures") from error
    module: ModuleType = openTSNE
    return module
