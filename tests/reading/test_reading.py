"""A forest for people to read: labels, outlines, ways of words, a thesaurus, features."""

from __future__ import annotations

import html
import json
import re
from urllib.parse import unquote

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from tests.strategies import forests
from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.reading import (
    Line,
    as_features,
    as_graphviz,
    as_json_ld,
    as_mermaid,
    as_object,
    as_skos_turtle,
    as_text,
    common_nodes,
    feature_names,
    label_nodes,
    names_as_tsv,
    outline,
    subtree_as_text,
    subtree_words,
    ways,
    ways_as_object,
    ways_as_text,
)
from wordforest.vectors import UnknownWordError, Vectors

# sport (0): ball games (1) with tennis (2) and football (3), athletics (4); music (5), which has a leaf nobody uses (6)
SPORT = Forest([-1, 0, 1, 1, 0, -1, 5])
WORDS = ("sport", "ball", "racket", "goal", "sprint", "piano", "fan", "#rare#")
A = np.array(
    [
        [2, 1, 0, 0, 1, 0, 0],
        [1, 3, 1, 1, 0, 0, 0],
        [1, 1, 4, 0, 0, 0, 0],
        [1, 1, 0, 4, 0, 0, 0],
        [1, 0, 0, 0, 4, 0, 0],
        [0, 0, 0, 0, 0, 5, 0],
        [2, 0, 0, 0, 0, 2, 0],
        [9, 9, 9, 9, 9, 9, 0],
    ],
    dtype=np.float64,
)
NASTY = (
    '"<script>',
    "back\\slash",
    "a\nb\tc",
    "👩‍🚀",
    "שלום",
    "#quot;",
    "&lt;",
    "1. list",
    "`x`",
    "]};-->",
    "\u202eevil",
    "\\",
)


@pytest.fixture(params=["dense", "sparse"])
def sport(request: pytest.FixtureRequest) -> Vectors:
    return Vectors(WORDS, A if request.param == "dense" else sparse.csr_array(A), forest=SPORT)


def named(matrix: np.ndarray, forest: Forest | None = None) -> Vectors:
    return Vectors([f"w{i}" for i in range(len(matrix))], matrix, forest=forest)


# a coarse grid: many exact zeros, many ties
@st.composite
def readable(draw: st.DrawFn, least: int = -2) -> Vectors:
    forest = draw(forests())
    shape = (draw(st.integers(1, 8)), len(forest))
    return named(draw(hnp.arrays(np.float32, shape, elements=st.integers(least, 2).map(float))), forest)


def labels_by_definition(vectors: Vectors, rarity: float) -> np.ndarray:
    """The scores of the docstring written word by word, (V, M); nan where a word cannot label a node."""
    a, forest = vectors.dense.astype(np.float64), vectors.forest
    score = np.full(a.shape, np.nan)
    for i in range(len(forest)):
        group = slice(i, forest.end[i])
        users = [v for v in range(len(a)) if a[v, i] > 0] or [v for v in range(len(a)) if a[v, i] < 0]
        c = sum((abs(a[u, i]) * a[u, group] for u in users), np.zeros(forest.end[i] - i))
        for v in users:
            typical = a[v, group] @ c / np.linalg.norm(c)
            within = np.linalg.norm(a[v, group]) / np.linalg.norm(a[v])
            score[v, i] = typical * within / np.log2(v + 500) ** rarity
    return score


# labels


def test_labels_of_a_forest_worked_by_hand(sport: Vectors) -> None:
    assert label_nodes(sport, k=1) == [("ball",), ("ball",), ("racket",), ("goal",), ("sprint",), ("piano",), ()]


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
    a[2999] = 1.1  # it gains less than it loses: (log2(2999 + 500) / log2(500))^3 = 2.26
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


@given(readable(), st.sampled_from([0.0, 3.0]))
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


@given(readable())
def test_every_node_has_a_label_without_repeats_and_only_unused_nodes_an_empty_one(vectors: Vectors) -> None:
    labels = label_nodes(vectors, k=3)
    assert len(labels) == vectors.n_dimensions
    for node, label in enumerate(labels):
        assert len(set(label)) == len(label) <= 3
        assert bool(label) == bool(vectors.dense[:, node].any())
        assert all(vectors[word][node] != 0 for word in label)


