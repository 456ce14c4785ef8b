"""Scores of codes, values alone: every item is judged once, by the code of ``evaluate``; halves are parts of that.

Intervals over items would take most of the time, and what a sweep asks is how seeds differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from wordforest.evaluation import Data, Outcome, judge, scores_of
from wordforest.evaluation.suite import Half
from wordforest.reproduce.results import COLUMNS
from wordforest.vectors import Vectors

SCALES = {"raw": 1.0, "flat_norms": 0.0}  # powers of the norm of every dimension, as ``scale`` of a model
Values = dict[str, dict[str, float | None]]  # by half and column


class Judge:
    """Scores matrices over one vocabulary."""

    def __init__(self, words: Sequence[str], data: Data, tasks: Sequence[str], halves: bool) -> None:
        self.words, self.data, self.tasks = words, data, tasks
        alike = Vectors(words, np.ones((len(words), 1), np.float32))  # which items have vectors is a matter of words
        self._items = {
            half: {one.name: frozenset(one.keys) for one in judge(alike, data, tasks=tasks, half=half)}
            for half in (get_args(Half) if halves else ())
        }

    def score(self, A: NDArray[np.float32]) -> dict[str, Values]:
        """Return the scores of codes A (V, M), as they are and with all dimensions equally strong."""
        vectors = Vectors(self.words, A)
        return {name: self._values(vectors if scale == 1 else vectors.scaled(scale)) for name, scale in SCALES.items()}

    def _values(self, vectors: Vectors) -> Values:
        judged = judge(vectors, self.data, tasks=self.tasks)
        halves = {half: [_part(one, names[one.name]) for one in judged] for half, names in self._items.items()}
        return {part: _columns(outcomes) for part, outcomes in {"all": judged, **halves}.items()}


def _part(outcome: Outcome, keys: frozenset[str]) -> Outcome:
    """Return an outcome of those items alone."""
    kept = np.array([key in keys for key in outcome.keys], dtype=np.bool_)
    gold = outcome.gold[kept] if len(outcome.gold) else outcome.gold
    clusters = outcome.clusters[kept] if len(outcome.clusters) else outcome.clusters
    names = tuple(key for key, keep in zip(outcome.keys, kept, strict=True) if keep)
    return replace(outcome, keys=names, values=outcome.values[kept], gold=gold, clusters=clusters)


def _columns(outcomes: Sequence[Outcome]) -> dict[str, float | None]:
    scores = scores_of(outcomes)
    found: dict[str, Any] = {c.name: s.value for c in COLUMNS for s in scores if c.matches(s)}
    return {name: None if np.isnan(value) else round(value, 6) for name, value in found.items()}
