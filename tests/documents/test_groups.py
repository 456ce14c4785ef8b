"""Shares by group and over time: intervals that hold, p-values that are uniform where nothing differs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats

from wordforest.documents import groups
from wordforest.documents.groups import by_group, over_time
from wordforest.errors import InputError


def made(n: int = 600, M: int = 6, seed: int = 0) -> sparse.csr_matrix:
    """Shares of nodes that from a half to a twentieth of the documents have, and these have more or less of."""
    rng = np.random.default_rng(seed)
    use = np.geomspace(0.5, 0.05, M)
    return sparse.csr_matrix(((rng.random((n, M)) < use) * rng.beta(1, 4, (n, M))).astype(np.float32))


def test_means_and_differences_are_those_of_the_definition() -> None:
    X, letters = made(90), np.array(list("abc") * 30)
    found = by_group(X, letters.tolist())
    dense = X.toarray().astype(float)
    for g, letter in enumerate("abc"):
        inside, outside = dense[letters == letter].mean(axis=0), dense[letters != letter].mean(axis=0)
        np.testing.assert_allclose(found.share[g], inside, atol=1e-7)
        np.testing.assert_allclose(found.difference[g], inside - outside, atol=1e-7)
    assert found.groups == ["a", "b", "c"]
    assert found.documents.tolist() == [30, 30, 30]


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    """0.95 within 0.02: the skew of rare nodes takes a little, 1,200 intervals leave an error of 0.006."""
    truth = np.geomspace(0.5, 0.05, 6) / 5  # a beta(1, 4) has the mean 1/5
    covered = []
    for seed in range(20):
        found = by_group(made(3000, seed=seed), np.arange(3000) % 10, resamples=400)
        covered.append((found.low <= truth) & (truth <= found.high))
    assert abs(np.mean(covered) - 0.95) < 0.02


@pytest.mark.parametrize("node", [0, 5])
def test_the_interval_is_that_of_scipys_bootstrap(node: int) -> None:
    X = made(200)
    mine = by_group(X, ["a"] * 200, resamples=4000)
    column = X.toarray()[:, node].astype(float)
    rng = np.random.default_rng(1)
    theirs = stats.bootstrap((column,), np.mean, n_resamples=4000, method="BCa", rng=rng).confidence_interval
    width = theirs.high - theirs.low
    assert abs(mine.low[0, node] - theirs.low) < 0.05 * width  # the error of a percentile of 4,000 is 2 % of the width
    assert abs(mine.high[0, node] - theirs.high) < 0.05 * width  # plain percentiles of node 5 are 9 % too low


def test_many_documents_in_units_have_the_same_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    X = made(3000)
    one_by_one = by_group(X, ["a"] * 3000)
    monkeypatch.setattr(groups, "_UNITS", 700)  # of 4 or 5 documents each
    in_units = by_group(X, ["a"] * 3000)
    widths = (in_units.high - in_units.low) / (one_by_one.high - one_by_one.low)
    assert np.abs(widths - 1).max() < 0.12  # a width from 700 units is known to 3 %, from 1,000 resamples to 4 %


def test_same_bits_twice_and_for_a_group_whatever_other_groups_there_are() -> None:
    X, letters = made(), np.array(list("ab") * 300)
    first, second = by_group(X, letters.tolist()), by_group(X, letters.tolist())
    for a, b in zip(first[2:-1], second[2:-1], strict=True):
        np.testing.assert_array_equal(a, b)
    alone = by_group(X, [letter if letter == "a" else None for letter in letters])
    np.testing.assert_array_equal(alone.low[0], first.low[0])
    assert alone.left_out == 300
    assert (by_group(X, letters.tolist(), seed=1).low != first.low).any()


def test_p_values_of_permuted_groups_are_uniform() -> None:
    X, p = made(), []
    for seed in range(60):
        found = by_group(X, np.random.default_rng(seed).permutation(600) % 3, resamples=1)
        p += found.p[0].tolist()
    for level in (0.05, 0.2, 0.5):
        assert abs(np.mean(np.array(p) < level) - level) < 0.06  # 360 values: three standard errors


@pytest.mark.parametrize("size", [40, 200])
def test_p_is_that_of_many_permutations(size: int) -> None:
    rng, X = np.random.default_rng(0), made(400, M=3)
    group = [i < size for i in range(400)]
    found = by_group(X, group, resamples=1)
    dense = X.toarray().astype(float)
    drawn = np.array([dense[rng.permutation(400)[:size]].mean(axis=0) for _ in range(4000)])
    observed = dense[:size].mean(axis=0)
    one_sided = np.minimum((drawn <= observed).mean(axis=0), (drawn >= observed).mean(axis=0))
    np.testing.assert_allclose(found.p[1], np.minimum(1, 2 * one_sided), atol=0.12)


def test_p_of_tiny_groups_is_rarely_too_small() -> None:
    """4,800 cells of groups of five, where a fifth of the nodes is seen in no document: three standard errors."""
    X = made(1200, M=20)
    p = by_group(X, np.random.default_rng(0).permutation(1200) % 240, resamples=1).p
    for level in (0.05, 0.01, 0.001):
        assert (p < level).mean() < level + 3 * np.sqrt(level / p.size)


def test_absence_from_a_small_group_proves_nothing_and_presence_does() -> None:
    """Where Welch's test sees no variance, so certainty."""
    X = np.zeros((2000, 2))
    X[:20, 0] = 0.5  # rare, and nobody of the small group has it
    X[-5:, 1] = X[:3, 1] = 0.5  # rare, and all of the small group have it
    found = by_group(sparse.csr_matrix(X), ["rest"] * 1995 + ["small"] * 5)
    assert found.p[1, 0] > 0.5
    assert found.q[1, 1] < 1e-4


