"""Labels of nodes, against their definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tests.reading.sport import additive, named, readable
from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.reading import (
    as_object,
    as_text,
    label_nodes,
    outline,
    subtree_words,
)
from wordforest.vectors import Vectors


def labels_by_definition(vectors: Vectors, rarity: float) -> np.ndarray:
    """The scores of the docstring written word by word, (V, M); nan where a word cannot label a node."""
    a, forest = vectors.dense.astype(np.float64), vectors.forest
    own = np.array(vectors.own if isinstance(vectors.own, np.ndarray) else vectors.own.toarray(), dtype=np.float64)
    score = np.full(a.shape, np.nan)
    for i in range(len(forest)):
        group = slice(i, forest.end[i])
        users = [v for v in range(len(a)) if a[v, i] > 0] or [v for v in range(len(a)) if a[v, i] < 0]
        p = {v: [own[v, i], *(own[v, c : forest.end[c]].sum() for c in forest.children(i))] for v in users}
        share = {v: np.abs(own[v, group]).sum() / np.abs(own[v]).sum() for v in users}
        mean = sum((share[v] * np.array(p[v]) for v in users), np.zeros(1 + len(forest.children(i))))
        for v in users:
            sizes = np.linalg.norm(p[v]) * np.linalg.norm(mean)
            typical = p[v] @ mean / sizes if sizes > 0 else 0.0
            score[v, i] = np.abs(own[v, group]).sum() * share[v] * typical / np.log2(v + 500) ** rarity
    return score


def test_labels_of_a_forest_worked_by_hand(sport: Vectors) -> None:
    assert label_nodes(sport, k=1) == [("ball",), ("ball",), ("racket",), ("goal",), ("sprint",), ("piano",), ()]


def test_an_additive_forest_is_labelled_by_what_its_words_have_of_their_own() -> None:
    # own parts: w0 has both children, w1 only the first, w2 only the second; all have the same value at the root
    a = [[4, 2, 2], [4, 4, 0], [4, 0, 4]]
    assert label_nodes(named(np.array(a), Forest([-1, 0, 0])), k=1) == [("w0",), ("w1",), ("w2",)]


def test_letters_initials_and_marks_stand_behind_words() -> None:
    words = ["n", "x²", "st", "1980s", "ring", "field", "group", "don't", "中", "हिन्दी"]
    vectors = Vectors(words, np.linspace(9, 8, len(words))[:, None])
    assert label_nodes(vectors, k=6) == [("ring", "field", "group", "don't", "中", "हिन्दी")]
    few = Vectors(words[:5], np.linspace(9, 8, 5)[:, None])
    assert label_nodes(few, k=5) == [("ring", "n", "st")]  # enough


def test_words_of_grammar_stand_only_where_they_are_most_of_a_label() -> None:
    few = Vectors(["the", "ships", "of", "seas"], np.linspace(9, 8, 4)[:, None])
    assert label_nodes(few, k=4) == [("ships", "seas")]
    most = Vectors(["the", "ships", "of", "and"], np.linspace(9, 8, 4)[:, None])
    assert label_nodes(most, k=4) == [("the", "ships", "and")]


def test_words_of_many_uses_stand_behind_those_with_a_home() -> None:
    a = np.kron(np.eye(5), np.ones((3, 1)))  # three words for each of five trees
    spread = np.full((1, 5), 10.0)  # a fifth of it in every tree
    words = ["all", *(f"{name}{i}" for name in "abcde" for i in ("us", "um", "or"))]
    labels = label_nodes(Vectors(words, np.concatenate([spread, a])), k=3)
    assert labels[1] == ("bus", "bum", "bor")


def test_stop_words_label_a_node_only_where_there_is_nothing_else() -> None:
    vectors = Vectors(["The", "king", "of"], [[9, 9], [1, 0], [0, 2]])
    assert label_nodes(vectors, stop_words=["the", "OF"]) == [("king",), ("The", "of")]


def test_a_name_that_was_given_is_the_label_and_leaves_the_others_as_they_are(sport: Vectors) -> None:
    renamed = Vectors(sport.words, sport.matrix, forest=sport.forest, labels={1: "ball games"})
    assert label_nodes(renamed, 2) == [*label_nodes(sport, 2)[:1], ("ball games",), *label_nodes(sport, 2)[2:]]


def test_a_word_at_home_elsewhere_labels_a_node_less_than_one_at_home_there() -> None:
    a = [[3, 0, 3], [3, 0, 0], [0, 0, 1]]
    assert label_nodes(named(np.array(a), Forest([-1, 0, -1])), k=2)[0][0] == "w1"


def test_a_parent_is_labelled_by_words_that_use_its_children_as_most_do() -> None:
    # w0 stays in the root; w1 has both children; w2 to w9 have one child each and use the root too
    a = [[2, 0, 0], [2, 2, 2], *([[2, 3, 0]] * 4), *([[2, 0, 3]] * 4)]
    assert label_nodes(named(np.array(a), Forest([-1, 0, 0])), k=1)[0] == ("w1",)


def test_the_more_frequent_of_two_equal_words_comes_first() -> None:
    assert label_nodes(named(np.array([[1.0], [1.0]])), k=2) == [("w0", "w1")]


def test_rarity_weighs_the_rank_and_zero_ignores_it() -> None:
    a = np.ones((3000, 1))
    a[2999] = 1.1  # it gains less than it loses: (log2(2999 + 500) / log2(500))^2 = 1.72
    assert label_nodes(named(a), k=1) == [("w0",)]
    assert label_nodes(named(a), k=1, rarity=0) == [("w2999",)]


def test_a_child_does_not_repeat_the_words_of_its_parent() -> None:
    a = np.array([[5, 5], [4, 4], *([[1, 1]] * 8)])
    parent, child = label_nodes(named(a, Forest([-1, 0])), k=6)
    assert not set(parent) & set(child)
    assert child == ("w6", "w7", "w8", "w9")


def test_a_word_goes_to_the_sibling_where_it_scores_higher() -> None:
    a = np.array([[3.0, 2.0], [0.0, 1.0]])
    assert label_nodes(named(a), k=2) == [("w0",), ("w1",)]


def test_a_node_whose_only_word_is_taken_repeats_it() -> None:
    assert label_nodes(named(np.array([[1.0, 1.0]]), Forest([-1, 0]))) == [("w0",), ("w0",)]


def test_markers_label_a_node_only_where_there_is_nothing_else() -> None:
    vectors = Vectors(["#number#", "#", "two"], [[9, 9, 0], [1, 0, 0], [1, 0, 2]])
    assert label_nodes(vectors)[:2] == [("#",), ("#number#",)]


def test_signed_dimensions_are_labelled_by_the_positive_side_or_else_the_negative_one() -> None:
    a = np.array([[-9.0, -1.0], [1.0, 0.0], [0.0, -3.0]])
    assert label_nodes(named(a)) == [("w1",), ("w2", "w0")]


def test_short_labels_are_the_start_of_longer_ones() -> None:
    a = np.abs(np.random.default_rng(0).standard_normal((50, 13)))
    vectors = named(a, Forest.complete(1))
    long = label_nodes(vectors, k=6)
    assert all(label_nodes(vectors, k=k) == [label[:k] for label in long] for k in range(1, 6))


@given(readable() | additive(), st.sampled_from([0.0, 3.0]))
def test_every_label_has_the_best_words_left_by_the_rules(vectors: Vectors, rarity: float) -> None:
    score = labels_by_definition(vectors, rarity)
    labels = label_nodes(vectors, k=8, rarity=rarity)
    for i, label in enumerate(labels):
        usable = ~np.isnan(score[:, i])
        if not usable.any():
            continue
        rows = [vectors.index(word) for word in label]
        values = score[rows, i]
        assert (np.diff(values) <= 1e-6 * np.abs(values[1:])).all()  # compared in float32
        family = np.flatnonzero(vectors.forest.parent == vectors.forest.parent[i])
        others = np.where(np.isnan(score), -np.inf, score)[:, family[family != i]].max(axis=1, initial=-np.inf)
        above = {word for j in range(i) if j < i < vectors.forest.end[j] for word in labels[j]}
        clear = usable & (score[:, i] > others + 1e-6)
        fresh = {vectors.words[v] for v in np.flatnonzero(clear)} - above
        assert fresh <= set(label) if fresh else len(label) >= 1


@given(readable() | additive())
def test_every_node_has_a_label_without_repeats_and_only_unused_nodes_an_empty_one(vectors: Vectors) -> None:
    labels = label_nodes(vectors, k=3)
    assert len(labels) == vectors.n_dimensions
    for node, label in enumerate(labels):
        assert len(set(label)) == len(label) <= 3
        assert bool(label) == bool(vectors.dense[:, node].any())
        assert all(vectors[word][node] != 0 for word in label)


@given(readable() | additive())
def test_sparse_and_dense_vectors_have_the_same_labels_and_outline(vectors: Vectors) -> None:
    thin = Vectors(vectors.words, sparse.csr_array(vectors.matrix), forest=vectors.forest)
    assert label_nodes(vectors) == label_nodes(thin)
    assert as_object(vectors) == as_object(thin)


def test_labels_do_not_depend_on_the_scale_of_the_codes() -> None:
    a = np.abs(np.random.default_rng(1).standard_normal((40, 13)))
    forest = Forest.complete(1)
    assert label_nodes(named(a * 2.0**-100, forest)) == label_nodes(named(a * 2.0**100, forest))


def test_labels_find_planted_topics() -> None:
    # 3 trees of 13 nodes; every node has ten words of its own that use it strongly and the way to it weakly
    rng = np.random.default_rng(2)
    forest = Forest.complete(3)
    a = np.zeros((10 * len(forest), len(forest)))
    for i in range(len(forest)):
        rows = slice(10 * i, 10 * i + 10)
        a[rows, i] = 2 + rng.random(10)
        above = i
        while (above := int(forest.parent[above])) >= 0:
            a[rows, above] = 0.5
    order = rng.permutation(len(a))
    vectors = Vectors([f"{v // 10}:{v}" for v in order], a[order], forest=forest)
    for i, label in enumerate(label_nodes(vectors)):
        assert {word.split(":")[0] for word in label} <= {str(j) for j in range(i, forest.end[i])}


@pytest.mark.parametrize("k", [0, -1])
def test_fewer_than_one_word_is_refused(sport: Vectors, k: int) -> None:
    for wrong in (lambda: label_nodes(sport, k=k), lambda: outline(sport, k=k), lambda: subtree_words(sport, 0, k=k)):
        with pytest.raises(InputError, match="at least one word"):
            wrong()


@pytest.mark.parametrize("rarity", [-1.0, np.nan, np.inf])
def test_a_wrong_rarity_is_refused(sport: Vectors, rarity: float) -> None:
    with pytest.raises(InputError, match="rarity"):
        label_nodes(sport, rarity=rarity)


def test_no_words_at_all_give_empty_labels() -> None:
    assert label_nodes(Vectors([], np.zeros((0, 2)))) == [(), ()]
    assert as_text(outline(Vectors([], np.zeros((0, 1))))) == "(no words)\n"
