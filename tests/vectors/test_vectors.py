from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.vectors import UnknownWordError, Vectors

WORDS = ("hot", "warm", "cold", "void")
MATRIX = [[2, 0], [1, 1], [-1, 0], [0, 0]]

# a coarse grid: many exact zeros, many ties, every product exact in float32
matrices = hnp.arrays(
    np.float32,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=7),
    elements=st.integers(-2, 2).map(float),
)


def named(matrix: object) -> Vectors:
    return Vectors([f"w{i}" for i in range(matrix.shape[0])], matrix)


@pytest.fixture(params=["dense", "csr", "coo"])
def vectors(request: pytest.FixtureRequest) -> Vectors:
    make = {"dense": np.array, "csr": sparse.csr_array, "coo": sparse.coo_matrix}[request.param]
    return Vectors(WORDS, make(np.array(MATRIX, dtype=np.float64)))


def test_a_word_gives_its_row_as_float32(vectors: Vectors) -> None:
    assert vectors["cold"].dtype == np.float32
    assert vectors["cold"].tolist() == [-1, 0]


def test_length_words_and_dimensions(vectors: Vectors) -> None:
    assert (len(vectors), vectors.n_dimensions, vectors.words) == (4, 2, WORDS)


def test_membership(vectors: Vectors) -> None:
    assert "warm" in vectors
    assert "tepid" not in vectors


def test_index_is_the_row(vectors: Vectors) -> None:
    assert [vectors.index(word) for word in WORDS] == [0, 1, 2, 3]


def test_dense_has_all_rows(vectors: Vectors) -> None:
    assert vectors.dense.tolist() == MATRIX


def test_unit_rows_have_norm_one_and_zero_stays_zero(vectors: Vectors) -> None:
    assert np.linalg.norm(vectors.unit, axis=1) == pytest.approx([1, 1, 1, 0], abs=1e-7)  # float32 rounding


@pytest.mark.parametrize("scale", [1e-38, 1e37])
def test_unit_survives_squares_outside_float32(scale: float) -> None:
    assert Vectors(["a"], [[3 * scale, 4 * scale]]).unit[0] == pytest.approx([0.6, 0.8], rel=1e-6)


@pytest.mark.parametrize(
    ("a", "b", "cosine"),
    [("hot", "warm", 0.5**0.5), ("hot", "cold", -1.0), ("hot", "hot", 1.0), ("hot", "void", 0.0)],
)
def test_similarity_is_the_cosine(vectors: Vectors, a: str, b: str, cosine: float) -> None:
    assert vectors.similarity(a, b) == pytest.approx(cosine, abs=1e-12)


def test_most_similar_leaves_the_word_out(vectors: Vectors) -> None:
    assert [word for word, _ in vectors.most_similar("hot")] == ["warm", "void", "cold"]


def test_most_similar_to_a_vector_keeps_every_word(vectors: Vectors) -> None:
    assert vectors.most_similar([5.0, 0.0], topn=1) == [("hot", 1.0)]


def test_most_similar_to_a_zero_word_is_zero_in_row_order(vectors: Vectors) -> None:
    assert vectors.most_similar("void", topn=2) == [("hot", 0.0), ("warm", 0.0)]


@given(matrix=matrices, k=st.integers(1, 9))
def test_most_similar_equals_sorting_everything(matrix: np.ndarray, k: int) -> None:
    vectors = named(matrix)
    query = vectors.unit[0]
    score = [float(np.einsum("j,j->", row, query)) for row in vectors.unit]
    order = sorted(range(1, len(vectors)), key=lambda row: (-round(score[row], 5), row))
    found = [vectors.index(word) for word, _ in vectors.most_similar("w0", topn=k)]
    # equal up to 1e-5: rows that are equal only up to rounding may swap
    assert [round(score[row], 5) for row in found] == pytest.approx([round(score[row], 5) for row in order[:k]])


@pytest.mark.parametrize("k", [1, 100, 700, 2003])
def test_equal_rows_come_in_row_order_wherever_they_stand(k: int) -> None:
    rng = np.random.default_rng(7)
    kinds, kind = rng.normal(size=(3, 37)), rng.integers(3, size=2003)
    kinds[0] = kinds[1] + kinds[2]  # nearer to kind 1 than kind 2 is
    vectors = named(kinds[kind])
    score = vectors.unit.astype(np.float64) @ kinds[1]
    order = sorted(range(2003), key=lambda row: (-score[np.argmax(kind == kind[row])], row))
    found = vectors.most_similar(kinds[1], topn=2003)
    assert [vectors.index(word) for word, _ in found] == order
    assert vectors.most_similar(kinds[1], topn=k) == found[:k]


def test_analogy_is_b_minus_a_plus_c_without_the_questions_words() -> None:
    words = ["man", "king", "woman", "queen", "apple"]
    vectors = Vectors(words, [[1, 0, 0], [1, 0, 1], [0, 1, 0], [0, 1, 1], [1, 1, 0]])
    assert vectors.analogy("man", "king", "woman", topn=5)[0][0] == "queen"
    assert {word for word, _ in vectors.analogy("man", "king", "woman", topn=5)} == {"queen", "apple"}


