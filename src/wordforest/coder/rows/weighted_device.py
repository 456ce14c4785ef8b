"""The sides of a weighted loss on a GPU, in PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wordforest.coder import kernels
from wordforest.coder.descent import Quadratic
from wordforest.coder.rows.base import DEVICE_VALUES, Loss, split_blocks
from wordforest.coder.rows.device import DeviceCSR, DeviceRows, fuses, numbers, product, rows_times
from wordforest.coder.rows.weighted import Factor, LocalSide

Tensor = Any

_CHUNK_VALUES = 1 << 26  # numbers of gathered rows at a time


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
