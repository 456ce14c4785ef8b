"""What a task found out, item by item, and what it adds up to: scores, and two models on their common items."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from wordforest.errors import InputError
from wordforest.evaluation import bootstrap
from wordforest.evaluation.bootstrap import N_RESAMPLES, Array, interval

TEN_SETS = (
    "EN-WS-353-ALL",
    "EN-WS-353-SIM",
    "EN-WS-353-REL",
    "EN-MC-30",
    "EN-RG-65",
    "EN-RW-STANFORD",
    "EN-MEN-TR-3k",
    "EN-MTurk-287",
    "EN-MTurk-771",
    "EN-YP-130",
)
"""The similarity sets of the paper, by the stem of their file."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """The n scored items of one set, of ``n_total``.

    ``keys`` name the items, each once, the same for all vectors. ``values`` (n,) is the cosine of a pair for
    ``spearman``, and 1 or 0, right or wrong, for ``accuracy``. ``gold`` (n,) is what people say of a pair; it is
    empty for ``accuracy``.
    """

    task: str
    set: str
    metric: str
    keys: tuple[str, ...]
    values: Array
    n_total: int
    gold: Array = field(default_factory=lambda: np.empty(0))

    @property
    def value(self) -> float:
        """The correlation in [-1, 1] or the percentage right; nan where nothing could be scored."""
        return _value(self.metric, self.values, self.gold)

    @property
    def n_scored(self) -> int:
        """The number of items with the vectors they need."""
        return len(self.keys)

    @property
    def name(self) -> tuple[str, str, str]:
        """Task, set and metric: what two outcomes must share to be compared."""
        return self.task, self.set, self.metric


@dataclass(frozen=True)
class Score:
    """One number and what it rests on.

    ``value`` is a correlation in [-1, 1] for ``spearman`` and a percentage for ``accuracy``; it is nan when
    nothing could be scored. ``n_scored`` of ``n_total`` items had the vectors they need; the others were skipped.
    ``low`` and ``high`` are the ends of a 95 % interval of ``value``: percentiles over resamples of the items.
    """

    task: str
    set: str
    metric: str
    value: float
    n_scored: int
    n_total: int
    low: float = math.nan
    high: float = math.nan


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


def scores_of(outcomes: Iterable[Outcome], *, seed: int = 0, n_resamples: int = N_RESAMPLES) -> list[Score]:
    """Return the score of every outcome, and behind the similarity sets their weighted and their plain mean.

    The means run over those of the ten sets of the paper that are there, and over all sets where none of them is.
    The weighted mean is sum(n r) / sum(n) with n the scored pairs of a set. Sets without a value are left out of
    the mean and of its ``n_scored``. Their intervals rest on resamples inside each set; that sets share some
    pairs is not accounted for.
    """
    measured = [_measured(o.name, o.n_total, o.values[None], o.gold, seed, n_resamples) for o in outcomes]
    return [
        Score(*one.name, float(one.values[0]), one.n, one.n_total, *interval(one.resampled))
        for one in _with_means(measured)
    ]


def compare(
    first: Iterable[Outcome], second: Iterable[Outcome], *, seed: int = 0, n_resamples: int = N_RESAMPLES
) -> list[Comparison]:
    """Return a comparison for every set that both were judged on, and for the means over the similarity sets.

    Correlations: the same resamples of pairs for both; the interval holds the percentiles of the differences, and
    p is twice the share of resamples with a difference on the other side of 0 (at least 2 / (n_resamples + 1)).
    Accuracies: p is the exact test of McNemar over the items that only one of the two has right; the interval
    comes from the same resamples of items for both. Sets are weighted in the means by their common pairs.
    """
    ours, theirs = (
        dict(zip(numbered("\0".join(one.name) for one in side), side, strict=True))
        for side in (list(first), list(second))
    )
    measured = []
    for key in ours:
        if key in theirs:
            values, gold = _common_items(ours[key], theirs[key])
            measured.append(_measured(ours[key].name, values.shape[1], values, gold, seed, n_resamples))
    return [_comparison(one) for one in _with_means(measured)]


@dataclass(frozen=True, eq=False)
class _Measured:
    """A set (or a mean over sets) of n items by k = 1 or 2 models: ``items`` (k, n), ``values`` (k,).

    ``resampled`` (B,) is the value of the first model, minus that of the second if there is one, in every resample.
    """

    name: tuple[str, str, str]
    n: int
    n_total: int
    values: Array
    resampled: Array
    items: Array


def _measured(
    name: tuple[str, str, str], n_total: int, items: Array, gold: Array, seed: int, n_resamples: int
) -> _Measured:
    values = np.array([_value(name[2], one, gold) for one in items])
    first, *second = items
    rng = bootstrap.generator(seed, *name[:2])
    if not len(first):
        resampled = np.full(n_resamples, np.nan)
    elif name[2] == "spearman":
        first, *second = bootstrap.resampled_spearman(items, gold, rng, n_resamples)
        resampled = first - sum(second)
    else:
        resampled = bootstrap.resampled_accuracy(first, rng, n_resamples, *second)
    return _Measured(name, items.shape[1], n_total, values, resampled, items)


def _value(metric: str, values: Array, gold: Array) -> float:
    if metric == "spearman":
        return bootstrap.spearman(values, gold)
    return 100 * float(values.mean()) if len(values) else math.nan


def _with_means(measured: Sequence[_Measured]) -> list[_Measured]:
    """Return all in order, and behind the last similarity set the weighted and the plain mean over these sets."""
    similar = [i for i, one in enumerate(measured) if one.name[0] == "similarity"]
    if not similar:
        return list(measured)
    averaged = [measured[i] for i in similar if measured[i].name[1] in TEN_SETS] or [measured[i] for i in similar]
    valued = [one for one in averaged if not np.isnan(one.values).any()]
    sizes = np.array([one.n for one in valued], dtype=np.float64)
    means = []
    for name, weights in (("weighted mean", sizes), ("plain mean", np.ones(len(sizes)))):
        values, resampled = np.full_like(averaged[0].values, np.nan), np.full_like(averaged[0].resampled, np.nan)
        if valued:
            shares = weights / weights.sum()
            values = shares @ np.array([one.values for one in valued])
            resampled = shares @ np.array([one.resampled for one in valued])
        n_total = sum(one.n_total for one in averaged)
        means.append(
            _Measured(("similarity", name, "spearman"), int(sizes.sum()), n_total, values, resampled, np.empty((2, 0)))
        )
    behind = similar[-1] + 1
    return [*measured[:behind], *means, *measured[behind:]]


def _common_items(a: Outcome, b: Outcome) -> tuple[Array, Array]:
    """Return the values (2, n) and the gold (n,) of the items that both could be scored on."""
    place = {key: i for i, key in enumerate(b.keys)}
    i = np.array([i for i, key in enumerate(a.keys) if key in place], dtype=np.int64)
    j = np.array([place[a.keys[k]] for k in i], dtype=np.int64)
    gold = a.gold[i] if len(a.gold) else a.gold
    if len(a.gold) and not np.array_equal(gold, b.gold[j]):
        raise InputError(
            f"{a.task} {a.set}: expected the same human scores for both models, found different ones. "
            "Judge both with the same data."
        )
    return np.array([a.values[i], b.values[j]]), gold


def _comparison(one: _Measured) -> Comparison:
    first, second = one.values.tolist()
    difference = first - second
    if math.isnan(difference):
        p = math.nan
    else:
        p = _bootstrap_p(one.resampled) if one.name[2] == "spearman" else mcnemar(*one.items)
    return Comparison(*one.name, first, second, difference, *interval(one.resampled), p, one.n)


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


def numbered(texts: Iterable[str]) -> list[str]:
    """Return a key for every text: the text itself, and with a number behind it from its second time on.

    >>> numbered(["car auto", "gem jewel", "car auto"])
    ['car auto', 'gem jewel', 'car auto (2)']
    """
    seen: Counter[str] = Counter()
    keys = []
    for text in texts:
        seen[text] += 1
        keys.append(text if seen[text] == 1 else f"{text} ({seen[text]})")
    return keys