@given(readable())
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


# outlines

LABELS = [("sport",), ("ball", "goal"), ("racket",), ("goal",), ("sprint",), ("piano",), ()]


def test_text_indents_by_depth_and_joins_leaves_that_stand_side_by_side(sport: Vectors) -> None:
    text = "sport\n  ball goal\n    racket · goal\n  sprint\npiano\n  (no words)\n"
    assert as_text(outline(sport, labels=LABELS)) == text


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
        "node": 4, "parent": 0, "depth": 1, "label": ["sprint"], "words": 3, "share": 3 / 8,
        "positive": [("#rare#", 9.0), ("sprint", 4.0)], "negative": [],
    }  # fmt: skip


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


printable = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Zl", "Zp"]), min_size=1, max_size=12)


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


def test_graphs_can_show_shares(sport: Vectors) -> None:
    lines = outline(sport, labels=LABELS)
    assert dot_labels(as_graphviz(lines, shares=True))["n5"] == "piano (37.5%)"
    assert mermaid_labels(as_mermaid(lines, shares=True))["n5"] == "piano (37.5%)"


# ways


def test_a_word_goes_through_its_strongest_tree_first(sport: Vectors) -> None:
    vectors = Vectors(["fan"], [[1, 0, 0, 2, 0, 2, 0]], forest=SPORT)
    first, second = ways(vectors, "fan", labels=LABELS).trees
    assert (first.tree, first.share) == (0, pytest.approx(5 / 9))
    assert [(step.node, step.value) for step in first.steps] == [(0, 1.0), (1, 0.0), (3, 2.0)]  # 1 lies between
    assert [step.share for step in first.steps] == pytest.approx([1 / 9, 0, 4 / 9])
    assert [step.within for step in first.steps] == pytest.approx([5 / 9, 4 / 9, 4 / 9])
    assert (second.tree, second.steps[0].label) == (1, ("piano",))


def test_an_unknown_word_is_told_with_close_ones(sport: Vectors) -> None:
    with pytest.raises(UnknownWordError, match="Did you mean racket"):
        ways(sport, "rackets")


def test_a_word_without_values_uses_no_node() -> None:
    found = ways(Vectors(["void", "a"], [[0.0], [1.0]]), "void")
    assert (found.length, found.trees) == (0.0, ())
    assert ways_as_text([found]) == "void: uses no node\n"


@given(readable())
def test_shares_of_a_word_add_up_and_its_ways_hold_all_it_uses(vectors: Vectors) -> None:
    for word in vectors.words:
        found = ways(vectors, word, labels=[()] * vectors.n_dimensions)
        used = {step.node for way in found.trees for step in way.steps if step.value}
        assert used == set(np.flatnonzero(vectors[word]).tolist())
        assert sum(way.share for way in found.trees) == pytest.approx(1 if used else 0, abs=1e-12)
        assert [way.share for way in found.trees] == sorted((way.share for way in found.trees), reverse=True)


def test_words_part_at_the_deepest_node_where_both_are(sport: Vectors) -> None:
    (common,) = common_nodes(sport, ["racket", "goal"], labels=LABELS)
    assert (common.node, common.label) == (1, ("ball", "goal"))
    assert common.shares == pytest.approx([17 / 18, 17 / 18])


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


def test_ways_as_text(sport: Vectors) -> None:
    words = ["goal", "fan"]
    found = [ways(sport, word, labels=LABELS) for word in words]
    assert ways_as_text(found, common_nodes(sport, words, labels=LABELS), trees=1).splitlines() == [
        "goal",
        "  tree 0, 100.0%",
        "    0 sport          5.6%  +1",
        "      1 ball goal    5.6%  +1",
        "        3 goal      88.9%  +4",
        "fan",
        "  tree 0, 50.0%",
        "    0 sport   50.0%  +2",
        "  1 more tree, 50.0%",
        "goal, fan part below",
        "  0 sport  (100.0%, 50.0%)",
    ]


