"""The narrow waist: the few operations with several implementations. The array handed in picks one.

NumPy arrays go to ``compiled`` (Numba), PyTorch tensors to ``arrays``, or on a GPU to ``fused`` (Triton), which has its
sparse products, too. ``tests/coder/plain.py`` defines what all must return.
No default, check, random number or log line sits below this line.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any

import numpy as np

from wordforest.coder.forest import Forest
from wordforest.runtime.machine import Executor, has_triton

Array = Any  # a NumPy array or a PyTorch tensor
PerNode = Any  # one number for all nodes, or an array of shape (M,)

_ROWS = 1024  # rows of a matrix that are squared at a time
_TALL = 4096  # rows of a tall matrix that a thread takes at a time
_TREES = 4, 128  # nodes of the largest tree: fewer are not worth a kernel of their own, more do not fit into one
_TALL_DEVICE = 1 << 14  # rows in float64 at a time on a GPU


def namespace(array: Array) -> Any:
    """Return the module whose functions take this array: numpy or torch."""
    return np if isinstance(array, np.ndarray | np.generic) else sys.modules["torch"]


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


def pursue(XD: Array, DD: Array, forest: Forest, most: int, *, nonnegative: bool = False, price: float = 0.0) -> Array:
    """Return codes (b, M) with at most ``most`` nodes on, none under a node that is off, greedily.

    Each time the node comes on, with all above it that are off, that promises most for every node that comes on with
    it, ``sum g_i^2 / DD_ii`` with ``g = XD - DD a``; then all coefficients move to their common minimum. Where none may
    be negative, nodes promise only where ``g_i > 0``, and those that end at zero with nothing on below go off for good.

    With a ``price`` only nodes that promise more than it come on, and only if the squared error falls by more than
    ``price`` times by how many more nodes are on then; else they go off again and the next best is tried. The end is
    where none is left.
    """
    if not isinstance(XD, np.ndarray):
        from wordforest.coder.kernels import arrays

        return arrays.pursue(XD, DD, forest, most, nonnegative, price)
    from wordforest.coder.kernels import pursuit

    A = np.zeros_like(XD, order="C")
    DD = np.ascontiguousarray(DD, dtype=XD.dtype)
    pursuit.pursue(np.ascontiguousarray(XD), DD, forest.parent, most, nonnegative, float(price), A)
    return A


def nodes_on(A: Array, forest: Forest) -> Array:
    """Return how many nodes of every row are not zero or have one below them that is not, (V,), whole numbers."""
    on = (A != 0).T
    on = np.ascontiguousarray(on) if isinstance(A, np.ndarray) else on.contiguous()
    for node in range(len(forest) - 1, -1, -1):
        if forest.parent[node] >= 0:
            on[forest.parent[node]] |= on[node]
    return on.sum(0)


def _on_tensors(A: Array, forest: Forest) -> Any:
    """Return the module for tensors: the GPU's own kernels where they can be, else whole-array operations."""
    if not (A.is_cuda and has_triton() and _TREES[0] <= _largest_tree(forest) <= _TREES[1]):
        from wordforest.coder.kernels import arrays

        return arrays
    from wordforest.coder.kernels import fused

    return fused


@lru_cache(maxsize=32)
def _largest_tree(forest: Forest) -> int:
    return int((forest.end[forest.roots] - forest.roots).max())


def _per_node(values: PerNode, forest: Forest, dtype: Any) -> Array:
    out = np.empty(len(forest), dtype=dtype)
    out[:] = values
    return out


def shrunk_squares(U: Array, L: Array, multipliers: Array, executor: Executor) -> tuple[Array, Array]:
    """Return sums over rows of ``s^2`` and ``s^2 / (L + mu)``, ``s = L u / (L + mu)``, (M,) each, float64.

    U is (n, M), L (n, 1), mu (M,). Sums over slices of rows are added up in their order.
    """
    if not isinstance(U, np.ndarray):
        below = (L + multipliers).double()
        squares = (U * L).double().div_(below).square_()
        return squares.sum(0), squares.div_(below).sum(0)
    from wordforest.coder.kernels import compiled

    mu = multipliers.astype(np.float64)

    def summed(part: slice) -> Array:
        sums = np.zeros((2, U.shape[1]))
        compiled.shrunk_squares(U[part], L[part, 0], mu, sums[0], sums[1])
        return sums

    squares, slopes = sum(executor.map(summed, slices(len(U), _TALL, U)))
    return squares, slopes


