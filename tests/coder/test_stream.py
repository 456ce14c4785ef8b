"""Rows that come in blocks and are then gone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wordforest as wf
from wordforest.errors import InputError

KINDS: dict[str, dict[str, Any]] = {
    "penalty": {"lam": 0.5},
    "auto": {"lam": "auto", "density": 0.4},
    "active": {"active": 4, "center": True, "init": "nested"},
    "scaled": {"active": 4, "center": True, "scale": True},
    "additive": {"additive": True, "lam": "auto", "init": "nested"},
    "additive-active": {"additive": True, "active": 4, "init": "nested", "center": True},
    "mean": {"mean_active": 4, "center": True, "init": "nested"},
    "nonnegative-mean": {"mean_active": 4, "nonnegative": True, "center": True},
    "additive-mean": {"additive": True, "mean_active": 4, "init": "nested", "center": True},
}
every_kind = pytest.mark.parametrize("kind", KINDS)


def rows(n: int = 900, seed: int = 0) -> np.ndarray:
    """Rows of a planted forest, with a mean: two of six roots, each with one of its children."""
    rng = np.random.default_rng(seed)
    atoms = np.random.default_rng(1).standard_normal((24, 16))
    X = np.full((n, 16), 0.5)
    for x in X:
        for root in rng.permutation(6)[:2]:
            x += rng.uniform(1, 2) * (atoms[root] + atoms[6 + 3 * root + rng.integers(3)])
    return X


def coder(kind: str) -> wf.ForestCoder:
    return wf.ForestCoder(trees=6, branching=(3,), random_state=0, **KINDS[kind])


@every_kind
def test_blocks_teach_nearly_as_much_as_all_rows_at_once(kind: str) -> None:
    X, new = rows(), rows(200, seed=2)
    ours = coder(kind)
    for _ in range(4):
        for block in np.array_split(X, 3):
            ours.partial_fit(block)
    assert ours.score(new) > 0.9 * coder(kind).fit(X).score(new)


@every_kind
def test_what_was_learned_can_be_written_down_and_taken_up(kind: str) -> None:
    blocks = np.array_split(rows(300), 3)
    whole, part = coder(kind), coder(kind)
    for block in blocks:
        whole.partial_fit(block)
    part.partial_fit(blocks[0])
    again = coder(kind)
    if again.center:
        again.mean_ = part.mean_
    again.restore(part.learnt_.arrays())
    for block in blocks[1:]:
        again.partial_fit(block)
    np.testing.assert_array_equal(again.components_, whole.components_)
    assert (again.lam_, again.price_) == (whole.lam_, whole.price_)


@every_kind
def test_blocks_have_the_same_bits_for_any_workers(kind: str) -> None:
    one, two = (coder(kind).set_params(n_jobs=n).partial_fit(rows()).components_ for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_at_most_so_many_nodes_are_on_in_a_row() -> None:
    X = rows()
    for kind in ("active", "scaled", "additive-active"):
        ours = coder(kind)
        A = ours.fit_transform(X)
        assert (A != 0).sum(axis=1).max() == 4
        parent = ours.forest_.parent
        children = np.flatnonzero(parent >= 0)
        assert not ((A[:, children] != 0) & (A[:, parent[children]] == 0)).any()
        assert np.isnan(ours.dual_gap_)
        np.testing.assert_allclose(ours.transform(X), A, atol=1e-3 * abs(A).max())


def test_a_planted_forest_is_explained_by_as_many_nodes_as_were_on() -> None:
    X = rows()
    assert coder("active").fit(X).score(rows(200, seed=2)) > 0.95
    assert coder("active").set_params(active=2).fit(X).score(X) < 0.9


def test_a_centred_coder_puts_the_mean_back() -> None:
    X = rows()
    ours = coder("active").fit(X)
    np.testing.assert_allclose(ours.mean_, X.mean(axis=0))
    left = ((X - ours.inverse_transform(ours.transform(X))) ** 2).sum() / ((X - X.mean(axis=0)) ** 2).sum()
    assert ours.score(X) == pytest.approx(1 - left)


def test_scaled_rows_count_alike_however_long_they_are() -> None:
    X = rows() - rows().mean(axis=0)
    longer = X * np.random.default_rng(0).uniform(0.1, 10, (len(X), 1))
    ours = wf.ForestCoder(trees=6, branching=(3,), random_state=0, active=4, scale=True)
    D = ours.fit(X).components_
    np.testing.assert_allclose(ours.fit(longer).components_, D, atol=1e-6)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"active": 0}, "between 1 and 24 nodes"),
        ({"active": 25}, "between 1 and 24 nodes"),
        ({"active": 4, "lam": "auto"}, "Leave out one of them"),
        ({"active": 4, "learner": "entries"}, "for the learner online"),
        ({"mean_active": 0}, "more than 0 nodes are on"),
        ({"mean_active": 24.5}, "at most 24, as many as the forest has"),
        ({"mean_active": float("nan")}, "more than 0 nodes are on"),
        ({"active": 4, "mean_active": 4}, "Leave out one of them"),
        ({"mean_active": 4, "lam": "auto"}, "mean_active and lam"),
        ({"mean_active": 4, "zeros": 0.5}, "for the learner online"),
        ({"scale": True, "zeros": 0.5}, "for the learner online"),
    ],
)
def test_what_does_not_go_together_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        wf.ForestCoder(trees=6, branching=(3,), **wrong).fit(rows(50))


def test_a_sparse_matrix_is_not_centred() -> None:
    from scipy import sparse

    with pytest.raises(InputError, match="center would fill a sparse X"):
        wf.ForestCoder(center=True).fit(sparse.csr_array(rows(50)))


@pytest.mark.parametrize("wrong", [{"learner": "entries"}, {"zeros": 0.5}])
def test_blocks_are_for_the_learner_online(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="Use fit"):
        wf.ForestCoder(trees=2, **wrong).partial_fit(rows(50))
