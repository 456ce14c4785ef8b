"""Texts in slices: documents keep their words and their slice, and slices are counted as ``count`` counts."""

from __future__ import annotations

from datetime import date
from itertools import pairwise

import numpy as np
import pytest

import wordforest as wf
from tests.slices.made import documents, sliced, slices_over
from wordforest.counts import WindowRules
from wordforest.errors import InputError
from wordforest.slices import read_slices
from wordforest.slices.words import contexts
from wordforest.text import Vocabulary
from wordforest.text.documents import Document

SMALL = Vocabulary(["a", "b", "c"], [3, 2, 1])


def read(pairs: list[tuple[object, str]], bins: str | None = None) -> object:
    return read_slices(((name, Document(str(i), text)) for i, (name, text) in enumerate(pairs)), SMALL, bins=bins)


def test_documents_keep_their_words_in_order() -> None:
    slices = slices_over(SMALL, [("x", "a b. C a"), ("y", "c"), ("x", "b b")])
    texts = [slices.ids[i:j][slices.ids[i:j] >= 0].tolist() for i, j in pairwise(slices.borders)]
    assert texts == [[0, 1, 2, 0], [2], [1, 1]]
    assert slices.names == ("x", "y")
    assert slices.code.tolist() == [0, 1, 0]
    assert slices.frequencies.tolist() == [[2, 3, 1], [0, 0, 1]]


def test_names_that_are_times_come_in_their_order() -> None:
    slices = read([("1990", "a"), ("850", "b"), ("2001", "c")])
    assert slices.names == ("850", "1990", "2001")
    assert slices.is_time


def test_other_names_are_sorted_and_no_times() -> None:
    slices = read([("b", "a"), ("a", "b")])
    assert slices.names == ("a", "b")
    assert not slices.is_time


def test_names_can_be_given_an_order() -> None:
    named = [("b", Document("0", "a")), ("a", Document("1", "b"))]
    assert read_slices(named, SMALL, order=["b", "a"]).names == ("b", "a")


def test_times_are_put_into_bins_and_empty_ones_are_left_out() -> None:
    slices = read([(1991, "a"), (1999, "b"), (2015, "c")], bins="decade")
    assert slices.names == (1990, 2010)
    assert slices.code.tolist() == [0, 0, 1]


def test_documents_without_a_slice_are_left_out() -> None:
    slices = read([("x", "a"), (None, "b b b"), ("", "b"), ("y", "c")])
    assert slices.documents == ("0", "3")
    assert slices.frequencies.sum() == 2


def test_one_slice_alone_is_refused() -> None:
    with pytest.raises(InputError, match="Give two slices or more"):
        read([("x", "a"), ("x", "b")])


def test_some_slices_are_taken_in_the_order_given() -> None:
    slices = read([("x", "a"), ("y", "b b"), ("z", "c")])
    some = slices.only(["z", "x"])
    assert some.names == ("z", "x")
    assert some.frequencies.tolist() == [[0, 0, 1], [1, 0, 0]]
    assert some.documents == ("0", "2")


def test_times_stay_in_order_whatever_order_they_are_named_in() -> None:
    slices = read([(1990, "a"), (2000, "b"), (2010, "c")]).only([2010, 1990, 2010])
    assert slices.names == (1990, 2010)


def test_names_are_plain_values_and_those_that_look_alike_are_one() -> None:
    slices = read([(np.int64(1990), "a"), ("1990", "b"), (date(2000, 5, 1), "c")])
    assert [str(name) for name in slices.names] == ["1990", "2000-05-01"]
    assert not any(isinstance(name, np.generic | date) for name in slices.names)


def test_yes_and_no_are_no_times() -> None:
    assert not read([(True, "a"), (False, "b")]).is_time


def test_an_unknown_slice_is_named_with_those_there_are() -> None:
    with pytest.raises(InputError, match=r"no slice 'w'\. There are: x, y"):
        read([("x", "a"), ("y", "b")]).only(["x", "w"])


@pytest.mark.parametrize(
    "rules", [WindowRules(), WindowRules(2, dynamic_window=True), WindowRules(3, mark_sides=True, max_contexts=9)]
)
def test_slices_are_counted_as_count_counts(rules: WindowRules) -> None:
    """A document a line: the counts of a slice are those of its texts, and add up to those of all."""
    old, new = documents(12)
    slices = sliced(old, new)
    asked = {name: getattr(rules, name) for name in ("window", "dynamic_window", "mark_sides", "max_contexts")}
    whole = wf.count([*old, *new], min_count=1, **asked).matrix
    parts = [slices.counts(rules, number) for number in range(2)]
    assert (slices.counts(rules) != whole).nnz == 0
    assert (parts[0] + parts[1] != whole).nnz == 0
    word = slices.words.index("ship")
    by_slice = contexts(slices, word, rules)
    np.testing.assert_array_equal(by_slice, [part[[word]].toarray()[0] for part in parts])


def test_a_line_of_context_stays_within_its_document() -> None:
    slices = slices_over(SMALL, [("x", "a b"), ("y", "c a b")])
    position = int(np.flatnonzero(slices.ids == 2)[0])
    assert slices.line(position) == ("", "c", "a b")
