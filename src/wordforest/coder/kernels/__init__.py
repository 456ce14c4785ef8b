"""The narrow waist: the few operations with several writings. The array handed in picks the writing.

NumPy arrays go to ``compiled`` (Numba), PyTorch tensors to ``arrays``, or on a card to the ``fused`` ones (Triton);
``plain`` defines what all must return.
No default, check, random number or log line sits below this line.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from wordforest.coder.forest import Forest
from wordforest.coder.kernels import arrays
from wordforest.coder.kernels.arrays import inner, namespace, on_host, placed, uses, zeros
from wordforest.coder.kernels.device import DeviceRows, OnDevice
from wordforest.coder.kernels.precision import Precision, check_precision, product
from wordforest.runtime.gpu import check_device, has_triton

Array = Any  # a NumPy array or a PyTorch tensor
PerNode = Any  # one number for all nodes, or an array of shape (M,)

_TREES = 4, 128  # nodes of the largest tree: fewer are not worth a kernel of their own, more do not fit into one

__all__ = [
    "DeviceRows", "OnDevice", "Precision", "add_times_codes", "check_device", "check_precision", "forest_max_norms",
    "forest_max_prox", "forest_norms", "forest_prox", "inner", "namespace", "on_host", "placed", "product",
    "times_dictionary", "uses", "zeros",
]  # fmt: skip


def forest_prox(A: Array, forest: Forest, thresholds: PerNode) -> Array:
    """Return the prox of ``sum_i thresholds_i |a_group(i)|_2`` for every row of A, shape (V, M)."""
    if not isinstance(A, np.ndarray):
        return _on_tensors(A, forest).forest_prox(A, forest, thresholds)
    from wordforest.coder.kernels import compiled

    A = np.ascontiguousarray(A)
    out = np.empty_like(A)
    compiled.forest_prox(A, forest.parent, forest.end, _per_node(thresholds, forest, A.dtype), out)
    return out


def forest_norms(A: Array, forest: Forest, weights: PerNode = 1.0) -> Array:
    """Return ``sum_i w_i |a_v,group(i)|_2`` of every row, shape (V,), float64."""
    if not isinstance(A, np.ndarray):
        return _on_tensors(A, forest).forest_norms(A, forest, weights)
    from wordforest.coder.kernels import compiled

    out = np.empty(len(A))
    compiled.forest_norms(np.ascontiguousarray(A), forest.parent, _per_node(weights, forest, out.dtype), out)
    return out


def forest_max_prox(A: Array, forest: Forest, thresholds: PerNode) -> Array:
    """Return the prox of ``sum_i thresholds_i max |a_group(i)|`` for every row of A, shape (V, M)."""
    if not isinstance(A, np.ndarray):
        return arrays.forest_max_prox(A, forest, thresholds)
    from wordforest.coder.kernels import compiled

    A = np.ascontiguousarray(A)
    out = np.empty_like(A)
    compiled.forest_max_prox(A, forest.end, _per_node(thresholds, forest, A.dtype), out)
    return out


def forest_max_norms(A: Array, forest: Forest, weights: PerNode = 1.0) -> Array:
    """Return ``sum_i w_i max |a_v,group(i)|`` of every row, shape (V,), float64."""
    if not isinstance(A, np.ndarray):
        return arrays.forest_max_norms(A, forest, weights)
    from wordforest.coder.kernels import compiled

    out = np.empty(len(A))
    compiled.forest_max_norms(np.ascontiguousarray(A), forest.parent, _per_node(weights, forest, out.dtype), out)
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


def _on_tensors(A: Array, forest: Forest) -> Any:
    """Return the module for tensors: the card's own kernels where they can be, else whole-array operations."""
    if not (A.is_cuda and has_triton() and _TREES[0] <= _largest_tree(forest) <= _TREES[1]):
        return arrays
    from wordforest.coder.kernels import fused_prox

    return fused_prox


@lru_cache(maxsize=32)
def _largest_tree(forest: Forest) -> int:
    return int((forest.end[forest.roots] - forest.roots).max())


def _per_node(values: PerNode, forest: Forest, dtype: Any) -> Array:
    out = np.empty(len(forest), dtype=dtype)
    out[:] = values
    return out
