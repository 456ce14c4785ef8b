"""Counts mapped from their file: the same, checked as they are read, and an association of them may lie in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from wordforest.counts.association import pmi, ppmi
from wordforest.errors import InputError
from wordforest.runtime.disk import arrays_in
from wordforest.store.folders import read_counts, save_counts
from wordforest.store.tensors import read_csr, write_csr


def is_mapped(array: Any) -> bool:
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False


def table(V: int = 300, C: int = 200) -> sparse.csr_array:
    """Counts with empty rows, some rows nearly full."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(3 / (1 + np.arange(V)[:, None] / 20) * rng.gamma(0.5, size=(V, C)))
    counts[::50] = 0
    return sparse.csr_array(counts.astype(np.int32))


def folder_of(counts: sparse.csr_array, folder: Path) -> Path:
    words = [f"w{i}" for i in range(counts.shape[0])]
    save_counts(folder, words, np.ones(len(words), dtype=np.int64), counts, {})
    return folder


def same(one: sparse.csr_array, other: sparse.csr_array) -> None:
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_mapped_counts_are_the_counts(tmp_path: Path) -> None:
    counts = table()
    *_, back, _ = read_counts(folder_of(counts, tmp_path / "c"), mapped=True)
    same(back, counts)
    assert is_mapped(back.data)
    assert is_mapped(back.indices)
    with pytest.raises(ValueError, match="read-only"):
        back.data[0] = 1


def test_a_mapped_matrix_without_entries(tmp_path: Path) -> None:
    write_csr(tmp_path / "a", sparse.csr_array((3, 4), dtype=np.float32))
    assert read_csr(tmp_path / "a", ("float32",), mapped=True).toarray().tolist() == [[0] * 4] * 3


def unsorted(path: Path) -> None:
    from safetensors.numpy import save_file

    parts = {"data": np.ones(3, np.int32), "indices": np.array([0, 2, 1], np.int32), "indptr": np.array([0, 3])}
    save_file({**parts, "shape": np.array([1, 3])}, path)


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-4])


def of_another_type(path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({name: np.zeros(2, np.float16) for name in ("data", "indices", "indptr", "shape")}, path)


@pytest.mark.parametrize(
    ("damage", "match"),
    [
        (unsorted, "ascend without repeats"),
        (cut_short, "not a usable safetensors file"),
        (of_another_type, "F16"),
        (Path.unlink, "expected a counts folder"),
    ],
)
def test_damaged_counts_are_seen_without_reading_them_whole(tmp_path: Path, damage: Any, match: str) -> None:
    folder = folder_of(table(), tmp_path / "c")
    damage(folder / "counts.safetensors")
    with pytest.raises(InputError, match=match):
        read_counts(folder, mapped=True)


@pytest.mark.parametrize("measure", [pmi, ppmi, lambda counts, **more: ppmi(counts, shift=0.3, smoothing=0.75, **more)])
def test_association_in_files_has_the_same_bits(tmp_path: Path, measure: Any) -> None:
    counts = table()
    *_, mapped, _ = read_counts(folder_of(counts, tmp_path / "c"), mapped=True)
    X = measure(mapped, allocate=arrays_in(tmp_path))
    same(X, measure(counts))
    assert is_mapped(X.data)
