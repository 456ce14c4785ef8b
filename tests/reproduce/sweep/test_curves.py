"""Curves over lam, read off by hand."""

from __future__ import annotations

from typing import Any

import pytest

from wordforest.reproduce.sweep.curves import BITS, DENSITY, ERROR, Curves, Measure, Setting, Spread, by_setting

SCORE = Measure("syntactic", 1, ("scores", "raw", "all", "syntactic"))


def record(structure: str, lam: float, density: float, score: float | None, seed: int = 0, **more: Any) -> Any:
    bits = {"bits_alone": 100 * density, "bits_given_parent": 80 * density}
    where = {"passes": 2, "size": 52, "rows": "raw", "share": 1, "thin": 1, "max_vocab": 0}
    scores = {"scores": {"raw": {"all": {"syntactic": score}}}}
    own = {"structure": structure, "lam": lam, "density": density, "error": 1 - density / 2, "seed": seed}
    return {**where, **own, **bits, **scores, **more}


RECORDS = [
    record("none", 0, 1.0, 40),
    record("tree", 0.1, 0.8, 38),
    record("tree", 1, 0.4, 30),
    record("flat", 0.1, 0.6, 30),
    record("flat", 1, 0.2, 10),
]


def test_a_curve_is_read_between_its_points_and_begins_without_a_penalty():
    curves = Curves(RECORDS, 2)
    assert curves.at(DENSITY, 0.9, SCORE, "tree", 0) == pytest.approx(39)
    assert curves.at(DENSITY, 0.6, SCORE, "tree", 0) == pytest.approx(34)
    assert curves.at(DENSITY, 0.3, SCORE, "tree", 0) is None  # it does not reach
    assert curves.at(DENSITY, 0.3, SCORE, "flat", 0) == pytest.approx(15)
    assert curves.at(ERROR, 0.7, SCORE, "flat", 0) == pytest.approx(30)


def test_a_curve_is_not_read_where_its_points_are_far_apart():
    curves = Curves([record("none", 0, 1.0, 40), record("tree", 1, 0.45, 30), record("tree", 3, 0.4, 20)], 2)
    assert curves.at(DENSITY, 0.7, SCORE, "tree", 0) is None
    assert curves.at(BITS, 70, SCORE, "tree", 0) is None  # 36 to 100 bits are the same two points
    assert curves.at(DENSITY, 0.45, SCORE, "tree", 0) == pytest.approx(30)  # a point itself
    assert curves.at(DENSITY, 0.42, SCORE, "tree", 0) == pytest.approx(24)


def test_the_tree_codes_what_is_on_given_its_parents_and_flat_does_not():
    assert [BITS.of(one) for one in RECORDS] == [100, 64, 32, 60, 20]


def test_differences_are_paired_by_seed():
    second = [{**one, "seed": 1, "scores": {"raw": {"all": {"syntactic": 5}}}} for one in RECORDS]
    curves = Curves([*RECORDS, *second], 2)
    found = curves.difference(DENSITY, 0.6, SCORE)
    assert found == Spread(pytest.approx(2), pytest.approx(8**0.5), 2)
    assert not found.is_clear
    assert Spread(2.0, 0.9, 5).is_clear
    assert not Spread(2.0, float("nan"), 1).is_clear


def test_places_lie_within_what_both_reach():
    assert Curves(RECORDS, 2).places(ERROR) == [0.575, 0.65, 0.725]  # 0.5 to 0.8, which the tree reaches
    assert Curves(RECORDS, 2).places(BITS) == [49.0, 66.0, 83.0]


def test_where_flat_falls_to_a_share_of_the_tree():
    density, lam, share = Curves(RECORDS, 2).falls_to(0.5, SCORE, 0.1)  # to 19, between 30 and 10
    assert density is not None
    assert lam is not None
    assert (density.mean, lam.mean, share) == (pytest.approx(0.38), pytest.approx(0.595), 1.0)
    assert Curves(RECORDS, 2).falls_to(0.1, SCORE, 0.1) == (None, None, 0.0)


def test_records_come_by_setting_and_it_is_said_in_words():
    found = by_setting([*RECORDS, record("tree", 1, 0.4, None, share=0.25, max_vocab=5000)])
    assert [len(own) for own in found.values()] == [5, 1]
    assert str(Setting(52, "unit", 0.25, 0.05, 5000)) == (
        "M = 52, unit rows, every 4th line, counts thinned to 0.05, 5,000 words at most"
    )
