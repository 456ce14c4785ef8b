"""Nodes merged, hidden and named."""

from __future__ import annotations

import numpy as np
import pytest

import wordforest as wf
from wordforest.errors import InputError
from wordforest.vectors import NodeNote, Vectors
from wordforest.vectors.edits import after, as_edited, edited_vectors, hide, merge

FOREST = wf.Forest([-1, 0, 1, 1, 0, -1, 5, 5, 5])
CODES = np.random.default_rng(0).random((6, 9)).round(1).astype(np.float32)
VECTORS = Vectors([f"w{i}" for i in range(6)], CODES, forest=FOREST, labels={5: "five"}, nodes={"use": [0.5] * 9})
EDITS = [["merge", [2, 3]], ["hide", [7]]]  # node 3 becomes 2, so node 8 is 7 then


def test_nodes_of_different_parents_are_not_merged() -> None:
    forest = wf.Forest.complete(2, (2,))
    for nodes in ([1, 4], [0], [0, 1]):
        with pytest.raises(InputError, match="same parent"):
            merge(forest, nodes)
    with pytest.raises(InputError, match="at least one"):
        hide(forest, [0, 3])
    with pytest.raises(InputError, match="does not exist"):
        hide(forest, [9])


def test_words_move_with_the_nodes() -> None:
    found = edited_vectors(VECTORS, EDITS)
    assert found.forest.parent.tolist() == [-1, 0, 1, 0, -1, 4, 4]
    assert found.given_labels == {4: "five"}
    assert found.dense[:, 2] == pytest.approx(CODES[:, 2] + CODES[:, 3])
    assert found.dense[:, 4] == pytest.approx(CODES[:, 5])
    assert found.nodes["use"][4] == pytest.approx(np.mean(CODES[:, 5] > 0))


def test_edits_at_once_are_edits_one_after_the_other() -> None:
    step, at_once = after(FOREST, EDITS[:1]), after(FOREST, EDITS)
    then = after(step.forest, EDITS[1:])
    assert at_once.forest == then.forest
    assert at_once.places.tolist() == [-1 if place < 0 else then.places[place] for place in step.places]
    assert at_once.first.tolist() == step.first[then.first].tolist()


def test_a_name_given_to_a_run_goes_before_the_words_and_after_what_a_page_noted() -> None:
    named = edited_vectors(VECTORS, (), {5: "plants", 6: "roses"})
    assert named.given_labels == {5: "five", 6: "roses"}
    noted = Vectors(VECTORS.words, CODES, forest=FOREST, labels={6: NodeNote("", True, "dull")})
    assert edited_vectors(noted, (), {6: "roses"}).notes[6] == NodeNote("roses", True, "dull")


@pytest.mark.parametrize(
    ("edits", "names"),
    [
        (None, {2: "two", 4: "five"}),  # those of the run
        ([*EDITS, ["hide", [1]]], {2: "five"}),  # going on from those of the run: node 2 is gone, node 4 is 2
        ([["hide", [0]]], {0: "five"}),  # others, so names that the run gave say nothing
    ],
)
def test_documents_have_the_nodes_of_the_run_or_their_own(edits, names) -> None:
    found = as_edited(VECTORS, {"edits": EDITS, "names": {"2": "two"}}, edits)
    assert found.given_labels == names
    assert as_edited(VECTORS, {}) is VECTORS
