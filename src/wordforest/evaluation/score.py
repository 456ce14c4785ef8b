"""From outcomes to numbers: a score with its interval for every set, and one number for several similarity sets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from wordforest.evaluation.bootstrap import N_RESAMPLES, Array, generator, interval, resampled_accuracy
from wordforest.evaluation.outcome import Outcome
from wordforest.evaluation.ranks import resampled_spearman
from wordforest.evaluation.similarity import averaged


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
    scores = [_score(outcome, values) for outcome, values in zip(outcomes, resampled, strict=True)]
    chosen = {id(outcome) for outcome in averaged(outcomes)}
    places = [i for i, outcome in enumerate(outcomes) if id(outcome) in chosen]
    if not places:
        return scores
    means = _means([scores[i] for i in places], [resampled[i] for i in places])
    behind = 1 + max(i for i, outcome in enumerate(outcomes) if outcome.task == "similarity")
    return [*scores[:behind], *means, *scores[behind:]]


def mean_weights(sizes: Sequence[int]) -> dict[str, Array]:
    """Return the share of every set in the weighted and in the plain mean, (sets,) each, with sum 1."""
    n = np.array(sizes, dtype=np.float64)
    return {"weighted mean": n / n.sum(), "plain mean": np.full(len(n), 1 / len(n))}


def _score(outcome: Outcome, resampled: Array) -> Score:
    ends = interval(resampled)
    return Score(*outcome.name, outcome.value, outcome.n_scored, outcome.n_total, *ends)


def _resampled(outcome: Outcome, seed: int, n_resamples: int) -> Array:
    """Return the value of every resample, (n_resamples,)."""
    if not outcome.n_scored:
        return np.full(n_resamples, np.nan)
    rng = generator(seed, outcome.task, outcome.set)
    if outcome.metric == "spearman":
        (found,) = resampled_spearman(outcome.values[None], outcome.gold, rng, n_resamples)
        return np.asarray(found)
    return resampled_accuracy(outcome.values, rng, n_resamples)


def _means(scores: list[Score], resampled: list[Array]) -> list[Score]:
    n_total = sum(score.n_total for score in scores)
    valued = [i for i, score in enumerate(scores) if not math.isnan(score.value)]
    if not valued:
        nothing = (math.nan, 0, n_total)
        return [Score("similarity", name, "spearman", *nothing) for name in ("weighted mean", "plain mean")]
    sizes = [scores[i].n_scored for i in valued]
    values = np.array([scores[i].value for i in valued])
    many = np.array([resampled[i] for i in valued])  # (sets, n_resamples)
    return [
        Score("similarity", name, "spearman", float(share @ values), sum(sizes), n_total, *interval(share @ many))
        for name, share in mean_weights(sizes).items()
    ]
