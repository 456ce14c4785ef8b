"""The two sides of a weighted loss: the quadratic forms of words and of contexts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from tests.coder.test_weighted import problem
from wordforest.coder.rows.base import Loss
from wordforest.coder.rows.weighted import Factor, check_range, host_sides
from wordforest.errors import InputError
from wordforest.runtime.machine import Threads


@pytest.mark.parametrize("n_products", [0, 10**6])
def test_both_ways_to_take_products_agree_with_the_definition(n_products: int) -> None:
    X, w = problem(8)
    rng = np.random.default_rng(9)
    D, A = rng.standard_normal((40, 13)), rng.standard_normal((60, 13))
    words, _ = host_sides(X, Loss(w, 0.3), Threads(1))
    rows = np.array([5, 0, 59])
    form = words.quadratic(rows, words.laid_out(Factor(D, D.T @ D)), n_products)
    for r, v in enumerate(rows):
        stored = slice(X.indptr[v], X.indptr[v + 1])
        F, own = D[X.indices[stored]], w[stored]
        H = 0.3 * D.T @ D + (F * (own - 0.3)[:, None]).T @ F
        assert form.times(A[rows])[r] == pytest.approx(H @ A[v])
        assert form.linear[r] == pytest.approx((own * X.data[stored]) @ F)


def test_the_contexts_side_is_the_transpose() -> None:
    X, w = problem(10)
    _, contexts = host_sides(X, Loss(w, 0.3), Threads(1))
    pairs = contexts.pairs
    for values, expected in ((pairs.data, X.data), (pairs.weights, w)):
        turned = sparse.csr_array((values, pairs.indices, pairs.indptr), shape=X.shape[::-1])
        assert abs(turned - sparse.csr_array((expected, X.indices, X.indptr), shape=X.shape).T).max() == 0


def test_the_loss_of_rows_and_that_of_stored_pairs_are_those_of_the_definition() -> None:
    X, w = problem(11)
    rng = np.random.default_rng(9)
    D, A = rng.standard_normal((40, 13)), rng.standard_normal((60, 13))
    words, _ = host_sides(X, Loss(w, 0.3), Threads(2))
    dense = np.full(X.shape, 0.3)
    dense[X.tocoo().coords] = w
    by_row = (dense * (X.toarray() - A @ D.T) ** 2).sum(1)
    assert words.row_losses(A, Factor(D, D.T @ D)) == pytest.approx(by_row)
    unstored = 0.3 * ((A @ D.T) ** 2).sum()
    assert sum(words.stored_losses(A, D)) + unstored == pytest.approx(by_row.sum())


def test_a_side_is_never_all_gram_matrices_at_once() -> None:
    X, w = problem(20, (3000, 40))
    words = host_sides(X, Loss(w, 0.1), Threads(1))[0]
    for M in (13, 52, 520):
        most = max(map(len, words.blocks(M, 100)))
        assert most * M * M * 4 <= 1 << 24


def test_rows_whose_weighted_squares_are_beyond_their_type_are_refused() -> None:
    check_range(np.array([1e30, 1e35]), 1.0, np.dtype(np.float32))
    with pytest.raises(InputError, match="row 1 of X holds values too large to square and weigh"):
        check_range(np.array([1e30, 1e35]), 100.0, np.dtype(np.float32))
