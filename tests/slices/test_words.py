"""X of a word by slice: the slice's own where it has much, the whole's where it has little; contexts and examples."""

from __future__ import annotations

import numpy as np

import wordforest as wf
from tests.slices.made import MOVES, SEA, SKY, documents, sliced
from wordforest.counts import WindowRules
from wordforest.slices.words import Contrast, contexts, example_lines, rows, telling_contexts

RULES = WindowRules()


def test_without_counts_of_its_own_a_word_looks_as_on_the_whole() -> None:
    """With kappa beyond all counts X is that of all slices, but for the shares of contexts, which are the slice's."""
    slices = sliced(*documents())
    word = slices.words.index(MOVES)
    whole = wf.pmi(slices.counts(RULES))[[word]].toarray()[0]
    X = rows(slices, [Contrast(word, (0, 1), (0, 1))], RULES, kappa=1e12).toarray()
    n_c = slices.counts(RULES).sum(axis=0)
    f = slices.frequencies.sum(axis=0)
    shift = np.log(n_c / n_c.sum()) - np.log(f / f.sum())  # contexts counted by windows, and by words
    known = whole != 0
    np.testing.assert_allclose((X[0] - shift)[known], whole[known], atol=1e-4)
    np.testing.assert_array_equal(X[0], X[1])


def test_with_kappa_0_x_is_that_of_the_slice() -> None:
    slices = sliced(*documents())
    word = slices.words.index(MOVES)
    X = rows(slices, [Contrast(word, (0,), (1,))], RULES, kappa=0).toarray()
    n = contexts(slices, word, RULES)
    assert ((X != 0) <= (n > 0)).all()


def test_pairs_that_are_added_are_pairs_also_in_a_dynamic_window() -> None:
    """A neighbour counts six times in a dynamic window of three; what is added counts in neighbours."""
    slices, rules = sliced(*documents(8)), WindowRules(3, dynamic_window=True)
    word = slices.words.index(MOVES)
    n = contexts(slices, word, rules) / 6
    n = n[0] + 300 * n.sum(axis=0) / n.sum()
    f, whole = slices.frequencies[0], slices.frequencies.sum(axis=0)
    q = f + 10_000 * whole / whole.sum()
    expected = np.log(n[n > 0] / n.sum()) - np.log(q / q.sum())[n > 0]
    X = rows(slices, [Contrast(word, (0,), (1,))], rules, kappa=300).toarray()[0]
    np.testing.assert_allclose(X[n > 0], expected, atol=1e-4)


def test_positive_pmi_keeps_what_is_above_the_shift() -> None:
    slices = sliced(*documents())
    contrast = [Contrast(slices.words.index(MOVES), (0,), (1,))]
    X, positive = rows(slices, contrast, RULES).toarray(), rows(slices, contrast, RULES, least=0.0).toarray()
    np.testing.assert_allclose(positive, np.maximum(X, 0), atol=1e-6)


def test_contexts_that_made_the_difference() -> None:
    slices = sliced(*documents())  # names in order: new, old
    before, after, z = telling_contexts(slices, Contrast(slices.words.index(MOVES), (1,), (0,)), RULES)
    assert {slices.words[c] for c in before[:5]} <= {*SEA}
    assert {slices.words[c] for c in after[:5]} <= {*SKY}
    assert z[slices.words.index("moon")] > 2


def test_examples_come_from_their_slice_each_of_another_document() -> None:
    slices = sliced(*documents())
    word = slices.words.index(MOVES)
    _, _, z = telling_contexts(slices, Contrast(word, (1,), (0,)), RULES)
    lines = example_lines(slices, word, (0,), z, n=3)
    assert len({document for document, *_ in lines}) == 3
    code = dict(zip(slices.documents, slices.code.tolist(), strict=True))
    assert {code[document] for document, *_ in lines} == {0}
    assert all(keyword == MOVES for _, _, keyword, _ in lines)
