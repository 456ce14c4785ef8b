"""Codes of all rows with a fixed dictionary: exact to a known gap, the same bits for any workers, wherever X is."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.coder.shared import DEVICES, uneven_matrix
from tests.coder.test_coding_solvers import PENALTIES, data, solve
from wordforest.coder import coding
from wordforest.coder.certificate import lam_max
from wordforest.coder.coding import EXACT_TOL, Gram, admm, encode, word_objectives
from wordforest.coder.forest import Forest
from wordforest.coder.kernels import on_host
from wordforest.coder.losses import objective
from wordforest.coder.online import OnlineSettings, learn_online
from wordforest.coder.penalties import ForestL2, Penalty
from wordforest.coder.rows.device import DenseDeviceRows, DeviceRows
from wordforest.coder.rows.streamed import StreamedRows
from wordforest.errors import InputError
from wordforest.runtime.machine import Threads

FOREST = Forest.complete(3)


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


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("form", ["sparse", "streamed", "dense"])
def test_coding_on_a_device_is_coding_here(device: str, form: str) -> None:
    torch = pytest.importorskip("torch", reason="the device is PyTorch's")
    X, penalty = uneven_matrix(), ForestL2(FOREST, 0.3)
    D = np.random.default_rng(4).standard_normal((1300, len(FOREST)))
    D /= np.linalg.norm(D, axis=0)
    here = encode(X, D, penalty)
    make = {
        "sparse": lambda: DeviceRows.put(X, device),
        "streamed": lambda: StreamedRows(X, device, 1 << 16),
        "dense": lambda: DenseDeviceRows(torch.tensor(X.toarray(), device=device)),
    }
    codes = encode(make[form](), D, penalty)
    assert codes.converged
    assert codes.gap <= EXACT_TOL[8]
    np.testing.assert_allclose(on_host(codes.A), here.A, atol=1e-4)  # both within the gap of the best objective


def test_codes_are_solved_by_halves_if_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="the device is PyTorch's")
    X, settings = DeviceRows.put(uneven_matrix(), "cpu"), OnlineSettings(epochs=2)
    whole = learn_online(X, ForestL2(FOREST, 0.3), len(FOREST), settings)
    measure, exact, refused = coding.word_objectives, coding.solve_exactly, []

    def short(n: int) -> None:
        if n > 300:
            refused.append(n)
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(coding, "word_objectives", lambda A, *rest: short(len(A)) or measure(A, *rest))
    monkeypatch.setattr(coding, "solve_exactly", lambda XD, *rest, **more: short(len(XD)) or exact(XD, *rest, **more))
    halves = learn_online(X, ForestL2(FOREST, 0.3), len(FOREST), settings)
    assert refused
    np.testing.assert_allclose(on_host(halves.A), on_host(whole.A), atol=1e-9)  # sums of AA run in another order
    assert halves.gap == pytest.approx(whole.gap, rel=1e-3)


def test_what_does_not_fit_in_the_smallest_block_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="the device is PyTorch's")

    def none(*_: Any, **__: Any) -> Any:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(coding, "_code_block", none)
    monkeypatch.setattr(coding, "solve_exactly", none)
    X = DeviceRows.put(uneven_matrix(), "cpu")
    with pytest.raises(InputError, match="too little memory"):
        learn_online(X, ForestL2(FOREST, 0.3), len(FOREST))
    with pytest.raises(InputError, match="too little memory"):
        encode(X, np.eye(1300, len(FOREST)), ForestL2(FOREST, 0.3))
