"""topics and documents as commands: files in, folders out, and what other commands make of them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import wordforest as wf
from tests.cli.shell import RUN_FILES, done, refused
from tests.documents.collection import collection
from wordforest import store
from wordforest.explorer.model import open_models

TEXTS, SUBJECTS = collection()
COLUMNS = ("--text", "body", "--id", "name")
LEARN = ("--levels", "4,8", "--min-df", "2")


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("docs") / "docs.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "body", "subject", "year"])
        rows = enumerate(zip(TEXTS, SUBJECTS, strict=True))
        writer.writerows([f"d{i}", text, subject, 1990 + i % 10] for i, (text, subject) in rows)
    return path


@pytest.fixture(scope="module")
def topics(docs: Path) -> Path:
    done("topics", docs, *COLUMNS, *LEARN, "--out", docs.parent / "run", "--quiet")
    return docs.parent / "run"


def test_topics_writes_a_run_and_speaks_of_documents(docs: Path, tmp_path: Path) -> None:
    said = done("topics", docs, *COLUMNS, *LEARN, "--out", tmp_path / "run", "--stability").stderr
    assert {path.name for path in (tmp_path / "run").iterdir()} == {*RUN_FILES, "space.safetensors"}
    assert "documents: 200 documents" in said
    assert any(line.startswith("learn") and " documents, " in line for line in said.splitlines())
    assert "clusters of words" not in said
    assert len(store.load_run(tmp_path / "run").nodes["stability"]) == 12
    assert (
        "is complete already"
        in done(*("topics", docs, *COLUMNS, *LEARN, "--stability", "--resume"), "--out", tmp_path / "run").stderr
    )


def test_documents_writes_every_file(topics: Path, docs: Path, tmp_path: Path) -> None:
    given = ("documents", topics, docs, *COLUMNS, "--group", "subject", "--time", "year", "--bins", 5, "--out")
    said = done(*given, tmp_path / "a").stderr
    assert "wrote" in said
    assert "200 documents, 12 nodes, " in said
    names = {"documents.csv", "nodes.csv", "by_group.csv", "over_time.csv"}
    others = {"shares.npz", "config.json", "texts.jsonl.zst"}
    assert {path.name for path in (tmp_path / "a").iterdir()} == names | others
    assert len({*store.load_documents(tmp_path / "a").over_time["time"]}) == 5
    done(*given, tmp_path / "b", "--no-texts", "--format", "parquet", "--quiet")
    tables = {name.replace("csv", "parquet") for name in names}
    assert {path.name for path in (tmp_path / "b").iterdir()} == tables | others - {"texts.jsonl.zst"}
    said = done("documents", topics, docs, "--json", "--out", tmp_path / "c", *COLUMNS).stderr
    assert {"stage": "documents", "done": 200, "total": 200, "unit": "documents", "facts": {}} in map(
        json.loads, said.splitlines()
    )


def test_documents_come_from_standard_input(topics: Path, tmp_path: Path) -> None:
    done("documents", topics, "-", "--out", tmp_path / "placed", stdin="bread and flour\n\nthe bike\n")
    placed = store.load_documents(tmp_path / "placed")
    assert placed.ids == ["1", "2", "3"]
    assert [root >= 0 for root in placed.documents["depth0"]] == [True, False, True]
    assert "'year' was asked for" in refused("documents", topics, "-", "--time", "year", "--out", tmp_path / "x")


def test_nodes_are_merged_and_hidden(topics: Path, docs: Path, tmp_path: Path) -> None:
    forest = store.load_run(topics).forest
    root, a, b = next(
        [int(root), *forest.children(root)[:2]] for root in forest.roots if len(forest.children(root)) > 1
    )
    given = ("documents", topics, docs, *COLUMNS, "--quiet", "--out")
    done(*given, tmp_path / "a", "--merge", f"{a},{b}", "--hide", root)
    placed = store.load_documents(tmp_path / "a")
    assert placed.config["edits"] == [["merge", [a, b]], ["hide", [root]]]
    assert placed.shares.shape[1] == len(forest) - 1 - len(forest.children(root))
    assert "as 13,26" in refused(*given, tmp_path / "b", "--hide", "x")
    assert "numbered from 0 to 11" in refused(*given, tmp_path / "b", "--hide", "99")
    assert "same parent" in refused(*given, tmp_path / "b", "--merge", f"{root},{a}")


def test_nodes_named_and_merged_in_python_are_so_in_every_command(topics: Path, docs: Path, tmp_path: Path) -> None:
    forest = wf.load_topics(topics).merge_topics([1, 2]).set_topic_labels({1: "One Of Two"})
    wf.save_topics(tmp_path / "run", forest)
    words = {word for word, _ in forest.get_topic(1, 20)}
    done("documents", tmp_path / "run", docs, *COLUMNS, "--out", tmp_path / "placed", "--quiet")
    assert store.load_documents(tmp_path / "placed").nodes["label"][1] == "One Of Two"
    assert len(store.read_vectors(tmp_path / "run").forest) == len(forest.forest_) == 11
    assert "One Of Two" in done("inspect", tmp_path / "run").stdout
    done("export", tmp_path / "run", tmp_path / "run.ttl")
    assert "One Of Two" in (tmp_path / "run.ttl").read_text()
    model = open_models([str(tmp_path / "run")], documents=tmp_path / "placed")[0]
    assert model.labels[1] == ("One Of Two",)
    assert model.documents.vectors.given_labels == {1: "One Of Two"}
    for folder in (tmp_path / "placed", docs):
        lines = done("concordance", tmp_path / "run", folder, "1", "--format", "jsonl", *COLUMNS).stdout.splitlines()
        assert {json.loads(line)["keyword"].lower() for line in lines} <= words


def test_documents_merged_by_the_command_are_searched_by_their_own_nodes(
    topics: Path, docs: Path, tmp_path: Path
) -> None:
    done("documents", topics, docs, *COLUMNS, "--merge", "1,2", "--out", tmp_path / "placed", "--quiet")
    expected = wf.load_topics(topics).merge_topics([1, 2]).get_topic(2, 20)
    lines = done("concordance", topics, tmp_path / "placed", "2", "--format", "jsonl").stdout.splitlines()
    assert {json.loads(line)["keyword"].lower() for line in lines} <= {word for word, _ in expected}
    done("documents", topics, docs, *COLUMNS, "--out", tmp_path / "plain", "--quiet")
    said = refused("concordance", topics, tmp_path / "placed", tmp_path / "plain", "2")
    assert "were merged or hidden otherwise" in said


def test_stop_words_and_given_names(topics: Path, docs: Path, tmp_path: Path) -> None:
    (tmp_path / "stop.txt").write_text("bread\nbike\ncar\ncake\n")
    given = ("documents", topics, docs, *COLUMNS, "--quiet", "--stop-words", tmp_path / "stop.txt", "--out")
    done(*given, tmp_path / "a")
    labels = store.load_documents(tmp_path / "a").nodes["label"]
    assert not {"bread", "bike", "car", "cake"} & {word for label in labels for word in label.split()}


def test_a_readable_run_of_words_takes_documents_and_others_do_not(
    readable: Path, run: Path, corpus: Path, tmp_path: Path
) -> None:
    done("documents", readable, corpus, "--out", tmp_path / "placed", "--quiet")
    shares = store.load_documents(tmp_path / "placed").shares
    roots = store.load_run(readable).forest.roots
    sums = np.asarray(shares[:, roots].sum(axis=1)).ravel()
    np.testing.assert_allclose(sums[sums > 0], 1, atol=1e-5)
    assert sums.any()
    said = refused("documents", run, corpus, "--out", tmp_path / "x")
    assert "wordforest topics DOCS --out RUN" in said
    assert not (tmp_path / "x").exists()


def test_embeddings_from_files(docs: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "E.npy", np.random.default_rng(0).normal(size=(200, 5)))
    np.save(tmp_path / "short.npy", np.zeros((3, 5)))
    (tmp_path / "words.txt").write_text("bread 1 0 0\nflour 1 0.1 0\nbike 0 0 1\nchain 0 0.1 1\n")
    learn = ("topics", docs, *COLUMNS, *LEARN, "--quiet", "--out")
    place = ("documents", tmp_path / "run", docs, *COLUMNS, "--quiet", "--out", tmp_path / "placed")
    assert "3 embeddings came for 200 documents" in refused(
        *learn, tmp_path / "x", "--embeddings", tmp_path / "short.npy"
    )
    done(*learn, tmp_path / "run", "--embeddings", tmp_path / "E.npy")
    assert "learned with embeddings" in refused(*place)
    done(*place, "--embeddings", tmp_path / "E.npy")
    done(*learn, tmp_path / "run", "--embeddings", tmp_path / "words.txt", "--force")
    assert "vectors of words" in refused(*place, "--force", "--embeddings", tmp_path / "words.txt")
    done(*place, "--force")
    assert store.load_run(tmp_path / "run").config["words_embedded"]
    (tmp_path / "bad.npy").write_text("no array")
    assert "not an array of NumPy" in refused(*place, "--force", "--embeddings", tmp_path / "bad.npy")


@pytest.mark.parametrize(
    "options",
    [("--text", "nope"), ("--id", "nope"), ("--time", "nope"), ("--group", "nope")],
)
def test_a_column_that_is_not_there_is_told_with_those_that_are(
    topics: Path, docs: Path, tmp_path: Path, options: tuple[str, str]
) -> None:
    said = refused("documents", topics, docs, "--out", tmp_path / "x", *options)
    assert "no column 'nope'. Its columns are: name, body, subject, year." in said
    assert not (tmp_path / "x").exists()
    if options[0] in ("--text", "--id"):
        assert "no column 'nope'" in refused("topics", docs, "--out", tmp_path / "x", *options)


def test_other_commands_take_a_run_of_topics_or_say_why_not(
    topics: Path, counts: Path, docs: Path, tmp_path: Path
) -> None:
    assert done("inspect", topics).stdout.startswith(f"{topics}: 48 words, 12 dimensions")
    assert "bike" in done("path", topics, "bike").stdout
    assert done("neighbors", topics, "bike", "-k", 3).stdout.splitlines()[0] == "bike"
    assert "places in" in done("concordance", topics, docs, "bike", "--text", "body").stdout
    done("convert", topics, tmp_path / "v.txt")
    assert (tmp_path / "v.txt").read_text().startswith("48 12\n")
    done("explore", topics, "--export", tmp_path / "page.html")
    assert "<html" in (tmp_path / "page.html").read_text()
    said = refused("encode", topics, counts, "--out", tmp_path / "x")
    assert "learned from documents" in said
    assert "wordforest documents RUN DOCS" in said
