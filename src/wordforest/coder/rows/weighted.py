"""Rows of stored pairs with weights, seen from the words or from the contexts: the quadratic forms of a weighted loss.

With the other side's rows f_c, a row with values x, weights w and W for all pairs that are not stored costs

    a' H a - 2 b'a + sum_c w_c x_c^2,      H = W F'F + sum_c (w_c - W) f_c f_c',      b = sum_c w_c x_c f_c

where sums run over the stored pairs, so unstored ones cost nothing but the one product F'F.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordforest.coder import kernels
from wordforest.coder.certificate import residual_gaps
from wordforest.coder.descent import Quadratic, conjugate, descend
from wordforest.coder.kernels.entries import weighted_squares
from wordforest.coder.kernels.halves import packed, rounded
from wordforest.coder.penalties import Penalty
from wordforest.coder.rows.base import BLOCK_VALUES, Loss, Range, equal_ranges, shard_rows, split_blocks
from wordforest.coder.rows.pairs import Pairs
from wordforest.errors import InputError
from wordforest.runtime.cluster import Sized
from wordforest.runtime.machine import Executor, Threads

Array = Any  # a NumPy array or a PyTorch tensor

_LANES = 16  # numbers in a vector register: rows are filled up to a multiple
_GRAM_VALUES = 1 << 21  # numbers in the matrices H of a block: 8 megabytes in float32
_GRAMS_PAY = 8.0  # H is built if M is at most so many times the products taken with it
_EASE = 0.9  # of the curvatures that the pass before has found: the other side has moved since
_AHEAD = 3  # steps without the penalty, before codes are improved to the end
_HEADROOM = 100.0  # of products of a few squares


@dataclass(frozen=True, eq=False)
class Factor(Sized):
    """The rows F (n, M) of the other side, and ``products = F'F`` (M, M).

    ``halves``: their numbers fit into 16 bits, and are read so by a processor.
    """

    F: Array
    products: Array
    halves: bool = False

    @classmethod
    def of(cls, F: Array, executor: Executor, *, rough: bool = False) -> Factor:
        """Return rows with their products; if ``rough``, float32 of a processor rounded to 16 bits, to be quick."""
        halves = rough and isinstance(F, np.ndarray) and F.dtype == np.float32
        F = rounded(F) if halves else F
        return cls(F, kernels.gram(F, executor), halves)


class Side(ABC):
    """The words, or the contexts, of a weighted loss, wherever X is."""

    @abstractmethod
    def improve(
        self, values: Array, curvatures: Array, factor: Factor, penalty: Penalty, n_iter: int, tol: float
    ) -> None:
        """Take steps on all rows, ``values`` (n, M), in place, with the curvatures (n,) known so far.

        Proximal steps, or those of conjugate gradients where there is no penalty. With ``tol``, to the end: until no
        row of a block moves by more than this share of its length.
        """

    @abstractmethod
    def form(self, factor: Factor) -> Quadratic:
        """Return the quadratic form of all rows together."""

    @abstractmethod
    def stored_losses(self, values: Array, F: Array) -> list[float]:
        """Return ``sum w (x - p)^2 - W p^2`` over stored pairs, p = a.f, in float64, in pieces that add up in order."""

    @abstractmethod
    def row_losses(self, values: Array, factor: Factor) -> Array:
        """Return the loss of every row, (n,)."""

    @abstractmethod
    def gap(self, values: Array, factor: Factor, penalty: Penalty) -> float:
        """Return the worst bound over the rows on ``(objective - best objective) / sum w x^2``."""


class LocalSide(Side):
    """A side whose pairs this process has: improved block by block."""

    executor: Executor = Threads(1)
    zeros: float

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def blocks(self, n_components: int, n_products: int) -> list[Array]:
        """Deal all rows out to blocks that depend on the data and M alone."""

    @abstractmethod
    def laid_out(self, factor: Factor) -> Factor:
        """Return the other side's rows as ``quadratic`` wants them."""

    @abstractmethod
    def quadratic(self, rows: Array, factor: Factor, n_products: int) -> Quadratic:
        """Return the forms of some rows."""

    @abstractmethod
    def energies(self) -> Array:
        """Return ``sum_c w_c x_c^2`` of every row, (n,)."""

    def improve(
        self, values: Array, curvatures: Array, factor: Factor, penalty: Penalty, n_iter: int, tol: float
    ) -> None:
        """Take steps on all rows in place."""
        factor, n_products = self.laid_out(factor), n_iter + 2
        free = penalty.lam == 0 and not penalty.nonnegative
        scales = factor.products.diagonal()
        scales = scales + (scales <= 0)

        def solve(block: Array) -> None:
            form = self.quadratic(block, factor, n_products)
            A = values[block]
            if free:
                values[block], _ = conjugate(form, A, form.times(A), scales, n_iter, tol)
                return
            ahead = (scales, _AHEAD) if tol and not penalty.nonnegative else None
            found = descend(form, penalty, A, curvatures[block] * _EASE, n_iter, tol, ahead)
            values[block], curvatures[block] = found

        list(self.executor.map(solve, self.blocks(values.shape[1], n_products)))

    def form(self, factor: Factor) -> Quadratic:
        """Return the quadratic form of all rows together."""
        M = factor.F.shape[1]
        factor, blocks = self.laid_out(factor), self.blocks(M, 1)
        forms = list(self.executor.map(lambda rows: self.quadratic(rows, factor, 1), blocks))
        linear = kernels.zeros((len(self), M), factor.F)
        for rows, form in zip(blocks, forms, strict=True):
            linear[rows] = form.linear

        def times(values: Array) -> Array:
            out = values * 0

            def multiply(block: tuple[Array, Quadratic]) -> None:
                out[block[0]] = block[1].times(values[block[0]])

            list(self.executor.map(multiply, zip(blocks, forms, strict=True)))
            return out

        return Quadratic(linear, times)

    def row_losses(self, values: Array, factor: Factor) -> Array:
        """Return the loss of every row, (n,)."""
        form = self.form(factor)
        return kernels.row_products(values, form.times(values) - 2 * form.linear)[:, 0] + self.energies()

    def gap(self, values: Array, factor: Factor, penalty: Penalty) -> float:
        """Return the worst relative duality gap."""
        factor, energies = self.laid_out(factor), kernels.wide(self.energies())

        def worst(block: Array) -> float:
            form, A = self.quadratic(block, factor, 1), values[block]
            left = kernels.wide(form.linear - form.times(A))
            own = energies[block]
            gaps = residual_gaps(kernels.wide(A), kernels.wide(form.linear), left, own, penalty)
            return float((gaps / kernels.namespace(own).where(own > 0, own, 1.0)).max())

        return max(self.executor.map(worst, self.blocks(values.shape[1], 1)), default=0.0)


