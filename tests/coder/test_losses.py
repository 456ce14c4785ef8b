"""The family of squared losses: weights by name, and weights that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.coder.plain import entry_objective
from wordforest.coder.forest import Forest
from wordforest.coder.kernels import row_squares
from wordforest.coder.losses import discount, objective, weighing
from wordforest.coder.penalties import L1, ForestL2
from wordforest.coder.rows.base import HELD, Loss
from wordforest.errors import InputError


def test_only_equal_weights_everywhere_are_plain() -> None:
    assert Loss().is_plain
    assert not Loss(zeros=0.5).is_plain
    assert not Loss(np.ones(3)).is_plain


def test_the_heaviest_weight_is_at_least_one() -> None:
    assert [Loss(weights).heaviest for weights in (None, HELD, [0.5], np.array([7.0]))] == [1, 1, 1, 7]


@pytest.mark.parametrize("zeros", [-1.0, np.nan, np.inf])
def test_a_weight_of_unstored_pairs_that_is_none_is_refused(zeros: float) -> None:
    with pytest.raises(InputError, match="zeros"):
        Loss(zeros=zeros)


@pytest.mark.parametrize("weights", [np.ones(3), -np.ones(5), np.array([1, 1, np.nan, 1, 1]), np.full(5, np.inf)])
def test_weights_that_do_not_fit_are_refused(weights: Any) -> None:
    with pytest.raises(InputError, match="weight"):
        Loss(weights).check(5)


@pytest.mark.parametrize("text", ["none", "abs", "count:0.5", "count:0.5,1e-4", "glove:10,0.75"])
def test_weights_by_name(text: str) -> None:
    values, counts = np.array([-1.0, 2.0, 0.5]), np.array([1.0, 20.0, 9.0])
    found = weighing(text)(values, counts)
    expected = {
        "none": None,
        "abs": abs(values),
        "count:0.5": np.sqrt(counts / 10),
        "count:0.5,1e-4": np.sqrt(counts / 10),  # of counts that are discounted already
        "glove:10,0.75": np.minimum(1, counts / 10) ** 0.75,
    }[text]
    assert (found is None and expected is None) or found == pytest.approx(expected)


@pytest.mark.parametrize(
    "text",
    ["", "count", "count:x", "count:-1", "count:1,0", "count:1,2,3,4", "glove:10", "glove:10,0", "abs:1", "other"],
)
def test_unknown_weights_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"count:0\.25"):
        weighing(text)


def test_what_has_more_than_its_share_is_discounted_by_the_root() -> None:
    # shares 0, 0.1, 0.5 and 0.4 of 40 counts: above 0.125 it is sqrt(0.125 / share)
    assert discount(np.array([0.0, 4.0, 20.0, 16.0]), 0.125) == pytest.approx([1, 1, 0.5, np.sqrt(0.125 / 0.4)])


def test_the_first_objective_worked_by_hand() -> None:
    # (3 - 1*2)^2 + (0 - 1*0)^2 + 0.5 * |2|
    value = objective(sparse.csr_array([[3.0, 0.0]]), np.array([[1.0], [0.0]]), np.array([[2.0]]), L1(0.5))
    assert value == pytest.approx(2.0)


def test_the_second_objective_sees_stored_entries_only() -> None:
    X, D, A = sparse.csr_array([[3.0, 0.0]]), np.array([[1.0], [1.0]]), np.array([[2.0]])
    # (3 - 2)^2 + 0.5 * |2| + 0.1 * (1 + 1); the first objective also pays (0 - 2)^2
    assert entry_objective(X, D, A, L1(0.5), tau=0.1) == pytest.approx(2.2)
    assert objective(X, D, A, L1(0.5)) == pytest.approx(6.0)


@pytest.mark.parametrize("seed", range(3))
def test_sparse_and_dense_agree_with_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = sparse.random_array((2000, 40), density=0.1, rng=rng)
    D, A = rng.standard_normal((40, 26)), rng.standard_normal((2000, 26))
    penalty = ForestL2(Forest.complete(2), 0.7)
    expected = ((X.toarray() - A @ D.T) ** 2).sum() + penalty.per_word(A).sum()
    for kind in (sparse.csr_array(X), X.toarray()):
        assert objective(kind, D, A, penalty) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_row_squares_of_sparse_and_dense(seed: int) -> None:
    X = sparse.random_array((3000, 40), density=0.02, rng=np.random.default_rng(seed), format="csr")  # empty rows too
    expected = (X.toarray() ** 2).sum(axis=1)
    for kind in (X, X.toarray()):
        np.testing.assert_allclose(row_squares(kind), expected, rtol=1e-12)


def test_squares_of_float32_are_summed_in_float64() -> None:
    X = np.full((1, 100_000), 0.1, dtype=np.float32)
    assert row_squares(X)[0] == pytest.approx(X.size * float(np.float32(0.1)) ** 2, rel=1e-12)
