"""A visit of a stored pair is Algorithm 1, and its prox the plain one."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.coder import plain
from tests.strategies import forests_with_rows
from wordforest.coder.forest import Forest
from wordforest.coder.kernels.entries import Rule, Visited, entry_type, prox_row, tree_of, visit
from wordforest.coder.penalties import ForestL2

FOREST = Forest.complete(2)
M = len(FOREST)


def visited_plainly(
    d: Any, a: Any, *, value: float, keep: float, mass: float, eta: float, lam: float, tau: float, pulls: Any
) -> tuple[Any, Any]:
    """One visit as in Algorithm 1: first d_c, then a_v with the new d_c, then the prox with threshold eta * lam."""
    d = d + 2 * eta * mass * (a * (value - keep * d @ a) - tau * d - pulls[0])
    a = a + 2 * eta * mass * (d * (value - keep * d @ a) - pulls[1])
    return d, plain.forest_prox(a[None], FOREST, eta * mass * lam)[0]


@pytest.mark.parametrize("by_mass", [False, True])
@pytest.mark.parametrize("with_pull", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 2e-6), (np.float64, 1e-12)])  # rounding of the type
def test_a_visit_is_algorithm_1(by_mass: bool, with_pull: bool, dtype: Any, tolerance: float) -> None:
    rng = np.random.default_rng(0)
    tree = walk(ForestL2(FOREST, 3.0), M, dtype)
    D, A, pull = (rng.standard_normal((3, M)).astype(dtype)[:, tree.columns] for _ in range(3))
    D, A, pull = map(np.ascontiguousarray, (D, A, pull))
    entries = np.array([(1, 2, 1.5, 0.75, 2.0, 0)], dtype=entry_type(dtype))
    none = np.empty((0, M), dtype=dtype)
    back = np.argsort(tree.columns)
    d, a = visited_plainly(
        D[2, back].astype(float),
        A[1, back].astype(float),
        value=1.5,
        keep=0.75,
        mass=2.0 if by_mass else 1.0,
        eta=0.05,
        lam=3.0,
        tau=0.2,
        pulls=(pull[2, back], pull[1, back]) if with_pull else (0, 0),
    )
    sides = [
        Visited(rows, np.full((3, 2), (0.05, charge), dtype=dtype), pull if with_pull else none)
        for rows, charge in ((A, 3.0), (D, 0.2))
    ]
    untouched = D[:2].copy(), A[[0, 2]].copy()
    assert visit(entries, np.zeros(1, np.int32), *sides, tree, Rule(by_mass, 1e3))
    np.testing.assert_allclose(D[2, back], d, atol=tolerance)
    np.testing.assert_allclose(A[1, back], a, atol=tolerance)
    np.testing.assert_array_equal(D[:2], untouched[0])
    np.testing.assert_array_equal(A[[0, 2]], untouched[1])


def walk(penalty: ForestL2, n: int, dtype: Any = np.float32) -> Any:
    """The tree of a penalty for codes that are not padded."""
    weights = np.ones(n) if penalty.weights is None else np.asarray(penalty.weights)
    tree = tree_of(penalty.forest, weights.astype(dtype), penalty.nonnegative)
    return tree._replace(leaf=tree.leaf[:, :n].copy())


def prox_rows(A: Any, tree: Any, threshold: float) -> Any:
    """The prox of a visit on every row; columns in the order of the forest go in and come out."""
    rows = np.ascontiguousarray(A[:, tree.columns])
    for v in range(len(A)):
        prox_row(rows, v, np.float32(threshold), *tree[1:], *np.empty((2, len(tree.weights)), dtype=A.dtype))
    return rows[:, np.argsort(tree.columns)]


@given(forests_with_rows(), st.floats(0, 5))
def test_the_prox_of_a_visit_is_the_plain_one(case: tuple[Forest, Any], threshold: float) -> None:
    forest, rows = case
    A = rows.astype(np.float32)
    expected = plain.forest_prox(A.astype(float), forest, threshold)
    tree = walk(ForestL2(forest, 1.0), len(forest))
    np.testing.assert_allclose(
        prox_rows(A, tree, threshold), expected, atol=1e-4
    )  # near a threshold the square root magnifies float32's rounding


def test_node_weights_reach_the_prox() -> None:
    weights = tuple(np.linspace(0.5, 2, M))
    tree = walk(ForestL2(FOREST, 1.0, weights=weights), M)
    A = np.random.default_rng(0).standard_normal((1, M)).astype(np.float32)
    expected = ForestL2(FOREST, 1.0, weights=weights).prox(A.astype(float), 0.3)
    np.testing.assert_allclose(prox_rows(A, tree, 0.3), expected, atol=1e-6)
