from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference import sentences_of_words
from wordforest.documents import bags
from wordforest.documents.bags import Bags, count_words, join_bags, learn_words
from wordforest.errors import InputError
from wordforest.runtime.machine import Threads
from wordforest.text import RARE, TextRules, Vocabulary, WordRules, tokens
from wordforest.text.documents import Document, read_documents
from wordforest.text.tokens import normalise

ALL = WordRules(min_count=1)
texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("aAb1 .,'’\n\r\t\0-"), max_size=40)


def words_of(text: str, rules: TextRules) -> Counter[str]:
    found = sentences_of_words(text.replace("\0", " "))
    return Counter(normalise(word, rules) for sentence in found for word in sentence)


def as_counters(found: Bags, vocabulary: Vocabulary) -> list[Counter[str]]:
    rows = [found.counts[[i]] for i in range(len(found.ids))]
    return [Counter({vocabulary.words[c]: int(n) for c, n in zip(r.indices, r.data, strict=True)}) for r in rows]


def counted(documents: list[str], vocabulary: Vocabulary, n_workers: int = 1) -> Bags:
    return join_bags([*count_words(read_documents(documents), vocabulary, executor=Threads(n_workers))])


@given(documents=st.lists(texts, min_size=1, max_size=6))
@settings(deadline=None)
def test_every_document_has_its_own_words_wherever_lines_end(documents: list[str]) -> None:
    expected = [words_of(text, TextRules()) for text in documents]
    if not any(expected):
        return
    vocabulary, found = learn_words(read_documents(documents), words=ALL)
    assert as_counters(found, vocabulary) == expected
    assert vocabulary.counts.tolist() == found.counts.sum(axis=0).tolist()
    assert found.counts.has_canonical_format


@given(documents=st.lists(texts, max_size=6).map(lambda some: ["the ship, the sea", *some]))
@settings(deadline=None)
def test_counting_under_a_vocabulary_gives_what_learning_it_gave(documents: list[str]) -> None:
    vocabulary, found = learn_words(read_documents(documents), words=WordRules(min_count=2))
    again = counted(documents, vocabulary)
    assert (again.counts != found.counts).nnz == 0
    assert again.ids == found.ids == [str(i) for i in range(len(documents))]


@pytest.mark.parametrize("n_workers", [1, 2, 5])
def test_blocks_and_workers_change_no_bit(monkeypatch: pytest.MonkeyPatch, n_workers: int) -> None:
    rng = np.random.default_rng(0)
    documents = [" ".join(f"w{i}" for i in rng.zipf(1.5, 30)) for _ in range(300)]
    vocabulary, found = learn_words(read_documents(documents), words=WordRules(min_count=3), min_df=2, max_df=0.9)
    monkeypatch.setattr(bags, "_BLOCK_BYTES", 2000)
    for module in (bags, tokens):
        monkeypatch.setattr(module, "_MOST_FORMS", 20)
    executor = Threads(n_workers)
    words, again = learn_words(
        read_documents(documents), words=WordRules(min_count=3), min_df=2, max_df=0.9, executor=executor
    )
    assert words.words == vocabulary.words
    for one in (again, counted(documents, vocabulary, n_workers)):
        assert [a.tobytes() for a in (one.counts.data, one.counts.indices)] == [
            a.tobytes() for a in (found.counts.data, found.counts.indices)
        ]


def test_unknown_words_are_rare_where_the_vocabulary_has_rare_and_nothing_elsewhere() -> None:
    with_rare, without = Vocabulary(["the", RARE], [5, 2]), Vocabulary(["the"], [5])
    assert counted(["The ship", "der Kahn", ""], with_rare).counts.toarray().tolist() == [[1, 1], [0, 2], [0, 0]]
    assert counted(["The ship", "der Kahn", ""], without).counts.toarray().tolist() == [[1], [0], [0]]


def test_lists_of_tokens_keep_their_words_and_may_stand_among_texts() -> None:
    documents = [["New York", "U.S.", "u.s."], "u.s. york", []]
    vocabulary, found = learn_words(read_documents(documents), words=ALL)
    expected = [Counter({"new_york": 1, "u.s.": 2}), Counter({"u": 1, "s": 1, "york": 1}), Counter()]
    assert as_counters(found, vocabulary) == expected


def test_kept_columns_come_along_and_gaps_are_none() -> None:
    documents = [Document("a", "x", {"year": 1}), Document("b", "x"), Document("c", ["x"], {"year": 3, "kind": "k"})]
    _, found = learn_words(documents, words=ALL)
    assert (found.ids, found.fields) == (["a", "b", "c"], {"year": [1, None, 3], "kind": [None, None, "k"]})


def test_a_word_of_too_few_or_too_many_documents_is_rare() -> None:
    documents = ["a b c", "a b", "a d d"]
    vocabulary, found = learn_words(read_documents(documents), words=ALL, min_df=2, max_df=0.7)
    assert vocabulary.words == (RARE, "b")
    assert found.counts.toarray().tolist() == [[2, 1], [1, 1], [3, 0]]


@pytest.mark.parametrize(("low", "high"), [(3, 2), (0.9, 0.1), (-1, 1.0), (1, 1.5)])
def test_a_range_of_documents_that_no_word_can_be_in_is_refused(low: float, high: float) -> None:
    with pytest.raises(InputError, match=r"min_df"):
        learn_words(read_documents(["a b", "a", "b"]), words=ALL, min_df=low, max_df=high)


def test_a_range_that_no_word_is_in_is_named() -> None:
    with pytest.raises(InputError, match=r"no word stands in 1 to 2 of the 3 documents. Lower min_df, or raise max_df"):
        learn_words(read_documents(["a", "a", "a"]), words=ALL, max_df=2)


def test_no_documents_at_all_are_an_error() -> None:
    with pytest.raises(InputError, match="there are no documents"):
        learn_words([])
    assert [*count_words([], Vocabulary(["a"], [1]))] == []
