"""X beyond the GPU: blocks of rows travel, and the bits are those of X on the device. On the processor in CI."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wordforest as wf
from tests.coder.rows.test_device import FOREST, ROWS
from tests.coder.shared import DEVICES, uneven_matrix
from wordforest.coder.kernels import on_host
from wordforest.coder.online import OnlineSettings, learn_online
from wordforest.coder.penalties import ForestL2
from wordforest.coder.rows import streamed
from wordforest.coder.rows.device import DeviceRows
from wordforest.coder.rows.streamed import StreamedRows, resident_or_streamed
from wordforest.errors import InputError

torch = pytest.importorskip("torch", reason="the device is PyTorch's")

TINY = 1 << 16  # bytes: about a thousand entries at a time, so that the test matrix travels in dozens of blocks


def test_what_fits_lies_on_the_device_and_what_does_not_is_streamed() -> None:
    assert isinstance(resident_or_streamed(uneven_matrix(), "cpu", 39), DeviceRows)
    assert isinstance(resident_or_streamed(uneven_matrix(), "cpu", 39, room=TINY), StreamedRows)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_streamed_rows_have_the_bits_of_resident_ones(device: str, dtype: Any) -> None:
    X = uneven_matrix(dtype)
    rng = np.random.default_rng(2)
    D, A, out = (torch.tensor(rng.standard_normal((n, 39)).astype(dtype), device=device) for n in (1300, 200, 1300))
    chosen = torch.tensor(ROWS, device=device)
    here, there = DeviceRows.put(X, device), StreamedRows(X, device, TINY)
    assert there.capacity < X[ROWS].nnz / 5  # many blocks
    assert torch.equal(there.times(chosen, D), here.times(chosen, D))
    sums = out.clone(), out.clone()
    here.add_transposed(chosen, A, sums[0])
    there.add_transposed(chosen, A, sums[1])
    assert torch.equal(sums[1], sums[0])
    np.testing.assert_allclose(on_host(there.squares()), on_host(here.squares()), rtol=1e-12)
    assert torch.equal(there.row(5), here.row(5))


@pytest.mark.parametrize("device", DEVICES)
def test_learning_from_streamed_rows_has_the_bits_of_resident_ones(device: str) -> None:
    X, penalty = uneven_matrix(np.float32), ForestL2(FOREST, 0.3)
    here, there = (
        learn_online(resident_or_streamed(X, device, 39, room=room), penalty, 39, OnlineSettings(epochs=2))
        for room in (1 << 40, TINY)
    )
    assert torch.equal(there.A, here.A)
    assert torch.equal(there.D, here.D)


def test_rows_taken_are_those_asked_for() -> None:
    X = uneven_matrix()
    taken = StreamedRows(X, "cpu", TINY).take(ROWS)
    for place in (0, 7, 199):
        np.testing.assert_array_equal(on_host(taken.row(place)), X[[ROWS[place]]].toarray()[0])


def test_a_lack_of_memory_halves_the_blocks_of_x(monkeypatch: pytest.MonkeyPatch) -> None:
    X, rows = uneven_matrix(np.float32), torch.tensor(ROWS)
    D = torch.tensor(np.random.default_rng(2).standard_normal((1300, 39)).astype(np.float32))
    there, whole = StreamedRows(X, "cpu", 16 * TINY), DeviceRows.put(X, "cpu").times(rows, D)
    product, asked = streamed.rows_times, []

    def short(block: Any, chosen: Any, B: Any) -> Any:
        asked.append(len(block.values))
        if len(block.values) > 2000:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return product(block, chosen, B)

    monkeypatch.setattr(streamed, "rows_times", short)
    assert torch.equal(there.times(rows, D), whole)
    assert max(asked) > 2000
    assert there.room < 16 * TINY


def test_no_memory_at_all_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> Any:
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(streamed, "rows_times", none)
    with pytest.raises(InputError, match="too little memory for blocks of X"):
        StreamedRows(uneven_matrix(), "cpu", TINY).times(torch.arange(900), torch.zeros(1300, 3, dtype=torch.float64))


@pytest.mark.parametrize("device", DEVICES[1:])
def test_the_estimator_learns_from_more_than_the_gpu_has_room_for(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, coders = uneven_matrix(np.float32), []
    for free in (1 << 40, TINY):
        monkeypatch.setattr(streamed, "room_on", lambda *_, free=free: free)
        coders.append(wf.ForestCoder(trees=3, epochs=2, tol=1.0, device=device, random_state=0).fit(X))
    np.testing.assert_array_equal(coders[0].components_, coders[1].components_)
