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
from wordforest.coder.forest import Forest

FOREST = Forest.complete(3, (2, 2))


def problem(forest: Forest, seed: int = 0, rows: int = 30) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((40, len(forest)))
    D /= np.linalg.norm(D, axis=0)
    X = rng.standard_normal((rows, 40))
    X[0] = 0
    return X, X @ D, D.T @ D


@every_implementation
@every_dtype
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("most", [1, 4, 9])
def test_codes_are_those_of_the_definition(to: Any, dtype: Any, nonnegative: bool, most: int) -> None:
    _, XD, DD = problem(FOREST)
    expected = plain.pursue(XD, DD, FOREST, most, nonnegative)
    found = kernels.pursue(to(XD.astype(dtype)), to(DD.astype(dtype)), FOREST, most, nonnegative=nonnegative)
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


def test_atoms_that_are_equal_or_zero_do_no_harm() -> None:
    D = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    X = np.array([[2.0, 1.0]])
    for nonnegative in (False, True):
        A = kernels.pursue(X @ D, D.T @ D, Forest.flat(3), 3, nonnegative=nonnegative)
        assert np.isfinite(A).all()
        np.testing.assert_allclose(A @ D.T, [[2, 0]], atol=1e-4)
        assert A[0, 2] == 0
