"""What a task found out, item by item, and what it adds up to: scores, and two models on their common items."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from wordforest.errors import InputError
from wordforest.evaluation import standard_error
from wordforest.evaluation.bootstrap import Array
from wordforest.evaluation.standard_error import Ids, Variance, over_seeds, together

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

_BOUNDS = {"spearman": (-1.0, 1.0), "accuracy": (0.0, 100.0)}


@dataclass(frozen=True, eq=False)
class Outcome:
    """The n scored items of one set, of ``n_total``.

    ``keys`` name the items, each once, the same for all vectors. ``values`` (n,) is the cosine of a pair for
    ``spearman``, and 1 or 0, right or wrong, for ``accuracy``. ``gold`` (n,) is what people say of a pair; it is
    empty for ``accuracy``. ``clusters`` (n, 2) are what items share with others, by ``cluster_ids``: the two words of
    a pair, the two pairs of a question; it is empty where every item is single.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> right = np.array([1.0, 1.0, 0.0, 1.0])
        >>> keys = ("a", "b", "c", "d")
        >>> outcome = wf.evaluation.Outcome("completion", "mine", "accuracy", keys, right, 5)
        >>> outcome.value, outcome.n_scored
        (75.0, 4)
    """

    task: str
    set: str
    metric: str
    keys: tuple[str, ...]
    values: Array
    n_total: int
    gold: Array = field(default_factory=lambda: np.empty(0))
    clusters: Ids = field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))

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

    ``value`` is a correlation in [-1, 1] for ``spearman`` and a percentage for ``accuracy``; it is nan when nothing
    could be scored. ``n_scored`` of ``n_total`` items had the vectors they need; the others were skipped. ``low`` and
    ``high`` are the ends of a 95 % interval of ``value``, nan where there are too few items for one.

    Examples:
        >>> import wordforest as wf
        >>> score = wf.Score("analogy", "mine", "accuracy", 50.0, n_scored=2, n_total=3)
        >>> f"{score.value} % of {score.n_scored}, {score.n_total - score.n_scored} skipped"
        '50.0 % of 2, 1 skipped'
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

    ``low`` and ``high`` are the ends of a 95 % interval of the difference. ``p`` is two-sided: how easily a difference
    this large comes from chance alone; ``p_holm`` is p after Holm's correction for all p of a table, see ``corrected``.
    All are nan where there is nothing to compare.

    Examples:
        >>> import wordforest as wf
        >>> name, values = ("analogy", "mine", "accuracy"), (60.0, 50.0, 10.0)
        >>> found = wf.evaluation.Comparison(*name, *values, low=5.0, high=15.0, p=0.01, n_common=100)
        >>> found.difference
        10.0
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
    p_holm: float = math.nan


def scores_of(*seeds: Iterable[Outcome]) -> list[Score]:
    """Return the score of every outcome, and behind the similarity sets their weighted and their plain mean.

    Of several seeds of one model the mean is returned, over the items that all could be scored on; its interval is
    that for other items and other seeds. The means over sets run over those of the ten sets of the paper that are
    there, and over all sets where none of them is. The weighted mean is sum(n r) / sum(n) with n the scored pairs of
    a set. Sets without a value are left out of the mean and of its ``n_scored``.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> right = np.array([1.0, 1.0, 0.0, 1.0])
        >>> keys = ("a", "b", "c", "d")
        >>> outcome = wf.evaluation.Outcome("completion", "mine", "accuracy", keys, right, 5)
        >>> score = wf.evaluation.scores_of([outcome])[0]
        >>> score.value, score.n_scored, score.n_total
        (75.0, 4, 5)
    """
    return [
        Score(*one.name, float(one.values.mean()), one.n, one.n_total, *_interval_of_mean(one))
        for one in _with_means(_measured(seeds))
    ]


def compare(
    first: Sequence[Iterable[Outcome]], second: Sequence[Iterable[Outcome]], *, paired: bool = False
) -> list[Comparison]:
    """Return a comparison for every set that both were judged on, and for the means over the similarity sets.

    Each side has the outcomes of one seed or of several; ``paired``: the seeds of both are the same, in order, and
    are compared one by one. The interval and p are by Student's t, from the differences in each item, with what
    items and seeds share; p of single items and one seed is by the exact test of McNemar. Sets are weighted in the
    means by their common pairs.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> keys = tuple("abcdefgh")
        >>> right, wrong = np.array([1.0] * 7 + [0.0]), np.array([1.0] + [0.0] * 7)
        >>> first = wf.evaluation.Outcome("completion", "mine", "accuracy", keys, right, 8)
        >>> second = wf.evaluation.Outcome("completion", "mine", "accuracy", keys, wrong, 8)
        >>> found = wf.evaluation.compare([[first]], [[second]])[0]
        >>> found.first, found.second, found.p
        (87.5, 12.5, 0.03125)
    """
    measured = _with_means(_measured([*first, *second]))
    return [_comparison(one, len(first), paired) for one in measured]


def corrected(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons of one table with p after Holm's correction for all of them.

    Examples:
        >>> import wordforest as wf
        >>> name, values = ("analogy", "mine", "accuracy"), (60.0, 50.0, 10.0, 5.0, 15.0)
        >>> table = [wf.evaluation.Comparison(*name, *values, p, n_common=100) for p in (0.01, 0.04)]
        >>> [one.p_holm for one in wf.evaluation.corrected(table)]
        [0.02, 0.04]
    """
    ps = standard_error.holm([one.p for one in comparisons])
    return [replace(one, p_holm=p) for one, p in zip(comparisons, ps, strict=True)]


