"""Learner 2 of the paper, its Algorithm 1: stochastic proximal steps over the stored entries.

A visit of an entry takes one gradient step on the row d_c, one on the code a_v, and the prox of the penalty on a_v.
Stored pairs have weights w (|x| in the paper) and unstored ones all have weight W (0 in the paper). In expectation,
and up to the factor ``1 / mean(w + W)``, a pass goes down the paper's second objective under these weights:

    sum over stored of w (x - d.a)^2  +  W sum over unstored of (d.a)^2  +  lam sum_v Omega(a_v)  +  tau sum_c |d_c|^2

A visit pays its share of lam and tau, by its mass ``w + W`` over that of its row, so that a word pays lam once a pass
however often it is seen. ``tau = lam sum_v Omega(a_v) / (2 M)`` is the ridge under which the M atoms have length one in
the mean square, and lam then weighs what it weighs for the learner online; it is found anew for every pass. Visits see
D and A in a scale in which both are equally large, or no step size would do for both.

Unstored pairs never cost a visit. Their sum is that of all pairs less that of the stored ones. The latter goes into the
residual, ``w (x - d.a)^2 - W (d.a)^2``; the former has gradients ``2 W DD a_v`` and ``2 W AA d_c`` with ``DD = D'D``
and ``AA = A'A``, taken at the start of a round. Each visit carries its share of them, by its mass over that of its row,
so that at the optimum stored and unstored pairs cancel within a round. The step of a row is cut such that the share of
a round stays within what the largest eigenvalue of DD or AA allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.forest import Forest
from wordforest.coder.kernels import gram, slices
from wordforest.coder.kernels.entries import LANES, Rule, Tree, Visited, tree_of, visit, weighted_squares
from wordforest.coder.learn import Learned, Learner, Moved, OnStep, State, learn
from wordforest.coder.penalties import L1, ForestL2, NoPenalty, Penalty
from wordforest.coder.rows import Rows, as_rows
from wordforest.coder.rows.pairs import Allocate, Pairs, SomePairs, stored_pairs, typical_and_largest
from wordforest.coder.strata import Ordered, cut
from wordforest.errors import InputError
from wordforest.options import Checked, default
from wordforest.runtime.machine import Executor, check_room, one_blas_thread

Array = NDArray[Any]

_ROWS = 4096  # that a thread takes at a time
_TRIAL = 1 << 20  # visits that tell how good a step size is
_TRIAL_ROUNDS = 6  # at least, if unstored pairs count
_TRIALS = 24  # step sizes tried at most
_FIRST_ETA = 0.02  # over the typical |x|: the first step size tried
_RISE = 1.25  # times the objective before; more is divergence
_HALVINGS = 60  # of the step size before learning gives up; a pass that diverges is soon left
_WILD = 100  # times the largest value: residuals beyond are divergence
_BOUND = 1e10  # of D and A; sums of cubes of what is larger are beyond float32
_LARGEST = 1e15  # of D and A where their sums of squares are asked for
_CAUTION = 2.0  # a round moves a row by at most 1 / this of what its curvature from unstored pairs allows
_SAMPLE = 1 << 20  # pairs that estimate the objective
_PIECE = 1 << 15  # of them, that a worker takes at a time
_START = 0.01  # first products d.a, as a share of the values of X


@dataclass(frozen=True)
class EntrySettings(Checked):
    """How to learn from entries.

    Args:
        epochs: Passes at most; a pass makes as many visits as there are entries.
        eta: Step size, which falls to zero in a line; searched if None.
        tau: Ridge on the dictionary; if None the one under which atoms have length one in the mean square.
        sampling: proportional draws entries by their weights, uniform all alike.
        zeros: W, the weight of pairs that are not stored.
        blocks: P, rounds of a pass; with unstored pairs, more help. Never the number of workers: bits would differ.
        tol: Stop when a pass lowers the objective by at most this share.
        seed: Of the start and of the order of visits.

    Examples:
        >>> import wordforest as wf
        >>> wf.coder.EntrySettings(epochs=5, zeros=0.0).blocks
        32
    """

    epochs: int = default("epochs", "entries")
    eta: float | None = default("eta", "entries")
    tau: float | None = default("tau")
    sampling: Literal["proportional", "uniform"] = default("sampling")
    zeros: float = default("zeros")
    blocks: int = 32
    tol: float = default("tol", "entries")
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.blocks < 1:
            raise InputError(f"blocks = {self.blocks}, but it must be a whole number >= 1.")


def learn_from_entries(
    X: Any,
    penalty: Penalty,
    n_components: int,
    settings: EntrySettings | None = None,
    *,
    weights: Array | None = None,
    resume: State | None = None,
    executor: Executor | None = None,
    on_step: OnStep | None = None,
    allocate: Allocate = np.empty,
) -> Learned:
    """Learn D (C, M) and A (V, M) from the stored entries of X (V, C), a matrix or Rows, in its type: Algorithm 1.

        sum over stored of w (x - d.a)^2  +  W sum over unstored of (d.a)^2
            +  lam sum_v Omega(a_v)  +  tau sum_c |d_c|^2

    ``weights`` (nnz,) is w, how much each stored pair counts, in the order of ``X.data``; |x| if it is left out.
    ``on_step(step, state)`` hears of every step, and ``resume`` goes on from such a state. For matrices larger than
    memory the arrays of X may be mapped from files, and ``allocate(length, dtype)`` may make an array in a file for the
    cut entries, 24 bytes each in float32; the bits stay the same.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> X = np.array([[4, 2, 0, 0], [5, 3, 0, 0], [0, 0, 4, 3], [0, 0, 2, 3]], float)
        >>> penalty = wf.coder.ForestL2(wf.Forest([-1, -1]), lam=0.01)
        >>> learned = wf.coder.learn_from_entries(X, penalty, n_components=2)
        >>> learned.D.shape, learned.A.shape
        ((4, 2), (4, 2))
    """
    learner = Entries(as_rows(X, executor), penalty, n_components, settings, weights, allocate)
    return learn(learner, resume=resume, on_step=on_step)


class EntryObjective:
    """The objective of the entry learner as a function of D (C, M) and A (V, M).

        sum over stored of w (x - d.a)^2  +  W sum over unstored of (d.a)^2
            +  lam sum_v Omega(a_v)  +  tau sum_c |d_c|^2

    With w = 1 and W = 0 this is the paper's second objective, and with w = W = 1 and tau = 0 it is ``objective``.
    """

    def __init__(self, pairs: Pairs, penalty: Penalty, tau: float, zeros: float, seed: int) -> None:
        self.pairs, self.penalty, self.tau, self.zeros = pairs, penalty, tau, zeros
        self.sample = pairs.sample(_SAMPLE, np.random.default_rng((seed, 3)))

    def __call__(self, D: Array, A: Array, executor: Executor) -> float:
        """Return the objective over all pairs; sums run in a fixed order."""

        def stored(chosen: slice) -> float:
            return float(weighted_squares(self.pairs.part(chosen), self.zeros, A, D))

        return self._with_rest(sum(executor.map(stored, self.pairs.slices())), D, A, executor)

    def estimate(self, D: Array, A: Array, executor: Executor) -> float:
        """Return the same with the stored pairs judged by a fixed sample of them."""
        n = len(self.sample.words)
        pieces = [SomePairs(*(array[i : i + _PIECE] for array in self.sample)) for i in range(0, n, _PIECE)]
        stored = sum(executor.map(lambda piece: weighted_squares(piece, self.zeros, A, D), pieces))
        return self._with_rest(len(self.pairs) / n * stored, D, A, executor)

    def _with_rest(self, stored: float, D: Array, A: Array, executor: Executor) -> float:
        """Add ``W |A D'|^2``, of which the stored pairs have taken their share back, the penalty and the ridge."""
        charges = float(self.penalty.per_word(A).sum()) + self.tau * _size(D) ** 2
        if self.zeros > 0:
            if not _are_bounded(D, A, _LARGEST):
                return np.inf
            stored += self.zeros * float((gram(A, executor) * gram(D, executor)).sum())
        return stored + charges


