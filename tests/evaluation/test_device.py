"""Analogies on PyTorch tensors have the processor's answers, ties and small blocks included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.coder.test_rows_device import DEVICES
from wordforest.errors import InputError
from wordforest.evaluation import METHODS, OFFSET, Section, analogy_device, evaluate, judge_analogies
from wordforest.evaluation.analogy import answers_here
from wordforest.evaluation.analogy_device import answers_on
from wordforest.vectors import Vectors

torch = pytest.importorskip("torch", reason="the device is PyTorch's")


def random_vectors(n: int, dimensions: int) -> Vectors:
    rows = np.random.default_rng(0).standard_normal((n, dimensions))
    return Vectors([f"w{i}" for i in range(n)], rows.astype(np.float32))


def questions(n: int, words: int) -> Any:
    rng = np.random.default_rng(1)
    return np.stack([rng.permutation(words)[:3] for _ in range(n)])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("cells", [1 << 28, 3000])
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_answers_are_those_of_the_processor(device: str, cells: int, method: Any) -> None:
    vectors, asked = random_vectors(700, 12), questions(500, 700)
    np.testing.assert_array_equal(
        answers_on(device, vectors, asked, method, cells=cells), answers_here(vectors, asked, method)
    )


@pytest.mark.parametrize("device", DEVICES)
def test_of_equal_words_the_first_is_the_answer(device: str) -> None:
    rows = np.repeat(np.random.default_rng(0).standard_normal((100, 8)), 3, axis=0).astype(np.float32)
    rows[:6] = 0
    vectors, asked = Vectors([f"w{i}" for i in range(300)], rows), questions(200, 300)
    np.testing.assert_array_equal(answers_on(device, vectors, asked, OFFSET), answers_here(vectors, asked, OFFSET))


def test_a_lack_of_memory_makes_blocks_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, asked = random_vectors(300, 8), questions(100, 300)
    answered, tried = analogy_device._answered, []

    def short(*args: Any) -> Any:
        tried.append(args[-1])
        if args[-1] > 1 << 20:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory")
        return answered(*args)

    monkeypatch.setattr(analogy_device, "_answered", short)
    np.testing.assert_array_equal(answers_on("cpu", vectors, asked, OFFSET), answers_here(vectors, asked, OFFSET))
    assert tried[-1] == 1 << 20


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_a_missing_card_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sees no CUDA card"):
        evaluate(random_vectors(10, 3), tmp_path, device="cuda")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA card here")
def test_accuracies_are_those_of_the_processor() -> None:
    vectors = random_vectors(400, 10)
    words = vectors.words
    section = Section("family", tuple((words[i], words[i + 1], words[i + 2], words[i + 3]) for i in range(0, 390, 3)))
    here, there = (judge_analogies(vectors, [section], device=device) for device in ("cpu", "cuda"))
    for one, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(one.values, other.values)
