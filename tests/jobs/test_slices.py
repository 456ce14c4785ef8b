"""Slices of a corpus: by a column, by a folder, by names; kept beside counts and runs, and compared from there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordforest as wf
from tests.slices.made import MOVES, documents
from wordforest import store
from wordforest.errors import InputError
from wordforest.jobs.slices import load_slices

SMALL = {"trees": 1, "branching": (2,), "min_count": 3}


@pytest.fixture(scope="module")
def texts() -> tuple[list[str], list[str]]:
    return documents(40)


@pytest.fixture(scope="module")
def table(texts: tuple[list[str], list[str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("slices") / "texts.jsonl"
    rows = [{"text": text, "year": year} for part, year in zip(texts, (1990, 2004), strict=True) for text in part]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def same_slices(a: Path, b: Path) -> bool:
    one, two = (load_slices(folder, wf.load_run(folder).words) for folder in (a, b))
    return np.array_equal(one.ids, two.ids) and np.array_equal(one.code, two.code)


def test_a_column_is_the_slice(table: Path, tmp_path: Path) -> None:
    run = wf.train(table, slices="year", out=tmp_path / "run", **SMALL)
    slices = load_slices(tmp_path / "run", run.words)
    assert slices.names == (1990, 2004)
    assert slices.is_time
    assert np.bincount(slices.code).tolist() == [60, 60]


def test_a_run_with_slices_has_the_bits_of_one_without(table: Path, tmp_path: Path) -> None:
    wf.train(table, slices="year", out=tmp_path / "a", **SMALL)
    wf.train(table, out=tmp_path / "b", **SMALL)
    a, b = (wf.load_run(tmp_path / name) for name in "ab")
    assert (a.codes != b.codes).nnz == 0


def test_files_by_name_and_folders_are_slices(texts: tuple[list[str], list[str]], tmp_path: Path) -> None:
    for name, part in zip(("old", "new"), texts, strict=True):
        (tmp_path / "all" / name).mkdir(parents=True)
        (tmp_path / f"{name}.txt").write_text("\n".join(part))
        for i, text in enumerate(part):
            (tmp_path / "all" / name / f"{i:03}.txt").write_text(text)
    named = {name: tmp_path / f"{name}.txt" for name in ("new", "old")}
    wf.train(slices=named, out=tmp_path / "a", **SMALL)
    wf.train(tmp_path / "all", slices="folder", out=tmp_path / "b", **SMALL)
    assert same_slices(tmp_path / "a", tmp_path / "b")


def test_counts_hand_their_slices_on_to_a_run(table: Path, tmp_path: Path) -> None:
    wf.count_corpus(table, tmp_path / "counts", slices="year", min_count=3)
    wf.train(tmp_path / "counts", out=tmp_path / "a", trees=1, branching=(2,))
    wf.train(table, slices="year", out=tmp_path / "b", **SMALL)
    assert same_slices(tmp_path / "a", tmp_path / "b")


def test_a_new_run_without_slices_leaves_none_of_the_old(table: Path, tmp_path: Path) -> None:
    wf.train(table, slices="year", out=tmp_path / "run", **SMALL)
    wf.train(table, out=tmp_path / "run", force=True, **SMALL)
    with pytest.raises(InputError, match=r"has no slices\. Train with --slices"):
        wf.compare(tmp_path / "run")


def test_other_documents_are_compared_on_a_run(texts: tuple[list[str], list[str]], tmp_path: Path) -> None:
    old, new = texts
    run = wf.train([*old, *new], **SMALL)
    names = ["old"] * len(old) + ["new"] * len(new)
    a = wf.compare(run, [*old, *new], slices=names)
    b = wf.compare(run, slices={"new": new, "old": old})
    assert a.tables["words"]["word"][0] == MOVES
    assert a.sizes == b.sizes


def test_a_folder_of_tables_is_written(table: Path, tmp_path: Path) -> None:
    wf.train(table, slices="year", out=tmp_path / "run", **SMALL)
    found = wf.compare(tmp_path / "run", out=tmp_path / "compared")
    kept = store.read_json(tmp_path / "compared" / "compare.json")
    assert kept["words"]["word"] == found.tables["words"]["word"]
    assert (tmp_path / "compared" / "nodes.csv").read_text().startswith("node,label,parent,depth,slice,share")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"documents": ["a b", "b c"]}, "documents need slices"),
        ({"documents": ["a b"], "slices": ["x", "y"]}, "2 names of slices came for 1 documents"),
        ({}, "a run in memory keeps no texts"),
    ],
)
def test_what_is_missing_is_told(arguments: dict[str, object], message: str) -> None:
    run = wf.train([*documents(4)[0]], trees=1, branching=(2,), min_count=1)
    with pytest.raises(InputError, match=message):
        wf.compare(run, **arguments)


def test_a_damaged_file_of_slices_is_refused(table: Path, tmp_path: Path) -> None:
    wf.train(table, slices="year", out=tmp_path / "run", **SMALL)
    (tmp_path / "run" / "slices.safetensors").write_bytes(b"nothing")
    with pytest.raises(InputError, match="not a usable safetensors file"):
        wf.compare(tmp_path / "run")


def test_a_wrong_column_is_told_before_learning(table: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no column 'party'"):
        wf.train(table, slices="party", out=tmp_path / "run", **SMALL)
    assert not (tmp_path / "run" / "codes.safetensors").exists()


def test_a_run_that_lost_its_slices_gets_them_by_resume(table: Path, tmp_path: Path) -> None:
    wf.train(table, slices="year", out=tmp_path / "run", **SMALL)
    (tmp_path / "run" / "slices.safetensors").unlink()
    wf.train(table, slices="year", out=tmp_path / "run", resume=True, **SMALL)
    assert wf.compare(tmp_path / "run").slices == (1990, 2004)


def test_folders_named_one_by_one_are_slices(texts: tuple[list[str], list[str]], tmp_path: Path) -> None:
    for name, part in zip(("old", "new"), texts, strict=True):
        (tmp_path / name).mkdir()
        for i, text in enumerate(part):
            (tmp_path / name / f"{i:03}.txt").write_text(text)
    wf.train([tmp_path / "old", tmp_path / "new"], slices="folder", out=tmp_path / "run", **SMALL)
    assert wf.compare(tmp_path / "run").slices == ("new", "old")


def test_functions_dates_frames_and_generators_make_slices(texts: tuple[list[str], list[str]], tmp_path: Path) -> None:
    import pandas

    old, new = texts
    days = [pandas.Timestamp("1990-05-01")] * len(old) + [pandas.Timestamp("2004-07-01")] * len(new)
    frame = pandas.DataFrame({"text": [*old, *new], "day": days})
    wf.train(frame, slices="day", text="text", tokenizer=str.split, out=tmp_path / "a", **SMALL)
    assert wf.compare(tmp_path / "a", out=tmp_path / "tables").slices == ("1990-05-01", "2004-07-01")
    wf.train((text for text in [*old, *new]), slices=frame.day, out=tmp_path / "b", **SMALL)
    assert wf.compare(tmp_path / "b").sizes["documents"] == [60, 60]
    found = wf.compare(tmp_path / "a", frame, slices="day", text="text", tokenizer=str.split)
    assert found.sizes["documents"] == [60, 60]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"corpus": "counts", "slices": "year"}, "slices are read with the text. Count it so"),
        ({"corpus": "texts.jsonl", "bins": "decade"}, "bins are of slices"),
        ({"slices": {"a": "-", "b": "texts.jsonl"}}, "standard input cannot be read twice"),
        ({"corpus": "texts.jsonl", "slices": {"a": "texts.jsonl"}}, "bring their own documents"),
        ({"corpus": "texts.jsonl", "slices": "folder"}, "is no folder"),
    ],
)
def test_what_cannot_be_sliced_is_told(
    table: Path, tmp_path: Path, arguments: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.jsonl").write_bytes(table.read_bytes())
    wf.count_corpus("texts.jsonl", "counts", min_count=3)
    with pytest.raises(InputError, match=message):
        wf.train(arguments.pop("corpus", None), out="run", **arguments)


def test_text_cannot_be_added_with_slices(table: Path, tmp_path: Path) -> None:
    wf.count_corpus(table, tmp_path / "first", extendable=True, min_count=3)
    with pytest.raises(InputError, match="slices of the text before are not known"):
        wf.count_corpus(table, tmp_path / "second", add=tmp_path / "first", slices="year", min_count=3)
