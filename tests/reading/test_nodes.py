"""A node to read: its place, its words, what somebody wrote about it."""

from __future__ import annotations

import re

import pytest

import wordforest as wf
from wordforest.vectors import NodeNote, Vectors


def test_a_node_has_its_place_its_words_and_what_is_below(sport: Vectors) -> None:
    node = sport.node(1)
    assert (node.parent, node.depth, node.children, node.words) == (0, 1, (2, 3), 5)
    assert [line.node for line in node.above] == [0]
    assert node.positive[:2] == [("ball", 3.0), ("sport", 1.0)]
    assert repr(node) == "Node(1 'ball racket goal sport', depth 1, used by 5 words (62.5%))"
    assert str(node) == (
        "1 ball racket goal sport\n"
        "  depth 1, used by 5 words (62.5%)\n"
        "  above: 0 ball racket goal sport sprint\n"
        "  below: 2 racket ball · 3 goal ball\n"
        "  words: ball 3, sport 1, racket 1, goal 1"
    )


def test_a_node_shows_remark_stability_and_both_signs() -> None:
    notes = {0: NodeNote("heat", remark="see 1")}
    vectors = Vectors(["hot", "cold"], [[2, 0], [-1, 0]], labels=notes, nodes={"stability": [0.5, 1]})
    for part in ("0 heat", "stability 0.50", "see 1", "hot 2", "cold -1"):
        assert part in str(vectors.node(0))
        assert part in re.sub("<[^>]*>", "", vectors.node(0)._repr_html_())


def test_a_node_that_there_is_not_is_named(sport: Vectors) -> None:
    with pytest.raises(wf.InputError, match="node 7 does not exist: choose one from 0 to 6"):
        sport.node(7)
