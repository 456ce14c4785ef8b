import itertools

import numpy as np
import pytest

from wordforest.coder.dictionary import CodeStats, update_dictionary
from wordforest.coder.objective import objective
from wordforest.coder.penalties import NoPenalty


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X, A, D = rng.standard_normal((50, 30)), rng.standard_normal((50, 39)), rng.standard_normal((30, 39))
    return X, A, D / np.linalg.norm(D, axis=0)


@pytest.mark.parametrize("seed", range(5))
def test_a_sweep_never_raises_the_objective(seed: int) -> None:
    X, A, D = problem(seed)
    stats = CodeStats(A.T @ A, X.T @ A)
    values = [objective(X, D, A, NoPenalty())]
    for _ in range(10):
        D = update_dictionary(D, stats)
        values.append(objective(X, D, A, NoPenalty()))
    assert all(after <= before * (1 + 1e-12) for before, after in itertools.pairwise(values))


@pytest.mark.parametrize("seed", range(5))
def test_atoms_stay_in_the_unit_ball(seed: int) -> None:
    X, A, D = problem(seed)
    norms = np.linalg.norm(update_dictionary(D, CodeStats(A.T @ A, X.T @ A)), axis=0)
    assert norms.max() <= 1 + 1e-12


def test_many_sweeps_reach_the_constrained_minimum() -> None:
    X, A, D = problem(0)
    stats = CodeStats(A.T @ A, X.T @ A)
    D = update_dictionary(D, stats, sweeps=3000)
    # at the minimum the negative gradient of an atom points out of the ball, or is zero inside it
    slope = stats.XA - D @ stats.AA  # (C, M)
    length = np.linalg.norm(D, axis=0)
    along = (slope * D).sum(0) / length
    across = slope - D * (along / length)
    np.testing.assert_allclose(across, 0, atol=1e-6)
    assert (along >= -1e-6).all()
    np.testing.assert_allclose(along[length < 1 - 1e-9], 0, atol=1e-6)


def test_an_atom_that_no_word_uses_stays() -> None:
    X, A, D = problem(0)
    A[:, 7] = 0
    after = update_dictionary(D, CodeStats(A.T @ A, X.T @ A))
    np.testing.assert_array_equal(after[:, 7], D[:, 7])
    assert np.isfinite(after).all()


def test_the_caller_keeps_his_dictionary() -> None:
    X, A, D = problem(0)
    before = D.copy()
    update_dictionary(D, CodeStats(A.T @ A, X.T @ A))
    np.testing.assert_array_equal(D, before)


def test_statistics_of_parts_add_up() -> None:
    X, A, _ = problem(0)
    whole = CodeStats(A.T @ A, X.T @ A)
    parts = CodeStats(A[:20].T @ A[:20], X[:20].T @ A[:20]) + CodeStats(A[20:].T @ A[20:], X[20:].T @ A[20:])
    np.testing.assert_allclose(parts.AA, whole.AA, atol=1e-12)
    np.testing.assert_allclose(parts.XA, whole.XA, atol=1e-12)
