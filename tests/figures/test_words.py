"""Which words a figure shows."""

from __future__ import annotations

import pytest

from tests.figures.drawn import (
    two_words,
)
from wordforest.figures import (
    WORD_LISTS,
    drawable,
)
from wordforest.vectors import Vectors


@pytest.fixture(name="two_words")
def two_words_fixture() -> Vectors:
    return two_words()


def test_words_with_a_vector_keep_their_order(two_words: Vectors) -> None:
    assert drawable(["left", "down", "right", "up", "down"], two_words) == ["down", "up"]
    assert drawable(["down", "up"], two_words, Vectors(["up"], [[1.0]])) == ["up"]


@pytest.mark.parametrize("name", ["animals", "countries"])
def test_lists_have_ten_different_words(name: str) -> None:
    words = WORD_LISTS[name][name]
    assert len(set(words)) == len(words) == 10


@pytest.mark.parametrize("name", ["good-bad", "man-woman"])
def test_pairs_of_lists_share_no_word_and_start_with_their_title(name: str) -> None:
    (first, some), (second, others) = WORD_LISTS[name].items()
    assert (some[0], others[0]) == (first, second)
    assert len(set(some) | set(others)) == len(some) + len(others) == 40
