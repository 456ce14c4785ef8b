"""Keyword in context: every occurrence that was counted, with what stands beside it."""

from __future__ import annotations

import numpy as np
import pytest

import wordforest
from tests.reading.sport import SPORT, WORDS, A
from wordforest.documents.concordance import concordance
from wordforest.errors import InputError
from wordforest.text import TextRules
from wordforest.text.documents import Document
from wordforest.vectors import UnknownWordError, Vectors

VECTORS = Vectors(WORDS, A, forest=SPORT)
TEXTS = ["The ball, a red BALL.", "no game", "goal!\n\n  My racket hit the ball goal", "a sprint and the piano"]


def shown(texts=TEXTS, query="ball", **more):
    return [
        (line.document, line.left, line.keyword, line.right)
        for line in concordance(texts, VECTORS, query, **more).lines
    ]


def test_it_is_public():
    assert wordforest.concordance(TEXTS, VECTORS, "ball").n_found == 3


def test_every_occurrence_is_found_with_its_context():
    assert shown() == [
        ("0", "The ", "ball", ", a red BALL."),
        ("0", "The ball, a red ", "BALL", "."),
        ("2", "goal! My racket hit the ", "ball", " goal"),
    ]
    found = concordance(TEXTS, VECTORS, "Ball")
    assert (found.words, found.n_found, found.n_with, found.n_documents) == (("ball",), 3, 2, 4)
    assert [TEXTS[line.row][line.start :][:4] for line in found.lines] == ["ball", "BALL", "ball"]


def test_records_have_ids_of_their_own():
    documents = [Document("one", "a ball"), Document("two", "")]
    assert shown(documents) == [("one", "a ", "ball", "")]


def test_tokens_are_words_as_they_are():
    assert shown([["The", "ball"], ["e-ball", "BALL"]]) == [("0", "The ", "ball", ""), ("1", "e-ball ", "BALL", "")]


def test_a_file_of_documents_is_read(tmp_path):
    path = tmp_path / "texts.jsonl"
    path.write_text('{"id": "x", "text": "a ball"}\n{"id": "y", "text": null}\n')
    assert shown(path) == [("x", "a ", "ball", "")]


def test_the_rules_of_the_run_decide_what_is_the_same_word():
    assert len(shown(rules=TextRules(lowercase=False))) == 2


def test_the_context_is_as_wide_as_asked():
    assert shown(width=3)[2] == ("2", "he ", "ball", " go")


def test_several_words_are_found_one_after_the_other_in_one_document():
    assert shown(["a ball", "goal ball", "Ball. Goal"], "ball goal") == [("2", "", "Ball. Goal", "")]
    assert shown(["the ball-goal"], "ball-goal") == [("0", "the ", "ball-goal", "")]


def test_a_phrase_is_named_as_one():
    found = concordance(["Ball. Goal"], VECTORS, "Ball Goal")
    assert (found.words, found.lines[0].word) == (("ball goal",), "ball goal")


def test_a_marker_stands_for_the_words_it_was_counted_for():
    assert [keyword for *_, keyword, _ in shown(query="#rare#", k=None)][:3] == ["The", "a", "red"]


def test_a_node_is_found_by_its_words_strongest_first_where_asked():
    found = concordance(TEXTS, VECTORS, 1, sort="strength", words=3)
    assert found.words == ("ball", "racket", "goal")
    assert [line.word for line in found.lines] == ["ball"] * 3 + ["goal", "racket", "goal"]
    assert [line.word for line in concordance(TEXTS, VECTORS, 1, words=3).lines][-4:] == [
        "goal",
        "racket",
        "ball",
        "goal",
    ]
    assert len(concordance(TEXTS, VECTORS, 1, sort="strength", k=4).lines) == 4
    assert concordance(TEXTS, VECTORS, np.int64(1), words=3).words == found.words


def test_a_node_that_no_word_uses_is_found_nowhere():
    found = concordance(TEXTS, VECTORS, 6)
    assert (found.words, found.lines, found.n_found) == ((), (), 0)


def test_lines_are_sorted_by_what_stands_beside():
    texts = ["b ball z", "a ball y", "A c ball x"]
    assert [left for _, left, *_ in shown(texts, sort="left")] == ["a ", "b ", "A c "]
    assert [right for *_, right in shown(texts, sort="right")] == [" x", " y", " z"]


def test_the_first_are_taken_or_some_at_random_whatever_the_batches(monkeypatch):
    texts = [f"ball {i}" for i in range(200)]
    assert [line[0] for line in shown(texts, k=3)] == ["0", "1", "2"]
    chosen = shown(texts, k=10, seed=1)
    assert chosen != shown(texts, k=10, seed=2)
    assert len({*chosen}) == 10
    monkeypatch.setattr("wordforest.documents.concordance._BATCH", 50)
    assert shown(texts, k=10, seed=1) == chosen
    assert concordance(texts, VECTORS, "ball", k=1).n_found == 200


@pytest.mark.parametrize(
    ("query", "hint"), [("bal", "Did you mean ball"), ("ball bal", "'bal'.*ball"), ("?!", "no vector")]
)
def test_an_unknown_word_is_told_with_words_like_it(query, hint):
    with pytest.raises(UnknownWordError, match=hint):
        concordance(TEXTS, VECTORS, query)


@pytest.mark.parametrize("wrong", [{"k": 0}, {"width": 0}, {"query": 7}, {"query": -1}])
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(InputError):
        concordance(TEXTS, VECTORS, **{"query": "ball", **wrong})
