"""X on a GPU, in PyTorch: sparse by rows and by columns, or a dense tensor; and the sides of a weighted loss there."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordforest.coder import kernels
from wordforest.coder.descent import Quadratic
from wordforest.coder.rows.base import DEVICE_VALUES, Loss, Rows, split_blocks
from wordforest.coder.rows.weighted import Factor, LocalSide, Side
from wordforest.runtime.machine import free_unused, has_triton, out_of_memory

Tensor = Any

_CHUNK_VALUES = 1 << 26  # numbers of gathered rows at a time
_SORTABLE = 1 << 31  # entries that a device can sort


@dataclass(frozen=True, eq=False)
class DeviceCSR:
    """Where rows begin (n + 1,), int64; column indices and values (nnz,)."""

    starts: Tensor
    indices: Tensor
    values: Tensor

    @property
    def parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """All three."""
        return self.starts, self.indices, self.values

    def take(self, rows: Tensor) -> DeviceCSR:
        """Return some rows, in the order given."""
        import torch

        first = self.starts[rows]
        counts = self.starts[rows + 1] - first
        ends = torch.cumsum(counts, 0)
        starts = torch.cat([ends.new_zeros(1), ends])
        taken = torch.arange(int(ends[-1]), device=ends.device)
        taken += torch.repeat_interleave(first - starts[:-1], counts, output_size=len(taken))
        return DeviceCSR(starts, self.indices[taken], self.values[taken])

    def only(self, columns: Tensor, n_columns: int) -> DeviceCSR:
        """Return the entries in some columns, which are numbered anew in the order given."""
        import torch

        place = self.indices.new_zeros((n_columns,))  # one more than the new number; 0: none
        place[columns] = numbers(len(columns), columns).to(place.dtype) + 1
        places = place.index_select(0, self.indices)  # takes 32-bit indices as they are
        kept = places.nonzero()[:, 0]
        return DeviceCSR(torch.searchsorted(kept, self.starts), places[kept] - 1, self.values[kept])

    def between(self, first: int, last: int) -> DeviceCSR:
        """Return the rows from first to last."""
        begin, end = int(self.starts[first]), int(self.starts[last])
        return DeviceCSR(self.starts[first : last + 1] - begin, self.indices[begin:end], self.values[begin:end])

    def transposed(self, n_columns: int) -> DeviceCSR:
        """Return the same entries by columns; those of a column keep the order of the rows."""
        import torch

        columns, order = torch.sort(self.indices, stable=True)
        starts = torch.searchsorted(columns, torch.arange(n_columns + 1, device=columns.device, dtype=columns.dtype))
        rows = numbers(len(self.starts) - 1, columns).to(columns.dtype)
        rows = torch.repeat_interleave(rows, self.starts[1:] - self.starts[:-1], output_size=len(columns))
        return DeviceCSR(starts, rows[order], self.values[order])


class DenseDeviceRows(Rows):
    """A dense PyTorch tensor, on any device."""

    def __init__(self, X: Tensor) -> None:
        self.X, self.shape, self.like = X, (int(X.shape[0]), int(X.shape[1])), X.new_empty(0)

    def times(self, rows: Tensor, D: Tensor) -> Tensor:
        """Return ``X[rows] @ D``, shape (b, M)."""
        return self.X[rows] @ D

    def add_transposed(self, rows: Tensor, A: Tensor, out: Tensor) -> None:
        """Add ``X[rows].T @ A`` to ``out``, shape (C, M)."""
        out += self.X[rows].T @ A

    def _squares(self) -> Tensor:
        return (self.X.double() ** 2).sum(1)

    def row(self, word: int) -> Tensor:
        """Return a row, shape (C,)."""
        return self.X[int(word)]

    def take(self, rows: Any) -> DenseDeviceRows:
        """Return some rows as Rows of their own."""
        return DenseDeviceRows(self.X[kernels.placed(rows, self.like)])


class DeviceRows(Rows):
    """X (V, C) on a device by rows, and by columns as well, so that both products add up in a fixed order."""

    def __init__(self, rows: DeviceCSR, columns: DeviceCSR) -> None:
        self.rows, self.columns = rows, columns
        self.shape = len(rows.starts) - 1, len(columns.starts) - 1
        self.like = rows.values.new_empty(0)

    @classmethod
    def put(cls, X: Any, device: str) -> DeviceRows:
        """Return a SciPy CSR matrix on a device."""
        rows = put_csr(X, device)
        return cls(rows, rows.transposed(X.shape[1]) if X.nnz < _SORTABLE else put_csr(X.tocsc(), device))

    def times(self, rows: Tensor, D: Tensor) -> Tensor:
        """Return ``X[rows] @ D``, shape (b, M)."""
        return rows_times(self.rows, rows, D)

    def add_transposed(self, rows: Tensor, A: Tensor, out: Tensor) -> None:
        """Add ``X[rows].T @ A`` to ``out``, shape (C, M)."""
        self._add(rows, A, out, 0, len(out))

    def _add(self, rows: Tensor, A: Tensor, out: Tensor, first: int, last: int) -> None:
        """Add to the contexts from first to last; if memory is short, to half of them at a time."""
        whole = last - first == self.shape[1]
        try:
            columns = self.columns if whole else self.columns.between(first, last)
            add_product(columns.only(rows, self.shape[0]), A, out[first:last])
            return
        except RuntimeError as error:
            if not out_of_memory(error) or last - first == 1:
                raise
        free_unused()
        middle = (first + last) // 2
        self._add(rows, A, out, first, middle)
        self._add(rows, A, out, middle, last)

    def _squares(self) -> Tensor:
        import torch

        counts = self.rows.starts[1:] - self.rows.starts[:-1]
        return torch.segment_reduce(self.rows.values.double() ** 2, "sum", lengths=counts, initial=0)

    def row(self, word: int) -> Tensor:
        """Return a row as a dense vector, shape (C,)."""
        part = slice(int(self.rows.starts[word]), int(self.rows.starts[word + 1]))
        x = self.rows.values.new_zeros(self.shape[1])
        x[self.rows.indices[part].long()] = self.rows.values[part]
        return x

    def take(self, rows: Any) -> DeviceRows:
        """Return some rows as Rows of their own."""
        taken = self.rows.take(kernels.placed(rows, self.like))
        return DeviceRows(taken, taken.transposed(self.shape[1]))

    def sample(self, rows: Any, loss: Loss) -> tuple[DeviceRows, Loss]:
        """Return some rows as Rows of their own, and the loss over their pairs."""
        if loss.weights is None:
            return self.take(rows), loss
        weights = kernels.as_type(loss.weights, self.like)
        own = DeviceCSR(self.rows.starts, self.rows.indices, weights).take(kernels.placed(rows, self.like))
        return self.take(rows), Loss(own.values, loss.zeros)

    def _sides(self, loss: Loss, n_components: int) -> tuple[Side, Side]:  # noqa: ARG002 of a cluster
        """Return the words' and the contexts' side of a weighted loss."""
        return device_sides(self, loss)


def rows_times(csr: DeviceCSR, rows: Tensor, B: Tensor) -> Tensor:
    """Return chosen rows of a sparse matrix times B, shape (b, M). A row's bits do not depend on the others."""
    if fuses(csr.values, B):
        from wordforest.coder.kernels import fused

        return fused.rows_times(rows, csr.parts, B)
    return product(csr if len(rows) == len(csr.starts) - 1 else csr.take(rows), B)


