"""X as PyTorch tensors: the products of SciPy, and learning that ends where it ends with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.coder.shared import DEVICES, uneven_matrix
from wordforest.coder.forest import Forest
from wordforest.coder.kernels import on_host
from wordforest.coder.online import OnlineSettings, learn_online
from wordforest.coder.penalties import ForestL2
from wordforest.coder.rows import device as device_rows
from wordforest.coder.rows.base import Loss
from wordforest.coder.rows.device import DenseDeviceRows, DeviceRows

FOREST = Forest.complete(3)
ROWS = np.sort(np.random.default_rng(1).permutation(900)[:200])

torch = pytest.importorskip("torch", reason="the device is PyTorch's")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_products_equal_those_of_scipy(device: str, dtype: Any, tolerance: float) -> None:
    X = uneven_matrix(dtype)
    rng = np.random.default_rng(2)
    D, A, out = (rng.standard_normal(shape).astype(dtype) for shape in ((1300, 39), (200, 39), (1300, 39)))
    there = DeviceRows.put(X, device)
    place = [torch.tensor(part, device=device) for part in (ROWS, D, A, out)]
    scale = abs(X).sum(1).max()  # a sum of so many terms
    np.testing.assert_allclose(on_host(there.times(place[0], place[1])), X[ROWS] @ D, atol=tolerance * scale)
    there.add_transposed(place[0], place[2], place[3])
    np.testing.assert_allclose(on_host(place[3]), out + X[ROWS].T @ A, atol=tolerance * scale)
    np.testing.assert_allclose(on_host(there.squares()), X.multiply(X).sum(1), rtol=1e-6)
    np.testing.assert_array_equal(on_host(there.row(5)), X[[5]].toarray()[0])


@pytest.mark.parametrize("device", DEVICES)
def test_rows_taken_are_those_asked_for_with_the_weights_of_their_pairs(device: str) -> None:
    X = uneven_matrix()
    weights = np.random.default_rng(3).random(X.nnz)
    taken, loss = DeviceRows.put(X, device).sample(ROWS, Loss(weights, 0.5))
    expected = X.copy()
    expected.data = weights.copy()
    rows, columns = X[ROWS].tocoo().coords
    np.testing.assert_array_equal(on_host(taken.rows.values), X[ROWS].toarray()[rows, columns])
    np.testing.assert_array_equal(on_host(loss.weights), expected[ROWS].toarray()[rows, columns])
    assert (taken.shape, loss.zeros) == ((200, 1300), 0.5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_learning_ends_where_it_ends_with_numpy(device: str, nonnegative: bool, form: str) -> None:
    X, penalty = uneven_matrix(), ForestL2(FOREST, 0.3, nonnegative=nonnegative)
    settings = OnlineSettings(epochs=3, nonnegative=nonnegative)
    here = learn_online(X, penalty, len(FOREST), settings)
    moved = DeviceRows.put(X, device) if form == "sparse" else DenseDeviceRows(torch.tensor(X.toarray(), device=device))
    there = learn_online(moved, penalty, len(FOREST), settings)
    objectives = [[step.objective for step in learned.history] for learned in (here, there)]
    np.testing.assert_allclose(objectives[1], objectives[0], rtol=1e-8)  # rounding grows from step to step
    np.testing.assert_allclose(on_host(there.A), here.A, atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
def test_weights_of_rows_count_on_a_device(device: str) -> None:
    X, weights = uneven_matrix(), np.random.default_rng(3).random(900)
    settings = OnlineSettings(epochs=2)
    here, there = (
        learn_online(rows, ForestL2(FOREST, 0.3), len(FOREST), settings, weights=weights)
        for rows in (X, DeviceRows.put(X, device))
    )
    assert there.history[-1].objective == pytest.approx(here.history[-1].objective, rel=1e-8)


def test_columns_are_taken_by_halves_if_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    X, rows = DeviceRows.put(uneven_matrix(), "cpu"), torch.tensor(ROWS)
    A = torch.tensor(np.random.default_rng(2).standard_normal((200, 5)))
    whole, halves = torch.zeros(1300, 5, dtype=torch.float64), torch.zeros(1300, 5, dtype=torch.float64)
    X.add_transposed(rows, A, whole)
    product = device_rows.add_product

    def short(csr: Any, B: Any, out: Any) -> None:
        if len(out) > 400:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        product(csr, B, out)

    monkeypatch.setattr(device_rows, "add_product", short)
    X.add_transposed(rows, A, halves)
    assert torch.equal(halves, whole)
