import itertools
from typing import Any

import numpy as np
import pytest

from wordforest.coder.dictionary import CodeStats, update_dictionary
from wordforest.coder.kernels import plain
from wordforest.coder.objective import objective
from wordforest.coder.penalties import NoPenalty
from wordforest.execution import Threads


def sweep(D: Any, stats: CodeStats) -> Any:
    return update_dictionary(D, stats, D.T @ D)


def problem(seed: int, C: int = 30, M: int = 39) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X, A, D = rng.standard_normal((50, C)), rng.standard_normal((50, M)), rng.standard_normal((C, M))
    return X, A, D / np.linalg.norm(D, axis=0)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_blocked_sweeps_equal_the_definition(dtype: type, tolerance: float) -> None:
    X, A, D = (part.astype(dtype) for part in problem(0, M=75))  # no multiple of a block
    A[:, 40] = 0
    AA, XA = A.T @ A, X.T @ A
    np.testing.assert_allclose(sweep(D, CodeStats(AA, XA)), plain.sweep(D, AA, XA), atol=tolerance)


def test_tensors_in_tensors_out() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    X, A, D = problem(0)
    AA, XA = A.T @ A, X.T @ A
    stats = CodeStats(torch.from_numpy(AA), torch.from_numpy(XA))
    moved = sweep(torch.from_numpy(D), stats)
    assert isinstance(moved, torch.Tensor)
    np.testing.assert_allclose(moved.numpy(), plain.sweep(D, AA, XA), atol=1e-12)


def test_the_bits_do_not_depend_on_the_number_of_workers() -> None:
    X, A, D = (part.astype(np.float32) for part in problem(0, C=20_000))
    stats = CodeStats(A.T @ A, X.T @ A)
    one, *others = (update_dictionary(D, stats, D.T @ D, executor=Threads(n)) for n in (1, 2, 5))
    assert all(np.array_equal(one, other) for other in others)


@pytest.mark.parametrize("seed", range(5))
def test_a_sweep_never_raises_the_objective(seed: int) -> None:
    X, A, D = problem(seed)
    stats = CodeStats(A.T @ A, X.T @ A)
    values = [objective(X, D, A, NoPenalty())]
    for _ in range(10):
        D = sweep(D, stats)
        values.append(objective(X, D, A, NoPenalty()))
    assert all(after <= before * (1 + 1e-12) for before, after in itertools.pairwise(values))


@pytest.mark.parametrize("seed", range(5))
def test_atoms_stay_in_the_unit_ball(seed: int) -> None:
    X, A, D = problem(seed)
    norms = np.linalg.norm(sweep(D, CodeStats(A.T @ A, X.T @ A)), axis=0)
    assert norms.max() <= 1 + 1e-12


def test_many_sweeps_reach_the_constrained_minimum() -> None:
    X, A, D = problem(0)
    stats = CodeStats(A.T @ A, X.T @ A)
    for _ in range(3000):
        D = sweep(D, stats)
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
    after = sweep(D, CodeStats(A.T @ A, X.T @ A))
    np.testing.assert_array_equal(after[:, 7], D[:, 7])
    assert np.isfinite(after).all()


def test_the_caller_keeps_his_dictionary() -> None:
    X, A, D = problem(0)
    before = D.copy()
    sweep(D, CodeStats(A.T @ A, X.T @ A))
    np.testing.assert_array_equal(D, before)


def test_statistics_of_parts_add_up() -> None:
    X, A, _ = problem(0)
    whole = CodeStats(A.T @ A, X.T @ A)
    parts = CodeStats(A[:20].T @ A[:20], X[:20].T @ A[:20]) + CodeStats(A[20:].T @ A[20:], X[20:].T @ A[20:])
    np.testing.assert_allclose(parts.AA, whole.AA, atol=1e-12)
    np.testing.assert_allclose(parts.XA, whole.XA, atol=1e-12)