class HostSide(LocalSide):
    """CSR arrays of one side in memory."""

    given_shards: list[Range] | None = None  # of a part on a worker

    def __init__(self, pairs: Pairs, zeros: float, executor: Executor) -> None:
        self.pairs, self.zeros, self.executor = pairs, zeros, executor
        assert pairs.weights is not None  # noqa: S101 made so below
        self.weights = pairs.weights

    def __len__(self) -> int:
        return len(self.pairs.indptr) - 1

    def shards(self, n_components: int) -> list[Range]:
        """Return ranges of rows that a worker of a cluster has all of, or nothing."""
        return shard_rows(np.diff(self.pairs.indptr), n_components) if self.given_shards is None else self.given_shards

    def blocks(self, n_components: int, n_products: int) -> list[Array]:
        """Deal rows out to blocks that stay in a core's cache."""
        by_grams = builds_forms(n_components, n_products)
        size = max(1, _GRAM_VALUES // _padded_width(n_components)) if by_grams else BLOCK_VALUES
        rows = np.arange(len(self))
        shards = self.shards(n_components)
        return [block for shard in shards for block in split_blocks(rows[slice(*shard)], n_components, size)]

    def laid_out(self, factor: Factor) -> Factor:
        """Return the rows padded, and the products in their type."""
        F, halves = factor.F, factor.halves
        rows = _padded(packed(F) if halves else F, _padded_width(F.shape[1]))
        return Factor(rows, np.asarray(factor.products, dtype=F.dtype), halves)

    def quadratic(self, rows: Array, factor: Factor, n_products: int) -> Quadratic:
        """Return the forms of some rows, in the way that costs less for so many products."""
        from wordforest.coder.kernels import compiled

        starts, indices = self.pairs.indptr, self.pairs.indices
        M, width = len(factor.products), factor.F.shape[1]
        linear = np.empty((len(rows), width), dtype=factor.products.dtype)
        compiled.weighted_times(starts, indices, self.weights, self.pairs.data, rows, factor.F, linear)
        common = self.zeros * factor.products
        stored = (starts, indices, self.weights, float(self.zeros), rows, factor.F)
        if factor.halves or not builds_forms(M, n_products):

            def visiting(A: Array) -> Array:
                wide = _padded(A, width)
                out = np.empty_like(wide)
                compiled.sampled_times(*stored, wide, out)
                return out[:, :M] + A @ common

            return Quadratic(linear[:, :M], visiting)
        H = np.zeros((len(rows), width, width), dtype=linear.dtype)
        H[:, :M, :M] = common
        compiled.row_grams(*stored, H)

        def multiplying(A: Array) -> Array:
            wide = _padded(A, width)
            out = np.empty_like(wide)
            compiled.grams_times(H, wide, out)
            return out[:, :M]

        return Quadratic(linear[:, :M], multiplying)

    def energies(self) -> Array:
        """Return ``sum_c w_c x_c^2`` of every row, (n,)."""
        from wordforest.coder.kernels import compiled

        out = np.empty(len(self))
        compiled.row_energies(self.pairs.indptr, self.weights, self.pairs.data, out)
        return out

    def stored_losses(self, values: Array, F: Array) -> list[float]:
        """Return the loss over stored pairs in pieces."""
        starts = self.pairs.indptr
        ranges = [(int(starts[first]), int(starts[last])) for first, last in self.shards(F.shape[1])]

        def stored(chosen: slice) -> float:
            return float(weighted_squares(self.pairs.part(chosen), self.zeros, values, F))

        return list(self.executor.map(stored, (part for own in ranges for part in self.pairs.slices(*own))))


def host_sides(X: Any, loss: Loss, executor: Executor) -> tuple[HostSide, HostSide]:
    """Return the words' and the contexts' side of a CSR matrix X (V, C) with sorted columns."""
    loss.check(X.nnz)
    weights = np.ones(X.nnz, dtype=X.dtype) if loss.weights is None else np.asarray(loss.weights, dtype=X.dtype)
    words = Pairs(X.data, X.indices, X.indptr, weights, X.shape, X.dtype)
    return HostSide(words, loss.zeros, executor), HostSide(_transposed(words, executor), loss.zeros, executor)


def _transposed(pairs: Pairs, executor: Executor) -> Pairs:
    """Return pairs context by context; a thread has a range of the contexts."""
    from wordforest.coder.kernels import compiled

    (V, C), n = pairs.shape, len(pairs)
    sizes = np.bincount(pairs.indices, minlength=C)
    starts = np.concatenate(([0], np.cumsum(sizes))).astype(pairs.indptr.dtype)
    out = np.empty(n, pairs.data.dtype), np.empty(n, pairs.data.dtype), np.empty(n, np.int32)
    given = pairs.data, np.asarray(pairs.weights), pairs.indices, pairs.indptr
    ranges = equal_ranges(sizes, executor.n_workers)
    list(executor.map(lambda own: compiled.transpose(*given, own[0], own[1], starts, out), ranges))
    data, weights, words = out
    return Pairs(data, words, starts, weights, (C, V), pairs.dtype)


def check_range(squares: Array, heaviest: float, dtype: np.dtype[Any]) -> None:
    """Refuse rows whose weighted squares are beyond their type: steps on them would stop at zero without a word."""
    largest = np.finfo(dtype).max / _HEADROOM
    beyond = np.flatnonzero(kernels.on_host(squares) > largest / max(heaviest, 1.0))
    if len(beyond):
        raise InputError(f"row {beyond[0]} of X holds values too large to square and weigh. Scale the data.")


def builds_forms(n_components: int, n_products: int) -> bool:
    """Whether building H, M^2 a pair, is cheaper than visiting the pairs for every product."""
    return n_components <= _GRAMS_PAY * n_products


def _padded_width(n_components: int) -> int:
    return -(-n_components // _LANES) * _LANES


def _padded(A: Array, width: int) -> Array:
    """Return the rows with zeros behind them, so that loops over them have no rest."""
    wide = np.zeros((len(A), width), dtype=A.dtype)
    wide[:, : A.shape[1]] = A
    return wide
