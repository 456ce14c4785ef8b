"""The one loop: batches, history, stopping rule, dead atoms, states to resume from, the last exact pass.

A learner takes the steps. Every pass goes through the batches of its words; learning ends when a pass gains less than
a given share of the objective, or of the penalty in it, and a last pass then codes all words exactly where the learner
has one. With no pass
allowed that is all: the dictionary stays that of the start.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from wordforest.coder import kernels
from wordforest.coder.penalties import Penalty
from wordforest.coder.rows import Rows
from wordforest.errors import InputError
from wordforest.runtime.machine import check_room, gpu_memory_explained, one_blas_thread
from wordforest.runtime.progress import Event

Array = Any  # a NumPy array or a PyTorch tensor
TolOf = Literal["objective", "penalty"]  # what ``tol`` is a share of

_RISE = 1e-5  # share by which float32 sums may let the logged objective rise
_NOISE = 1e-7  # share of |X|^2 that is rounding where the fit is perfect
_REVIVALS = 5  # passes that may bring dead atoms back


@dataclass(frozen=True)
class Step:
    """Where learning stands after a step: objective over all words, share of non-zeros in their codes."""

    epoch: int
    batch: int  # 0 is the last pass, which codes all words exactly
    words_seen: int
    objective: float
    gain: float  # what the step was worth: by how much it lowered the objective
    nonzeros: float
    penalty: float  # lam Omega of all words: their part of the objective that is not loss

    @property
    def last(self) -> bool:
        """Whether all words are coded exactly."""
        return self.batch == 0


def progress_of(step: Step, n_words: int, unit: str) -> Event:
    """Return how far learning is after a step, for who shows it."""
    total = -(-step.words_seen // n_words) * n_words + n_words  # this pass and the last, exact one
    total = step.words_seen if step.last else total
    return Event("learn", step.words_seen, total, unit, {"objective": step.objective, "density": step.nonzeros})


@dataclass(eq=False)
class State:
    """All that learning needs to resume from a step to the same bits: arrays by name, and the history."""

    arrays: dict[str, Array]
    history: list[Step] = field(default_factory=list)


class Moved(NamedTuple):
    """What a step came to: the objective, its gain, and how many words it saw."""

    objective: float
    gain: float
    n_words: int


@dataclass(frozen=True, eq=False)
class Learned:
    """Dictionary D (C, M), codes A (V, M), the history, and what a person should know.

    ``gap`` bounds ``(objective - best objective) / |x|^2`` of every word for this dictionary, NaN where no certificate
    is known; ``revived`` counts atoms that no word used and that started anew; ``notices`` are sentences about what
    went wrong; ``facts`` are what the learner found beside.
    """

    D: Array
    A: Array
    converged: bool
    history: list[Step]
    revived: int
    notices: list[str]
    facts: dict[str, float]

    @property
    def gap(self) -> float:
        """The worst relative duality gap of the codes."""
        return self.facts.get("gap", float("nan"))


class Learner(ABC):
    """Takes steps on a dictionary D (C, M) and codes A (V, M) for the rows of X."""

    rows: Rows
    penalty: Penalty
    D: Array
    A: Array
    epochs: int
    tol: float
    tol_of: TolOf = "objective"
    nonnegative = False  # atoms without negative values
    revive = False  # atoms that no word uses start anew; where a start has given them a meaning, better not
    anneals = False  # steps shrink to nothing in the last pass, and are noisy before it
    energy = 0.0  # |X|^2, to tell rounding from a rise

    def __init__(self) -> None:
        self.notices: list[str] = []

    @abstractmethod
    def begin(self) -> None:
        """Start from the beginning."""

    @abstractmethod
    def load(self, arrays: dict[str, Array]) -> None:
        """Start from what an earlier learner saved."""

    @abstractmethod
    def saved(self) -> dict[str, Array]:
        """Return what ``load`` needs; good until the next step."""

    @abstractmethod
    def objective(self) -> float:
        """Return the objective where the learner stands."""

    def omega(self) -> float:
        """Return lam Omega of all words where the learner stands."""
        return float(self.penalty.per_word(self.A).sum())

    def find_lam(self) -> None:  # noqa: B027 not all learners look for one
        """Find the weight of the penalty for the density asked for, before a pass; if one is."""

    @abstractmethod
    def step(self, epoch: int, batch: Any, before: float) -> Moved:
        """Take a step; ``before`` is the objective before it."""

    def batches(self, epoch: int) -> list[Any]:  # noqa: ARG002 of learners that draw batches
        """Return the batches of a pass: one, of all words."""
        return [None]

    def finish(self) -> Moved | None:
        """Code all words exactly, if the learner has such a pass."""
        return None

    def uses(self) -> Array:
        """Return how many words use each atom, (M,)."""
        return kernels.uses(self.A)

    def n_nonzeros(self) -> int:
        """Return how many numbers of A are not zero."""
        return int(self.uses().sum())

    def losses(self) -> Array:
        """Return the loss of every word, (V,), for learners that revive atoms."""
        raise NotImplementedError

    def atoms_moved(self) -> None:  # noqa: B027 not all learners keep what depends on D
        """Take note of atoms that were set from outside."""

    def facts(self) -> dict[str, float]:
        """Return what was found beside D and A."""
        return {}


OnStep = Callable[[Step, State], None]


def learn(learner: Learner, *, resume: State | None = None, on_step: OnStep | None = None) -> Learned:
    """Take steps until the stopping rule is met, then code all words exactly.

    ``on_step`` is called after every step with the state, which is good until the next one; ``resume`` goes on from
    such a state, to the same bits.
    """
    history = list(resume.history) if resume else []
    advice = "Use fewer components, or the device cpu."
    with one_blas_thread(), gpu_memory_explained("the dictionary and the codes", advice):
        learner.load(resume.arrays) if resume else learner.begin()
        loop = _Loop(learner, history, on_step)
        loop.run()
    return Learned(
        learner.D, learner.A, loop.converged, history, loop.revived, learner.notices + loop.notices, learner.facts()
    )


class _Loop:
    def __init__(self, learner: Learner, history: list[Step], on_step: OnStep | None) -> None:
        self.learner, self.history, self.on_step = learner, history, on_step
        self.converged, self.revived = learner.epochs == 0, 0
        self.notices: list[str] = []

    def run(self) -> None:
        learner, history = self.learner, self.history
        epoch, done = (history[-1].epoch, history[-1].batch) if history else (1, 0)
        if history and history[-1].last:  # all is done
            self.converged = learner.epochs == 0 or self._settled(epoch - 1)
            self._close()
            return
        while learner.epochs:
            if not done:
                learner.find_lam()
            for number, batch in enumerate(learner.batches(epoch), start=1):
                if number > done:
                    before = self._before()
                    self._record(epoch, number, learner.step(epoch, batch, before), before)
            done = 0
            self.converged = self._settled(epoch)
            revived = self._revive(epoch)
            if (self.converged and not revived) or epoch >= learner.epochs:
                break
            epoch += 1
        if (last := learner.finish()) is not None:
            self._record(epoch + 1, 0, last, history[-1].objective if history else np.inf)
        self._close()

    def _before(self) -> float:
        """Return the objective before a step."""
        return self.history[-1].objective if self.history else self.learner.objective()

    def _settled(self, epoch: int) -> bool:
        """Say whether the steps of a pass gained at most the share ``tol`` of the objective, or of the penalty in it.

        A rise is no gain.
        """
        steps = [step for step in self.history if step.epoch == epoch]
        least = -_RISE * abs(steps[-1].objective) - _NOISE * self.learner.energy
        unit = steps[-1].objective if self.learner.tol_of == "objective" else steps[-1].penalty
        return least <= sum(step.gain for step in steps) <= self.learner.tol * unit

    def _record(self, epoch: int, batch: int, moved: Moved, before: float) -> None:
        learner, history = self.learner, self.history
        if not np.isfinite(moved.objective):
            raise InputError(
                "the objective is not finite: the values of X or its weights are too large. Scale the data, or use "
                "float64."
            )
        rose = moved.objective > before * (1 + _RISE) + _NOISE * learner.energy
        if rose and not (learner.anneals or self.notices):
            self.notices.append(f"the objective rose from {before:.8g} to {moved.objective:.8g}. Try float64.")
        seen = moved.n_words + (history[-1].words_seen if history else 0)
        nonzeros = learner.n_nonzeros() / (learner.A.shape[0] * learner.A.shape[1])
        history.append(Step(epoch, batch, seen, moved.objective, moved.gain, nonzeros, learner.omega()))
        if self.on_step:
            self.on_step(history[-1], State(learner.saved(), history))

    def _revive(self, epoch: int) -> int:
        """Point atoms that no word uses at what the worst-coded words lack (Mairal et al. 2010); return how many."""
        learner = self.learner
        if not learner.revive or epoch > min(_REVIVALS, learner.epochs - 1):
            return 0
        dead = np.flatnonzero(kernels.on_host(learner.uses()) == 0)
        if not len(dead):
            return 0
        losses = np.asarray(kernels.on_host(learner.losses()), dtype=np.float32)
        losses, words = np.unique(losses, return_index=True)  # equal rows have, but for rounding, equal losses
        worst = words[losses > 0][::-1][: len(dead)]
        dead = dead[: len(worst)]
        for atom, word in zip(dead, worst, strict=True):
            lacking = learner.rows.row(int(word)) - learner.D @ learner.A[int(word)]  # (C,)
            lacking = kernels.namespace(lacking).clip(lacking, 0, None) if learner.nonnegative else lacking
            size = float(kernels.namespace(lacking).linalg.norm(lacking))
            if size > 0:
                learner.D[:, atom] = lacking / size
        if len(dead):
            learner.atoms_moved()
        self.revived += len(dead)
        return len(dead)

    def _close(self) -> None:
        """Say what a person should know."""
        learner = self.learner
        if not learner.n_nonzeros():
            lam = learner.penalty.lam
            self.notices.append(f"all codes are zero: lam = {lam:g} is too large for these data. Lower it.")
        if not (self.converged or learner.anneals):
            self.notices.append(f"the objective still falls after {learner.epochs} passes. Allow more epochs.")


def check_learning_fits(n_components: int, n_words: int = 0, n_contexts: int = 0) -> None:
    """Refuse sizes whose codes, dictionary and statistics do not fit into this machine's memory; 0 is not known yet."""
    M, V, C = n_components, n_words, n_contexts
    of_what = f" for {V:,} words and {C:,} contexts" if V and C else ""
    check_room(f"a dictionary of {M:,} atoms{of_what}", 4.0 * M * (V + 3 * C) + 24.0 * M * M)