def test_ways_as_text_of_words_that_never_meet(sport: Vectors) -> None:
    found = [ways(sport, word, labels=LABELS) for word in ("goal", "piano")]
    assert ways_as_text(found).splitlines()[-1] == "goal, piano: they meet in no node"


def test_ways_as_text_leaves_small_branches_out() -> None:
    vectors = named(np.array([[1.0, 0.01, 0.0, 0.02]]), Forest([-1, 0, -1, -1]))
    text = ways_as_text([ways(vectors, "w0", labels=[("a",), ("b",), ("c",), ("d",)])])
    assert text == "w0\n  tree 0, 100.0%\n    0 a  100.0%  +1\n  1 more tree, 0.0%\n"


def test_ways_as_object_is_json(sport: Vectors) -> None:
    found = [ways(sport, word, labels=LABELS) for word in ("goal", "fan")]
    read = json.loads(json.dumps(ways_as_object(found, common_nodes(sport, ["goal", "fan"], labels=LABELS))))
    assert read["words"][0]["trees"][0]["steps"][2] == {
        "node": 3, "depth": 2, "label": ["goal"], "value": 4.0, "share": pytest.approx(16 / 18),
        "within": pytest.approx(16 / 18),
    }  # fmt: skip
    assert read["common"][0]["node"] == 0


def test_words_of_a_subtree_come_by_their_length_in_it(sport: Vectors) -> None:
    found = subtree_words(sport, 1, k=4)
    assert [member.word for member in found] == ["#rare#", "racket", "goal", "ball"]
    assert [member.length for member in found[1:]] == pytest.approx([17**0.5, 17**0.5, 11**0.5])
    assert found[3].share == pytest.approx(11 / 12)
    assert [member.node for member in found[1:]] == [2, 3, 1]


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
    assert text == "#rare#   16.7%  4 sprint\nsprint   94.1%  4 sprint\n"


# thesaurus

TOKEN = re.compile(
    r'(?P<iri><[^\x00-\x20<>"{}|^`\\]*>)|(?P<text>"(?:[^"\\\n\r]|\\u[0-9A-Fa-f]{4}|\\[tbnrf"\'\\])*")'
    r"(?P<lang>@[a-zA-Z]+(?:-[a-zA-Z0-9]+)*)?|(?P<int>\d+)|(?P<name>@prefix|[a-z]+:[A-Za-z]*|a(?= ))"
    r"|(?P<mark>[.;,])|\s+"
)


def read_turtle(text: str) -> set[tuple[str, str, str]]:
    """Read the part of Turtle that a thesaurus needs, strictly: every character must belong to a token."""
    tokens, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        assert match, text[at : at + 40]
        at = match.end()
        if match.lastgroup:
            tokens.append(match[0])
    prefixes, triples = {}, set()
    lines, line = [], []
    for token in tokens:
        line.append(token)
        if token == ".":
            lines.append(line)
            line = []
    assert not line

    def full(token: str) -> str:
        name, _, rest = token.partition(":")
        return "<" + prefixes[name] + rest + ">" if token[0] not in '<"' and name in prefixes else token

    for line in lines:
        if line[0] == "@prefix":
            prefixes[line[1].rstrip(":")] = line[2][1:-1]
            continue
        subject, verb, expect_verb = line[0], "", True
        for token in line[1:-1]:
            if token in ";,":
                expect_verb = token == ";"
            elif expect_verb:
                verb, expect_verb = full(token), False
            else:
                triples.add((subject, verb, full(token)))
    return triples


SKOS = "http://www.w3.org/2004/02/skos/core#"


def values(triples: set[tuple[str, str, str]], subject: str, verb: str) -> set[str]:
    return {o for s, v, o in triples if (s, v) == (f"<{subject}>", f"<{SKOS}{verb}>")}


def text_of(literal: str) -> str:
    inner = re.fullmatch(r'"(.*)"(?:@[a-zA-Z-]+)?', literal, re.DOTALL)
    assert inner
    return re.sub(r"\\u([0-9A-F]{4})", lambda code: chr(int(code[1], 16)), inner[1])


