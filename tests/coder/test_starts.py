"""Where the dictionary begins: an atom of length one for every node, by the seed alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

from tests.coder.shared import WITHOUT_CLUSTER, Home
from wordforest.coder import starts
from wordforest.coder.clusters import nest
from wordforest.coder.fit import start_named
from wordforest.coder.forest import Forest
from wordforest.coder.kernels import on_host
from wordforest.coder.online import OnlineSettings, learn_online
from wordforest.coder.penalties import ForestL2, depth_weights
from wordforest.coder.rows import as_rows
from wordforest.coder.rows.base import Loss
from wordforest.coder.starts import (
    Asked,
    Begun,
    NestedStart,
    RandomStart,
    RowStart,
    SpectralStart,
    Start,
    directions,
    with_spectrum,
)
from wordforest.coder.weighted import WeightedSettings, learn_weighted
from wordforest.errors import InputError
from wordforest.runtime.machine import Threads

STARTS = [RandomStart(), RowStart(), NestedStart(), NestedStart(drawn=True), NestedStart(grow=True, most_children=2)]
SHAPES = [(1, 1), (1, 60), (60, 1), (2, 3), (5, 100), (100, 5)]


def matrix(V: int = 200, C: int = 90, seed: int = 0, *, signed: bool = False, dtype: Any = np.float64) -> np.ndarray:
    """A matrix with a few strong directions, every tenth row empty."""
    rng = np.random.default_rng(seed)
    X = abs(rng.standard_normal((V, 6))) @ abs(rng.standard_normal((6, C))) * (rng.random((V, C)) < 0.3)
    X[5::10] = 0
    return np.asarray(X * rng.choice((-1, 1), (V, C)) if signed else X).astype(dtype)


def begin(how: Start, X: Any, forest: Forest | None = None, *, nonnegative: bool = False, seed: int = 0) -> Begun:
    return how(as_rows(X, Threads(1)), forest or Forest.complete(2), Asked(nonnegative, seed))


#      0        5
#    1   4     6 7
#   2 3
FOREST = Forest([-1, 0, 1, 1, 0, -1, 5, 5])


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
    one, *others = (how(as_rows(X, Threads(n)), forest, Asked(seed=3)).D for n in (1, 2))
    for blas in (1, 2):
        with threadpool_limits(blas):
            others.append(how(X, forest, Asked(seed=3)).D)
    assert all(np.array_equal(one, other) for other in others)
    other = how(X, forest, Asked(seed=4)).D
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
    """The definition: means of rows of length one, a child's without what the atoms above it have, from the root on."""
    D = np.array([unit[part].mean(0) for part in members]).T  # (C, M)
    for node in range(len(forest)):
        path = [node]
        while (above := int(forest.parent[path[0]])) >= 0:
            path.insert(0, above)
        for above in path[:-1]:
            D[:, node] -= D[:, above] * (D[:, above] @ D[:, node])
        D[:, node] = np.maximum(D[:, node], 0) if nonnegative else D[:, node]
        D[:, node] /= np.linalg.norm(D[:, node])
    return D


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_nested_atoms_equal_the_definition(nonnegative: bool, dtype: Any, tolerance: float, form: Any) -> None:
    dense, members = matrix(V=300, dtype=dtype), []
    filled = np.flatnonzero(dense.any(axis=1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(starts.clusters, "nest", lambda *args, **more: members.extend(nest(*args, **more)) or members)
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


def test_directions_are_those_of_the_singular_value_decomposition() -> None:
    X = np.random.default_rng(0).standard_normal((900, 12)) @ np.random.default_rng(1).standard_normal((12, 400))
    X[7] = 0
    unit = X / np.maximum(np.linalg.norm(X, axis=1), 1e-9)[:, None]
    U, S, _ = np.linalg.svd(unit, full_matrices=False)
    Z = directions(as_rows(X), 0)
    assert Z.shape == (900, 12)  # the rest is rounding
    np.testing.assert_allclose(abs(Z), abs(U[:, :12] * np.sqrt(S[:12])), atol=1e-6)


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
    parts = [
        np.maximum(0, mean[n] - mean[p] * (mean[n] @ mean[p]) / (mean[p] @ mean[p])) if p >= 0 else mean[n]
        for n, p in enumerate(TOPICS.parent.tolist())
    ]
    nested = np.array(parts).T
    kept = learned_from(X, nested / np.linalg.norm(nested, axis=0), seed)
    made = learned_from(X, begin(RandomStart(), X, TOPICS, nonnegative=True, seed=seed).D, seed)
    assert related(kept, D) == 1
    assert related(made, D) < 0.7


def test_starts_have_names() -> None:
    assert start_named("grown", drawn=True) == NestedStart(grow=True, drawn=True)
    assert start_named("spectral", spectrum=0.4) == SpectralStart(0.4)
    with pytest.raises(InputError, match=r"init = 'best'.*random, rows, nested, grown, spectral"):
        start_named("best")


@pytest.mark.parametrize("home", WITHOUT_CLUSTER)
@pytest.mark.parametrize("how", [*STARTS[:3], SpectralStart(0.5)], ids=["random", "rows", "nested", "spectral"])
def test_a_start_begins_where_x_is(home: Home, how: Start) -> None:
    X = sparse.csr_array(matrix(60, 20))
    rows = home.put(X, Threads(1))
    begun = how(rows, Forest.complete(1), Asked(seed=1))
    here = how(X, Forest.complete(1), Asked(seed=1))
    assert isinstance(rows.like, np.ndarray) == isinstance(begun.D, np.ndarray)
    # with more atoms than the data have directions, the last of a spectrum are rounding
    tolerance = 1e-4 if isinstance(how, NestedStart | SpectralStart) else 1e-12
    np.testing.assert_allclose(on_host(begun.D), here.D, atol=tolerance)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_other_factors_of_the_same_product(power: float) -> None:
    rng = np.random.default_rng(16)
    A, D = rng.standard_normal((50, 6)), rng.standard_normal((40, 6))
    B, E = with_spectrum(A, D, power, Threads(1))
    S = np.linalg.svd(A @ D.T, compute_uv=False)[:6]
    assert np.abs(B @ E.T - A @ D.T).max() < 1e-10
    assert np.linalg.svd(B, compute_uv=False) == pytest.approx(S**power)
    C, F = with_spectrum(A, D, power, Threads(1), np.random.default_rng(0))
    assert np.abs(C @ F.T - A @ D.T).max() < 1e-10
    assert np.linalg.norm(F, axis=0) == pytest.approx(np.ones(6))


@pytest.mark.parametrize("weighted", [False, True])
def test_a_spectral_start_is_better_than_a_random_one(weighted: bool) -> None:
    X = sparse.csr_array(matrix(60, 40, signed=True))
    loss = Loss(2 * np.random.default_rng(17).random(X.nnz), 0.1) if weighted else Loss()
    forest, seen = Forest.complete(1), []
    begun = SpectralStart(0.5)(X, forest, Asked(loss=loss, on_rows=seen.append))
    from_start, from_random = (
        learn_weighted(X, loss, ForestL2(forest, 0.05), 13, WeightedSettings(epochs=1), start=start)
        for start in ((begun.D, begun.A), None)
    )
    assert from_start.history[-1].objective < from_random.history[-1].objective
    assert seen


def test_a_spectral_start_has_negatives() -> None:
    with pytest.raises(InputError, match="Use the start random, rows or nested"):
        begin(SpectralStart(), matrix(), nonnegative=True)
    with pytest.raises(InputError, match="between 0 and 1"):
        SpectralStart(1.5)
