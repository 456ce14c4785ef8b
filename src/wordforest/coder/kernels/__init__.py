"""The narrow waist: the few operations with several writings. The array handed in picks the writing.

NumPy arrays go to ``compiled`` (Numba), PyTorch tensors to ``arrays``; ``plain`` defines what both must return.
No default, check, random number or log line sits below this line.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wordforest.coder.forest import Forest
from wordforest.coder.kernels import arrays
from wordforest.coder.kernels.arrays import namespace

Array = Any  # a NumPy array or a PyTorch tensor

__all__ = ["add_times_codes", "forest_norms", "forest_prox", "namespace", "times_dictionary"]


def forest_prox(A: Array, forest: Forest, threshold: float) -> Array:
    """Return the prox of ``threshold * sum_i |a_group(i)|_2`` for every row of A, shape (V, M)."""
    if not isinstance(A, np.ndarray):
        return arrays.forest_prox(A, forest, threshold)
    from wordforest.coder.kernels import compiled

    A = np.ascontiguousarray(A)
    out = np.empty_like(A)
    compiled.forest_prox(A, forest.parent, A.dtype.type(threshold), out)
    return out


def forest_norms(A: Array, forest: Forest) -> Array:
    """Return ``sum_i |a_v,group(i)|_2`` of every row, shape (V,), float64."""
    if not isinstance(A, np.ndarray):
        return arrays.forest_norms(A, forest)
    from wordforest.coder.kernels import compiled

    out = np.empty(len(A))
    compiled.forest_norms(np.ascontiguousarray(A), forest.parent, out)
    return out


def times_dictionary(X: Any, rows: Array, D: Array) -> Array:
    """Return ``X[rows] @ D``, shape (b, M), for a CSR matrix or a dense array X (V, C)."""
    if not hasattr(X, "indptr"):
        return arrays.times_dictionary(X, rows, D)
    from wordforest.coder.kernels import compiled

    out = np.empty((len(rows), D.shape[1]), dtype=D.dtype)
    compiled.times_dictionary(X.data, X.indices, X.indptr, rows, D, out)
    return out


def add_times_codes(X: Any, rows: Array, A: Array, contexts: tuple[int, int], out: Array) -> None:
    """Add ``X[rows].T @ A`` to the contexts from first to last of ``out``, shape (C, M)."""
    if not hasattr(X, "indptr"):
        arrays.add_times_codes(X, rows, A, contexts, out)
        return
    from wordforest.coder.kernels import compiled

    compiled.add_times_codes(X.data, X.indices, X.indptr, rows, A, contexts[0], contexts[1], out)
