"""The kernels as whole-array operations: the same code runs on NumPy arrays and PyTorch tensors, on any device."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any

import numpy as np

from wordforest.coder.forest import Forest
from wordforest.coder.kernels.device import OnDevice

Array = Any  # a NumPy array or a PyTorch tensor
PerNode = Any  # one number for all nodes, or an array of shape (M,)


def namespace(array: Array) -> Any:
    """Return the module whose functions take this array: numpy or torch."""
    return np if isinstance(array, np.ndarray | np.generic) else sys.modules["torch"]


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
    wide = _wide(A)
    energy = wide * wide
    for nodes, parents, sums in reversed(_levels(forest, *_kind(wide))):
        if parents is not None:
            energy[:, parents] += energy[:, nodes] @ sums
    return namespace(A).sqrt(energy) @ _per_node(weights, wide)


def forest_max_prox(A: Array, forest: Forest, thresholds: PerNode) -> Array:
    """Prox of the l-infinity forest penalty for every row of A, shape (V, M), by sorting the values of each group."""
    xp = namespace(A)
    t = _wide(_per_node(thresholds, A))
    B = A + 0
    for groups in _equal_groups(forest, *_kind(A)):
        blocks = B[:, groups]  # (V, nodes, size)
        total = xp.cumsum(_wide(_falling(abs(blocks))), -1)
        levels = (total - t[groups[:, 0]][:, None]) / xp.cumsum(xp.ones_like(total), -1)  # if the k largest are cut
        level = _as_like(xp.clip(xp.amax(levels, -1), 0.0, None), A)[..., None]
        B[:, groups] = xp.clip(blocks, -level, level)
    return B


def forest_max_norms(A: Array, forest: Forest, weights: PerNode) -> Array:
    """Weighted sum of the largest magnitudes of all groups of every row, shape (V,), float64."""
    wide = abs(_wide(A))
    w = _per_node(weights, wide)
    total = wide[:, 0] * 0
    for groups in _equal_groups(forest, *_kind(wide)):
        total = total + namespace(A).amax(wide[:, groups], -1) @ w[groups[:, 0]]
    return total


def times_dictionary(X: Array, rows: Array, D: Array) -> Array:
    """``X[rows] @ D``, shape (b, M)."""
    return X.times(rows, D) if isinstance(X, OnDevice) else X[rows] @ D


def add_times_codes(X: Array, rows: Array, A: Array, contexts: tuple[int, int], out: Array) -> None:
    """Add ``X[rows].T @ A`` to the contexts from first to last of ``out``, shape (C, M)."""
    if isinstance(X, OnDevice):
        X.add_transposed(rows, A, out)
        return
    first, last = contexts
    out[first:last] += X[rows][:, first:last].T @ A


def zeros(shape: tuple[int, ...], like: Array, dtype: Any = None) -> Array:
    """Return zeros where ``like`` is, of its type or of ``dtype``, the name of one."""
    if isinstance(like, np.ndarray):
        return np.zeros(shape, dtype=dtype or like.dtype)
    torch = sys.modules["torch"]
    return torch.zeros(shape, dtype=getattr(torch, dtype) if dtype else like.dtype, device=like.device)


def placed(values: Any, like: Array) -> Array:
    """Return values as an array of the library and on the device of ``like``, their type kept."""
    if isinstance(like, np.ndarray):
        return np.asarray(values)
    return sys.modules["torch"].as_tensor(values, device=like.device)


def on_host(values: Array) -> Any:
    """Return an array of either library as one of NumPy."""
    return values.cpu().numpy() if hasattr(values, "cpu") else values


def inner(a: Array, b: Array) -> float:
    """Sum of products of all values of two arrays."""
    return float(np.vdot(a, b)) if isinstance(a, np.ndarray) else float((a * b).sum(dtype=sys.modules["torch"].float64))


def uses(A: Array) -> Array:
    """How many rows of A (V, M) use each column, shape (M,)."""
    return np.count_nonzero(A, axis=0) if isinstance(A, np.ndarray) else (A != 0).sum(0)


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


@lru_cache(maxsize=32)
def _equal_groups(forest: Forest, dtype: Any, device: Any) -> list[Any]:  # noqa: ARG001 one key for both tables
    """Members of the groups of equal depth and size, shape (nodes, size) each, the deepest first."""
    nodes = np.arange(len(forest))
    kinds = sorted({(int(d), int(n)) for d, n in zip(forest.depth, forest.end - nodes, strict=True)}, reverse=True)
    chosen = (nodes[(forest.depth == depth) & (forest.end - nodes == size)] for depth, size in kinds)
    return [
        _put(first[:, None] + np.arange(size), None, device) for first, (_, size) in zip(chosen, kinds, strict=True)
    ]


def _kind(A: Array) -> tuple[Any, Any]:
    """What tables for A have to match: its type, and its device if it is a tensor."""
    return A.dtype, None if isinstance(A, np.ndarray) else A.device


def _put(values: Any, dtype: Any, device: Any) -> Array:
    if device is None:
        return np.asarray(values, dtype=dtype)
    return sys.modules["torch"].as_tensor(np.asarray(values), dtype=dtype, device=device)


def _as_like(values: Any, like: Array) -> Array:
    return values.astype(like.dtype) if isinstance(like, np.ndarray) else values.to(like.dtype)


def _per_node(values: PerNode, like: Array) -> Array:
    """One number per node, (M,), or per row and node, (V, M), of the type and on the device of ``like``, (V, M)."""
    xp = namespace(like)
    dtype, device = _kind(like)
    shape = like.shape if getattr(values, "ndim", 0) == 2 else like.shape[1:]
    if xp is np:
        return np.broadcast_to(np.asarray(values, dtype=dtype), shape)
    return xp.as_tensor(values, dtype=dtype, device=device).expand(shape)


def _falling(A: Array) -> Array:
    return np.flip(np.sort(A, -1), -1) if isinstance(A, np.ndarray) else A.sort(-1, descending=True).values


def _wide(A: Array) -> Array:
    return A.astype(np.float64) if isinstance(A, np.ndarray) else A.double()
