"""Spearman's rank correlation: of items, and of many resamples of them at once."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_CELLS = 2**18  # resamples x items in one block, 2 MB in float64: stays in cache through all its steps

Array = NDArray[np.float64]


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
