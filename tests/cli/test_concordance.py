"""concordance: lines for a person, records for a program."""

from __future__ import annotations

import csv
import io
import json

import pytest

from tests.cli.shell import done, refused
from wordforest.store import load_run, save_documents
from wordforest.vectors import Vectors


@pytest.fixture(scope="module")
def docs(tmp_path_factory):
    path = tmp_path_factory.mktemp("docs") / "docs.csv"
    path.write_text('name,body\na,"The King, his \x1b[31m palace"\nb,a queen\nlong,see the throne of my king\n')
    return path


def test_keywords_stand_below_each_other_without_escapes_of_the_text(run, docs):
    title, *lines = done("concordance", run, docs, "king", "--text", "body", "--id", "name").stdout.splitlines()
    assert title == "king: 2 places in 2 of 3 documents"
    assert lines == [
        "a                      The King, his \\x1b[31m palace",
        "long  see the throne of my king",
    ]


def test_lines_as_records(run, docs):
    given = ("concordance", run, docs, "king", "--text", "body", "--id", "name", "--sort", "left", "--format")
    found = json.loads(done(*given, "json").stdout)
    assert found == [json.loads(line) for line in done(*given, "jsonl").stdout.splitlines()]
    assert [(one["document"], one["keyword"], one["right"]) for one in found] == [
        *(("long", "king", ""), ("a", "King", ", his \x1b[31m palace"))
    ]
    rows = list(csv.DictReader(io.StringIO(done(*given, "csv").stdout)))
    assert rows == [{name: str(value) for name, value in one.items()} for one in found]


def test_a_number_is_a_node_and_some_lines_are_taken_by_chance(run, corpus):
    given = ("concordance", run, corpus, 3, "-k", 5, "--seed")
    words = done(*given, 1).stdout.partition(":")[0].split(", ")
    assert {*words} <= {*load_run(run).words}
    assert done(*given, 1).stdout == done(*given, 1).stdout != done(*given, 2).stdout
    assert len(done(*given, 1).stdout.splitlines()) == 6


def test_a_documents_folder_is_read(run, tmp_path):
    vectors: Vectors = load_run(run).vectors
    tables = {"documents": {"document": ["x"]}, "nodes": {"node": []}}
    records = [{"id": "x", "text": "my king"}]
    save_documents(tmp_path, ids=["x"], shares=vectors.matrix[:1], config={}, texts=records, **tables)
    assert done("concordance", run, tmp_path, "king").stdout.splitlines()[1] == "x  my king"


def test_an_unknown_word_is_told_with_words_like_it(run, docs):
    assert "Did you mean king" in refused("concordance", run, docs, "kign", "--text", "body")
