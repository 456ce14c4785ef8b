"""Readable trees through learner and estimator: non-negative, nested, grown, in order."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import wordforest as wf
from wordforest.coder.additive import own_parts
from wordforest.coder.forest import Forest
from wordforest.coder.learn import Learned
from wordforest.coder.losses import objective
from wordforest.coder.online import OnlineSettings, learn_online
from wordforest.coder.penalties import L1, ForestL2
from wordforest.coder.starts import Asked, NestedStart, RowStart
from wordforest.errors import InputError
from wordforest.options import PRESETS
from wordforest.runtime.machine import Threads

FOREST = Forest.complete(2)
PENALTY = ForestL2(FOREST, 0.8, nonnegative=True)


def matrix(V: int = 300, C: int = 120, seed: int = 0, dtype: Any = np.float64) -> sparse.csr_array:
    """Non-negative rows around eight topics, each row with few of the contexts, some rows empty."""
    rng = np.random.default_rng(seed)
    topics = abs(rng.standard_normal((8, C))) * (rng.random((8, C)) < 0.3)
    X = topics[rng.integers(0, 8, V)] * rng.uniform(0.5, 2, (V, C)) * (rng.random((V, C)) < 0.7)
    X[::50] = 0
    return sparse.csr_array(X.astype(dtype))


def learn(X: Any, *, start: Any = None, workers: int = 1, penalty: Any = PENALTY, **settings: Any) -> Learned:
    settings = {"nonnegative": True, "epochs": 4, "tol": 0.0, **settings}
    return learn_online(X, penalty, 26, OnlineSettings(**settings), start=start, executor=Threads(workers))


def uses_every_branch(A: np.ndarray, forest: Forest) -> bool:
    """Say whether every node or one below it is used; a parent may be zero where its sum with others is negative."""
    return all(A[:, i:end].any() for i, end in enumerate(forest.end))


def check_strengths_fall(A: np.ndarray, forest: Forest) -> None:
    home = np.bincount(abs(A[A.any(1)]).argmax(1), minlength=len(forest))  # rows whose largest value a node has
    worth = np.array([home[i:end].sum() for i, end in enumerate(forest.end)])
    for siblings in [forest.roots, *map(forest.children, range(len(forest)))]:
        assert (np.diff(worth[list(siblings)]) <= 1e-9 * worth.max()).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("start", [None, "nested"])
def test_dictionary_and_codes_have_no_negative_value(dtype: Any, start: str | None) -> None:
    X = matrix(dtype=dtype)
    learned = learn(X, start=start and NestedStart()(X, FOREST, Asked(nonnegative=True)).D)
    for part in (learned.D, learned.A):
        assert part.min() == 0
        assert part.max() > 0
    assert np.linalg.norm(learned.D, axis=0).max() <= 1 + 1e-6


def test_signed_data_have_non_negative_atoms_as_well() -> None:
    X = matrix().toarray() * np.random.default_rng(1).choice((-1, 1), (300, 120))
    assert learn(X, penalty=ForestL2(FOREST, 0.8)).D.min() >= 0


def test_the_non_negative_objective_falls_and_is_the_objective() -> None:
    X = matrix(V=1500)
    learned = learn(X)
    values = [step.objective for step in learned.history]
    assert all(after <= before * (1 + 1e-10) for before, after in pairwise(values))
    assert values[-1] < 0.9 * values[0]
    assert values[-1] == pytest.approx(objective(X, learned.D, learned.A, PENALTY), rel=1e-10)


def test_a_constraint_costs() -> None:
    X = matrix().toarray() * np.random.default_rng(1).choice((-1, 1), (300, 120))
    free = ForestL2(FOREST, 0.8)
    bound, unbound = (learn(X, penalty=free, nonnegative=n, epochs=60).history[-1].objective for n in (True, False))
    assert bound > 1.02 * unbound


@pytest.mark.parametrize("revive", [False, True])
def test_atoms_without_use_start_anew_only_if_asked(revive: bool) -> None:
    start = np.zeros((120, 26))
    start[:, 0] = 1 / np.sqrt(120)  # all other atoms are zero: no word can use them
    learned = learn(matrix(), start=start, revive=revive, penalty=L1(0.5))
    assert (learned.revived > 0) == revive
    assert learned.D[:, 1:].any() == revive
    assert learned.D.min() >= 0


def coder(**changes: Any) -> wf.ForestCoder:
    return wf.ForestCoder.readable(**{"trees": 3, "random_state": 0, "epochs": 5, "density": 0.2, **changes})


def non_negative_coder(**changes: Any) -> wf.ForestCoder:
    """A coder with the paper's penalty, nested clusters and no negative values."""
    own = {"trees": 3, "lam": 0.8, "depth_weights": (0.5, 0.8, 1.0), "init": "nested", "random_state": 0, "epochs": 5}
    return wf.ForestCoder(**{**own, "nonnegative": True, "nonnegative_dictionary": True, **changes})


