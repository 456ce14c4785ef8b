"""Codes for the rows of X, wherever they are: a batch made better, or all rows coded to the end.

The functions that take ``words`` run where the rows are (``Rows.run``); they change what ``words`` hold of their rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from wordforest.coder import kernels
from wordforest.coder.penalties import Penalty
from wordforest.coder.rows import Rows, Words, as_rows
from wordforest.coder.rows.base import split_rows
from wordforest.coder.solvers import EXACT_ITER, Codes, Gram, Solver, admm, solve_exactly, word_objectives
from wordforest.errors import InputError
from wordforest.runtime.cluster import Sized
from wordforest.runtime.machine import Executor, by_halves, check_room, memory_told, one_blas_thread

Array = Any  # a NumPy array or a PyTorch tensor

_MORE = 6  # times the iterations for words that a few iterations did not help


@dataclass(frozen=True, eq=False)
class Coding(Sized):
    """All that coding needs beside the words: the dictionary, its products, the penalty, and how to solve."""

    D: Array
    gram: Gram
    penalty: Penalty
    solver: Solver = admm
    inner_iter: int = 5
    tol: float | None = None
    max_iter: int = EXACT_ITER

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Arrive: D moves out of the message into memory of its own, whose large pages make its rows quick to find."""
        self.__dict__.update(state, D=np.array(state["D"]))


