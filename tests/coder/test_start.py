"""Where learning begins and what becomes of the shape: nested clusters, starts, forests pruned and put in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from threadpoolctl import threadpool_limits
from wordforest.coder.start import NestedStart, RandomStart, RowStart, Start, directions

from tests.strategies import forests, weighted_forests_with_rows
from wordforest.coder import start
from wordforest.coder.clusters import grow, nest
from wordforest.coder.forest import Forest
from wordforest.coder.online import OnlineSettings, learn_online
from wordforest.coder.penalties import ForestL2, depth_weights
from wordforest.coder.shape import by_strength, pruned
from wordforest.errors import InputError
from wordforest.runtime.threads import Threads

STARTS = [RandomStart(), RowStart(), NestedStart(), NestedStart(drawn=True), NestedStart(grow=True, most_children=2)]
SHAPES = [(1, 1), (1, 60), (60, 1), (2, 3), (5, 100), (100, 5)]


def matrix(V: int = 200, C: int = 90, seed: int = 0, *, signed: bool = False, dtype: Any = np.float64) -> np.ndarray:
    """A matrix with a few strong directions, every tenth row empty."""
    rng = np.random.default_rng(seed)
    X = abs(rng.standard_normal((V, 6))) @ abs(rng.standard_normal((6, C))) * (rng.random((V, C)) < 0.3)
    X[5::10] = 0
    return np.asarray(X * rng.choice((-1, 1), (V, C)) if signed else X).astype(dtype)


def begin(how: Start, X: Any, forest: Forest | None = None, *, nonnegative: bool = False, seed: int = 0) -> start.Begun:
    return how(X, forest or Forest.complete(2), nonnegative=nonnegative, seed=seed, executor=Threads(1))


def shared_out(whole: np.ndarray, parts: list[np.ndarray]) -> bool:
    """Say whether every point is in exactly one of the parts."""
    return np.sort(np.concatenate(parts)).tolist() == np.sort(whole).tolist()


def check_nested(forest: Forest, members: list[np.ndarray], n: int) -> None:
    assert len(members) == len(forest)
    assert shared_out(np.arange(n), [members[root] for root in forest.roots])
    for node in range(len(forest)):
        if children := forest.children(node):
            assert shared_out(members[node], [members[child] for child in children])


points = st.integers(1, 25).flatmap(
    lambda n: hnp.arrays(np.float64, (n, 2), elements=st.integers(-3, 3).map(float))  # on a grid: many are equal
)


@settings(max_examples=25)
@given(points, forests(8), st.integers(0, 3))
def test_children_share_out_the_points_of_their_parent(Z: np.ndarray, forest: Forest, seed: int) -> None:
    check_nested(forest, nest(Z, forest, seed), len(Z))


def test_nested_clusters_are_found_at_every_depth() -> None:
    rng = np.random.default_rng(0)
    label = rng.permutation(np.repeat(np.arange(12), 9))  # 2 trees, 2 children each, 3 leaves each
    corner = np.array([[100 * (i // 6), 10 * (i // 3 % 2), i % 3] for i in range(12)], dtype=float)
    members = nest(corner[label] + 0.05 * rng.standard_normal((108, 3)), Forest.complete(2, (2, 3)), 0)
    assert [len(set(label[part])) for part in members] == [6, 3, 1, 1, 1, 3, 1, 1, 1] * 2


def test_too_few_points_leave_clusters_without_any() -> None:
    members = nest(np.array([[0.0], [5.0]]), Forest.complete(3, (2,)), 0)
    assert [len(part) for part in members] == [1, 1, 0, 1, 1, 0, 0, 0, 0]


def test_equal_points_stay_together() -> None:
    members = nest(np.repeat([[0.0], [7.0]], 10, axis=0), Forest.flat(4), 0)
    assert [len(part) for part in members] == [10, 10, 0, 0]


def test_points_equal_but_for_rounding_are_clustered_without_a_warning() -> None:
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((3, 4))[rng.integers(0, 3, 200)] + 1e-12 * rng.standard_normal((200, 4))
    check_nested(Forest.flat(20), nest(Z, Forest.flat(20), 0), 200)


def grown(Z: np.ndarray, **changes: Any) -> tuple[Forest, list[np.ndarray]]:
    return grow(Z, **{"trees": 2, "n_nodes": 9, "most_children": 4, "least_rows": 2, "seed": 0, **changes})


@settings(max_examples=30)
@given(points, st.integers(1, 4), st.integers(0, 10), st.integers(1, 4), st.integers(2, 4))
def test_grown_forests_keep_to_their_limits(Z: np.ndarray, trees: int, more: int, least: int, most: int) -> None:
    forest, members = grown(Z, trees=trees, n_nodes=trees + more, least_rows=least, most_children=most)
    check_nested(forest, members, len(Z))
    assert len(forest) <= trees + more
    assert len(forest.roots) == min(trees, len(np.unique(Z, axis=0)))
    assert all(len(forest.children(node)) in (0, *range(2, most + 1)) for node in range(len(forest)))
    assert all(len(members[node]) >= least for node in np.flatnonzero(forest.parent >= 0))
    sizes = [len(members[root]) for root in forest.roots]
    assert sizes == sorted(sizes, reverse=True)


def unequal() -> tuple[np.ndarray, np.ndarray]:
    """Points of a cluster without parts, and of one with two, the second of which has two again: 15, 25, 15, 20."""
    corner = np.array([[0, 0, 0], [100, 0, 0], [100, 30, 0], [100, 30, 8]], dtype=float)
    label = np.repeat([0, 1, 2, 3], [15, 25, 15, 20])
    return corner[label] + 0.01 * np.random.default_rng(0).standard_normal((75, 3)), label


def test_a_forest_grows_where_the_points_have_parts() -> None:
    Z, label = unequal()
    forest, members = grown(Z, n_nodes=6)
    assert forest.parent.tolist() == [-1, 0, 1, 1, 0, -1]
    assert [sorted(set(label[part].tolist())) for part in members] == [[1, 2, 3], [2, 3], [3], [2], [1], [0]]


@pytest.mark.parametrize(("least_rows", "n_nodes"), [(15, 6), (16, 4), (26, 2)])
def test_no_part_gets_smaller_than_the_least_number_of_points(least_rows: int, n_nodes: int) -> None:
    forest, members = grown(unequal()[0], n_nodes=50, least_rows=least_rows)
    assert len(forest) == n_nodes
    assert all(len(members[node]) >= least_rows for node in np.flatnonzero(forest.parent >= 0))


def test_growing_ends_where_no_node_is_left() -> None:
    Z = np.random.default_rng(0).standard_normal((300, 3))
    forest, _ = grown(Z, trees=3, n_nodes=20, most_children=2)
    assert 19 <= len(forest) <= 20  # a split into two needs two nodes


def test_equal_points_are_never_split() -> None:
    assert len(grown(np.ones((40, 3)), trees=1)[0]) == 1


def test_one_point_is_one_tree() -> None:
    forest, members = grown(np.ones((1, 3)), trees=4)
    assert (len(forest), members[0].tolist()) == (1, [0])


def test_clusters_depend_on_the_seed_alone() -> None:
    Z = np.random.default_rng(0).standard_normal((120, 5))
    np.random.seed(1)  # noqa: NPY002 what the caller does must not matter
    forest, members = grown(Z, n_nodes=20)
    np.random.seed(2)  # noqa: NPY002
    with threadpool_limits(1):
        again, same = grown(Z, n_nodes=20)
    assert again == forest
    assert all(np.array_equal(a, b) for a, b in zip(members, same, strict=True))
    other = grown(Z, n_nodes=20, seed=1)[1]
    assert any(not np.array_equal(a, b) for a, b in zip(members, other, strict=False))


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


@pytest.mark.parametrize("how", STARTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_a_start_gives_an_atom_of_length_one_for_every_node(
    how: Start, dtype: Any, form: Any, nonnegative: bool
) -> None:
    X = matrix(signed=not nonnegative, dtype=dtype)
    begun = begin(how, form(X), nonnegative=nonnegative)
    assert begun.D.shape == (90, len(begun.forest))
    np.testing.assert_allclose(np.linalg.norm(begun.D, axis=0), 1, atol=1e-5)  # float32
    assert begun.D.min() >= 0 if nonnegative else begun.D.min() < 0
    assert isinstance(how, RandomStart) or begun.D.dtype == dtype


@pytest.mark.parametrize("how", STARTS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_tiny_matrices_have_a_start(how: Start, shape: tuple[int, int], form: Any) -> None:
    begun = begin(how, form(abs(np.random.default_rng(0).standard_normal(shape))), nonnegative=True)
    assert begun.D.shape == (shape[1], len(begun.forest))
    assert begun.D.min() >= 0
    np.testing.assert_allclose(np.linalg.norm(begun.D, axis=0), 1, atol=1e-5)


@pytest.mark.parametrize("how", STARTS[1:])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_data_without_positive_values_still_give_non_negative_atoms(how: Start, form: Any) -> None:
    begun = begin(how, form(-abs(np.random.default_rng(0).standard_normal((60, 10)))), nonnegative=True)
    assert begun.D.min() >= 0
    np.testing.assert_allclose(np.linalg.norm(begun.D, axis=0), 1, atol=1e-5)


@pytest.mark.parametrize("how", STARTS)
def test_the_bits_of_a_start_depend_on_the_seed_alone(how: Start) -> None:
    X, forest = sparse.csr_array(matrix(V=1100, C=200, dtype=np.float32)), Forest.complete(2)
    one, *others = (how(X, forest, seed=3, executor=Threads(n)).D for n in (1, 2))
    for blas in (1, 2):
        with threadpool_limits(blas):
            others.append(how(X, forest, seed=3).D)
    assert all(np.array_equal(one, other) for other in others)
    other = how(X, forest, seed=4).D
    assert other.shape != one.shape or not np.array_equal(one, other)


@pytest.mark.parametrize("how", STARTS)
def test_the_data_stay_as_they_are(how: Start) -> None:
    X = matrix()
    begin(how, X, nonnegative=True)
    np.testing.assert_array_equal(X, matrix())


def test_rows_are_drawn_without_repeats_and_without_empty_ones() -> None:
    X = matrix()
    D = begin(RowStart(), X, Forest.complete(4)).D
    match = D.T @ (X / np.maximum(1e-9, np.linalg.norm(X, axis=1))[:, None]).T  # (M, V)
    np.testing.assert_allclose(match.max(1), 1, atol=1e-12)
    assert len(set(match.argmax(1))) == 52


def nested_atoms(unit: np.ndarray, members: list[np.ndarray], forest: Forest, *, nonnegative: bool) -> np.ndarray:
    """The definition: means of rows of length one, a child's without what its parent's has."""
    means = np.array([unit[part].mean(0) for part in members]).T  # (C, M)
    D = means.copy()
    for node, above in enumerate(forest.parent):
        if above >= 0:
            D[:, node] -= means[:, above] * (means[:, above] @ means[:, node]) / (means[:, above] @ means[:, above])
    D = np.maximum(D, 0) if nonnegative else D
    return np.asarray(D / np.linalg.norm(D, axis=0))


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_nested_atoms_equal_the_definition(nonnegative: bool, dtype: Any, tolerance: float, form: Any) -> None:
    dense, members = matrix(V=300, dtype=dtype), []
    filled = np.flatnonzero(dense.any(axis=1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(start.clusters, "nest", lambda *args, **more: members.extend(nest(*args, **more)) or members)
        found = begin(NestedStart(), form(dense), FOREST, nonnegative=nonnegative).D
    assert min(map(len, members)) > 1  # else an atom may be a drawn row
    unit = dense[filled] / np.linalg.norm(dense[filled], axis=1)[:, None]
    np.testing.assert_allclose(found, nested_atoms(unit, members, FOREST, nonnegative=nonnegative), atol=tolerance)


def test_a_child_is_at_a_right_angle_to_its_parents_mean() -> None:
    X, forest = matrix(V=300), Forest.complete(2, (3,))  # roots are means, so their atoms point where the means do
    D = begin(NestedStart(), X, forest).D
    for root in forest.roots:
        np.testing.assert_allclose(D[:, root] @ D[:, forest.children(int(root))], 0, atol=1e-12)


def test_only_the_first_rows_are_clustered() -> None:
    X = np.zeros((100, 40))
    X[:50, :20] = matrix(50, 20) + 0.1
    X[50:, 20:] = matrix(50, 20, seed=1) + 0.1
    assert not begin(NestedStart(n_rows=50), X).D[20:].any()
    assert begin(NestedStart(n_rows=50, drawn=True), X).D[20:].any()


def test_directions_have_length_one_and_empty_rows_none() -> None:
    lengths = np.linalg.norm(directions(matrix(), 0, Threads(1)), axis=1)
    np.testing.assert_allclose(lengths, (np.arange(200) % 10 != 5).astype(float), atol=1e-12)


def test_a_matrix_of_zeros_is_refused() -> None:
    with pytest.raises(InputError, match="nothing to cluster"):
        begin(NestedStart(), np.zeros((5, 4)))


@pytest.mark.parametrize("wrong", [{"n_rows": 0}, {"most_children": 1}, {"least_rows": 0}])
def test_limits_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        NestedStart(**wrong)


TOPICS = Forest.complete(3, (3,))


def planted(seed: int, noise: float = 0.05) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Words of nine leaf topics in three trees: each uses its leaf's contexts and its root's. X, atoms, leaves."""
    rng = np.random.default_rng(seed)
    D = np.kron(np.eye(12), np.ones((12, 1))) * rng.uniform(0.5, 1.5, (144, 12))
    leaf = rng.permutation(np.repeat(np.flatnonzero(TOPICS.parent >= 0), 30))
    A = np.zeros((270, 12))
    for topic in (leaf, TOPICS.parent[leaf]):
        A[np.arange(270), topic] = rng.uniform(0.7, 1.3, 270)
    X = A @ D.T * (rng.random((270, 144)) < 0.7) + noise * abs(rng.standard_normal((270, 144)))
    return X, D / np.linalg.norm(D, axis=0), leaf


