"""Products with fewer digits speed up learning on a card; the last pass and its certificate stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from wordforest.coder.encode import EXACT_TOL, encode
from wordforest.coder.kernels.stream import place_rows

import wordforest as wf
from tests.coder.test_rows_device import DEVICES, FOREST, matrix
from wordforest.coder.kernels import DeviceRows, on_host, product
from wordforest.coder.objectives import objective
from wordforest.coder.online import OnlineSettings, learn_online
from wordforest.coder.penalties import ForestL2
from wordforest.errors import InputError
from wordforest.settings import TrainSettings

torch = pytest.importorskip("torch", reason="the device is PyTorch's")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("precision", "low", "high"), [("float32", 0, 1e-6), ("tf32", 0, 2e-3), ("bfloat16", 1e-4, 1e-2)]
)
def test_products_are_as_precise_as_they_say(device: str, precision: Any, low: float, high: float) -> None:
    rng = np.random.default_rng(0)
    A, B = (rng.standard_normal(shape).astype(np.float32) for shape in ((300, 64), (64, 64)))
    there = product(torch.tensor(A, device=device), torch.tensor(B, device=device), precision)
    exact = A.astype(float) @ B
    error = np.linalg.norm(on_host(there) - exact) / np.linalg.norm(exact)
    assert low <= error <= high
    assert there.dtype == torch.float32


@pytest.mark.parametrize("device", DEVICES)
def test_a_product_leaves_the_setting_of_pytorch_alone(device: str) -> None:
    A = torch.randn(64, 64, device=device)
    before = A @ A
    product(A, A, "tf32")
    assert torch.equal(A @ A, before)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("precision", ["tf32", "bfloat16"])
def test_learning_with_fewer_digits_ends_near_and_its_codes_are_exact(device: str, precision: Any) -> None:
    X, penalty = matrix(np.float32), ForestL2(FOREST, 0.3)
    there = DeviceRows.put(X, device)
    full, short = (
        learn_online(there, penalty, len(FOREST), OnlineSettings(epochs=6, precision=name))
        for name in ("float32", precision)
    )
    assert short.history[-1].objective == pytest.approx(full.history[-1].objective, rel=0.01)  # three digits
    assert short.gap <= EXACT_TOL[4]
    D, A = (on_host(part).astype(float) for part in (short.D, short.A))
    value = objective(X, D, A, penalty)
    assert short.history[-1].objective == pytest.approx(value, rel=1e-5)  # what is logged is true
    best = encode(X.astype(float), D, penalty)
    assert value <= objective(X, D, best.A, penalty) + 2 * EXACT_TOL[4] * X.multiply(X).sum()  # as certified


def test_fewer_digits_are_refused_where_there_are_none() -> None:
    with pytest.raises(InputError, match="needs the device cuda"):
        TrainSettings(precision="tf32")
    with pytest.raises(InputError, match="needs the device cuda"):
        TrainSettings(precision="tf32", device="cuda", dtype="float64")
    with pytest.raises(InputError, match="must be one of float32, tf32, bfloat16"):
        TrainSettings(precision="float16", device="cuda")
    with pytest.raises(InputError, match="is for the learner online"):
        TrainSettings(precision="tf32", device="cuda", learner="entries")
    with pytest.raises(InputError, match="needs the device cuda"):
        wf.ForestCoder(trees=1, precision="bfloat16").fit(np.eye(20))
    with pytest.raises(InputError, match="needs the device cuda"):
        learn_online(np.eye(20, dtype=np.float32), ForestL2(FOREST, 1.0), 39, OnlineSettings(precision="tf32"))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("form", ["sparse", "streamed", "dense"])
def test_coding_on_a_device_is_coding_here(device: str, form: str) -> None:
    X, penalty = matrix(), ForestL2(FOREST, 0.3)
    D = np.random.default_rng(4).standard_normal((1300, len(FOREST)))
    D /= np.linalg.norm(D, axis=0)
    here = encode(X, D, penalty)
    there = {
        "sparse": lambda: DeviceRows.put(X, device), "streamed": lambda: place_rows(X, device, 39, room=1 << 16),
        "dense": lambda: torch.tensor(X.toarray(), device=device),
    }[form]()  # fmt: skip
    codes = encode(there, D, penalty)
    assert codes.converged
    assert codes.gap <= EXACT_TOL[8]
    np.testing.assert_allclose(on_host(codes.A), here.A, atol=1e-4)  # both within the gap of the best objective


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA card here")
@pytest.mark.parametrize("form", ["sparse", "dense"])
def test_the_estimator_transforms_on_the_card(form: str) -> None:
    X = matrix() if form == "sparse" else matrix().toarray()
    here = wf.ForestCoder(trees=2, lam=0.3, epochs=3, random_state=0).fit(X)
    there = wf.ForestCoder(trees=2, lam=0.3, epochs=3, random_state=0, device="cuda").fit(X)
    np.testing.assert_allclose(there.components_, here.components_, atol=1e-5)
    np.testing.assert_allclose(there.transform(X), here.transform(X), atol=1e-4)
