"""Words are found where they stand, and they are those that were counted."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordforest.text import RARE, TextRules, read_tokens
from wordforest.text.places import WordFinder

TEXTS = ["The café's cat, 3.14 cats.", "", "Ünïcode 👩‍🚀 don’t\nTHE end", "\x00 a\ud800b", "the"]
WORDS = ("the", "café's", "cat", "#number#", "don't", RARE)


def found(
    texts: list[str], words: tuple[str, ...] = WORDS, rules: TextRules | None = None
) -> list[tuple[int, str, str]]:
    places = WordFinder(words, rules or TextRules()).find(texts)
    rows = zip(places.text.tolist(), places.start.tolist(), places.end.tolist(), places.row.tolist(), strict=True)
    return [(text, texts[text][start:end], words[row] if row >= 0 else "") for text, start, end, row in rows]


def test_every_word_stands_where_it_is_said_to_be():
    assert found(TEXTS) == [
        *((0, "The", "the"), (0, "café's", "café's"), (0, "cat", "cat"), (0, "3.14", "#number#"), (0, "cats", RARE)),
        *((2, "Ünïcode", RARE), (2, "don’t", "don't"), (2, "THE", "the"), (2, "end", RARE)),
        *((3, "a", RARE), (3, "b", RARE), (4, "the", "the")),
    ]


def test_without_a_row_for_rare_words_the_others_have_none():
    assert found(["a cat"], ("cat",)) == [(0, "a", ""), (0, "cat", "cat")]


def test_half_of_a_pair_is_part_of_a_word_between_white_space():
    assert found([TEXTS[3]], ("a\ud800b",), TextRules("whitespace")) == [(0, "\x00", ""), (0, "a\ud800b", "a\ud800b")]


def test_nothing_is_found_in_no_text():
    assert found([]) == found([""]) == []


def test_a_finder_that_begins_anew_finds_the_same(monkeypatch):
    monkeypatch.setattr("wordforest.text.tokens._MOST_FORMS", 2)
    finder = WordFinder(WORDS, TextRules())
    assert [finder.find(["the cat sat on"]).row.tolist() for _ in range(3)] == [[0, 2, 5, 5]] * 3


@given(st.text(alphabet="aB é’'.,1\n😀", max_size=60))
@pytest.mark.parametrize("tokenizer", ["words", "whitespace"])
def test_the_words_found_are_those_that_are_counted(tmp_path_factory, tokenizer, text):
    rules = TextRules(tokenizer)
    words = [word for *_, word in found([text], ("",), rules)]
    path = tmp_path_factory.getbasetemp() / "one.txt"
    path.write_text("x " + text, encoding="utf-8", newline="")
    tokens = read_tokens(path, rules)
    places = WordFinder(tokens.words, rules).find(["x " + text])
    assert len(words) + 1 == len(places.row)
    assert Counter(tokens.words[row] for row in places.row) == dict(zip(tokens.words, tokens.counts, strict=True))
