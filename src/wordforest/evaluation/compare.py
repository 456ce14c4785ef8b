"""Is one model better than another? Both are looked at on the items that both could be scored on."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from wordforest.errors import InputError
from wordforest.evaluation.bootstrap import (
    N_RESAMPLES,
    Array,
    generator,
    interval,
    resampled_difference,
    resampled_spearman,
    spearman,
)
from wordforest.evaluation.scores import Outcome, behind_similarity, means_over_sets, numbered


@dataclass(frozen=True)
class Comparison:
    """Two models on their ``n_common`` items of one set: ``difference`` is first minus second.

    ``low`` and ``high`` are the ends of a 95 % interval of the difference. ``p`` is two-sided: how easily a
    difference this large comes from chance alone. All are nan where there is nothing to compare.
    """

    task: str
    set: str
    metric: str
    first: float
    second: float
    difference: float
    low: float
    high: float
    p: float
    n_common: int


@dataclass(frozen=True)
class _Common:
    """The common items of a set: values (2, n), gold (n,)."""

    name: tuple[str, str, str]
    values: Array
    gold: Array


def compare(
    first: Iterable[Outcome], second: Iterable[Outcome], *, seed: int = 0, n_resamples: int = N_RESAMPLES
) -> list[Comparison]:
    """Return a comparison for every set that both were judged on, and for the means over the similarity sets.

    Correlations: the same resamples of pairs for both; the interval holds the percentiles of the differences, and
    p is twice the share of resamples with a difference on the other side of 0 (at least 2 / (n_resamples + 1)).
    Accuracies: p is the exact test of McNemar over the items that only one of the two has right; the interval
    comes from the same resamples of items for both. Sets are weighted in the means by their common pairs.
    """
    matched = _matched(list(first), list(second))
    compared = [_compared(common, seed, n_resamples) for common in matched]
    listed = [comparison for comparison, _ in compared]
    values = np.array([(c.first, c.second) for c in listed]).reshape(-1, 2)
    means = [
        Comparison(
            "similarity", name, "spearman", one, other, one - other, *interval(many), _bootstrap_p(many, one - other), n
        )
        for name, n, (one, other), many in means_over_sets(
            listed, [c.n_common for c in listed], values, [many for _, many in compared]
        )
    ]
    return behind_similarity(listed, means)


def _matched(first: list[Outcome], second: list[Outcome]) -> list[_Common]:
    theirs = dict(zip(numbered("\0".join(b.name) for b in second), second, strict=True))
    ours = zip(numbered("\0".join(a.name) for a in first), first, strict=True)
    return [_common(a, theirs[name]) for name, a in ours if name in theirs]


def _common(a: Outcome, b: Outcome) -> _Common:
    place = {key: i for i, key in enumerate(b.keys)}
    i = np.array([i for i, key in enumerate(a.keys) if key in place], dtype=np.int64)
    j = np.array([place[a.keys[k]] for k in i], dtype=np.int64)
    gold = a.gold[i] if len(a.gold) else a.gold
    if len(a.gold) and not np.array_equal(gold, b.gold[j]):
        raise InputError(
            f"{a.task} {a.set}: expected the same human scores for both models, found different ones. "
            "Judge both with the same data."
        )
    return _Common(a.name, np.array([a.values[i], b.values[j]]), gold)


def _compared(common: _Common, seed: int, n_resamples: int) -> tuple[Comparison, Array]:
    """Return the comparison of one set, and the differences of its resamples (n_resamples,)."""
    n = common.values.shape[1]
    if not n:
        nan = math.nan
        return Comparison(*common.name, nan, nan, nan, nan, nan, nan, 0), np.full(n_resamples, np.nan)
    rng = generator(seed, *common.name[:2])
    if common.name[2] == "spearman":
        one, other = (spearman(values, common.gold) for values in common.values)
        many = resampled_spearman(common.values, common.gold, rng, n_resamples)
        differences = many[0] - many[1]
        p = _bootstrap_p(differences, one - other)
    else:
        one, other = (100 * float(values.mean()) for values in common.values)
        first, second = common.values
        differences = resampled_difference(first, second, rng, n_resamples)
        p = mcnemar(first, second)
    return Comparison(*common.name, one, other, one - other, *interval(differences), p, n), differences


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


def _bootstrap_p(differences: Array, difference: float) -> float:
    """Return 2 min(P(d <= 0), P(d >= 0)) over resamples, each counted once more: never exactly 0."""
    if math.isnan(difference):
        return math.nan
    valued = differences[~np.isnan(differences)]
    fewer = min(int((valued <= 0).sum()), int((valued >= 0).sum()))
    return min(1.0, 2 * (fewer + 1) / (len(valued) + 1))
