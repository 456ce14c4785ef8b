"""What a weighted loss looks like to the solver: a quadratic form for every row, whatever the backend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Array = Any  # a NumPy array or a PyTorch tensor


@dataclass(frozen=True, eq=False)
class Quadratic:
    """``a'Ha - 2 b'a`` of a block of rows: ``linear`` is b (r, M), ``times(A)`` is H a for every row, (r, M)."""

    linear: Array
    times: Callable[[Array], Array]

    def plus_ridge(self, ridge: float) -> Quadratic:
        """Return this with ``ridge |a|^2`` added."""
        return Quadratic(self.linear, lambda A: self.times(A) + ridge * A) if ridge else self


@dataclass(frozen=True, eq=False)
class Factor:
    """The rows F (n, M) of the other side, and ``products = F'F`` (M, M)."""

    F: Array
    products: Array