def cluster_ids(names: Sequence[Sequence[str]]) -> Ids:
    """Return a number for every name, (n, 2), the same for a name in every set: 48 bits of its hash."""
    return np.array([[_id(name) for name in item] for item in names], dtype=np.int64).reshape(-1, 2)


@cache
def _id(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=6).digest(), "big")


@dataclass(frozen=True, eq=False)
class _Measured:
    """A set (or a mean over sets) of n items by k runs: ``items`` (k, n), ``values`` (k,).

    ``effects`` (k, n) are what each item adds to the value, ``clusters`` (n, 2) or (n, 0) what it shares with others.
    """

    name: tuple[str, str, str]
    n: int
    n_total: int
    values: Array
    effects: Array
    clusters: Ids
    items: Array


def _measured(runs: Sequence[Iterable[Outcome]]) -> list[_Measured]:
    """Return what all runs were judged on, set by set, on their common items."""
    named = [dict(zip(numbered("\0".join(one.name) for one in run), run, strict=True)) for run in map(list, runs)]
    common = [key for key in named[0] if all(key in run for run in named)]
    return [_measured_set([run[key] for run in named]) for key in common]


def _measured_set(outcomes: Sequence[Outcome]) -> _Measured:
    first, metric = outcomes[0], outcomes[0].metric
    items, gold, clusters = _common_items(outcomes)
    values = np.array([_value(metric, one, gold) for one in items])
    effects = np.array([_effects(metric, one, gold) for one in items])
    return _Measured(first.name, items.shape[1], first.n_total, values, effects, clusters, items)


def _value(metric: str, values: Array, gold: Array) -> float:
    if metric == "spearman":
        return standard_error.spearman(values, gold)
    return 100 * float(values.mean()) if len(values) else math.nan


def _effects(metric: str, values: Array, gold: Array) -> Array:
    if metric == "spearman":
        return standard_error.spearman_effects(values, gold)
    return 100 * (values - values.mean()) / len(values) if len(values) else values


