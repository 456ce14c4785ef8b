"""nce on PyTorch tensors: the loss and gradients of the compiled kernels, and the same vectors but for rounding."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordforest as wf
from tests.baselines.test_nce import COUNTS, SMALL, TEXT, V, contrast, gradients, random_model, sentences, stream
from tests.coder.test_rows_device import DEVICES
from wordforest.baselines import nce_device
from wordforest.baselines.nce import NceSettings, learn_nce, make_noise
from wordforest.baselines.nce_device import DeviceLearner
from wordforest.baselines.nce_kernels import Model, Noise
from wordforest.coder.kernels import on_host
from wordforest.errors import InputError
from wordforest.runtime.threads import Threads

torch = pytest.importorskip("torch", reason="the device is PyTorch's")


def on(device: str, tables: Any) -> Any:
    return [torch.tensor(np.asarray(table), device=device) for table in tables]


def contrast_there(device: str, ids: np.ndarray, model: Model, settings: NceSettings) -> Any:
    """The whole text as one segment, in float64, with the noise of ``test_nce.contrast``."""
    noise = make_noise(COUNTS, settings)
    w = settings.window
    tokens = np.full((1, len(ids) + 2 * w), -1)
    tokens[0, w : w + len(ids)] = ids
    there = Noise(*on(device, (noise.keep, noise.alias, noise.level.astype(np.float64))))
    parts = on(device, (tokens, np.array([99]), np.array([len(ids)])))
    return nce_device.contrast(Model(*on(device, model)), there, settings, *parts)


@pytest.mark.parametrize("device", DEVICES)
@given(sentences, st.integers(1, 4), st.sampled_from([1, 3, 16]))
def test_the_loss_is_that_of_the_kernels(device: str, text: Any, window: int, share: int) -> None:
    ids, settings = stream(text), replace(SMALL, window=window, share=share)
    model = random_model(settings)
    loss = float(contrast_there(device, ids, model, settings).loss)
    assert loss == pytest.approx(contrast(ids, model, settings)[0], rel=1e-10, abs=1e-12)  # sums in another order


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("share", [1, 4, 16])
def test_gradients_are_those_of_the_kernels(device: str, share: int) -> None:
    settings = replace(SMALL, share=share)
    model = random_model(settings)
    expected = gradients(contrast(TEXT, model, settings)[2], model)
    found = contrast_there(device, TEXT, model, settings)
    rows, values = map(on_host, found.outputs)
    dense = [np.zeros((V, width)) for width in (settings.dimensions, settings.dimensions + 1)]
    dense[0][on_host(found.vectors[0])] = on_host(found.vectors[1])
    dense[1][rows] = values
    actual = Model(dense[0], dense[1][:, :-1], dense[1][:, -1], on_host(found.weights))
    for mine, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(mine, other, atol=1e-9)  # the others are read off squares


def text_of(n: int, words: int = 50) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    ids = np.minimum(rng.geometric(0.1, n) - 1, words - 1).astype(np.int32)
    ids[::17] = -1
    return ids, np.bincount(ids[ids >= 0], minlength=words)


@pytest.mark.parametrize("device", DEVICES)
def test_learning_ends_where_the_processor_ends(device: str) -> None:
    ids, counts = text_of(6000)
    settings = NceSettings(dimensions=8, epochs=2)
    here = learn_nce(ids, counts, settings)
    there = DeviceLearner(device, ids, counts, settings, Threads(1)).learned(None)
    for mine, other in ((there.vectors, here.vectors), (there.outputs, here.outputs), (there.weights, here.weights)):
        np.testing.assert_allclose(mine, other, atol=2e-3)  # float32, AdaGrad's first steps are signs of gradients
    losses = [[entry["held_out"] for entry in learned.history] for learned in (here, there)]
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-4)


@pytest.mark.parametrize("device", DEVICES)
def test_the_same_seed_gives_the_same_bits_twice(device: str) -> None:
    ids, counts = text_of(3000)
    first, second = (
        DeviceLearner(device, ids, counts, NceSettings(dimensions=8, epochs=1), Threads(1)).learned(None)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.vectors, second.vectors)
    np.testing.assert_array_equal(first.outputs, second.outputs)


@pytest.mark.parametrize("device", DEVICES)
def test_a_pass_that_diverges_is_taken_back(device: str) -> None:
    ids, counts = text_of(3000)
    settings = NceSettings(dimensions=8, epochs=1, eta=200.0)
    learned = DeviceLearner(device, ids, counts, settings, Threads(1)).learned(None)
    assert any(entry.get("taken_back") for entry in learned.history)
    assert np.isfinite(learned.vectors).all()


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_a_missing_card_is_told_before_the_text_is_read(corpus: Path) -> None:
    for name in ("nce", "rnn"):
        with pytest.raises(InputError, match="sees no CUDA card"):
            wf.baseline(name, corpus, device="cuda")
