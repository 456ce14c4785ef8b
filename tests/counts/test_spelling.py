"""Character n-grams of words as columns: which, in which order, with which values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from wordforest.counts import spelling
from wordforest.counts.spelling import beside, by_rows, spell, spell_as
from wordforest.errors import InputError

vocabularies = st.lists(st.text("abé語😀#", min_size=1, max_size=6), unique=True, max_size=12)


def ngrams_of(word: str) -> set[str]:
    """The definition."""
    if word.startswith("#") and word.endswith("#"):
        return set()
    text = f"<{word}>"
    return {text[i : i + n] for n in (2, 3, 4, 5) for i in range(len(text) - n + 1)}


@pytest.fixture(autouse=True, scope="module")
def _few_words_suffice() -> Iterator[None]:
    patch = pytest.MonkeyPatch()
    patch.setattr(spelling, "_LEAST", 2)
    yield
    patch.undo()


@given(vocabularies, st.floats(0.1, 10))
def test_values_equal_their_definition(words: list[str], scale: float) -> None:
    sets = [ngrams_of(word) for word in words]
    shared = Counter(ngram for one in sets for ngram in one)
    expected = sorted((g for g in shared if shared[g] >= 2), key=lambda g: (-shared[g], g))
    if not expected:
        with pytest.raises(InputError, match="leave out --spelling"):
            spell(words, scale)
        return
    S, ngrams = spell(words, scale)
    assert ngrams == {g: shared[g] for g in expected}
    assert list(ngrams) == expected
    n_words = sum(map(bool, sets))
    table = [[scale * math.log(n_words / shared[g]) * (g in one) for g in expected] for one in sets]
    assert S.dtype == np.float32
    assert S.has_canonical_format
    assert S.nnz == sum(g in one for one in sets for g in expected)
    assert S.toarray() == pytest.approx(np.array(table), rel=1e-6)


def test_only_the_most_shared_are_kept_and_ties_go_by_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spelling, "_MOST", 4)
    _, ngrams = spell(["ab", "abc", "bc", "b"], 1.0)  # ab and bc, <ab and bc> in two words each, <b in two
    assert ngrams == {"<a": 2, "<ab": 2, "<b": 2, "ab": 2}


@given(vocabularies.filter(lambda words: len(words) > 2))
def test_new_words_have_the_ngrams_that_are_known(words: list[str]) -> None:
    try:
        S, ngrams = spell(words, 0.5)
    except InputError:
        return
    assert (spell_as(words, ngrams, words, 0.5) != S).nnz == 0
    n_words = sum(map(bool, map(ngrams_of, words)))
    value = {g: 0.5 * math.log(n_words / shared) for g, shared in ngrams.items()}
    new = ["ab語b", "#ab#", "xyz"]
    expected = [[value[g] if g in ngrams_of(word) else 0 for g in ngrams] for word in new]
    np.testing.assert_allclose(spell_as(new, ngrams, words, 0.5).toarray(), expected, rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_two_matrices_stand_side_by_side_and_so_does_what_their_pairs_have(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, S = (sparse.random_array((30, n), density=0.1, rng=rng, format="csr", dtype=np.float32) for n in (40, 7))
    is_spelled = by_rows(X, S, np.zeros(X.nnz), np.ones(S.nnz))
    expected = sparse.csr_array(sparse.hstack([X, S]))
    found = beside(X, S)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert found.shape == (30, 47)
    np.testing.assert_array_equal(is_spelled, found.indices >= 40)
