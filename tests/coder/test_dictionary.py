import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.coder import plain
from wordforest.coder.dictionary import CodeStats, update_dictionary, update_nonnegative_dictionary
from wordforest.coder.losses import objective
from wordforest.coder.penalties import NoPenalty
from wordforest.runtime.machine import Threads


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


def nonnegative_sweep(D: Any, stats: CodeStats, workers: int = 1) -> Any:
    return update_nonnegative_dictionary(D, stats, D.T @ D, executor=Threads(workers))


def nonnegative_problem(
    seed: int, C: int = 30, M: int = 39, unused: tuple[int, ...] = (), dtype: Any = np.float64
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, A and D without negative values; some atoms without use, most of the free minimisers with negatives."""
    rng = np.random.default_rng(seed)
    X, A, D = (abs(rng.standard_normal(shape)) for shape in ((50, C), (50, M), (C, M)))
    A *= rng.random(A.shape) < 0.3
    A[:, list(unused)] = 0
    return X.astype(dtype), A.astype(dtype), (D / np.linalg.norm(D, axis=0)).astype(dtype)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("unused", [(), (0, 3)])
@pytest.mark.parametrize("M", [1, 5, 63, 64, 65, 128, 150])
def test_non_negative_sweeps_equal_the_definition(
    dtype: Any, tolerance: float, unused: tuple[int, ...], M: int
) -> None:
    unused = tuple(atom for atom in (*unused, M - 1) if atom < M) if unused else ()
    X, A, D = nonnegative_problem(0, M=M, unused=unused, dtype=dtype)
    AA, XA = A.T @ A, X.T @ A
    expected = plain.sweep(D, AA, XA, nonnegative=True)
    assert M < 63 or (expected == 0).any()  # negatives were cut
    np.testing.assert_allclose(nonnegative_sweep(D, CodeStats(AA, XA)), expected, atol=tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_non_negative_sweeps_over_many_contexts_equal_the_definition(dtype: Any, tolerance: float) -> None:
    X, A, D = nonnegative_problem(0, C=40_000, M=7, unused=(2,), dtype=dtype)  # three slices of contexts
    AA, XA = A.T @ A, X.T @ A
    expected = plain.sweep(D, AA, XA, nonnegative=True)
    np.testing.assert_allclose(nonnegative_sweep(D, CodeStats(AA, XA), 2), expected, atol=tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize(("C", "M"), [(30, 75), (20_000, 3)])
def test_non_negative_tensors_in_tensors_out(dtype: Any, tolerance: float, C: int, M: int) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    X, A, D = nonnegative_problem(0, C=C, M=M, unused=(1,), dtype=dtype)
    AA, XA = A.T @ A, X.T @ A
    moved = nonnegative_sweep(torch.from_numpy(D), CodeStats(torch.from_numpy(AA), torch.from_numpy(XA)))
    assert isinstance(moved, torch.Tensor)
    np.testing.assert_allclose(moved.numpy(), plain.sweep(D, AA, XA, nonnegative=True), atol=tolerance)


@pytest.mark.parametrize("C", [300, 40_000])
def test_non_negative_bits_do_not_depend_on_the_number_of_workers(C: int) -> None:
    X, A, D = nonnegative_problem(0, C=C, M=70, dtype=np.float32)
    one, *others = (nonnegative_sweep(D, CodeStats(A.T @ A, X.T @ A), n) for n in (1, 2, 3))
    assert all(np.array_equal(one, other) for other in others)


def test_a_non_negative_sweep_leaves_unused_atoms_and_the_callers_arrays_alone() -> None:
    X, A, D = nonnegative_problem(0, M=70, unused=(0, 7, 66))
    AA, XA = A.T @ A, X.T @ A
    kept = [part.copy() for part in (D, AA, XA)]
    after = nonnegative_sweep(D, CodeStats(AA, XA))
    np.testing.assert_array_equal(after[:, [0, 7, 66]], D[:, [0, 7, 66]])
    assert all(np.array_equal(part, copy) for part, copy in zip((D, AA, XA), kept, strict=True))


def test_without_any_use_nothing_moves() -> None:
    _, _, D = nonnegative_problem(0)
    np.testing.assert_array_equal(nonnegative_sweep(D, CodeStats(np.zeros((39, 39)), np.zeros((30, 39)))), D)


@settings(max_examples=50)
@given(st.integers(0, 2**16), st.integers(1, 40), st.integers(1, 80), st.floats(0, 1), st.sampled_from([0.01, 1, 100]))
def test_non_negative_sweeps_never_raise_the_objective_or_leave_the_ball(
    seed: int, C: int, M: int, density: float, scale: float
) -> None:
    rng = np.random.default_rng(seed)
    X, D = scale * rng.standard_normal((20, C)), abs(rng.standard_normal((C, M)))
    A = rng.standard_normal((20, M)) * (rng.random((20, M)) < density)  # signed codes are welcome as well
    D /= np.linalg.norm(D, axis=0)
    before = objective(X, D, A, NoPenalty())
    for _ in range(3):
        D = nonnegative_sweep(D, CodeStats(A.T @ A, X.T @ A))
        after = objective(X, D, A, NoPenalty())
        assert after <= before + 1e-9 * max(before, (X**2).sum())  # sums of float64
        before = after
        assert D.min() >= 0
        assert np.linalg.norm(D, axis=0).max() <= 1 + 1e-12


def test_many_non_negative_sweeps_reach_the_constrained_minimum() -> None:
    X, A, D = nonnegative_problem(0, M=12)
    stats = CodeStats(A.T @ A, X.T @ A)
    for _ in range(2000):
        D = nonnegative_sweep(D, stats)
    # at the minimum an atom is the projection of a step along the negative gradient
    step = np.maximum(0, D + 0.01 * (stats.XA - D @ stats.AA))
    np.testing.assert_allclose(step / np.maximum(1, np.linalg.norm(step, axis=0)), D, atol=1e-9)


@pytest.mark.filterwarnings("ignore:overflow")
def test_an_atom_with_tiny_codes_alone_keeps_its_length() -> None:
    X, A, D = nonnegative_problem(0, M=2, unused=(1,), dtype=np.float32)
    A[3, 1] = 1e-20
    AA, XA = A.T.astype(np.float64) @ A, X.T @ A  # the learner's sums of codes are float64
    np.testing.assert_allclose(
        nonnegative_sweep(D, CodeStats(AA, XA)), plain.sweep(D, AA, XA, nonnegative=True), atol=1e-5
    )
