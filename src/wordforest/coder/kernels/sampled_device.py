"""Rows of stored pairs with weights on a device, in PyTorch: the device's writing of ``coder.sides``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from wordforest.coder.kernels.device import DeviceCSR, DeviceRows, _fuses, _product
from wordforest.coder.kernels.forms import Factor, Quadratic

Tensor = Any

_BLOCK_VALUES = 1 << 27  # numbers in a block of codes: half a gigabyte in float32
_CHUNK_VALUES = 1 << 26  # numbers of gathered rows at a time


@dataclass(frozen=True, eq=False)
class DeviceSide:
    """One side on a device: the values of ``pairs`` are w - W, ``target`` is w x, ``energy`` the sum of w x^2."""

    pairs: DeviceCSR
    target: Tensor
    zeros: float
    energy: float

    def __len__(self) -> int:
        return len(self.pairs.starts) - 1

    def block_values(self, n_components: int, n_products: int) -> int:  # noqa: ARG002 as of a side on the host
        """Return how many values of codes a block should have, so that the device has enough to do."""
        return _BLOCK_VALUES

    def factor(self, F: Tensor, products: Tensor) -> Factor:
        """Prepare the other side's rows for a half of a pass."""
        return Factor(F.contiguous(), products.to(F.dtype))

    def quadratic(self, rows: Tensor, factor: Factor, n_products: int) -> Quadratic:  # noqa: ARG002
        """Return the forms of some rows."""
        starts, indices, _ = self.pairs.parts
        F, common = factor.F, self.zeros * factor.products
        linear = _times(DeviceCSR(starts, indices, self.target), rows, F)
        return Quadratic(linear, lambda A: self._sampled(rows, F, A) + A @ common)

    def true_loss(self, D: Tensor, A: Tensor) -> float:
        """Return the loss over all pairs in float64; this is the words' side, D (C, M) and A (V, M)."""
        D, A = D.double(), A.double()
        total = self.energy + self.zeros * float(((A.T @ A) * (D.T @ D)).sum())
        for first, last, words in _chunks(self.pairs.starts, A.shape[1]):
            contexts = self.pairs.indices[first:last].long()
            p = (A[words] * D[contexts]).sum(1)
            excess, target = self.pairs.values[first:last].double(), self.target[first:last].double()
            total += float((p * (excess * p - 2 * target)).sum())
        return total

    def _sampled(self, rows: Tensor, F: Tensor, A: Tensor) -> Tensor:
        """``sum_c e_c (f_c . a_r) f_c`` of every row."""
        if _fuses(self.pairs.values, F):
            from wordforest.coder.kernels.fused_sampled import sampled_times

            return sampled_times(rows, self.pairs.parts, F, A)
        taken = self.pairs.take(rows)
        values = taken.values.clone()
        for first, last, own in _chunks(taken.starts, A.shape[1]):
            values[first:last] *= (A[own] * F[taken.indices[first:last].long()]).sum(1)
        return _product(DeviceCSR(taken.starts, taken.indices, values), F)


def device_sides(X: DeviceRows, weights: Any, zeros: float) -> tuple[DeviceSide, DeviceSide]:
    """Return the words' and the contexts' side of X (V, C); ``weights`` (nnz,) are in the order of its rows."""
    import torch

    values = X.rows.values
    w = torch.ones_like(values) if weights is None else torch.as_tensor(weights).to(values)
    excess, target = w - zeros, w * values
    energy = float((target.double() * values.double()).sum())
    places = torch.argsort(X.rows.indices, stable=True)
    words = DeviceSide(DeviceCSR(X.rows.starts, X.rows.indices, excess), target, zeros, energy)
    turned = DeviceCSR(X.columns.starts, X.columns.indices, excess[places])
    return words, DeviceSide(turned, target[places], zeros, energy)


def _times(matrix: DeviceCSR, rows: Tensor, F: Tensor) -> Tensor:
    """Some rows of a matrix times F."""
    if _fuses(matrix.values, F):
        from wordforest.coder.kernels.fused import rows_times

        return rows_times(rows, matrix.parts, F)
    return _product(matrix.take(rows), F)


def _chunks(starts: Tensor, n_components: int) -> Iterator[tuple[int, int, Tensor]]:
    """Yield the pairs of a CSR matrix in chunks: first, last, and the row of every pair between."""
    import torch

    n, size = int(starts[-1]), max(1, _CHUNK_VALUES // n_components)
    for first in range(0, n, size):
        last = min(n, first + size)
        places = torch.arange(first, last, device=starts.device)
        yield first, last, torch.searchsorted(starts, places, right=True) - 1
