"""Hugging Face: a folder that says what it is, and loads back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wordforest as wf
from wordforest.interop import write_huggingface


def test_the_folder_loads_back_as_the_run_it_is(readable: Path, tmp_path: Path):
    write_huggingface(readable, tmp_path / "model")
    vectors, back = wf.read_vectors(readable), wf.read_vectors(tmp_path / "model")
    assert back.words == vectors.words
    np.testing.assert_allclose(back.unit @ back.unit.T, vectors.unit @ vectors.unit.T, atol=1e-6)
    run, ours = wf.load_run(readable), wf.load_run(tmp_path / "model")
    np.testing.assert_array_equal(ours.dictionary, run.dictionary)
    assert ours.config == {**run.config, "license": "unknown"}


def test_the_card_has_fields_and_says_what_the_model_is(readable: Path, tmp_path: Path):
    hub = pytest.importorskip("huggingface_hub")
    score = wf.Score("similarity", "EN-MEN", "spearman", 0.5, 10, 12, 0.4, 0.6)
    write_huggingface(
        readable, tmp_path / "model", license="cc-by-4.0", language=["en"], datasets=["mine"], scores=[score]
    )
    run = wf.load_run(readable)
    card = hub.ModelCard.load(tmp_path / "model" / "README.md")
    assert card.data.to_dict() == {
        "license": "cc-by-4.0",
        "language": ["en"],
        "library_name": "wordforest",
        "tags": ["wordforest", "word-vectors", "sparse-coding", "interpretability"],
        "datasets": ["mine"],
    }
    for part in (
        f"| words | {len(run.words)} |",
        f"| dimensions | {len(run.forest)} nodes in {len(run.forest.roots)} trees of 2 levels |",
        "| similarity | EN-MEN | spearman | 0.500 | 10 of 12 |",
        "| min_count | 1 |",
        "| additive | true |",
        "| learned from | corpus.txt, ",
        " ".join(run.vectors.labels[0][:4]),
        "wf.read_vectors(",
    ):
        assert part in card.text, part


def test_vectors_without_a_run_have_a_card_too(tmp_path: Path):
    write_huggingface(wf.Vectors(["a", "b"], [[1.0, 0], [0, 1]]), tmp_path / "model", title="Two words")
    text = (tmp_path / "model" / "README.md").read_text()
    assert "# Two words\n" in text
    assert "| learned from | unknown |" in text
