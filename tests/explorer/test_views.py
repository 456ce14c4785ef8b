"""Addresses of pages, and what each shows, as plain data."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explorer.made import FOREST, address_of, made_run
from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.explorer import views
from wordforest.explorer.model import build_model, summary
from wordforest.store import Run
from wordforest.vectors import Vectors


def test_a_node_card_tells_place_use_words_and_contexts(model):
    card = views.node_card(model, 1, k=4)
    column = model.vectors.dense[:, 1]
    assert (card["depth"], card["parent"], card["children"]) == (1, 0, [2, 3])
    assert card["used"] == np.count_nonzero(column)
    assert [word for word, _ in card["positive"]] == [model.words[i] for i in np.argsort(-column, kind="stable")[:4]]
    assert [word for word, _ in card["negative"]] == [model.words[i] for i in np.argsort(column, kind="stable")[:4]]
    contexts = model.dictionary[:, 1]
    assert [word for word, _ in card["contexts"]["positive"]] == [model.words[i] for i in np.argsort(-contexts)[:4]]


def test_a_node_card_of_plain_vectors_has_no_contexts():
    card = views.node_card(build_model("m", Vectors(["a", "b"], [[1, 0], [0, -2]])), 1)
    assert card["contexts"] is None
    assert card["positive"] == []
    assert card["negative"] == [["b", -2.0]]


def test_an_unknown_node_is_refused_with_the_range(model):
    with pytest.raises(InputError, match="from 0 to 8"):
        views.node_card(model, 9)


def test_contexts_that_are_not_the_words_are_left_out():
    run = made_run()
    other = Run(run.words, run.counts, run.codes, run.dictionary[:50], run.forest)
    assert build_model("m", other).dictionary is None


def test_the_forest_of_a_word_is_its_non_zero_coefficients(model):
    shown = views.word_forest(model, "king")
    vector = model.vectors["king"]
    assert shown["nodes"] == np.flatnonzero(vector).tolist()
    assert shown["values"] == pytest.approx(vector[vector != 0], rel=1e-4)  # five digits are sent
    assert (shown["rank"], shown["count"]) == (1, 1200)


def test_a_word_without_a_vector_gets_words_that_are_spelled_or_begin_like_it(model):
    assert views.word_view(model, "uqeen")["near"][0] == "queen"  # the shell's answer; no other begins so
    assert views.word_view(model, "kingdom") == {"word": "kingdom", "found": False, "near": ["king", "kings"]}


def test_the_nearest_words_are_those_of_the_vectors(model):
    assert [w for w, _ in views.word_view(model, "king", k=5)["neighbors"]] == [
        w for w, _ in model.vectors.most_similar("king", topn=5)
    ]


def test_two_words_part_where_their_common_way_ends(model):
    found = views.comparison(model, ["king", "queen"])
    assert {row["node"] for row in found["shared"]} >= {0, 1}
    assert 2 in [row["node"] for row in found["parting"]]
    assert found["cosines"][0][1] == pytest.approx(model.vectors.similarity("king", "queen"), abs=1e-4)


@given(st.integers(0, 50), st.integers(2, 5))
def test_partings_are_as_they_are_defined(seed, n):
    run = made_run(seed=seed)
    model = build_model("m", run)
    words = list(run.words[:n])
    signs = np.sign([model.vectors[word] for word in words])
    groups = [range(i, FOREST.end[i]) for i in range(9)]
    entered = [[any(sign[j] for j in group) for group in groups] for sign in signs]
    shared = {i for i in range(9) if set(signs[:, i]) in ({1.0}, {-1.0})}
    together = {i for i in range(9) if all(e[i] for e in entered) and not {1.0, -1.0} <= set(signs[:, i])}
    some = {i for i in range(9) if any(e[i] for e in entered)}
    parting = {i for i in some - together if FOREST.parent[i] in together | {-1}}
    found = views.comparison(model, words)
    assert (found["n_shared"], found["n_parting"]) == (len(shared), len(parting))
    assert {row["node"] for row in found["shared"]} <= shared
    assert {row["node"] for row in found["parting"]} <= parting


def test_a_word_parts_from_others_by_a_branch_below_a_zero_node():
    codes = [[0.0, 3.0, 4.0], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]  # the first uses two leaves, but not their root
    model = build_model("m", Vectors(["a", "b", "c"], codes, forest=Forest([-1, 0, 0])))
    found = views.comparison(model, ["a", "b"])
    assert found["shared"] == []
    assert found["parting"] == [{"node": 2, "values": [4.0, 0.0]}, {"node": 1, "values": [3.0, 0.0]}]
    assert views.comparison(model, ["b", "c"])["parting"] == []


def test_what_a_word_has_in_a_branch_of_an_additive_forest_is_its_value():
    codes = [[7.0, 7.0, 4.0, 3.0], [5.0, 0.0, 0.0, 0.0]]
    model = build_model("m", Vectors(["a", "b"], codes, forest=Forest([-1, 0, 1, 1])))
    assert summary(model)["additive"]
    assert views.comparison(model, ["a", "b"])["parting"] == [{"node": 1, "values": [7.0, 0.0]}]


def test_an_analogy_names_unknown_words(model):
    assert views.analogy(model, "man", "nobody", "woman") == {"unknown": ["nobody"], "neighbors": []}
    found = views.analogy(model, "man", "king", "woman", k=3)["neighbors"]
    assert [w for w, _ in found] == [w for w, _ in model.vectors.analogy("man", "king", "woman", topn=3)]


def test_a_nodes_values_keep_signs_and_zeros():
    tiny = build_model("m", Vectors(["a", "b", "c", "d"], [[1e-12], [-1e-12], [0], [2.0]]))
    values, limit = views.node_values(tiny, 0)
    assert values.tolist() == [1, -1, 0, 32767]
    assert limit == 2.0


@given(
    st.sampled_from(["word", "compare", "analogy"]),
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), min_size=1, max_size=3, unique=True
    ),
)
def test_every_word_has_an_address(kind, words):
    words = words[:1] if kind == "word" else words
    if kind == "word" or words[0] not in (".", ".."):
        assert views.parse_route(address_of(kind, *words)) == views.Route(kind, tuple(words))


def test_names_of_folders_are_given_by_query():
    assert views.parse_route("/word?w=..").words == ("..",)


@pytest.mark.parametrize(
    "address",
    [
        "/nowhere",
        "/node/-1",
        "/node/x",
        "/node/1e3",
        "/compare/a,b,c,d,e,f",
        "/analogy/a,b,c,d",
        "/map?node=x",
        "/node/1?model=1",
        "/etc/passwd",
        "/map/../../etc",
        "/word/" + "a" * 9000,
    ],
)
def test_what_is_no_page_is_refused(address):
    with pytest.raises(views.UnknownPageError):
        views.parse_route(address)


def test_every_page_of_a_model_is_plain_json(model):
    addresses = [
        "/",
        "/word/king",
        "/word",
        "/word/KING",
        "/across",
        "/across/king",
        "/node/8",
        "/compare",
        "/compare/king",
        "/compare/king,nobody",
        "/analogy/man,king,woman",
        "/analogy",
        "/map",
        "/map?node=3",
    ]
    for address in addresses:
        view = views.page_view([model], views.parse_route(address))
        assert json.loads(json.dumps(view, allow_nan=False)) == view
