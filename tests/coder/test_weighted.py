"""Learning and coding under confidence weights: the objective is that of a dense matrix of weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from wordforest.coder.coding import encode
from wordforest.coder.forest import Forest
from wordforest.coder.online import OnlineSettings, learn_online
from wordforest.coder.penalties import ForestL2
from wordforest.coder.rows.base import Loss
from wordforest.coder.weighted import WeightedSettings, encode_weighted, learn_weighted

Array = Any
FOREST = Forest.complete(1, (3, 3))


def problem(seed: int = 0, shape: tuple[int, int] = (60, 40), dtype: Any = np.float64) -> tuple[Any, Array]:
    """Return a sparse matrix and weights of its pairs."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array(shape, density=0.3, rng=rng, format="csr").astype(dtype)
    X.data = rng.standard_normal(X.nnz).astype(dtype)
    return X, (2 * rng.random(X.nnz)).astype(dtype)


def reference(X: Any, w: Array, W: float, D: Array, A: Array, penalty: Any) -> float:
    """The objective over a dense matrix of weights."""
    dense = np.full(X.shape, float(W))
    rows, columns = X.tocoo().coords
    dense[rows, columns] = w
    residuals = X.toarray() - A.astype(np.float64) @ D.astype(np.float64).T
    return float((dense * residuals**2).sum() + penalty.per_word(A).sum())


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), W=st.sampled_from([0.0, 0.1, 1.0, 3.0]), lam=st.sampled_from([0.0, 0.1, 2.0]))
def test_the_logged_objective_is_that_of_the_dense_reference(seed: int, W: float, lam: float) -> None:
    X, w = problem(seed, (20, 15))
    penalty = ForestL2(FOREST, lam)
    learned = learn_weighted(X, Loss(w, W), penalty, 13, WeightedSettings(epochs=2, exact_iter=5))
    expected = reference(X, w, W, learned.D, learned.A, penalty)
    assert learned.history[-1].objective == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("W", [0.0, 0.1, 1.0])
def test_the_objective_never_rises(dtype: Any, W: float) -> None:
    X, w = problem(1, dtype=dtype)
    settings = WeightedSettings(epochs=15, tol=0.0)
    steps = learn_weighted(X, Loss(w, W), ForestL2(FOREST, 0.2), 13, settings).history
    objectives = np.array([step.objective for step in steps])
    assert (np.diff(objectives) <= 1e-6 * objectives[:-1]).all()  # float32 products round at 1e-7


def test_all_weights_one_is_the_plain_learner() -> None:
    X, _ = problem(2)
    penalty = ForestL2(FOREST, 0.1)
    plain = learn_online(X, penalty, 13, OnlineSettings(epochs=1000, tol=1e-10))
    exact = WeightedSettings(epochs=1, exact_iter=4000, exact_tol=1e-10)
    codes = encode_weighted(X, Loss(), plain.D, penalty, exact)
    assert np.abs(codes - encode(X, plain.D, penalty).A).max() < 1e-6
    there = learn_weighted(X, Loss(np.ones(X.nnz)), penalty, 13, exact, start=(plain.D, plain.A))
    assert there.history[-1].objective == pytest.approx(plain.history[-1].objective, rel=1e-6)


def test_weight_zero_is_as_if_a_pair_had_any_value() -> None:
    X, w = problem(3)
    w[::2] = 0
    Y = X.copy()
    Y.data[::2] = 7.0
    settings = WeightedSettings(epochs=3)
    one, other = (learn_weighted(Z, Loss(w, 0.5), ForestL2(FOREST, 0.1), 13, settings) for Z in (X, Y))
    assert np.array_equal(one.A, other.A)


def test_codes_are_the_minimum() -> None:
    X, w = problem(4, (10, 30))
    D = np.random.default_rng(5).standard_normal((30, 13)) / 5
    penalty = ForestL2(FOREST, 0.3)
    A = encode_weighted(X, Loss(w, 0.2), D, penalty, WeightedSettings(exact_iter=5000, exact_tol=1e-12))
    best = reference(X, w, 0.2, D, A, penalty)
    rng = np.random.default_rng(6)
    for scale in (1e-1, 1e-3, 1e-5):
        near = A + scale * rng.standard_normal(A.shape)
        assert reference(X, w, 0.2, D, near, penalty) >= best
    assert (A == 0).any()


def test_the_dictionary_stays_in_the_unit_balls() -> None:
    X, w = problem(5)
    D = learn_weighted(X, Loss(w, 0.1), ForestL2(FOREST, 0.1), 13, WeightedSettings(epochs=5)).D
    assert np.linalg.norm(D, axis=0).max() <= 1 + 1e-12


def test_a_nonnegative_dictionary_has_no_negatives() -> None:
    X, w = problem(6)
    penalty = ForestL2(FOREST, 0.1, nonnegative=True)
    learned = learn_weighted(abs(X), Loss(w, 0.1), penalty, 13, WeightedSettings(epochs=4, nonnegative=True))
    assert learned.D.min() == 0
    assert learned.A.min() == 0


@pytest.mark.parametrize(("n_iter", "most"), [(3, 1.0), (30, 1e-4), (3000, 1e-8)])
def test_the_gap_bounds_how_far_codes_are_from_the_best(n_iter: int, most: float) -> None:
    X, w = problem(8)
    penalty, W = ForestL2(FOREST, 0.3), 0.2
    D = np.random.default_rng(9).standard_normal((40, 13)) / 5
    settings = WeightedSettings(epochs=0, exact_iter=n_iter, exact_tol=1e-12)
    found = learn_weighted(X, Loss(w, W), penalty, 13, settings, start=(D, None))
    best = encode_weighted(X, Loss(w, W), D, penalty, WeightedSettings(exact_iter=5000, exact_tol=1e-12))
    energy = np.array(
        [reference(X[[v]], w[slice(*X.indptr[v : v + 2])], W, D, np.zeros((1, 13)), penalty) for v in range(60)]
    )
    losses = [
        np.array([reference(X[[v]], w[slice(*X.indptr[v : v + 2])], W, D, A[[v]], penalty) for v in range(60)])
        for A in (found.A, best)
    ]
    worst = ((losses[0] - losses[1]) / energy).max()
    assert worst <= found.gap + 1e-9
    assert found.gap < most


def test_without_passes_the_dictionary_is_that_of_the_start() -> None:
    X, w = problem(10)
    D = np.random.default_rng(9).standard_normal((40, 13))
    D /= np.linalg.norm(D, axis=0)
    found = learn_weighted(X, Loss(w, 0.2), ForestL2(FOREST, 0.3), 13, WeightedSettings(epochs=0), start=(D, None))
    assert np.array_equal(found.D, D)
    assert found.converged
    assert [step.last for step in found.history] == [True]
    assert found.notices == []


def test_without_a_penalty_codes_are_the_least_squares() -> None:
    X, w = problem(11, (20, 40))
    D = np.random.default_rng(9).standard_normal((40, 5))
    A = encode_weighted(X, Loss(w, 0.2), D, ForestL2(Forest.complete(5, ()), 0.0))
    for v in range(20):
        weights = np.full(40, 0.2)
        own = slice(*X.indptr[v : v + 2])
        weights[X.indices[own]] = w[own]
        H = D.T * weights @ D
        assert A[v] == pytest.approx(np.linalg.solve(H, D.T @ (weights * X[[v]].toarray()[0])), abs=1e-2)
