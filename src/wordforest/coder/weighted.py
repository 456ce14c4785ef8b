"""Learner 1 under confidence weights: all words, then the dictionary, in turn, until a pass gains little.

    sum over stored of w (x - d.a)^2  +  W sum over unstored of (d.a)^2  +  lam sum_v Omega(a_v)
        with every column of D of length <= 1, or with tau |D|^2 in place of that bound

Under weights every word has a Gram matrix of its own, so no sums of fixed size tell all about the words seen; instead
both halves of a pass go through the stored pairs, by rows and by columns. The objective never rises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wordforest.coder import kernels
from wordforest.coder.descent import descend, descend_together, in_unit_balls
from wordforest.coder.encode import as_rows, check_learning_fits, finite_squares, split_blocks
from wordforest.coder.kernels.forms import Factor, Quadratic
from wordforest.coder.losses import Loss, gram, slices, weighted_loss
from wordforest.coder.online import Learned, Step, random_atoms
from wordforest.coder.pairs import Pairs
from wordforest.coder.penalties import NonNegativeL1, NoPenalty, Penalty
from wordforest.coder.sides import sides_of
from wordforest.errors import InputError
from wordforest.runtime.threads import Executor, Threads, on_this_machine, one_blas_thread

Array = Any  # a NumPy array or a PyTorch tensor

_HEADROOM = 100.0  # of products of a few squares
_EASE = 0.9  # of the curvatures that the pass before has found: the dictionary has moved since


@dataclass(frozen=True)
class WeightedSettings:
    """How to learn. ``tau`` is a ridge on the dictionary in place of the unit balls."""

    epochs: int = 30
    tol: float = 2e-3  # stop when a pass lowers the objective by less than this share
    code_iter: int = 6  # steps on the words in a pass
    dictionary_iter: int = 3  # steps on the dictionary in a pass
    exact_iter: int = 40  # steps at most on the words in the last pass
    exact_tol: float = 1e-3  # the last pass ends when no word of a block moves by more than this share of its length
    tau: float | None = None
    seed: int = 0
    nonnegative: bool = False  # atoms without negative values

    def __post_init__(self) -> None:
        for name in ("epochs", "code_iter", "dictionary_iter", "exact_iter"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} = {getattr(self, name)}, but it must be a whole number >= 1.")
        for name in ("tol", "exact_tol", "tau"):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and value >= 0):
                raise InputError(f"{name} = {value}, but it must be a finite number >= 0.")


@dataclass(eq=False)
class WeightedState:
    """All that learning needs to go on from a pass to the same bits.

    D (C, M), A (V, M), and the curvatures found so far for the words (V,) and the contexts (C,).
    """

    D: Array
    A: Array
    word_curvatures: Array
    context_curvatures: Array
    history: list[Step] = field(default_factory=list)


OnPass = Callable[[Step, WeightedState], None]


def learn_weighted(
    X: Any,
    loss: Loss,
    penalty: Penalty,
    n_components: int,
    settings: WeightedSettings | None = None,
    *,
    start: tuple[Array, Array | None] | None = None,
    resume: WeightedState | None = None,
    executor: Executor | None = None,
    on_step: OnPass | None = None,
) -> Learned:
    """Learn a dictionary with ``n_components`` atoms and the codes of all rows of a sparse X (V, C) under a loss.

    ``start`` holds the first dictionary (C, M), random directions if left out, and the first codes (V, M), zeros if
    None. ``on_step`` is called after every pass with the state, which is good until the next one; ``resume`` goes on
    from such a state, to the same bits. X may be rows on a device (``DeviceRows``). ``gap`` of the result is NaN.
    """
    settings = settings or WeightedSettings()
    with one_blas_thread():
        learner = _Learner(X, loss, penalty, settings, on_this_machine(executor, "coding under weights"))
        learner.begin(start, n_components) if resume is None else learner.go_on(resume)
        learner.learn(on_step)
    state = learner.state
    return Learned(state.D, state.A, float("nan"), learner.converged, state.history, 0, learner.notices)


def encode_weighted(
    X: Any,
    loss: Loss,
    D: Array,
    penalty: Penalty,
    settings: WeightedSettings | None = None,
    *,
    executor: Executor | None = None,
) -> Array:
    """Code all rows of a sparse X (V, C) with the dictionary D (C, M) under a loss; return A (V, M)."""
    with one_blas_thread():
        learner = _Learner(
            X, loss, penalty, settings or WeightedSettings(), on_this_machine(executor, "coding under weights")
        )
        learner.begin((D, None), D.shape[1])
        learner.code(learner.settings.exact_iter, learner.settings.exact_tol)
    A = learner.state.A
    if not np.isfinite(kernels.inner(A, A)):
        raise InputError("the codes are not finite: the values of X are too large. Scale the data, or use float64.")
    return A


class _Learner:
    """Makes passes; ``state`` is where it stands."""

    state: WeightedState

    def __init__(self, X: Any, loss: Loss, penalty: Penalty, settings: WeightedSettings, executor: Executor) -> None:
        if not (hasattr(X, "tocsr") or isinstance(X, kernels.DeviceRows)):
            raise InputError(
                f"X is a {type(X).__name__}, but weights are those of stored pairs. Give a SciPy sparse matrix."
            )
        self.on_host = not isinstance(X, kernels.DeviceRows)
        self.X = X = as_rows(X) if self.on_host else X
        loss.check(X)
        _check_range(X, loss)
        self.loss, self.penalty, self.settings = loss, penalty, settings
        self.executor = executor if self.on_host else Threads(1)
        self.words, self.contexts = sides_of(X, loss)
        self.converged = False
        self.notices: list[str] = []

    def begin(self, start: tuple[Array, Array | None] | None, n_components: int) -> None:
        """Start from a dictionary, and from codes of zeros if there are none."""
        D, A = start or (None, None)
        check_learning_fits(self.X.shape[0], self.X.shape[1], n_components if D is None else D.shape[1])
        if D is None:
            seed, nonnegative = self.settings.seed, self.settings.nonnegative
            D = random_atoms(self.X.shape[1], n_components, seed, nonnegative=nonnegative)
        D = self._own(D)
        A = kernels.zeros((self.X.shape[0], D.shape[1]), D) if A is None else self._own(A)
        self.state = WeightedState(D, A, A[:, 0] * 0, D[:, 0] * 0)

    def go_on(self, state: WeightedState) -> None:
        """Start from where an earlier learner stood."""
        curvatures = self._own(state.word_curvatures), self._own(state.context_curvatures)
        self.state = WeightedState(self._own(state.D), self._own(state.A), *curvatures, list(state.history))

    def learn(self, on_step: OnPass | None) -> None:
        """Make passes until one gains little, then code all words to the end."""
        settings, history = self.settings, self.state.history
        objective = history[-1].objective if history else self.objective()
        while len(history) < settings.epochs and not self.converged:
            self.code(settings.code_iter)
            self._move_dictionary()
            before, objective = objective, self.objective()
            self.converged = before - objective <= settings.tol * objective
            self._record(1, objective, before - objective, on_step)
        if not self.converged:
            self.notices.append(f"the objective still falls after {settings.epochs} passes. Allow more epochs.")
        self.code(settings.exact_iter, settings.exact_tol)
        self._record(0, self.objective(), 0.0, on_step)
        if not self.state.A.any():
            self.notices.append(
                f"all codes are zero: lam = {self.penalty.lam:g} is too large for these data. Lower it."
            )

    def objective(self) -> float:
        """Return the objective, in float64, after checking that it is a number."""
        with np.errstate(over="ignore", invalid="ignore"):
            objective = self._objective()
        if not np.isfinite(objective):
            raise InputError("the values of X or its weights are too large, or not finite. Mend or scale the data.")
        return objective

    def _objective(self) -> float:
        state, zeros = self.state, self.loss.zeros
        total = float(self.penalty.per_word(state.A).sum()) + (self.settings.tau or 0) * kernels.inner(state.D, state.D)
        if not self.on_host:
            return total + float(self.words.true_loss(state.D, state.A))
        weights = np.broadcast_to(np.float32(1), self.X.nnz) if self.loss.weights is None else self.loss.weights
        pairs = Pairs(self.X.data, self.X.indices, self.X.indptr, weights, self.X.shape, self.X.dtype)
        return total + weighted_loss(pairs, zeros, state.D, state.A, self.executor)

    def code(self, n_iter: int, tol: float = 0.0) -> None:
        """Take steps on the codes of all words."""
        state = self.state
        self._improve(self.words, (state.A, state.word_curvatures), state.D, self.penalty, n_iter, tol)

    def _move_dictionary(self) -> None:
        """Take steps on the dictionary: row by row under a ridge, all rows together under the bound of its columns."""
        state, n_iter = self.state, self.settings.dictionary_iter
        if self.settings.tau is None:
            self._improve_together(n_iter)
            return
        bound = NonNegativeL1(0.0) if self.settings.nonnegative else NoPenalty()
        self._improve(
            self.contexts, (state.D, state.context_curvatures), state.A, bound, n_iter, ridge=self.settings.tau
        )

    def _improve(
        self, side: Any, rows: tuple[Array, Array], F: Array, penalty: Penalty, n_iter: int, tol: float = 0.0,
        ridge: float = 0.0,
    ) -> None:  # fmt: skip
        """Take steps on the rows of one side, with the curvatures known so far, block by block."""
        values, curvatures = rows
        factor = self._factor(side, F)
        n_products = n_iter + 2

        def solve(block: Array) -> None:
            form = side.quadratic(block, factor, n_products)
            form = _ridged(form, ridge) if ridge else form
            found = descend(form, penalty, values[block], curvatures[block] * _EASE, n_iter, tol)
            values[block], curvatures[block] = found

        list(self.executor.map(solve, self._blocks(side, n_products)))

    def _improve_together(self, n_iter: int) -> None:
        state, executor = self.state, self.executor
        factor = self._factor(self.contexts, state.A)
        blocks = self._blocks(self.contexts, 1)
        forms = list(executor.map(lambda rows: self.contexts.quadratic(rows, factor, 1), blocks))
        linear = state.D * 0
        for rows, form in zip(blocks, forms, strict=True):
            linear[rows] = form.linear

        def times(D: Array) -> Array:
            out = D * 0

            def multiply(block: tuple[Array, Quadratic]) -> None:
                out[block[0]] = block[1].times(D[block[0]])

            list(executor.map(multiply, zip(blocks, forms, strict=True)))
            return out

        def bounded(U: Array, L: Array) -> Array:
            return in_unit_balls(U, L, self._column_sums, nonnegative=self.settings.nonnegative)

        found = descend_together(Quadratic(linear, times), bounded, state.D, state.context_curvatures * _EASE, n_iter)
        state.D, state.context_curvatures = found

    def _column_sums(self, U: Array, L: Array, multipliers: Array) -> tuple[Array, Array]:
        """Return sums over contexts of ``d^2`` and ``d^2 / (L + mu)``, ``d = L u / (L + mu)``, (M,) each, float64."""
        if not self.on_host:
            below = (L + multipliers).double()
            squares = (U * L).double().div_(below).square_()
            return squares.sum(0), squares.div_(below).sum(0)

        def add_up(part: slice) -> Array:
            from wordforest.coder.kernels.sampled import shrunk_squares

            sums = np.zeros((2, U.shape[1]))
            shrunk_squares(U[part], L[part, 0], multipliers.astype(np.float64), sums[0], sums[1])
            return sums

        squares, slopes = sum(self.executor.map(add_up, slices(len(U))))
        return squares, slopes

    def _factor(self, side: Any, F: Array) -> Factor:
        products = gram(F, self.executor) if self.on_host else F.T @ F
        factor: Factor = side.factor(F, products)
        return factor

    def _blocks(self, side: Any, n_products: int) -> list[Array]:
        """Deal the rows of a side out to blocks that depend on their number alone."""
        rows = kernels.placed(np.arange(len(side)), self.state.D)
        M = self.state.D.shape[1]
        return split_blocks(rows, M, side.block_values(M, n_products))

    def _own(self, values: Array) -> Array:
        """Return a copy of values of the type of X, where X is."""
        if self.on_host:
            return np.array(values, dtype=self.X.dtype, order="C")
        return kernels.placed(values, self.X.rows.values).to(self.X.dtype, copy=True)

    def _record(self, batch: int, objective: float, gain: float, on_step: OnPass | None) -> None:
        """Note a pass; batch 0 is the last one."""
        state = self.state
        n_words, M = state.A.shape
        seen = (len(state.history) + 1) * n_words
        nonzeros = float(kernels.uses(state.A).sum()) / (n_words * M)
        state.history.append(Step(len(state.history) + 1, batch, seen, objective, gain, nonzeros))
        if on_step:
            on_step(state.history[-1], state)


def _check_range(X: Any, loss: Loss) -> None:
    """Refuse rows whose weighted squares are beyond the type of X: steps on them would stop at zero without a word."""
    squares = kernels.on_host(finite_squares(X))
    heaviest = 1.0 if loss.weights is None else float(np.max(kernels.on_host(loss.weights), initial=1.0))
    largest = np.finfo(np.float32 if X.dtype.itemsize == 4 else np.float64).max / _HEADROOM
    beyond = np.flatnonzero(squares > largest / heaviest)
    if len(beyond):
        raise InputError(f"row {beyond[0]} of X holds values too large to square and weigh. Scale the data.")


def _ridged(form: Quadratic, ridge: float) -> Quadratic:
    return Quadratic(form.linear, lambda A: form.times(A) + ridge * A)
