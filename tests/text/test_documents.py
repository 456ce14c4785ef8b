from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordforest.errors import InputError
from wordforest.text.documents import Columns, Document, read_documents, read_files

ROWS = [
    {"id": "a", "body": "The ship sails.\nIt is, “well”, far;", "year": "1790"},
    {"id": "b", "body": "A harbour at night", "year": "1791"},
    {"id": "c", "body": "", "year": ""},
]


def write_csv(path: Path, rows: list[dict[str, Any]], separator: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*rows[0]], delimiter=separator)
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_table(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        write_csv(path, rows, "\t" if path.suffix == ".tsv" else ",")
    return path


def found(source: Any, **asked: Any) -> list[tuple[str, Any]]:
    return [(one.id, one.text) for one in read_documents(source, **asked)]


# ---- tables


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_a_row_of_a_table_is_a_document(tmp_path: Path, suffix: str) -> None:
    told: list[str] = []
    path = write_table(tmp_path / f"posts{suffix}", ROWS)
    documents = list(read_documents(path, keep=["year"], notice=told.append))
    assert [(one.id, one.text, one.fields["year"]) for one in documents] == [tuple(row.values()) for row in ROWS]
    assert told == [f"{path}: the column 'body' is read as the text"]


@given(
    values=st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), min_size=1), min_size=1, max_size=5
    )
)
@settings(deadline=None)
def test_no_character_of_a_table_is_lost(tmp_path_factory: pytest.TempPathFactory, values: list[str]) -> None:
    rows = [{"n": i, "text": value} for i, value in enumerate(values)]
    for suffix in (".csv", ".tsv", ".jsonl", ".parquet"):
        path = write_table(tmp_path_factory.mktemp("table") / f"t{suffix}", rows)
        assert [text for _, text in found(path, text="text")] == values


def test_a_table_may_be_compressed_and_have_semicolons_and_a_mark_of_its_encoding(tmp_path: Path) -> None:
    plain = write_csv(tmp_path / "a.csv", ROWS, ";").read_bytes()
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + plain))
    assert found(tmp_path / "b.csv.gz") == found(tmp_path / "a.csv") == [(row["id"], row["body"]) for row in ROWS]


def test_a_long_field_is_read(tmp_path: Path) -> None:
    long = "word " * 100_000
    assert found(write_csv(tmp_path / "a.csv", [{"text": long}]))[0][1] == long


def test_the_column_has_to_be_named_where_several_look_like_text(tmp_path: Path) -> None:
    rows = [{"title": "On ships", "body": "A ship at sea.", "n": 1}]
    path = write_table(tmp_path / "a.jsonl", rows)
    with pytest.raises(InputError, match=r"2 columns look like text.*--text COLUMN.*title, body, n"):
        found(path)
    with pytest.raises(InputError, match="no column looks like text"):
        found(write_table(tmp_path / "b.jsonl", [{"n": 1, "m": 2}]))
    assert found(path, text="title") == [("1", "On ships")]
    assert found(write_table(tmp_path / "c.csv", [{"title": "On ships", "Text": "A ship."}])) == [("1", "A ship.")]


@pytest.mark.parametrize("asked", [{"text": "boddy"}, {"id": "key"}, {"keep": ["yaer"]}])
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_column_that_is_missing_is_named_with_those_there_are(tmp_path: Path, suffix: str, asked: Any) -> None:
    path = write_table(tmp_path / f"a{suffix}", ROWS)
    with pytest.raises(InputError, match=r"no column '(boddy|key|yaer)'. Its columns are: id, body, year"):
        found(path, **asked)


