"""How rows are cut into shards, alike on one machine and on many.

A sum of floats depends on its order, and a block of words is solved with its neighbours. So both are fixed here, by the
data and the number of dimensions alone: blocks lie inside a shard and are added up one after the other, then the sums
of the shards. Whoever computes a shard, thread or machine, the bits are the same.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = Any  # a NumPy array or a PyTorch tensor
Range = tuple[int, int]

_CONTEXT_RANGES = 16
SAMPLE = 61  # every so many entries tell how full the contexts are
_SHARD_COST = 1 << 22  # entries; a shard is a second of work in a pass at most, and some milliseconds of a step
_MOST_SHARDS = 128  # the sums of shards, (M, M) each, meet in one place
_ROW_COST = 10  # coding a row takes as long as this many entries for every dimension


def shard_rows(sizes: NDArray[np.integer[Any]], n_components: int) -> list[Range]:
    """Cut rows with so many entries, (V,), into ranges that take about equally long to code.

    >>> shard_rows(np.full(2048, 5000), 13)
    [(0, 683), (683, 1366), (1366, 2048)]
    """
    cost = row_costs(sizes, n_components)
    return equal_ranges(cost, min(-(-int(cost.sum()) // _SHARD_COST), _MOST_SHARDS))


def row_costs(sizes: NDArray[np.integer[Any]], n_components: int) -> NDArray[np.int64]:
    """Return how long rows with so many entries take to code, (V,), in entries."""
    return sizes.astype(np.int64) + _ROW_COST * n_components


def equal_ranges(cost: NDArray[np.int64], n: int) -> list[Range]:
    """Cut (V,) costs into n ranges with about equal sums, or fewer where there is too little."""
    if not len(cost):
        return []
    ends = np.cumsum(cost)
    inner = np.searchsorted(ends, np.arange(1, n) * (int(ends[-1]) / n)) + 1
    return list(pairwise(np.unique([0, *inner[inner < len(cost)], len(cost)]).tolist()))


def row_sizes(X: Any) -> NDArray[np.integer[Any]]:
    """Return the number of entries of every row of X (V, C), CSR or dense, shape (V,)."""
    return np.full(X.shape[0], X.shape[1]) if isinstance(X, np.ndarray) else np.diff(X.indptr)


def split_rows(rows: Array, ranges: list[Range]) -> list[slice]:
    """Return where the rows of each range stand among sorted rows."""
    if len(ranges) == 1:
        return [slice(0, len(rows))]
    borders = np.searchsorted(rows, [first for first, _ in ranges] + [ranges[-1][1]]).tolist()
    return [slice(a, b) for a, b in pairwise(borders)]


def context_ranges(X: Any) -> list[Range]:
    """Cut the contexts into ranges with about equally many entries, so that workers share no row of XA."""
    C = X.shape[1]
    used = np.ones(C) if isinstance(X, np.ndarray) else np.bincount(X.indices[::SAMPLE], minlength=C)
    shares = np.linspace(0, used.sum(), _CONTEXT_RANGES + 1)[1:-1]
    borders = np.unique([0, *np.searchsorted(np.cumsum(used), shares), C]).tolist()
    return list(pairwise(borders))
