"""A word is found however it is spelled, as text would have it; what is not there gets close words."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordforest.errors import InputError
from wordforest.vectors import UnknownWordError, Vectors, WordIndex
from wordforest.vectors.spelling import edit_distances

LOWER = WordIndex(["the", "ship", "don't", "café", "hong_kong", "#number#", "#rare#"])
CASED = WordIndex(["the", "Ship", "ship", "Turkey", "New_York"])


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("ship", "ship"),
        ("Ship", "ship"),
        ("SHIP ", "ship"),
        ("Don’t", "don't"),
        ("CAFE\u0301", "café"),
        ("Hong Kong", "hong_kong"),
        ("hong  kong", "hong_kong"),
        ("1,984", "#number#"),
        ("boat", None),
        ("", None),
    ],
)
def test_a_lower_cased_vocabulary_reads_words_as_text(asked: str, found: str | None) -> None:
    row = LOWER.find(asked)
    assert (None if row is None else LOWER.words[row]) == found


@pytest.mark.parametrize(
    ("asked", "found"), [("Ship", "Ship"), ("ship", "ship"), ("turkey", None), ("New York", "New_York"), ("7", None)]
)
def test_a_vocabulary_with_capitals_keeps_them(asked: str, found: str | None) -> None:
    row = CASED.find(asked)
    assert (None if row is None else CASED.words[row]) == found


@pytest.mark.parametrize(("capitals", "is_lowercase"), [(0, True), (1, True), (2, False)])
def test_a_marker_of_another_tool_does_not_make_a_vocabulary_cased(capitals: int, is_lowercase: bool) -> None:
    words = [f"w{i}" for i in range(1000)]
    words[:capitals] = ["UNK", "PADDING"][:capitals]
    assert WordIndex(words).is_lowercase is is_lowercase


def test_everything_that_is_asked_by_word_finds_the_lower_cased_one() -> None:
    vectors = Vectors(["ship", "boat", "tree"], [[2, 0], [2, 1], [0, 1]])
    assert "Ship" in vectors
    assert vectors["SHIP"].tolist() == [2, 0]
    assert vectors.most_similar("Ship") == vectors.most_similar("ship")
    assert vectors.similarity("Ship", "Boat") == vectors.similarity("ship", "boat")
    assert vectors.path("Ship").word == "ship"
    assert [*vectors.key_to_index] == ["ship", "boat", "tree"]  # these are as they are


def test_what_is_no_word_has_no_row() -> None:
    assert LOWER.find(3) is None
    assert ["ship"] not in Vectors(["ship"], [[1.0]])


def test_a_number_is_no_word() -> None:
    with pytest.raises(UnknownWordError, match="no vector for 3"):
        Vectors(["ship"], [[1.0]])[3]  # type: ignore[index]


def test_all_unknown_words_are_named_at_once() -> None:
    with pytest.raises(UnknownWordError) as caught:
        Vectors(["king", "kin"], np.eye(2))[["king", "kign", "xyzzy"]]
    assert str(caught.value) == "no vector for 'kign' (king, kin?), 'xyzzy'. Choose words of the vocabulary."
    assert caught.value.words == ("kign", "xyzzy")


def test_close_words_have_few_edits_and_of_equals_the_frequent_ones_come_first() -> None:
    words = WordIndex(["homes", "detective", "holes", "holmes's", "Hollies", "hope"])
    assert words.close("holmes") == ["homes", "holes", "holmes's"]
    assert words.close("detectiev") == ["detective"]  # a swap is one edit
    assert words.close("HOLLIES") == ["Hollies", "holes"]
    assert words.close("zzzzzz") == []


def test_an_unknown_word_is_told_from_another_process_too() -> None:
    error = UnknownWordError(["knig"], WordIndex(["king"]))
    assert str(pickle.loads(pickle.dumps(error))) == str(error) == "no vector for 'knig'. Did you mean king?"


def test_a_word_twice_is_refused() -> None:
    with pytest.raises(InputError, match="'a' stands in rows 0 and 2"):
        WordIndex(["a", "b", "a"])


def plain_distance(a: str, b: str) -> int:
    """The definition: optimal string alignment, cell by cell."""
    table = {(i, 0): i for i in range(len(a) + 1)} | {(0, j): j for j in range(len(b) + 1)}
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            change = table[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, change)
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return table[len(a), len(b)]


letters = st.text("abé", max_size=8)


@given(word=letters, others=st.lists(letters, min_size=1, max_size=6), most=st.integers(1, 3))
def test_edits_are_counted_as_far_as_the_limit(word: str, others: list[str], most: int) -> None:
    found = np.minimum(edit_distances(word, others, most), most + 1).tolist()
    assert found == [min(plain_distance(word, other), most + 1) for other in others]
