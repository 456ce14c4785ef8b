"""Paths of words, where words meet, words of a subtree."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given

from tests.reading.sport import LABELS, SPORT, additive, named, readable
from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.reading import (
    common_nodes,
    paths_as_object,
    paths_as_text,
    subtree_as_text,
    subtree_words,
    word_path,
)
from wordforest.vectors import UnknownWordError, Vectors


def test_a_word_goes_through_its_strongest_tree_first(sport: Vectors) -> None:
    vectors = Vectors(["fan"], [[1, 0, 0, 2, 0, 2, 0]], forest=SPORT)
    first, second = word_path(vectors, "fan", labels=LABELS).trees
    assert (first.tree, first.share) == (0, pytest.approx(3 / 5))
    assert [(step.node, step.value) for step in first.steps] == [(0, 1.0), (1, 0.0), (3, 2.0)]  # 1 lies between
    assert [step.share for step in first.steps] == pytest.approx([1 / 5, 0, 2 / 5])
    assert [step.within for step in first.steps] == pytest.approx([3 / 5, 2 / 5, 2 / 5])
    assert (second.tree, second.steps[0].label) == (1, ("piano",))


def test_a_node_that_is_only_passed_has_no_value_in_the_text() -> None:
    found = word_path(Vectors(["fan"], [[1, 0, 0, 2, 0, 2, 0]], forest=SPORT), "fan", labels=LABELS)
    assert str(found).splitlines()[1:5] == [
        "  tree 0, 60.0%",
        "    0 sport         60.0%  +1",
        "      1 ball goal   40.0%  -",
        "        3 goal      40.0%  +2",
    ]


def test_shares_of_an_additive_forest_are_values_over_the_sum_of_the_roots() -> None:
    vectors = Vectors(["goal"], [[6, 4, 1, 3, 0, 2, 1]], forest=SPORT)  # own: 2 0 1 3 0, 1 1
    steps = [step for tree in vectors.path("goal").trees for step in tree.steps]
    assert {step.node: step.within for step in steps} == pytest.approx(
        {0: 6 / 8, 1: 4 / 8, 2: 1 / 8, 3: 3 / 8, 5: 2 / 8, 6: 1 / 8}
    )
    assert {step.node: step.share for step in steps} == pytest.approx(
        {0: 2 / 8, 1: 0, 2: 1 / 8, 3: 3 / 8, 5: 1 / 8, 6: 1 / 8}
    )
    assert min(step.value for step in steps) > 0
    assert subtree_words(vectors, 1)[0].node == 3  # where the word has most of its own, not where its value is largest


def test_an_unknown_word_is_told_with_close_ones(sport: Vectors) -> None:
    with pytest.raises(UnknownWordError, match="Did you mean racket"):
        word_path(sport, "rackets")


def test_a_word_without_values_uses_no_node() -> None:
    found = word_path(Vectors(["void", "a"], [[0.0], [1.0]]), "void")
    assert (found.strength, found.trees) == (0.0, ())
    assert paths_as_text([found]) == "void: uses no node\n"


@given(additive())
def test_no_step_of_an_additive_forest_is_zero(vectors: Vectors) -> None:
    for word in vectors.words:
        found = word_path(vectors, word, labels=[()] * vectors.n_dimensions)
        assert all(step.value > 0 for way in found.trees for step in way.steps)


@given(readable() | additive())
def test_shares_of_a_word_add_up_and_its_path_holds_all_it_uses(vectors: Vectors) -> None:
    for word in vectors.words:
        found = word_path(vectors, word, labels=[()] * vectors.n_dimensions)
        used = {step.node for way in found.trees for step in way.steps if step.value}
        assert used == set(np.flatnonzero(vectors[word]).tolist())
        assert sum(way.share for way in found.trees) == pytest.approx(1 if used else 0, abs=1e-12)
        assert [way.share for way in found.trees] == sorted((way.share for way in found.trees), reverse=True)


def test_words_part_at_the_deepest_node_where_both_are(sport: Vectors) -> None:
    (common,) = common_nodes(sport, ["racket", "goal"], labels=LABELS)
    assert (common.node, common.label) == (1, ("ball", "goal"))
    assert common.shares == pytest.approx([5 / 6, 5 / 6])


def test_words_meet_in_a_node_that_lies_between_them_even_where_both_are_zero_there() -> None:
    vectors = named(np.array([[0.0, 1, 0], [0, 0, 1]]), Forest([-1, 0, 0]))
    assert [common.node for common in common_nodes(vectors, ["w0", "w1"])] == [0]


def test_words_of_opposite_sign_do_not_meet() -> None:
    assert common_nodes(named(np.array([[1.0], [-1.0]])), ["w0", "w1"]) == ()


def test_a_trace_of_a_word_is_no_meeting() -> None:
    vectors = named(np.array([[1.0, 0.01], [0.0, 1.0]]))
    assert common_nodes(vectors, ["w0", "w1"]) == ()
    assert [common.node for common in common_nodes(vectors, ["w0", "w1"], least=0)] == [1]


def test_the_strongest_meeting_comes_first() -> None:
    vectors = named(np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 1.0]]))
    assert [common.node for common in common_nodes(vectors, ["w0", "w1"])] == [1, 0]


def test_one_word_has_nothing_to_part_from(sport: Vectors) -> None:
    with pytest.raises(InputError, match="two words or more, but 1 came"):
        common_nodes(sport, ["goal"])


def test_paths_as_text(sport: Vectors) -> None:
    words = ["goal", "fan"]
    found = [word_path(sport, word, labels=LABELS) for word in words]
    assert paths_as_text(found, common_nodes(sport, words, labels=LABELS), trees=1).splitlines() == [
        "goal",
        "  tree 0, 100.0%",
        "    0 sport        100.0%  +1",
        "      1 ball goal   83.3%  +1",
        "        3 goal      66.7%  +4",
        "fan",
        "  tree 0, 50.0%",
        "    0 sport   50.0%  +2",
        "  1 more tree, 50.0%",
        "goal, fan part below",
        "  0 sport  (100.0%, 50.0%)",
    ]


def test_paths_as_text_of_words_that_never_meet(sport: Vectors) -> None:
    found = [word_path(sport, word, labels=LABELS) for word in ("goal", "piano")]
    assert paths_as_text(found).splitlines()[-1] == "goal, piano: they meet in no node"


def test_paths_as_text_leaves_small_branches_out() -> None:
    vectors = named(np.array([[1.0, 0.001, 0.0, 0.002]]), Forest([-1, 0, -1, -1]))
    text = paths_as_text([word_path(vectors, "w0", labels=[("a",), ("b",), ("c",), ("d",)])])
    assert text == "w0\n  tree 0, 99.8%\n    0 a   99.8%  +1\n  1 more tree, 0.2%\n"


def test_paths_as_object_is_json(sport: Vectors) -> None:
    found = [word_path(sport, word, labels=LABELS) for word in ("goal", "fan")]
    read = json.loads(json.dumps(paths_as_object(found, common_nodes(sport, ["goal", "fan"], labels=LABELS))))
    assert read["words"][0]["trees"][0]["steps"][2] == {
        "node": 3,
        "depth": 2,
        "label": ["goal"],
        "value": 4.0,
        "share": pytest.approx(4 / 6),
        "within": pytest.approx(4 / 6),
    }
    assert read["common"][0]["node"] == 0


def test_words_of_a_subtree_come_by_what_they_have_in_it(sport: Vectors) -> None:
    found = subtree_words(sport, 1, k=5)
    assert [member.word for member in found] == ["#rare#", "ball", "racket", "goal", "sport"]
    assert [member.strength for member in found[1:]] == [5, 5, 5, 1]
    assert found[2].share == pytest.approx(5 / 6)
    assert [member.node for member in found[1:]] == [1, 2, 3, 1]


def test_of_equally_strong_nodes_the_deepest_is_named(sport: Vectors) -> None:
    assert subtree_words(sport, 0, k=1)[0].node == 2


def test_words_without_part_in_a_subtree_are_left_out(sport: Vectors) -> None:
    assert [member.word for member in subtree_words(sport, 4)] == ["#rare#", "sprint", "sport"]
    assert subtree_words(sport, 6) == []


@pytest.mark.parametrize("node", [-1, 7])
def test_an_unknown_node_is_refused(sport: Vectors, node: int) -> None:
    with pytest.raises(InputError, match="from 0 to 6"):
        subtree_words(sport, node)


def test_subtree_as_text(sport: Vectors) -> None:
    text = subtree_as_text(subtree_words(sport, 4, k=2), LABELS)
    assert text == "#rare#   16.7%  4 sprint\nsprint   80.0%  4 sprint\n"
