"""How sure a number is: its variance over items that share words, and over seeds; interval, p, Holm's correction.

A number is, up to its truth, a sum of one effect for each item. Items that share a cluster (questions a pair of words,
pairs of words a word) do not vary alone, so the variance is the sum of the products of the effects of all items that
share one. docs/evaluation.md has the formula, docs/decisions.md what else was tried and what it missed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.evaluation.bootstrap import Array

Ids = NDArray[np.int64]

_ROUNDING = 1e-20  # variances of sums of effects below it come from rounding


class Variance(NamedTuple):
    """An estimated variance and its degrees of freedom; nan and 0 where nothing is known."""

    value: float
    freedom: float


def spearman(x: Array, y: Array) -> float:
    """Return the correlation of the ranks of x and y, shape (n,) each; nan if either is constant.

    scipy.stats.spearmanr gives the same number; importing it takes longer than this whole package.
    """
    r, s = _ranks(x), _ranks(y)
    size = math.sqrt(float(r @ r) * float(s @ s))
    return float(r @ s) / size if size > 0 else math.nan


def spearman_effects(x: Array, y: Array) -> Array:
    """Return what each item adds to the rank correlation, (n,): its influence function over n, 0 if it is nan.

    One more x_i adds its own product of ranks, and moves the rank of every larger x_j up by one.
    """
    n, rho = len(x), spearman(x, y)
    if math.isnan(rho):
        return np.zeros(n)
    r, s = (ranks / math.sqrt(float(ranks @ ranks) / n) for ranks in (_ranks(x), _ranks(y)))
    effects = r * s - rho * (r * r + s * s) / 2
    effects += _sum_above(x, s - rho * r) / _ranks(x).std() + _sum_above(y, r - rho * s) / _ranks(y).std()
    return np.asarray((effects - effects.mean()) / n, dtype=np.float64)


def over_items(effects: Array, clusters: Ids, *, within_relations: bool = False) -> Variance:
    """Return the variance of the sum of effects (n,) of items with two clusters each, (n, 2), or none, (n, 0).

    V = sum over clusters of S^2 - sum over couples of two clusters of T^2, with S and T the sums of the effects of
    their items: an item and another that share a cluster are counted once. It is never less than sum T^2 over all
    couples, which vary alone. ``within_relations``: items are drawn within the relations that link clusters, so
    effects are centred in each. S^2 of G clusters is too small by (G - 2)^2 / G(G - 1), since effects add up to 0.
    """
    if not clusters.shape[1]:
        return _alone(effects)
    names, places = np.unique(clusters, return_inverse=True)
    places, G = places.reshape(-1, 2), len(names)
    relation = _relations(places, G) if within_relations else np.zeros(G, dtype=np.int64)  # (G,)
    sizes = np.bincount(relation)[relation]  # (G,) clusters in the relation of each
    of_item = relation[places[:, 0]]
    effects = effects - (np.bincount(of_item, effects) / np.maximum(np.bincount(of_item), 1))[of_item]
    other = np.where(places[:, 0] != places[:, 1], effects, 0.0)  # "tiger tiger" has one word
    S = np.bincount(places[:, 0], effects, G) + np.bincount(places[:, 1], other, G)
    couples = np.unique(places.min(axis=1) * G + places.max(axis=1), return_inverse=True)[1]
    single = float((np.bincount(couples, effects) ** 2).sum())  # sum T^2
    twice = float((np.bincount(couples, other) ** 2).sum())  # what stands in S^2 of two clusters
    known = sizes > 2  # one couple has nothing to vary against
    freedom = int(known.sum()) - len(np.unique(relation[known]))
    if not freedom:
        return Variance(math.nan, 0)
    n = sizes[known].astype(np.float64)
    shared = float((n * (n - 1) / (n - 2) ** 2 * S[known] ** 2).sum())
    return Variance(max(shared - twice, single), freedom)


def over_seeds(values: Array) -> Variance:
    """Return the variance of the mean of the values of S seeds; of one seed nothing is known, and 0 taken."""
    S = len(values)
    return Variance(float(values.var(ddof=1)) / S, S - 1) if S > 1 else Variance(0.0, 1)


def together(*parts: Variance) -> Variance:
    """Return the variance of a sum of independent parts, its freedom by Satterthwaite: V^2 / sum V_k^2 / f_k."""
    value = sum(part.value for part in parts)
    if math.isnan(value):
        return Variance(math.nan, 0)
    shares = sum(part.value**2 / part.freedom for part in parts)
    return Variance(value, value**2 / shares if shares > 0 else math.inf)


def interval(value: float, variance: Variance, bounds: tuple[float, float]) -> tuple[float, float]:
    """Return the ends of the 95 % interval by Student's t, kept within bounds; nan where nothing is known."""
    from scipy.special import stdtrit

    if math.isnan(value) or math.isnan(variance.value):
        return math.nan, math.nan
    reach = float(stdtrit(variance.freedom, 0.975)) * math.sqrt(variance.value) if variance.value > _ROUNDING else 0.0
    return max(bounds[0], value - reach), min(bounds[1], value + reach)


def p_value(difference: float, variance: Variance) -> float:
    """Return the two-sided p of Student's t for a difference of 0; nan where nothing is known."""
    from scipy.special import stdtr

    if math.isnan(difference) or difference == 0:
        return difference + 1  # nan stays nan
    if not variance.value > _ROUNDING:  # nan, or the same difference in every item and seed
        return math.nan
    return 2 * float(stdtr(variance.freedom, -abs(difference) / math.sqrt(variance.value)))


def mcnemar(first: Array, second: Array) -> float:
    """Return the exact two-sided p of McNemar's test, (n,) of 0 and 1 each, 1 where the two never differ.

    Where just one of the two is right, under equal skill it is either with probability 1/2:
    p = min(1, 2 P(Binomial(gains + losses, 1/2) <= min(gains, losses))).
    """
    from scipy.special import bdtr

    gains, losses = int((first > second).sum()), int((second > first).sum())
    if gains == losses:
        return 1.0
    return min(1.0, 2 * float(bdtr(float(min(gains, losses)), gains + losses, 0.5)))


def holm(ps: Sequence[float]) -> list[float]:
    """Return p after Holm's correction for all of them: the k-th smallest of m times m - k + 1, never falling.

    nan stands for no test and stays.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(ps, dtype=np.float64)
    order = np.argsort(p)[: int((~np.isnan(p)).sum())]  # nan last
    corrected = np.full(len(p), np.nan)
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)), 1.0)
    return [float(value) for value in corrected]


def _alone(effects: Array) -> Variance:
    """Return the variance of the sum of n effects that vary alone."""
    n = len(effects)
    return Variance(float(effects.var(ddof=1)) * n, n - 1) if n > 1 else Variance(math.nan, 0)


def _relations(places: Ids, n_clusters: int) -> Ids:
    """Return the relation of each cluster, (n, 2) -> (G,): clusters that items link belong to the same one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(places)), (places[:, 0], places[:, 1])), shape=(n_clusters, n_clusters))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.int64)


def _ranks(values: Array) -> Array:
    """Return rank minus mean rank, (n,); ties share their mean rank."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Array = (np.cumsum(counts) - (counts + len(values)) / 2)[group]
    return ranks


def _sum_above(values: Array, weights: Array) -> Array:
    """Return for every item the sum of the weights of items with a larger value, and half of those that tie, (n,)."""
    _, group = np.unique(values, return_inverse=True)
    sums = np.bincount(group, weights)
    above: Array = (sums.sum() - np.cumsum(sums) + sums / 2)[group]
    return above
