"""A GPU that is missing, or whose memory is too small, is reported in a sentence."""

from __future__ import annotations

import sys

import pytest

from tests.coder.shared import has_gpu
from wordforest.errors import InputError, MissingExtraError
from wordforest.runtime.machine import by_halves, check_device, out_of_memory, wake_device


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(InputError, match="must be cpu or cuda"):
        check_device("tpu")


@pytest.mark.skipif(has_gpu(), reason="there is a GPU")
def test_a_missing_gpu_is_reported() -> None:
    pytest.importorskip("torch")
    with pytest.raises(InputError, match="sees no CUDA"):
        check_device("cuda")


def test_a_missing_pytorch_is_reported_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'torch>="):
        check_device("cuda")


@pytest.mark.skipif(has_gpu(), reason="there is a GPU")
def test_a_device_that_does_not_wake_says_so_to_who_waits() -> None:
    pytest.importorskip("torch")
    awake = wake_device("cuda")
    with pytest.raises(InputError, match="sees no CUDA"):
        awake()


def test_errors_other_than_a_lack_of_memory_pass() -> None:
    @by_halves(lambda left, right: left + right)
    def broken(rows: list[int]) -> int:
        raise RuntimeError("another matter")

    assert not out_of_memory(RuntimeError("another matter"))
    with pytest.raises(RuntimeError, match="another matter"):
        broken([1, 2, 3])
