"""Is one model better than another? Both are looked at on the items that both could be scored on."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from wordforest.errors import InputError
from wordforest.evaluation.bootstrap import N_RESAMPLES, Array, generator, interval, resampled_difference
from wordforest.evaluation.items import numbered
from wordforest.evaluation.outcome import Outcome
from wordforest.evaluation.ranks import resampled_spearman, spearman
from wordforest.evaluation.score import mean_weights
from wordforest.evaluation.similarity import averaged


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
    first = list(first)
    matched = _matched(first, list(second))
    comparisons = {id(a): _compared(common, seed, n_resamples) for a, common in matched}
    listed = [comparison for comparison, _ in comparisons.values()]
    chosen = [comparisons[id(a)] for a in averaged([a for a, _ in matched])]
    if chosen:
        behind = 1 + max(i for i, comparison in enumerate(listed) if comparison.task == "similarity")
        listed[behind:behind] = _means(chosen)
    return listed


def _matched(first: list[Outcome], second: list[Outcome]) -> list[tuple[Outcome, _Common]]:
    theirs = dict(zip(numbered("\0".join(b.name) for b in second), second, strict=True))
    ours = zip(numbered("\0".join(a.name) for a in first), first, strict=True)
    return [(a, _common(a, theirs[name])) for name, a in ours if name in theirs]


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
        return _nothing(common.name), np.full(n_resamples, np.nan)
    rng = generator(seed, *common.name[:2])
    if common.name[2] == "spearman":
        one, other = (spearman(values, common.gold) for values in common.values)
        many = resampled_spearman(common.values, common.gold, rng, n_resamples)
        differences = many[0] - many[1]
        p = _bootstrap_p(differences) if not math.isnan(one - other) else math.nan
    else:
        one, other = (100 * float(values.mean()) for values in common.values)
        first, second = common.values
        differences = resampled_difference(first, second, rng, n_resamples)
        p = mcnemar(first, second)
    return Comparison(*common.name, one, other, one - other, *interval(differences), p, n), differences


def _nothing(name: tuple[str, str, str]) -> Comparison:
    nan = math.nan
    return Comparison(*name, nan, nan, nan, nan, nan, nan, 0)


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


def _bootstrap_p(differences: Array) -> float:
    """Return 2 min(P(d <= 0), P(d >= 0)) over resamples, each counted once more: never exactly 0."""
    valued = differences[~np.isnan(differences)]
    fewer = min(int((valued <= 0).sum()), int((valued >= 0).sum()))
    return min(1.0, 2 * (fewer + 1) / (len(valued) + 1))


def _means(compared: list[tuple[Comparison, Array]]) -> list[Comparison]:
    valued = [(c, many) for c, many in compared if not math.isnan(c.difference)]
    names = [("similarity", mean, "spearman") for mean in ("weighted mean", "plain mean")]
    if not valued:
        return [_nothing(name) for name in names]
    sizes = [c.n_common for c, _ in valued]
    values = np.array([(c.first, c.second) for c, _ in valued])  # (sets, 2)
    many = np.array([differences for _, differences in valued])  # (sets, n_resamples)
    comparisons = []
    for name, share in zip(names, mean_weights(sizes).values(), strict=True):
        one, other = (float(value) for value in share @ values)
        differences = share @ many
        ends = interval(differences)
        p = _bootstrap_p(differences)
        comparisons.append(Comparison(*name, one, other, one - other, *ends, p, sum(sizes)))
    return comparisons
