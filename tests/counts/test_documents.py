"""Documents as contexts: the kernel against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from wordforest.counts.documents import document_ppmi
from wordforest.runtime.machine import Threads


def by_definition(has: np.ndarray) -> np.ndarray:
    """Return the PPMI of words that share documents, (V, V), from what each document has, (n, V)."""
    share = 1 / np.maximum(has.sum(1), 1)
    n_vc = (has * share[:, None]).T @ has
    n_v, n_c = n_vc.sum(1), n_vc.sum(0)
    p_c = n_c**0.75 / (n_c**0.75).sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.log(n_vc / (n_v[:, None] * p_c))
    return np.where(n_vc > 0, np.maximum(x, 0), 0)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(2, 12))
@settings(max_examples=30, deadline=None)
def test_rows_are_the_definition(seed: int, n: int, n_words: int) -> None:
    has = np.random.default_rng(seed).random((n, n_words)) < 0.4
    has[0] = True  # so that every word has a document
    X = document_ppmi(sparse.csr_array(has.astype(np.int32)), n_words).toarray()
    np.testing.assert_allclose(X, by_definition(has.astype(float)), atol=2e-6)


def test_contexts_are_the_words_in_most_documents() -> None:
    has = np.random.default_rng(1).random((40, 9)) < np.linspace(0.9, 0.2, 9)
    few = document_ppmi(sparse.csr_array(has.astype(np.int32)), 4)
    assert few.shape == (9, 4)


def test_empty_documents_change_nothing() -> None:
    has = (np.random.default_rng(2).random((30, 8)) < 0.4).astype(np.int32)
    more = np.vstack([has, np.zeros((5, 8), dtype=np.int32)])
    a, b = (document_ppmi(sparse.csr_array(one), 8) for one in (has, more))
    assert (a != b).nnz == 0


@pytest.mark.parametrize("workers", [1, 3])
def test_bits_do_not_depend_on_workers(workers: int) -> None:
    has = (np.random.default_rng(3).random((200, 700)) < 0.05).astype(np.int32)
    one, other = (document_ppmi(sparse.csr_array(has), 500, Threads(n)) for n in (2, workers))
    assert one.data.tobytes() == other.data.tobytes()
    assert one.indices.tobytes() == other.indices.tobytes()
