"""Intervals by resampling items: seeded, a stream of its own for every set; percentages right and rank correlations."""

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


def spearman(x: Array, y: Array) -> float:
    """Return the correlation of the ranks of x and y, shape (n,) each; nan if either is constant.

    scipy.stats.spearmanr gives the same number; importing it takes longer than this whole package.
    """
    return float(_correlations(x[None], y, np.ones((1, len(x))))[0, 0])


def resampled_spearman(columns: Array, gold: Array, rng: np.random.Generator, n_resamples: int) -> Array:
    """Return the correlation of every column with gold in every resample, (k, n), (n,) -> (k, n_resamples).

    A resample draws n of the n items with replacement, the same for all columns, and is ranked anew.
    """
    blocks = blocks_of_draws(len(gold), n_resamples, rng)
    return np.concatenate([_correlations(columns, gold, draws) for draws in blocks], axis=1)


def blocks_of_draws(n: int, n_resamples: int, rng: np.random.Generator) -> Iterator[Array]:
    """Yield how often each of n items is drawn in each resample, (b, n) at a time, b as the cache has room."""
    height = max(1, _CELLS // max(1, n))
    for start in range(0, n_resamples, height):
        yield _draws(n, min(height, n_resamples - start), rng)


def _correlations(columns: Array, gold: Array, draws: Array) -> Array:
    """Return the rank correlation of columns (k, n) with gold (n,) in resamples, (b, n) draws -> (k, b)."""
    found = np.full((len(columns), len(draws)), np.nan)  # and so where a resample is constant
    y = _centred_ranks(gold, draws)
    weighted = draws * y
    yy = np.einsum("bi,bi->b", weighted, y)
    for k, column in enumerate(columns):
        x = _centred_ranks(column, draws)
        size = np.sqrt(yy * np.einsum("bi,bi->b", draws * x, x))
        np.divide(np.einsum("bi,bi->b", weighted, x), size, out=found[k], where=size > 0)
    return found


def _centred_ranks(values: Array, draws: Array) -> Array:
    """Return rank minus mean rank of every item (n,) in every resample, (b, n) draws -> (b, n).

    A resample is held as the number of times each item was drawn, so that none is sorted: the rank of an item is the
    number of draws below it plus the middle of the draws that tie with it.
    """
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts) - 1  # place of the last item of each group of equal values in sorted order
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(draws[:, order], axis=1)[:, last]  # (b, groups): draws of a group and below
    below = np.zeros_like(upto)
    below[:, 1:] = upto[:, :-1]
    # ranks below + 1 .. upto share their middle; the mean of all ranks is (n + 1) / 2
    ranks: Array = ((below + upto - len(values)) / 2)[:, group]
    return ranks


def _draws(n: int, n_resamples: int, rng: np.random.Generator) -> Array:
    """Return how often each of n items is drawn in each resample, (n_resamples, n)."""
    cells = rng.integers(0, n, size=(n_resamples, n)) + n * np.arange(n_resamples)[:, None]
    return np.bincount(cells.ravel(), minlength=n_resamples * n).reshape(n_resamples, n).astype(np.float64)
