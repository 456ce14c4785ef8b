"""Sparse matrices on a device, in PyTorch: what the learner needs of X there. Nothing here imports SciPy or Numba."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordforest.runtime.gpu import free_unused, has_triton, out_of_memory

Tensor = Any

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

        place = self.indices.new_full((n_columns,), -1)
        place[columns] = _numbers(len(columns), columns).to(place.dtype)
        places = place[self.indices]
        kept = (places >= 0).nonzero()[:, 0]
        return DeviceCSR(torch.searchsorted(kept, self.starts), places[kept], self.values[kept])

    def between(self, first: int, last: int) -> DeviceCSR:
        """Return the rows from first to last."""
        begin, end = int(self.starts[first]), int(self.starts[last])
        return DeviceCSR(self.starts[first : last + 1] - begin, self.indices[begin:end], self.values[begin:end])

    def transposed(self, n_columns: int) -> DeviceCSR:
        """Return the same entries by columns; those of a column keep the order of the rows."""
        import torch

        columns, order = torch.sort(self.indices, stable=True)
        starts = torch.searchsorted(columns, torch.arange(n_columns + 1, device=columns.device, dtype=columns.dtype))
        rows = _numbers(len(self.starts) - 1, columns).to(columns.dtype)
        rows = torch.repeat_interleave(rows, self.starts[1:] - self.starts[:-1], output_size=len(columns))
        return DeviceCSR(starts, rows[order], self.values[order])


class OnDevice(ABC):
    """X (V, C) as learning on a device sees it, wherever its entries lie."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """V and C."""

    @property
    @abstractmethod
    def dtype(self) -> Any:
        """The type of the values."""

    @abstractmethod
    def times(self, rows: Tensor, D: Tensor) -> Tensor:
        """Return ``X[rows] @ D``, shape (b, M)."""

    @abstractmethod
    def add_transposed(self, rows: Tensor, A: Tensor, out: Tensor) -> None:
        """Add ``X[rows].T @ A`` to ``out``, shape (C, M)."""

    @abstractmethod
    def squares(self) -> Tensor:
        """Return ``|x_v|^2`` of every row, shape (V,), float64."""

    @abstractmethod
    def row(self, word: int) -> Tensor:
        """Return a row as a dense vector, shape (C,)."""


@dataclass(frozen=True, eq=False)
class DeviceRows(OnDevice):
    """X (V, C) on a device by rows, and by columns as well, so that both products add up in a fixed order."""

    rows: DeviceCSR
    columns: DeviceCSR

    @classmethod
    def put(cls, X: Any, device: str) -> DeviceRows:
        """Return a SciPy CSR matrix on a device."""
        rows = _put(X, device)
        return cls(rows, rows.transposed(X.shape[1]) if X.nnz < _SORTABLE else _put(X.tocsc(), device))

    @property
    def shape(self) -> tuple[int, int]:
        """V and C."""
        return len(self.rows.starts) - 1, len(self.columns.starts) - 1

    @property
    def nnz(self) -> int:
        """How many pairs are stored."""
        return len(self.rows.values)

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return self.rows.values.dtype

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

    def squares(self) -> Tensor:
        """Return ``|x_v|^2`` of every row, shape (V,), float64."""
        import torch

        counts = self.rows.starts[1:] - self.rows.starts[:-1]
        return torch.segment_reduce(self.rows.values.double() ** 2, "sum", lengths=counts, initial=0)

    def row(self, word: int) -> Tensor:
        """Return a row as a dense vector, shape (C,)."""
        part = slice(int(self.rows.starts[word]), int(self.rows.starts[word + 1]))
        x = self.rows.values.new_zeros(self.shape[1])
        x[self.rows.indices[part].long()] = self.rows.values[part]
        return x


def rows_times(csr: DeviceCSR, rows: Tensor, B: Tensor) -> Tensor:
    """Return chosen rows of a sparse matrix times B, shape (b, M). A row's bits do not depend on the others."""
    if _fuses(csr.values, B):
        from wordforest.coder.kernels import fused

        return fused.rows_times(rows, csr.parts, B)
    return _product(csr if len(rows) == len(csr.starts) - 1 else csr.take(rows), B)


def add_product(csr: DeviceCSR, B: Tensor, out: Tensor) -> None:
    """Add a sparse matrix times B to ``out``."""
    if _fuses(csr.values, B):
        from wordforest.coder.kernels import fused

        fused.rows_times(_numbers(len(out), B), csr.parts, B, out=out)
        return
    out += _product(csr, B)


def _put(X: Any, device: str) -> DeviceCSR:
    """Return the arrays of a SciPy CSR matrix, or of a CSC one, on a device."""
    import torch

    parts = (X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data)
    return DeviceCSR(*(torch.as_tensor(part).to(device) for part in parts))


def _fuses(values: Tensor, B: Tensor) -> bool:
    """Whether our own kernel can take these: of one type, on a CUDA card, with Triton at hand."""
    return bool(values.is_cuda and B.dtype == values.dtype and has_triton())


def _numbers(n: int, like: Tensor) -> Tensor:
    """Return 0 .. n - 1, int64."""
    import torch

    return torch.arange(n, device=like.device)


def _product(matrix: DeviceCSR, B: Tensor) -> Tensor:
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
