"""The kernels as whole-array operations: the same code runs on NumPy arrays and PyTorch tensors, on any device."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any

import numpy as np

from wordforest.coder.forest import Forest
from wordforest.runtime.threads import Executor

Array = Any  # a NumPy array or a PyTorch tensor
PerNode = Any  # one number for all nodes, or an array of shape (M,)

_TALL = 4096  # rows of a tall matrix that a thread takes at a time
_TALL_DEVICE = 1 << 14  # rows in float64 at a time on a GPU


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
    A = wide(A)
    energy = A * A
    for nodes, parents, sums in reversed(_levels(forest, *_kind(A))):
        if parents is not None:
            energy[:, parents] += energy[:, nodes] @ sums
    return namespace(A).sqrt(energy) @ _per_node(weights, A)


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


def copied(values: Any, like: Array) -> Array:
    """Return a contiguous copy of values, of the library, device and type of ``like``."""
    if isinstance(like, np.ndarray):
        return np.array(values, dtype=like.dtype, order="C")
    return placed(values, like).to(like.dtype, copy=True).contiguous()


def as_type(values: Array, like: Array) -> Array:
    """Return values in the type of ``like``, where ``like`` is; not copied where they are that already."""
    if isinstance(like, np.ndarray):
        return np.ascontiguousarray(values, dtype=like.dtype)
    return placed(values, like).to(like.dtype).contiguous()


def wide(values: Array) -> Array:
    """Return values as float64."""
    return values.astype(np.float64) if isinstance(values, np.ndarray) else values.double()


def on_host(values: Array) -> Any:
    """Return an array of either library as one of NumPy."""
    return values if isinstance(values, np.ndarray) else values.cpu().numpy()


def transposed(columns: Array) -> Array:
    """Return the columns of an array as rows that lie together in memory."""
    return np.ascontiguousarray(columns.T) if isinstance(columns, np.ndarray) else columns.T.contiguous()


def slices(n: int, size: int, like: Array) -> list[slice]:
    """Cut n rows into slices for threads to share; a GPU takes all at once."""
    size = size if isinstance(like, np.ndarray) else max(n, 1)
    return [slice(i, i + size) for i in range(0, n, size)]


def row_products(A: Array, B: Array, *, in_float64: bool = False) -> Array:
    """Inner products of the rows of two arrays, (r, 1)."""
    if isinstance(A, np.ndarray):
        return np.einsum("rm,rm->r", A, B, dtype=np.float64 if in_float64 else None)[:, None]
    product = A * B
    return product.sum(1, keepdim=True, dtype=sys.modules["torch"].float64 if in_float64 else None)


def inner_products(D: Array, B: Array, executor: Executor) -> tuple[Array, float]:
    """Return ``D'D`` (M, M) and ``<D, B>`` of tall matrices (C, M), over slices of rows in their order."""
    if not isinstance(D, np.ndarray):
        return D.T @ D, inner(B, D)
    n = -(-len(D) // _TALL)
    parts = zip(np.array_split(D, n), np.array_split(B, n), strict=True)
    products = list(
        executor.map(lambda part: (part[0].T @ part[0], float(np.einsum("cm,cm->", *part, dtype=np.float64))), parts)
    )
    return np.asarray(sum(DD for DD, _ in products)), sum(cross for _, cross in products)


def gram(rows: Array, executor: Executor) -> Array:
    """Return ``rows' rows``, (M, M), in float64 from slices in their order; of tensors, in their type."""
    if not isinstance(rows, np.ndarray):
        return rows.T @ rows
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for product in executor.map(lambda part: rows[part].T @ rows[part], slices(len(rows), _TALL, rows)):
        total += product
    return total


def wide_gram(rows: Array, executor: Executor) -> Array:
    """Return ``rows' rows``, (M, M), float64, from slices in their order; products of tensors are float64, too."""
    if isinstance(rows, np.ndarray):
        return gram(rows, executor)
    total = 0
    for part in rows.split(_TALL_DEVICE):
        total = total + part.double().T @ part.double()
    return total


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