class Sums(NamedTuple):
    """By how much the codes of some words changed: ``A'A`` (M, M), ``<XA, D>``, words a column, non-zeros."""

    AA: Array
    cross: float
    uses: Array
    filled: int

    def plus(self, other: Sums) -> Sums:
        """Return the sum of both."""
        return Sums(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class Solved(NamedTuple):
    """A block coded to the end: its loss, non-zeros, iterations, whether all is exact, and the worst relative gap."""

    loss: float
    filled: int
    n_iter: int
    converged: bool
    gap: float

    def and_(self, other: Solved) -> Solved:
        """Return what two halves of a block came to."""
        loss, filled = self.loss + other.loss, self.filled + other.filled
        exact = self.converged and other.converged
        return Solved(loss, filled, max(self.n_iter, other.n_iter), exact, max(self.gap, other.gap))


def code_batch(rows: Rows, words: Words, batch: Array, coding: Coding) -> tuple[Array, list[Sums]]:
    """Give a batch of words better codes; return the weighted change, (b, M), and the sums of every shard.

    ``words`` are A (V, M), penalties and losses (V,), and weights (V,) if words count differently.
    """
    M = coding.D.shape[1]
    change = kernels.zeros((len(batch), M), coding.D)
    parts = split_rows(batch, rows.shards(M))
    blocks = [rows.blocks(batch[part], M) for part in parts]
    coded = rows.map(partial(_code_block, rows, words, coding), (block for own in blocks for block in own))
    sums = []
    for part, own in zip(parts, blocks, strict=True):
        total = Sums(kernels.zeros((M, M), coding.D, "float64"), 0.0, kernels.zeros((M,), coding.D, "int64"), 0)
        for i, (moved, found) in enumerate(islice(coded, len(own))):
            change[part][i :: len(own)] = moved  # blocks were dealt out like this
            total = total.plus(found)
        sums.append(total)
    return change, sums


def _together(left: tuple[Array, Sums], right: tuple[Array, Sums]) -> tuple[Array, Sums]:
    """Put the results for every second word of a block and for the others together."""
    change = kernels.zeros((len(left[0]) + len(right[0]), left[0].shape[1]), left[0])
    change[::2], change[1::2] = left[0], right[0]
    return change, left[1].plus(right[1])


@by_halves(_together)
def _code_block(rows: Rows, words: Words, coding: Coding, block: Array) -> tuple[Array, Sums]:
    """Give a block of words codes never worse than those they have."""
    A, gram, penalty = words["A"], coding.gram, coding.penalty
    XD = rows.times(block, coding.D)  # (b, M)

    def solve(some: Any, start: Array | None, n_iter: int) -> Array:
        return coding.solver(XD[some], gram, penalty, start=start, tol=0.0, max_iter=n_iter).A

    old = A[block]
    warm = bool(old.any())  # else the first code: twice the iterations, from the solver's own start
    new = solve(slice(None), old if warm else None, coding.inner_iter * (1 if warm else 2))
    before, after = (word_objectives(codes, XD, gram, penalty) for codes in (old, new))
    worse = ~(after <= before)
    if worse.any():  # few iterations may not be enough to get below where a word was: more, or no change
        more = solve(worse, old[worse], coding.inner_iter * _MORE)
        better = word_objectives(more, XD[worse], gram, penalty) <= before[worse]
        new[worse] = kernels.namespace(new).where(better[:, None], more, old[worse])
        after[worse] = word_objectives(new[worse], XD[worse], gram, penalty)
    weighted_new, weighted_old = weigh(new, words, block), weigh(old, words, block)
    change = weighted_new - weighted_old
    AA, cross = weighted_new.T @ new - weighted_old.T @ old, kernels.inner(change, XD)
    uses = kernels.uses(weighted_new) - kernels.uses(weighted_old)
    filled = uses if "weights" not in words else kernels.uses(new) - kernels.uses(old)
    penalties = penalty.per_word(new)
    A[block], words["penalties"][block] = new, penalties  # last: a block that memory was too small for begins again
    words["losses"][block] = after - penalties + rows.squares()[block]
    return change, Sums(AA, cross, uses, int(filled.sum()))


def weigh(values: Array, words: Words, block: Array) -> Array:
    """Return values of some words, (b,) or (b, M), times the weights of these words, if they have any."""
    if "weights" not in words:
        return values
    weights = words["weights"][block]
    return values * (weights if values.ndim == 1 else weights[:, None])


def code_to_the_end(rows: Rows, words: Words, batch: Array, coding: Coding) -> list[Solved]:
    """Code words until each is within the tolerance of its best objective; return what came of every block.

    ``words`` are A (V, M); if they also have penalties and losses, (V,), codes start from A, and all three are set.
    """
    M = coding.D.shape[1]
    parts = split_rows(batch, rows.shards(M))
    blocks = (block for part in parts for block in rows.blocks(batch[part], M))
    return list(rows.map(partial(_solve_block, rows, words, coding), blocks))


@by_halves(lambda left, right: left.and_(right))
def _solve_block(rows: Rows, words: Words, coding: Coding, block: Array) -> Solved:
    """Code a block of words to the end."""
    measured, squares = "losses" in words, rows.squares()[block]
    XD = rows.times(block, coding.D)
    codes = solve_exactly(
        XD,
        squares,
        coding.gram,
        coding.penalty,
        solver=coding.solver,
        start=words["A"][block] if measured else None,
        tol=coding.tol,
        max_iter=coding.max_iter,
    )
    loss = 0.0
    if measured:
        penalties = coding.penalty.per_word(codes.A)
        losses = word_objectives(codes.A, XD, coding.gram, coding.penalty) - penalties + squares
        loss = float(weigh(losses, words, block).sum())
        words["penalties"][block] = penalties
    words["A"][block] = codes.A
    return Solved(loss, int(kernels.uses(codes.A).sum()), codes.n_iter, codes.converged, codes.gap)


def encode(
    X: Any,
    D: Array,
    penalty: Penalty,
    *,
    solver: Solver = admm,
    tol: float | None = None,
    max_iter: int = EXACT_ITER,
    executor: Executor | None = None,
) -> Codes:
    """Code all rows of X (V, C), a matrix or Rows, with the dictionary D (C, M), in blocks that stay in cache.

    Every row is solved to a duality gap of ``tol * |x|^2`` (default 1e-6 in float32, 1e-9 in float64); the worst is
    returned. Codes are where X is: tensors if that is a GPU.
    """
    rows = as_rows(X, executor)
    (V, _), M = rows.shape, D.shape[1]
    check_room(f"codes of {M:,} numbers for {V:,} rows", float(rows.dtype.itemsize) * M * V + 24.0 * M * M)
    with one_blas_thread(), memory_told(f"codes of {M} components", "Use fewer components, or the device cpu."):
        rows.finite_squares()
        D = kernels.as_type(D, rows.like)
        coding = Coding(D, Gram(D.T @ D), penalty, solver, tol=tol, max_iter=max_iter)
        words: Words = {"A": rows.zeros((V, M))}
        solved = [block for part in rows.run(code_to_the_end, words, rows.numbers(V), coding) for block in part]
    if not np.isfinite([block.gap for block in solved]).all():
        raise InputError("the codes are not finite: the values of X are too large. Scale the data, or use float64.")
    n_iter = max((block.n_iter for block in solved), default=0)
    gap = max((block.gap for block in solved), default=0.0)
    return Codes(words["A"], n_iter, all(block.converged for block in solved), gap)
