"""Codes for a fixed dictionary: two solvers, one solution."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Lasso
from wordforest.coder.encode import Codes, Gram, Solver, admm, encode, fista, word_objectives

from wordforest.coder.certificate import lam_max
from wordforest.coder.forest import Forest
from wordforest.coder.objectives import objective
from wordforest.coder.penalties import L1, ForestL2, NonNegativeL1, NoPenalty, Penalty
from wordforest.runtime.threads import Threads

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


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_encode_takes_dense_and_sparse(kind: Any) -> None:
    X, D = data(n=300)
    X[np.abs(X) < 0.5] = 0
    penalty = ForestL2(Forest.complete(2), 0.5)
    expected = solve(admm, X, D, penalty).A
    np.testing.assert_allclose(encode(kind(X), D, penalty, tol=1e-15).A, expected, atol=1e-5)


def test_encode_gives_the_same_bits_for_any_number_of_workers() -> None:
    X, D = (part.astype(np.float32) for part in data(n=20_000))
    penalty = ForestL2(Forest.complete(2), 0.5)
    results = [encode(X, D, penalty, executor=Threads(n)).A for n in (1, 2, 7)]
    assert all(np.array_equal(results[0], other) for other in results[1:])


def test_float32_codes_are_as_good_as_float64_ones() -> None:
    X, D = data(n=200)
    penalty = ForestL2(Forest.complete(2), 0.5)
    single = encode(X.astype(np.float32), D.astype(np.float32), penalty)
    assert single.converged
    assert single.A.dtype == np.float32
    best = objective(X, D, encode(X, D, penalty).A, penalty)
    assert objective(X, D, single.A, penalty) - best <= 1e-6 * (X * X).sum()


@pytest.mark.parametrize("C", [20, 60])  # fewer contexts than atoms: a flat dictionary, certified by the duality gap
@PENALTIES
def test_the_gap_holds(penalty: Penalty, C: int) -> None:
    X, D = data(C=C)
    codes = encode(X, D, penalty, tol=1e-4)
    best = encode(X, D, penalty, tol=1e-12, max_iter=20_000)
    squares = (X * X).sum(1)
    excess = word_objectives(codes.A, X @ D, Gram(D.T @ D), penalty) - word_objectives(
        best.A, X @ D, Gram(D.T @ D), penalty
    )
    assert codes.converged
    assert codes.gap <= 1e-4
    assert (excess <= codes.gap * squares + 1e-9 * squares).all()


def test_no_nan_from_zero_to_the_largest_lam() -> None:
    for seed in range(100):
        X, D = data(n=5, C=15, M=26, seed=seed)
        penalty = ForestL2(Forest.complete(2), 1.0)
        largest = lam_max(X @ D, penalty)
        A = encode(X, D, ForestL2(Forest.complete(2), largest * (seed / 99) ** 3), tol=1e-4).A
        assert np.isfinite(A).all()


def test_word_objectives_add_up_to_the_objective() -> None:
    X, D = data()
    A = np.random.default_rng(1).standard_normal((len(X), D.shape[1]))
    penalty = L1(0.3)
    total = word_objectives(A, X @ D, Gram(D.T @ D), penalty).sum() + (X * X).sum()
    assert total == pytest.approx(objective(X, D, A, penalty), rel=1e-12)
