"""Nested atoms: the trees of rows in which many of them are on at once."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import wordforest as wf
from wordforest.coder.atoms import AtomStart, cuts, nested
from wordforest.coder.starts import Asked, Begun, NestedStart
from wordforest.errors import InputError
from wordforest.runtime.machine import Threads

TREES = wf.Forest.complete(10, (3,))


def superposed(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows (3000, 50) with three of ten trees on, each with one of its three leaves; true atoms (50, 40)."""
    rng = np.random.default_rng(seed)
    D = np.linalg.qr(rng.standard_normal((50, len(TREES))))[0]
    A = np.zeros((3000, len(TREES)))
    for root in TREES.roots:
        A[:, root] = (rng.random(3000) < 0.3) * rng.uniform(0.8, 1.2, 3000)
        A[np.arange(3000), root + rng.integers(1, 4, 3000)] = A[:, root]
    return A @ D.T, D


def edge_f1(begun: Begun, D: np.ndarray) -> float:
    """F1 of the edges, atoms being matched one to one to those of D."""
    cosines = begun.D.T @ D
    node = np.full(len(cosines), -1)
    mine, true = linear_sum_assignment(cosines, maximize=True)
    node[mine[cosines[mine, true] > 0.5]] = true[cosines[mine, true] > 0.5]
    children = np.flatnonzero(begun.forest.parent >= 0)
    ends = node[children], node[begun.forest.parent[children]]
    right = ((ends[0] >= 0) & (ends[1] >= 0) & (TREES.parent[ends[0]] == ends[1])).sum()
    return float(2 * right / (len(children) + (TREES.parent >= 0).sum()))


@pytest.mark.parametrize("seed", range(3))
def test_nested_atoms_find_trees_that_nested_rows_do_not(seed: int) -> None:
    X, D = superposed(seed)
    assert edge_f1(AtomStart()(X, TREES, Asked(seed=seed)), D) > 0.9
    assert edge_f1(NestedStart(drawn=True)(X, TREES, Asked(seed=seed)), D) < 0.5


def test_an_additive_forest_keeps_the_trees_it_starts_from() -> None:
    X, D = superposed(0)
    coder = wf.ForestCoder(forest=TREES, active=6, additive=True, center=True, init="atoms", n_jobs=1, random_state=0)
    coder.fit(X)
    assert edge_f1(Begun(coder.components_.T, coder.forest_), D) > 0.9
    assert len(coder.forest_) <= len(TREES)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_cuts_leave_least_squares_within_groups(n: int) -> None:
    values = np.random.default_rng(n).random(9)
    ordered = np.sort(values)

    def within(ends: tuple[int, ...]) -> float:
        return float(sum(part.var() * len(part) for part in np.split(ordered, ends)))

    best = min(combinations(range(1, 9), n - 1), key=within)
    np.testing.assert_allclose(cuts(values, n), [(ordered[i - 1] + ordered[i]) / 2 for i in best])


def test_cuts_make_no_more_groups_than_there_are_numbers() -> None:
    assert cuts(np.array([2.0, 2.0, 4.0]), 5) == [3.0]
    assert cuts(np.array([2.0]), 3) == []


def test_paths_are_nested_by_what_they_share() -> None:
    #    0      3
    #   1 2    4 5     the first two paths are one leaf, 1
    U = np.array([[2, 1, 0, 0, 0], [2, 1.01, 0, 0, 0], [2, 0, 1, 0, 0], [0, 0, 0, 2, 1], [0, 0, 0, 2, -1]])
    parent, means = nested(U, np.array([3, 1, 1, 1, 1]), levels=2)
    assert parent == [-1, 0, 0, -1, 3, 3]
    np.testing.assert_allclose(means[1], [2, 1.0025, 0, 0, 0])  # by use
    np.testing.assert_allclose(means[0], [2, 0.50125, 0.5, 0, 0])
    np.testing.assert_allclose(means[3], [0, 0, 0, 2, 0])


def test_there_are_no_more_nodes_than_asked_for() -> None:
    X = np.random.default_rng(3).standard_normal((400, 30))
    forest = wf.Forest.complete(2, (2, 2))
    begun = AtomStart()(X, forest, Asked(seed=1))
    assert 1 <= len(begun.forest) <= len(forest)
    assert begun.forest.depth.max() <= forest.depth.max()


def test_a_direction_that_needs_no_atom_gets_none() -> None:
    X, _ = superposed(1)
    mean = np.eye(50)[0]
    D = AtomStart()(X + 3 * mean, TREES, Asked(mean=mean)).D
    np.testing.assert_allclose(mean @ D, 0, atol=1e-6)


def test_rows_are_drawn_and_weighed() -> None:
    X, _ = superposed(2)
    few = AtomStart(n_rows=500)
    one, two = (few(X, TREES, Asked(seed=seed)).D for seed in (0, 1))
    assert one.shape != two.shape or not np.array_equal(one, two)
    weights = np.random.default_rng(0).random(len(X))
    weighed = AtomStart()(wf.coder.rows.as_rows(X, Threads(1)), TREES, Asked(weights=weights)).D
    plain = AtomStart()(X, TREES).D
    assert weighed.shape != plain.shape or not np.array_equal(weighed, plain)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InputError, match="only zeros"):
        AtomStart()(np.zeros((5, 4)), TREES)
    for wrong in ({"most": 0}, {"n_rows": 0}, {"epochs": 0}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            AtomStart(**wrong)
