"""Intervals and comparisons against SciPy, plain resampling and data whose truth is known."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from wordforest.errors import InputError
from wordforest.evaluation import Outcome, Score, compare, scores_of
from wordforest.evaluation.bootstrap import blocks_of_draws, generator, interval, resampled_accuracy


def keys_of(n: int) -> tuple[str, ...]:
    return tuple(f"item {i}" for i in range(n))


def accuracy(right: Any, name: str = "MSR", n_total: int | None = None) -> Outcome:
    values = np.array(right, dtype=float)
    return Outcome("completion", name, "accuracy", keys_of(len(values)), values, n_total or len(values))


def ranking(values: Any, gold: Any, name: str = "EN-MC-30", n_total: int | None = None) -> Outcome:
    values = np.array(values, dtype=float)
    total = n_total or len(values)
    return Outcome("similarity", name, "spearman", keys_of(len(values)), values, total, np.array(gold, dtype=float))


def correlated(rng: np.random.Generator, n: int, r: float) -> tuple[np.ndarray, np.ndarray]:
    x, e = rng.standard_normal((2, n))
    return x, r * x + math.sqrt(1 - r * r) * e


class TestScores:
    def test_value_and_counts(self) -> None:
        score = scores_of([accuracy([1, 1, 0, 0, 1], n_total=9)])[0]
        assert (score.value, score.n_scored, score.n_total) == (60.0, 5, 9)

    def test_nothing_scored_is_nan_throughout(self) -> None:
        for score in scores_of([ranking([], [], n_total=3), accuracy([], n_total=3)]):
            assert all(math.isnan(x) for x in (score.value, score.low, score.high))
            assert (score.n_scored, score.n_total) == (0, 3)

    def test_an_interval_does_not_depend_on_the_other_sets(self) -> None:
        rng = np.random.default_rng(0)
        one, other = ranking(*correlated(rng, 40, 0.5)), ranking(*correlated(rng, 40, 0.5), name="EN-RG-65")
        assert scores_of([one, other])[1] == scores_of([other])[0]

    def test_accuracy_interval_is_that_of_resampled_items(self) -> None:
        seed, n = 0, 80
        right = (np.random.default_rng(seed).random(n) < 0.3).astype(float)
        fast = resampled_accuracy(right, np.random.default_rng(1), 20_000)
        plain = 100 * right[np.random.default_rng(2).integers(0, n, (20_000, n))].mean(axis=1)
        assert stats.ks_2samp(fast.round(6), plain.round(6)).pvalue > 1e-3  # rounded: shares of n items tie

    @pytest.mark.parametrize("kind", ["spearman", "accuracy"])
    def test_intervals_hold_the_truth_about_95_times_in_100(self, kind: str) -> None:
        n_trials, n, r, share = 300, 100, 0.5, 0.4
        truth = 6 / math.pi * math.asin(r / 2) if kind == "spearman" else 100 * share  # Pearson's formula for normals
        held = 0
        for seed in range(n_trials):
            rng = np.random.default_rng(seed)
            outcome = ranking(*correlated(rng, n, r)) if kind == "spearman" else accuracy(rng.random(n) < share)
            score = scores_of([outcome])[0]
            held += score.low <= truth <= score.high
        assert 0.90 <= held / n_trials <= 0.99  # three standard errors are 0.038; percentiles run a little narrow

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
    def test_interval_is_ordered_and_within_its_values(self, values: list[float]) -> None:
        low, high = interval(np.array([*values, math.nan]))
        assert min(values) <= low <= high <= max(values)


class TestMeans:
    def outcomes(self) -> list[Outcome]:
        a = ranking([1, 2, 3, 4], [1, 2, 4, 3], n_total=6)  # 0.8
        b = ranking([1, 2, 3], [3, 2, 1], name="EN-RG-65")  # -1
        empty = ranking([], [], name="EN-YP-130", n_total=5)
        return [a, b, empty]

    def means(self) -> dict[str, Score]:
        return {score.set: score for score in scores_of(self.outcomes())}

    def test_weighted_mean_weighs_by_scored_pairs(self) -> None:
        mean = self.means()["weighted mean"]
        assert mean.value == pytest.approx((4 * 0.8 - 3) / 7, abs=1e-12)
        assert (mean.n_scored, mean.n_total) == (7, 14)

    def test_plain_mean_counts_sets_once(self) -> None:
        assert self.means()["plain mean"].value == pytest.approx(-0.1, abs=1e-12)

    def test_means_of_nothing_are_nan(self) -> None:
        scores = scores_of([self.outcomes()[2]])
        assert [math.isnan(score.value) for score in scores] == [True, True, True]

    def test_a_pair_in_two_sets_is_one_pair(self) -> None:
        """WS-353 and its parts hold the same pairs: their mean is no surer than one of them."""
        rng = np.random.default_rng(0)
        one = replace(ranking(*correlated(rng, 60, 0.5)), clusters=np.arange(120).reshape(60, 2))
        first, _, *means = scores_of([one, replace(one, set="EN-RG-65")])
        for mean in means:
            assert (mean.low, mean.high) == pytest.approx((first.low, first.high), abs=1e-12)

    def test_means_of_many_sets_are_surer_than_one(self) -> None:
        rng = np.random.default_rng(0)
        sets = [ranking(*correlated(rng, 50, 0.4), name=f"s{i}") for i in range(8)]
        *alone, weighted, plain = scores_of(sets)
        widths = [score.high - score.low for score in alone]
        for mean in (weighted, plain):
            # the standard error of a mean of eight is that of one over sqrt(8)
            assert mean.high - mean.low == pytest.approx(np.mean(widths) / math.sqrt(8), rel=0.25)


class TestCompare:
    def test_accuracies_on_common_items(self) -> None:
        first = Outcome("completion", "MSR", "accuracy", ("a", "b", "c", "d"), np.array([1.0, 1, 0, 1]), 5)
        second = Outcome("completion", "MSR", "accuracy", ("d", "b", "e"), np.array([0.0, 1, 1]), 5)
        (found,) = compare([[first]], [[second]])
        assert (found.first, found.second, found.difference, found.n_common, found.p) == (100.0, 50.0, 50.0, 2, 1.0)

    def test_difference_of_accuracies_is_that_of_resampled_items(self) -> None:
        rng = np.random.default_rng(0)
        first, second = (rng.random((2, 90)) < [[0.6], [0.4]]).astype(float)
        fast = resampled_accuracy(first, np.random.default_rng(1), 20_000, second)
        draws = np.random.default_rng(2).integers(0, 90, (20_000, 90))
        plain = 100 * (first - second)[draws].mean(axis=1)
        assert stats.ks_2samp(fast.round(6), plain.round(6)).pvalue > 1e-3  # rounded: shares of n items tie

    def test_correlations_on_common_items(self) -> None:
        gold = np.arange(6.0)
        first = ranking([1, 2, 3, 4, 5, 6], gold)
        second = Outcome(
            "similarity", "EN-MC-30", "spearman", keys_of(6)[4:0:-1], np.array([2.0, 1, 3, 4]), 6, gold[4:0:-1]
        )
        found = compare([[first]], [[second]])[0]
        theirs = stats.spearmanr([4, 3, 1, 2], gold[1:5]).statistic
        assert (found.first, found.n_common) == (pytest.approx(1.0, abs=1e-12), 4)
        assert found.second == pytest.approx(theirs, abs=1e-12)

    def test_a_model_does_not_differ_from_itself(self) -> None:
        x, y = correlated(np.random.default_rng(0), 60, 0.5)
        for found in compare([[ranking(x, y), accuracy(x > 0)]], [[ranking(x, y), accuracy(x > 0)]]):
            assert (found.difference, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)

    def test_exchanging_the_models_turns_the_sign(self) -> None:
        rng = np.random.default_rng(0)
        x, y = correlated(rng, 60, 0.5)
        a, b = ranking(x, y), ranking(x + rng.standard_normal(60), y)
        one, other = compare([[a]], [[b]])[0], compare([[b]], [[a]])[0]
        assert (one.difference, one.p) == (-other.difference, other.p)
        assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-12)

    def test_a_clear_difference_is_seen(self) -> None:
        rng = np.random.default_rng(0)
        x, y = correlated(rng, 300, 0.8)
        found = compare([[ranking(x, y)]], [[ranking(rng.standard_normal(300), y)]])[0]
        assert found.low > 0
        assert found.p < 0.01

    @pytest.mark.parametrize("kind", ["spearman", "accuracy"])
    def test_equal_models_differ_about_5_times_in_100(self, kind: str) -> None:
        n_trials, n, seen = 300, 80, 0
        for seed in range(n_trials):
            rng = np.random.default_rng(seed)
            y = rng.standard_normal(n)
            noisy = [y + rng.standard_normal(n) for _ in range(2)]
            models = [[[ranking(x, y)]] if kind == "spearman" else [[accuracy(x > 0)]] for x in noisy]
            seen += compare(*models)[0].p < 0.05
        assert seen / n_trials < 0.09  # three standard errors above 0.05; the exact test stays below it

    def test_means_are_weighted_by_common_items(self) -> None:
        gold = [1, 2, 3, 4]
        first = [ranking([1, 2, 3, 4], gold), ranking([1, 2, 3], [1, 2, 3], name="EN-RG-65")]
        second = [ranking([4, 3, 2, 1], gold), ranking([1, 2, 3], [1, 2, 3], name="EN-RG-65")]
        *_, weighted, plain = compare([first], [second])
        assert (weighted.set, weighted.n_common) == ("weighted mean", 7)
        assert weighted.difference == pytest.approx(2 * 4 / 7, abs=1e-12)
        assert plain.difference == pytest.approx(1.0, abs=1e-12)

    def test_means_stand_behind_the_similarity_sets(self) -> None:
        models = [ranking([1, 2], [1, 2]), ranking([1, 2], [1, 2], name="other"), accuracy([1, 0])]
        sets = [found.set for found in compare([models], [models])]
        assert sets == ["EN-MC-30", "other", "weighted mean", "plain mean", "MSR"]

    def test_sets_of_one_model_alone_are_left_out(self) -> None:
        assert [c.set for c in compare([[accuracy([1]), accuracy([1], name="x")]], [[accuracy([0])]])] == ["MSR"]

    def test_no_common_items_are_nan(self) -> None:
        other = Outcome("similarity", "EN-MC-30", "spearman", ("z",), np.ones(1), 1, np.ones(1))
        for found in compare([[ranking([1, 2], [1, 2])]], [[other]]):
            assert math.isnan(found.difference)
            assert found.n_common == 0

    def test_different_human_scores_are_an_input_error(self) -> None:
        with pytest.raises(InputError, match="same human scores"):
            compare([[ranking([1, 2], [1, 2])]], [[ranking([1, 2], [1, 3])]])


def test_streams_of_sets_differ() -> None:
    draws = {tuple(generator(0, "similarity", name).integers(0, 99, 5)) for name in ("a", "b", "c")}
    assert len(draws) == 3


def test_resamples_draw_as_many_items_as_there_are() -> None:
    (draws,) = blocks_of_draws(17, 9, np.random.default_rng(0))
    assert draws.sum(axis=1).tolist() == [17.0] * 9
