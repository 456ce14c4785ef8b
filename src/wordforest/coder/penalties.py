"""Omega: small objects with a value and a prox, combined freely with every solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from wordforest.coder import kernels
from wordforest.coder.forest import Forest
from wordforest.coder.kernels import namespace
from wordforest.errors import InputError

Array = Any  # a NumPy array or a PyTorch tensor


class Penalty(Protocol):
    """``lam * Omega`` over the rows of A, shape (V, M)."""

    @property
    def lam(self) -> float:
        """The weight of the penalty."""
        ...

    def per_word(self, A: Array) -> Array:
        """Return ``lam * Omega(a_v)`` of every row, shape (V,), float64."""
        ...

    def prox(self, A: Array, step: float) -> Array:
        """Return ``argmin_B |B - A|^2 / 2 + step * lam * Omega(B)``, shape (V, M); A is left alone."""
        ...


@dataclass(frozen=True)
class ForestL2:
    """The paper's penalty: ``Omega(a) = sum over nodes i of | a_i and all its descendants |_2``.

    A node is non-zero only if its parent is.
    """

    forest: Forest
    lam: float

    def __post_init__(self) -> None:
        _check_lam(self.lam)

    def per_word(self, A: Array) -> Array:
        """Return ``lam * Omega(a_v)`` of every row, shape (V,), float64."""
        return self.lam * kernels.forest_norms(A, self.forest)

    def prox(self, A: Array, step: float) -> Array:
        """Return the exact prox: block thresholding of every group, leaves before roots."""
        return kernels.forest_prox(A, self.forest, step * self.lam)


@dataclass(frozen=True)
class L1:
    """The lasso, ``Omega(a) = sum |a_i|``: the paper's SC, and the forest penalty of single nodes."""

    lam: float

    def __post_init__(self) -> None:
        _check_lam(self.lam)

    def per_word(self, A: Array) -> Array:
        """Return ``lam * |a_v|_1`` of every row, shape (V,), float64."""
        return self.lam * _wide(abs(A)).sum(1)

    def prox(self, A: Array, step: float) -> Array:
        """Return soft thresholding."""
        xp = namespace(A)
        return A - xp.clip(A, -step * self.lam, step * self.lam)


@dataclass(frozen=True)
class NonNegativeL1:
    """The lasso over non-negative codes (Murphy et al. 2012); the value is infinite where a code is negative."""

    lam: float

    def __post_init__(self) -> None:
        _check_lam(self.lam)

    def per_word(self, A: Array) -> Array:
        """Return ``lam * sum a_v`` of every row, shape (V,), float64; infinity for a row with a negative entry."""
        sums = self.lam * _wide(A).sum(1)
        sums[(A < 0).any(1)] = np.inf
        return sums

    def prox(self, A: Array, step: float) -> Array:
        """Return ``max(A - step * lam, 0)``."""
        return namespace(A).clip(A - step * self.lam, 0, None)


@dataclass(frozen=True)
class NoPenalty:
    """Plain least squares."""

    lam: float = 0.0

    def per_word(self, A: Array) -> Array:
        """Return zeros, shape (V,)."""
        return _wide(A[:, 0] * 0)

    def prox(self, A: Array, step: float) -> Array:  # noqa: ARG002 the protocol's signature
        """Return A."""
        return A


def _wide(A: Array) -> Array:
    return A.astype(np.float64) if isinstance(A, np.ndarray) else A.double()


def _check_lam(lam: float) -> None:
    if not (np.isfinite(lam) and lam >= 0):
        raise InputError(f"lam = {lam}, but the penalty weight must be a finite number >= 0. The paper uses 0.1.")
