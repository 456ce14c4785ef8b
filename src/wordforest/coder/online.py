"""Learner 1 of the paper: online dictionary learning (Mairal et al. 2010) with forest codes.

A step codes a mini-batch of words with the current dictionary and then moves the dictionary. The statistics
``AA = A'A`` and ``XA = X'A`` always belong to the newest code of every word (a word not seen yet has code 0), so every
step lowers one and the same objective: that of all words. Passes go on until the moves of the dictionary in a whole
pass lower it by less than a given share. A last pass codes all words to the end, with a certificate.

Which words, which order, which blocks: decided here from one seed. Blocks do not depend on the number of workers, each
is computed by one thread, and sums run in the order of blocks and shards (``shards.py``), so neither do the bits of the
result. On a cluster each worker runs the methods below over its shards (``sharded.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from wordforest.coder import kernels
from wordforest.coder.dictionary import CodeStats, update_dictionary, update_nonnegative_dictionary
from wordforest.coder.encode import (
    DEVICE_VALUES,
    Gram,
    Solver,
    admm,
    as_rows,
    check_learning_fits,
    finite_squares,
    namespace_is_torch,
    solve_exactly,
    split_blocks,
    word_objectives,
)
from wordforest.coder.kernels import Precision
from wordforest.coder.kernels.counter import random_columns
from wordforest.coder.penalties import Penalty
from wordforest.coder.shards import Range, context_ranges, row_sizes, shard_rows, split_rows
from wordforest.errors import InputError
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.gpu import by_halves, memory_told
from wordforest.runtime.threads import Executor, Threads, one_blas_thread

Array = Any  # a NumPy array or a PyTorch tensor

_MORE = 6  # times the iterations for words that a few iterations did not help
_RISE = 1e-5  # share by which float32 sums may let the logged objective rise
_NOISE = 1e-7  # share of |X|^2 that is rounding where the fit is perfect
_SMALLEST_BATCH = 512  # words; fewer make steps that are all overhead
_REVIVALS = 5  # passes that may bring dead atoms back


@dataclass(frozen=True)
class Step:
    """Where learning stands after a step: objective over all words, share of non-zeros in their codes."""

    epoch: int
    batch: int  # 0 is the last pass, which codes all words exactly
    words_seen: int
    objective: float
    gain: float  # by how much moving the dictionary lowered the objective
    nonzeros: float

    @property
    def last(self) -> bool:
        """Whether all words are coded exactly."""
        return self.batch == 0


@dataclass(eq=False)
class State:
    """All that learning needs to go on from a step to the same bits.

    D (C, M), A (V, M), AA (M, M), XA (C, M), and ``losses`` (V,): ``|x_v - D a_v|^2`` when a word was last coded.
    """

    D: Array
    A: Array
    AA: Array
    XA: Array
    losses: Array
    history: list[Step] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Learned:
    """Dictionary D (C, M), codes A (V, M), their worst gap, the history, and what a person should know.

    ``gap`` bounds ``(objective - best objective) / |x|^2`` of every word for this dictionary; ``revived`` counts atoms
    that no word used and that started anew; ``notices`` are sentences about what went wrong.
    """

    D: Array
    A: Array
    gap: float
    converged: bool
    history: list[Step]
    revived: int
    notices: list[str]


@dataclass(frozen=True)
class OnlineSettings:
    """How to learn. ``batches`` is the number of dictionary updates in a pass over the words, fewer if they are few."""

    epochs: int = 100
    tol: float = 5e-3  # stop when moving the dictionary lowers the objective by less than this share in a pass
    batches: int = 8
    solver: Solver = admm
    inner_iter: int = 5  # iterations on a batch; warm starts carry the rest into the next pass
    exact_tol: float | None = None  # relative duality gap of the last pass; None: by the type of X
    seed: int = 0
    nonnegative: bool = False  # atoms without negative values; codes are the penalty's business
    precision: Precision = "float32"  # of the products that solvers repeat, on a card; the last pass is always float32
    revive: bool = True  # atoms that no word uses start anew; where a start has given them a meaning, better not


OnStep = Callable[[Step, State], None]


def learn_online(
    X: Any,
    penalty: Penalty,
    n_components: int,
    settings: OnlineSettings | None = None,
    *,
    start: Array | None = None,
    weights: Array | None = None,
    resume: State | None = None,
    executor: Executor | None = None,
    on_step: OnStep | None = None,
) -> Learned:
    """Learn a dictionary with ``n_components`` atoms and the codes of all rows of X (V, C), CSR or dense.

    ``start`` is the first dictionary, (C, M); random directions if it is left out. ``weights`` (V,) says how much each
    row counts. ``on_step`` is called after every step with the state, which is good until the next one; ``resume``
    goes on from such a state, to the same bits.
    """
    settings = settings or OnlineSettings()
    X = as_rows(X)
    if X.shape[0] < 1 or X.shape[1] < 1:
        raise InputError(f"X has shape {X.shape}, but learning needs at least one word and one context.")
    codes_here = 1 if getattr(X, "storage", None) else X.shape[0]  # else they lie in files
    check_learning_fits(codes_here, X.shape[1], n_components if start is None else start.shape[1])
    if isinstance(X, kernels.OnDevice) or namespace_is_torch(X):
        executor = Threads(1)  # the device has threads enough
    learner: _Learner
    if isinstance(executor, Cluster):
        from wordforest.coder.sharded import cluster_learner

        learner = cluster_learner(X, penalty, settings, weights, executor, n_components)
    else:
        learner = _Learner(X, penalty, settings, weights, executor or Threads())
    with one_blas_thread(), memory_told(f"{n_components} components", "Use fewer, or the device cpu."):
        learner.begin(start, n_components) if resume is None else learner.go_on(resume)
        for step in learner.steps():
            if on_step:
                on_step(step, learner.state)
    state = learner.state
    return Learned(state.D, state.A, learner.gap, learner.converged, state.history, learner.revived, learner.notices)


def _together(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    """Put the results for every second word of a block and for the others together."""
    change = kernels.zeros((len(left[0]) + len(right[0]), left[0].shape[1]), left[0])
    change[::2], change[1::2] = left[0], right[0]
    return change, *(mine + other for mine, other in zip(left[1:], right[1:], strict=True))


class _Learner:
    """Takes steps; ``state`` is where it stands."""

    state: State
    gram: Gram
    cross: float  # <XA, D>
    uses: Array  # words that use each atom, (M,)

    def __init__(
        self, X: Any, penalty: Penalty, settings: OnlineSettings, weights: Array | None, executor: Executor
    ) -> None:
        self.X, self.penalty, self.settings, self.executor = X, penalty, settings, executor
        self.n_words = int(X.shape[0])
        self.squares = finite_squares(X)  # |x_v|^2, (V,)
        self.on_host = isinstance(self.squares, np.ndarray)
        kernels.check_precision(settings.precision, card=not self.on_host, single=X.dtype.itemsize == 4)
        self.weights = None
        if weights is not None:
            kind = X.dtype if self.on_host else str(X.dtype).removeprefix("torch.")
            self.weights = kernels.placed(np.asarray(weights, dtype=kind), self.squares)
        self.energy = float(self._weighted(self.squares).sum())
        self.penalties = self.squares * 0  # lam Omega of every word's code
        self.ranges = context_ranges(X) if self.on_host else [(0, int(X.shape[1]))]
        self.gap, self.converged = float("nan"), False
        self.notices: list[str] = []
        self.revived = 0

    def begin(self, start: Array | None, n_components: int) -> None:
        """Start from a dictionary and codes of zeros."""
        D = start
        if D is None:
            shape, nonnegative = (self.X.shape[1], n_components), self.settings.nonnegative
            D = random_columns(shape, self.settings.seed, nonnegative=nonnegative, like=self.squares)
        D = self._own(D)
        M = D.shape[1]
        A = kernels.zeros((self.n_words, M), D)
        self.state = State(D, A, kernels.zeros((M, M), D, "float64"), D * 0, self.squares + 0)
        self.uses = kernels.zeros((M,), D, "int64")
        self._measure()

    def go_on(self, state: State) -> None:
        """Start from where an earlier learner stood."""
        D, A, XA = map(self._own, (state.D, state.A, state.XA))
        AA, losses = (kernels.placed(part, self.squares) + 0 for part in (state.AA, state.losses))
        self.state = State(D, A, AA, XA, losses, list(state.history))
        self.uses = kernels.uses(self._weighted(A))
        self._measure()
        self.penalties = self.penalty.per_word(self.state.A)

    def steps(self) -> Iterator[Step]:
        """Take steps until the stopping rule is met, then code all words exactly; yield after each."""
        history = self.state.history
        epoch, done = (history[-1].epoch, history[-1].batch) if history else (1, 0)
        while True:
            for number, rows in enumerate(self._batches(epoch), start=1):
                if number > done:
                    yield self._step(epoch, number, rows)
            done = 0
            if self._settled(epoch) or epoch >= self.settings.epochs:
                break
            epoch += 1
        yield self._finish(epoch + 1)

    def _settled(self, epoch: int) -> bool:
        """Say whether the dictionary of the pass just ended hardly moved."""
        steps = [step for step in self.state.history if step.epoch == epoch]
        self.converged = sum(step.gain for step in steps) <= self.settings.tol * steps[-1].objective
        revive = self.settings.revive and epoch <= min(_REVIVALS, self.settings.epochs - 1)
        revived = self._revive() if revive else 0
        return self.converged and not revived

    def _own(self, values: Array) -> Array:
        """Return a copy of values of the type of X, where X is."""
        if self.on_host:
            return np.array(values, dtype=self.X.dtype, order="C")
        return kernels.placed(values, self.squares).to(self.X.dtype, copy=True)

    def _step(self, epoch: int, number: int, rows: Array) -> Step:
        state = self.state
        rows = kernels.placed(rows, self.squares)
        change = self._code(rows)
        before = self._loss()
        self._add_statistics(rows, change)
        dead = self.uses == 0
        state.AA[dead], state.AA[:, dead], state.XA[:, dead] = 0, 0, 0  # what rounding has left there
        update = update_nonnegative_dictionary if self.settings.nonnegative else update_dictionary
        state.D = update(state.D, CodeStats(state.AA, state.XA), self.gram.DD, executor=self.executor)
        self._measure()
        return self._record(epoch, number, len(rows), self._loss(), before - self._loss())

    def _code(self, rows: Array) -> Array:
        """Give words better codes under the current dictionary; return the weighted change, (len(rows), M)."""
        changes = kernels.zeros((len(rows), self.state.A.shape[1]), self.state.A)
        for AA, cross, uses in self._code_shards(rows, changes):
            self._add_sums(AA, cross, uses)
        return changes

    def _code_shards(self, rows: Array, changes: Array) -> Iterator[tuple[Array, float, Array]]:
        """Give words better codes and write the changes; yield the changes of AA, <XA, D> and uses of each shard."""
        parts = split_rows(rows, self.shards)
        blocks = [self._blocks(rows[part]) for part in parts]
        coded = self.executor.map(self._code_block, (block for own in blocks for block in own))
        for part, own in zip(parts, blocks, strict=True):
            AA, cross, uses = self.state.AA * 0, 0.0, self.uses * 0
            for i, found in enumerate(islice(coded, len(own))):
                changes[part][i :: len(own)] = found[0]  # blocks were dealt out like this
                AA, cross, uses = AA + found[1], cross + found[2], uses + found[3]
            yield AA, cross, uses

    def _add_sums(self, AA: Array, cross: float, uses: Array) -> None:
        self.state.AA += AA
        self.cross += cross
        self.uses += uses

    def _add_statistics(self, rows: Array, change: Array) -> None:
        """Add ``X[rows].T @ change`` to XA, by ranges of contexts."""
        list(self.executor.map(
            lambda contexts: kernels.add_times_codes(self.X, rows, change, contexts, self.state.XA), self.ranges
        ))  # fmt: skip

    @by_halves(_together)
    def _code_block(self, rows: Array) -> tuple[Array, Array, float, Array]:
        """Give a block of words codes never worse than those they have; return the changes of A, AA, <XA, D>, uses."""
        A = self.state.A
        XD = kernels.times_dictionary(self.X, rows, self.state.D)  # (b, M)
        old = A[rows]
        warm = bool(old.any())  # else the first code: twice the iterations, from the solver's own start
        new = self._solve(XD, old if warm else None, self.settings.inner_iter * (1 if warm else 2))
        before, after = (word_objectives(codes, XD, self.gram, self.penalty) for codes in (old, new))
        worse = ~(after <= before)
        if worse.any():  # few iterations may not be enough to get below where a word was: more, or no change
            more = self._solve(XD[worse], old[worse], self.settings.inner_iter * _MORE)
            better = word_objectives(more, XD[worse], self.gram, self.penalty) <= before[worse]
            new[worse] = kernels.namespace(new).where(better[:, None], more, old[worse])
            after[worse] = word_objectives(new[worse], XD[worse], self.gram, self.penalty)
        weighted_new, weighted_old = self._weighted(new, rows), self._weighted(old, rows)
        change = weighted_new - weighted_old
        AA, cross = weighted_new.T @ new - weighted_old.T @ old, kernels.inner(change, XD)
        penalties = self.penalty.per_word(new)
        A[rows], self.penalties[rows] = new, penalties  # last: a block that memory was too small for begins again
        self.state.losses[rows] = after - penalties + self.squares[rows]
        return change, AA, cross, kernels.uses(weighted_new) - kernels.uses(weighted_old)

    def _blocks(self, rows: Array) -> list[Array]:
        """Deal rows out to blocks: such that codes stay in a core's cache, or that a device has enough to do."""
        M = self.state.A.shape[1]
        return split_blocks(rows, M) if self.on_host else split_blocks(rows, M, DEVICE_VALUES)

    @cached_property
    def shards(self) -> list[Range]:
        """Ranges of rows whose sums are made apart; a device has one."""
        M = self.state.D.shape[1]
        return shard_rows(row_sizes(self.X), M) if self.on_host else [(0, self.n_words)]

    def _solve(self, XD: Array, start: Array | None, max_iter: int) -> Array:
        codes = self.settings.solver(XD, self.gram, self.penalty, start=start, tol=0.0, max_iter=max_iter)
        return codes.A

    def _code_exactly(self) -> Iterator[tuple[float, float, bool]]:
        """Code all words to the end; yield the loss, the worst gap and whether all is exact for each block."""
        state = self.state

        @by_halves(lambda left, right: (left[0] + right[0], max(left[1], right[1]), left[2] and right[2]))
        def solve(rows: Array) -> tuple[float, float, bool]:
            XD = kernels.times_dictionary(self.X, rows, state.D)
            codes = solve_exactly(
                XD, self.squares[rows], self.gram.exact, self.penalty, solver=self.settings.solver,
                start=state.A[rows], tol=self.settings.exact_tol,
            )  # fmt: skip
            penalties = self.penalty.per_word(codes.A)
            loss = word_objectives(codes.A, XD, self.gram, self.penalty) - penalties + self.squares[rows]
            state.A[rows], self.penalties[rows] = codes.A, penalties
            return float(self._weighted(loss, rows).sum()), codes.gap, codes.converged

        rows = kernels.placed(np.arange(self.n_words), self.squares)
        shards = (rows[slice(*shard)] for shard in self.shards)
        yield from self.executor.map(solve, (block for shard in shards for block in self._blocks(shard)))

    def _finish(self, epoch: int) -> Step:
        """Code all words to the end, and say what a person should know."""
        losses, gaps, exact = zip(*self._code_exactly(), strict=True)
        self.gap = max(gaps)
        if not all(exact):
            self.notices.append(f"some codes are not exact yet: the worst relative duality gap is {self.gap:.1e}.")
        if not self._n_nonzeros():
            self.notices.append(
                f"all codes are zero: lam = {self.penalty.lam:g} is too large for these data. Lower it."
            )
        if not self.converged:
            self.notices.append(f"the objective still falls after {self.settings.epochs} passes. Allow more epochs.")
        return self._record(epoch, 0, self.n_words, sum(losses), 0.0)

    def _revive(self) -> int:
        """Point atoms that no word uses at what the worst-coded words lack (Mairal et al. 2010); return how many."""
        state = self.state
        dead = np.flatnonzero(kernels.on_host(self.uses) == 0)
        if not len(dead):
            return 0
        counted = kernels.on_host(self._weighted(self.squares * 0 + 1)) > 0
        losses = np.float32(kernels.on_host(state.losses)) * counted
        losses, words = np.unique(losses, return_index=True)  # equal rows have, but for rounding, equal losses
        worst = words[losses > 0][::-1][: len(dead)]
        dead = dead[: len(worst)]
        for atom, word in zip(dead, worst, strict=True):
            lacking = self._row(word) - state.D @ state.A[word]  # (C,)
            lacking = kernels.namespace(lacking).clip(lacking, 0, None) if self.settings.nonnegative else lacking
            size = float(kernels.namespace(lacking).linalg.norm(lacking))
            if size > 0:
                state.D[:, atom] = lacking / size
        if len(dead):
            self._measure()
        self.revived += len(dead)
        return len(dead)

    def _row(self, word: int) -> Array:
        """Return a row of X as a dense vector, (C,)."""
        if isinstance(self.X, kernels.OnDevice):
            return self.X.row(int(word))
        x = self.X[[word]]
        return (x.toarray() if hasattr(x, "toarray") else x)[0]

    @property
    def _n_batches(self) -> int:
        return max(1, min(self.settings.batches, self.n_words // _SMALLEST_BATCH))

    def _batches(self, epoch: int) -> list[Array]:
        """Split the words into the batches of a pass, at random; a batch is in row order."""
        order = np.random.default_rng((self.settings.seed, epoch)).permutation(self.n_words)
        return [np.sort(part) for part in np.array_split(order, self._n_batches)]

    def _measure(self) -> None:
        """Take the inner products of the dictionary with itself and with XA, over slices of contexts in their order."""
        D, XA = self.state.D, self.state.XA
        if not self.on_host:
            self.gram, self.cross = Gram(D.T @ D, self.settings.precision), kernels.inner(XA, D)
            return
        n = -(-len(D) // 4096)
        parts = zip(np.array_split(D, n), np.array_split(XA, n), strict=True)
        products = list(self.executor.map(
            lambda part: (part[0].T @ part[0], float(np.einsum("cm,cm->", *part, dtype=np.float64))), parts
        ))  # fmt: skip
        self.gram = Gram(np.asarray(sum(DD for DD, _ in products)))
        self.cross = sum(cross for _, cross in products)

    def _loss(self) -> float:
        """``|X - A D'|^2`` of all words, from the statistics."""
        return self.energy - 2 * self.cross + kernels.inner(self.state.AA, self.gram.DD)

    def _weighted(self, values: Array, rows: Array | slice = slice(None)) -> Array:
        if self.weights is None:
            return values
        weights = self.weights[rows]
        return values * (weights if values.ndim == 1 else weights[:, None])

    def _n_nonzeros(self) -> int:
        return int(kernels.uses(self.state.A).sum())

    def _record(self, epoch: int, batch: int, n_words: int, loss: float, gain: float) -> Step:
        state = self.state
        objective = loss + float(self._weighted(self.penalties).sum())
        if not np.isfinite(objective):
            raise InputError(
                "the objective is not finite: the values of X are too large. Scale the data, or use float64."
            )
        before = state.history[-1].objective if state.history else self.energy
        if objective > before * (1 + _RISE) + _NOISE * self.energy and not self.notices:
            self.notices.append(f"the objective rose from {before:.8g} to {objective:.8g}. Try float64.")
        seen = n_words + (state.history[-1].words_seen if state.history else 0)
        nonzeros = self._n_nonzeros() / (self.n_words * state.A.shape[1])
        step = Step(epoch, batch, seen, objective, gain, nonzeros)
        state.history.append(step)
        return step


def random_atoms(n_contexts: int, n_components: int, seed: int, *, nonnegative: bool = False) -> Array:
    """Return D (C, M) with random directions of length one as columns, float32."""
    return random_columns((n_contexts, n_components), seed, nonnegative=nonnegative)
