"""What becomes of the shape of a forest: pruned, and put in order of strength."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.strategies import forests, weighted_forests_with_rows
from wordforest.coder.forest import Forest, by_strength, pruned
from wordforest.coder.penalties import ForestL2

#      0        5
#    1   4     6 7
#   2 3
FOREST = Forest([-1, 0, 1, 1, 0, -1, 5, 5])


def test_unused_nodes_go_and_those_above_used_ones_stay() -> None:
    forest, columns = pruned(FOREST, np.array([9, 0, 0, 2, 0, 0, 0, 0]))
    assert columns.tolist() == [0, 1, 3]
    assert forest.parent.tolist() == [-1, 0, 1]


def test_a_tree_loses_a_branch_and_its_numbers_close_up() -> None:
    forest, columns = pruned(FOREST, np.array([1, 0, 0, 0, 1, 1, 0, 1]))
    assert columns.tolist() == [0, 4, 5, 7]
    assert forest.parent.tolist() == [-1, 0, -1, 2]


def test_one_node_stays_where_nothing_is_used() -> None:
    forest, columns = pruned(FOREST, np.zeros(8))
    assert (columns.tolist(), forest.parent.tolist()) == ([0], [-1])


def test_the_strongest_trees_and_branches_come_first() -> None:
    forest, columns = by_strength(FOREST, np.array([1.0, 0, 2, 3, 1, 0, 4, 4]))  # trees 7 and 8, branches 5 and 1
    assert columns.tolist() == [5, 6, 7, 0, 1, 3, 2, 4]
    assert forest.parent.tolist() == [-1, 0, 0, -1, 3, 4, 4, 3]


def test_equals_keep_their_order() -> None:
    assert by_strength(FOREST, np.zeros(8))[1].tolist() == list(range(8))


@given(st.data(), forests())
def test_pruning_keeps_ancestors_and_nothing_unused(data: st.DataObject, forest: Forest) -> None:
    uses = data.draw(hnp.arrays(np.int64, len(forest), elements=st.integers(0, 2)))
    smaller, columns = pruned(forest, uses)
    needed = {0} if not uses.any() else set()
    for node in np.flatnonzero(uses):
        while node >= 0:
            needed.add(int(node))
            node = forest.parent[node]
    assert columns.tolist() == sorted(needed)
    for new, old in enumerate(columns):
        above = smaller.parent[new]
        assert (columns[above] if above >= 0 else -1) == forest.parent[old]


@given(weighted_forests_with_rows())
def test_order_changes_neither_relations_nor_the_penalty(case: tuple[Forest, np.ndarray, np.ndarray]) -> None:
    forest, A, weights = case
    ordered, columns = by_strength(forest, (A**2).sum(0))
    assert sorted(columns.tolist()) == list(range(len(forest)))
    assert [columns[p] if p >= 0 else -1 for p in ordered.parent] == forest.parent[columns].tolist()
    moved = ForestL2(ordered, 0.7, weights[columns]).per_word(A[:, columns])
    np.testing.assert_allclose(moved, ForestL2(forest, 0.7, weights).per_word(A), rtol=1e-12)


@given(weighted_forests_with_rows())
def test_trees_and_siblings_fall_in_strength(case: tuple[Forest, np.ndarray, np.ndarray]) -> None:
    forest, A, _ = case
    ordered, columns = by_strength(forest, abs(A).sum(0))
    worth = [abs(A[:, columns[i:end]]).sum() for i, end in enumerate(ordered.end)]
    for siblings in [ordered.roots, *map(ordered.children, range(len(ordered)))]:
        falling = [worth[node] for node in siblings]
        assert (np.diff(falling) <= 1e-9).all()  # sums of floats in another order
