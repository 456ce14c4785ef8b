"""So many nodes on in a row on average: ``ForestCoder(mean_active=k)``."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import wordforest as wf
from wordforest.coder.rows.device import DenseDeviceRows

FOREST = wf.Forest.complete(12, (3,))
WAYS: dict[str, dict[str, Any]] = {
    "signed": {"init": "nested"},
    "scaled": {"init": "nested", "scale": True},
    "nonnegative": {"init": "nested", "nonnegative": True},
    "additive": {"init": "nested", "additive": True},
    "atoms": {"init": "atoms"},
    "additive-atoms": {"init": "atoms", "additive": True},
}
every_way = pytest.mark.parametrize("way", WAYS)


def rows(n: int = 1500, seed: int = 0) -> np.ndarray:
    """Rows of a planted forest: one tree is on in three of four rows, six in the others; 4.5 nodes on average."""
    rng = np.random.default_rng(seed)
    atoms = np.random.default_rng(1).standard_normal((48, 32)) / np.sqrt(32)
    X = 0.02 * rng.standard_normal((n, 32))
    for x in X:
        for tree in rng.permutation(12)[: rng.choice([1, 1, 1, 6])]:
            x += rng.uniform(1, 2) * (atoms[4 * tree] + atoms[4 * tree + rng.integers(1, 4)])
    return X


def coder(way: str = "signed", **more: Any) -> wf.ForestCoder:
    return wf.ForestCoder(forest=FOREST, **{"mean_active": 4.5, "center": True, "random_state": 0, **WAYS[way], **more})


@cache
def learned(way: str = "signed", *, center: bool = True) -> tuple[wf.ForestCoder, np.ndarray]:
    """A coder that has learned from ``rows()``, and their codes; for tests that only look at it."""
    ours = coder(way, center=center)
    return ours, ours.fit_transform(rows())


def on(A: np.ndarray) -> np.ndarray:
    return np.count_nonzero(A, axis=1)


@every_way
def test_so_many_nodes_are_on_on_average_in_old_rows_and_new(way: str) -> None:
    ours, A = learned(way)
    assert on(A).mean() == pytest.approx(4.5, rel=0.05)
    assert on(ours.transform(rows(seed=2))).mean() == pytest.approx(4.5, rel=0.1)
    assert on(A).max() <= 18  # four times as many


def test_the_price_is_that_of_the_last_dictionary() -> None:
    A = coder("signed", init="random", epochs=1).fit_transform(rows())  # which moved far from the first
    assert on(A).mean() == pytest.approx(4.5, rel=0.011)  # all rows are judges; a hundredth is near


@every_way
def test_more_is_explained_than_by_as_many_nodes_in_every_row(way: str) -> None:
    new = rows(seed=2)
    bounded = coder(way, mean_active=None, active=5).fit(rows())
    assert on(bounded.transform(new)).mean() > 4.5
    left = [1 - one.score(new) for one in (learned(way)[0], bounded)]
    assert left[0] < 0.5 * left[1]


def test_rows_with_more_in_them_have_more_nodes_on() -> None:
    _, A = learned()
    long = np.linalg.norm(rows(), axis=1) > 3  # six trees
    assert 0.1 < long.mean() < 0.4
    assert on(A)[long].mean() > 3 * on(A)[~long].mean()


@pytest.mark.parametrize("way", [way for way in WAYS if way != "nonnegative"])  # there a parent may be held at zero
def test_no_node_is_on_under_one_that_is_off(way: str) -> None:
    ours, A = learned(way)
    parent = ours.forest_.parent
    children = np.flatnonzero(parent >= 0)
    assert not ((A[:, children] != 0) & (A[:, parent[children]] == 0)).any()


@every_way
def test_any_number_of_jobs_gives_the_same_bits(way: str) -> None:
    one, two = (coder(way, n_jobs=n, epochs=3).fit(rows(800)) for n in (1, 2))
    np.testing.assert_array_equal(one.components_, two.components_)
    assert one.price_ == two.price_ > 0


def test_the_fewer_nodes_the_higher_their_price() -> None:
    prices = [coder(mean_active=k, epochs=3).fit(rows(600)).price_ for k in (1.5, 3, 6, 12)]
    assert prices == sorted(prices, reverse=True)


def test_new_rows_are_coded_at_the_price_of_the_old_ones() -> None:
    X, (ours, _) = rows(), learned(center=False)
    bound = wf.coder.MostActive(ours.forest_, 18, price=ours.price_)
    expected = wf.coder.encode(X[:5], ours.components_.T, bound).A
    np.testing.assert_array_equal(ours.transform(X[:5]), expected)


def test_the_objective_has_the_price_of_every_node_in_it() -> None:
    X, (ours, A) = rows(), learned(center=False)
    loss = ((X - A @ ours.components_) ** 2).sum()
    assert ours.objective_ == pytest.approx(loss + ours.price_ * np.count_nonzero(A))
    assert ours.lam_ == ours.price_


def test_sparse_rows_have_the_codes_of_dense_ones() -> None:
    X = rows(600) * (np.random.default_rng(0).random((600, 32)) < 0.5)
    dense, held = (coder("signed", center=False, epochs=3).fit(one) for one in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(held.components_, dense.components_, atol=1e-8)
    assert held.price_ == pytest.approx(dense.price_)


def test_a_row_of_weight_two_counts_like_two_rows() -> None:
    X, weights = rows(300), np.random.default_rng(0).integers(0, 3, 300)
    weighted = coder("signed", init="random", center=False, epochs=1).fit(X, sample_weight=weights)
    repeated = coder("signed", init="random", center=False, epochs=1).fit(np.repeat(X, weights, axis=0))
    assert weighted.price_ == pytest.approx(repeated.price_, rel=1e-6)


def test_tensors_have_the_codes_of_arrays() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    ours, _ = learned(center=False)
    bound, X = wf.coder.MostActive(ours.forest_, 18, price=ours.price_), rows(200, seed=3)
    D = ours.components_.T
    found = wf.coder.encode(DenseDeviceRows(torch.from_numpy(X)), torch.from_numpy(D.copy()), bound).A
    np.testing.assert_allclose(found.numpy(), wf.coder.encode(X, D, bound).A, atol=1e-5)


def test_a_block_of_zeros_leaves_the_price_as_it_is() -> None:
    ours = coder("signed", center=False).partial_fit(rows(600))
    price = ours.price_
    assert ours.partial_fit(np.zeros((50, 32))).price_ == price > 0


def test_trees_to_read_have_a_price_in_place_of_lam() -> None:
    ours = wf.ForestCoder.readable(trees=4, branching=(3,), mean_active=3, random_state=0).fit(rows(600))
    assert ours.lam_ == ours.price_ > 0


def test_rows_of_zeros_have_no_node_on() -> None:
    with pytest.warns(UserWarning, match="all codes are zero"):
        ours = coder("signed", init="random").fit(np.zeros((20, 5)))
    assert ours.price_ == 0
    assert not ours.transform(np.zeros((3, 5))).any()


def test_a_number_that_cannot_be_reached_is_told() -> None:
    X = np.repeat(np.eye(3), 20, axis=0)
    with pytest.warns(UserWarning, match="nodes are on in a row, on average, not mean_active = 9"):
        wf.ForestCoder(forest=wf.Forest.flat(12), mean_active=9, init="rows", random_state=0).fit(X)


def test_a_clone_has_the_same_settings_and_learns_the_same() -> None:
    ours = coder(epochs=2)
    again = clone(ours)
    assert again.get_params()["mean_active"] == 4.5
    np.testing.assert_array_equal(again.fit_transform(rows(300)), ours.fit_transform(rows(300)))


def test_scikit_learns_own_checks_pass() -> None:
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks fit far too few rows on purpose
        results = check_estimator(wf.ForestCoder(trees=1, mean_active=2.5, random_state=0), on_fail=None)
    assert [r["check_name"] for r in results if r["status"] not in ("passed", "skipped")] == []
