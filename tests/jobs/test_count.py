"""Tables and Python objects are counted like a file of their texts, by every job that takes a corpus."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import wordforest as wf
from tests.commands import run_command
from wordforest.errors import InputError
from wordforest.runtime.cluster import Cluster

FAST: dict[str, Any] = {"epochs": 1, "trees": 1, "min_count": 2}


@pytest.fixture(scope="module")
def lines(corpus: Path) -> list[str]:
    return corpus.read_text(encoding="utf-8").split("\n")[:300]


@pytest.fixture(scope="module")
def plain(lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plain") / "text.txt"
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def table(lines: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "posts.jsonl"
    path.write_text("".join(json.dumps({"title": "a b", "body": line}) + "\n" for line in lines), encoding="utf-8")
    return path


def equal(a: wf.Run, b: wf.Run) -> bool:
    return a.words == b.words and (a.codes != b.codes).nnz == 0


def test_a_table_and_texts_learn_what_a_file_of_them_does(plain: Path, table: Path, lines: list[str]) -> None:
    expected = wf.train(plain, **FAST)
    for run in (wf.train(table, text="body", **FAST), wf.train(lines, **FAST), wf.train(iter(lines), **FAST)):
        assert equal(run, expected)
        assert run.config["fingerprint"] == expected.config["fingerprint"]
    assert wf.train(lines, **FAST).config["corpus"] == ["300 texts"]
    assert wf.train(table, text="body", **FAST).config["text"] == "body"


def test_texts_of_python_are_counted_once_and_resumed(lines: list[str], tmp_path: Path, monkeypatch: Any) -> None:
    wf.train(lines, out=tmp_path / "run", **FAST)
    wf.count_corpus(lines, tmp_path / "counts", min_count=2)
    monkeypatch.setattr("wordforest.jobs.count.count_into", None)  # would fail if it counted again
    assert equal(wf.train(lines, out=tmp_path / "again", **FAST), wf.load_run(tmp_path / "run"))
    assert wf.count_corpus(lines, tmp_path / "counts", min_count=2, resume=True).vocabulary.words
    with pytest.raises(InputError, match="is complete, but with corpus"):
        wf.count_corpus(lines[1:], tmp_path / "counts", min_count=2, resume=True)


def test_one_nul_in_much_text_ends_nothing_that_was_not_strict(tmp_path: Path) -> None:
    lines, path = b"the quick brown fox jumps\n" * 400_000, tmp_path / "a.txt"  # more than a chunk
    path.write_bytes(lines[:9_000_000] + b"\0" + lines[9_000_000:])
    with pytest.raises(InputError, match=r"a.txt: line 346154, column 23: found a NUL byte.*--errors replace or skip"):
        wf.count_corpus(path, tmp_path / "strict")
    whole = dict.fromkeys(("the", "quick", "brown", "fox", "jumps"), 400_000)
    for errors, expected in (("skip", whole), ("replace", whole | {"jumps": 399_999, "ju": 1, "mps": 1})):
        found = wf.count_corpus(path, tmp_path / errors, errors=errors, min_count=1).vocabulary
        assert dict(zip(found.words, found.counts.tolist(), strict=True)) == expected


def test_a_folder_and_a_pattern_take_what_is_text_and_name_the_rest(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("a ship\n")
    (folder / "b.csv").write_text("id,body\n1,the ship sails\n2,no ship sails\n")
    (folder / "c.pdf").write_bytes(b"%PDF-1.4\n\0\1\2")
    (folder / "d.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    (folder / "e.json").write_text('{"names": "of fields"}')
    (folder / ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
    for i, given in enumerate((folder, f"{folder}/*")):
        ended = run_command("count", str(given), "--out", str(tmp_path / f"{i}"), "--min-count", "1")
        assert ended.returncode == 0, ended.stderr
        assert (
            f"skipped what is not text: {folder / 'c.pdf'}, {folder / 'd.png'}, {folder / 'e.json'}\n" in ended.stderr
        )
        assert "DS_Store" not in ended.stderr
        assert (tmp_path / f"{i}" / "vocab.tsv").read_text().split()[::2] == ["ship", "sails", "a", "no", "the"]


def test_lists_of_tokens_are_noted_as_split_already(lines: list[str]) -> None:
    for run in (
        wf.train([line.split() for line in lines], **FAST),
        wf.baseline("pca", [["a", "b", "c"]] * 10, dimensions=1),
    ):
        assert run.config["tokenizer"] == "whitespace"


def test_a_cluster_cannot_read_texts_of_python(lines: list[str], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(Cluster, "__init__", lambda self: None)
    with pytest.raises(InputError, match="texts of Python cannot be read by the workers"):
        wf.count_corpus(lines, tmp_path / "counts", cluster=Cluster())


def test_the_command_reads_a_column_and_says_which(table: Path, tmp_path: Path) -> None:
    ended = run_command("count", str(table), "--out", str(tmp_path / "c"), "--text", "body", "--min-count", "2")
    assert ended.returncode == 0, ended.stderr
    ended = run_command("count", str(table), "--out", str(tmp_path / "d"))
    assert "2 columns look like text" in ended.stderr
    assert "title, body" in ended.stderr
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.csv").write_text("n,words\n1,one two\n")
    (tmp_path / "texts" / "b.pdf").write_bytes(b"%PDF-1.4")
    ended = run_command("count", str(tmp_path / "texts"), "--out", str(tmp_path / "e"), "--min-count", "1")
    assert ended.returncode == 0, ended.stderr
    assert "skipped what is not text" in ended.stderr
    assert "the column 'words' is read as the text" in ended.stderr


def test_memory_is_given_as_on_the_command_line(tmp_path):
    text = ["the cat eats fish", "the dog eats meat"] * 9
    assert wf.count(text, min_count=1, memory="100M").matrix.nnz == wf.count(text, min_count=1).matrix.nnz
    assert wf.count_corpus(text, tmp_path / "counts", min_count=1, memory="100M").matrix.nnz
    with pytest.raises(InputError, match="memory = -5"):
        wf.train(text, min_count=1, memory=-5)
