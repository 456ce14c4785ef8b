"""Random numbers from counters (splitmix64, Steele et al. 2014): any of them without those before, the same everywhere.

All is whole numbers, and what floats there are come from them by operations that every device rounds alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wordforest.runtime.threads import Threads

Array = Any  # a NumPy array or a PyTorch tensor
Tensor = Any

_GOLDEN, _MIX_1, _MIX_2 = (n - (1 << 64) for n in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
_VALUES = 1 << 24  # numbers made at a time on a device
_ROWS = 4096  # that a thread fills at a time


def random_bits(key: int, n: int, like: Tensor, first: int = 0) -> Tensor:
    """Return 64 random bits for each of n counters from ``first`` on, int64."""
    import torch

    signed = ((key & 0xFFFFFFFFFFFFFFFF) ^ (1 << 63)) - (1 << 63)
    return stream_bits(torch.full((1,), signed, device=like.device), torch.arange(first, first + n, device=like.device))


def stream_bits(keys: Tensor, counters: Tensor) -> Tensor:
    """Return 64 random bits for counters of streams, int64."""
    z = keys + counters * _GOLDEN
    z = (z ^ _shifted(z, 30)) * _MIX_1
    z = (z ^ _shifted(z, 27)) * _MIX_2
    return z ^ _shifted(z, 31)


def _shifted(z: Tensor, by: int) -> Tensor:
    """Return numbers shifted to the right as if they had no sign."""
    return (z >> by) & ((1 << (64 - by)) - 1)


def below(bits: Tensor, n: Tensor) -> Tensor:
    """Return numbers from 0 to n - 1, n below 2^31, by the upper half of random bits."""
    return (_shifted(bits, 32) * n) >> 32


def uniform(bits: Tensor) -> Tensor:
    """Return numbers in [0, 1), float32, by the lower half of random bits."""
    return (bits & 0xFFFFFF).float() / (1 << 24)


def random_columns(shape: tuple[int, int], seed: int, *, nonnegative: bool = False, like: Array | None = None) -> Array:
    """Return random directions of length one as columns, (n, M), float32, where ``like`` is; the same bits everywhere.

    A value is the sum of four uniform whole numbers of 16 bits, less its mean: near enough to a normal one that many of
    them point anywhere alike. Squares of whole numbers add up exactly, in any order.
    """
    key = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    if like is None or isinstance(like, np.ndarray):
        return _columns_here(shape, key, nonnegative)
    D = like.new_empty(shape).float()
    sums: Any = 0
    step = max(1, _VALUES // shape[1])
    for row in range(0, shape[0], step):
        n = min(step, shape[0] - row)
        bits = random_bits(key, n * shape[1], like, row * shape[1]).view(n, shape[1])
        values = sum(_shifted(bits, by) & 0xFFFF for by in (0, 16, 32, 48)) - 2 * 0xFFFF
        values = abs(values) if nonnegative else values
        sums = sums + (values * values).sum(0)
        D[row : row + n] = values
    lengths = sums.double().sqrt()
    for part in D.split(step):
        part.copy_(part.double() / lengths)
    return D


def _columns_here(shape: tuple[int, int], key: int, nonnegative: bool) -> Array:
    from wordforest.coder.kernels import compiled

    D = np.empty(shape, dtype=np.float32)
    threads = Threads()
    starts = range(0, shape[0], _ROWS)

    def fill(row: int) -> Any:
        return compiled.fill_random(np.uint64(key), row, nonnegative, D[row : row + _ROWS])

    sums = sum(threads.map(fill, starts))
    lengths = np.sqrt(np.asarray(sums, dtype=np.float64))

    def divide(row: int) -> None:
        D[row : row + _ROWS] = D[row : row + _ROWS].astype(np.float64) / lengths

    list(threads.map(divide, starts))
    return D
