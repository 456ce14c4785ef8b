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

from wordforest.coder import kernels
from wordforest.errors import InputError

Array = NDArray[Any]


HELD = "held by the rows"  # in place of weights, where the home of X has them


@dataclass(frozen=True, eq=False)
class Loss:
    """``weights`` (nnz,) is w in the order of ``X.data``, 1 if left out, HELD if X has them; ``zeros`` is W."""

    weights: Any = None
    zeros: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.zeros) and self.zeros >= 0):
            raise InputError(f"zeros = {self.zeros}, but the weight of pairs not stored must be a finite number >= 0.")

    @property
    def is_plain(self) -> bool:
        """Whether all pairs count alike, so that XD and DD tell all."""
        return self.weights is None and self.zeros == 1

    @property
    def heaviest(self) -> float:
        """The largest weight, where it is known, at least 1."""
        known = self.weights is not None and self.weights is not HELD
        return float(np.max(kernels.on_host(self.weights), initial=1.0)) if known else 1.0

    def check(self, n_pairs: int) -> None:
        """Refuse weights that do not fit so many stored pairs, or that are negative, infinite or NaN."""
        if self.weights is None or self.weights is HELD:
            return
        weights = kernels.on_host(np.asarray(self.weights) if isinstance(self.weights, list) else self.weights)
        if weights.shape != (n_pairs,):
            raise InputError(
                f"weights have shape {weights.shape}, but X stores {n_pairs} pairs. Give one weight for each."
            )
        low, high = float(np.min(weights, initial=0)), float(np.max(weights, initial=0))
        if not (low >= 0 and np.isfinite(high)):
            raise InputError("a weight is negative, infinite or NaN. Weights of pairs must be finite numbers >= 0.")


class Weighing(Protocol):
    """Makes weights (nnz,) from the values x (nnz,) and the counts n (nnz,) of the stored pairs; None is all 1."""

    def __call__(self, values: Array, counts: Array, mean: float | None = None) -> Array | None:
        """Return the weights; ``mean`` is that of the counts of all pairs, where these are only some."""
        ...


@dataclass(frozen=True)
class Alike:
    """``w = 1``."""

    def __call__(self, values: Array, counts: Array, mean: float | None = None) -> Array | None:  # noqa: ARG002
        """Return None."""
        return None


@dataclass(frozen=True)
class Magnitude:
    """``w = |x|``, the paper's."""

    def __call__(self, values: Array, counts: Array, mean: float | None = None) -> Array | None:  # noqa: ARG002
        """Return magnitudes."""
        return np.asarray(abs(values))


@dataclass(frozen=True)
class CountPower:
    """``w = (n / mean n)^power``: pairs seen often are trusted more."""

    power: float

    def __call__(self, values: Array, counts: Array, mean: float | None = None) -> Array | None:
        """Return powers of counts."""
        if mean is None:
            mean = float(counts.mean(dtype=np.float64)) if len(counts) else 1.0
        return np.asarray((counts / values.dtype.type(mean)) ** values.dtype.type(self.power))


@dataclass(frozen=True)
class CappedPower:
    """``w = min(1, n / most)^power``, as in GloVe (Pennington, Socher and Manning 2014): all alike from ``most`` on."""

    most: float
    power: float

    def __call__(self, values: Array, counts: Array, mean: float | None = None) -> Array | None:  # noqa: ARG002
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
        ("none", 0): Alike,
        ("abs", 0): Magnitude,
        ("count", 1): CountPower,
        ("glove", 2): CappedPower,
    }
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