class Entries(Learner):
    """Visits the stored pairs, strata by strata; a pass that diverges is taken back with half the step size."""

    D: Array
    A: Array
    eta: float
    anneals = True  # and no atom is dead: codes begin at random

    def __init__(
        self,
        rows: Rows,
        penalty: Penalty,
        n_components: int,
        settings: EntrySettings | None = None,
        weights: Array | None = None,
        allocate: Allocate = np.empty,
    ) -> None:
        super().__init__()
        (V, C), M, kind = rows.shape, n_components, rows.dtype
        check_room(f"codes of {M:,} numbers for {V:,} words and {C:,} contexts", 2.0 * kind.itemsize * M * (V + C))
        self.rows, self.executor, self.kind = rows, rows.executor, kind
        self.settings = settings = settings or EntrySettings()
        self.epochs, self.tol = settings.epochs, settings.tol
        self.penalty, self.n_components = penalty, n_components
        pairs = stored_pairs(rows.pairs(), weights)
        self.tree = _tree(penalty, n_components, kind)
        self.size, largest = typical_and_largest(pairs)
        with one_blas_thread():
            self.strata = strata = cut(
                pairs,
                settings.zeros,
                blocks=settings.blocks,
                proportional=settings.sampling == "proportional",
                seed=settings.seed,
                executor=self.executor,
                allocate=allocate,
            )
        of_words, of_contexts = (side.mass[np.argsort(side.order)] for side in (strata.words, strata.contexts))
        self.masses = of_words, of_contexts
        self._goal = EntryObjective(pairs, penalty, settings.tau or 0.0, settings.zeros, settings.seed)
        self.rule = Rule(settings.sampling == "uniform", _WILD * largest)

    def begin(self) -> None:
        """Start from random D and A, rows without entries zero, and find a step size if none is given."""
        M, (of_words, of_contexts) = self.n_components, self.masses
        rng = np.random.default_rng((self.settings.seed, 1))
        scale = np.float32(np.sqrt(_START * self.size / np.sqrt(M)))
        D = scale * rng.standard_normal((len(of_contexts), M), dtype=np.float32)
        A = scale * rng.standard_normal((len(of_words), M), dtype=np.float32)
        D[of_contexts == 0] = 0
        A[of_words == 0] = 0
        length = np.float32(self._length(D) if self.settings.tau is None else 1)
        self.load({"D": D / length, "A": length * (abs(A) if self.penalty.nonnegative else A), "eta": np.zeros(1)})
        self.eta = self.settings.eta or self._search()

    def load(self, arrays: dict[str, Array]) -> None:
        """Start from what an earlier learner saved."""
        self.D, self.A = (np.array(arrays[name], dtype=self.kind) for name in ("D", "A"))
        self.eta = float(arrays["eta"][0])

    def saved(self) -> dict[str, Array]:
        """Return what ``load`` needs."""
        return {"D": self.D, "A": self.A, "eta": np.array([self.eta])}

    def step(self, epoch: int, batch: Any, before: float) -> Moved:  # noqa: ARG002 there is one batch
        """Make a pass; go back and halve the step size as long as it diverges."""
        for _ in range(_HALVINGS):
            moved = self._rounds(epoch, self.eta, self.strata.P)
            objective = self._goal(*moved, self.executor) if moved else np.inf
            if moved and objective <= before * _RISE:
                self.D, self.A = moved
                return Moved(objective, before - objective, len(self.A))
            if self.settings.eta:  # one that was found is the search's to mend
                self.notices.append(f"pass {epoch} diverged with eta = {self.eta:g}: went back and halved it.")
            self.eta /= 2
        raise InputError(
            f"pass {epoch} diverges even with eta = {self.eta:g}: the values of X or its weights differ too much. "
            "Scale or clip them."
        )

    def objective(self) -> float:
        """Return the objective where the learner stands."""
        return self._goal(self.D, self.A, self.executor)

    def facts(self) -> dict[str, float]:
        """Return the step size at the end."""
        return {"eta": self.eta}

    def _rounds(self, epoch: int, eta: float, n_rounds: int, n_blocks: int | None = None) -> tuple[Array, Array] | None:
        """Return D and A after rounds of a pass, None if they left all bounds; the learner's own stay as they are."""
        words, contexts, M = self.strata.words.order, self.strata.contexts.order, self.n_components
        columns, width = self.tree.columns, -(-M // LANES) * LANES
        scale = np.sqrt(_size(self.A) / _size(self.D)) if self.A.any() and self.D.any() else 1.0
        D = _arranged(self.D, contexts, columns, width, scale)
        A = _arranged(self.A, words, columns, width, 1 / scale)
        charges = scale * self.penalty.lam, self._ridge() / scale**2
        seed = self.settings.seed, 2, epoch
        rounds = (blocks[:n_blocks] for blocks in self.strata.rounds(seed)[:n_rounds])
        sane = all(self._round(seed, number, blocks, D, A, eta, charges) for number, blocks in enumerate(rounds))
        if not (sane and _are_bounded(D, A)):
            return None
        if self.settings.tau is None:
            scale = self._length(D)
        back, places = np.argsort(columns), (np.argsort(contexts), np.argsort(words))
        longer = 1 / scale if scale else 1.0  # atoms of zeros: no code says anything, and all become zero
        return _arranged(D, places[0], back, M, longer), _arranged(A, places[1], back, M, scale)

    def _length(self, D: Array) -> float:
        """Return the root mean square of the lengths of atoms."""
        return _size(D) / float(np.sqrt(self.n_components))

    def _ridge(self) -> float:
        """Return tau; if none is given, the one that holds the atoms at length one, where the learner stands."""
        tau = self.settings.tau
        return float(self.penalty.per_word(self.A).sum()) / (2 * self.n_components) if tau is None else tau

    def _round(
        self,
        seed: tuple[int, int, int],
        number: int,
        blocks: list[tuple[int, int]],
        D: Array,
        A: Array,
        eta: float,
        charges: tuple[float, float],
    ) -> bool:
        """Visit the blocks of a round, in place; False if anything got out of bounds. ``charges`` are lam and tau."""
        strata, settings, epoch = self.strata, self.settings, seed[-1]
        DD = AA = None
        if settings.zeros > 0:
            if not _are_bounded(D, A):  # DD and AA would not be finite
                return False
            DD, AA = gram(D, self.executor), gram(A, self.executor)
        passes = max(epoch - 1, 0) + number / strata.P  # done so far
        steps = eta, 1 - passes / settings.epochs
        words = self._side(A, charges[0], strata.words, steps, DD)
        contexts = self._side(D, charges[1], strata.contexts, steps, AA)

        def visit_block(block: tuple[int, int]) -> bool:
            return visit(*strata.visits(*block, seed), words, contexts, self.tree, self.rule)

        return all(list(self.executor.map(visit_block, blocks)))

    def _side(
        self, rows: Array, charge: float, ordered: Ordered, steps: tuple[float, float], other: Array | None
    ) -> Visited:
        """Return what visits see of the words or the contexts.

        ``steps`` are eta and by what it has fallen, ``other`` is DD or AA.
        """
        W, n, kind = self.settings.zeros, len(rows), rows.dtype
        eta, decay = steps
        per_visit = np.divide(1.0, ordered.mass, out=np.zeros(n), where=ordered.mass > 0)
        rates = np.empty((n, 2), dtype=kind)
        rates[:, 1] = charge * per_visit
        if other is None:
            rates[:, 0] = decay * eta
            return Visited(rows, rates, np.empty((0, rows.shape[1]), dtype=kind))
        curvature = 2 * W / self.strata.mean * ordered.share * float(np.linalg.eigvalsh(other)[-1])  # of a round, (n,)
        rates[:, 0] = decay * eta / (1 + _CAUTION * eta * curvature)  # decay outside, or the cut would eat it
        pull, gradient = np.empty_like(rows), other.astype(kind)

        def multiply(part: slice) -> None:
            pull[part] = (rows[part] @ gradient) * (W * per_visit[part, None]).astype(kind)

        list(self.executor.map(multiply, slices(n, _ROWS, rows)))
        return Visited(rows, rates, pull)

    def _search(self) -> float:
        """Return the step size, a power of two apart, whose first visits lower the objective most."""
        n_rounds, n_blocks = self._trial_size()

        def trial(eta: float) -> float:
            moved = self._rounds(0, eta, n_rounds, n_blocks)
            return self._goal.estimate(*moved, self.executor) if moved else np.inf

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
        P = self.strata.P
        visits = int(self.strata.starts[-1]) / P  # in a round
        if self.settings.zeros > 0:  # the pull of unstored pairs answers from round to round
            return int(np.clip(np.ceil(_TRIAL / visits), min(_TRIAL_ROUNDS, P), P)), P
        return int(np.clip(np.ceil(_TRIAL / visits), 1, P)), int(np.clip(np.ceil(P * _TRIAL / visits), 1, P))


def _tree(penalty: Penalty, n_components: int, kind: Any) -> Tree:
    """Return a penalty as the visits see it, in floats of a kind; that of an l1 one is a forest of single nodes."""
    weights = np.ones(n_components)
    if isinstance(penalty, ForestL2):
        forest = penalty.forest
        if len(forest) != n_components:
            raise InputError(f"n_components = {n_components}, but the forest of the penalty has {len(forest)} nodes.")
        weights = weights if penalty.weights is None else np.asarray(penalty.weights)
    elif isinstance(penalty, L1 | NoPenalty):
        forest = Forest.flat(n_components)
    else:
        raise InputError(
            f"the penalty is {type(penalty).__name__}, but learning from entries knows ForestL2, L1 and NoPenalty. "
            "Use one of them, or learn_online."
        )
    return tree_of(forest, weights.astype(kind), penalty.nonnegative)


def _arranged(rows: Array, order: Array, columns: Array, width: int, scale: float) -> Array:
    """Return rows times a number, rows and columns in another order, and zeros behind them up to a width."""
    out = np.zeros((len(rows), width), dtype=rows.dtype)
    out[:, : len(columns)] = rows[order][:, columns]
    out *= rows.dtype.type(scale)
    return out


def _size(rows: Array) -> float:
    """Return the root of the sum of squares, in float64."""
    return float(np.sqrt(np.einsum("nm,nm->", rows, rows, dtype=np.float64)))


def _are_bounded(D: Array, A: Array, bound: float = _BOUND) -> bool:
    """Return whether D and A are numbers that float32 can work with."""
    return all(max(rows.max(), -rows.min()) < bound for rows in (D, A))  # false for NaN, too