def move_atoms(AA: Array, products: Array) -> Array:
    """Return how each new atom of a block is made of R and of the old atoms, a row each, (B, 2 B), float64.

    One atom after the other moves to its minimiser and back into the unit ball. ``products`` (2 B, 2 B) are the inner
    products of R and the old atoms, AA (B, B) those of the codes.
    """
    if not isinstance(AA, np.ndarray) and AA.is_cuda and has_triton():
        from wordforest.coder.kernels import fused

        return fused.move_atoms(AA, products)
    from wordforest.coder.kernels import compiled

    return placed(compiled.move_atoms(*(np.ascontiguousarray(on_host(one)) for one in (AA, products))), AA)


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
        from wordforest.coder.kernels import arrays

        return as_type(arrays.tall_product(D, D), D), inner(B, D)
    n = -(-len(D) // _TALL)
    parts = zip(np.array_split(D, n), np.array_split(B, n), strict=True)
    products = list(
        executor.map(lambda part: (part[0].T @ part[0], float(np.einsum("cm,cm->", *part, dtype=np.float64))), parts)
    )
    return np.asarray(sum(DD for DD, _ in products)), sum(cross for _, cross in products)


def block_products(R: Array, D: Array) -> tuple[Array, Array]:
    """Return ``R'R`` and ``R'D`` of a block of columns, (n, B) each: (B, B), float64."""
    if isinstance(R, np.ndarray):
        return wide(R.T @ R), wide(R.T @ D)
    from wordforest.coder.kernels import arrays

    both = arrays.tall_product(R, sys.modules["torch"].cat((R, D), 1))
    return both[:, : R.shape[1]], both[:, R.shape[1] :]


def combined(R: Array, of_R: Array, D: Array, of_D: Array) -> Array:
    """Return ``R of_R + D of_D`` for R and D (n, B)."""
    if isinstance(R, np.ndarray):
        return R @ of_R + D @ of_D
    torch = sys.modules["torch"]
    return torch.cat((R, D), 1) @ torch.cat((of_R, of_D))


def tall_times(tall: Array, square: Array, executor: Executor) -> Array:
    """Return a tall matrix (C, M) times a square one, over slices of rows."""
    if not isinstance(tall, np.ndarray):
        return tall @ square
    out = np.empty_like(tall)
    list(executor.map(lambda part: np.matmul(tall[part], square, out=out[part]), slices(len(tall), _TALL, tall)))
    return out


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


def extreme_eigenvalues(S: Array, least: float) -> tuple[float, float]:
    """Return the smallest and the largest eigenvalue of a symmetric matrix (n, n) without negative ones, in float64.

    Of a tensor bounds, so that none lies outside: the largest is at most 2.5 % too large for n = 520; the smallest is
    about as near where it is above the share ``least`` of the largest, and below that of no use.
    """
    if isinstance(S, np.ndarray):
        eigenvalues = np.linalg.eigvalsh(S)
        return float(eigenvalues[0]), float(eigenvalues[-1])
    from wordforest.coder.kernels import arrays

    return arrays.extreme_eigenvalues(S, least)


def inverse(S: Array) -> Array:
    """Return the inverse of a symmetric matrix (n, n) whose eigenvalues are positive."""
    if isinstance(S, np.ndarray):
        return np.linalg.inv(S)
    from wordforest.coder.kernels import arrays

    return arrays.inverse(S)


def inner(a: Array, b: Array) -> float:
    """Sum of products of all values of two arrays."""
    return float(np.vdot(a, b)) if isinstance(a, np.ndarray) else float((a * b).sum(dtype=sys.modules["torch"].float64))


def uses(A: Array) -> Array:
    """How many rows of A (V, M) use each column, shape (M,)."""
    return np.count_nonzero(A, axis=0) if isinstance(A, np.ndarray) else (A != 0).sum(0)


def density(A: Array) -> float:
    """Return the share of codes that are not zero."""
    return int((A != 0).sum()) / int(np.prod(A.shape))


def row_squares(X: Any) -> Array:
    """``|x_v|^2`` of every row of a CSR matrix or a dense array, shape (V,), float64."""
    squares = np.zeros(X.shape[0])
    is_dense = isinstance(X, np.ndarray)
    with np.errstate(over="ignore"):  # infinity is for the caller to see
        for start in range(0, X.shape[0], _ROWS):
            if is_dense:
                rows = slice(start, start + _ROWS)
                squares[rows] = np.square(X[rows], dtype=np.float64).sum(axis=1)
            else:
                _add_sparse_squares(X, start, squares)
    return squares


def _add_sparse_squares(X: Any, start: int, squares: Array) -> None:
    ends = X.indptr[start : start + _ROWS + 1]
    filled = np.flatnonzero(np.diff(ends))  # reduceat has no notion of an empty row
    if len(filled):
        values = np.square(X.data[ends[0] : ends[-1]], dtype=np.float64)
        squares[start + filled] = np.add.reduceat(values, ends[:-1][filled] - ends[0])
