"""The entry learner on PyTorch tensors: it ends as well as on the processor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.coder.shared import DEVICES
from tests.coder.shared import low_rank_matrix as matrix
from wordforest.coder.entries import EntrySettings, learn_from_entries
from wordforest.coder.entries_device import DeviceEntries
from wordforest.coder.forest import Forest
from wordforest.coder.kernels import on_host
from wordforest.coder.learn import learn as run
from wordforest.coder.penalties import ForestL2
from wordforest.coder.rows import as_rows
from wordforest.runtime.machine import Threads

torch = pytest.importorskip("torch", reason="the device is PyTorch's")

FOREST = Forest.complete(2)
M = len(FOREST)


def learn(device: str, X: Any, **more: Any) -> Any:
    """Learn on tensors, which may be the processor's."""
    weights = more.pop("weights", None)
    penalty = ForestL2(FOREST, 0.01), M
    return run(DeviceEntries(device, as_rows(X), weights, penalty, EntrySettings(**more)))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("sampling", "zeros"), [("proportional", 0.0), ("uniform", 0.0), ("proportional", 0.3)])
def test_learning_ends_as_well_as_on_the_processor(device: str, dtype: Any, sampling: Any, zeros: float) -> None:
    X, settings = matrix(120, 80, dtype=dtype), {"sampling": sampling, "zeros": zeros, "epochs": 4, "tol": 0.0}
    here = learn_from_entries(X, ForestL2(FOREST, 0.01), M, EntrySettings(**settings), executor=Threads(1))
    there = learn(device, X, eta=here.facts["eta"], **settings)
    assert there.history[-1].objective < 1.05 * here.history[-1].objective  # other draws
    begun = here.history[0].objective + here.history[0].gain
    assert there.history[0].objective + there.history[0].gain == pytest.approx(begun, rel=1e-6)  # the same start


def test_a_step_size_is_searched_as_on_the_processor() -> None:
    X = matrix(80, 60)
    here = learn_from_entries(X, ForestL2(FOREST, 0.01), M, EntrySettings(epochs=1), executor=Threads(1))
    there = learn("cpu", X, epochs=1)
    assert there.facts["eta"] / here.facts["eta"] in (0.5, 1, 2)  # other draws may prefer the next power of two


@pytest.mark.parametrize("device", DEVICES)
def test_a_step_size_that_is_far_too_large_is_halved(device: str) -> None:
    learned = learn(device, matrix(80, 60), eta=50.0, epochs=1)
    assert any("diverged" in notice for notice in learned.notices)
    assert np.isfinite(learned.history[-1].objective)


def test_weights_of_pairs_count() -> None:
    X = matrix()
    weights = np.zeros(X.nnz, dtype=np.float32)
    weights[: X.indptr[150]] = 1
    A = on_host(learn("cpu", X, weights=weights, epochs=1, eta=0.02).A)
    assert A[:150].any()
    assert not A[150:].any()


@pytest.mark.parametrize("device", DEVICES[1:])
def test_a_gpu_ends_where_torch_on_the_processor_ends(device: str) -> None:
    X = matrix(500, 400)
    ends = [learn(place, X, epochs=2, tol=0.0, eta=0.02).history[-1].objective for place in ("cpu", device)]
    assert ends[1] == pytest.approx(ends[0], rel=1e-3)  # the same visits; rounding grows over them
