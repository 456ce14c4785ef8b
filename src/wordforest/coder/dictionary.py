"""The dictionary for fixed codes, from the statistics AA and XA alone: block coordinate descent over its atoms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wordforest.coder import kernels

Array = Any  # a NumPy array or a PyTorch tensor


@dataclass(frozen=True, eq=False)
class CodeStats:
    """All that the dictionary needs of data and codes: ``AA = A'A`` (M, M) and ``XA = X'A`` (C, M). Parts add."""

    AA: Array
    XA: Array

    def __add__(self, other: CodeStats) -> CodeStats:
        return CodeStats(self.AA + other.AA, self.XA + other.XA)


def update_dictionary(D: Array, stats: CodeStats, sweeps: int = 1) -> Array:
    """Lower ``|X - A D'|^2`` over dictionaries with columns in the unit ball, shape (C, M), for fixed codes.

    Each sweep moves one atom after the other to its minimiser (Mairal et al. 2010, Algorithm 2). An atom that no
    word uses stays as it is.
    """
    for _ in range(sweeps):
        D = kernels.sweep(D, stats.AA, stats.XA)
    return D
