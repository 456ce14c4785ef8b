"""The gap is never smaller than what is missing, and vanishes at the solution."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordforest.coder.certificate import duality_gaps, lam_max, zero_is_best
from wordforest.coder.coding import Gram, admm, fista, word_objectives
from wordforest.coder.forest import Forest
from wordforest.coder.penalties import (
    L1,
    ForestL2,
    NonNegativeL1,
    NoPenalty,
    Penalty,
    depth_weights,
    with_lam,
)

FOREST = Forest.complete(1)
WEIGHTS = depth_weights(FOREST, (0.5, 0.8, 1.2))
PENALTIES = [
    ForestL2(FOREST, 1.0),
    ForestL2(FOREST, 1.0, WEIGHTS, nonnegative=True),
    L1(1.0),
    NonNegativeL1(1.0),
]
NAMES = ["l2", "l2-nonnegative", "l1", "l1-nonnegative"]
every_penalty = pytest.mark.parametrize("penalty", PENALTIES, ids=NAMES)
seeds = st.integers(0, 2**32 - 1)


class Problem:
    """Eight words of forty contexts, one of them zero, and a dictionary of thirteen unit columns."""

    def __init__(self, seed: int, n_contexts: int = 40) -> None:
        rng = np.random.default_rng(seed)
        D = rng.standard_normal((n_contexts, 13))
        D /= np.linalg.norm(D, axis=0)
        self.X = rng.standard_normal((8, 13)) @ D.T + 0.3 * rng.standard_normal((8, n_contexts))
        self.X[3] = 0
        self.D, self.XD, self.gram = D, self.X @ D, Gram(D.T @ D)
        self.squares = (self.X**2).sum(1)

    def gaps(self, A: Any, penalty: Penalty) -> Any:
        return duality_gaps(A, self.XD, self.squares, self.gram.DD, penalty)

    def values(self, A: Any, penalty: Penalty) -> Any:
        return word_objectives(A, self.XD, self.gram, penalty)

    def solve(self, penalty: Penalty) -> Any:
        return fista(self.XD, self.gram, penalty, tol=1e-13, max_iter=20_000).A


@every_penalty
@given(seed=seeds, share=st.sampled_from([0.0, 0.01, 0.1, 0.5, 0.99]), noise=st.sampled_from([0.0, 1e-6, 1e-2, 1.0]))
def test_the_gap_is_never_smaller_than_what_is_missing(penalty: Penalty, seed: int, share: float, noise: float) -> None:
    p = Problem(seed)
    penalty = with_lam(penalty, share * lam_max(p.XD, penalty))
    best = p.solve(penalty)
    A = penalty.prox(best + noise * np.random.default_rng(seed).standard_normal(best.shape), 0.0)
    missing = p.values(A, penalty) - p.values(best, penalty)
    assert (p.gaps(A, penalty) >= missing - 1e-12 * p.squares).all()  # rounding of |x|^2


@every_penalty
@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.99])
def test_the_gap_vanishes_at_the_solution(penalty: Penalty, share: float) -> None:
    p = Problem(0)
    penalty = with_lam(penalty, share * lam_max(p.XD, penalty))
    assert (p.gaps(p.solve(penalty), penalty) <= 1e-9 * p.squares).all()


@every_penalty
def test_the_gap_of_codes_in_single_precision_is_small(penalty: Penalty) -> None:
    p = Problem(0)
    penalty = with_lam(penalty, 0.1 * lam_max(p.XD, penalty))
    XD, DD, squares = (part.astype(np.float32) for part in (p.XD, p.gram.DD, p.squares))
    A = admm(XD, Gram(DD), penalty, tol=0.0, max_iter=500).A
    assert A.dtype == np.float32
    assert (duality_gaps(A, XD, squares, DD, penalty) <= 1e-6 * p.squares).all()


@every_penalty
def test_the_gap_falls_with_the_distance_from_the_solution(penalty: Penalty) -> None:
    p = Problem(0)
    penalty = with_lam(penalty, 0.3)
    best = p.solve(penalty)
    gaps = [p.gaps(best * (1 + distance), penalty).sum() for distance in (1e-2, 1e-4, 1e-6)]
    # at least in proportion, but for the half by which the excess may be too large
    assert gaps[1] < 2e-2 * gaps[0]
    assert gaps[2] < 2e-2 * gaps[1]


@every_penalty
def test_a_word_of_zeros_has_no_gap(penalty: Penalty) -> None:
    p = Problem(0)
    assert p.gaps(np.zeros_like(p.XD), penalty)[3] == 0


def test_without_penalty_the_gap_bounds_least_squares() -> None:
    p = Problem(0)
    best = np.linalg.lstsq(p.D, p.X.T)[0].T
    A = best + 0.1
    missing = p.values(A, NoPenalty()) - p.values(best, NoPenalty())
    mu = np.linalg.eigvalsh(p.gram.DD)[0]
    expected = ((p.XD - A @ p.gram.DD) ** 2).sum(1) / mu  # |D'r|^2 / mu
    gaps = p.gaps(A, NoPenalty())
    assert (gaps >= missing).all()
    np.testing.assert_allclose(gaps, np.minimum(expected, ((p.X - A @ p.D.T) ** 2).sum(1)), rtol=1e-9)


def test_with_a_flat_direction_and_no_penalty_the_gap_is_the_loss() -> None:
    p = Problem(0, n_contexts=6)  # fewer contexts than atoms
    A = np.full_like(p.XD, 0.1)
    np.testing.assert_allclose(p.gaps(A, NoPenalty()), ((p.X - A @ p.D.T) ** 2).sum(1), rtol=1e-9)


@given(seeds)
def test_gaps_are_finite(seed: int) -> None:
    p = Problem(seed, n_contexts=40 if seed % 2 else 6)
    rng = np.random.default_rng(seed)
    for penalty in PENALTIES:
        scaled = with_lam(penalty, rng.choice([0.0, 1e-6, 0.1, 1.0]) * lam_max(p.XD, penalty))
        A = scaled.prox(rng.standard_normal(p.XD.shape) * rng.choice([0.0, 1e-8, 1.0, 1e8]), 0.0)
        assert np.isfinite(p.gaps(A, scaled)).all()


def test_a_forbidden_code_has_an_infinite_gap() -> None:
    p = Problem(0)
    assert (p.gaps(np.full_like(p.XD, -1.0), NonNegativeL1(0.5)) == np.inf).all()


def test_a_code_that_is_no_number_has_an_infinite_gap() -> None:
    p = Problem(0)
    assert (p.gaps(np.full_like(p.XD, np.nan), L1(0.5)) == np.inf).all()


@every_penalty
def test_tensors_have_the_same_gaps(penalty: Penalty) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    p = Problem(0)
    A = np.random.default_rng(0).uniform(size=p.XD.shape)
    for lam in (0.0, 1.0):
        gaps = duality_gaps(*[torch.from_numpy(x) for x in (A, p.XD, p.squares, p.gram.DD)], with_lam(penalty, lam))
        np.testing.assert_allclose(gaps.numpy(), p.gaps(A, with_lam(penalty, lam)), rtol=1e-9)
    assert lam_max(torch.from_numpy(p.XD), penalty) == pytest.approx(lam_max(p.XD, penalty), rel=1e-9)


@every_penalty
@pytest.mark.parametrize("seed", range(3))
def test_just_above_the_largest_lam_all_codes_are_zero(penalty: Penalty, seed: int) -> None:
    p = Problem(seed)
    above = with_lam(penalty, lam_max(p.XD, penalty) * (1 + 1e-6))
    assert np.count_nonzero(p.solve(above)) == 0


@every_penalty
@pytest.mark.parametrize("seed", range(3))
def test_just_below_the_largest_lam_some_codes_are_not_zero(penalty: Penalty, seed: int) -> None:
    p = Problem(seed)
    below = with_lam(penalty, lam_max(p.XD, penalty) * (1 - 1e-3))
    assert np.count_nonzero(p.solve(below)) > 0


def test_the_largest_lam_of_the_lasso_is_twice_the_largest_correlation() -> None:
    XD = Problem(0).XD
    assert lam_max(XD, L1(7.0)) == pytest.approx(2 * abs(XD).max(), rel=1e-9)


def test_the_largest_lam_of_non_negative_codes_is_twice_the_largest_positive_correlation() -> None:
    XD = Problem(0).XD
    XD[np.unravel_index(XD.argmax(), XD.shape)] = -100.0
    assert lam_max(XD, NonNegativeL1(7.0)) == pytest.approx(2 * XD.max(), rel=1e-9)


@pytest.mark.parametrize(
    ("XD", "penalty", "expected"),
    [
        (np.zeros((2, 13)), PENALTIES[0], 0.0),
        (np.full((2, 13), -1.0), PENALTIES[1], 0.0),
        (np.ones((2, 13)), NoPenalty(), np.inf),
    ],
    ids=["zero words", "nothing positive", "no penalty"],
)
def test_extreme_largest_lams(XD: np.ndarray, penalty: Penalty, expected: float) -> None:
    assert lam_max(XD, penalty) == expected


@every_penalty
def test_words_whose_best_code_is_zero_are_known_beforehand(penalty: Penalty) -> None:
    p = Problem(1)
    penalty = with_lam(penalty, 0.7 * lam_max(p.XD, penalty))
    expected = (p.solve(penalty) == 0).all(1)
    assert 1 < expected.sum() < len(expected)
    np.testing.assert_array_equal(zero_is_best(p.XD, penalty), expected)
