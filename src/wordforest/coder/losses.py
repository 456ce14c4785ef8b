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

from wordforest.errors import InputError

Array = NDArray[Any]


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
