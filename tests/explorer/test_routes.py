"""Addresses of pages."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordforest.explorer.routes import Route, UnknownPageError, address_of, page_view, parse_route


@given(
    st.sampled_from(["word", "compare", "analogy"]),
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8), min_size=1, max_size=3, unique=True
    ),
)
def test_every_word_has_an_address(kind, words):
    route = Route(kind, tuple(words[:1] if kind == "word" else words))
    assert parse_route(address_of(route)) == route


def test_addresses_of_folders_are_given_by_query():
    assert address_of(Route("word", ("..",))) == "/word?w=.."
    assert parse_route("/word?w=..").words == ("..",)


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
    with pytest.raises(UnknownPageError):
        parse_route(address)


def test_every_page_of_a_model_is_plain_json(model):
    addresses = [
        "/",
        "/word/king",
        "/word",
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
        view = page_view([model], parse_route(address))
        assert json.loads(json.dumps(view, allow_nan=False)) == view
