"""Means over nodes with 95 % intervals: nodes, or whole trees where nodes of a tree are no independent draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.forest import Forest
from wordforest.evaluation.bootstrap import N_RESAMPLES, Array, generator, interval
from wordforest.evaluation.scores import Score

TASK = "meaning"


def mean_score(
    name: str, metric: str, values: Array, *, groups: NDArray[np.int64] | None = None, seed: int = 0
) -> Score:
    """Return the mean of n values, nan left out, with its interval; accuracies in [0, 1] become percentages.

    The interval comes from resamples of the values or, with ``groups`` (n,), of whole groups of them.
    """
    scale = 100.0 if metric == "accuracy" else 1.0
    valued = ~np.isnan(values)
    kept = scale * values[valued]
    if not len(kept):
        return Score(TASK, name, metric, math.nan, 0, len(values))
    many = resampled_means(name, kept, None if groups is None else groups[valued], seed)
    return Score(TASK, name, metric, float(kept.mean()), len(kept), len(values), *interval(many))


def resampled_means(name: str, values: Array, groups: NDArray[np.int64] | None = None, seed: int = 0) -> Array:
    """Return the means of resamples, (n,) or (n, k) values -> (n_resamples,) or (n_resamples, k).

    Columns are drawn together, so that what is made of them (a difference, a ratio) keeps what they share. The
    stream depends on the seed and the name alone. A single group has no spread to learn from: nan.
    """
    rng = generator(seed, TASK, name)
    inverse = np.arange(len(values)) if groups is None else np.unique(groups, return_inverse=True)[1]
    n_groups = int(inverse.max(initial=-1)) + 1
    if n_groups < 2:
        return np.full((N_RESAMPLES, *values.shape[1:]), np.nan)
    sizes = np.bincount(inverse, minlength=n_groups).astype(np.float64)  # (G,)
    sums = np.zeros((n_groups, *values.shape[1:]))
    np.add.at(sums, inverse, values)  # (G,) or (G, k)
    drawn = rng.integers(0, n_groups, size=(N_RESAMPLES, n_groups))  # (B, G)
    n = sizes[drawn].sum(axis=1)
    return np.asarray(sums[drawn].sum(axis=1) / (n if values.ndim == 1 else n[:, None]), dtype=np.float64)


def levels(forest: Forest) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return all nodes and, where they have several depths, those of each: what is put behind a name, and (M,)."""
    depths = range(int(forest.depth.max()) + 1) if forest.depth.any() else ()
    return [("", np.ones(len(forest), dtype=bool)), *((f" depth {d}", forest.depth == d) for d in depths)]


def scores_by_depth(name: str, metric: str, values: Array, forest: Forest, *, seed: int = 0) -> list[Score]:
    """Return the mean of values of nodes, (M,), over all of them and over those of each depth."""
    return [mean_score(name + suffix, metric, values[nodes], seed=seed) for suffix, nodes in levels(forest)]


def ratio(part: NDArray[Any], whole: NDArray[Any]) -> Array:
    """Return part / whole, NaN where the whole is 0."""
    part, whole = np.asarray(part, dtype=np.float64), np.asarray(whole, dtype=np.float64)
    return np.asarray(np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0))


def row_means(values: Array, chosen: NDArray[np.bool_]) -> Array:
    """Return the mean of the chosen values of every row, (n, M) -> (n,); NaN where none is chosen or known."""
    chosen = chosen & ~np.isnan(values)
    return ratio(np.where(chosen, values, 0.0).sum(axis=1), chosen.sum(axis=1))
