"""Use of nodes and words by slice: sums, log odds, intervals, tests and change points against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tests.slices.made import documents, sliced
from wordforest.slices import Slices
from wordforest.slices.usage import PRIOR, Sums, change_points, sum_up, usage


def made(counts: np.ndarray, lengths: np.ndarray, code: np.ndarray) -> Sums:
    """Return the sums of documents with so many of K things and of lengths."""
    S = int(code.max()) + 1
    within = np.eye(S)[code].T  # (S, n)
    c, L = counts.astype(float), lengths.astype(float)[:, None]
    mixed = [c * L, c * L**2, c**2 * L]
    return Sums(
        np.bincount(code),
        np.stack([within @ lengths**k for k in (1, 2, 3)]),
        np.stack([within @ c**k for k in (1, 2, 3)]),
        np.stack([within @ one for one in mixed]),
    )


def test_sums_are_those_of_documents() -> None:
    slices = sliced(*documents(10))
    bags = np.concatenate([bags.toarray() for bags, _ in slices.bags()])
    expected = made(bags, bags.sum(axis=1), slices.code)
    found = sum_up(slices)
    for name in ("documents", "length", "count", "mixed"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name))
    shares = sparse.csr_array(np.random.default_rng(0).random((len(slices.words), 3)))
    nodes, wanted = sum_up(slices, shares), made(bags @ shares.toarray(), bags.sum(axis=1), slices.code)
    np.testing.assert_allclose(nodes.mixed, wanted.mixed)


def test_residuals_are_what_documents_have_beyond_their_length() -> None:
    rng = np.random.default_rng(0)
    counts, lengths, code = rng.integers(0, 9, (20, 3)), rng.integers(10, 50, 20), np.arange(20) % 2
    p = counts.sum(axis=0) / lengths.sum()
    r = counts - lengths[:, None] * p
    expected = [[(r[code == s] ** k).sum(axis=0) for s in range(2)] for k in (1, 2, 3)]
    np.testing.assert_allclose(made(counts, lengths, code).residuals(), expected, rtol=1e-9, atol=1e-9)


def test_log_odds_have_the_prior_of_the_whole() -> None:
    slices = sliced(*documents(10))
    found, row = usage(slices, sum_up(slices)), slices.words.index("ship")
    f = slices.frequencies.astype(float)
    n, y, a = f.sum(axis=1), f[:, row], PRIOR * f[:, row].sum() / f.sum()
    odds = np.log((y + a) / (n + PRIOR - y - a))
    assert found.log_odds[0, row] == pytest.approx(odds[0] - odds[1], rel=1e-6)
    assert found.log_odds[1, row] == pytest.approx(odds[1] - odds[0], rel=1e-6)


def test_intervals_cover_the_share_and_widen_with_fewer_documents() -> None:
    wide = []
    for n in (10, 80):
        slices = sliced(*documents(n))
        shares = sparse.csr_array(np.eye(len(slices.words))[:, :4])
        found = usage(slices, sum_up(slices, shares), shares)
        assert ((found.low <= found.share) & (found.share <= found.high)).all()
        wide.append(float((found.high - found.low).mean()))
    assert wide[0] > 1.8 * wide[1]  # about the square root of eight


def test_a_test_at_its_level_has_few_false_alarms() -> None:
    """100 random halves, five things each: p below 0.05 in 2 to 9 % of cells, seed 0."""
    rng = np.random.default_rng(0)
    counts, lengths = rng.poisson(3, (200, 5)) * (rng.random((200, 5)) < 0.4), rng.integers(30, 90, 200)
    slices, p = sliced(*documents(4)), []
    for _ in range(100):
        sums = made(counts, lengths, rng.permutation(200) % 2)
        p.append(usage(slices, sums).p[0])
    assert 0.02 < np.mean(np.array(p) < 0.05) < 0.09


def test_few_long_documents_make_no_false_alarm() -> None:
    """12 documents of 1,000 words against 300 of 40, topics alike: p below 0.05 in less than 12 % of 500 cells."""
    slices, rng, p = sliced(*documents(4)), np.random.default_rng(0), []
    lengths = np.concatenate((np.full(12, 1000), np.full(300, 40)))
    code = (lengths == 40).astype(int)
    for _ in range(100):
        rate = rng.gamma(2, 0.02, (312, 5))  # documents differ
        p.append(usage(slices, made(rng.binomial(lengths[:, None], np.minimum(rate, 1)), lengths, code)).p[0])
    assert np.mean(np.array(p) < 0.05) < 0.12


def test_the_root_of_a_single_tree_has_finite_log_odds() -> None:
    slices = sliced(*documents(6))
    shares = sparse.csr_array(np.ones((len(slices.words), 1), dtype=np.float32))
    found = usage(slices, sum_up(slices, shares), shares)
    assert np.isfinite(found.log_odds).all()
    np.testing.assert_allclose(found.log_odds, 0, atol=0.1)


def test_a_step_in_a_curve_is_found_where_it_is() -> None:
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(8), 20)
    rate = np.where(code >= 5, 0.10, 0.03)[:, None] * np.array([1, 0]) + np.array([0, 0.05])
    lengths = np.full(160, 100)
    found = change_points(made(rng.binomial(100, rate), lengths, code))
    assert [(change.thing, change.slice) for change in found] == [(0, 5)]
    assert found[0].before == pytest.approx(0.03, abs=0.01)
    assert found[0].after == pytest.approx(0.10, abs=0.01)


def test_two_steps_are_found_one_after_the_other() -> None:
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(9), 20)
    rate = np.array([0.02, 0.10, 0.02])[code // 3][:, None]
    found = change_points(made(rng.binomial(100, rate), np.full(180, 100), code))
    assert [change.slice for change in found] == [3, 6]


def test_a_slice_of_a_single_document_has_no_interval() -> None:
    slices = sliced(*documents(6))
    code = np.zeros(len(slices.code), dtype=np.int32)
    code[0] = 1
    own = Slices(slices.words, slices.ids, slices.borders, code, ("many", "one"), slices.documents)
    shares = sparse.csr_array(np.eye(len(slices.words))[:, :3])
    found = usage(own, sum_up(own, shares), shares)
    assert np.isnan(found.low[1]).all()
    assert np.isfinite(found.low[0]).all()