@pytest.mark.parametrize("k", [0, -1])
def test_k_must_be_positive(vectors: Vectors, k: int) -> None:
    with pytest.raises(InputError, match=f"topn = {k}"):
        vectors.most_similar("hot", topn=k)


@pytest.mark.parametrize("query", [[1.0], [1.0, 2.0, 3.0], [[[1.0, 2.0]]], [np.nan, 0.0]])
def test_a_query_vector_must_be_one_finite_row(vectors: Vectors, query: list[float]) -> None:
    with pytest.raises(InputError, match=r"shape \(2,\)"):
        vectors.most_similar(query)


def test_density_counts_exact_non_zeros(vectors: Vectors) -> None:
    assert vectors.density() == 4 / 8


def test_density_without_values_is_zero() -> None:
    assert Vectors([], np.zeros((0, 3))).density() == 0.0


def test_density_does_not_count_stored_zeros() -> None:
    stored = sparse.csr_array((np.array([1.0, 0.0, -0.0]), [0, 1, 0], [0, 2, 3]), shape=(2, 2))
    assert named(stored).density() == 1 / 4


@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
def test_density_by_depth_averages_over_the_nodes_of_a_depth(make: type) -> None:
    vectors = Vectors("ab", make([[1.0, 0.0, 2.0], [1.0, 0.0, 0.0]]), forest=Forest([-1, 0, 0]))
    assert vectors.density_by_depth() == [1.0, 0.25]


def test_density_by_depth_without_forest_is_the_density(vectors: Vectors) -> None:
    assert vectors.density_by_depth() == [0.5]


def test_top_words_by_sign_without_zeros(vectors: Vectors) -> None:
    assert vectors.top_words(0, 5) == ([("hot", 2.0), ("warm", 1.0)], [("cold", -1.0)])
    assert "dense" not in vars(vectors)  # one node of a million words is asked for without all others


@pytest.mark.parametrize("node", [-1, 2])
def test_top_words_of_a_missing_node(vectors: Vectors, node: int) -> None:
    with pytest.raises(InputError, match=f"node {node} does not exist: choose one from 0 to 1"):
        vectors.top_words(node, 1)


def test_everything_handed_out_is_write_protected(vectors: Vectors) -> None:
    stored = vectors.matrix if isinstance(vectors.matrix, np.ndarray) else vectors.matrix.data
    for array in (stored, vectors.dense, vectors.unit, vectors["hot"]):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1


@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_callers_matrix_stays_writable_and_apart(make: type, dtype: type) -> None:
    matrix = make(np.ones((2, 2), dtype))
    vectors = named(matrix)
    matrix *= 5
    (matrix if isinstance(matrix, np.ndarray) else matrix.data)[:] = 7
    assert vectors.dense.tolist() == [[1, 1], [1, 1]]


def test_a_protected_float32_matrix_is_shared() -> None:
    matrix = np.ones((2, 2), np.float32)
    matrix.setflags(write=False)
    assert named(matrix).matrix is matrix


def test_a_read_only_view_of_a_writable_matrix_is_copied() -> None:
    matrix = np.ones((2, 2), np.float32)
    view = matrix[:]
    view.setflags(write=False)
    assert not np.shares_memory(named(view).dense, matrix)


def test_unsorted_csr_with_repeats_is_added_up_in_a_copy() -> None:
    csr = sparse.csr_array((np.array([1.0, 2.0, 3.0]), [1, 0, 1], [0, 3]), shape=(1, 2))
    assert named(csr).dense.tolist() == [[2.0, 4.0]]
    assert csr.indices.tolist() == [1, 0, 1]


@given(matrix=matrices)
def test_sparse_and_dense_answer_alike(matrix: np.ndarray) -> None:
    a, b = named(matrix), named(sparse.csc_array(matrix))
    assert a.most_similar("w1") == b.most_similar("w1")
    assert a.density() == b.density()
    assert a["w1"].tolist() == b["w1"].tolist()


