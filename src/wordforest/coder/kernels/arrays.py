"""The kernels as whole-array operations: the same code runs on NumPy arrays and PyTorch tensors, on any device."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from wordforest.coder.forest import Forest

Array = Any  # a NumPy array or a PyTorch tensor


def namespace(array: Array) -> Any:
    """Return the module whose functions take this array: numpy or torch."""
    return np if isinstance(array, np.ndarray | np.generic) else sys.modules["torch"]


def forest_prox(A: Array, forest: Forest, threshold: float) -> Array:
    """Prox of the forest penalty for every row of A, shape (V, M), one level of the forest after the other.

    Going up, the squared norm of a node's group is known from its children's, shrunk; going down, a node's factor is
    its own times its parent's.
    """
    xp = namespace(A)
    energy = A * A  # (V, M), becomes the squared norm of each group before its own shrinking
    factor = xp.zeros_like(A)
    levels = _levels(A, forest)
    for nodes, parents, sums in reversed(levels):
        size = xp.sqrt(energy[:, nodes])  # (V, nodes)
        alive = size > threshold
        left = xp.where(alive, 1 - threshold / xp.where(alive, size, 1.0), 0.0)
        factor[:, nodes] = left
        if parents is not None:
            energy[:, parents] += (size * left) ** 2 @ sums
    for nodes, parents, sums in levels[1:]:
        factor[:, nodes] *= factor[:, parents] @ sums.T
    return A * factor


def forest_norms(A: Array, forest: Forest) -> Array:
    """Sum of the group norms of every row, shape (V,), float64."""
    wide = A.astype(np.float64) if isinstance(A, np.ndarray) else A.double()
    energy = wide * wide
    for nodes, parents, sums in reversed(_levels(wide, forest)):
        if parents is not None:
            energy[:, parents] += energy[:, nodes] @ sums
    return namespace(A).sqrt(energy).sum(1)


def times_dictionary(X: Array, rows: Array, D: Array) -> Array:
    """``X[rows] @ D``, shape (b, M)."""
    return X[rows] @ D


def add_times_codes(X: Array, rows: Array, A: Array, contexts: tuple[int, int], out: Array) -> None:
    """Add ``X[rows].T @ A`` to the contexts from first to last of ``out``, shape (C, M)."""
    first, last = contexts
    out[first:last] += X[rows][:, first:last].T @ A


def _levels(like: Array, forest: Forest) -> list[tuple[Any, Any, Any]]:
    """Nodes of each depth, the parents they have among them, and the 0/1 matrix that sums children into parents."""
    levels: list[tuple[Any, Any, Any]] = []
    for depth in range(int(forest.depth.max()) + 1):
        nodes = np.flatnonzero(forest.depth == depth)
        if depth == 0:
            levels.append((nodes, None, None))
            continue
        parents, place = np.unique(forest.parent[nodes], return_inverse=True)
        sums = np.zeros((len(nodes), len(parents)))
        sums[np.arange(len(nodes)), place] = 1
        levels.append((nodes, parents, _as_like(sums, like)))
    return levels


def _as_like(values: Any, like: Array) -> Array:
    if isinstance(like, np.ndarray):
        return values.astype(like.dtype)
    return namespace(like).asarray(values, dtype=like.dtype, device=like.device)
