"""Scratch arrays: in memory up to a limit, then in files without names; a full disk is reported before."""

from __future__ import annotations

import shutil
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

from tests.store.test_counts import is_mapped
from wordforest.errors import InputError
from wordforest.runtime.disk import arrays_in


def test_arrays_lie_in_memory_up_to_a_limit_and_then_in_files_without_names(tmp_path: Path) -> None:
    allocate = arrays_in(tmp_path, memory=1000)
    first, second, third = (allocate(100, np.float32) for _ in range(3))
    assert not is_mapped(first)
    assert not is_mapped(second)
    assert is_mapped(third)
    third[:] = 7
    assert third.shape == (100,)
    assert third.dtype == np.float32
    assert third.sum() == 700
    assert list(tmp_path.iterdir()) == []
    assert allocate(0, np.float32).shape == (0,)


def test_a_full_disk_is_an_error_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 9 * 10**8, 10**8))
    with pytest.raises(InputError, match=r"needs 2.5 GB on this disk, but 100 MB are free"):
        arrays_in(tmp_path)(100 * 10**6, "V24")


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected a folder"):
        arrays_in(tmp_path / "gone")(10, np.float32)
