"""Slow or foreign writings of the same maths, for comparison only."""

from __future__ import annotations

import itertools

import numpy as np
from scipy import optimize, sparse

from wordforest.coder.forest import Forest


def spams_tree(forest: Forest) -> dict[str, object]:
    """The forest as SPAMS wants it: below a dummy root, whose weight is 1e-300 since 0 makes it return NaN."""
    M = len(forest)
    inside = sparse.lil_matrix((M + 1, M + 1), dtype=bool)  # row is a child of column
    for i, p in enumerate(forest.parent):
        inside[i + 1, p + 1] = True
    return {
        "eta_g": np.array([1e-300] + [1.0] * M),
        "groups": sparse.csc_matrix(inside),
        "own_variables": np.array([0, *range(M)], dtype=np.int32),
        "N_own_variables": np.array([0] + [1] * M, dtype=np.int32),
    }


def spams_prox(A: np.ndarray, forest: Forest, threshold: float) -> np.ndarray:
    """The prox by SPAMS' proximalTree, a row per word."""
    import spams

    columns = np.asfortranarray(A.T, dtype=np.float64)
    options = {"regul": "tree-l2", "lambda1": threshold, "numThreads": 1}
    return np.asarray(spams.proximalTree(columns, spams_tree(forest), **options)).T


def dual_prox(a: np.ndarray, forest: Forest, threshold: float) -> np.ndarray:
    """The prox of one row through its dual: a sum of vectors, one in a ball on each group, nearest to a.

    Solved by L-BFGS over smooth coordinates of the balls; shares nothing with the composition of thresholds.
    """
    groups = [slice(i, end) for i, end in enumerate(forest.end)]
    borders = np.cumsum([0] + [g.stop - g.start for g in groups])

    def pieces(z: np.ndarray) -> list[np.ndarray]:
        parts = [z[s:e] for s, e in itertools.pairwise(borders)]
        return [threshold * p / np.sqrt(1 + p @ p) for p in parts]

    def loss(z: np.ndarray) -> tuple[float, np.ndarray]:
        rest = a.copy()
        for group, piece in zip(groups, pieces(z), strict=True):
            rest[group] -= piece
        slopes = []
        for group, (s, e) in zip(groups, itertools.pairwise(borders), strict=True):
            p = z[s:e]
            root = np.sqrt(1 + p @ p)
            g = -threshold * rest[group]
            slopes.append(g / root - p * (p @ g) / root**3)
        return 0.5 * float(rest @ rest), np.concatenate(slopes)

    best = optimize.minimize(
        loss,
        np.zeros(borders[-1]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 20000, "ftol": 1e-16, "gtol": 1e-10},
    )
    rest = a.copy()
    for group, piece in zip(groups, pieces(best.x), strict=True):
        rest[group] -= piece
    return rest
