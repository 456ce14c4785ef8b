from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordforest.counts import count
from wordforest.errors import InputError
from wordforest.text import TextRules, read_tokens
from wordforest.text.corpus import as_corpus
from wordforest.text.reader import Corpus, content_hash, find_sources, read_chunks, tell_columns, total_bytes
from wordforest.text.spans import Span, cut_spans, read_span

TEXTS = ["The ship sails. It is far!\nThe harbour", "", "A ship at sea"]
texts = st.lists(st.text("ab .\n\r\0é", max_size=12), min_size=1, max_size=5).map(lambda some: ["the ship", *some])


def write_jsonl(path: Path, values: list[Any]) -> Path:
    path.write_text("".join(json.dumps({"n": i, "text": v}) + "\n" for i, v in enumerate(values)), encoding="utf-8")
    return path


def as_lines(path: Path, values: list[str]) -> Path:
    path.write_bytes("".join(value.replace("\0", " ") + "\n" for value in values).encode())
    return path


def read(corpus: Any, **rules: Any) -> tuple[list[str], list[int], str]:
    found = read_tokens(corpus, TextRules(**rules))
    return found.words, found.ids[:].tolist(), found.fingerprint


# ---- tables


@given(values=texts, size=st.sampled_from([1, 10, 1 << 20]))
@settings(deadline=None)
def test_a_table_reads_like_its_texts_line_by_line(tmp_path_factory: Any, values: list[str], size: int) -> None:
    folder = tmp_path_factory.mktemp("table")
    table, plain = write_jsonl(folder / "a.jsonl", values), as_lines(folder / "a.txt", values)
    chunks = [*read_chunks([str(table)], size=size)]
    assert b"".join(chunk.data for chunk in chunks) == plain.read_bytes()
    assert [chunk.last for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    assert read(table) == read(plain)


def test_a_table_is_neither_cut_nor_measured_and_is_no_other_table(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("wordforest.text.spans._LEAST", 8)
    table, plain = write_jsonl(tmp_path / "a.jsonl", TEXTS), as_lines(tmp_path / "a.txt", TEXTS)
    assert cut_spans([str(table)]) == [Span(str(table))]
    assert len(cut_spans([str(plain)])) > 1
    assert total_bytes([str(plain), str(table)]) is None
    (tmp_path / "b.txt").write_bytes(table.read_bytes())
    assert content_hash([str(table)]) != content_hash([str(tmp_path / "b.txt")])
    assert read_span(Span(str(table)), TextRules()).digest == read(table)[2]


def test_the_column_is_told_or_asked_for(tmp_path: Path) -> None:
    told: list[str] = []
    tables = [str(write_jsonl(tmp_path / f"{i}.jsonl", TEXTS)) for i in range(2)]
    tell_columns(tables, None, "strict", told.append)
    assert told == [f"{tables[0]}, {tables[1]}: the column 'text' is read as the text; --text COLUMN names another"]
    tell_columns(tables, "n", "strict", told.append)
    assert len(told) == 1
    with pytest.raises(InputError, match=r"no column 'body'. Its columns are: n, text"):
        tell_columns(tables, "body", "strict", told.append)
    with pytest.raises(InputError, match=r"text = 'body', but none of the files is a .csv"):
        tell_columns(["a.txt"], "body", "strict", told.append)
    assert read(tables[0], text="n")[0] == ["#number#"]


@pytest.mark.parametrize(("errors", "words"), [("replace", ["one", "a", "b"]), ("skip", ["one", "ab"])])
def test_a_nul_byte_ends_nothing_when_asked(tmp_path: Path, errors: str, words: list[str]) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\na\0b")
    assert read(tmp_path / "a.txt", errors=errors)[0] == words
    with pytest.raises(InputError, match=r"a.txt: line 2, column 2: found a NUL byte"):
        read(tmp_path / "a.txt")


def test_a_folder_skips_and_names_what_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\0flaw in " + b"a text of many words " * 20)
    (tmp_path / "b.png").write_bytes(bytes(range(256)))
    told: list[str] = []
    assert find_sources(tmp_path, told.append) == [str(tmp_path / "a.txt")]
    assert told == [f"{tmp_path}: skipped what is not text: {tmp_path / 'b.png'}"]
    (tmp_path / "a.txt").unlink()
    with pytest.raises(InputError, match="the folder holds no text files"):
        find_sources(tmp_path)


# ---- objects


@given(values=texts)
@settings(deadline=None)
def test_texts_of_python_read_like_a_file_of_them(tmp_path_factory: Any, values: list[str]) -> None:
    expected = read(as_lines(tmp_path_factory.mktemp("texts") / "a.txt", values))
    frame = pd.DataFrame({"n": range(len(values)), "body": values})
    given = (values, tuple(values), iter(values), np.array(values, dtype=object), frame["body"], frame)
    assert all(read(one) == expected for one in given)


def test_a_generator_is_read_once_and_its_file_goes_away() -> None:
    def once() -> Iterator[str]:
        yield from TEXTS

    corpus = as_corpus(once())
    place = Path(corpus.file.name)
    assert corpus == ["3 texts"]
    assert corpus.sources() == [str(place)]
    assert place.exists()
    del corpus
    assert not place.exists()


def test_what_other_packages_hold_texts_in_is_read_like_a_list_of_them() -> None:
    polars, spacy = pytest.importorskip("polars"), pytest.importorskip("spacy")
    expected, nlp = count(TEXTS, min_count=1), spacy.blank("en")
    frame = {"n": [1, 2, 3], "body": TEXTS}
    columns = (pd.Series(TEXTS, dtype="string"), polars.Series(TEXTS), polars.DataFrame(frame), pd.DataFrame(frame))
    for one in (*columns, (text for text in TEXTS), nlp.pipe(text.replace("-", " ") for text in TEXTS)):
        found = count(one, min_count=1)
        assert found.vocabulary.words == expected.vocabulary.words


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"%PDF-1.4\n\xe2", "this is a PDF. Take the text out of it"),
        (b"PK\x03\x04\0", "a document of an office program. Save it as text"),
        (b"\x1f\x8b\x08", r"this is compressed. Rename it to end in .gz"),
    ],
)
def test_what_was_named_but_is_no_text_is_told_as_what_it_is(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    for errors in ("strict", "skip"):
        with pytest.raises(InputError, match=message):
            read_tokens(tmp_path / "a.txt", TextRules(errors=errors))


def test_texts_without_spaces_are_texts() -> None:
    assert as_corpus(["我爱北京天安门我爱北京", "他来到了网易杭研大厦"]) == ["2 texts"]


def test_lists_of_tokens_are_split_as_they_are() -> None:
    counts = count([["U.S.", "New York", "ships"], ["ships", "U.S."]], min_count=1)
    assert counts.vocabulary.words == ("ships", "u.s.", "new_york")
    with pytest.raises(InputError, match="some texts are strings and some are lists of tokens"):
        as_corpus([["a"], "a b"])


def test_names_stay_names(tmp_path: Path) -> None:
    spaced = tmp_path / "my texts.txt"
    spaced.write_text("one two")
    for names in (
        [spaced],
        [str(spaced)],
        [str(spaced), "not there.txt"],
        ["missing.txt"],
        ["http://a.org/b.txt"],
        ["-"],
    ):
        assert as_corpus(names) == [*map(str, names)]
        assert as_corpus(iter(names)).file is None
    assert as_corpus(["look at http://a.org", "and x" * 5000]).file
    assert as_corpus("one two") == Corpus(["one two"])
    with pytest.raises(InputError, match="corpus = 5, but it must be"):
        as_corpus(5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("A text of its own. " * 20, "this is a text, not the name of a file. Put it into a list"),
        ("Two lines\nof text", "this is a text"),
        (b"the cat", "it must be a path"),  # and not seven numbers
        ({"train": ["the cat"], "test": []}, "a mapping came, with the keys train, test. Give one of its values"),
        ("", "an empty name came"),  # and not all that lies in the working folder
        (["", ""], "an empty name came"),
    ],
)
def test_what_looks_like_texts_but_is_none_is_told(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_tokens(given)


def test_the_column_of_a_frame_is_named_or_guessed() -> None:
    frame = pd.DataFrame({"title": ["On ships", "On seas"], "body": ["a b a", "b a b"]})
    assert count(frame, text="body", min_count=1).vocabulary.words == ("a", "b")
    with pytest.raises(InputError, match=r"2 columns look like text"):
        count(frame, min_count=1)


def test_texts_without_a_word_are_told_as_texts() -> None:
    with pytest.raises(InputError, match="3 texts, and there is nothing in any"):
        as_corpus(pd.Series([np.nan, None, ""], dtype=object))


def test_a_text_and_a_list_of_tokens_are_told_where_they_go() -> None:
    with pytest.raises(InputError, match=r"no such file or folder.* A text itself goes into a file, in Python into a"):
        find_sources("The cat sat on the mat.")
    with pytest.raises(InputError, match="the tokens of a text go in as a list inside the list"):
        as_corpus(["anna", "meets", "bob"])


def test_a_url_whose_package_is_absent_says_how_to_get_it(monkeypatch: Any) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "aiohttp", None)
    monkeypatch.delitem(sys.modules, "fsspec.implementations.http", raising=False)
    with pytest.raises(InputError, match=r"Run: pip install 'fsspec\[http\]'"):
        [*read_chunks(["https://localhost:1/a.txt"])]
