"""X beyond the card: blocks of rows travel, and the bits are those of X on the device. On the processor in CI."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from wordforest.coder.kernels.stream import StreamedRows, place_rows

import wordforest as wf
from tests.coder.test_rows_device import DEVICES, FOREST, chosen_rows, matrix
from wordforest.coder import online
from wordforest.coder.kernels import DeviceRows, on_host
from wordforest.coder.online import OnlineSettings, learn_online
from wordforest.coder.penalties import ForestL2
from wordforest.errors import InputError
from wordforest.runtime.gpu import by_halves, out_of_memory

torch = pytest.importorskip("torch", reason="the device is PyTorch's")

TINY = 1 << 16  # bytes: about a thousand entries at a time, so that the test matrix travels in dozens of blocks


def test_what_fits_lies_on_the_device_and_what_does_not_is_streamed() -> None:
    assert isinstance(place_rows(matrix(), "cpu", 39), DeviceRows)
    assert isinstance(place_rows(matrix(), "cpu", 39, room=TINY), StreamedRows)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_streamed_rows_have_the_bits_of_resident_ones(device: str, dtype: Any) -> None:
    X, rows = matrix(dtype), chosen_rows()
    rng = np.random.default_rng(2)
    D, A, out = (torch.tensor(rng.standard_normal((n, 39)).astype(dtype), device=device) for n in (1300, 200, 1300))
    chosen = torch.tensor(rows, device=device)
    here, streamed = DeviceRows.put(X, device), StreamedRows(X, device, TINY)
    assert streamed.capacity < X[rows].nnz / 5  # many blocks
    assert torch.equal(streamed.times(chosen, D), here.times(chosen, D))
    sums = out.clone(), out.clone()
    here.add_transposed(chosen, A, sums[0])
    streamed.add_transposed(chosen, A, sums[1])
    assert torch.equal(sums[1], sums[0])
    np.testing.assert_allclose(on_host(streamed.squares()), on_host(here.squares()), rtol=1e-12)
    assert torch.equal(streamed.row(5), here.row(5))


@pytest.mark.parametrize("device", DEVICES)
def test_learning_from_streamed_rows_has_the_bits_of_resident_ones(device: str) -> None:
    X = matrix(np.float32)
    here, there = (
        learn_online(place_rows(X, device, len(FOREST), room=room), ForestL2(FOREST, 0.3), len(FOREST),
                     OnlineSettings(epochs=2))
        for room in (1 << 40, TINY)
    )  # fmt: skip
    assert torch.equal(there.A, here.A)
    assert torch.equal(there.D, here.D)


def test_a_lack_of_memory_halves_the_blocks_of_x(monkeypatch: pytest.MonkeyPatch) -> None:
    from wordforest.coder.kernels import stream

    X, rows = matrix(np.float32), torch.tensor(chosen_rows())
    D = torch.tensor(np.random.default_rng(2).standard_normal((1300, 39)).astype(np.float32))
    streamed, whole = StreamedRows(X, "cpu", 16 * TINY), DeviceRows.put(X, "cpu").times(rows, D)
    product, asked = stream.rows_times, []

    def short(block: Any, chosen: Any, B: Any) -> Any:
        asked.append(len(block.values))
        if len(block.values) > 2000:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return product(block, chosen, B)

    monkeypatch.setattr(stream, "rows_times", short)
    assert torch.equal(streamed.times(rows, D), whole)
    assert max(asked) > 2000
    assert streamed.room < 16 * TINY


def test_no_memory_at_all_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from wordforest.coder.kernels import stream

    def none(*_: Any) -> Any:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(stream, "rows_times", none)
    with pytest.raises(InputError, match="too little memory for blocks of X"):
        StreamedRows(matrix(), "cpu", TINY).times(torch.arange(900), torch.zeros(1300, 3, dtype=torch.float64))


def test_resident_columns_are_taken_by_halves_if_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    from wordforest.coder.kernels import device

    X, rows = DeviceRows.put(matrix(), "cpu"), torch.tensor(chosen_rows())
    A = torch.tensor(np.random.default_rng(2).standard_normal((200, 5)))
    whole, halves = torch.zeros(1300, 5, dtype=torch.float64), torch.zeros(1300, 5, dtype=torch.float64)
    X.add_transposed(rows, A, whole)
    product = device.add_product

    def short(csr: Any, B: Any, out: Any) -> None:
        if len(out) > 400:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        product(csr, B, out)

    monkeypatch.setattr(device, "add_product", short)
    X.add_transposed(rows, A, halves)
    assert torch.equal(halves, whole)


def test_codes_are_solved_by_halves_if_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    X, settings = DeviceRows.put(matrix(), "cpu"), OnlineSettings(epochs=2)
    whole = learn_online(X, ForestL2(FOREST, 0.3), len(FOREST), settings)
    solve, exact = online._Learner._solve, online.solve_exactly
    refused = []

    def short(XD: Any) -> None:
        if len(XD) > 300:
            refused.append(len(XD))
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(online._Learner, "_solve", lambda self, XD, *rest: short(XD) or solve(self, XD, *rest))
    monkeypatch.setattr(online, "solve_exactly", lambda XD, *rest, **more: short(XD) or exact(XD, *rest, **more))
    halves = learn_online(X, ForestL2(FOREST, 0.3), len(FOREST), settings)
    assert refused
    np.testing.assert_allclose(on_host(halves.A), on_host(whole.A), atol=1e-9)  # sums of AA run in another order
    assert halves.gap == pytest.approx(whole.gap, rel=1e-3)


def test_what_does_not_fit_in_the_smallest_block_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> Any:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(online._Learner, "_solve", none)
    with pytest.raises(InputError, match="too little memory for 39 components"):
        learn_online(DeviceRows.put(matrix(), "cpu"), ForestL2(FOREST, 0.3), len(FOREST))


def test_other_errors_pass() -> None:
    @by_halves(lambda left, right: left + right)
    def broken(rows: list[int]) -> int:
        raise RuntimeError("another matter")

    assert not out_of_memory(RuntimeError("another matter"))
    with pytest.raises(RuntimeError, match="another matter"):
        broken([1, 2, 3])


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA card here")
def test_the_estimator_learns_from_more_than_the_card_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    from wordforest.coder import estimator

    X = matrix(np.float32)
    coders = []
    for room in (None, TINY):
        monkeypatch.setattr(estimator, "place_rows", lambda *parts, room=room: place_rows(*parts, room=room))
        coders.append(wf.ForestCoder(trees=3, epochs=2, tol=1.0, device="cuda", random_state=0).fit(X))
    np.testing.assert_array_equal(coders[0].components_, coders[1].components_)
