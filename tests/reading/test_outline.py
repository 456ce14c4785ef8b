"""The forest as text, Mermaid, Graphviz and an object."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reading.sport import LABELS, NASTY, named, printable, readable
from wordforest.errors import InputError
from wordforest.reading import (
    Line,
    as_graphviz,
    as_mermaid,
    as_object,
    as_text,
    outline,
)
from wordforest.vectors import NodeNote, Vectors


def test_text_indents_by_depth_and_joins_leaves_that_stand_side_by_side(sport: Vectors) -> None:
    text = "sport\n  ball goal\n    racket · goal\n  sprint\npiano\n  (no words)\n"
    assert as_text(outline(sport, labels=LABELS)) == text


def test_hidden_nodes_and_all_below_them_are_left_out(sport: Vectors) -> None:
    notes = {1: NodeNote(hidden=True), 5: NodeNote("music")}
    hiding = Vectors(sport.words, sport.matrix, forest=sport.forest, labels=notes)
    assert hiding.hidden.tolist() == [False, True, True, True, False, False, False]
    assert as_text(outline(hiding, labels=LABELS)) == "sport\n  sprint\npiano\n  (no words)\n"
    assert [line.label for line in outline(hiding) if line.node == 5] == [("music",)]


def test_text_with_numbers_and_shares(sport: Vectors) -> None:
    text = as_text(outline(sport, labels=LABELS, trees=[1]), numbers=True, shares=True)
    assert text == "5 piano (37.5%)\n  6 (no words) (0.0%)\n"


def test_trees_of_one_node_stand_on_lines_of_their_own() -> None:
    assert as_text(outline(named(np.eye(3)))) == "w0\nw1\nw2\n"


def test_an_outline_counts_the_words_of_a_node(sport: Vectors) -> None:
    line = outline(sport, labels=LABELS)[1]
    assert line == Line(1, 0, 1, ("ball", "goal"), 5, 5 / 8, is_leaf=False)


def test_trees_are_chosen_in_the_order_given(sport: Vectors) -> None:
    assert [line.node for line in outline(sport, trees=[1, 0])] == [5, 6, 0, 1, 2, 3, 4]


@pytest.mark.parametrize("tree", [-1, 2])
def test_an_unknown_tree_is_refused(sport: Vectors, tree: int) -> None:
    with pytest.raises(InputError, match="choose from 0 to 1"):
        outline(sport, trees=[tree])


def test_labels_of_other_vectors_are_refused(sport: Vectors) -> None:
    with pytest.raises(InputError, match="each of 7 nodes, but 2 came"):
        outline(sport, labels=[("a",), ()])


def test_words_with_line_breaks_stay_on_their_line() -> None:
    text = as_text(outline(Vectors(NASTY, np.eye(len(NASTY)))))
    assert text.splitlines() == [*NASTY[:2], "a\\nb\\tc", *NASTY[3:10], "\\u202eevil", "\\"]


@given(readable())
def test_text_holds_every_node_in_preorder_at_its_depth(vectors: Vectors) -> None:
    labels = [(f"n{i}",) for i in range(vectors.n_dimensions)]
    lines = as_text(outline(vectors, labels=labels)).splitlines()
    found = [(entry, (len(line) - len(line.lstrip(" "))) // 2) for line in lines for entry in line.strip().split(" · ")]
    assert found == [(f"n{i}", depth) for i, depth in enumerate(vectors.forest.depth)]


def test_object_has_every_number_of_a_node(sport: Vectors) -> None:
    found = as_object(sport, k=2, labels=LABELS)
    assert {key: found[key] for key in ("words", "dimensions")} == {"words": 8, "dimensions": 7}
    assert found["density_by_depth"] == sport.density_by_depth()
    assert found["nodes"][4] == {
        "node": 4,
        "parent": 0,
        "depth": 1,
        "label": ["sprint"],
        "words": 3,
        "share": 3 / 8,
        "stability": None,
        "positive": [("#rare#", 9.0), ("sprint", 4.0)],
        "negative": [],
    }


@given(readable(), st.integers(1, 4))
def test_object_has_the_top_words_of_vectors_and_is_json(vectors: Vectors, k: int) -> None:
    found = as_object(vectors, k=k)
    assert [(n["positive"], n["negative"]) for n in found["nodes"]] == [
        vectors.top_words(i, k) for i in range(vectors.n_dimensions)
    ]
    assert len(json.loads(json.dumps(found, allow_nan=False))["nodes"]) == vectors.n_dimensions


def dot_labels(text: str) -> dict[str, str]:
    """Read nodes and labels as the grammar of DOT and the escapes of its labels say."""
    found = {}
    for line in text.splitlines():
        if match := re.fullmatch(r'  (n\d+) \[label="((?:[^"\\]|\\.)*)"\];', line):
            found[match[1]] = html.unescape(re.sub(r"\\(.)", r"\1", match[2]))
        else:
            assert re.fullmatch(r"digraph forest \{|\}|  n\d+ -> n\d+;|  (rankdir|charset|node)\b.*;", line), line
    return found


def mermaid_labels(text: str) -> dict[str, str]:
    found = {}
    for line in text.splitlines()[1:]:
        if match := re.fullmatch(r'  (n\d+)\["([^"`<>&\\]*)"\]', line):
            assert not re.search(r"#(?!\d+;)", match[2])
            found[match[1]] = re.sub(r"#(\d+);", lambda code: chr(int(code[1])), match[2])
        else:
            assert re.fullmatch(r"  n\d+ --> n\d+", line), line
    return found


@given(st.lists(printable | st.sampled_from(NASTY), min_size=1, max_size=4, unique=True))
def test_escapes_of_graphviz_and_mermaid_come_back(words: list[str]) -> None:
    lines = outline(Vectors(words, np.eye(len(words))))
    expected = {f"n{line.node}": line.text for line in lines}
    assert dot_labels(as_graphviz(lines)) == expected
    assert mermaid_labels(as_mermaid(lines)) == expected


def test_graphs_have_an_edge_from_every_parent(sport: Vectors) -> None:
    lines = outline(sport)
    edges = [(0, 1), (1, 2), (1, 3), (0, 4), (5, 6)]
    assert [tuple(map(int, e)) for e in re.findall(r"n(\d+) -> n(\d+)", as_graphviz(lines))] == edges
    assert [tuple(map(int, e)) for e in re.findall(r"n(\d+) --> n(\d+)", as_mermaid(lines))] == edges


def test_stability_stands_beside_the_share_where_it_is_known(sport: Vectors) -> None:
    known = Vectors(sport.words, sport.matrix, forest=sport.forest, nodes={"stability": np.linspace(0, 1, 7)})
    lines = outline(known, labels=LABELS)
    assert [line.stability for line in lines] == pytest.approx(np.linspace(0, 1, 7))
    assert f"{lines[0].text} ({lines[0].share:.1%}, stability 0.00)" in as_text(lines, shares=True)
    assert "stability" not in as_text(lines)
    assert as_object(known, labels=LABELS)["nodes"][6]["stability"] == 1
