"""Sparse matrices on a device, in PyTorch: what the learner needs of X there. Nothing here imports SciPy or Numba."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from wordforest.errors import InputError, MissingExtraError

Tensor = Any


def check_device(device: str) -> None:
    """Refuse a device that is not there."""
    if device not in ("cpu", "cuda"):
        raise InputError(f"device = {device!r}, but it must be cpu or cuda.")
    if device == "cpu":
        return
    try:
        import torch
    except ImportError:
        raise MissingExtraError("the device cuda", "gpu") from None
    if not torch.cuda.is_available():
        raise InputError("device = 'cuda', but PyTorch sees no CUDA card. Use the device cpu.")


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


@dataclass(frozen=True, eq=False)
class DeviceRows:
    """X (V, C) on a device by rows, and by columns as well, so that both products add up in a fixed order."""

    rows: DeviceCSR
    columns: DeviceCSR

    @classmethod
    def put(cls, X: Any, device: str) -> DeviceRows:
        """Return a SciPy CSR matrix on a device."""
        import torch

        def put(half: Any) -> DeviceCSR:
            parts = (half.indptr.astype(np.int64), half.indices.astype(np.int32, copy=False), half.data)
            return DeviceCSR(*(torch.as_tensor(part).to(device) for part in parts))

        return cls(put(X), put(X.tocsc()))

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
        if _fuses(self.rows.values, D):
            from wordforest.coder.kernels.fused import rows_times

            return rows_times(rows, self.rows.parts, D)
        return _product(self.rows if len(rows) == self.shape[0] else self.rows.take(rows), D)

    def add_transposed(self, rows: Tensor, A: Tensor, out: Tensor) -> None:
        """Add ``X[rows].T @ A`` to ``out``, shape (C, M)."""
        if _fuses(self.columns.values, A):
            from wordforest.coder.kernels.fused import rows_times

            rows_times(_numbers(len(out), rows), self.columns.only(rows, self.shape[0]).parts, A, out=out)
            return
        whole = A.new_zeros((self.shape[0], A.shape[1]))
        whole[rows] = A
        out += _product(self.columns, whole)

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


def _fuses(values: Tensor, B: Tensor) -> bool:
    """Whether our own kernel can take these: float32 on a CUDA card, with Triton at hand."""
    import torch

    return bool(values.is_cuda and B.dtype == values.dtype == torch.float32 and find_spec("triton"))


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
