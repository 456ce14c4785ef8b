"""X in memory: sums do not depend on where contexts are cut, and any form of matrix becomes the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.coder.rows.test_base import ROWS, matrix
from wordforest.coder.rows.base import Loss
from wordforest.coder.rows.host import HostRows, as_csr
from wordforest.runtime.machine import Threads


def test_sparse_products_do_not_depend_on_where_contexts_are_cut() -> None:
    X, A = matrix(np.float32), np.random.default_rng(0).standard_normal((40, 39)).astype(np.float32)
    rows, numbers = HostRows(X, Threads(2)), np.arange(40)
    whole, parts = np.zeros((30, 39), np.float32), np.zeros((30, 39), np.float32)
    rows.add_by_ranges(numbers, A, whole, [(0, 30)])
    rows.add_by_ranges(numbers, A, parts, [(0, 1), (1, 17), (17, 30)])
    np.testing.assert_array_equal(parts, whole)


def test_a_dense_matrix_stores_all_its_pairs() -> None:
    X = matrix().toarray()
    full = as_csr(X)
    assert full.nnz == X.size
    assert full.has_canonical_format
    np.testing.assert_array_equal(full.toarray(), X)


@pytest.mark.parametrize("form", [sparse.csr_array, lambda X: X.toarray()], ids=["sparse", "dense"])
def test_a_sample_keeps_the_weights_of_its_pairs(form: Any) -> None:
    rows = HostRows(form(matrix()))
    X = rows.pairs()
    weights = np.random.default_rng(0).random(X.nnz)
    sample, loss = rows.sample(ROWS, Loss(weights, 0.5))
    expected = np.concatenate([weights[X.indptr[v] : X.indptr[v + 1]] for v in ROWS])
    np.testing.assert_array_equal(loss.weights, expected)
    np.testing.assert_array_equal(sample.pairs().toarray(), X.toarray()[ROWS])