def add_product(csr: DeviceCSR, B: Tensor, out: Tensor) -> None:
    """Add a sparse matrix times B to ``out``."""
    if fuses(csr.values, B):
        from wordforest.coder.kernels import fused

        fused.rows_times(numbers(len(out), B), csr.parts, B, out=out)
        return
    out += product(csr, B)


def put_csr(X: Any, device: str) -> DeviceCSR:
    """Return the arrays of a SciPy CSR matrix, or of a CSC one, on a device."""
    import torch

    parts = (X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data)
    return DeviceCSR(*(torch.as_tensor(part).to(device) for part in parts))


def fuses(values: Tensor, B: Tensor) -> bool:
    """Whether our own kernel can take these: of one type, on a GPU, with Triton at hand."""
    return bool(values.is_cuda and B.dtype == values.dtype and has_triton())


def numbers(n: int, like: Tensor) -> Tensor:
    """Return 0 .. n - 1, int64."""
    import torch

    return torch.arange(n, device=like.device)


def product(matrix: DeviceCSR, B: Tensor) -> Tensor:
    """Multiply by the library's CSR product."""
    import torch

    starts, indices, values = matrix.parts
    kind = torch.int32 if len(values) < 2**31 else torch.int64
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # CSR tensors are called beta
        csr = torch.sparse_csr_tensor(
            starts.to(kind), indices.to(kind), values, (len(starts) - 1, len(B)), check_invariants=False
        )
    return csr @ B