def test_planted_differences_are_found_and_false_ones_are_few() -> None:
    rng = np.random.default_rng(3)
    X = made(2000, M=60, seed=3).toarray()
    group = rng.permutation(2000) % 4
    X[group == 0, :6] *= 2
    found = by_group(sparse.csr_matrix(X), group.tolist(), resamples=1)
    assert (found.q[0, :6] < 0.05).all()
    assert (found.q[:, 6:] < 0.05).sum() <= 5
    assert (found.q >= found.p).all()


def test_what_cannot_be_said_is_nan() -> None:
    X = made(4, M=2)
    single = by_group(X, ["a", "b", "b", "b"])
    assert np.isnan(single.low[0]).all()
    assert not np.isnan(single.low[1]).any()
    everything = by_group(X, ["a"] * 4)
    assert np.isnan(everything.p).all()
    assert np.isnan(everything.q).all()
    assert np.isnan(everything.difference).all()


def test_a_node_that_is_equal_everywhere_differs_nowhere() -> None:
    found = by_group(sparse.csr_matrix(np.full((6, 1), 0.1, dtype=np.float32)), list("aabbcc"))
    assert found.p.tolist() == [[1.0]] * 3
    assert np.isfinite(found.q).all()


def test_bins_without_documents_are_there_and_documents_without_a_time_are_counted() -> None:
    found = over_time(made(5), ["1990-05", "1991", None, "1993-01-02", ""], bins="year")
    assert found.groups == [1990, 1991, 1992, 1993]
    assert found.documents.tolist() == [1, 1, 0, 1]
    assert np.isnan(found.share[2]).all()
    assert found.left_out == 2


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["a"] * 3, "a value for each of 5 documents, but 3 came"),
        ([None, "", " ", float("nan"), None], "none has one"),
    ],
)
def test_bad_groups_are_told(values: list[object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        by_group(made(5), values)
    with pytest.raises(InputError, match=said):
        over_time(made(5), values)


def test_a_column_of_ids_is_not_one_of_groups() -> None:
    with pytest.raises(InputError, match="one of ids"):
        by_group(made(1500), list(range(1500)))
