"""The definitions, written to be read. Every faster writing is tested against these."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.forest import Forest

Array = NDArray[Any]


def shrink(block: Array, threshold: float) -> Array:
    """Block thresholding, the prox of ``threshold * |block|_2``."""
    size = np.linalg.norm(block)
    return block * (1 - threshold / size) if size > threshold else np.zeros_like(block)


def forest_prox(A: Array, forest: Forest, threshold: float) -> Array:
    """Prox of ``threshold * sum_i |a_group(i)|_2`` for every row of A, shape (V, M)."""
    B = A.copy()
    for a in B:
        for i in reversed(range(len(forest))):  # leaves before roots, else this is not the prox
            group = slice(i, forest.end[i])
            a[group] = shrink(a[group], threshold)
    return B


def forest_norms(A: Array, forest: Forest) -> Array:
    """``sum_i |a_v,group(i)|_2`` of every row, shape (V,), float64."""
    wide = A.astype(np.float64)
    return np.asarray(np.sum([np.linalg.norm(wide[:, i:end], axis=1) for i, end in enumerate(forest.end)], axis=0))


def times_dictionary(X: Any, rows: Array, D: Array) -> Array:
    """``X[rows] @ D``, shape (b, M)."""
    return np.asarray(X[rows] @ D)


def add_times_codes(X: Any, rows: Array, A: Array, contexts: tuple[int, int], out: Array) -> None:
    """Add ``X[rows].T @ A`` to the rows of ``out``, shape (C, M), that belong to the contexts given."""
    first, last = contexts
    out[first:last] += (X[rows].T @ A)[first:last]


def sweep(D: Array, AA: Array, XA: Array) -> Array:
    """One pass of block coordinate descent over the atoms: Algorithm 2 of Mairal et al. (2010).

    Atom j becomes the minimiser of ``|X - A D'|^2`` over the unit ball with all other atoms fixed; an atom that no
    word uses stays as it is.
    """
    D = D.copy()
    for j in range(D.shape[1]):
        if AA[j, j] > 0:
            u = D[:, j] + (XA[:, j] - D @ AA[:, j]) / AA[j, j]  # (C,)
            D[:, j] = u / max(1.0, float(np.linalg.norm(u)))
    return D