def test_missing_texts_are_empty_and_missing_ids_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"id": 7, "text": "a ship"}\n\n{"id": 8}\n{"text": null}\n{}\n{"text": ["New", "York"]}\n{"text": 5}\n'
    )
    texts = [("7", "a ship"), ("8", ""), ("3", ""), ("4", ""), ("5", ["New", "York"]), ("6", "5")]
    assert found(path) == texts
    path.write_text('{"id": "\\ud83d", "text": "half \\ud83d", "year": "\\ud83d"}')
    assert [(one.id, one.text, one.fields["year"]) for one in read_documents(path, text="text", keep=["year"])] == [
        ("?", "half \ud83d", "?")
    ]
    (tmp_path / "a.csv").write_text("id,text\n,a ship\n ,a boat\n")
    assert found(tmp_path / "a.csv") == [("1", "a ship"), ("2", "a boat")]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.csv", b"id,text\n1,a b\n2,a, b\n", "a.csv: line 3: found 3 fields, but the first line names 2"),
        ("a.csv", b"id,id\n1,a b\n", "two columns have one name"),
        ("a.csv", b"id,text\n1,caf\xe9 au lait\n", "line 2, column 6: byte 0xe9 is not valid UTF-8"),
        ("a.jsonl", b'{"text": "a b"}\n{"text": \n', "a.jsonl: line 2: not JSON"),
        ("a.jsonl", b'{"text": "a b"}\n"a b"\n', "a.jsonl: line 2: expected an object"),
        ("a.parquet", b"PAR1 and more", "a.parquet: not a usable Parquet file"),
    ],
)
def test_a_damaged_table_is_named_with_its_line(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=expected):
        found(tmp_path / name, text="text")


@pytest.mark.parametrize(("errors", "expected"), [("replace", "caf\ufffd o\ufffdo"), ("skip", "caf oo")])
def test_bad_bytes_are_replaced_or_skipped(tmp_path: Path, errors: Any, expected: str) -> None:
    (tmp_path / "a.csv").write_bytes(b"text\ncaf\xe9 o\0o\n")
    assert found(tmp_path / "a.csv", errors=errors) == [("1", expected)]


# ---- files


