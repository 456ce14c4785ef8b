"""Embedding Atlas: the columns that it reads, of words and of documents."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wordforest as wf
from wordforest.interop import write_atlas
from wordforest.jobs.documents import place_documents

pq = pytest.importorskip("pyarrow.parquet")


def test_words_have_a_place_levels_and_neighbours(readable: Path, tmp_path: Path):
    run = wf.load_run(readable)
    labels = write_atlas(readable, tmp_path / "atlas.parquet")
    table = pq.read_table(tmp_path / "atlas.parquet").to_pydict()
    assert [*table] == ["text", "count", "x", "y", "level0", "level1", "neighbors"]
    assert (table["text"], table["count"]) == ([*run.words], run.counts.tolist())
    king = run.words.index("king")
    first = run.vectors.path("king").trees[0].steps[0]
    assert table["level0"][king] == " ".join(run.vectors.labels[first.node])
    near = table["neighbors"][king]
    found = run.vectors.most_similar("king", topn=10)
    assert near["distances"] == pytest.approx([1 - cosine for _, cosine in found], abs=1e-6)
    assert king not in near["ids"]
    named = pq.read_table(labels).to_pydict()
    assert [*named] == ["x", "y", "text", "level", "priority"]
    row = named["text"].index(table["level0"][king])
    there = [i for i, label in enumerate(table["level0"]) if label == table["level0"][king]]
    assert (named["level"][row], named["priority"][row]) == (0, len(there))
    assert named["x"][row] == pytest.approx(np.mean([table["x"][i] for i in there]), abs=1e-5)


def test_documents_have_their_text_and_levels(readable: Path, tmp_path: Path):
    texts = ["The king sees his crown", "A train runs from Paris to Rome", "", "a dog eats hay"]
    folder = place_documents(readable, texts, out=tmp_path / "documents")
    write_atlas(tmp_path / "documents", tmp_path / "atlas.parquet")
    table = pq.read_table(tmp_path / "atlas.parquet").to_pydict()
    assert table["text"] == texts
    assert table["id"] == folder.ids
    label = folder.nodes["label"][folder.documents["depth0"][0]]
    assert (table["level0"][0], table["level0"][2]) == (label, "(ends above)")
    assert len(table["neighbors"][0]["ids"]) == 3


def test_one_word_has_no_neighbours(tmp_path: Path):
    write_atlas(wf.Vectors(["a"], [[1.0, 2.0]]), tmp_path / "atlas.parquet")
    assert pq.read_table(tmp_path / "atlas.parquet").column_names == ["text", "x", "y", "level0"]
