"""Intervals by resampling items: seeded, a stream of its own for every set."""

from __future__ import annotations

import hashlib
import math

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError

N_RESAMPLES = 1000
_ENDS = (2.5, 97.5)  # percentiles of a 95 % interval

Array = NDArray[np.float64]


def generator(seed: int, task: str, set_name: str) -> np.random.Generator:
    """Return the random stream of one set: its interval does not depend on which other sets are scored."""
    if seed < 0:
        raise InputError(f"seed = {seed}: expected 0 or more. Give another seed.")
    digest = hashlib.sha256(f"{task}\0{set_name}".encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "little")])


def interval(resampled: Array) -> tuple[float, float]:
    """Return the 2.5 and the 97.5 percentile of resampled values, (B,); those that are nan are left out."""
    valued = resampled[~np.isnan(resampled)]
    if not len(valued):
        return math.nan, math.nan
    low, high = np.percentile(valued, _ENDS)
    return float(low), float(high)


def resampled_accuracy(right: Array, rng: np.random.Generator, n_resamples: int) -> Array:
    """Return the percentage right in resamples of n items, (n,) of 0 and 1 -> (n_resamples,).

    n draws with replacement hit a right item Binomial(n, share right) times, so no item need be drawn.
    """
    n = len(right)
    return np.asarray(rng.binomial(n, right.mean(), size=n_resamples) * (100 / n), dtype=np.float64)


def resampled_difference(first: Array, second: Array, rng: np.random.Generator, n_resamples: int) -> Array:
    """Return the difference in percentage right, first minus second, in resamples of n common items.

    An item that is drawn counts for both, so only three kinds differ: right in the first alone, in the second
    alone, or the same in both; their counts are multinomial.
    """
    n = len(first)
    gain, loss = _share(first > second), _share(second > first)
    counts = rng.multinomial(n, [gain, loss, max(0.0, 1 - gain - loss)], size=n_resamples)  # (B, 3)
    return np.asarray((counts[:, 0] - counts[:, 1]) * (100 / n), dtype=np.float64)


def _share(chosen: NDArray[np.bool_]) -> float:
    return float(chosen.mean())
