"""Slow or foreign implementations of the same maths, for comparison only."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from wordforest.coder.forest import Forest


def spams_tree(forest: Forest, weights: np.ndarray) -> dict[str, object]:
    """The forest as SPAMS wants it: below a dummy root, whose weight is 1e-300 since 0 makes it return NaN."""
    M = len(forest)
    inside = sparse.lil_matrix((M + 1, M + 1), dtype=bool)  # row is a child of column
    for i, p in enumerate(forest.parent):
        inside[i + 1, p + 1] = True
    return {
        "eta_g": np.array([1e-300, *weights]),
        "groups": sparse.csc_matrix(inside),
        "own_variables": np.array([0, *range(M)], dtype=np.int32),
        "N_own_variables": np.array([0] + [1] * M, dtype=np.int32),
    }


def spams_prox(A: np.ndarray, forest: Forest, weights: np.ndarray, threshold: float) -> np.ndarray:
    """The prox by SPAMS' proximalTree, a row per word."""
    import spams

    columns = np.asfortranarray(A.T, dtype=np.float64)
    options = {"regul": "tree-l2", "lambda1": threshold, "numThreads": 1}
    return np.asarray(spams.proximalTree(columns, spams_tree(forest, weights), **options)).T


def dual_prox(a: np.ndarray, forest: Forest, thresholds: np.ndarray, nonnegative: bool = False) -> np.ndarray:
    """The prox of one row through its dual: a sum of vectors, one in a ball on each group, nearest to a.

    With a >= 0 any non-negative vector may be added for free: only what is positive counts as distance. Solved by
    accelerated projected gradients over all balls at once; shares nothing with the composition of thresholds.
    """
    M = len(forest)
    inside = np.array([[i <= k < end for k in range(M)] for i, end in enumerate(forest.end)])  # (groups, M)

    def left(Z: np.ndarray) -> np.ndarray:
        rest = a - Z.sum(0)
        return np.maximum(rest, 0) if nonnegative else rest

    Z = Y = np.zeros((M, M))  # a vector for each group
    for k in range(5000):
        new = Y + inside * left(Y) / inside.sum(0).max()
        new *= np.minimum(1, thresholds / np.maximum(np.linalg.norm(new, axis=1), 1e-300))[:, None]
        Y = new + k / (k + 3) * (new - Z)
        Z = new
    return left(Z)
