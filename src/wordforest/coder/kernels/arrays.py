"""The kernels as whole-array operations: the same code runs on NumPy arrays and PyTorch tensors, on any device."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any

import numpy as np

from wordforest.coder.forest import Forest
from wordforest.coder.kernels import namespace, wide

Array = Any  # a NumPy array or a PyTorch tensor
PerNode = Any  # one number for all nodes, or an array of shape (M,)


def forest_prox(A: Array, forest: Forest, thresholds: PerNode) -> Array:
    """Prox of the l2 forest penalty for every row of A, shape (V, M), one level of the forest after the other.

    Thresholds may also be those of every row, (V, M).

    Going up, the squared norm of a node's group is known from its children's, shrunk; going down, a node's factor is
    its own times its parent's.
    """
    xp = namespace(A)
    t = _per_node(thresholds, A)
    energy = A * A  # (V, M), becomes the squared norm of each group before its own shrinking
    factor = xp.zeros_like(A)
    levels = _levels(forest, *_kind(A))
    for nodes, parents, sums in reversed(levels):
        size = xp.sqrt(energy[:, nodes])  # (V, nodes)
        alive = size > t[..., nodes]
        left = xp.where(alive, 1 - t[..., nodes] / xp.where(alive, size, 1.0), 0.0)
        factor[:, nodes] = left
        if parents is not None:
            energy[:, parents] += (size * left) ** 2 @ sums
    for nodes, parents, sums in levels[1:]:
        factor[:, nodes] *= factor[:, parents] @ sums.T
    return A * factor


def forest_norms(A: Array, forest: Forest, weights: PerNode) -> Array:
    """Weighted sum of the l2 norms of all groups of every row, shape (V,), float64."""
    A = wide(A)
    energy = A * A
    for nodes, parents, sums in reversed(_levels(forest, *_kind(A))):
        if parents is not None:
            energy[:, parents] += energy[:, nodes] @ sums
    return namespace(A).sqrt(energy) @ _per_node(weights, A)


@lru_cache(maxsize=32)
def _levels(forest: Forest, dtype: Any, device: Any) -> list[tuple[Any, Any, Any]]:
    """Nodes of each depth, the parents they have among them, and the 0/1 matrix that sums children into parents."""
    levels: list[tuple[Any, Any, Any]] = []
    for depth in range(int(forest.depth.max()) + 1):
        nodes = np.flatnonzero(forest.depth == depth)
        if depth == 0:
            levels.append((_put(nodes, None, device), None, None))
            continue
        parents, place = np.unique(forest.parent[nodes], return_inverse=True)
        sums = np.zeros((len(nodes), len(parents)))
        sums[np.arange(len(nodes)), place] = 1
        levels.append((_put(nodes, None, device), _put(parents, None, device), _put(sums, dtype, device)))
    return levels


def _kind(A: Array) -> tuple[Any, Any]:
    """What tables for A have to match: its type, and its device if it is a tensor."""
    return A.dtype, None if isinstance(A, np.ndarray) else A.device


def _put(values: Any, dtype: Any, device: Any) -> Array:
    if device is None:
        return np.asarray(values, dtype=dtype)
    return sys.modules["torch"].as_tensor(np.asarray(values), dtype=dtype, device=device)


def _per_node(values: PerNode, like: Array) -> Array:
    """One number per node, (M,), or per row and node, (V, M), of the type and on the device of ``like``, (V, M)."""
    xp = namespace(like)
    dtype, device = _kind(like)
    shape = like.shape if getattr(values, "ndim", 0) == 2 else like.shape[1:]
    if xp is np:
        return np.broadcast_to(np.asarray(values, dtype=dtype), shape)
    return xp.as_tensor(values, dtype=dtype, device=device).expand(shape)
