"""A documents folder holds what was put in, is written whole or not at all, and any one text can be read alone."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Literal

import numpy as np
import pandas
import pytest
from scipy import sparse

from wordforest.errors import InputError
from wordforest.store import documents as documents_module
from wordforest.store import load_documents, read_texts, save_documents, write_table

IDS = ["a", "b é", 'c"\n,', "a"]
SHARES = sparse.csr_array(np.array([[1, 0.75, 0], [0.5, 0, 0.5], [0, 0, 1], [0, 0, 0]], dtype=np.float32))
TABLES = {
    "documents": {"document": IDS, "depth0": [0, 0, 2, -1], "depth1": [1, -1, -1, -1], "share0": [1.0, 0.5, 1.0, 0.0]},
    "nodes": {
        **{"node": [0, 1, 2], "parent": [-1, 0, -1], "depth": [0, 1, 0], "label": ["x y", "", "=z"]},
        **{"share": [0.375, 0.1875, 0.375], "stability": [0.5, None, None], "typical": [["a", "b é"], [], ['c"\n,']]},
    },
    "by_group": {"node": [0, 2], "group": ["g", "1"], "share": [0.5, 0.25], "low": [0.25, 0.0], "high": [0.75, 0.5]},
    "over_time": {"node": [0], "time": ["1999"], "share": [0.5], "low": [None], "high": [None]},
}
TEXTS = [{"id": name, "text": f"text {i}\n\u2028\r\ud800<script>" * (i + 1), "n": i} for i, name in enumerate(IDS)]


def put(folder, **changed):
    given = {"ids": IDS, "shares": SHARES, "config": {"run": "r"}, "texts": iter(TEXTS), **TABLES}
    save_documents(folder, **{**given, **changed})
    return load_documents(folder)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_all_that_is_put_in_comes_out(tmp_path, form):
    if form == "parquet":
        pytest.importorskip("pyarrow")
    found = put(tmp_path / "folder", form=form)
    assert (found.ids, found.config) == (IDS, {"run": "r"})
    assert (found.shares != SHARES).nnz == 0
    assert found.paths.tolist() == [[0, 1], [0, -1], [2, -1], [-1, -1]]
    for name, table in TABLES.items():
        assert getattr(found, name) == table, name
    assert list(read_texts(tmp_path / "folder")) == TEXTS


def test_scipy_and_numpy_read_the_shares(tmp_path):
    put(tmp_path)
    assert (sparse.load_npz(tmp_path / "shares.npz") != SHARES).nnz == 0
    with np.load(tmp_path / "shares.npz") as file:
        assert (file["documents"].tolist(), file["nodes"].tolist()) == (IDS, [0, 1, 2])


def test_other_tools_read_the_tables(tmp_path):
    put(tmp_path, documents={"document": ["a"], "share0": [np.float32(0.1)]})
    with (tmp_path / "documents.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["document", "share0"], ["a", "0.1"]]


def test_any_text_is_read_from_its_own_frame(tmp_path, monkeypatch):
    monkeypatch.setattr(documents_module, "_FRAME", 40)
    found = put(tmp_path)
    assert len(found.frames) == 5
    assert found.texts([2, 0, 2]) == [TEXTS[2], TEXTS[0], TEXTS[2]]
    content = bytearray((tmp_path / "texts.jsonl.zst").read_bytes())
    content[: found.frames[1, 0]] = bytes(found.frames[1, 0])  # the first frame is damaged
    (tmp_path / "texts.jsonl.zst").write_bytes(content)
    assert found.texts([3]) == [TEXTS[3]]
    with pytest.raises(InputError, match="cannot be read"):
        found.texts([0])


def test_a_new_one_replaces_the_old_one_and_a_failed_one_does_not(tmp_path):
    put(tmp_path)
    with pytest.raises(InputError, match="3 texts came for 4 documents"):
        put(tmp_path, texts=TEXTS[:3], config={})
    assert load_documents(tmp_path).config == {"run": "r"}
    found = put(tmp_path, texts=None, by_group=None, over_time=None)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        *("config.json", "documents.csv", "nodes.csv", "shares.npz")
    ]
    assert found.by_group == {}
    with pytest.raises(InputError, match="holds no texts"):
        next(read_texts(tmp_path))


def test_a_damaged_folder_is_told_with_what_to_do(tmp_path):
    with pytest.raises(InputError, match="wordforest documents"):
        load_documents(tmp_path)
    put(tmp_path)
    (tmp_path / "nodes.csv").write_text("node,parent\n1\n")
    with pytest.raises(InputError, match=r"nodes\.csv: not a usable table"):
        _ = load_documents(tmp_path).nodes
    (tmp_path / "shares.npz").write_bytes(b"PK")
    with pytest.raises(InputError, match="wordforest documents"):
        load_documents(tmp_path)


def test_no_documents_are_a_folder_too(tmp_path):
    empty = {name: {column: [] for column in table} for name, table in TABLES.items()}
    found = put(tmp_path, ids=[], shares=SHARES[:0], texts=[], **empty)
    assert (found.ids, found.shares.shape, found.texts([]), found.documents) == ([], (0, 3), [], empty["documents"])


def test_texts_are_lines_of_json(tmp_path):
    from wordforest.runtime.disk import zstd_library

    put(tmp_path)
    lines = zstd_library().decompress((tmp_path / "texts.jsonl.zst").read_bytes()).split(b"\n")
    assert [json.loads(line)["n"] for line in lines[:-1]] == [0, 1, 2, 3]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_table_alone_is_written_by_its_suffix(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"over_time.{form}"
    write_table(path, {"node": [0], "time": [1999], "share": [0.5], "documents": [3], "low": [float("nan")]})
    content = pandas.read_csv(path) if form == "csv" else pandas.read_parquet(path)
    assert content.loc[0, ["node", "time", "share", "documents"]].tolist() == [0, 1999, 0.5, 3]
    assert content["low"].isna().all()
    with pytest.raises(InputError, match=r"\.csv or \.parquet"):
        write_table(tmp_path / "table.xlsx", {})


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_what_is_not_known_is_none_in_both_forms(tmp_path: Path, form: Literal["csv", "parquet"]) -> None:
    times = {"node": [0, 0], "time": [1990, 1991], "share": [0.5, float("nan")], "low": [None, None]}
    save_documents(tmp_path / "f", ids=IDS, shares=SHARES, config={}, form=form, **{**TABLES, "over_time": times})
    found = load_documents(tmp_path / "f").over_time
    assert found == {"node": [0, 0], "time": ["1990", "1991"], "share": [0.5, None], "low": [None, None]}
