"""Intervals by resampling items: seeded, a stream of its own for every set; percentages right and rank correlations."""

from __future__ import annotations

import hashlib
import math

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
    gain, loss = float((first > second).mean()), float((second > first).mean())
    counts = rng.multinomial(n, [gain, loss, max(0.0, 1 - gain - loss)], size=n_resamples)  # (B, 3)
    return np.asarray((counts[:, 0] - counts[:, 1]) * (100 / n), dtype=np.float64)


def spearman(x: Array, y: Array) -> float:
    """Return the correlation of the ranks of x and y, shape (n,) each; nan if either is constant.

    scipy.stats.spearmanr gives the same number; importing it takes longer than this whole package.
    """
    x, y = _centred_ranks(x), _centred_ranks(y)
    size = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / size if size > 0 else math.nan


def resampled_spearman(columns: Array, gold: Array, rng: np.random.Generator, n_resamples: int) -> Array:
    """Return the correlation of every column with gold in every resample, (k, n), (n,) -> (k, n_resamples).

    A resample draws n of the n items with replacement, the same for all columns, and is ranked anew. It is held
    as the number of times each item was drawn, so that no resample is sorted: the rank of an item is the number
    of draws below it plus the middle of the draws that tie with it. nan where a resample is constant.
    """
    orders = [_Order(column) for column in columns]
    gold_order = _Order(gold)
    found = np.full((len(columns), n_resamples), np.nan)
    height = max(1, _CELLS // max(1, len(gold)))
    for start in range(0, n_resamples, height):
        block = slice(start, min(start + height, n_resamples))
        draws = _draws(len(gold), block.stop - block.start, rng)
        y = gold_order.centred_ranks(draws)
        weighted = draws * y
        yy = np.einsum("bi,bi->b", weighted, y)
        for k, order in enumerate(orders):
            x = order.centred_ranks(draws)
            xy = np.einsum("bi,bi->b", weighted, x)
            size = np.sqrt(yy * np.einsum("bi,bi->b", draws * x, x))
            np.divide(xy, size, out=found[k, block], where=size > 0)
    return found


class _Order:
    """Who stands below whom among n values, and who ties."""

    def __init__(self, values: Array) -> None:
        self._sorted = np.argsort(values, kind="stable")
        _, self._group, counts = np.unique(values, return_inverse=True, return_counts=True)
        self._last = np.cumsum(counts) - 1  # place of the last item of each group in sorted order
        self._n = len(values)

    def centred_ranks(self, draws: Array) -> Array:
        """Return rank minus mean rank of every item in every resample, (b, n) draws -> (b, n)."""
        upto = np.cumsum(draws[:, self._sorted], axis=1)[:, self._last]  # (b, groups): draws of a group and below
        below = np.zeros_like(upto)
        below[:, 1:] = upto[:, :-1]
        # ranks below + 1 .. upto share their middle; the mean of all ranks is (n + 1) / 2
        ranks: Array = ((below + upto - self._n) / 2)[:, self._group]
        return ranks


def _draws(n: int, n_resamples: int, rng: np.random.Generator) -> Array:
    """Return how often each of n items is drawn in each resample, (n_resamples, n)."""
    cells = rng.integers(0, n, size=(n_resamples, n)) + n * np.arange(n_resamples)[:, None]
    return np.bincount(cells.ravel(), minlength=n_resamples * n).reshape(n_resamples, n).astype(np.float64)


def _centred_ranks(x: Array) -> Array:
    """Return rank minus mean rank, shape (n,); equal values share the mean of their ranks."""
    _, group, counts = np.unique(x, return_inverse=True, return_counts=True)
    shared = np.cumsum(counts) - (counts - 1) / 2
    ranks: Array = shared[group] - (len(x) + 1) / 2
    return ranks
