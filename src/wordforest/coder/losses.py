"""The family of squared losses, and how much each stored pair counts in it.

    sum over stored (v, c) of w_vc (x_vc - d_c . a_v)^2  +  W sum over unstored (v, c) of (d_c . a_v)^2

With w = 1 and W = 1 this is the paper's first objective, which needs X only through XD and DD; with w = |x| and W = 0
it is what its Algorithm 1 goes down. In between, rare pairs and pairs never seen can be trusted less.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.kernels.entries import weighted_squares
from wordforest.coder.pairs import Pairs
from wordforest.errors import InputError
from wordforest.runtime.threads import Executor

Array = NDArray[Any]

_SLICE = 4096  # rows that a worker takes at a time


@dataclass(frozen=True, eq=False)
class Loss:
    """``weights`` (nnz,) is w in the order of ``X.data``, 1 if left out; ``zeros`` is W."""

    weights: Any = None
    zeros: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.zeros) and self.zeros >= 0):
            raise InputError(f"zeros = {self.zeros}, but the weight of pairs not stored must be a finite number >= 0.")

    @property
    def is_plain(self) -> bool:
        """Whether all pairs count alike, so that XD and DD tell all."""
        return self.weights is None and self.zeros == 1

    def check(self, X: Any) -> None:
        """Refuse weights that do not fit the stored pairs of X, or that are negative, infinite or NaN."""
        if self.weights is None:
            return
        if np.shape(self.weights) != (X.nnz,):
            raise InputError(
                f"weights have shape {np.shape(self.weights)}, but X stores {X.nnz} pairs. Give one weight for each."
            )
        low, high = float(np.min(self.weights, initial=0)), float(np.max(self.weights, initial=0))
        if not (low >= 0 and np.isfinite(high)):
            raise InputError("a weight is negative, infinite or NaN. Weights of pairs must be finite numbers >= 0.")


class Weighing(Protocol):
    """Makes weights (nnz,) from the values x (nnz,) and the counts n (nnz,) of the stored pairs; None is all 1."""

    def __call__(self, values: Array, counts: Array) -> Array | None:
        """Return the weights."""
        ...


@dataclass(frozen=True)
class Alike:
    """``w = 1``."""

    def __call__(self, values: Array, counts: Array) -> Array | None:  # noqa: ARG002 the protocol's signature
        """Return None."""
        return None


@dataclass(frozen=True)
class Magnitude:
    """``w = |x|``, the paper's."""

    def __call__(self, values: Array, counts: Array) -> Array | None:  # noqa: ARG002 the protocol's signature
        """Return magnitudes."""
        return np.asarray(abs(values))


@dataclass(frozen=True)
class CountPower:
    """``w = (n / mean n)^power``: pairs seen often are trusted more."""

    power: float

    def __call__(self, values: Array, counts: Array) -> Array | None:
        """Return powers of counts."""
        mean = counts.mean(dtype=np.float64) if len(counts) else 1.0
        return np.asarray((counts / values.dtype.type(mean)) ** values.dtype.type(self.power))


@dataclass(frozen=True)
class CappedPower:
    """``w = min(1, n / most)^power``, as in GloVe (Pennington, Socher and Manning 2014): all alike from ``most`` on."""

    most: float
    power: float

    def __call__(self, values: Array, counts: Array) -> Array | None:
        """Return capped powers of counts."""
        kind = values.dtype.type
        return np.asarray(np.minimum(counts / kind(self.most), kind(1)) ** kind(self.power))


def weighing(text: str) -> Weighing:
    """Return what ``none``, ``abs``, ``count:P`` or ``glove:X,P`` stands for.

    >>> weighing("glove:100,0.75")
    CappedPower(most=100.0, power=0.75)
    """
    name, _, rest = text.partition(":")
    makers: dict[tuple[str, int], Callable[..., Weighing]] = {
        ("none", 0): Alike, ("abs", 0): Magnitude, ("count", 1): CountPower, ("glove", 2): CappedPower,
    }  # fmt: skip
    try:
        numbers = [float(part) for part in rest.split(",")] if rest else []
    except ValueError:
        numbers = []
    positive = all(np.isfinite(number) and number > 0 for number in numbers)
    if (name, len(numbers)) not in makers or not positive:
        raise InputError(
            f"weights = {text!r}, but it must be none, abs, count:P or glove:X,P with positive numbers, as in "
            "count:0.25 or glove:100,0.75."
        )
    return makers[name, len(numbers)](*numbers)


def weighted_loss(pairs: Pairs, zeros: float, D: Array, A: Array, executor: Executor) -> float:
    """Return the loss over all pairs, D (C, M) and A (V, M), in float64; sums run in a fixed order."""

    def stored(chosen: slice) -> float:
        return weighted_squares(pairs.part(chosen), zeros, A, D)

    return sum(executor.map(stored, pairs.slices())) + unstored_loss(zeros, D, A, executor)


def unstored_loss(zeros: float, D: Array, A: Array, executor: Executor) -> float:
    """Return ``W |A D'|^2`` over all pairs, of which the stored ones take their share back."""
    return zeros * float(np.vdot(gram(A, executor), gram(D, executor))) if zeros > 0 else 0.0


def gram(rows: Array, executor: Executor) -> Array:
    """Return ``rows' rows``, (M, M), float64, from slices in their order."""
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for product in executor.map(lambda part: rows[part].T @ rows[part], slices(len(rows))):
        total += product
    return total


def slices(n: int) -> list[slice]:
    """Cut n rows into slices that do not depend on the workers."""
    return [slice(i, i + _SLICE) for i in range(0, n, _SLICE)]
