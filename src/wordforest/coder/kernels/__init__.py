"""The narrow waist: the few operations with several implementations. The array handed in picks one.

NumPy arrays go to ``compiled`` (Numba), PyTorch tensors to ``arrays``, or on a GPU to the ``fused`` ones (Triton);
``plain`` defines what all must return.
No default, check, random number or log line sits below this line.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from wordforest.coder.forest import Forest
from wordforest.coder.kernels import arrays
from wordforest.coder.kernels.arrays import (
    as_type,
    copied,
    gram,
    inner,
    inner_products,
    namespace,
    on_host,
    placed,
    row_products,
    slices,
    transposed,
    uses,
    wide,
    wide_gram,
    zeros,
)
from wordforest.runtime.gpu import has_triton

Array = Any  # a NumPy array or a PyTorch tensor
PerNode = Any  # one number for all nodes, or an array of shape (M,)

_TREES = 4, 128  # nodes of the largest tree: fewer are not worth a kernel of their own, more do not fit into one

__all__ = [
    "as_type",
    "copied",
    "forest_norms",
    "forest_prox",
    "gram",
    "inner",
    "inner_products",
    "namespace",
    "on_host",
    "placed",
    "row_products",
    "shrunk_squares",
    "slices",
    "transposed",
    "uses",
    "wide",
    "wide_gram",
    "zeros",
]


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


def shrunk_squares(U: Array, L: Array, multipliers: Array) -> tuple[Array, Array]:
    """Return sums over rows of ``s^2`` and ``s^2 / (L + mu)``, ``s = L u / (L + mu)``, (M,) each, float64.

    U is (n, M), L (n, 1), mu (M,).
    """
    if not isinstance(U, np.ndarray):
        below = (L + multipliers).double()
        squares = (U * L).double().div_(below).square_()
        return squares.sum(0), squares.div_(below).sum(0)
    from wordforest.coder.kernels import sampled

    sums = np.zeros((2, U.shape[1]))
    sampled.shrunk_squares(U, L[:, 0], multipliers.astype(np.float64), sums[0], sums[1])
    return sums[0], sums[1]


def _on_tensors(A: Array, forest: Forest) -> Any:
    """Return the module for tensors: the GPU's own kernels where they can be, else whole-array operations."""
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
