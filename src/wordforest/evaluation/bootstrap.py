"""Intervals by resampling: seeded, a stream of its own for every name; for shares of nodes, words and documents."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError

N_RESAMPLES = 1000
_ENDS = (2.5, 97.5)  # percentiles of a 95 % interval
_CELLS = 2**18  # resamples x items in one block, 2 MB in float64: stays in cache through all its steps

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


def resampled_accuracy(first: Array, rng: np.random.Generator, n_resamples: int, second: Array | float = 0.0) -> Array:
    """Return the percentage right, first minus second, in resamples of n common items, (n,) of 0 and 1 each.

    An item that is drawn counts for both, so only three kinds differ: right in the first alone, in the second
    alone, or the same in both; their counts are multinomial, and no item need be drawn.
    """
    n = len(first)
    gain, loss = float((first > second).mean()), float((second > first).mean())
    counts = rng.multinomial(n, [gain, loss, max(0.0, 1 - gain - loss)], size=n_resamples)  # (B, 3)
    return np.asarray((counts[:, 0] - counts[:, 1]) * (100 / n), dtype=np.float64)


def blocks_of_draws(n: int, n_resamples: int, rng: np.random.Generator) -> Iterator[Array]:
    """Yield how often each of n items is drawn in each resample, (b, n) at a time, b as the cache has room."""
    height = max(1, _CELLS // max(1, n))
    for start in range(0, n_resamples, height):
        yield _draws(n, min(height, n_resamples - start), rng)


def _draws(n: int, n_resamples: int, rng: np.random.Generator) -> Array:
    """Return how often each of n items is drawn in each resample, (n_resamples, n)."""
    cells = rng.integers(0, n, size=(n_resamples, n)) + n * np.arange(n_resamples)[:, None]
    return np.bincount(cells.ravel(), minlength=n_resamples * n).reshape(n_resamples, n).astype(np.float64)
