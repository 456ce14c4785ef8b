"""Learner 1 under confidence weights: all words, then the dictionary, in turn.

    sum over stored of w (x - d.a)^2  +  W sum over unstored of (d.a)^2  +  lam sum_v Omega(a_v)
        with every column of D of length <= 1

Under weights every word has a Gram matrix of its own, so no sums of fixed size tell all about the words seen; instead
both halves of a pass go through the stored pairs, by rows and by columns. The objective never rises.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wordforest.coder import kernels
from wordforest.coder.descent import descend_together, in_unit_balls
from wordforest.coder.dictionary import random_columns
from wordforest.coder.learn import Learned, Learner, Moved, OnStep, State, TolOf, check_learning_fits, learn
from wordforest.coder.penalties import Penalty
from wordforest.coder.rows import Rows, as_rows
from wordforest.coder.rows.base import Loss
from wordforest.coder.rows.weighted import Factor, builds_forms, check_range
from wordforest.errors import InputError
from wordforest.options import Checked, default
from wordforest.runtime.machine import Executor, one_blas_thread

Array = Any  # a NumPy array or a PyTorch tensor

_VISITS = 8  # steps of the last pass where each goes through all pairs: quadratic forms are too wide to be built
_EASE = 0.9  # of the curvatures that the pass before has found: the codes have moved since


@dataclass(frozen=True)
class WeightedSettings(Checked):
    """How to learn under weights.

    Args:
        epochs: Passes at most.
        tol: Stop when a pass lowers the objective by less than this share.
        tol_of: What ``tol`` is a share of: objective or penalty.
        code_iter: Steps on the words in a pass.
        dictionary_iter: Steps on the dictionary in a pass.
        exact_iter: Steps at most on the words in the last pass.
        exact_tol: The last pass ends when no word of a block moves by more than this share of its length.
        seed: Of the start.
        nonnegative: Atoms without negative values.
        revive: Atoms that no word uses start anew.

    Examples:
        >>> import wordforest as wf
        >>> wf.coder.WeightedSettings(epochs=5).code_iter
        6
    """

    fewest_epochs = 0
    epochs: int = default("epochs", "weighted")
    tol: float = default("tol", "weighted")
    tol_of: TolOf = default("tol_of")
    code_iter: int = 6
    dictionary_iter: int = 3
    exact_iter: int = 40
    exact_tol: float = 1e-3
    seed: int = 0
    nonnegative: bool = False
    revive: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("code_iter", "dictionary_iter", "exact_iter"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} = {getattr(self, name)}, but it must be a whole number >= 1.")


def learn_weighted(
    X: Any,
    loss: Loss,
    penalty: Penalty,
    n_components: int,
    settings: WeightedSettings | None = None,
    *,
    start: tuple[Array, Array | None] | None = None,
    resume: State | None = None,
    executor: Executor | None = None,
    on_step: OnStep | None = None,
) -> Learned:
    """Learn a dictionary D (C, M), M = ``n_components``, and the codes A (V, M) of X (V, C) under a loss.

    Minimises the ``loss`` plus ``lam sum_v Omega(a_v)`` with columns of D of length at most 1. ``start`` holds the
    first dictionary (C, M), random directions if left out, and the first codes (V, M), zeros if None. ``on_step(step,
    state)`` hears of every step, and ``resume`` goes on from such a state. All pairs of a dense X are stored ones.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> from scipy.sparse import csr_array
        >>> X = csr_array([[4.0, 2, 0, 0], [5, 3, 0, 0], [0, 0, 4, 3], [0, 0, 2, 3]])
        >>> loss = wf.coder.Loss(weights=np.abs(X.data), zeros=0.5)
        >>> penalty = wf.coder.ForestL2(wf.Forest([-1, -1]), lam=0.1)
        >>> learned = wf.coder.learn_weighted(X, loss, penalty, n_components=2)
        >>> learned.D.shape, learned.A.shape
        ((4, 2), (4, 2))
    """
    learner = Weighted(as_rows(X, executor), loss, penalty, n_components, settings, start)
    return learn(learner, resume=resume, on_step=on_step)


def encode_weighted(
    X: Any,
    loss: Loss,
    D: Array,
    penalty: Penalty,
    settings: WeightedSettings | None = None,
    *,
    executor: Executor | None = None,
) -> Array:
    """Code all rows of X (V, C) with the dictionary D (C, M) under a loss; return A (V, M).

    ``min_a`` of ``sum over stored c of w_vc (x_vc - d_c . a)^2 + W sum over unstored c of (d_c . a)^2 + lam Omega(a)``.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> X, D = np.array([[1.0, 3.0]]), np.array([[1.0], [1.0]])
        >>> loss = wf.coder.Loss(weights=np.array([1.0, 3.0]))  # the second pair counts three times
        >>> wf.coder.encode_weighted(X, loss, D, wf.coder.NoPenalty()).round(2)
        array([[2.5]])
    """
    with one_blas_thread():
        learner = Weighted(as_rows(X, executor), loss, penalty, D.shape[1], settings, (D, None))
        learner.begin()
        learner.code_to_the_end()
    if not np.isfinite(kernels.inner(learner.A, learner.A)):
        raise InputError("the codes are not finite: the values of X are too large. Scale the data, or use float64.")
    return learner.A


class Weighted(Learner):
    """Takes steps on all words, then on the dictionary, each row at a step size of its own."""

    D: Array
    A: Array
    word_curvatures: Array  # (V,), found so far
    context_curvatures: Array  # (C,)

    def __init__(
        self,
        rows: Rows,
        loss: Loss,
        penalty: Penalty,
        n_components: int,
        settings: WeightedSettings | None = None,
        start: tuple[Array, Array | None] | None = None,
    ) -> None:
        super().__init__()
        self.settings = settings = settings or WeightedSettings()
        self.rows, self.loss, self.penalty, self.start = rows, loss, penalty, start
        self.M = n_components if start is None else start[0].shape[1]
        self.epochs, self.tol, self.tol_of = settings.epochs, settings.tol, settings.tol_of
        self.revive, self.nonnegative = settings.revive, settings.nonnegative
        check_learning_fits(self.M, rows.words_here, rows.shape[1])
        check_range(rows.finite_squares(), loss.heaviest, rows.dtype)
        self.words, self.contexts = rows.weighted(loss, self.M)
        self.gap = float("nan")

    def begin(self) -> None:
        """Start from a dictionary, and from codes of zeros if there are none."""
        (V, C), (D, A) = self.rows.shape, self.start or (None, None)
        if D is None:
            D = random_columns((C, self.M), self.settings.seed, nonnegative=self.nonnegative, like=self.rows.like)
        self.D = self.rows.own(D)
        self.A = self.rows.zeros((V, self.M))
        if A is not None:
            self.A[:] = kernels.placed(A, self.rows.like)
        self.word_curvatures, self.context_curvatures = self.A[:, 0] * 0, self.D[:, 0] * 0

    def load(self, arrays: dict[str, Array]) -> None:
        """Start from what an earlier learner saved."""
        self.D, self.A, self.word_curvatures, self.context_curvatures = map(
            self.rows.own, (arrays[name] for name in ("D", "A", "word_curvatures", "context_curvatures"))
        )

    def saved(self) -> dict[str, Array]:
        """Return what ``load`` needs."""
        curvatures = {"word_curvatures": self.word_curvatures, "context_curvatures": self.context_curvatures}
        return {"D": self.D, "A": self.A, **curvatures}

    def step(self, epoch: int, batch: Any, before: float) -> Moved:  # noqa: ARG002 there is one batch
        """Improve all codes, then the dictionary."""
        self.code(self.settings.code_iter)
        self._move_dictionary()
        objective = self.objective()
        return Moved(objective, before - objective, self.rows.shape[0])

    def finish(self) -> Moved:
        """Code all words to the end, and say how far they may be from it; without a penalty no bound is known."""
        self.code_to_the_end()
        if self.penalty.lam > 0:
            self.gap = self.words.gap(self.A, self._factor(self.D), self.penalty)
        return Moved(self.objective(), 0.0, self.rows.shape[0])

    def code(self, n_iter: int, tol: float = 0.0) -> None:
        """Take steps on the codes of all words."""
        self.words.improve(self.A, self.word_curvatures, self._factor(self.D), self.penalty, n_iter, tol)

    def code_to_the_end(self) -> None:
        """Take steps until no word moves much."""
        n_iter = self.settings.exact_iter
        n_iter = n_iter if builds_forms(self.M, n_iter) else min(n_iter, _VISITS)
        self.code(n_iter, self.settings.exact_tol)

    def objective(self) -> float:
        """Return the objective, in float64."""
        with np.errstate(over="ignore", invalid="ignore"):
            total = self.omega()
            loss = sum(self.words.stored_losses(self.A, self.D))
            if self.loss.zeros > 0:  # over all pairs, of which the stored ones take their share back
                products = (kernels.wide_gram(F, self.rows.executor) for F in (self.A, self.D))
                loss += self.loss.zeros * kernels.inner(*products)
            total += loss
        if not np.isfinite(total):
            raise InputError("the values of X or its weights are too large, or not finite. Mend or scale the data.")
        return total

    def facts(self) -> dict[str, float]:
        """Return the worst gap, where a bound is known."""
        return {} if np.isnan(self.gap) else {"gap": self.gap}

    def losses(self) -> Array:
        """Return the loss of every word, (V,)."""
        return self.words.row_losses(self.A, self._factor(self.D))

    def atoms_moved(self) -> None:
        """Forget the curvatures of the contexts: atoms were set from outside."""
        self.context_curvatures = self.context_curvatures * 0

    def _factor(self, F: Array) -> Factor:
        return Factor.of(F, self.rows.executor)

    def _move_dictionary(self) -> None:
        """Take steps on the dictionary, all rows together under the bound of its columns."""

        def bounded(U: Array, L: Array) -> Array:
            return in_unit_balls(U, L, self.rows.executor, nonnegative=self.nonnegative)

        form, known = self.contexts.form(self._factor(self.A)), self.context_curvatures * _EASE
        moved = descend_together(form, bounded, self.D, known, self.settings.dictionary_iter)
        self.D, self.context_curvatures = moved
