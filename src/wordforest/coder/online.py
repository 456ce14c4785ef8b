"""Learner 1 of the paper: online dictionary learning (Mairal et al. 2010) with forest codes.

A step codes a mini-batch of words with the current dictionary and then moves the dictionary. The statistics
``AA = A'A`` and ``XA = X'A`` always belong to the newest code of every word (a word not seen yet has code 0), so every
step lowers one and the same objective: that of all words. Passes go on until a whole pass lowers it by less than a
given share. A last pass codes all words to the end.

Which words, which order, which blocks: decided here from one seed. Blocks do not depend on the number of workers, each
is computed by one thread, and sums run in block order, so neither do the bits of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder import kernels
from wordforest.coder.dictionary import CodeStats, update_dictionary
from wordforest.coder.encode import EXACT_ITER, EXACT_TOL, Gram, Solver, admm, split_blocks, word_objectives
from wordforest.coder.objective import squared_sum
from wordforest.coder.penalties import Penalty
from wordforest.coder.start import random_atoms
from wordforest.errors import InputError
from wordforest.execution import Executor, Threads, one_blas_thread

Array = NDArray[Any]

_CONTEXT_RANGES = 16
_SAMPLE = 61  # every so many entries tell how full the contexts are


@dataclass(frozen=True)
class Step:
    """Where learning stands after a step: objective over all words, share of non-zeros in their codes."""

    epoch: int
    words_seen: int
    objective: float
    density: float
    last: bool  # all words are coded exactly


@dataclass(frozen=True, eq=False)
class Learned:
    """Dictionary D (C, M), codes A (V, M), the history, and whether the stopping rule was met."""

    D: Array
    A: Array
    history: list[Step]
    converged: bool


@dataclass(frozen=True)
class OnlineSettings:
    """How to learn. ``batches`` is the number of dictionary updates in a pass over the words."""

    epochs: int = 20
    tol: float = 1e-3  # stop when a pass lowers the objective by less than this share
    batches: int = 8
    solver: Solver = admm
    inner_iter: int = 10  # iterations on a batch; warm starts carry the rest into the next pass
    seed: int = 0


def learn_online(
    X: Any,
    penalty: Penalty,
    n_components: int,
    settings: OnlineSettings | None = None,
    *,
    start: Array | None = None,
    executor: Executor | None = None,
    on_step: Callable[[Step], None] | None = None,
) -> Learned:
    """Learn a dictionary with ``n_components`` atoms and the codes of all rows of X (V, C), CSR or dense.

    ``start`` is the first dictionary, (C, M); random directions if it is left out. ``on_step`` is called after every
    step.
    """
    settings = settings or OnlineSettings()
    if X.shape[0] < 1 or X.shape[1] < 1:
        raise InputError(f"X has shape {X.shape}, but learning needs at least one word and one context.")
    D = random_atoms(X.shape[1], n_components, settings.seed) if start is None else start
    learner = _Learner(X, penalty, np.array(D, dtype=X.dtype, order="C"), settings, executor or Threads())
    with one_blas_thread():
        for step in learner.steps():
            if on_step:
                on_step(step)
    return Learned(learner.D, learner.A, learner.history, learner.converged)


class _Learner:
    """The state of learning: D, A and the statistics that belong to A."""

    def __init__(self, X: Any, penalty: Penalty, D: Array, settings: OnlineSettings, executor: Executor) -> None:
        self.X, self.penalty, self.settings, self.executor = X, penalty, settings, executor
        V, M = X.shape[0], D.shape[1]
        self.D = D
        self.gram = Gram(self._products(D))
        self.A = np.zeros((V, M), dtype=D.dtype)
        self.AA = np.zeros((M, M))
        self.XA = np.zeros_like(D)
        self.penalties = np.zeros(V)  # lam Omega of every word's code
        self.n_nonzero = 0
        self.energy = squared_sum(X)
        self.ranges = _context_ranges(X)
        self.history: list[Step] = []
        self.converged = False

    def steps(self) -> Iterator[Step]:
        """Take steps until the stopping rule is met, then code all words exactly; yield after each."""
        before = self.energy  # the objective of all-zero codes
        for epoch in range(1, self.settings.epochs + 1):
            for rows in self._batches(epoch):
                self._code(rows, tol=0.0, max_iter=self.settings.inner_iter)
                self.D = update_dictionary(self.D, CodeStats(self.AA, self.XA), executor=self.executor)
                self.gram = Gram(self._products(self.D))
                yield self._record(epoch, len(rows), last=False)
            now = self.history[-1].objective
            if before - now <= self.settings.tol * now:
                self.converged = True
                break
            before = now
        self._code(np.arange(self.X.shape[0]), tol=EXACT_TOL, max_iter=EXACT_ITER)
        yield self._record(epoch + 1, self.X.shape[0], last=True)

    def _batches(self, epoch: int) -> list[Array]:
        """Split the words into the batches of a pass, at random; a batch is in row order."""
        order = np.random.default_rng((self.settings.seed, epoch)).permutation(self.X.shape[0])
        parts = np.array_split(order, min(self.settings.batches, len(order)))
        return [np.sort(part) for part in parts]

    def _code(self, rows: Array, tol: float, max_iter: int) -> None:
        """Give words better codes under the current dictionary and bring the statistics up to date."""
        blocks = split_blocks(rows, self.A.shape[1])
        change = np.empty((len(rows), self.A.shape[1]), dtype=self.A.dtype)
        done = 0
        solved = self.executor.map(lambda block: self._solve(block, tol, max_iter), blocks)
        for block, new in zip(blocks, solved, strict=True):
            old = self.A[block]
            change[done : done + len(block)] = new - old
            done += len(block)
            self.AA += new.T @ new - old.T @ old
            self.n_nonzero += int(np.count_nonzero(new)) - int(np.count_nonzero(old))
            self.penalties[block] = self.penalty.per_word(new)
            self.A[block] = new
        for _ in self.executor.map(
            lambda contexts: kernels.add_times_codes(self.X, rows, change, contexts, self.XA), self.ranges
        ):
            pass

    def _solve(self, block: Array, tol: float, max_iter: int) -> Array:
        """Return codes of a block of words that are never worse than the ones they have."""
        XD = kernels.times_dictionary(self.X, block, self.D)  # (b, M)
        old = self.A[block]
        new = self.settings.solver(XD, self.gram, self.penalty, start=old, tol=tol, max_iter=max_iter).A
        worse = word_objectives(new, XD, self.gram, self.penalty) > word_objectives(old, XD, self.gram, self.penalty)
        new[worse] = old[worse]
        return np.asarray(new)

    def _products(self, D: Array) -> Array:
        """Return ``D'D`` (M, M), summed over slices of contexts in their order."""
        slices = np.array_split(D, -(-len(D) // 4096))
        return np.asarray(sum(self.executor.map(lambda part: part.T @ part, slices)))

    def _record(self, epoch: int, n_words: int, *, last: bool) -> Step:
        cross = float(np.einsum("cm,cm->", self.XA, self.D, dtype=np.float64))
        loss = self.energy - 2 * cross + float(np.vdot(self.AA, self.gram.DD))
        seen = n_words + (self.history[-1].words_seen if self.history else 0)
        density = float(self.n_nonzero / self.A.size)
        step = Step(epoch, seen, loss + float(self.penalties.sum()), density, last)
        self.history.append(step)
        return step


def _context_ranges(X: Any) -> list[tuple[int, int]]:
    """Cut the contexts into ranges with about equally many entries, so that workers share no row of XA."""
    C = X.shape[1]
    used = np.bincount(X.indices[::_SAMPLE], minlength=C) if hasattr(X, "indptr") else np.ones(C)
    shares = np.linspace(0, used.sum(), _CONTEXT_RANGES + 1)[1:-1]
    borders = np.unique([0, *np.searchsorted(np.cumsum(used), shares), C]).tolist()
    return list(pairwise(borders))
