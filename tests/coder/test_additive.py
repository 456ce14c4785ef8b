"""The additive forest: codes against a plain reference, its map, mean and lam, and what it is for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import nnls

import wordforest as wf
from tests.coder.shared import WITHOUT_CLUSTER, Home
from tests.strategies import forests
from wordforest.coder.additive import (
    Additive,
    AdditiveSettings,
    activations,
    ancestors,
    encode_additive,
    mean_direction,
    own_parts,
)
from wordforest.coder.coding import Gram, admm, coordinate_descent
from wordforest.coder.fit import Fitted, Plan, fit
from wordforest.coder.forest import Forest, matched_nodes
from wordforest.coder.kernels import on_host
from wordforest.coder.learn import learn
from wordforest.coder.penalties import L1, NonNegativeL1
from wordforest.coder.rows import as_rows
from wordforest.coder.stability import node_stability
from wordforest.coder.starts import NestedStart
from wordforest.errors import InputError
from wordforest.runtime.machine import Threads

FOREST = Forest.complete(2, (2, 2))


def topics(V: int = 400, C: int = 60, seed: int = 0, dtype: Any = np.float64) -> sparse.csr_array:
    """Rows of a planted forest of 2 trees: contexts of a root, of a child and of a leaf, and some that all have."""
    rng = np.random.default_rng(seed)
    leaf = rng.integers(0, 8, V)
    X = np.zeros((V, C))
    for v, k in enumerate(leaf):
        X[v, 4 * (k // 4) : 4 * (k // 4) + 4] = 1
        X[v, 8 + 3 * (k // 2) : 8 + 3 * (k // 2) + 3] = 1
        X[v, 20 + 3 * k : 20 + 3 * k + 3] = 1
    X[:, 44:] = 0.5
    return sparse.csr_array((X * rng.uniform(0.5, 1.5, X.shape) * rng.uniform(0.5, 3, (V, 1))).astype(dtype))


def fitted(X: Any, *, forest: Forest = FOREST, start: Any = None, **changes: Any) -> Fitted:
    plan = {"auto_lam": True, "density": 0.3, "nonnegative": True, "start": start or NestedStart(), "additive": True}
    lam = changes.pop("lam", None)
    if lam is not None:
        plan["auto_lam"] = False
    return fit(as_rows(X, Threads(1)), Plan(forest, lambda _: NonNegativeL1(lam or 1.0), **{**plan, **changes}))


@settings(max_examples=40)
@given(forests(12), st.integers(0, 99))
def test_a_parent_has_what_its_children_have_and_the_map_has_an_inverse(forest: Forest, seed: int) -> None:
    Z = np.random.default_rng(seed).random((5, len(forest)))
    A = activations(Z, forest)
    for node in range(len(forest)):
        np.testing.assert_allclose(A[:, node], Z[:, node] + A[:, forest.children(node)].sum(1))
    np.testing.assert_array_equal(ancestors(forest) @ own_parts(forest), np.eye(len(forest)))
    np.testing.assert_allclose(Z.sum(1), A[:, forest.roots].sum(1))  # the penalty is one on the roots


def best(x: np.ndarray, D: np.ndarray, mean: np.ndarray, forest: Forest, lam: float) -> np.ndarray:
    """The definition, by another solver: min over b and z >= 0 of |x - b m - D T'z|^2 + lam sum(z), as one NNLS.

    b = p - q with p, q >= 0; lam sum(z) is |sqrt(lam) ... |^2 up to a constant, by completing the square.
    """
    W = np.column_stack([D @ ancestors(forest).T, mean, -mean])
    linear = np.concatenate([np.full(len(forest), lam / 2), [0, 0]])
    gram = W.T @ W + 1e-13 * np.eye(W.shape[1])
    root = np.linalg.cholesky(gram)
    return nnls(root.T, np.linalg.solve(root, W.T @ x - linear), maxiter=10_000)[0][: len(forest)]


@pytest.mark.parametrize("home", WITHOUT_CLUSTER)
def test_codes_are_those_of_the_definition_wherever_x_is(home: Home) -> None:
    rng = np.random.default_rng(0)
    X = topics(20)
    mean, D = abs(rng.random(60)), rng.random((60, len(FOREST))) * (rng.random((60, len(FOREST))) < 0.4)
    mean /= np.linalg.norm(mean)
    apart = D - np.outer(mean, mean @ D)
    A = on_host(encode_additive(home.put(X, Threads(1)), apart, FOREST, 0.1).A)
    for x, a in zip(X.toarray(), A, strict=True):
        length = np.linalg.norm(x)
        expected = activations(best(x / length, D, mean, FOREST, 0.1)[None], FOREST)[0] * length
        np.testing.assert_allclose(a, expected, atol=1e-4 * length)


def test_coordinate_descent_finds_what_admm_finds() -> None:
    rng = np.random.default_rng(1)
    D, X = rng.standard_normal((40, 12)), rng.standard_normal((30, 40))
    gram, penalty = Gram(D.T @ D), NonNegativeL1(3.0)
    ours = coordinate_descent(X @ D, gram, penalty, tol=1e-12)
    assert ours.converged
    np.testing.assert_allclose(ours.A, admm(X @ D, gram, penalty, tol=1e-12, max_iter=5000).A, atol=1e-8)
    warm = coordinate_descent(X @ D, gram, penalty, start=ours.A, tol=1e-9)
    assert warm.n_iter == 1
    with pytest.raises(InputError, match="solves NonNegativeL1, not L1"):
        coordinate_descent(X @ D, gram, L1(1.0))


def test_the_mean_of_all_rows_has_length_one() -> None:
    X, weights = topics().toarray(), np.random.default_rng(0).random(400)
    unit = X / np.linalg.norm(X, axis=1)[:, None]
    mean = weights @ unit
    np.testing.assert_allclose(mean_direction(as_rows(X), weights), mean / np.linalg.norm(mean))
    assert not mean_direction(as_rows(np.zeros((3, 4)))).any()


@pytest.mark.parametrize("grow", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_node_is_on_under_a_parent_that_is_off(dtype: Any, grow: bool) -> None:
    found = fitted(topics(dtype=dtype), start=NestedStart(grow=grow))
    on, forest = found.A > 0, found.forest
    children = np.flatnonzero(forest.parent >= 0)
    assert found.A.min() == 0
    assert on[:, children].any()
    assert not (on[:, children] & ~on[:, forest.parent[children]]).any()
    for node in range(len(forest)):
        below = found.A[:, forest.children(node)].sum(1)
        assert (below <= found.A[:, node] * (1 + 1e-5)).all()


def test_a_planted_forest_comes_back() -> None:
    X = topics(800)
    found = fitted(X, density=0.4)
    leaf_of = np.array([int(np.flatnonzero(row[20:44].reshape(8, 3).any(1))[0]) for row in X.toarray()])
    leaves = [node for node in range(len(FOREST)) if not FOREST.children(node)]
    strongest = np.array(leaves)[found.A[:, leaves].argmax(1)]
    assert all(len(set(strongest[leaf_of == k])) == 1 for k in range(8))
    assert len(set(strongest)) == 8
    parent = found.forest.parent
    assert all(len({parent[parent[n]] for n in strongest[leaf_of // 4 == t]}) == 1 for t in range(2))


def test_the_density_asked_for_comes_out() -> None:
    for density in (0.1, 0.3):
        found = fitted(topics(), density=density)
        assert np.mean(found.A != 0) == pytest.approx(density, rel=0.15)
        assert found.learned.history[-1].nonzeros == pytest.approx(np.mean(found.A != 0))
        assert found.penalty.lam == found.learned.facts["lam"]


def test_long_rows_and_short_ones_have_the_same_nodes() -> None:
    X = topics()
    scale = np.random.default_rng(0).uniform(0.01, 100, 400)
    one, other = fitted(X, lam=0.1), fitted(sparse.diags_array(scale) @ X, lam=0.1)
    np.testing.assert_allclose(other.A, one.A * scale[:, None], rtol=1e-4, atol=1e-6)


def test_what_all_rows_share_needs_no_tree() -> None:
    X = topics(V=600)
    plain = fitted(X, lam=0.05)
    assert abs(plain.D[44:]).max() < 0.1  # of contexts that all rows have
    np.testing.assert_allclose(plain.D.T @ on_host(mean_direction(as_rows(X))), 0, atol=1e-6)


def test_codes_of_the_fit_are_those_of_its_dictionary() -> None:
    X = topics()
    found = fitted(X, lam=0.1)
    again = encode_additive(as_rows(X), found.D, found.forest, found.penalty.lam)
    np.testing.assert_allclose(again.A, found.A, atol=1e-4)


def test_the_objective_falls_where_lam_is_a_number() -> None:
    rows, start = as_rows(topics(600)), NestedStart()(topics(600), FOREST).D
    settings = AdditiveSettings(epochs=8, tol=0.0, n_rows=500)
    learned = learn(Additive(rows, FOREST, NonNegativeL1(0.1), settings, start, mean_direction(rows)))
    values = [step.objective for step in learned.history]
    assert values == sorted(values, reverse=True)
    assert not learned.notices[:-1]
    assert learned.gap < 1e-8


def test_stable_nodes_have_a_higher_figure() -> None:
    X, plan = topics(1200), None
    forest = Forest.complete(2, (2, 2))
    plan = Plan(
        forest,
        lambda _: NonNegativeL1(1.0),
        auto_lam=True,
        density=0.4,
        nonnegative=True,
        start=NestedStart(),
        additive=True,
    )
    rows = as_rows(X)
    stable = node_stability(rows, plan, fit(rows, plan))
    noise = sparse.csr_array(np.random.default_rng(0).random((1200, 60)))
    rows = as_rows(noise)
    unstable = node_stability(rows, plan, fit(rows, plan))
    assert stable.shape == (len(forest),)
    assert stable.min() > 0.9
    assert unstable.mean() < 0.7


def test_nodes_are_matched_one_to_one() -> None:
    A = np.random.default_rng(0).random((50, 6))
    order = np.array([3, 0, 5, 1])
    first, second, cosine = matched_nodes(A, A[:, order])
    assert dict(zip(second.tolist(), first.tolist(), strict=True)) == dict(enumerate(order.tolist()))
    np.testing.assert_allclose(cosine, 1)


@pytest.mark.parametrize("kind", ["tf-idf", "embeddings", "associations"])
def test_the_readable_coder_finds_lam_for_any_matrix(kind: str) -> None:
    rng = np.random.default_rng(0)
    X: Any = topics(600)
    if kind == "tf-idf":
        X = X * (rng.random((600, 60)) < 0.3) / 100
    if kind == "embeddings":
        X = X @ rng.standard_normal((60, 30)) + 3
    coder = wf.ForestCoder.readable(trees=4, branching=(2,), density=0.2, random_state=0)
    A = coder.fit_transform(X)
    assert np.mean(A != 0) == pytest.approx(0.2, rel=0.25)
    assert coder.lam_ > 0
    np.testing.assert_allclose(coder.transform(X), A, atol=1e-3 * A.max())


@pytest.mark.parametrize("wrong", [{"learner": "entries"}, {"zeros": 0.5}, {"depth_weights": (1, 2)}])
def test_what_does_not_go_with_additive_trees_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="an additive forest is learned by the learner online"):
        wf.ForestCoder(additive=True, **wrong).fit(topics())


def test_blocks_of_rows_teach_an_additive_coder() -> None:
    X = topics().toarray()
    coder = wf.ForestCoder(trees=2, branching=(2,), additive=True, init="nested", lam="auto", random_state=0)
    for _ in range(3):
        for block in np.array_split(X, 3):
            coder.partial_fit(block)
    A = coder.transform(X)
    parent = coder.forest_.parent
    children = np.flatnonzero(parent >= 0)
    assert not ((A[:, children] > 0) & (A[:, parent[children]] == 0)).any()
    assert coder.score(X) > 0.8 * coder.fit(X).score(X)


def test_atoms_that_are_much_alike_are_told_apart_to_the_end() -> None:
    rng = np.random.default_rng(0)
    D = np.ones((30, 8)) + 1e-4 * rng.standard_normal((30, 8))
    X = rng.random((20, 8)) @ D.T
    gram, penalty = Gram(D.T @ D), NonNegativeL1(0.01)
    A = coordinate_descent(X @ D, gram, penalty, tol=0.0, max_iter=200).A
    slope = X @ D - penalty.lam / 2 - A @ gram.DD
    assert abs(slope[A > 0]).max() < 1e-9
    assert slope[A == 0].max() < 1e-9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_are_alike_are_refused_with_advice(dtype: Any) -> None:
    for X in (np.ones((50, 5)), np.arange(1, 6)[:, None] * np.ones((5, 3)), np.ones((1, 4))):
        with pytest.raises(InputError, match="nothing is left of the rows beside their mean"):
            wf.ForestCoder.readable(trees=2, random_state=0).fit(X.astype(dtype))


def test_a_density_out_of_range_is_refused() -> None:
    with pytest.raises(InputError, match=r"density = 0"):
        wf.ForestCoder.readable(trees=2, density=0).fit(topics())


def test_rare_rows_are_neither_clustered_nor_learned_from() -> None:
    assert len(AdditiveSettings().learned(62_110)) == 20_000
    assert AdditiveSettings().learned(8_495).tolist() == list(range(4_247))
    assert len(AdditiveSettings().learned(300)) == 300
    assert len(AdditiveSettings(drawn=True, n_rows=100).learned(8_495)) == 100
    rng = np.random.default_rng(0)
    X = np.vstack([topics(3000).toarray(), np.eye(60)[rng.integers(44, 60, 3000)]])  # the rare have one context each
    found = fitted(X, forest=Forest.complete(4, (2,)), density=0.2)
    assert np.mean(found.A[:, found.forest.roots] > 0, axis=0).max() < 0.6