def related(D: np.ndarray, planted_atoms: np.ndarray) -> float:
    """Share of children whose topic belongs below the topic of their parent, each atom named by its nearest topic."""
    topic = (planted_atoms.T @ D).argmax(0)
    children = np.flatnonzero(TOPICS.parent >= 0)
    return float(np.mean(TOPICS.parent[topic[children]] == topic[TOPICS.parent[children]]))


@pytest.mark.parametrize("seed", range(3))
def test_a_nested_start_finds_a_planted_tree_of_topics(seed: int) -> None:
    X, D, _ = planted(seed)
    assert related(begin(NestedStart(), X, TOPICS, nonnegative=True, seed=seed).D, D) == 1


def learned_from(X: np.ndarray, D: np.ndarray, seed: int) -> np.ndarray:
    penalty = ForestL2(TOPICS, 0.8, depth_weights(TOPICS, (0.5, 0.8)), nonnegative=True)
    settings = OnlineSettings(tol=5e-4, seed=seed, nonnegative=True, revive=False)
    return learn_online(X, penalty, len(TOPICS), settings, start=D, executor=Threads(1)).D


@pytest.mark.parametrize("seed", range(3))
def test_learning_keeps_the_relations_of_a_nested_start_and_makes_none_from_a_random_one(seed: int) -> None:
    X, D, leaf = planted(seed)
    mean = {int(n): X[np.isin(leaf, [n, *TOPICS.children(int(n))])].mean(0) for n in range(12)}
    nested = np.array([
        np.maximum(0, mean[n] - mean[p] * (mean[n] @ mean[p]) / (mean[p] @ mean[p])) if p >= 0 else mean[n]
        for n, p in enumerate(TOPICS.parent.tolist())
    ]).T  # fmt: skip
    kept = learned_from(X, nested / np.linalg.norm(nested, axis=0), seed)
    made = learned_from(X, begin(RandomStart(), X, TOPICS, nonnegative=True, seed=seed).D, seed)
    assert related(kept, D) == 1
    assert related(made, D) < 0.7
