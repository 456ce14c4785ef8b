"""The one way Numba is used here: compiled once and cached, without the GIL, with NaN and infinity kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba

F = TypeVar("F", bound=Callable[..., object])

# No nnan and ninf: the guards against non-finite values must stay true.
_FAST = {"nsz", "arcp", "contract", "afn", "reassoc"}


def kernel(function: F) -> F:
    """Compile a function over contiguous arrays; threads run it in parallel."""
    compiled: F = numba.njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")(function)
    return compiled


def part_of_kernel(function: F) -> F:
    """Compile a function that kernels call in their innermost loops: it is put in place of every call.

    A call that stays a call hands over seven numbers for every array, which takes longer than small loops do.
    """
    compiled: F = numba.njit(nogil=True, fastmath=_FAST, error_model="numpy", inline="always")(function)
    return compiled
