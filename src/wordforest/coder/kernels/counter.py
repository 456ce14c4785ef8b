"""Random numbers from counters (splitmix64, Steele et al. 2014): any of them without those before, the same everywhere.

All is whole numbers, and what floats there are come from them by operations that every device rounds alike.
"""

from __future__ import annotations

from typing import Any

Tensor = Any

_GOLDEN, _MIX_1, _MIX_2 = (n - (1 << 64) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def random_bits(key: int, n: int, like: Tensor, first: int = 0) -> Tensor:
    """Return 64 random bits for each of n counters from ``first`` on, int64."""
    import torch

    signed = ((key & 0xFFFFFFFFFFFFFFFF) ^ (1 << 63)) - (1 << 63)
    z = signed + torch.arange(first, first + n, device=like.device) * _GOLDEN
    z = (z ^ shifted(z, 30)) * _MIX_1
    z = (z ^ shifted(z, 27)) * _MIX_2
    return z ^ shifted(z, 31)


def shifted(z: Tensor, by: int) -> Tensor:
    """Return numbers shifted to the right as if they had no sign."""
    return (z >> by) & ((1 << (64 - by)) - 1)
