"""The one result type of every evaluation, and how several similarity sets become one number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Score:
    """One number and what it rests on.

    ``value`` is a correlation in [-1, 1] for ``spearman`` and a percentage for ``accuracy``; it is nan when
    nothing could be scored. ``n_scored`` of ``n_total`` items had a vector for every word they need; the
    others were skipped. ``low`` and ``high`` bound a confidence interval of ``value``; nan means that none
    was computed.
    """

    task: str
    set: str
    metric: str
    value: float
    n_scored: int
    n_total: int
    low: float = math.nan
    high: float = math.nan


def weighted_mean(scores: Sequence[Score]) -> Score:
    """Return the mean over similarity sets, each weighted by its scored pairs: sum(n r) / sum(n).

    Sets without a value are left out of the mean and of ``n_scored``; ``n_total`` counts every pair.
    """
    valued = _valued(scores)
    return _mean("weighted mean", scores, [score.n_scored for score in valued])


def plain_mean(scores: Sequence[Score]) -> Score:
    """Return the mean over similarity sets, each counting once, whatever its size; as weighted_mean else."""
    return _mean("plain mean", scores, [1] * len(_valued(scores)))


def _mean(name: str, scores: Sequence[Score], weights: list[int]) -> Score:
    valued = _valued(scores)
    total = sum(w * score.value for w, score in zip(weights, valued, strict=True))
    size = sum(weights)
    value = total / size if size > 0 else math.nan
    n_scored = sum(score.n_scored for score in valued)
    return Score("similarity", name, "spearman", value, n_scored, sum(score.n_total for score in scores))


def _valued(scores: Sequence[Score]) -> list[Score]:
    return [score for score in scores if not math.isnan(score.value)]
