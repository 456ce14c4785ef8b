"""Greedy codes with at most so many nodes on: every implementation does what the plain one does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.coder import plain
from tests.coder.kernels.test_kernels import every_dtype, every_implementation
from tests.strategies import forests
from wordforest.coder import kernels
from wordforest.coder.additive import ancestors
from wordforest.coder.forest import Forest

FOREST = Forest.complete(3, (2, 2))


def problem(
    forest: Forest, seed: int = 0, rows: int = 30, *, alike: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, XD and DD; where atoms are ``alike``, that of a node has those of all above it in it."""
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((40, len(forest)))
    D /= np.linalg.norm(D, axis=0)
    D = D @ ancestors(forest).T if alike else D
    X = rng.standard_normal((rows, 40))
    X[0] = 0
    return X, X @ D, D.T @ D


@every_implementation
@every_dtype
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("price", [0.0, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("most", [1, 4, 9])
def test_codes_are_those_of_the_definition(
    to: Any, dtype: Any, nonnegative: bool, alike: bool, price: float, most: int
) -> None:
    _, XD, DD = problem(FOREST, alike=alike)
    expected = plain.pursue(XD, DD, FOREST, most, nonnegative, price)
    arrays = (to(array.astype(dtype)) for array in (XD, DD))
    found = kernels.pursue(*arrays, FOREST, most, nonnegative=nonnegative, price=price)
    # a ridge of 1e-6; where none may be negative, sweeps end when moves are 1e-5 of the largest coefficient
    np.testing.assert_allclose(kernels.on_host(found), expected, atol=2e-4)


@given(forests(), st.integers(1, 12), st.integers(0, 99))
def test_at_most_so_many_nodes_are_on_and_none_under_one_that_is_off(forest: Forest, most: int, seed: int) -> None:
    most = min(most, len(forest))
    _, XD, DD = problem(forest, seed, rows=3)
    A = kernels.pursue(XD, DD, forest, most)
    assert ((A != 0).sum(axis=1) <= most).all()
    children = np.flatnonzero(forest.parent >= 0)
    assert not ((A[:, children] != 0) & (A[:, forest.parent[children]] == 0)).any()
    assert not A[0].any()


def test_all_nodes_on_is_least_squares() -> None:
    _, XD, DD = problem(FOREST)
    A = kernels.pursue(XD, DD, FOREST, len(FOREST))
    np.testing.assert_allclose(A, np.linalg.solve(DD, XD.T).T, atol=1e-4)


def test_single_nodes_with_atoms_at_right_angles_are_the_largest() -> None:
    XD = np.array([[3.0, -5.0, 1.0, 4.0]])
    A = kernels.pursue(XD, np.eye(4), Forest.flat(4), 2)
    np.testing.assert_allclose(A, [[0, -5, 0, 4]], rtol=1e-5)
    np.testing.assert_allclose(
        kernels.pursue(XD, np.eye(4), Forest.flat(4), 2, nonnegative=True), [[3, 0, 0, 4]], rtol=1e-5
    )


@every_implementation
@pytest.mark.parametrize("rounding", [-1e-8, 0.0, 1e-8])
def test_of_atoms_that_are_equal_but_for_rounding_the_first_comes_on(to: Any, rounding: float) -> None:
    D = np.array([[1.0, 1.0 + rounding, 1.0], [0.0, 0.0, 0.0]])
    A = kernels.pursue(to(np.array([[2.0, 0.0]]) @ D), to(D.T @ D), Forest.flat(3), 1)
    np.testing.assert_allclose(kernels.on_host(A), [[2, 0, 0]], atol=1e-5)


def test_atoms_that_are_equal_or_zero_do_no_harm() -> None:
    D = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    X = np.array([[2.0, 1.0]])
    for nonnegative in (False, True):
        A = kernels.pursue(X @ D, D.T @ D, Forest.flat(3), 3, nonnegative=nonnegative)
        assert np.isfinite(A).all()
        np.testing.assert_allclose(A @ D.T, [[2, 0]], atol=1e-4)
        assert A[0, 2] == 0


@given(forests(), st.booleans(), st.booleans(), st.floats(1e-3, 4), st.integers(0, 99))
def test_codes_are_worth_their_price(forest: Forest, nonnegative: bool, alike: bool, price: float, seed: int) -> None:
    X, XD, DD = problem(forest, seed, rows=3, alike=alike)
    A = kernels.pursue(XD, DD, forest, len(forest), nonnegative=nonnegative, price=price)
    lowered = (A * (2 * XD - A @ DD)).sum(axis=1)  # |x|^2 - |x - D a|^2
    cost = price * kernels.nodes_on(A, forest)
    assert (lowered >= cost - 1e-4 * (X * X).sum(axis=1)).all()  # a ridge, and sweeps that end


def test_the_dearer_a_node_the_fewer_are_on() -> None:
    _, XD, DD = problem(FOREST, rows=200)
    prices = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0)
    counts = [int((kernels.pursue(XD, DD, FOREST, len(FOREST), price=price) != 0).sum()) for price in prices]
    assert counts == sorted(counts, reverse=True)
    assert len({*counts}) == len(counts)


def test_a_leaf_pays_for_the_root_that_comes_on_with_it() -> None:
    XD, forest = np.array([[1.0, 3.0]]), Forest([-1, 0])  # 10 for two nodes, 1 for the root alone
    on = [(kernels.pursue(XD, np.eye(2), forest, 2, price=price) != 0).tolist() for price in (0.9, 4.9, 5.1)]
    assert on == [[[True, True]], [[True, True]], [[False, False]]]


def test_a_way_that_promises_more_than_it_keeps_is_taken_back() -> None:
    D = np.array([[1.0, 1.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 1.0]])
    D /= np.linalg.norm(D, axis=0)
    x = np.array([[1.2, 0.3, 1.0]])  # root and leaf promise the same again: 2.9 of 1.5; then the root alone, the other
    A = kernels.pursue(x @ D, D.T @ D, Forest([-1, 0, -1]), 3, price=0.8)
    np.testing.assert_allclose(A, [[1.2, 0, 1]], atol=1e-5)


@every_implementation
def test_what_was_taken_back_is_tried_again_where_more_is_on(to: Any) -> None:
    x = np.array([[0.3, 1.9**0.5, 1.95**0.5]])  # the squares: 0.09, 1.9, 1.95
    D = np.eye(3)
    D[:, 1] = x[0] * (1, 1, 0) / np.linalg.norm(x[0, :2])
    # first root and leaf 1: less than 2. Then root and leaf 2: more than 2. Then leaf 1 alone: more than 1.
    A = kernels.pursue(to(x @ D), to(D.T @ D), Forest([-1, 0, 0]), 3, price=1.0)
    assert (kernels.on_host(A) != 0).all()


@every_implementation
def test_what_went_off_in_a_trial_is_on_again_after_it(to: Any) -> None:
    _, XD, DD = problem(FOREST, seed=28, rows=60, alike=True)  # there old nodes end at zero in trials that fail
    expected = plain.pursue(XD, DD, FOREST, len(FOREST), nonnegative=True, price=0.6)
    found = kernels.pursue(to(XD), to(DD), FOREST, len(FOREST), nonnegative=True, price=0.6)
    np.testing.assert_allclose(kernels.on_host(found), expected, atol=2e-4)  # sweeps that end, as above


@every_implementation
def test_nodes_are_on_that_are_not_zero_or_above_one_that_is_not(to: Any) -> None:
    A = np.array([[0.0, 0.0, 2.0, 0.0], [1.0, 0.0, 0.0, -1.0], [0.0, 0.0, 0.0, 0.0]])
    assert kernels.on_host(kernels.nodes_on(to(A), Forest([-1, 0, 1, -1]))).tolist() == [3, 2, 0]
