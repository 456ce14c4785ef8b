"""Rows in blocks, from arrays, files, folders, functions and generators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from scipy import sparse

import wordforest as wf
from wordforest.errors import InputError

X = np.random.default_rng(0).standard_normal((50, 6)).astype(np.float32)


def write(folder: Path, kind: str) -> Any:
    """Write X in three files of a kind."""
    for i, part in enumerate(np.array_split(X, 3)):
        path = folder / f"part-{i}{kind}"
        if kind == ".npy":
            np.save(path, part)
        elif kind == ".safetensors":
            save_file({"X": np.ascontiguousarray(part), "tokens": np.arange(len(part))}, path)
        else:
            pa = pytest.importorskip("pyarrow")
            from pyarrow import parquet

            parquet.write_table(pa.table({"id": range(len(part)), "row": list(part)}), path)
    return folder


@pytest.mark.parametrize("kind", [".npy", ".safetensors", ".parquet"])
def test_files_are_read_in_the_order_of_their_names_into_even_blocks(tmp_path: Path, kind: str) -> None:
    folder = write(tmp_path, kind)
    (tmp_path / "notes.txt").write_text("not rows")
    for source in (folder, str(folder / f"part-*{kind}"), [folder / f"part-{i}{kind}" for i in range(3)]):
        blocks = list(wf.interop.row_blocks(source, rows=20))
        assert [len(block) for block in blocks] == [20, 20, 10]
        np.testing.assert_array_equal(np.concatenate(blocks), X)


def test_arrays_functions_and_generators_give_the_same_blocks() -> None:
    sources: list[Any] = [
        X,
        sparse.csr_array(X),
        [X[:7], X[7:]],
        lambda: (X[i : i + 3] for i in range(0, 50, 3)),
        (X[i : i + 1] for i in range(50)),
        iter([X[:0], X, X[:0]]),
    ]
    for source in sources:
        blocks = list(wf.interop.row_blocks(source, rows=20))
        assert [len(block) for block in blocks] == [20, 20, 10]
        np.testing.assert_array_equal(np.concatenate(blocks), X)


def test_columns_of_numbers_are_a_row(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table({"a": X[:, 0], "b": X[:, 1], "word": ["x"] * 50}), tmp_path / "t.parquet")
    np.testing.assert_array_equal(np.concatenate(list(wf.interop.row_blocks(tmp_path / "t.parquet"))), X[:, :2])


def test_halves_become_float32_and_doubles_stay(tmp_path: Path) -> None:
    save_file({"X": X.astype(np.float16)}, tmp_path / "h.safetensors")
    assert next(iter(wf.interop.row_blocks(tmp_path / "h.safetensors"))).dtype == np.float32
    assert next(iter(wf.interop.row_blocks(X.astype(np.float64)))).dtype == np.float64


def test_a_block_is_no_window_into_what_was_given() -> None:
    given = X.copy()
    block = next(iter(wf.interop.row_blocks(given, rows=20)))
    block[:] = 0
    np.testing.assert_array_equal(given, X)


def test_mistakes_are_told(tmp_path: Path) -> None:
    save_file({"a": X, "b": X}, tmp_path / "two.safetensors")
    (tmp_path / "bad.npy").write_bytes(b"not an array")
    (tmp_path / "text.txt").write_text("words")
    cases: list[tuple[Any, str]] = [
        (tmp_path / "none", "no file of rows there"),
        (tmp_path / "text.txt", "rows are read from"),
        (tmp_path / "bad.npy", "not a usable .npy file"),
        (tmp_path / "two.safetensors", "Say which one by column="),
        ([X, X[:, :2]], "follow each other"),
        ([X[0]], "rows of numbers"),
        (7, "rows come from"),
    ]
    for source, said in cases:
        with pytest.raises(InputError, match=said):
            list(wf.interop.row_blocks(source))
    with pytest.raises(InputError, match="at least one row"):
        next(wf.interop.row_blocks(X, rows=0))
    with pytest.raises(InputError, match="no matrix 'c', but a, b"):
        list(wf.interop.row_blocks(tmp_path / "two.safetensors", column="c"))
    np.testing.assert_array_equal(next(wf.interop.row_blocks(tmp_path / "two.safetensors", column="b")), X)
