"""Data cannot write outside of its folder and cannot run code; what the source must not call is in test_layers.py."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from wordforest.errors import InputError
from wordforest.reproduce import reproduce
from wordforest.store import read_vectors


def test_an_archive_writes_nothing_anywhere(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, words=np.array(["a"]), matrix=np.ones((1, 2), np.float32))
    with zipfile.ZipFile(buffer, "a") as archive:
        for name in ("../outside.npy", "/tmp/absolute.npy", "..\\..\\windows.npy"):
            archive.writestr(name, archive.read("matrix.npy"))
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "v.npz").write_bytes(buffer.getvalue())
    assert len(read_vectors(tmp_path / "inside" / "v.npz")) == 1
    assert [path.name for path in tmp_path.rglob("*")] == ["inside", "v.npz"]


def test_the_name_of_a_model_is_no_path(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("cat 1 0\ndog 0.9 0.1\n")
    (tmp_path / "wordsim").mkdir()
    (tmp_path / "wordsim" / "EN-X.txt").write_text("cat\tdog\t1\n")
    (tmp_path / "t.toml").write_text('tasks = ["similarity"]\n[[model]]\nname = "../../evil"\npath = "v.txt"\n')
    reproduce(tmp_path / "t.toml", tmp_path / "a" / "out", data=tmp_path)
    assert list(tmp_path.rglob("*evil*")) == [tmp_path / "a" / "out" / "judged" / "..%2F..%2Fevil.json"]


def test_a_pickle_by_any_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.kv").write_bytes(b"\x80\x04\x95\x0b")
    with pytest.raises(InputError, match="could run any code"):
        read_vectors(tmp_path / "model.kv")
