"""Whoever comes from gensim finds the same words and the same numbers under the same names."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.vectors import Vectors

N, M = 60, 8
WORDS = [f"w{i}" for i in range(N)]
MATRIX = np.random.default_rng(5).normal(size=(N, M)).astype(np.float32)
ROUNDING = 2e-6  # of float32, in other orders of summing
ADDITIVE = Vectors("abcd", [[4.0, 1, 3], [9, 9, 0], [1, 0, 1], [2, 0, 5]], nodes={"use": [0.75, 0.5, 0.5]})


@pytest.fixture(scope="module")
def theirs() -> Any:
    keyed = pytest.importorskip("gensim.models").KeyedVectors(M)
    keyed.add_vectors(WORDS, MATRIX)
    return keyed


@pytest.fixture(scope="module", params=[np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def ours(request: pytest.FixtureRequest) -> Vectors:
    return Vectors(WORDS, request.param(MATRIX))


def same(ours: list[tuple[str, float]], theirs: list[tuple[str, float]]) -> None:
    assert [word for word, _ in ours] == [word for word, _ in theirs]
    assert [score for _, score in ours] == pytest.approx([score for _, score in theirs], abs=ROUNDING)


@pytest.mark.parametrize(
    "asked",
    [
        {"positive": "w3"},
        {"positive": ["w3", "w4"], "negative": ["w5"], "topn": 5},
        {"positive": ["w3", "w4"], "negative": "w5"},
        {"negative": ["w3"]},
        {"positive": [("w3", 0.5), "w4"], "negative": [("w5", -2.0)]},
        {"positive": MATRIX[7]},
        {"positive": [MATRIX[7], "w3"], "negative": [MATRIX[9]]},
        {"positive": [(MATRIX[7], 0.25), ("w3", 2)]},
        {"positive": MATRIX[:3]},
        {"positive": ["w3"], "negative": None},
    ],
    ids=lambda asked: " ".join(asked),
)
def test_most_similar(ours: Vectors, theirs: Any, asked: dict[str, Any]) -> None:
    same(ours.most_similar(**asked), theirs.most_similar(**asked))


def test_similar_by_word_and_by_vector(ours: Vectors, theirs: Any) -> None:
    same(ours.similar_by_word("w3", 4), theirs.similar_by_word("w3", 4))
    same(ours.similar_by_vector(MATRIX[3], 4), theirs.similar_by_vector(MATRIX[3], 4))


def test_similarities_ranks_and_the_odd_one_out(ours: Vectors, theirs: Any) -> None:
    first, second = WORDS[:5], WORDS[8:11]
    assert ours.similarity("w1", "w2") == pytest.approx(theirs.similarity("w1", "w2"), abs=ROUNDING)
    assert ours.n_similarity(first, second) == pytest.approx(theirs.n_similarity(first, second), abs=ROUNDING)
    assert [ours.rank("w1", word) for word in first] == [theirs.rank("w1", word) for word in first]
    assert ours.doesnt_match(first) == theirs.doesnt_match(first)


def test_words_and_rows_by_their_names(ours: Vectors, theirs: Any) -> None:
    assert dict(ours.key_to_index) == theirs.key_to_index
    assert list(ours.index_to_key) == theirs.index_to_key == list(ours)
    assert (len(ours), ours.vector_size) == (len(theirs), theirs.vector_size)
    np.testing.assert_array_equal(ours.vectors, theirs.vectors)
    np.testing.assert_array_equal(ours[["w1", "w5"]], theirs[["w1", "w5"]])
    np.testing.assert_array_equal(ours.get_vector("w1"), theirs.get_vector("w1"))
    np.testing.assert_allclose(ours.get_vector("w1", norm=True), theirs.get_vector("w1", norm=True), rtol=1e-6)


def test_several_words_give_a_matrix_that_nobody_writes_to(ours: Vectors) -> None:
    found = ours[["w1", "w2"]]
    assert found.shape == (2, M)
    assert ours[[]].shape == (0, M)
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 0
    with pytest.raises(TypeError):
        ours.key_to_index["w1"] = 7  # type: ignore[index]


def test_of_an_additive_forest_all_cosines_are_of_comparable_vectors() -> None:
    seen = Vectors("abcd", ADDITIVE.comparable.dense)
    assert ADDITIVE.most_similar(["a", "b"], ["c"]) == seen.most_similar(["a", "b"], ["c"])
    assert ADDITIVE.n_similarity(["a", "b"], ["c"]) == pytest.approx(seen.n_similarity(["a", "b"], ["c"]))
    assert ADDITIVE.similarity("a", "b") == pytest.approx(seen.similarity("a", "b"))
    assert [ADDITIVE.rank("a", word) for word in "bcd"] == [seen.rank("a", word) for word in "bcd"]
    assert ADDITIVE.doesnt_match(["a", "b", "c"]) == seen.doesnt_match(["a", "b", "c"])
    np.testing.assert_array_equal(ADDITIVE.get_vector("a", norm=True), seen.unit[0])
    found = ADDITIVE.similar_by_vector(ADDITIVE["a"], 4)
    same(found, seen.similar_by_vector(seen["a"], 4))


@pytest.mark.parametrize("asked", [{}, {"positive": []}, {"positive": [], "negative": []}])
def test_nothing_asked_is_an_error(ours: Vectors, asked: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="expected a word or a vector, but none came"):
        ours.most_similar(**asked)
    with pytest.raises(InputError, match="or several of them, but 3 came"):
        ours.most_similar(3)
    with pytest.raises(InputError, match="no words came"):
        ours.doesnt_match([])


def test_words_may_come_from_a_generator(ours: Vectors) -> None:
    assert ours.most_similar(word for word in ("w1", "w2")) == ours.most_similar(["w1", "w2"])
    assert ours.doesnt_match(iter(["w1", "w2", "w3"])) == ours.doesnt_match(["w1", "w2", "w3"])


def test_an_odd_one_of_a_line_of_words(ours: Vectors) -> None:
    assert ours.doesnt_match("w1 w2 w3") == ours.doesnt_match(["w1", "w2", "w3"])


@pytest.mark.parametrize("name", ["run", "v.npz", "v.txt.gz"])
def test_what_is_saved_can_be_loaded(tmp_path: Path, name: str) -> None:
    vectors = Vectors("ab", [[1.0, 2.0], [0, 3]], forest=Forest([-1, 0]), labels={1: "leaf"})
    vectors.save(tmp_path / name)
    again = Vectors.load(str(tmp_path / name))
    assert again.words == vectors.words
    np.testing.assert_array_equal(again.dense, vectors.dense)
    assert again.forest == (None if name == "v.txt.gz" else vectors.forest)


@pytest.mark.parametrize("again", [lambda v: pickle.loads(pickle.dumps(v)), copy.copy, copy.deepcopy])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_a_copy_is_whole_and_protected(make: Any, again: Any) -> None:
    vectors = Vectors("ab", make(np.array([[1.0, 2], [0, 3]])), forest=Forest([-1, 0]), labels={1: "leaf"})
    assert vectors.unit.any()  # what was computed need not travel
    other = again(Vectors("ab", vectors.matrix, forest=vectors.forest, labels={1: "leaf"}, nodes={"use": [0.5, 0.5]}))
    assert (other.words, other.forest, other.given_labels) == (vectors.words, vectors.forest, {1: "leaf"})
    np.testing.assert_array_equal(other.dense, vectors.dense)
    np.testing.assert_array_equal(other.nodes["use"], [0.5, 0.5])
    stored = other.matrix if isinstance(other.matrix, np.ndarray) else other.matrix.data
    with pytest.raises(ValueError, match="read-only"):
        stored[...] = 1
