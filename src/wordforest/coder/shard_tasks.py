"""What workers of a cluster run: pure functions of a part of X and of what a step sends along.

A part is loaded once and stays; all else comes with the task. So a task may run twice, or on another worker.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.coder import kernels
from wordforest.coder.encode import EXACT_ITER, Gram, solve_exactly, split_blocks
from wordforest.coder.objective import row_squares
from wordforest.coder.online import OnlineSettings, State, _Learner
from wordforest.coder.penalties import Penalty
from wordforest.coder.shards import SAMPLE, Range, row_sizes
from wordforest.runtime.cluster import Sized
from wordforest.runtime.threads import Threads, one_blas_thread

Array = Any  # a NumPy array
Load = Callable[[], Any]  # returns some rows of X as CSR or dense; travels to a worker
Write = Callable[[int, Array], Any]  # puts the codes of the rows from a number on somewhere; travels to a worker


@dataclass(frozen=True, eq=False)
class RowPart(Sized):
    """Some shards on a worker: their rows of X, ``|x_v|^2``, and where each shard begins and ends among them."""

    X: Any
    squares: Array
    shards: list[Range]


@dataclass(frozen=True, eq=False)
class Columns(Sized):
    """A range of the columns of X on a worker, all rows."""

    X: Any


@dataclass(frozen=True, eq=False)
class Batch(Sized):
    """The words of a part that a step codes: numbers inside the part, codes (b, M), weights of all its words."""

    rows: Array
    codes: Array
    weights: Array | None


@dataclass(frozen=True, eq=False)
class Coded(Sized):
    """What coding a batch gives: codes (b, M), penalties and losses (b,), and sums for each shard."""

    codes: Array  # or what writing them away returned
    penalties: Array
    losses: Array
    sums: list[Any]
    n_nonzeros: int


@dataclass(frozen=True, eq=False)
class How(Sized):
    """All that the coding of a step needs beside the words."""

    D: Array
    gram: Gram
    penalty: Penalty
    settings: OnlineSettings
    threads: int
    max_iter: int = EXACT_ITER  # of coding from nothing

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Arrive: D moves out of the message into memory of its own, whose large pages make its rows quick to find."""
        self.__dict__.update(state, D=np.array(state["D"]))


class _ShardLearner(_Learner):
    """What a worker runs: the methods of the learner that concern words, over the words of a part."""

    def __init__(self, part: RowPart, how: How, batch: Batch) -> None:
        self.X, self.squares, self.shards = part.X, part.squares, part.shards
        self.penalty, self.settings, self.gram = how.penalty, how.settings, how.gram
        self.weights, self.executor = batch.weights, Threads(how.threads)
        self.n_words, self.on_host = len(part.squares), True
        M = how.D.shape[1]
        A = np.zeros((self.n_words, M), how.D.dtype)
        A[batch.rows] = batch.codes
        self.state = State(how.D, A, np.zeros((M, M)), how.D[:0], np.zeros(self.n_words))
        self.penalties, self.uses = np.zeros(self.n_words), np.zeros(M, np.int64)


def code_part(part: RowPart, how: How, batch: Batch) -> Coded:
    """Give the words of a batch better codes."""
    learner = _ShardLearner(part, how, batch)
    with one_blas_thread():
        changes = np.zeros_like(batch.codes)
        sums = list(learner._code_shards(batch.rows, changes))
    state, rows = learner.state, batch.rows
    codes = state.A[rows]
    return Coded(codes, learner.penalties[rows], state.losses[rows], sums, int(np.count_nonzero(codes)))


def finish_part(part: RowPart, how: How, batch: Batch, first: int, write: Write) -> Coded:
    """Code all words of a part to the end and write their codes; ``first`` is the number of the first of all words."""
    learner = _ShardLearner(part, how, batch)
    with one_blas_thread():
        blocks = list(learner._code_exactly())
    A = learner.state.A
    return Coded(write(first, A), learner.penalties, learner.state.losses, blocks, int(np.count_nonzero(A)))


def encode_part(part: RowPart, how: How, first: int, write: Write) -> tuple[list[tuple[int, bool, float]], Any]:
    """Code the rows of a part and put the codes away; return iterations, exactness and gap of each block."""
    M = how.D.shape[1]
    A = np.zeros((len(part.squares), M), how.D.dtype)

    def code(rows: Array) -> tuple[int, bool, float]:
        XD = kernels.times_dictionary(part.X, rows, how.D)
        codes = solve_exactly(
            XD, part.squares[rows], how.gram, how.penalty, solver=how.settings.solver, tol=how.settings.exact_tol,
            max_iter=how.max_iter,
        )  # fmt: skip
        A[rows] = codes.A
        return codes.n_iter, codes.converged, codes.gap

    blocks = [block for shard in part.shards for block in split_blocks(np.arange(*shard), M)]
    with one_blas_thread():
        found = list(Threads(how.threads).map(code, blocks))
    return found, write(first, A)


def kept(_: int, A: Array) -> Array:
    """Return the codes in place of writing them."""
    return A


def load_part(load: Load, shards: list[Range]) -> RowPart:
    """Load a part."""
    X = load()
    return RowPart(X, row_squares(X), shards)


def load_sizes(load: Load) -> NDArray[Any]:
    """Return how many entries rows have."""
    return row_sizes(load())


def squares_of(part: RowPart) -> Array:
    """Return ``|x_v|^2`` of the rows of a part."""
    return part.squares


def take_rows(part: RowPart, rows: Array) -> Any:
    """Return some rows of a part."""
    return part.X[rows]


def used_contexts(part: RowPart, n_contexts: int) -> NDArray[np.int64] | None:
    """Return about how full every context is, None where all pairs are stored."""
    return np.bincount(part.X.indices[::SAMPLE], minlength=n_contexts) if hasattr(part.X, "indptr") else None


def cut_columns(part: RowPart, shard: Range, contexts: Range) -> Columns:
    """Return a range of the columns of a shard; those of a whole part might be too large to travel in one piece."""
    return Columns(part.X[slice(*shard), slice(*contexts)])


def join_columns(pieces: list[Columns]) -> Columns:
    """Put the same columns of all shards below each other."""
    return Columns(join_rows([piece.X for piece in pieces]))


def join_rows(pieces: list[Any]) -> Any:
    """Put matrices below each other."""
    return sparse.vstack(pieces, format="csr") if hasattr(pieces[0], "indptr") else np.concatenate(pieces)


def change_of(coded: Coded, batch: Batch) -> Array:
    """Return by how much the weighted codes of a batch changed, (b, M)."""
    if batch.weights is None:
        return coded.codes - batch.codes
    weights = batch.weights[batch.rows][:, None]
    return coded.codes * weights - batch.codes * weights


def times_codes(columns: Columns, rows: Array, changes: list[Array], threads: int) -> Array:
    """Return ``X[rows].T @ change`` for the columns that X (V, columns) holds, (columns, M)."""
    X, change = columns.X, np.concatenate(changes)
    out = np.zeros((X.shape[1], change.shape[1]), change.dtype)
    borders = np.linspace(0, len(out), 4 * threads + 1 if hasattr(X, "indptr") and threads > 1 else 2).astype(int)
    ranges = list(pairwise(np.unique(borders).tolist()))
    with one_blas_thread():
        list(Threads(threads).map(lambda contexts: kernels.add_times_codes(X, rows, change, contexts, out), ranges))
    return out


def same(value: Any) -> Any:
    """Return what came along."""
    return value