@pytest.mark.parametrize(
    ("words", "matrix", "forest", "message"),
    [
        (["a"], np.ones((2, 2)), None, "1 words came with 2 rows"),
        (["a", "b", "a"], np.ones((3, 2)), None, "'a' stands in rows 0 and 2"),
        (["a", "b"], [[1.0, 2.0], [np.nan, 0.0]], None, r"'b' \(row 1\).*not finite"),
        (["a", "b"], [[1.0, 2.0], [0.0, np.inf]], None, r"'b' \(row 1\).*not finite"),
        (["a"], [[1e300]], None, r"'a' \(row 0\).*not finite in float32"),
        (["a", "b", "c"], sparse.csr_array([[0], [np.nan], [1.0]]), None, r"'b' \(row 1\)"),
        (["a"], [[1.0, 2.0]], Forest.flat(3), "3 nodes, but the matrix has 2 columns"),
        (["a"], [1.0, 2.0], None, r"shape \(2,\) came"),
    ],
)
def test_bad_input_is_refused(words: list[str], matrix: object, forest: Forest | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Vectors(words, matrix, forest=forest)


@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
def test_own_parts_of_an_additive_forest_are_what_a_parent_has_more_than_its_children(make: type) -> None:
    rng = np.random.default_rng(0)
    forest = Forest.complete(3, (2, 2))
    Z = np.maximum(rng.standard_normal((20, len(forest))), 0)
    Z[:, forest.depth == 1] = 0
    A = np.array([[z[i : forest.end[i]].sum() for i in range(len(forest))] for z in Z])
    own = Vectors([f"w{i}" for i in range(20)], make(A.astype(np.float32)), forest=forest).own
    found = own.toarray() if sparse.issparse(own) else own
    np.testing.assert_allclose(found, Z, atol=1e-5)
    assert not found[:, forest.depth == 1].any()  # rounding leaves nothing


@pytest.mark.parametrize("row", [[1, 2], [-3, -4], [2, -1], [0, 1]])
def test_own_parts_of_any_other_forest_are_the_values(row: list[float]) -> None:
    vectors = Vectors(["a", "b"], [row, [2, 1]], forest=Forest([-1, 0]))
    assert vectors.own is vectors.matrix


def test_own_parts_without_a_forest_are_the_values(vectors: Vectors) -> None:
    assert vectors.own is vectors.matrix


def test_labels_name_the_nodes_and_given_ones_go_first() -> None:
    vectors = Vectors(["hot", "cold"], [[2, 0], [0, 3]], labels={1: "Low temperatures"})
    assert vectors.labels[0] == ("hot",)
    assert vectors.labels[1] == ("Low temperatures",)


def test_a_label_of_a_node_that_there_is_not_is_refused() -> None:
    with pytest.raises(InputError, match="node 2 does not exist: choose one from 0 to 1"):
        Vectors(["hot"], [[1, 0]], labels={2: "more"})


def test_the_path_of_a_word_is_an_outline_when_printed() -> None:
    vectors = Vectors(["hot"], [[3, 1]], forest=Forest([-1, 0]), labels={0: "heat"})
    assert str(vectors.path("hot")) == "hot\n  tree 0, 100.0%\n    0 heat   100.0%  +3\n      1 hot   33.3%  +1"


def test_an_unknown_word_is_a_key_error_with_a_plain_sentence() -> None:
    with pytest.raises(KeyError) as caught:
        Vectors(["queen", "kin", "king"], np.eye(3))["kign"]
    assert str(caught.value) == "no vector for 'kign'. Did you mean kin, king?"


def test_an_unknown_word_unlike_all_others_gets_no_suggestion(vectors: Vectors) -> None:
    with pytest.raises(UnknownWordError, match=r"no vector for 'xyzzy'. Choose a word of the vocabulary."):
        vectors.similarity("hot", "xyzzy")
    with pytest.raises(UnknownWordError, match=r"no vector for 'far east'. Ask for one of its words; --phrases learns"):
        vectors.similarity("hot", "far east")


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_cosines_of_an_additive_forest_are_of_roots_times_logarithms_of_use(form: Any) -> None:
    A, use = np.array([[4.0, 1, 3], [9, 9, 0], [1, 0, 1], [0, 0, 0]]), np.array([0.75, 0.5, 0.5])
    vectors = Vectors("abcd", form(A), forest=Forest([-1, 0, 0]), nodes={"use": use})
    seen = np.sqrt(A * np.log(1 / use))
    np.testing.assert_allclose(vectors.comparable.dense, seen, rtol=1e-6)
    np.testing.assert_array_equal(vectors["a"], A[0])  # what is read is what was learned
    cosine = seen[0] @ seen[1] / np.linalg.norm(seen[0]) / np.linalg.norm(seen[1])
    assert vectors.similarity("a", "b") == pytest.approx(cosine)
    assert dict(vectors.most_similar("a"))["b"] == pytest.approx(cosine, rel=1e-5)
    assert dict(vectors.most_similar(A[0]))["b"] == pytest.approx(cosine, rel=1e-5)
    assert vectors.comparable.comparable is vectors.comparable
    assert vectors.first(2).most_similar("a", topn=1) == [("b", pytest.approx(cosine, rel=1e-5))]


def test_without_a_use_cosines_are_plain() -> None:
    vectors = Vectors("ab", [[1.0, 0], [1, 1]], nodes={"stability": [1.0, 1.0]})
    assert vectors.comparable is vectors
    assert vectors.similarity("a", "b") == pytest.approx(0.5**0.5)


@pytest.mark.parametrize("use", [[0.5], [0.5, np.nan]])
def test_what_is_known_of_nodes_must_fit_them(use: list[float]) -> None:
    with pytest.raises(InputError, match="use has shape"):
        Vectors("ab", np.eye(2), nodes={"use": use})
