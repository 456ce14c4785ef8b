"""Codes for a fixed dictionary: two solvers, one solution."""

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from wordforest.coder.coding import Codes, Gram, Solver, admm, fista, word_objectives
from wordforest.coder.forest import Forest
from wordforest.coder.losses import objective
from wordforest.coder.penalties import L1, ForestL2, NonNegativeL1, NoPenalty, Penalty

SOLVERS = pytest.mark.parametrize("solver", [fista, admm])
PENALTIES = pytest.mark.parametrize(
    "penalty", [ForestL2(Forest.complete(2), 0.5), L1(0.5), NonNegativeL1(0.5)], ids=repr
)


def data(n: int = 30, C: int = 60, M: int = 26, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((C, M))
    X = rng.standard_normal((n, M)) @ D.T + 0.1 * rng.standard_normal((n, C))
    return X, D / np.linalg.norm(D, axis=0)


def solve(solver: Solver, X: np.ndarray, D: np.ndarray, penalty: Penalty, **options: Any) -> Codes:
    return solver(X @ D, Gram(D.T @ D), penalty, **{"tol": 1e-10, "max_iter": 20_000, **options})


@PENALTIES
def test_fista_and_admm_agree_in_objective(penalty: Penalty) -> None:
    X, D = data()
    values = [objective(X, D, solve(solver, X, D, penalty).A, penalty) for solver in (fista, admm)]
    assert abs(values[0] - values[1]) <= 1e-6 * values[0]


@SOLVERS
@PENALTIES
def test_a_solution_is_a_fixed_point_of_the_proximal_step(solver: Solver, penalty: Penalty) -> None:
    X, D = data()
    codes = solve(solver, X, D, penalty)
    gram = Gram(D.T @ D)
    moved = penalty.prox(codes.A - 2 / gram.lipschitz * (codes.A @ gram.DD - X @ D), 1 / gram.lipschitz)
    assert codes.converged
    np.testing.assert_allclose(moved, codes.A, atol=1e-7)


@SOLVERS
@pytest.mark.parametrize("lam", [0.1, 1.0, 10.0])
def test_l1_codes_are_those_of_scikit_learn_with_half_the_weight(solver: Solver, lam: float) -> None:
    X, D = data()
    A = solve(solver, X, D, L1(lam)).A
    # scikit-learn minimises |x - D a|^2 / (2 C) + alpha |a|_1
    lasso = Lasso(alpha=lam / 2 / len(D), fit_intercept=False, tol=1e-12, max_iter=100_000).fit(D, X.T)
    np.testing.assert_allclose(A, lasso.coef_, atol=1e-6)


@SOLVERS
def test_without_penalty_codes_are_least_squares(solver: Solver) -> None:
    X, D = data()
    np.testing.assert_allclose(solve(solver, X, D, NoPenalty()).A, np.linalg.lstsq(D, X.T)[0].T, atol=1e-6)


@SOLVERS
def test_more_atoms_than_contexts(solver: Solver) -> None:
    X, D = data(C=10, M=26)
    penalty = ForestL2(Forest.complete(2), 0.5)
    best = objective(X, D, solve(fista, X, D, penalty, tol=1e-12, max_iter=200_000).A, penalty)
    assert objective(X, D, solve(solver, X, D, penalty).A, penalty) <= best * (1 + 1e-6)


@SOLVERS
def test_a_warm_start_at_the_solution_stays_there(solver: Solver) -> None:
    X, D = data()
    penalty = ForestL2(Forest.complete(2), 0.5)
    A = solve(solver, X, D, penalty, tol=1e-12).A
    again = solve(solver, X, D, penalty, start=A, tol=1e-6)
    assert again.n_iter <= 2
    np.testing.assert_allclose(again.A, A, atol=1e-6)


@SOLVERS
def test_a_warm_start_is_left_alone(solver: Solver) -> None:
    X, D = data()
    start = np.ones((len(X), D.shape[1]))
    solve(solver, X, D, L1(0.5), start=start)
    np.testing.assert_array_equal(start, 1)


@SOLVERS
def test_running_out_of_iterations_is_said(solver: Solver) -> None:
    X, D = data()
    assert not solve(solver, X, D, L1(0.5), max_iter=1).converged


@SOLVERS
def test_a_dictionary_of_zeros_gives_codes_of_zeros(solver: Solver) -> None:
    X, D = data()
    codes = solve(solver, X, 0 * D, L1(0.5))
    np.testing.assert_array_equal(codes.A, 0)


@SOLVERS
def test_large_lam_gives_exact_zeros(solver: Solver) -> None:
    X, D = data()
    np.testing.assert_array_equal(solve(solver, X, D, ForestL2(Forest.complete(2), 1e6)).A, 0)


@SOLVERS
def test_tensors_in_tensors_out(solver: Solver) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    X, D = data()
    penalty = ForestL2(Forest.complete(2), 0.5)
    XD, DD = torch.from_numpy(X @ D), torch.from_numpy(D.T @ D)
    A = solver(XD, Gram(DD), penalty, tol=1e-10, max_iter=20_000).A
    assert isinstance(A, torch.Tensor)
    np.testing.assert_allclose(A.numpy(), solve(solver, X, D, penalty).A, atol=1e-8)


def test_word_objectives_add_up_to_the_objective() -> None:
    X, D = data()
    A = np.random.default_rng(1).standard_normal((len(X), D.shape[1]))
    penalty = L1(0.3)
    total = word_objectives(A, X @ D, Gram(D.T @ D), penalty).sum() + (X * X).sum()
    assert total == pytest.approx(objective(X, D, A, penalty), rel=1e-12)
