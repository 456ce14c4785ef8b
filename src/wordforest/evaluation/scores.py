"""What a task found out, item by item, and the score that it adds up to, with an interval."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from wordforest.evaluation.bootstrap import (
    N_RESAMPLES,
    Array,
    generator,
    interval,
    resampled_accuracy,
    resampled_spearman,
    spearman,
)

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
        if self.metric == "spearman":
            return spearman(self.values, self.gold)
        return 100 * float(self.values.mean()) if self.n_scored else math.nan

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


def scores_of(outcomes: Iterable[Outcome], *, seed: int = 0, n_resamples: int = N_RESAMPLES) -> list[Score]:
    """Return the score of every outcome, and behind the similarity sets their weighted and their plain mean.

    The means run over those of the ten sets of the paper that are there, and over all sets where none of them is.
    The weighted mean is sum(n r) / sum(n) with n the scored pairs of a set. Sets without a value are left out of
    the mean and of its ``n_scored``. Their intervals rest on resamples inside each set; that sets share some
    pairs is not accounted for.
    """
    outcomes = list(outcomes)
    resampled = [_resampled(outcome, seed, n_resamples) for outcome in outcomes]
    scores = [
        Score(*outcome.name, outcome.value, outcome.n_scored, outcome.n_total, *interval(many))
        for outcome, many in zip(outcomes, resampled, strict=True)
    ]
    n_total = sum(outcomes[i].n_total for i in averaged_sets(outcomes))
    values = np.array([[outcome.value] for outcome in outcomes]).reshape(-1, 1)
    means = [
        Score("similarity", name, "spearman", float(mean[0]), n, n_total, *interval(many))
        for name, n, mean, many in means_over_sets(outcomes, [o.n_scored for o in outcomes], values, resampled)
    ]
    return behind_similarity(scores, means)


class _OfSet(Protocol):
    """Something that belongs to a set of a task."""

    @property
    def task(self) -> str: ...
    @property
    def set(self) -> str: ...


Found = TypeVar("Found", bound=_OfSet)


def averaged_sets(found: Sequence[_OfSet]) -> list[int]:
    """Return the places of the sets that the means run over: those of the paper, or all if none of them is there."""
    sets = [i for i, one in enumerate(found) if one.task == "similarity"]
    return [i for i in sets if found[i].set in TEN_SETS] or sets


def means_over_sets(
    found: Sequence[_OfSet], sizes: Sequence[int], values: Array, resampled: Sequence[Array]
) -> list[tuple[str, int, Array, Array]]:
    """Return name, items, means (k,) and their resamples (B,) of the weighted and the plain mean over similarity sets.

    ``values`` (sets, k) of a set that has none are nan: it is left out.
    """
    places = averaged_sets(found)
    if not places:
        return []
    names = ("weighted mean", "plain mean")
    valued = [i for i in places if not np.isnan(values[i]).any()]
    if not valued:
        return [(name, 0, np.full(values.shape[1], np.nan), np.full(len(resampled[0]), np.nan)) for name in names]
    n = np.array([sizes[i] for i in valued], dtype=np.float64)
    many = np.array([resampled[i] for i in valued])  # (sets, B)
    shares = (n / n.sum(), np.full(len(n), 1 / len(n)))
    return [
        (name, int(n.sum()), share @ values[valued], share @ many) for name, share in zip(names, shares, strict=True)
    ]


def behind_similarity(found: Sequence[Found], means: Sequence[Found]) -> list[Found]:
    """Return all in order, the means behind the last similarity set."""
    behind = 1 + max((i for i, one in enumerate(found) if one.task == "similarity"), default=-1)
    return [*found[:behind], *means, *found[behind:]]


def _resampled(outcome: Outcome, seed: int, n_resamples: int) -> Array:
    """Return the value of every resample, (n_resamples,)."""
    if not outcome.n_scored:
        return np.full(n_resamples, np.nan)
    rng = generator(seed, outcome.task, outcome.set)
    if outcome.metric == "spearman":
        return np.asarray(resampled_spearman(outcome.values[None], outcome.gold, rng, n_resamples)[0])
    return resampled_accuracy(outcome.values, rng, n_resamples)


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
