"""One function fits: a start, a lam, a learner, and the order of the trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.coder.shared import low_rank_matrix
from wordforest.coder.atoms import AtomStart
from wordforest.coder.fit import Plan, fit
from wordforest.coder.forest import Forest
from wordforest.coder.learn import State
from wordforest.coder.penalties import ForestL2
from wordforest.coder.rows import as_rows
from wordforest.coder.rows.base import Loss
from wordforest.coder.starts import NestedStart, SpectralStart

FOREST = Forest.complete(2, (2,))
X = low_rank_matrix(200, 40)
WEIGHTS = np.random.default_rng(0).uniform(0.1, 2, X.nnz)


def plan(**changes: Any) -> Plan:
    settings = {"settings": {"epochs": 3, "tol": 0.0}, **changes}
    return Plan(FOREST, lambda forest: ForestL2(forest, 0.3), **settings)


@pytest.mark.parametrize("loss", [Loss(), Loss(WEIGHTS, 0.3)], ids=["plain", "weighted"])
@pytest.mark.parametrize("learner", ["online", "entries"])
def test_a_plan_names_the_learner(learner: Any, loss: Loss) -> None:
    fitted = fit(as_rows(X), plan(learner=learner, loss=loss))
    assert set(fitted.learned.facts) == {"gap" if learner == "online" else "eta"}
    assert (fitted.D.shape, fitted.A.shape) == ((40, 6), (200, 6))


@pytest.mark.parametrize("loss", [Loss(), Loss(WEIGHTS, 0.3)], ids=["plain", "weighted"])
def test_a_start_is_where_learning_begins(loss: Loss) -> None:
    said: list[str] = []
    steps: list[Any] = []
    begun = fit(as_rows(X), plan(loss=loss, start=SpectralStart(0.5)), say=said.append, on_start=steps.append)
    random = fit(as_rows(X), plan(loss=loss))
    assert begun.learned.history[0].objective < random.learned.history[0].objective
    assert said == ["starting from the best factors without a penalty"]
    assert steps


@pytest.mark.parametrize("loss", [Loss(), Loss(WEIGHTS, 0.3)], ids=["plain", "weighted"])
def test_lam_is_chosen_and_reported(loss: Loss) -> None:
    said: list[str] = []
    fitted = fit(as_rows(X), plan(loss=loss, auto_lam=True, density=0.4), say=said.append)
    assert said == [f"lam = {fitted.penalty.lam:.4g}, chosen for about 40% non-zeros"]
    assert np.mean(fitted.A != 0) == pytest.approx(0.4, abs=0.1)


def test_trees_of_a_nested_start_come_in_order_of_strength() -> None:
    fitted = fit(as_rows(abs(X)), plan(start=NestedStart(grow=True, least_rows=2), nonnegative=True))
    home = np.bincount(abs(fitted.A[fitted.A.any(1)]).argmax(1), minlength=len(fitted.forest))
    worth = [int(home[root : fitted.forest.end[root]].sum()) for root in fitted.forest.roots]
    assert worth == sorted(worth, reverse=True)
    assert fitted.D.shape[1] == fitted.A.shape[1] == len(fitted.forest)
    assert fitted.D.min() >= 0


@pytest.mark.parametrize("start", [NestedStart(), SpectralStart(0.5), AtomStart()], ids=["nested", "spectral", "atoms"])
def test_a_fit_resumes_to_the_same_bits_from_any_start(start: Any) -> None:
    states: list[State] = []

    def keep(_: Any, state: State) -> None:
        states.append(State({name: values.copy() for name, values in state.arrays.items()}, list(state.history)))

    whole = fit(as_rows(X), plan(start=start), on_step=keep)
    resumed = fit(as_rows(X), plan(start=start), resume=states[1])
    np.testing.assert_array_equal(resumed.A, whole.A)
    np.testing.assert_array_equal(resumed.D, whole.D)
    assert resumed.forest == whole.forest


@pytest.mark.parametrize("loss", [Loss(), Loss(WEIGHTS, 0.3)], ids=["plain", "weighted"])
def test_a_share_of_the_penalty_is_what_the_last_pass_gains_at_most_and_it_resumes_to_the_same_bits(loss: Loss) -> None:
    states: list[State] = []

    def keep(_: Any, state: State) -> None:
        states.append(State({name: values.copy() for name, values in state.arrays.items()}, list(state.history)))

    settings = {"epochs": 200, "tol": 0.02}
    shorter = fit(as_rows(X), plan(loss=loss, settings=settings))
    by_penalty = plan(loss=loss, settings={**settings, "tol_of": "penalty"})
    whole = fit(as_rows(X), by_penalty, on_step=keep)
    *passes, last = whole.learned.history
    units = [
        (sum(step.gain for step in passes if step.epoch == n), passes[n - 1].penalty) for n in range(1, last.epoch)
    ]
    assert [gain <= 0.02 * penalty for gain, penalty in units] == [False] * (last.epoch - 2) + [True]
    assert whole.learned.converged
    assert last.epoch > shorter.learned.history[-1].epoch
    resumed = fit(as_rows(X), by_penalty, resume=states[2])
    np.testing.assert_array_equal(resumed.A, whole.A)
    np.testing.assert_array_equal(resumed.D, whole.D)
    assert resumed.learned.history == whole.learned.history
    assert fit(as_rows(X), by_penalty, resume=State(states[-1].arrays, whole.learned.history)).learned.converged


def test_words_without_weight_are_seen_by_no_start() -> None:
    weights = np.ones(200)
    weights[100:] = 0
    half = fit(as_rows(X[:100]), plan(start=NestedStart()))
    weighted = fit(as_rows(X), plan(start=NestedStart(), word_weights=weights))
    assert weighted.learned.history[0].objective == pytest.approx(half.learned.history[0].objective, rel=1e-4)
