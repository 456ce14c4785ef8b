"""gensim: what goes out has our cosines, and comes back as it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wordforest as wf
from wordforest.interop import from_gensim, to_gensim
from wordforest.interop.source import open_source

pytest.importorskip("gensim")


def test_there_and_back_cosines_are_the_same(readable: Path, plain: wf.Run):
    for model in (readable, plain, plain.vectors):
        vectors = open_source(model).vectors
        keyed = to_gensim(model)
        back = from_gensim(keyed)
        assert back.words == vectors.words == tuple(keyed.index_to_key)
        np.testing.assert_allclose(back.unit @ back.unit.T, vectors.unit @ vectors.unit.T, atol=1e-6)
        for word in ("king", "dog"):
            found = dict(keyed.most_similar(word, topn=5))
            assert found == pytest.approx({other: vectors.similarity(word, other) for other in found}, abs=1e-6)


def test_cosines_of_an_additive_forest_are_not_those_of_its_codes(readable: Path):
    vectors = wf.read_vectors(readable)
    raw = wf.Vectors(vectors.words, vectors.matrix)
    assert to_gensim(raw).similarity("king", "man") != pytest.approx(vectors.similarity("king", "man"), abs=1e-3)


def test_a_word_without_a_code_is_far_from_all():
    keyed = to_gensim(wf.Vectors(["a", "b", "none"], [[1, 0], [1, 1], [0, 0]]))
    assert keyed.most_similar("a", topn=2)[1] == ("none", 0.0)


def test_counts_are_known_of_a_run_alone(plain: wf.Run):
    assert to_gensim(plain).get_vecattr("king", "count") == plain.counts[plain.words.index("king")]
    with pytest.raises(KeyError):
        to_gensim(plain.vectors).get_vecattr("king", "count")


def test_a_model_of_gensim_has_its_vectors_taken():
    from gensim.models import Word2Vec

    model = Word2Vec([["a", "b", "c"]] * 5, vector_size=4, min_count=1, epochs=1, workers=1)
    assert from_gensim(model).similarity("a", "b") == pytest.approx(float(model.wv.similarity("a", "b")), abs=1e-6)


def test_what_is_no_model_is_refused():
    with pytest.raises(wf.InputError, match="the path of either, but list came"):
        to_gensim([1, 2])
