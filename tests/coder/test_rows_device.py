"""Learning on PyTorch tensors is learning on NumPy arrays: on the processor in CI, on a card where there is one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

import wordforest as wf
from wordforest.coder.forest import Forest
from wordforest.coder.kernels import DeviceRows, check_device, on_host
from wordforest.coder.online import OnlineSettings, State, learn_online
from wordforest.coder.penalties import ForestL2
from wordforest.errors import InputError, MissingExtraError

torch = pytest.importorskip("torch", reason="the device is PyTorch's")

FOREST = Forest.complete(3)
CARD = pytest.param("cuda", marks=[
    pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA card here"),
])  # fmt: skip
DEVICES = ["cpu", CARD]


def matrix(dtype: Any = np.float64, rows: int = 900) -> sparse.csr_array:
    """Rows of very unequal length, one without entries, one longer than a segment of the kernels."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((rows, 1300), density=0.04, rng=rng, format="lil", dtype=dtype)
    X[3], X[5] = 0, rng.standard_normal(1300)
    return sparse.csr_array(X.tocsr())


def chosen_rows() -> NDArray[np.int64]:
    return np.sort(np.random.default_rng(1).permutation(900)[:200])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_products_equal_those_of_scipy(device: str, dtype: Any, tolerance: float) -> None:
    X, rows = matrix(dtype), chosen_rows()
    rng = np.random.default_rng(2)
    D, A, out = (rng.standard_normal(shape).astype(dtype) for shape in ((1300, 39), (200, 39), (1300, 39)))
    there = DeviceRows.put(X, device)
    place = [torch.tensor(part, device=device) for part in (rows, D, A, out)]
    scale = abs(X).sum(1).max()  # a sum of so many terms
    np.testing.assert_allclose(on_host(there.times(place[0], place[1])), X[rows] @ D, atol=tolerance * scale)
    there.add_transposed(place[0], place[2], place[3])
    np.testing.assert_allclose(on_host(place[3]), out + X[rows].T @ A, atol=tolerance * scale)
    np.testing.assert_allclose(on_host(there.squares()), X.multiply(X).sum(1), rtol=1e-6)
    np.testing.assert_array_equal(on_host(there.row(5)), X[[5]].toarray()[0])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_learning_ends_where_it_ends_with_numpy(device: str, nonnegative: bool, form: str) -> None:
    X, penalty = matrix(), ForestL2(FOREST, 0.3, nonnegative=nonnegative)
    settings = OnlineSettings(epochs=4, nonnegative=nonnegative)
    here = learn_online(X, penalty, len(FOREST), settings)
    moved = DeviceRows.put(X, device) if form == "sparse" else torch.as_tensor(X.toarray()).to(device)
    there = learn_online(moved, penalty, len(FOREST), settings)
    objectives = [[step.objective for step in learned.history] for learned in (here, there)]
    np.testing.assert_allclose(objectives[1], objectives[0], rtol=1e-8)  # rounding grows from step to step
    np.testing.assert_allclose(on_host(there.A), here.A, atol=1e-6)


@pytest.mark.parametrize("device", DEVICES)
def test_the_same_seed_gives_the_same_bits_twice(device: str) -> None:
    X = DeviceRows.put(matrix(np.float32), device)
    first, second = (learn_online(X, ForestL2(FOREST, 0.3), len(FOREST), OnlineSettings(epochs=3)) for _ in range(2))
    assert torch.equal(first.A, second.A)
    assert torch.equal(first.D, second.D)


@pytest.mark.parametrize("device", DEVICES)
def test_learning_goes_on_from_any_step(device: str) -> None:
    X = DeviceRows.put(matrix(np.float32), device)
    kept: list[State] = []

    def keep(step: Any, state: State) -> None:
        if step.epoch == 1:
            parts = [on_host(getattr(state, name)).copy() for name in ("D", "A", "AA", "XA", "losses")]
            kept[:] = [State(*parts, list(state.history))]

    settings = OnlineSettings(epochs=3)
    whole = learn_online(X, ForestL2(FOREST, 0.3), len(FOREST), settings, on_step=keep)
    resumed = learn_online(X, ForestL2(FOREST, 0.3), len(FOREST), settings, resume=kept[0])
    assert torch.equal(whole.A, resumed.A)


@pytest.mark.parametrize("device", DEVICES)
def test_weights_of_rows_count_on_a_device(device: str) -> None:
    X, weights = matrix(), np.random.default_rng(3).random(900)
    settings = OnlineSettings(epochs=2)
    here = learn_online(X, ForestL2(FOREST, 0.3), len(FOREST), settings, weights=weights)
    there = learn_online(DeviceRows.put(X, device), ForestL2(FOREST, 0.3), len(FOREST), settings, weights=weights)
    assert there.history[-1].objective == pytest.approx(here.history[-1].objective, rel=1e-8)


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(InputError, match="must be cpu or cuda"):
        check_device("tpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_a_missing_card_is_told_in_one_line(corpus: Path) -> None:
    with pytest.raises(InputError, match="sees no CUDA card"):
        wf.ForestCoder(trees=1, device="cuda").fit(np.eye(20))
    for settings in ({}, {"learner": "entries"}):
        with pytest.raises(InputError, match="sees no CUDA card"):
            wf.train(corpus, device="cuda", **settings)


def test_a_missing_pytorch_is_told_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"wordforest\[gpu\]"):
        check_device("cuda")
