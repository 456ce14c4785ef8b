from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from wordforest.counts import Counts, association
from wordforest.counts.association import log_margins, margins, pmi, pmi_rows, ppmi
from wordforest.errors import InputError
from wordforest.runtime.machine import Threads
from wordforest.text import Vocabulary

# many empty cells, rows and columns; some counts beyond what float32 holds exactly
tables = hnp.arrays(
    np.int64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.sampled_from([0, 0, 0, 1, 2, 7, 1000, 2**24 + 1, 10**9]),
).filter(np.any)
BY_HAND = np.array([[1, 2, 0], [1, 0, 4]])


def reference(table: np.ndarray, smoothing: float = 1.0) -> np.ndarray:
    """log p(v, c) / (p(v) p(c)) in float64, 0 where nothing was counted."""
    X = np.zeros(table.shape)
    p_vc = table / table.sum()
    contexts = table.sum(axis=0).astype(float) ** smoothing
    for v, c in np.argwhere(table):
        X[v, c] = math.log(p_vc[v, c] / (p_vc[v].sum() * contexts[c] / contexts.sum()))
    return X


def test_pmi_by_hand() -> None:
    expected = [[math.log(1 * 8 / (3 * 2)), math.log(2 * 8 / (3 * 2)), 0], [math.log(8 / (5 * 2)), 0, math.log(8 / 5)]]
    X = pmi(sparse.csr_array(BY_HAND))
    assert X.dtype == np.float32
    assert X.toarray() == pytest.approx(np.array(expected), abs=1e-6)  # float32 rounding


@given(tables, st.sampled_from([1.0, 0.75, 0.5]))
def test_pmi_equals_its_definition(table: np.ndarray, smoothing: float) -> None:
    X = pmi(sparse.csr_array(table), smoothing=smoothing)
    # three float32 logarithms of at most 25, each off by half of 2^-19
    assert X.toarray() == pytest.approx(reference(table, smoothing), abs=1e-5)


@given(tables)
def test_pmi_keeps_the_pattern_and_leaves_the_counts_alone(table: np.ndarray) -> None:
    counts = sparse.csr_array(table)
    X = pmi(counts)
    assert X.indptr.tolist() == counts.indptr.tolist()
    assert X.indices.tolist() == counts.indices.tolist()
    X.data[:] = 0
    X.eliminate_zeros()  # what a caller does to X must not reach the counts either
    assert counts.toarray().tolist() == table.tolist()


@given(tables, st.sampled_from([0.0, 0.5, 1.0, -0.5]))
def test_ppmi_is_the_positive_part_without_stored_zeros(table: np.ndarray, shift: float) -> None:
    counts = sparse.csr_array(table)
    X = ppmi(counts, shift=shift)
    expected = np.where(table > 0, np.maximum(pmi(counts).toarray() - np.float32(shift), 0), 0)
    assert X.toarray().tolist() == expected.tolist()
    assert (X.data > 0).all()
    assert X.nnz == np.count_nonzero(expected)
    assert counts.toarray().tolist() == table.tolist()


def test_ppmi_by_hand() -> None:
    X = ppmi(sparse.csr_array(BY_HAND))
    assert X.nnz == 3  # log(8 / 10) is negative
    assert X.toarray() == pytest.approx(np.maximum(reference(BY_HAND), 0), abs=1e-6)  # float32 rounding


def test_ppmi_takes_smoothing() -> None:
    X = ppmi(sparse.csr_array(BY_HAND), smoothing=0.5)
    assert X.toarray() == pytest.approx(np.maximum(reference(BY_HAND, 0.5), 0), abs=1e-6)  # float32 rounding


def test_independent_words_have_pmi_zero_that_stays_stored() -> None:
    X = pmi(sparse.csr_array(np.outer([1, 2], [2, 4])))
    assert X.nnz == 4
    assert X.toarray() == pytest.approx(np.zeros((2, 2)), abs=1e-6)  # float32 rounding


def test_rows_and_columns_without_entries_stay_empty() -> None:
    table = np.array([[0, 0, 0], [0, 3, 0], [0, 5, 0]])
    assert pmi(sparse.csr_array(table)).toarray() == pytest.approx(np.zeros((3, 3)), abs=1e-6)  # one context: log 1


def test_counts_and_their_matrix_give_the_same() -> None:
    matrix = sparse.csr_array(np.array([[0, 2], [2, 1]]))
    counts = Counts(matrix, Vocabulary(["a", "b"], [2, 3]))
    assert (pmi(counts) != pmi(matrix)).nnz == 0


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_other_sparse_formats_give_the_same(form: Callable[[np.ndarray], sparse.sparray]) -> None:
    table = np.array([[1, 2, 0], [1, 0, 4], [0, 7, 0]])  # square and not symmetric: a mistaken transpose would show
    assert pmi(form(table)).toarray().tolist() == pmi(sparse.csr_array(table)).toarray().tolist()


def test_stored_zeros_and_split_entries_count_as_what_they_sum_to() -> None:
    split = sparse.csr_array((np.array([1, 1, 0, 4, 1]), np.array([1, 1, 2, 2, 0]), np.array([0, 3, 5])), shape=(2, 3))
    X = pmi(split)
    assert X.toarray() == pytest.approx(reference(np.array([[0, 2, 0], [1, 0, 4]])), abs=1e-6)  # float32 rounding
    assert X.nnz == 3
    assert split.nnz == 5


@pytest.mark.parametrize("measure", [pmi, ppmi])
@pytest.mark.parametrize("data", [[], [0]])
def test_an_empty_matrix_is_an_error(measure: Callable[..., sparse.csr_array], data: list[int]) -> None:
    zeros = [0] * len(data)
    with pytest.raises(InputError, match="the count matrix is empty"):
        measure(sparse.csr_array((data, (zeros, zeros)), shape=(2, 2), dtype=np.int32))


def test_negative_counts_are_an_error() -> None:
    with pytest.raises(InputError, match="the counts hold -2, but a count is never negative"):
        pmi(sparse.csr_array(np.array([[1, -2]])))


def test_threads_and_parts_do_not_change_the_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = sparse.random_array((40, 30), density=0.3, rng=np.random.default_rng(0), format="csr")
    counts.data = np.ceil(counts.data * 50).astype(np.int32)
    whole = pmi(counts)
    monkeypatch.setattr(association, "_PAIRS", 20)
    np.testing.assert_array_equal(pmi(counts, executor=Threads(2)).toarray(), whole.toarray())


@pytest.mark.parametrize("shift", [None, 0.0, 0.3])
def test_rows_of_an_association_are_those_of_the_whole(shift: float | None) -> None:
    counts = sparse.random_array((40, 30), density=0.3, rng=np.random.default_rng(0), format="csr")
    counts.data = np.ceil(counts.data * 50).astype(np.int32)
    whole = pmi(counts, smoothing=0.75) if shift is None else ppmi(counts, shift=shift, smoothing=0.75)
    log_v, log_c = log_margins(*margins(counts), 0.75)
    for first, last in ((0, 1), (1, 17), (17, 40)):
        part = pmi_rows(counts[first:last], log_v[first:last], log_c, shift)
        np.testing.assert_array_equal(part.toarray(), whole[first:last].toarray())
