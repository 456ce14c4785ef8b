"""What plugs are given, and what they say where their package is absent."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pytest

import wordforest as wf
from wordforest.errors import MissingExtraError
from wordforest.interop.source import open_source

WORDS = wf.Vectors(["a", "b"], [[1.0, 0], [0, 1]])
NEEDS = {
    "gensim.models": ("gensim", lambda: wf.interop.to_gensim(WORDS)),
    "tokenizers": ("sentence-transformers", lambda: wf.interop.write_sentence_transformers(WORDS, "model")),
    "polars": ("polars", lambda: wf.interop.to_frame(WORDS, library="polars")),
    "pyarrow": ("pyarrow", lambda: wf.interop.write_atlas(WORDS, "atlas.parquet")),
    "spacy": ("spacy", lambda: import_module("wordforest.interop.spacy").to_spacy(WORDS)),  # not kept by wf.interop
}


@pytest.mark.parametrize("module", NEEDS)
def test_a_package_that_is_absent_is_named_with_what_installs_it(module: str, monkeypatch: pytest.MonkeyPatch):
    package, call = NEEDS[module]
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "wordforest.interop.spacy", raising=False)
    with pytest.raises(MissingExtraError, match=f"pip install .*{package}|needs {package}, which has no release"):
        call()


def test_a_path_a_run_and_vectors_are_the_same(readable: Path):
    run = wf.load_run(readable)
    by_path, by_run, by_vectors = (open_source(model) for model in (str(readable), run, run.vectors))
    assert by_path.counts.tolist() == by_run.counts.tolist()
    assert by_path.config == by_run.config
    assert (by_vectors.counts, by_vectors.config) == (None, {})
    assert by_path.rules == by_run.rules
    assert by_vectors.rules.lowercase
    assert by_vectors.rules.numbers


def test_rules_of_words_alone_follow_their_looks():
    rules = open_source(wf.Vectors(["Rome", "rome"], [[1.0], [2.0]])).rules
    assert (rules.lowercase, rules.numbers) == (False, False)