def quietly(function: Any, *args: Any) -> Any:
    """Call without the warning that a few passes are not enough."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args)


def test_the_readable_coder_has_the_settings_of_the_preset() -> None:
    params, preset = wf.ForestCoder.readable().get_params(), PRESETS["readable"].settings
    same = ("trees", "lam", "additive", "nonnegative", "init")
    assert {name: params[name] for name in same} == {name: preset[name] for name in same}


def test_the_readable_coder_takes_other_settings() -> None:
    params = wf.ForestCoder.readable(
        trees=5, branching=(2,), lam=0.1, init="grown", nonnegative=False, n_jobs=2
    ).get_params()
    assert (params["trees"], params["branching"], params["lam"]) == (5, (2,), 0.1)
    assert (params["init"], params["nonnegative"], params["n_jobs"]) == ("grown", False, 2)


def test_subclasses_are_readable_too() -> None:
    class Own(wf.ForestCoder):
        pass

    assert type(Own.readable()) is Own


@pytest.mark.parametrize("init", ["nested", "grown", RowStart(), NestedStart(n_rows=50, grow=True)])
def test_a_clone_learns_the_same(init: Any) -> None:
    first = coder(init=init)
    second = clone(first)
    assert second.get_params() == first.get_params()
    np.testing.assert_array_equal(quietly(second.fit_transform, matrix()), quietly(first.fit_transform, matrix()))


@pytest.mark.parametrize("make", [coder, non_negative_coder])
@pytest.mark.parametrize("init", ["nested", "grown"])
@pytest.mark.parametrize("form", [sparse.csr_array, lambda X: X.toarray()])
def test_trees_to_read_are_ordered_and_non_negative(init: str, form: Any, make: Any) -> None:
    X, ours = form(matrix()), make(init=init)
    A = quietly(ours.fit_transform, X)
    assert A.shape == (300, len(ours.forest_)) == (300, len(ours.components_))
    assert A.min() == 0
    assert make is coder or ours.components_.min() == 0
    check_strengths_fall(A @ own_parts(ours.forest_) if ours.additive else A, ours.forest_)
    # relative to |x|^2 codes are exact to 1e-9, and the objective is about as curved as its loss
    np.testing.assert_allclose(ours.transform(X), A, atol=1e-3)


def test_a_nested_coder_keeps_the_shape_asked_for() -> None:
    ours = quietly(coder(branching=(2, 4)).fit, matrix())
    assert ours.forest_ == Forest.complete(3, (2, 4))


def test_a_grown_coder_has_no_node_that_no_row_uses() -> None:
    ours = non_negative_coder(init=NestedStart(grow=True, least_rows=2), lam=8.0)
    A = quietly(ours.fit_transform, matrix())
    assert len(ours.forest_) < 35  # the start has 38 nodes
    assert uses_every_branch(A, ours.forest_)


def test_order_and_pruning_leave_the_objective_as_it_was() -> None:
    ours = non_negative_coder(init="grown", lam=2.0)
    A = quietly(ours.fit_transform, matrix())
    assert objective(matrix(), ours.components_.T, A, ours._penalty(ours.forest_, ours.lam_)) == pytest.approx(
        ours.objective_, rel=1e-9
    )


@pytest.mark.parametrize("init", ["random", "nested", "grown"])
def test_partial_fit_keeps_to_non_negative_values(init: str) -> None:
    X, ours = matrix(), non_negative_coder(init=init)
    shares = [ours.partial_fit(X[i : i + 100]).score(X) for i in (0, 100, 200, 0, 100, 200)]
    assert ours.components_.min() >= 0
    assert shares[-1] > 0.1
    assert init != "random" or shares[-1] > shares[0]


def test_partial_fit_goes_on_after_a_grown_fit() -> None:
    ours = quietly(non_negative_coder(init="grown").fit, matrix())
    forest = ours.forest_
    ours.partial_fit(matrix(seed=1))
    assert ours.forest_ == forest
    assert ours.components_.min() >= 0


@pytest.mark.parametrize("init", ["nested", "grown"])
def test_bits_of_the_readable_coder_do_not_depend_on_n_jobs(init: str) -> None:
    X = matrix(V=1100, dtype=np.float32)
    one, two = (quietly(coder(init=init, n_jobs=n, epochs=2).fit_transform, X) for n in (1, 2))
    np.testing.assert_array_equal(two, one)


def test_an_unknown_start_is_refused() -> None:
    with pytest.raises(InputError, match=r"init = 'best'.*random, rows, nested, grown"):
        wf.ForestCoder(init="best").fit(matrix())


def test_no_weights_for_the_depths_are_refused_or_all_alike() -> None:
    weighted, plain = (
        wf.ForestCoder(1, depth_weights=w, random_state=0).fit_transform(matrix()) for w in ((), (1, 1, 1))
    )
    np.testing.assert_array_equal(weighted, plain)


# A start that looks at rows sees a row of weight two once
UNWEIGHTED = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
    "the start of the dictionary knows no weights",
)


@pytest.mark.parametrize("additive", [False, True])
@pytest.mark.parametrize("init", ["nested", "grown"])
def test_scikit_learns_own_checks_pass(init: str, additive: bool) -> None:
    from sklearn.utils.estimator_checks import check_estimator

    # one small tree: with more atoms than contexts, codes are not unique and need not repeat
    how = {"additive": True} if additive else {"nonnegative": True, "nonnegative_dictionary": True}
    ours = wf.ForestCoder(1, (2,), **how, init=init, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks fit far too few rows on purpose
        results = check_estimator(ours, on_fail=None, expected_failed_checks=UNWEIGHTED)
    assert [r["check_name"] for r in results if r["status"] not in ("passed", "skipped", "xfail")] == []