class DeviceSide(LocalSide):
    """One side: the values of ``excess`` are w - W and of ``target`` w x; ``energy`` is w x^2 of every pair."""

    def __init__(self, excess: DeviceCSR, target: Tensor, energy: Tensor, zeros: float) -> None:
        self.excess, self.target, self.energy, self.zeros = excess, target, energy, zeros

    def __len__(self) -> int:
        return len(self.excess.starts) - 1

    def blocks(self, n_components: int, n_products: int) -> list[Tensor]:  # noqa: ARG002 as of a side on the host
        """Deal rows out to blocks that give the GPU enough to do."""
        return split_blocks(numbers(len(self), self.target), n_components, DEVICE_VALUES)

    def laid_out(self, factor: Factor) -> Factor:
        """Return rows that lie side by side, and the products in their type."""
        return Factor(factor.F.contiguous(), factor.products.to(factor.F.dtype))

    def quadratic(self, rows: Tensor, factor: Factor, n_products: int) -> Quadratic:  # noqa: ARG002
        """Return the forms of some rows."""
        starts, indices, _ = self.excess.parts
        F, common = factor.F, self.zeros * factor.products
        linear = rows_times(DeviceCSR(starts, indices, self.target), rows, F)
        return Quadratic(linear, lambda A: self._sampled(rows, F, A) + A @ common)

    def energies(self) -> Tensor:
        """Return ``sum_c w_c x_c^2`` of every row, (n,)."""
        import torch

        starts = self.excess.starts
        return torch.segment_reduce(self.energy.double(), "sum", lengths=starts[1:] - starts[:-1], initial=0)

    def stored_losses(self, values: Tensor, F: Tensor) -> list[float]:
        """Return the loss over stored pairs in pieces."""
        A, F = values.double(), F.double()
        losses = [float(self.energy.double().sum())]
        for first, last, own in _chunks(self.excess.starts, A.shape[1]):
            p = (A[own] * F[self.excess.indices[first:last].long()]).sum(1)
            excess, target = self.excess.values[first:last].double(), self.target[first:last].double()
            losses.append(float((p * (excess * p - 2 * target)).sum()))
        return losses

    def _sampled(self, rows: Tensor, F: Tensor, A: Tensor) -> Tensor:
        """``sum_c e_c (f_c . a_r) f_c`` of every row."""
        if fuses(self.excess.values, F):
            from wordforest.coder.kernels.fused import sampled_times

            return sampled_times(rows, self.excess.parts, F, A)
        taken = self.excess.take(rows)
        values = taken.values.clone()
        for first, last, own in _chunks(taken.starts, A.shape[1]):
            values[first:last] *= (A[own] * F[taken.indices[first:last].long()]).sum(1)
        return product(DeviceCSR(taken.starts, taken.indices, values), F)


def device_sides(X: DeviceRows, loss: Loss) -> tuple[DeviceSide, DeviceSide]:
    """Return the words' and the contexts' side of X (V, C)."""
    import torch

    values, starts, indices = X.rows.values, X.rows.starts, X.rows.indices
    loss.check(len(values))
    w = torch.ones_like(values) if loss.weights is None else kernels.placed(loss.weights, values).to(values.dtype)
    excess, target = w - loss.zeros, w * values
    energy = target * values
    places = torch.argsort(indices, stable=True)
    words = DeviceSide(DeviceCSR(starts, indices, excess), target, energy, loss.zeros)
    turned = DeviceCSR(X.columns.starts, X.columns.indices, excess[places])
    return words, DeviceSide(turned, target[places], energy[places], loss.zeros)


def _chunks(starts: Tensor, n_components: int) -> Iterator[tuple[int, int, Tensor]]:
    """Yield the pairs of a CSR matrix in chunks: first, last, and the row of every pair between."""
    import torch

    n, size = int(starts[-1]), max(1, _CHUNK_VALUES // n_components)
    for first in range(0, n, size):
        last = min(n, first + size)
        places = torch.arange(first, last, device=starts.device)
        yield first, last, torch.searchsorted(starts, places, right=True) - 1