def test_a_line_of_a_text_file_is_a_document_and_an_empty_one_too(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbfone two\r\n\nthree\n")
    assert found(tmp_path / "a.txt") == [("1", "one two"), ("2", ""), ("3", "three")]
    both = [one.id for one in read_files([tmp_path / "a.txt", str(tmp_path / "b.txt")], Columns())]
    assert both == [f"{tmp_path / name}:{line}" for name in ("a.txt", "b.txt") for line in (1, 2, 3)]
    assert [one.id for one in read_documents([tmp_path / "a.txt", tmp_path / "b.txt"])] == both


def test_a_file_of_a_folder_is_a_document_and_what_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.txt").write_text("two\nlines")
    (tmp_path / "a").write_text("one")
    (tmp_path / ".DS_Store").write_bytes(b"\0\0")
    (tmp_path / "c.pdf").write_bytes(b"%PDF-1.7\nplain so far")
    (tmp_path / "d.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    write_csv(tmp_path / "e.csv", ROWS)
    told: list[str] = []
    texts = [*[("a", "one")], *[(row["id"] + "", row["body"]) for row in ROWS], ("sub/b.txt", "two\nlines")]
    names = [(i if i != "a" or t == "one" else "a#2", t) for i, t in texts]
    assert found(tmp_path, notice=told.append) == names
    assert any("c.pdf" in line and "d.png" in line and "DS_Store" not in line for line in told)
    years = [one.fields["year"] for one in read_documents(tmp_path, text="body", keep=["year"])]
    assert years == [None, "1790", "1791", "", None]


def test_columns_of_a_file_without_any_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    with pytest.raises(InputError, match=r"a.txt: it has no columns, but 'body' was asked for"):
        found(tmp_path / "a.txt", text="body")


def test_a_text_in_place_of_an_id_is_told(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", [{"key": 1, "body": "a ship " * 200}])
    with pytest.raises(InputError, match=r"row 1: its id, body, has 1,400 characters"):
        found(path, text="body", id="body")


def test_a_text_in_place_of_a_path_is_told() -> None:
    with pytest.raises(InputError, match=r"^.{80,300}: (cannot be found|no such file)"):
        found("a ship " * 1000)


# ---- objects


def test_lists_and_generators_are_read_once_and_as_they_are() -> None:
    def once() -> Iterator[str]:
        yield from ("one two", "three", "README.md")

    assert found(once()) == found(["one two", "three", "README.md"])
    assert found(["one"]) == [("0", "one")]
    assert found([["New York", "x"], (), None, float("nan")]) == [
        ("0", ["New York", "x"]),
        ("1", []),
        ("2", ""),
        ("3", ""),
    ]
    assert found([Document("k", "text")]) == [("k", "text")]


def test_a_stream_is_not_held() -> None:
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield "a ship"

    documents = read_documents(endless())
    assert [next(documents).id for _ in range(3)] == ["0", "1", "2"]
    assert taken <= 1001


def test_columns_and_frames_of_pandas_are_read_by_their_index() -> None:
    frame = pd.DataFrame(ROWS, index=["x", "y", "z"]).rename(columns={"id": "key"})
    frame.loc["z", "body"] = None
    texts = [ROWS[0]["body"], ROWS[1]["body"], ""]
    assert found(frame["body"]) == found(frame, text="body") == found(frame) == [*zip("xyz", texts, strict=True)]
    kept = read_documents(frame, text="body", id="key", keep=["year"])
    assert [(one.id, one.fields) for one in kept] == [(row["id"], {"year": row["year"]}) for row in ROWS]
    with pytest.raises(InputError, match=r"no column 'text'. Its columns are: key, body, year"):
        found(frame, text="text")
    assert found(frame.to_dict("records"), text="body") == [*zip("012", texts, strict=True)]
    assert found(pd.DataFrame({0: texts, 1: 5})) == [*zip("012", texts, strict=True)]


def test_columns_and_frames_of_polars_are_read_in_their_order() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(ROWS).rename({"id": "key"})
    texts = [*enumerate(row["body"] for row in ROWS)]
    expected = [(str(i), text) for i, text in texts]
    assert found(frame["body"]) == found(frame, text="body") == found(frame) == found(frame.lazy()) == expected
    kept = read_documents(frame, text="body", id="key", keep=["year"])
    assert [(one.id, one.fields) for one in kept] == [(row["id"], {"year": row["year"]}) for row in ROWS]


def test_documents_of_spacy_are_their_words() -> None:
    nlp = pytest.importorskip("spacy").blank("en")
    assert found([nlp("A ship.\n\nIt's far")]) == [("0", ["A", "ship", "It", "'s", "far"])]
    assert found(nlp.pipe(["A ship.", ""])) == [("0", ["A", "ship"]), ("1", [])]


@given(ids=st.lists(st.sampled_from(["a", "b", "a#2", "", "a#3"]), max_size=8))
def test_ids_are_unique_and_nothing_is_lost(ids: list[str]) -> None:
    told: list[str] = []
    documents = [*read_documents([Document(one, "x") for one in ids], notice=told.append)]
    assert len({one.id for one in documents}) == len(ids)
    assert all(got.id == one or got.id.startswith(f"{one}#") for got, one in zip(documents, ids, strict=True))
    assert bool(told) == (len({*ids}) < len(ids) or [one.id for one in documents] != ids)


@pytest.mark.parametrize("bad", [5, [[1, 2]]])
def test_what_is_no_text_is_refused(bad: Any) -> None:
    with pytest.raises(InputError, match="must be"):
        found(bad)


def test_standard_input_is_a_line_a_document(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"one\ntwo")))
    assert found("-") == [("1", "one"), ("2", "two")]


def test_a_column_that_the_last_table_lacks_is_told_before_the_first_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,year\none two,1990\n")
    (tmp_path / "b.csv").write_text("text\nthree four\n")
    with pytest.raises(InputError, match=r"b\.csv: there is no column 'year'"):
        next(read_files([tmp_path / "a.csv", tmp_path / "b.csv"], Columns(keep=("year",))))
