"""Scores of a sweep are those of ``evaluate``, on all items and on either half."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wordforest as wf
from wordforest.evaluation import find_data
from wordforest.reproduce.results import COLUMNS
from wordforest.reproduce.sweep.score import Judge
from wordforest.vectors import Vectors

WORDS = [
    *("man", "king", "woman", "queen", "his", "he", "her", "she"),
    *("cat", "dog", "horse", "cow", "paris", "london", "berlin", "madrid", "rome"),
]


@pytest.mark.parametrize("half", [None, "development", "test"])
def test_values_are_those_of_evaluate(data: Path, half: str | None) -> None:
    A = np.random.default_rng(0).standard_normal((len(WORDS), 6)).astype(np.float32)
    found = Judge(WORDS, find_data(data), ("similarity", "analogy"), halves=True).score(A)
    vectors = Vectors(WORDS, A)
    for name, judged in (("raw", vectors), ("flat_norms", vectors.scaled(0.0))):
        scores = wf.evaluate(judged, data, tasks=("similarity", "analogy"), half=half)
        expected = {column.name: score.value for column in COLUMNS for score in scores if column.matches(score)}
        values = {key: np.nan if value is None else value for key, value in found[name][half or "all"].items()}
        assert values == pytest.approx(expected, abs=1e-6, nan_ok=True)
    assert found["raw"] != found["flat_norms"]


def test_without_halves_all_items_are_scored_alone(data: Path) -> None:
    A = np.random.default_rng(0).standard_normal((len(WORDS), 6)).astype(np.float32)
    assert set(Judge(WORDS, find_data(data), ("similarity",), halves=False).score(A)["raw"]) == {"all"}
