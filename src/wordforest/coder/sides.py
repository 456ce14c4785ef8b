"""Rows of stored pairs with weights, seen from the words or from the contexts: the quadratic forms of a weighted loss.

With the other side's rows f_c, a row with values x, weights w and W for all pairs that are not stored costs

    a' H a - 2 b'a + sum_c w_c x_c^2,      H = W F'F + sum_c (w_c - W) f_c f_c',      b = sum_c w_c x_c f_c

where sums run over the stored pairs, so unstored ones cost nothing but the one product F'F.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wordforest.coder import kernels
from wordforest.coder.encode import BLOCK_VALUES
from wordforest.coder.kernels.forms import Factor, Quadratic
from wordforest.coder.losses import Loss

Array = Any  # a NumPy array or a PyTorch tensor

_LANES = 16  # numbers in a vector register: rows are filled up to a multiple
_GRAM_VALUES = 1 << 21  # numbers in the matrices H of a block: 8 megabytes in float32
_GRAMS_PAY = 8.0  # H is built if M is at most so many times the products taken with it


@dataclass(frozen=True, eq=False)
class Side:
    """CSR arrays of one side in memory: ``excess`` is w - W and ``target`` w x of every stored pair."""

    starts: Array
    indices: Array
    excess: Array
    target: Array
    zeros: float

    def __len__(self) -> int:
        return len(self.starts) - 1

    def block_values(self, n_components: int, n_products: int) -> int:
        """Return how many values of codes a block should have, so that it stays in a core's cache."""
        by_grams = self._by_grams(n_components, n_products)
        return max(1, _GRAM_VALUES // _wide(n_components)) if by_grams else BLOCK_VALUES

    def _by_grams(self, n_components: int, n_products: int) -> bool:
        """Whether building H, M^2 a pair, is cheaper than visiting the pairs for every product."""
        return n_components <= _GRAMS_PAY * n_products

    def factor(self, F: Array, products: Array) -> Factor:
        """Prepare the other side's rows for a half of a pass."""
        padded = np.zeros((len(F), _wide(F.shape[1])), dtype=F.dtype)
        padded[:, : F.shape[1]] = F
        return Factor(padded, np.asarray(products, dtype=F.dtype))

    def quadratic(self, rows: Array, factor: Factor, n_products: int) -> Quadratic:
        """Return the forms of some rows, in the way that costs less for so many products."""
        from wordforest.coder.kernels import compiled, sampled

        M = len(factor.products)
        linear = np.empty((len(rows), factor.F.shape[1]), dtype=factor.F.dtype)
        compiled.times_dictionary(self.target, self.indices, self.starts, rows, factor.F, linear)
        common = self.zeros * factor.products
        pairs = (self.starts, self.indices, self.excess, rows, factor.F)
        if not self._by_grams(M, n_products):

            def visiting(A: Array) -> Array:
                wide = _padded(A, factor.F.shape[1])
                out = np.empty_like(wide)
                sampled.sampled_times(*pairs, wide, out)
                return out[:, :M] + A @ common

            return Quadratic(linear[:, :M], visiting)
        n = factor.F.shape[1]
        H = np.zeros((len(rows), n, n), dtype=factor.F.dtype)
        H[:, :M, :M] = common
        sampled.row_grams(*pairs, H)

        def multiplying(A: Array) -> Array:
            wide = _padded(A, n)
            out = np.empty_like(wide)
            sampled.grams_times(H, wide, out)
            return out[:, :M]

        return Quadratic(linear[:, :M], multiplying)


def host_sides(X: Any, loss: Loss) -> tuple[Side, Side]:
    """Return the words' and the contexts' side of a CSR matrix X (V, C) with sorted columns."""
    weights = np.ones(X.nnz, dtype=X.dtype) if loss.weights is None else np.asarray(loss.weights, dtype=X.dtype)
    excess, target = weights - X.dtype.type(loss.zeros), weights * X.data
    words = Side(X.indptr, X.indices, excess, target, loss.zeros)
    places = type(X)((np.arange(X.nnz), X.indices, X.indptr), shape=X.shape).tocsc()
    contexts = Side(places.indptr, places.indices, excess[places.data], target[places.data], loss.zeros)
    return words, contexts


def sides_of(X: Any, loss: Loss) -> tuple[Any, Any]:
    """Return both sides where X is."""
    if isinstance(X, kernels.DeviceRows):
        from wordforest.coder.kernels.sampled_device import device_sides

        return device_sides(X, loss.weights, loss.zeros)
    return host_sides(X, loss)


def _wide(n_components: int) -> int:
    return -(-n_components // _LANES) * _LANES


def _padded(A: Array, width: int) -> Array:
    """Return the rows with zeros behind them, so that loops over them have no rest."""
    wide = np.zeros((len(A), width), dtype=A.dtype)
    wide[:, : A.shape[1]] = A
    return wide
