"""The one loop, with a learner that plays what it is given: steps, stopping rule, dead atoms, notices, resume."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from wordforest.coder.learn import Learner, Moved, State, TolOf, check_learning_fits, learn
from wordforest.coder.online import OnlineSettings, learn_online
from wordforest.coder.penalties import L1
from wordforest.coder.rows.host import HostRows
from wordforest.errors import InputError

START = 100.0
X = np.array([[3.0, 0.0], [0.0, 5.0], [0.0, 5.0]])


class Played(Learner):
    """A learner whose objectives are known beforehand: two batches in a pass."""

    revive = True

    def __init__(
        self,
        objectives: list[float],
        *,
        last: float | None = None,
        epochs: int = 9,
        tol: float = 0.1,
        tol_of: TolOf = "objective",
    ):
        super().__init__()
        self.tol_of = tol_of
        self.objectives, self.last, self.epochs, self.tol = objectives, last, epochs, tol
        self.rows, self.penalty = HostRows(X), L1(7.0)
        self.D, self.A = np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
        self.calls: list[Any] = []

    def begin(self) -> None:
        self.calls.append("begin")
        self.number = 0

    def load(self, arrays: dict[str, Any]) -> None:
        self.calls.append("load")
        self.number = int(arrays["number"])

    def saved(self) -> dict[str, Any]:
        return {"number": np.array(self.number)}

    def objective(self) -> float:
        return START

    def batches(self, epoch: int) -> list[str]:
        return [f"{epoch}.1", f"{epoch}.2"]

    def step(self, epoch: int, batch: str, before: float) -> Moved:
        self.calls.append(batch)
        objective = self.objectives[self.number]
        self.number += 1
        return Moved(objective, before - objective, 5)

    def losses(self) -> Any:
        return ((X - self.A @ self.D.T) ** 2).sum(1)

    def atoms_moved(self) -> None:
        self.calls.append("atoms moved")

    def finish(self) -> Moved | None:
        return None if self.last is None else Moved(self.last, 0.0, 3)

    def facts(self) -> dict[str, float]:
        return {"gap": 0.25}


def played(objectives: list[float], **more: Any) -> Played:
    """A learner whose atoms are all in use."""
    learner = Played(objectives, **more)
    learner.A[2, 1] = 1.0
    return learner


def test_history_has_every_step_and_the_last_pass() -> None:
    learned = learn(played([90.0, 80.0, 79.0, 78.0], last=70.0))
    where = [(step.epoch, step.batch, step.words_seen) for step in learned.history]
    assert where == [(1, 1, 5), (1, 2, 10), (2, 1, 15), (2, 2, 20), (3, 0, 23)]
    assert [step.objective for step in learned.history] == [90.0, 80.0, 79.0, 78.0, 70.0]
    assert [step.gain for step in learned.history] == [10.0, 10.0, 1.0, 1.0, 0.0]
    assert {step.nonzeros for step in learned.history} == {1 / 3}
    assert [step.last for step in learned.history] == [False, False, False, False, True]
    assert (learned.converged, learned.gap) == (True, 0.25)


@pytest.mark.parametrize(("tol", "passes"), [(0.2, 1), (0.1, 2), (0.02, 3), (0.0, 3)])
def test_it_stops_after_the_pass_that_gains_a_small_share(tol: float, passes: int) -> None:
    learned = learn(played([90.0, 84.0, 80.0, 77.0, 76.5, 76.5], tol=tol, epochs=3))  # 16, 7 and 0.5 are gained
    assert learned.history[-1].epoch == passes
    assert learned.converged == (tol > 0)


@pytest.mark.parametrize(("tol", "passes"), [(0.8, 1), (0.4, 2), (0.03, 3), (0.02, 3)])
def test_it_stops_after_the_pass_that_gains_a_small_share_of_the_penalty(tol: float, passes: int) -> None:
    objectives = [90.0, 84.0, 80.0, 77.0, 76.5, 76.5]  # 16, 7 and 0.5 are gained; lam Omega is 7 (2 + 1)
    learned = learn(played(objectives, tol=tol, epochs=3, tol_of="penalty"))
    assert {step.penalty for step in learned.history} == {21.0}
    assert learned.history[-1].epoch == passes
    assert learned.converged == (tol > 0.02)


def test_a_pass_that_rises_is_no_reason_to_stop() -> None:
    learned = learn(played([90.0, 110.0, 109.0, 109.0]))
    assert learned.history[-1].epoch == 2
    assert any("rose from 90 to 110" in notice for notice in learned.notices)


def test_a_rise_by_rounding_is_none() -> None:
    assert learn(played([99.0, 99.0 * (1 + 1e-6)])).notices == []


def test_noisy_steps_may_rise() -> None:
    learner = played([90.0, 110.0, 109.0, 109.0])
    learner.anneals = True
    assert learn(learner).notices == []


def test_running_out_of_passes_is_reported() -> None:
    learned = learn(played([90.0, 80.0], epochs=1, tol=0.0))
    assert not learned.converged
    assert learned.notices == ["the objective still falls after 1 passes. Allow more epochs."]


def test_codes_of_zeros_are_reported() -> None:
    learner = Played([99.0, 99.0])
    learner.A[:] = 0
    learner.revive = False
    assert learn(learner).notices == ["all codes are zero: lam = 7 is too large for these data. Lower it."]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_an_objective_that_is_not_finite_is_refused(value: float) -> None:
    with pytest.raises(InputError, match=r"the objective is not finite.*Scale the data"):
        learn(played([90.0, value]))


def test_resume_takes_the_steps_that_are_left() -> None:
    objectives, states = [90.0, 80.0, 70.0, 60.0, 59.0, 58.0], []

    def keep(_: Any, state: State) -> None:
        states.append(State(dict(state.arrays), list(state.history)))

    whole = learn(played(objectives, last=50.0, tol=0.05), on_step=keep)
    for n, state in enumerate(states[:-1]):
        learner = played(objectives, last=50.0, tol=0.05)
        assert learn(learner, resume=state).history == whole.history
        assert learner.calls == ["load", *["1.1", "1.2", "2.1", "2.2", "3.1", "3.2"][n + 1 :]]
    learned = learn(played(objectives, last=50.0, tol=0.05), resume=states[-1])
    assert (learned.history, learned.converged) == (whole.history, True)


def test_a_dead_atom_points_at_what_the_worst_coded_word_lacks() -> None:
    learner = Played([90.0, 89.0, 88.5, 88.0], epochs=2)
    learned = learn(learner)
    assert learned.revived == 1
    np.testing.assert_array_equal(learner.D[:, 1], [0.0, 1.0])  # of the words with nothing but the second context
    assert learner.calls == ["begin", "1.1", "1.2", "atoms moved", "2.1", "2.2"]  # a pass more than the rule asks for


def test_a_revived_atom_without_negatives_has_none() -> None:
    learner = Played([90.0, 89.0, 88.5, 88.0], epochs=2)
    learner.nonnegative = True
    learner.rows = HostRows(np.array([[3.0, 0.0], [-1.0, 5.0], [0.0, 0.0]]))
    learn(learner)
    np.testing.assert_array_equal(learner.D[:, 1], [0.0, 1.0])


def test_no_atom_is_revived_in_the_last_pass_or_where_nobody_asks() -> None:
    for learner in (Played([99.0, 98.0], epochs=1), Played([99.0, 98.0])):
        learner.revive = learner.epochs == 1
        assert learn(learner).revived == 0
        assert not learner.D[:, 1].any()


def test_the_online_learner_revives_all_atoms_that_start_at_zero() -> None:
    rng = np.random.default_rng(0)
    start = np.zeros((60, 13))
    start[:, 0] = 1 / np.sqrt(60)  # all other atoms are zero: no word can use them
    rows = sparse.csr_array(rng.standard_normal((100, 60)) * (rng.random((100, 60)) < 0.2))
    learned = learn_online(rows, L1(0.5), 13, OnlineSettings(epochs=20), start=start)
    assert learned.revived >= 12
    assert learned.A.any(axis=0).all()


def test_sizes_beyond_memory_are_refused() -> None:
    with pytest.raises(InputError, match=r"needs at least .* GB of memory"):
        check_learning_fits(10**9, 10**9, 10**4)
