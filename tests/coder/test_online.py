"""The online learner: the objective never rises, the last codes are exact, planted forests are found."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from wordforest.coder.coding import admm, encode, fista
from wordforest.coder.forest import Forest
from wordforest.coder.learn import Learned
from wordforest.coder.losses import objective
from wordforest.coder.online import OnlineSettings, learn_online
from wordforest.coder.penalties import L1, ForestL2, Penalty
from wordforest.errors import InputError
from wordforest.runtime.machine import Threads

FOREST = Forest.complete(2)


def matrix(V: int = 300, C: int = 200, seed: int = 0, dtype: Any = np.float64) -> sparse.csr_array:
    """A sparse matrix with a few strong directions, some rows empty."""
    rng = np.random.default_rng(seed)
    low_rank = rng.standard_normal((V, 8)) @ rng.standard_normal((8, C))
    X = np.where(rng.random((V, C)) < 0.15, low_rank + rng.standard_normal((V, C)), 0)
    X[::50] = 0
    return sparse.csr_array(X.astype(dtype))


def learn(X: Any, penalty: Penalty | None = None, workers: int = 1, **settings: Any) -> Learned:
    penalty = penalty or ForestL2(FOREST, 0.5)
    return learn_online(X, penalty, len(FOREST), OnlineSettings(**settings), executor=Threads(workers))


@pytest.mark.parametrize("solver", [admm, fista])
@pytest.mark.parametrize("lam", [0.0, 0.1, 5.0, 100.0])
@pytest.mark.parametrize("inner_iter", [1, 5])
def test_the_objective_never_rises(solver: Any, lam: float, inner_iter: int) -> None:
    history = learn(matrix(), ForestL2(FOREST, lam), solver=solver, inner_iter=inner_iter, epochs=4, tol=0.0).history
    assert all(after.objective <= before.objective * (1 + 1e-10) for before, after in pairwise(history))


def test_the_logged_objective_is_the_objective() -> None:
    X = matrix()
    learned = learn(X)
    assert learned.history[-1].objective == pytest.approx(
        objective(X, learned.D, learned.A, ForestL2(FOREST, 0.5)), rel=1e-10
    )


def test_the_logged_objective_holds_in_float32() -> None:
    X = matrix(dtype=np.float32)
    learned = learn(X)
    assert learned.A.dtype == learned.D.dtype == np.float32
    assert learned.history[-1].objective == pytest.approx(
        objective(X, learned.D, learned.A, ForestL2(FOREST, 0.5)), rel=1e-6
    )


def test_the_logged_density_counts_exact_zeros() -> None:
    learned = learn(matrix(), ForestL2(FOREST, 5.0))
    assert learned.history[-1].nonzeros == np.count_nonzero(learned.A) / learned.A.size
    assert 0 < learned.history[-1].nonzeros < 1


def test_the_seed_decides() -> None:
    X = matrix()
    np.testing.assert_array_equal(learn(X, seed=1).A, learn(X, seed=1).A)
    assert not np.array_equal(learn(X, seed=1).A, learn(X, seed=2).A)


def test_dense_and_sparse_input_learn_the_same() -> None:
    X = matrix()
    np.testing.assert_allclose(learn(X.toarray()).A, learn(X).A, atol=1e-6)


@pytest.mark.parametrize(("dtype", "tol"), [(np.float32, 1e-6), (np.float64, 1e-9)])
def test_the_last_codes_are_exact(dtype: Any, tol: float) -> None:
    X = matrix(dtype=dtype)
    penalty = ForestL2(FOREST, 0.5)
    learned = learn(X, penalty)
    best = encode(X.astype(np.float64), learned.D.astype(np.float64), penalty, tol=1e-13).A
    excess = objective(X, learned.D, learned.A, penalty) - objective(X, learned.D, best, penalty)
    assert learned.gap <= tol
    assert excess <= tol * (X.data.astype(np.float64) ** 2).sum()


def test_weights_count_like_repeated_rows() -> None:
    X = matrix(V=100).toarray()
    weights = np.arange(100) % 3
    weighted = learn_online(X, ForestL2(FOREST, 0.5), 26, OnlineSettings(epochs=3), weights=weights)
    repeated = learn_online(X.repeat(weights, axis=0), ForestL2(FOREST, 0.5), 26, OnlineSettings(epochs=3))
    np.testing.assert_allclose(weighted.D, repeated.D, atol=1e-8)
    assert weighted.history[-1].objective == pytest.approx(repeated.history[-1].objective, rel=1e-9)


def test_an_empty_row_gets_an_empty_code() -> None:
    assert np.count_nonzero(learn(matrix()).A[::50]) == 0


def test_a_zero_parent_is_never_above_a_non_zero_child() -> None:
    A = learn(matrix(), ForestL2(FOREST, 3.0)).A
    children = np.flatnonzero(FOREST.parent >= 0)
    assert not ((A[:, FOREST.parent[children]] == 0) & (A[:, children] != 0)).any()


def test_atoms_stay_in_the_unit_ball() -> None:
    assert np.linalg.norm(learn(matrix()).D, axis=0).max() <= 1 + 1e-9


def test_a_planted_forest_is_found() -> None:
    rng = np.random.default_rng(0)
    D = rng.standard_normal((60, 26))
    D /= np.linalg.norm(D, axis=0)
    planted = ForestL2(FOREST, 1.0).prox(1.5 * rng.standard_normal((4000, 26)), 1.0)  # obeys the forest, half zero
    found = learn_online(planted @ D.T, ForestL2(FOREST, 0.3), 26, OnlineSettings(epochs=60, tol=1e-5)).D
    match = np.abs(D.T @ found / np.linalg.norm(found, axis=0))  # (planted, found)
    assert np.mean(match.max(axis=1) > 0.95) > 0.8  # the problem is not convex: a few atoms may mix
    np.testing.assert_array_equal(FOREST.depth[match.argmax(axis=1)], FOREST.depth)


def test_golden_objectives_of_a_small_run() -> None:
    history = learn(matrix(V=1100), L1(0.5), epochs=2, batches=2, tol=0.0).history
    golden = [262352.798945, 230291.956984, 220193.549176, 206677.756563, 204370.411740]
    np.testing.assert_allclose([step.objective for step in history], golden, rtol=1e-6)


def test_start_and_steps_are_the_callers() -> None:
    X, seen = matrix(), []
    start = np.eye(200, 26)
    keep = lambda step, _: seen.append(step)  # noqa: E731
    learned = learn_online(X, L1(0.5), 26, OnlineSettings(epochs=1), start=start, on_step=keep)
    assert seen == learned.history
    np.testing.assert_array_equal(start, np.eye(200, 26))


def test_whole_numbers_are_welcome() -> None:
    X = sparse.csr_array(np.random.default_rng(0).poisson(0.2, (100, 50)))
    assert np.isfinite(learn(X).A).all()


def test_a_matrix_without_words_is_refused() -> None:
    with pytest.raises(InputError, match="at least one word"):
        learn(sparse.csr_array((0, 5)))
