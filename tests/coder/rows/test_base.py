"""One contract for every home of X: products, squares and rows are those of the matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.coder import plain
from tests.coder.shared import WITHOUT_CLUSTER, Home
from wordforest.coder.kernels import on_host
from wordforest.coder.rows import split_blocks
from wordforest.errors import InputError
from wordforest.runtime.machine import Threads

ROWS = np.array([0, 3, 5, 39])
every_home = pytest.mark.parametrize("home", WITHOUT_CLUSTER)
every_type = pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])


def matrix(dtype: Any = np.float64) -> sparse.csr_array:
    """A row and a column are empty."""
    X = sparse.random_array((40, 30), density=0.2, rng=np.random.default_rng(0)).toarray()
    X[5], X[:, 7] = 0, 0
    return sparse.csr_array(X.astype(dtype))


@every_home
@every_type
def test_a_home_gives_what_the_matrix_gives(home: Home, dtype: Any, tolerance: float) -> None:
    X, rng = matrix(dtype), np.random.default_rng(1)
    D, A, out = (rng.standard_normal(shape).astype(dtype) for shape in ((30, 39), (4, 39), (30, 39)))
    rows = home.put(X, Threads(2))
    chosen, sums = rows.numbers(40)[ROWS], rows.own(out)
    assert (rows.shape, rows.dtype) == ((40, 30), dtype)
    times = on_host(rows.times(chosen, rows.own(D)))
    np.testing.assert_allclose(times, plain.times_dictionary(X, ROWS, D), atol=10 * tolerance)  # sums of a few terms
    rows.add_transposed(chosen, rows.own(A), sums)
    plain.add_times_codes(X, ROWS, A, (0, 30), out)
    np.testing.assert_allclose(on_host(sums), out, atol=10 * tolerance)
    np.testing.assert_allclose(on_host(rows.squares()), (X.toarray().astype(float) ** 2).sum(1), rtol=1e-12)
    for v in (3, 5):
        np.testing.assert_array_equal(on_host(rows.row(v)), X.toarray()[v])


@every_home
def test_rows_taken_are_rows_of_their_own(home: Home) -> None:
    X = matrix()
    taken = home.put(X, Threads(1)).take(ROWS)
    assert taken.shape == (4, 30)
    for place, v in enumerate(ROWS):
        np.testing.assert_array_equal(on_host(taken.row(place)), X.toarray()[v])


@every_home
def test_blocks_hold_every_row_once(home: Home) -> None:
    blocks = home.put(matrix(), Threads(1)).all_blocks(13)
    assert np.sort(np.concatenate([on_host(block) for block in blocks])).tolist() == list(range(40))


@every_home
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_values_that_cannot_be_squared_are_refused(home: Home, value: float) -> None:
    X = matrix()
    X.data[X.indptr[17]] = value
    with pytest.raises(InputError, match="row 17 of X"):
        home.put(X, Threads(1)).finite_squares()


def test_rows_are_dealt_to_blocks_like_cards() -> None:
    blocks = split_blocks(np.arange(7), 2, 6)
    assert [block.tolist() for block in blocks] == [[0, 3, 6], [1, 4], [2, 5]]
