"""Learner 2 of the paper, its Algorithm 1: stochastic proximal steps over the stored entries.

A visit of an entry takes one gradient step on the row d_c, one on the code a_v, and the prox of the penalty on a_v.
Stored pairs have weights w (|x| in the paper) and unstored ones all have weight W (0 in the paper). In expectation,
and up to the factor ``1 / mean(w + W)``, a pass goes down

    sum over stored of w (x - d.a)^2  +  W sum over unstored of (d.a)^2
        +  lam sum_v s_v Omega(a_v)  +  tau sum_c s_c |d_c|^2

where s is 1 if ``share="pass"``, and the sum of ``w + W`` over the entries of the row if ``share="visit"``: as printed
in the paper every visit pays all of lam and tau, so words seen often pay more.

Unstored pairs never cost a visit. Their sum is that of all pairs less that of the stored ones. The latter goes into the
residual, ``w (x - d.a)^2 - W (d.a)^2``; the former has gradients ``2 W DD a_v`` and ``2 W AA d_c`` with ``DD = D'D``
and ``AA = A'A``, taken at the start of a round. Each visit carries its share of them, by its mass over that of its row,
so that at the optimum stored and unstored pairs cancel within a round. The step of a row is cut such that the share of
a round stays within what the largest eigenvalue of DD or AA allows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.entries_objective import EntryObjective
from wordforest.coder.kernels import uses
from wordforest.coder.kernels.entries import LANES, Rule, Side, visit
from wordforest.coder.losses import gram, slices
from wordforest.coder.online import Learned, Step
from wordforest.coder.pairs import Allocate, Pairs, stored_pairs, typical_and_largest
from wordforest.coder.penalties import Penalty
from wordforest.coder.strata import cut
from wordforest.coder.walk import is_nonnegative, tree_of
from wordforest.errors import InputError
from wordforest.runtime.memory import check_room
from wordforest.runtime.threads import Executor, on_this_machine, one_blas_thread

Array = NDArray[Any]
Schedule = Literal["constant", "inverse", "linear", "adagrad"]
Sampling = Literal["proportional", "uniform"]
Share = Literal["visit", "pass"]

_TRIAL = 1 << 20  # visits that tell how good a step size is
_TRIAL_ROUNDS = 6  # at least, if unstored pairs count
_TRIALS = 24  # step sizes tried at most
_FIRST_ETA = 0.02  # over the typical |x|: the first step size tried
_RISE = 1.25  # times the objective before; more is divergence
_HALVINGS = 60  # of the step size before learning gives up; a pass that diverges is soon left
_WILD = 100  # times the largest value: residuals beyond are divergence
BOUND = 1e10  # of D and A; sums of cubes of what is larger are beyond float32
CAUTION = 2.0  # a round moves a row by at most 1 / this of what its curvature from unstored pairs allows
_START = 0.01  # first products d.a, as a share of the values of X


@dataclass(frozen=True)
class EntrySettings:
    """How to learn. ``eta=None`` searches a step size; ``zeros`` is W, ``blocks`` P; ``lazy`` visits share a prox."""

    epochs: int = 10  # passes at most; a pass makes as many visits as there are entries
    eta: float | None = None
    schedule: Schedule = "linear"
    tau: float = 0.01
    sampling: Sampling = "proportional"
    share: Share = "visit"  # who pays lam and tau: every visit in full, or all visits of a pass together
    zeros: float = 0.0
    blocks: int = 32  # rounds of a pass; with unstored pairs, more help. Never the number of workers: bits would differ
    lazy: int = 1
    tol: float = 1e-3  # stop when a pass lowers the objective by at most this share
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("epochs", "blocks", "lazy"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} = {getattr(self, name)}, but it must be a whole number >= 1.")
        for name in ("tau", "zeros", "tol", "seed"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value >= 0):
                raise InputError(f"{name} = {value}, but it must be a finite number >= 0.")
        if self.eta is not None and not (np.isfinite(self.eta) and self.eta > 0):
            raise InputError(f"eta = {self.eta}, but a step size must be a finite number > 0. None searches one.")
        for name, kind in (("schedule", Schedule), ("sampling", Sampling), ("share", Share)):
            if getattr(self, name) not in get_args(kind):
                raise InputError(
                    f"{name} = {getattr(self, name)!r}, but it must be one of {', '.join(get_args(kind))}."
                )


@dataclass(eq=False)
class EntryState:
    """All that learning needs to go on from a pass to the same bits.

    D (C, M), A (V, M), the step size, and the sums of squared gradients (V,), (C,) that AdaGrad keeps, else empty:
    NumPy arrays, or tensors where learning is on a device.
    """

    D: Any
    A: Any
    eta: float
    word_squares: Any
    context_squares: Any
    history: list[Step] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class LearnedFromEntries(Learned):
    """What was learned, and the step size it ended with. ``gap`` is NaN: no certificate comes with this learner."""

    eta: float


OnPass = Callable[[Step, EntryState], None]


def learn_from_entries(
    X: Any,
    penalty: Penalty,
    n_components: int,
    settings: EntrySettings | None = None,
    *,
    weights: Array | None = None,
    resume: EntryState | None = None,
    executor: Executor | None = None,
    on_step: OnPass | None = None,
    allocate: Allocate = np.empty,
) -> LearnedFromEntries:
    """Learn a dictionary and codes from the stored entries of a CSR matrix X (V, C), in float32.

    ``weights`` (nnz,) says how much each stored pair counts, in the order of ``X.data``; |x| if it is left out.
    ``on_step`` is called after every pass with the state, which is good until the next one; ``resume`` goes on from
    such a state, to the same bits. For matrices larger than memory the arrays of X may be mapped from files, and
    ``allocate(length, dtype)`` may make an array in a file for the cut entries, 24 bytes each; the bits stay the same.
    """
    settings = settings or EntrySettings()
    pairs = stored_pairs(X, weights)
    check_entries_fit(pairs, n_components)
    with one_blas_thread():
        executor = on_this_machine(executor, "learning from entries")
        learner = EntryLearner(pairs, (penalty, n_components), settings, executor, allocate)
        return learner.learned(resume, on_step)


def check_entries_fit(pairs: Pairs, n_components: int) -> None:
    """Refuse sizes whose codes and dictionary do not fit into the memory of this machine."""
    (V, C), M = pairs.shape, n_components
    check_room(f"codes of {M:,} numbers for {V:,} words and {C:,} contexts", 8.0 * M * (V + C))


class EntryLearner:
    """Makes passes; ``state`` is where it stands."""

    state: EntryState

    def __init__(
        self, pairs: Pairs, penalty: tuple[Penalty, int], settings: EntrySettings, executor: Executor,
        allocate: Allocate,
    ) -> None:  # fmt: skip
        self.penalty, self.n_components = penalty
        self.tree = tree_of(*penalty)
        self.settings, self.executor = settings, executor
        self.size, largest = typical_and_largest(pairs)
        self.strata = cut(
            pairs, settings.zeros, blocks=self._blocks(len(pairs)), proportional=settings.sampling == "proportional",
            seed=settings.seed, executor=executor, allocate=allocate,
        )  # fmt: skip
        masses = self._per_word(self.strata.word_mass), self._per_context(self.strata.context_mass)
        charged = masses if settings.share == "visit" else (1.0, 1.0)
        self.objective = self._objective(pairs, charged)
        self.rule = Rule(settings.sampling == "uniform", settings.lazy, _WILD * largest)
        self.notices: list[str] = []

    def _blocks(self, n_pairs: int) -> int:  # noqa: ARG002 a device looks at the pairs
        """Return P, into how many blocks words and contexts are cut."""
        return self.settings.blocks

    def _objective(self, pairs: Pairs, charged: tuple[Any, Any]) -> EntryObjective:
        settings = self.settings
        return EntryObjective(pairs, self.penalty, settings.tau, settings.zeros, charged, settings.seed)

    @property
    def n_rounds(self) -> int:
        """Rounds of a pass, each with its own step size and pull of the unstored pairs."""
        return self.strata.P

    def _per_word(self, values: Array) -> Array:
        """Return numbers of the words as ordered in the blocks, in the order of X."""
        return np.asarray(values[np.argsort(self.strata.words)])

    def _per_context(self, values: Array) -> Array:
        return np.asarray(values[np.argsort(self.strata.contexts)])

    def begin(self) -> None:
        """Start from random D and A, and find a step size if none is given."""
        self.state = self._start()
        if self.settings.eta is None:
            self.state.eta = self._search()

    def _start(self) -> EntryState:
        """Return random D and A; rows without entries are zero."""
        M = self.n_components
        rng = np.random.default_rng((self.settings.seed, 1))
        scale = np.float32(np.sqrt(_START * self.size / np.sqrt(M)))
        D = scale * rng.standard_normal((len(self.strata.contexts), M), dtype=np.float32)
        A = scale * rng.standard_normal((len(self.strata.words), M), dtype=np.float32)
        D[self._per_context(self.strata.context_mass) == 0] = 0
        A[self._per_word(self.strata.word_mass) == 0] = 0
        A = abs(A) if is_nonnegative(self.penalty) else A
        kept = self.settings.schedule == "adagrad"
        of_words, of_contexts = (np.ones(len(rows) if kept else 0, dtype=np.float32) for rows in (A, D))  # as GloVe
        return EntryState(D, A, self.settings.eta or 0.0, of_words, of_contexts)

    def go_on(self, state: EntryState) -> None:
        """Start from where an earlier learner stood."""
        self.state = replace(state, history=list(state.history))

    def learned(self, resume: EntryState | None, on_step: OnPass | None) -> LearnedFromEntries:
        """Learn from the beginning, or from a state, to the end."""
        self.begin() if resume is None else self.go_on(resume)
        self.learn(on_step)
        state = self.state
        return LearnedFromEntries(
            state.D, state.A, float("nan"), self.converged, state.history, 0, self.notices, state.eta
        )

    def learn(self, on_step: OnPass | None) -> None:
        """Make passes until the stopping rule is met."""
        history = self.state.history
        objective = history[-1].objective if history else self.objective(self.state.D, self.state.A, self.executor)
        while len(history) < self.settings.epochs and not self.converged:
            epoch, before = len(history) + 1, objective
            objective = self._pass_within_bounds(epoch, before)
            A = self.state.A
            nonzeros = float(uses(A).sum()) / (A.shape[0] * A.shape[1])
            history.append(Step(epoch, 1, epoch * len(A), objective, before - objective, nonzeros))
            if on_step:
                on_step(history[-1], self.state)
        if not self.state.A.any():
            self.notices.append(
                f"all codes are zero: lam = {self.penalty.lam:g} is too large for these data. Lower it."
            )

    @property
    def converged(self) -> bool:
        """Whether the last pass, not the first, hardly lowered the objective; a rise is noise of large steps."""
        history = self.state.history
        return len(history) > 1 and 0 <= history[-1].gain <= self.settings.tol * history[-1].objective

    def _pass_within_bounds(self, epoch: int, before: float) -> float:
        """Make a pass and return the objective; go back and halve the step size as long as it diverges."""
        for _ in range(_HALVINGS):
            state, sane = self._rounds(epoch, self.state.eta, self.n_rounds)
            objective = self.objective(state.D, state.A, self.executor) if sane else np.inf
            if objective <= before * _RISE:
                self.state = state
                return objective
            self.notices.append(f"pass {epoch} diverged with eta = {self.state.eta:g}: went back and halved it.")
            self.state.eta /= 2
        raise InputError(
            f"pass {epoch} diverges even with eta = {self.state.eta:g}: the values of X or its weights differ too "
            "much. Scale or clip them."
        )

    def _rounds(self, epoch: int, eta: float, n_rounds: int, n_blocks: int | None = None) -> tuple[EntryState, bool]:
        """Return where rounds of a pass lead to, and whether all stayed within bounds; the state stays as it is."""
        words, contexts, M = self.strata.words, self.strata.contexts, self.state.A.shape[1]
        columns = self.tree.columns
        work = _arranged(replace(self.state, eta=eta), words, contexts, columns, -(-M // LANES) * LANES)
        sane = all(self._round(epoch, number, work, n_blocks) for number in range(n_rounds)) and _is_bounded(work)
        return _arranged(work, np.argsort(words), np.argsort(contexts), np.argsort(columns), M), sane

    def _round(self, epoch: int, number: int, work: EntryState, n_blocks: int | None) -> bool:
        """Visit the blocks of a round; False if anything got out of bounds."""
        if self.settings.zeros > 0 and not _is_bounded(work):  # DD and AA would not be finite
            return False
        seed = (self.settings.seed, 2, epoch)
        words, contexts = self._sides(work, self._decay(epoch, number))

        def visit_block(block: tuple[int, int]) -> bool:
            return visit(*self.strata.visits(*block, seed), words, contexts, self.tree, self.rule)

        return all(list(self.executor.map(visit_block, self.strata.rounds(seed)[number][:n_blocks])))

    def _decay(self, epoch: int, number: int) -> float:
        """Return by what the steps of a round are smaller than the first ones."""
        passes = max(epoch - 1, 0) + number / self.n_rounds  # done so far
        if self.settings.schedule == "linear":
            return 1 - passes / self.settings.epochs
        return 1 / (1 + passes) if self.settings.schedule == "inverse" else 1.0

    def _sides(self, state: EntryState, decay: float) -> tuple[Side, Side]:
        """Return what the visits of a round see of the words and of the contexts."""
        strata, lam, tau = self.strata, self.penalty.lam, self.settings.tau
        DD = AA = None
        steps = state.eta, decay
        if self.settings.zeros > 0:
            DD, AA = gram(state.D, self.executor), gram(state.A, self.executor)
        return (
            self._side(state.A, state.word_squares, lam, (strata.word_mass, strata.word_share), steps, DD),
            self._side(state.D, state.context_squares, tau, (strata.context_mass, strata.context_share), steps, AA),
        )

    def _side(
        self, rows: Array, squares: Array, charge: float, mass: tuple[Array, Array], steps: tuple[float, float],
        other: Array | None,
    ) -> Side:  # fmt: skip
        """Return a side; ``mass`` is that of every row, and its largest share in one block; ``other`` is DD or AA."""
        W, n = self.settings.zeros, len(rows)
        eta, decay = steps
        total, largest = mass
        per_visit = np.divide(1.0, total, out=np.zeros(n), where=total > 0)
        rates = np.empty((n, 2), dtype=np.float32)
        rates[:, 1] = charge * per_visit if self.settings.share == "pass" else charge
        if other is None:
            rates[:, 0] = decay * eta
            return Side(rows, rates, np.empty((0, rows.shape[1]), dtype=np.float32), squares)
        curvature = 2 * W / self.strata.mean * largest * float(np.linalg.eigvalsh(other)[-1])  # of a round, (n,)
        rates[:, 0] = decay * eta / (1 + CAUTION * eta * curvature)  # decay outside, or the cut would eat it
        pull, gradient = np.empty_like(rows), other.astype(np.float32)

        def multiply(part: slice) -> None:
            pull[part] = (rows[part] @ gradient) * (W * per_visit[part, None]).astype(np.float32)

        list(self.executor.map(multiply, slices(n)))
        return Side(rows, rates, pull, squares)

    def _search(self) -> float:
        """Return the step size, a power of two apart, whose first visits lower the objective most."""
        n_rounds, n_blocks = self._trial_size()

        def trial(eta: float) -> float:
            state, sane = self._rounds(0, eta, n_rounds, n_blocks)
            return self.objective.estimate(state.D, state.A, self.executor) if sane else np.inf

        eta = _FIRST_ETA / self.size
        score = trial(eta)
        for factor in (2.0, 0.5):
            moved = False
            for _ in range(_TRIALS):
                other = trial(eta * factor)
                if not (other < score or (factor < 1 and np.isinf(score))):
                    break
                eta, score, moved = eta * factor, other, True
            if moved:
                break
        return eta

    def _trial_size(self) -> tuple[int, int]:
        """Return rounds, and blocks of each, with about ``_TRIAL`` visits: at most a pass, at least a block."""
        P = self.n_rounds
        visits = int(self.strata.starts[-1]) / P  # in a round
        if self.settings.zeros > 0:  # the pull of unstored pairs answers from round to round
            return int(np.clip(np.ceil(_TRIAL / visits), min(_TRIAL_ROUNDS, P), P)), P
        return int(np.clip(np.ceil(_TRIAL / visits), 1, P)), int(np.clip(np.ceil(P * _TRIAL / visits), 1, P))


def _arranged(state: EntryState, words: Array, contexts: Array, columns: Array, width: int) -> EntryState:
    """Return a copy of a state with its rows and columns in another order, and zeros behind them up to a width."""

    def arrange(rows: Array, order: Array) -> Array:
        out = np.zeros((len(rows), width), dtype=rows.dtype)
        out[:, : len(columns)] = rows[order][:, columns]
        return out

    of_words, of_contexts = state.word_squares, state.context_squares
    return EntryState(
        arrange(state.D, contexts), arrange(state.A, words), state.eta, of_words[words] if len(of_words) else of_words,
        of_contexts[contexts] if len(of_contexts) else of_contexts, state.history,
    )  # fmt: skip


def _is_bounded(state: EntryState) -> bool:
    """Return whether D and A are numbers that float32 can work with."""
    return all(max(rows.max(), -rows.min()) < BOUND for rows in (state.D, state.A))  # false for NaN, too
