"""Standard errors against data whose truth is known, the jackknife, and cases worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from wordforest.evaluation import Outcome, compare, corrected, scores_of
from wordforest.evaluation.scores import cluster_ids
from wordforest.evaluation.standard_error import (
    Variance,
    holm,
    mcnemar,
    over_items,
    over_seeds,
    p_value,
    spearman,
    spearman_effects,
    together,
)

N_TRIALS = 300


def questions(n_relations: int, n_pairs: int) -> np.ndarray:
    """Every pair of a relation with every other, as in the analogies: (n, 2) pairs, numbered through all relations."""
    one = np.array([(i, j) for i in range(n_pairs) for j in range(n_pairs) if i != j])
    return np.concatenate([one + r * n_pairs for r in range(n_relations)])


def chance(rng: np.random.Generator, pairs: np.ndarray, sd: float) -> np.ndarray:
    """Return how likely each question is answered, with planted effects of its two pairs; 50 % on average."""
    prompt, answer = sd * rng.standard_normal((2, pairs.max() + 1))
    return 1 / (1 + np.exp(-0.5 * prompt[pairs[:, 0]] - answer[pairs[:, 1]]))


def analogies(right: np.ndarray, pairs: np.ndarray) -> Outcome:
    keys = tuple(f"{a} {b}" for a, b in pairs)
    return Outcome("analogy", "semantic", "accuracy", keys, right.astype(float), len(keys), clusters=pairs)


def test_a_relation_of_two_pairs_adds_nothing_and_divides_by_nothing() -> None:
    large = questions(1, 5)
    both = np.concatenate([large, questions(1, 2) + 5])  # the last two vary against nothing; a warning is an error here
    right = np.arange(len(both)) % 3 == 0
    alone = scores_of([analogies(right[: len(large)], large)])[0]
    together = scores_of([analogies(right, both)])[0]
    assert np.isfinite([alone.low, alone.high, together.low, together.high]).all()


def single(right: np.ndarray) -> Outcome:
    return Outcome("completion", "MSR", "accuracy", tuple(map(str, range(len(right)))), right * 1.0, len(right))


class TestCoverage:
    def test_an_interval_over_questions_that_share_pairs_holds_the_truth(self) -> None:
        pairs, held, alone = questions(4, 12), 0, 0
        for seed in range(N_TRIALS):
            rng = np.random.default_rng(seed)
            right = rng.random(len(pairs)) < chance(rng, pairs, 1.5)
            score = scores_of([analogies(right, pairs)])[0]
            held += score.low <= 50 <= score.high
            unrelated = scores_of([single(right)])[0]
            alone += unrelated.low <= 50 <= unrelated.high
        assert 0.91 <= held / N_TRIALS <= 0.985  # three standard errors are 0.038
        assert alone / N_TRIALS < 0.7  # questions taken one by one: far too sure

    def test_an_interval_over_pairs_that_share_words_holds_the_truth(self) -> None:
        n, n_words, held, alone = 600, 100, 0, 0
        truth = 6 / math.pi * math.asin(0.5 / 2)  # Pearson's formula for normals with correlation 0.5
        for seed in range(N_TRIALS):
            rng = np.random.default_rng(seed)
            one, step = rng.integers(0, n_words, n), rng.integers(1, n_words, n)
            words = np.stack([one, (one + step) % n_words], axis=1)  # never twice the same
            (a, b), (x, y) = rng.standard_normal((2, n_words)), rng.standard_normal((2, n))
            gold = x + a[words].sum(axis=1)  # half of the variance is that of words
            cosine = 0.5 * gold + math.sqrt(0.75) * (y + b[words].sum(axis=1))
            pairs = Outcome("similarity", "x", "spearman", tuple(map(str, range(n))), cosine, n, gold, words)
            score = scores_of([pairs])[0]
            held += score.low <= truth <= score.high
            variance = over_items(spearman_effects(cosine, gold), np.empty((n, 0), dtype=np.int64))
            alone += abs(score.value - truth) <= 1.96 * math.sqrt(variance.value)
        assert 0.91 <= held / N_TRIALS <= 0.985
        assert alone / N_TRIALS < 0.9

    def test_an_interval_of_a_mean_over_seeds_is_for_other_seeds(self) -> None:
        n, S, held, alone = 300, 3, 0, 0
        for seed in range(N_TRIALS):
            rng = np.random.default_rng(seed)
            skill = 0.5 + 0.08 * rng.uniform(-1, 1, S)  # as wide as the chance of 300 items
            difficulty = rng.random(n)
            runs = [[single(difficulty < s)] for s in skill]
            score = scores_of(*runs)[0]
            held += score.low <= 50 <= score.high
            first = scores_of(runs[0])[0]
            alone += first.low <= 50 <= first.high
        assert 0.91 <= held / N_TRIALS <= 0.985
        assert alone / N_TRIALS < 0.9  # one seed does not know what other seeds would do


class TestCompare:
    @pytest.mark.parametrize("n_seeds", [1, 3])
    def test_equal_models_differ_about_5_times_in_100(self, n_seeds: int) -> None:
        pairs, seen = questions(4, 12), 0
        for seed in range(N_TRIALS):
            rng = np.random.default_rng(seed)
            sides = [chance(rng, pairs, 1.0) for _ in range(2)]
            runs = [[[analogies(rng.random(len(pairs)) < p, pairs)] for _ in range(n_seeds)] for p in sides]
            seen += compare(*runs, paired=True)[0].p < 0.05
        assert 0.01 <= seen / N_TRIALS <= 0.09

    def test_a_planted_difference_is_found(self) -> None:
        rng, pairs = np.random.default_rng(0), questions(6, 20)
        p = chance(rng, pairs, 1.0)
        better, worse = (analogies(rng.random(len(pairs)) < q, pairs) for q in (p, p - 0.1))
        found = compare([[better]], [[worse]])[0]
        assert found.low < 10 < found.high
        assert found.low > 0
        assert found.p < 0.001

    def test_seeds_that_are_the_same_are_paired(self) -> None:
        rng = np.random.default_rng(0)
        base = rng.random(400)
        runs = [[[single(base < s + d)] for s in (0.3, 0.5, 0.7)] for d in (0.1, 0.0)]
        one_by_one, apart = compare(*runs, paired=True)[0], compare(*runs)[0]
        assert one_by_one.difference == apart.difference
        assert one_by_one.p < 0.01 < 0.3 < apart.p

    def test_single_items_and_one_seed_are_as_resampled_items_and_mcnemar_have_it(self) -> None:
        rng = np.random.default_rng(0)
        first, second = (rng.random((2, 900)) < [[0.4], [0.35]]).astype(float)
        found = compare([[single(first)]], [[single(second)]])[0]
        drawn = rng.integers(0, 900, (4000, 900))
        low, high = np.percentile(100 * (first - second)[drawn].mean(axis=1), [2.5, 97.5])
        assert (found.low, found.high) == pytest.approx((low, high), abs=0.3)  # of 8.7 points; percentiles are rough
        assert found.p == mcnemar(first, second)

    @given(st.integers(0, 60), st.integers(0, 60))
    def test_mcnemar_equals_scipy(self, gains: int, losses: int) -> None:
        first = np.array([1] * gains + [0] * losses + [1, 0], dtype=float)
        second = np.array([0] * gains + [1] * losses + [1, 0], dtype=float)
        theirs = stats.binomtest(gains, gains + losses).pvalue if gains + losses else 1.0
        assert mcnemar(first, second) == pytest.approx(theirs, rel=1e-9)

    def test_too_few_pairs_say_nothing(self) -> None:
        pairs = np.array([[0, 1], [1, 0]])
        found = compare([[analogies(np.ones(2), pairs)]], [[analogies(np.zeros(2), pairs)]])[0]
        assert found.difference == 100
        assert all(math.isnan(x) for x in (found.low, found.high, found.p))


class TestVariance:
    def test_by_hand(self) -> None:
        """Effects 3, -1, -2 of items (a, b), (a, c), (b, c): S = 2, 1, -3, and G = 3 has the factor 6."""
        found = over_items(np.array([3.0, -1, -2]), np.array([[0, 1], [0, 2], [1, 2]]))
        assert found == (6 * (4 + 1 + 9) - (9 + 1 + 4), 2)

    def test_a_relation_of_one_couple_beside_a_larger_one_adds_nothing(self) -> None:
        effects, pairs = np.array([3.0, -1, -2]), np.array([[0, 1], [0, 2], [1, 2]])
        beside = over_items(np.append(effects, 5.0), np.vstack([pairs, [[3, 4]]]), within_relations=True)
        assert beside == over_items(effects, pairs, within_relations=True)

    def test_items_that_share_nothing_vary_alone(self) -> None:
        effects = np.random.default_rng(0).standard_normal(400)
        shared = over_items(effects, np.arange(800).reshape(400, 2))
        alone = over_items(effects, np.empty((400, 0), dtype=np.int64))
        assert shared.value == pytest.approx(alone.value, rel=0.01)  # factors of 1 / 800 and 1 / 400

    def test_relations_are_drawn_from_each_for_itself(self) -> None:
        """Two relations that differ, without any difference inside: other pairs would change nothing."""
        pairs = questions(2, 5)
        effects = np.repeat([1.0, -1.0], 20)
        assert over_items(effects, pairs, within_relations=True).value == 0
        assert over_items(effects, pairs).value > 0

    def test_the_relations_of_questions_are_given(self) -> None:
        pairs = np.concatenate([questions(2, 5), [[10, 11], [11, 10]]])  # and one of two pairs, which says nothing
        score = scores_of([analogies(np.repeat([1, 0, 1], [20, 20, 2]), pairs)])[0]
        assert score.low == score.value == score.high

    def test_a_pair_of_one_word_counts_once(self) -> None:
        clusters = np.array([[0, 0], [1, 2], [3, 4], [5, 6]])
        found = over_items(np.array([3.0, -1, -1, -1]), clusters)
        assert found.value == pytest.approx(7 * 6 / 25 * (9 + 6) - 3)  # S^2 has the others twice, hence less their T^2

    @given(st.integers(5, 30), st.integers(2, 9), st.integers(0, 10**6))
    def test_effects_add_up_to_0(self, n: int, n_values: int, seed: int) -> None:
        x, y = np.random.default_rng(seed).integers(0, n_values, (2, n)).astype(float)
        assert abs(spearman_effects(x, y).sum()) < 1e-12

    def test_effects_are_those_of_the_jackknife(self) -> None:
        n = 400
        x, y = np.random.default_rng(0).integers(0, 50, (2, n)).astype(float)  # with ties
        y += x
        left_out = np.array([spearman(np.delete(x, i), np.delete(y, i)) for i in range(n)])
        jackknife = (n - 1) / n * (left_out.mean() - left_out)
        np.testing.assert_allclose(spearman_effects(x, y), jackknife, atol=0.02 * jackknife.std())

    def test_seeds(self) -> None:
        assert over_seeds(np.array([1.0, 2, 3])) == (1 / 3, 2)
        assert over_seeds(np.array([5.0])).value == 0

    def test_welch_is_two_parts_together(self) -> None:
        a, b = np.random.default_rng(0).standard_normal((2, 5)) * [[1], [3]]
        b = b[:3]
        found = together(over_seeds(a), over_seeds(b))
        theirs = stats.ttest_ind(a, b, equal_var=False)
        assert found.freedom == pytest.approx(theirs.df)
        assert p_value(float(a.mean() - b.mean()), found) == pytest.approx(theirs.pvalue)

    def test_the_same_difference_everywhere_has_no_p(self) -> None:
        assert math.isnan(p_value(1.0, Variance(0.0, 5)))


class TestHolm:
    def test_the_example_of_holm(self) -> None:
        assert holm([0.01, 0.02, 0.03, 0.005]) == pytest.approx([0.03, 0.04, 0.04, 0.02])

    def test_no_test_is_not_counted(self) -> None:
        found = holm([0.02, math.nan, 0.5])
        assert found[::2] == pytest.approx([0.04, 0.5])
        assert math.isnan(found[1])

    @given(st.lists(st.floats(0, 1), max_size=20))
    def test_never_smaller_never_above_one_in_the_same_order(self, ps: list[float]) -> None:
        found = holm(ps)
        assert all(p <= q <= 1 for p, q in zip(ps, found, strict=True))
        assert all(found[i] <= found[j] for i, p in enumerate(ps) for j, q in enumerate(ps) if p < q)

    def test_a_table_of_comparisons_is_corrected_as_one(self) -> None:
        right = np.repeat([1.0, 0.0], [8, 12])
        items = {
            name: Outcome("completion", name, "accuracy", tuple("abcdefghijklmnopqrst"), right, 20) for name in "xy"
        }
        other = [Outcome("completion", name, "accuracy", one.keys, 0 * right, 20) for name, one in items.items()]
        found = corrected(compare([list(items.values())], [other]))
        assert [one.p_holm for one in found] == [2 * one.p for one in found]


def test_a_cluster_has_the_same_number_in_every_set() -> None:
    one, other = cluster_ids([("cat", "dog")]), cluster_ids([("sun", "cat"), ("dog", "moon")])
    assert one[0, 0] == other[0, 1]
    assert len(set(other.ravel().tolist())) == 4