def ld_triples(found: dict) -> set[tuple[str, str, str]]:
    """Expand the JSON-LD that as_json_ld writes, by its own context."""
    context, triples = found["@context"], set()

    def full(name: str) -> str:
        prefix, _, rest = name.partition(":")
        return context[prefix] + rest

    for item in found["@graph"]:
        subject = f"<{item['@id']}>"
        triples.add((subject, "a", f"<{full(item['@type'])}>"))
        for key, value in item.items():
            if key.startswith("@"):
                continue
            term = context.get(key, key)
            is_link = isinstance(term, dict)
            verb = f"<{full(term['@id'] if is_link else term)}>"
            for one in value if isinstance(value, list) else [value]:
                if is_link:
                    triples.add((subject, verb, f"<{one}>"))
                elif isinstance(one, dict):
                    tag = f"@{one['@language']}" if "@language" in one else ""
                    triples.add((subject, verb, one["@value"] + tag))
                else:
                    triples.add((subject, verb, str(one)))
    return triples


def plain_texts(triples: set[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    return {(s, v, text_of(o) + ("@" + o.rpartition("@")[2] if not o.endswith('"') else "") if o[0] == '"' else o)
            for s, v, o in triples}  # fmt: skip


def test_nodes_and_words_are_concepts_under_each_other(sport: Vectors) -> None:
    triples = read_turtle(as_skos_turtle(sport, labels=LABELS, base="urn:x:"))
    assert values(triples, "urn:x:", "hasTopConcept") == {"<urn:x:node/0>", "<urn:x:node/5>"}
    assert values(triples, "urn:x:node/1", "broader") == {"<urn:x:node/0>"}
    assert values(triples, "urn:x:node/1", "narrower") == {"<urn:x:node/2>", "<urn:x:node/3>", "<urn:x:word/ball>"}
    assert values(triples, "urn:x:word/ball", "broader") == {"<urn:x:node/1>"}
    assert values(triples, "urn:x:node/1", "prefLabel") == {'"ball, goal"@en'}
    assert values(triples, "urn:x:node/1", "altLabel") == {'"ball"@en', '"goal"@en'}
    assert values(triples, "urn:x:node/1", "notation") == {"1"}


def test_a_thesaurus_has_at_most_k_words_of_a_node_and_no_markers() -> None:
    vectors = Vectors(["#rare#", "a", "b", "c"], [[9], [1], [3], [2]])
    triples = read_turtle(as_skos_turtle(vectors, k=2, base="urn:x:"))
    assert values(triples, "urn:x:node/0", "narrower") == {"<urn:x:word/b>", "<urn:x:word/c>"}


def test_names_that_would_come_twice_carry_their_node() -> None:
    vectors = Vectors(["a", "b"], [[1, 0, 0], [0, 1, 1]])
    triples = read_turtle(as_skos_turtle(vectors, labels=[("a",), ("x",), ("x",)], base="urn:x:", language=None))
    names = [values(triples, f"urn:x:node/{i}", "prefLabel") for i in range(3)]
    assert names == [{'"a (0)"'}, {'"x (1)"'}, {'"x (2)"'}]  # a is a word as well


def test_a_preferred_label_is_no_alternative_label() -> None:
    triples = read_turtle(as_skos_turtle(Vectors(["a"], [[1]]), labels=[("topic",)], base="urn:x:"))
    assert values(triples, "urn:x:node/0", "prefLabel") == {'"topic"@en'}
    assert values(triples, "urn:x:node/0", "altLabel") == set()


def test_nasty_words_survive_turtle_and_json_ld() -> None:
    vectors = Vectors(NASTY, np.eye(len(NASTY)))
    triples = read_turtle(as_skos_turtle(vectors, base="urn:x:"))
    words = {(s, o) for s, v, o in triples if v == f"<{SKOS}prefLabel>" and s.startswith("<urn:x:word/")}
    assert {text_of(o) for _, o in words} == set(NASTY)
    assert all(unquote(s[len("<urn:x:word/") : -1]) == text_of(o) for s, o in words)
    found = json.loads(json.dumps(as_json_ld(vectors, base="urn:x:")))
    assert set(NASTY) <= {item["prefLabel"]["@value"] for item in found["@graph"][1:]}


@given(readable(), st.sampled_from([None, "en", "pt-BR"]))
def test_turtle_and_json_ld_say_the_same(vectors: Vectors, language: str | None) -> None:
    turtle = read_turtle(as_skos_turtle(vectors, language=language))
    assert plain_texts(turtle) == ld_triples(as_json_ld(vectors, language=language))


@given(readable())
def test_a_thesaurus_keeps_the_rules_of_skos(vectors: Vectors) -> None:
    triples = read_turtle(as_skos_turtle(vectors, k=2, base="urn:x:"))
    concepts = {s[1:-1] for s, v, o in triples if v == "a" and o == f"<{SKOS}Concept>"}
    names = [values(triples, concept, "prefLabel") for concept in concepts]
    assert all(len(name) == 1 for name in names)
    assert len(set.union(*names)) == len(concepts)
    for concept in concepts:
        assert not values(triples, concept, "prefLabel") & values(triples, concept, "altLabel")
        assert len(values(triples, concept, "broader") | values(triples, concept, "topConceptOf")) == 1
        for below in values(triples, concept, "narrower"):
            assert values(triples, below[1:-1], "broader") == {f"<{concept}>"}


def test_turtle_is_what_rdflib_reads() -> None:
    rdflib = pytest.importorskip("rdflib")
    vectors = Vectors(NASTY, np.eye(len(NASTY)))
    graph = rdflib.Graph().parse(data=as_skos_turtle(vectors), format="turtle")
    assert set(NASTY) <= {str(o) for o in graph.objects(None, rdflib.URIRef(SKOS + "prefLabel"))}


@pytest.mark.parametrize("base", ["", "no-scheme", "http://a b/", "urn:<x>", 'urn:"', "urn:\n"])
def test_a_base_that_is_no_iri_is_refused(sport: Vectors, base: str) -> None:
    with pytest.raises(InputError, match="absolute IRI"):
        as_skos_turtle(sport, base=base)


@pytest.mark.parametrize("language", ["", "en us", "e\n", '"', "en-"])
def test_a_wrong_language_is_refused(sport: Vectors, language: str) -> None:
    with pytest.raises(InputError, match="language tag"):
        as_json_ld(sport, language=language)


# features


def test_features_have_the_codes_and_a_name_for_each_column(sport: Vectors) -> None:
    matrix, names = as_features(sport, labels=LABELS)
    assert (matrix.toarray() == A).all()
    assert names == [
        "0.sport", "0.sport.ball", "0.sport.ball.racket", "0.sport.ball.goal", "0.sport.sprint", "1.piano",
        "1.piano.node6",
    ]  # fmt: skip


def test_features_can_be_written_to_and_leave_the_vectors_alone(sport: Vectors) -> None:
    matrix, _ = as_features(sport)
    matrix.data[:] = 0
    assert (sport.dense == A).all()


@given(st.lists(printable | st.sampled_from([*NASTY, "a.b", "a_b", "a-b"]), min_size=1, max_size=5), forests(5))
def test_names_are_unique_and_safe(words: list[str], forest: Forest) -> None:
    labels = [(words[i % len(words)],) for i in range(len(forest))]
    names = feature_names(named(np.ones((1, len(forest))), forest), labels=labels)
    assert len(set(names)) == len(forest)
    assert all(re.fullmatch(r"\d+(\.\w+)+", name) for name in names)
    assert [name.count(".") for name in names] == [depth + 1 for depth in forest.depth]


def test_names_as_a_table(sport: Vectors) -> None:
    table = names_as_tsv(sport, labels=LABELS).splitlines()
    assert table[:3] == [
        "node\tname\tparent\tdepth\tlabel",
        "0\t0.sport\t-1\t0\tsport",
        "1\t0.sport.ball\t0\t1\tball goal",
    ]


def test_a_table_of_nasty_names_has_five_columns_in_every_row() -> None:
    rows = names_as_tsv(Vectors(NASTY, np.eye(len(NASTY)))).rstrip("\n").split("\n")
    assert [row.count("\t") for row in rows] == [4] * (len(NASTY) + 1)
