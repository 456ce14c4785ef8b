"""X in the memory of this machine, and any matrix as Rows: the only place that looks at the type of X."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.coder.kernels import row_squares
from wordforest.coder.rows.base import Loss, Range, Rows, context_ranges, row_sizes, shard_rows, split_blocks
from wordforest.coder.rows.weighted import Side, host_sides
from wordforest.errors import InputError
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.machine import Executor, Threads

Array = NDArray[Any]
B = TypeVar("B")
R = TypeVar("R")


class HostRows(Rows):
    """A CSR matrix with sorted columns, or a dense array. ``shards`` are found from the data unless they are given."""

    def __init__(self, X: Any, executor: Executor | None = None, shards: list[Range] | None = None) -> None:
        self.X, self.executor = X, executor or Threads()
        self.shape = int(X.shape[0]), int(X.shape[1])
        self.like = np.empty(0, dtype=X.dtype)
        self.is_sparse = not isinstance(X, np.ndarray)
        self._shards = shards

    def times(self, rows: Array, D: Array) -> Array:
        """Return ``X[rows] @ D``, shape (b, M)."""
        if not self.is_sparse:
            return np.asarray(self.X[rows] @ D)
        from wordforest.coder.kernels import compiled

        out = np.empty((len(rows), D.shape[1]), dtype=D.dtype)
        compiled.times_dictionary(self.X.data, self.X.indices, self.X.indptr, rows, D, out)
        return out

    def add_transposed(self, rows: Array, A: Array, out: Array) -> None:
        """Add ``X[rows].T @ A`` to ``out``, shape (C, M), by ranges of contexts."""
        self.add_by_ranges(rows, A, out, self._contexts)

    def add_by_ranges(self, rows: Array, A: Array, out: Array, contexts: list[Range]) -> None:
        """Add ``X[rows].T @ A`` to some ranges of contexts of ``out``."""
        list(self.executor.map(lambda own: self._add_range(rows, A, own, out), contexts))

    def _add_range(self, rows: Array, A: Array, contexts: Range, out: Array) -> None:
        first, last = contexts
        if not self.is_sparse:
            out[first:last] += self.X[rows, first:last].T @ A
            return
        from wordforest.coder.kernels import compiled

        compiled.add_times_codes(self.X.data, self.X.indices, self.X.indptr, rows, A, first, last, out)

    @cached_property
    def _contexts(self) -> list[Range]:
        return context_ranges(self.X)

    def _squares(self) -> Array:
        return np.asarray(row_squares(self.X))

    def row(self, word: int) -> Array:
        """Return a row as a dense vector, shape (C,)."""
        x = self.X[[word]]
        return np.asarray(x.toarray() if self.is_sparse else x).ravel()

    def _sides(self, loss: Loss, n_components: int) -> tuple[Side, Side]:  # noqa: ARG002 of a cluster
        """Return the words' and the contexts' side of a weighted loss; all pairs of a dense X are stored."""
        return host_sides(self.pairs(), loss, self.executor)

    def pairs(self) -> Any:
        """Return X as a CSR matrix; all pairs of a dense X are stored."""
        return as_csr(self.X)

    def sample(self, rows: Array, loss: Loss) -> tuple[HostRows, Loss]:
        """Return some rows as Rows of their own, and the loss over their pairs."""
        if loss.weights is None:
            return self.take(rows), loss
        X = self.pairs()
        weights = sparse.csr_array((np.asarray(loss.weights).ravel(), X.indices, X.indptr), shape=X.shape)[rows]
        return HostRows(X[rows], self.executor), Loss(weights.data, loss.zeros)

    def take(self, rows: Array) -> HostRows:
        """Return some rows as Rows of their own."""
        return HostRows(self.X[rows], self.executor)

    def shards(self, n_components: int) -> list[Range]:
        """Return ranges of rows whose sums are made apart."""
        return shard_rows(row_sizes(self.X), n_components) if self._shards is None else self._shards

    def blocks(self, rows: Array, n_components: int) -> list[Array]:
        """Deal rows out to blocks whose codes stay in a core's cache."""
        return split_blocks(rows, n_components)

    def map(self, function: Callable[[B], R], blocks: Iterable[B]) -> Iterator[R]:
        """Yield ``function(block)`` for every block, in order, by threads."""
        return self.executor.map(function, blocks)


def as_csr(X: Any) -> Any:
    """Return a matrix as a sparse one; of a dense one all pairs are stored, zeros too."""
    if not isinstance(X, np.ndarray):
        return X
    V, C = X.shape
    indices = np.tile(np.arange(C, dtype=np.int32), V)
    starts = np.arange(V + 1, dtype=np.int32 if V * C < 2**31 else np.int64) * C  # SciPy gives indices this type, too
    return sparse.csr_array((X.ravel(), indices, starts), shape=X.shape)


def as_rows(X: Any, executor: Executor | None = None) -> Rows:
    """Return a SciPy sparse matrix, an array or a PyTorch tensor as Rows; Rows as they are.

    Tensors stay on their device; all else becomes floats in this machine's memory, or in that of an ``executor`` that
    is a cluster.
    """
    if isinstance(X, Rows):
        return X
    if type(X).__module__.partition(".")[0] == "torch":
        from wordforest.coder.rows.device import DenseDeviceRows

        return DenseDeviceRows(X)
    X = as_floats(X)
    if isinstance(executor, Cluster):
        from wordforest.coder.rows.cluster import ClusterRows, HeldRows

        return ClusterRows(HeldRows(X), executor)
    return HostRows(X, executor)


def place_rows(X: Any, device: str, n_components: int, executor: Executor | None = None) -> Rows:
    """Return a matrix as Rows on a device: ``cpu``, or ``cuda``, to which it is streamed where it does not fit."""
    if isinstance(X, Rows) or device == "cpu":
        return as_rows(X, executor)
    if isinstance(executor, Cluster):
        raise InputError(f"device = {device}, but a cluster computes on processors. Leave out the one or the other.")
    X = as_floats(X)
    if isinstance(X, np.ndarray):
        import torch

        return as_rows(torch.as_tensor(X, device=device))
    from wordforest.coder.rows.streamed import resident_or_streamed

    return resident_or_streamed(X, device, n_components)


def is_sparse(X: Any) -> bool:
    """Return whether X is a sparse matrix or array of SciPy, of whatever format."""
    return bool(sparse.issparse(X))


def as_floats(X: Any) -> Any:
    """Return X as the kernels want it: floats, dense, or CSR with sorted columns and no position stored twice."""
    if is_sparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InputError(
            f"X is {X.dtype} of shape {X.shape}, but a matrix of numbers is needed, a row a word. Convert it."
        )
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