def _with_means(measured: Sequence[_Measured]) -> list[_Measured]:
    """Return all in order, and behind the last similarity set the weighted and the plain mean over these sets."""
    similar = [i for i, one in enumerate(measured) if one.name[0] == "similarity"]
    if not similar:
        return list(measured)
    averaged = [measured[i] for i in similar if measured[i].name[1] in TEN_SETS] or [measured[i] for i in similar]
    valued = [one for one in averaged if not np.isnan(one.values).any()]
    sizes = np.array([one.n for one in valued], dtype=np.float64)
    n_total = sum(one.n_total for one in averaged)
    means = [
        _mean(name, valued or averaged[:1], weights, int(sizes.sum()), n_total)
        for name, weights in (("weighted mean", sizes), ("plain mean", np.ones(len(sizes))))
    ]
    behind = similar[-1] + 1
    return [*measured[:behind], *means, *measured[behind:]]


def _mean(name: str, sets: Sequence[_Measured], weights: Array, n: int, n_total: int) -> _Measured:
    """Return the mean over sets; a pair that stands in several of them has effects in all."""
    shares = weights / weights.sum() if len(weights) else np.ones(1)  # one set without a value: so is its mean
    values = shares @ np.array([one.values for one in sets])
    effects = np.concatenate([share * one.effects for share, one in zip(shares, sets, strict=True)], axis=1)
    clusters = np.concatenate([one.clusters for one in sets])
    return _Measured(("similarity", name, "spearman"), n, n_total, values, effects, clusters, np.empty((0, n)))


def _common_items(outcomes: Sequence[Outcome]) -> tuple[Array, Array, Ids]:
    """Return the values (k, n), the gold (n,) and the clusters of the items that all could be scored on."""
    first = outcomes[0]
    known = set(first.keys).intersection(*(one.keys for one in outcomes[1:]))
    keys = first.keys if len(known) == len(first.keys) else tuple(key for key in first.keys if key in known)
    places = [_places(one, keys) for one in outcomes]
    i = places[0]
    gold = first.gold[i] if len(first.gold) else first.gold
    if any(len(one.gold) and not np.array_equal(one.gold[j], gold) for one, j in zip(outcomes, places, strict=True)):
        raise InputError(
            f"{first.task} {first.set}: expected the same human scores for all models, found different ones. "
            "Judge them with the same data."
        )
    clusters = first.clusters[i] if len(first.clusters) else np.empty((len(i), 0), dtype=np.int64)
    return np.array([one.values[j] for one, j in zip(outcomes, places, strict=True)]), gold, clusters


def _places(outcome: Outcome, keys: tuple[str, ...]) -> Ids:
    """Return where the items of these keys are in an outcome, (n,)."""
    if outcome.keys == keys:
        return np.arange(len(keys))
    place = {key: i for i, key in enumerate(outcome.keys)}
    return np.array([place[key] for key in keys], dtype=np.int64)


def _over_items(one: _Measured, effects: Array) -> Variance:
    return standard_error.over_items(effects, one.clusters, within_relations=one.name[2] == "accuracy")


def _interval_of_mean(one: _Measured) -> tuple[float, float]:
    variance = together(_over_items(one, one.effects.mean(axis=0)), over_seeds(one.values))
    return standard_error.interval(float(one.values.mean()), variance, _BOUNDS[one.name[2]])


def _comparison(one: _Measured, k: int, paired: bool) -> Comparison:
    """Compare the first k runs with the others."""
    ours, theirs = one.values[:k], one.values[k:]
    difference = float(ours.mean() - theirs.mean())
    seeds = [over_seeds(ours - theirs)] if paired else [over_seeds(ours), over_seeds(theirs)]
    effects = one.effects[:k].mean(axis=0) - one.effects[k:].mean(axis=0)
    variance = together(_over_items(one, effects), *seeds)
    low, high = standard_error.interval(difference, variance, (-math.inf, math.inf))
    p = standard_error.p_value(difference, variance)
    if one.name[2] == "accuracy" and len(one.values) == 2 and one.n and not one.clusters.shape[1]:
        p = standard_error.mcnemar(*one.items)
    return Comparison(*one.name, float(ours.mean()), float(theirs.mean()), difference, low, high, p, one.n)


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
