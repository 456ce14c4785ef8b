"""Nested clusters: children share out what their parent has, and trees grow where the points have parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from threadpoolctl import threadpool_limits

from tests.strategies import forests
from wordforest.coder import clusters
from wordforest.coder.clusters import Points, grow
from wordforest.coder.forest import Forest
from wordforest.runtime.machine import Threads


def shared_out(whole: np.ndarray, parts: list[np.ndarray]) -> bool:
    """Say whether every point is in exactly one of the parts."""
    return np.sort(np.concatenate(parts)).tolist() == np.sort(whole).tolist()


def check_nested(forest: Forest, members: list[np.ndarray], n: int) -> None:
    assert len(members) == len(forest)
    assert shared_out(np.arange(n), [members[root] for root in forest.roots])
    for node in range(len(forest)):
        if children := forest.children(node):
            assert shared_out(members[node], [members[child] for child in children])


def nest(Z: np.ndarray, forest: Forest, seed: int) -> list[np.ndarray]:
    return clusters.nest(Points([Z], seed=seed), forest)


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
    seed, keys = changes.pop("seed", 0), changes.pop("keys", None)
    cloud = Points([Z], seed=seed, keys=keys, executor=Threads(changes.pop("workers", 1)))
    return grow(cloud, **{"trees": 2, "n_nodes": 9, "most_children": 4, "least_rows": 2, **changes})


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


def test_clusters_depend_on_neither_threads_nor_other_random_numbers() -> None:
    Z = np.random.default_rng(0).standard_normal((120, 5))
    np.random.seed(1)  # noqa: NPY002 what the caller does must not matter
    forest, members = grown(Z, n_nodes=20)
    np.random.seed(2)  # noqa: NPY002
    with threadpool_limits(1):
        again, same = grown(Z, n_nodes=20, workers=2)
    assert again == forest
    assert all(np.array_equal(a, b) for a, b in zip(members, same, strict=True))


def test_a_points_noise_belongs_to_its_key_and_not_to_its_place() -> None:
    rng = np.random.default_rng(0)
    Z, keys = rng.standard_normal((60, 3)), rng.integers(1, 2**63, 60, dtype=np.uint64)
    order = rng.permutation(60)
    one = grown(Z, n_nodes=20, keys=keys)
    other = grown(Z[order], n_nodes=20, keys=keys[order])
    assert one[0] == other[0]
    for here, there in zip(one[1], other[1], strict=True):
        assert set(keys[here]) == set(keys[order][there])


def test_cuts_are_about_as_good_as_any_of_many_runs_of_another_k_means() -> None:
    from sklearn.cluster import KMeans

    rng = np.random.default_rng(0)
    Z, weights = rng.standard_normal((400, 4)), rng.uniform(0.5, 2, 400)
    spread, parts = Points([Z], weights).cut([np.arange(400)], [7], 0)[0]
    centres = [np.average(Z[part], axis=0, weights=weights[part]) for part in parts]
    measured = sum(weights[part] @ ((Z[part] - c) ** 2).sum(1) for part, c in zip(parts, centres, strict=True))
    assert spread == pytest.approx(measured)
    assert spread <= 1.01 * KMeans(7, n_init=100, random_state=0).fit(Z, sample_weight=weights).inertia_


def test_every_depth_is_cut_in_its_own_space() -> None:
    rng = np.random.default_rng(0)
    coarse, fine = rng.permutation(np.repeat([0, 1], 40)), rng.permutation(np.repeat([0, 1], 40))
    spaces = [np.eye(2)[coarse], np.eye(2)[fine]]
    members = clusters.nest(Points(spaces), Forest.complete(2, (2,)))
    assert all(len(set(coarse[members[root]])) == 1 for root in (0, 3))
    assert all(len(set(fine[members[leaf]])) == 1 for leaf in (1, 2, 4, 5))
