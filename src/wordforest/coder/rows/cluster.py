"""X in the memory of the workers of a Dask cluster, by rows and by columns.

A step sends D to the workers that code, and the change of the codes to those that hold columns. These return their
ranges of XA, so that no partial (C, M) ever has to be added: a range is summed over the words in their order, as on one
machine. Codes stay here, in a file if asked for, since they are the state from which a step begins; a worker that dies
takes nothing with it but what can be read or computed again. A step changes the state only when all of it has arrived.

Every task is a pure function of its arguments. Shards, blocks and orders are those of one machine; how many parts of
shards the workers hold changes no bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.coder.kernels import row_squares
from wordforest.coder.rows.base import (
    HELD,
    SAMPLE,
    Loss,
    Range,
    Rows,
    Words,
    context_ranges,
    equal_ranges,
    row_costs,
    row_sizes,
    split_rows,
)
from wordforest.coder.rows.base import shard_rows as cut_into_shards
from wordforest.coder.rows.host import HostRows
from wordforest.coder.rows.weighted import Side
from wordforest.errors import ClusterError
from wordforest.runtime.cluster import Cluster, Sized
from wordforest.runtime.machine import Threads, one_blas_thread

Array = Any  # a NumPy array
Handle = Any  # of a value on the cluster
R = TypeVar("R")

_PIECES = 8  # that the words of a pass come in
_GIVEN = ("weights", "lengths")  # what no step changes of words
_SPARE = 1.3  # times the memory that arrays take


@dataclass(frozen=True, eq=False)
class Part(Sized):
    """Some rows of X, or some of its columns, on a worker, and what is known of them.

    ``weights`` are those of the stored pairs, where these count differently; ``squares`` is ``|x_v|^2``; ``shards`` are
    ranges of these rows, or columns, that keep together.
    """

    X: Any
    weights: Array | None = None
    squares: Array | None = None
    shards: list[Range] | None = None

    def rows(self, threads: int) -> HostRows:
        """Return this as Rows of one machine."""
        rows = HostRows(self.X, Threads(threads), self.shards)
        rows.known_squares = self.squares
        return rows

    def cut(self, rows: Any, columns: slice = slice(None), *, weigh: bool = True) -> Part:
        """Return some rows and columns, with the weights of their pairs if ``weigh``."""
        X = self.X[rows][:, columns]
        if self.weights is None or not weigh:
            return Part(X)
        if isinstance(X, np.ndarray):
            return Part(X, self.weights.reshape(self.X.shape)[rows][:, columns].ravel())
        weights = sparse.csr_array((self.weights, self.X.indices, self.X.indptr), shape=self.X.shape)
        return Part(X, weights[rows][:, columns].data)


class Source(Protocol):
    """Where the rows of X (V, C) come from."""

    @property
    def shape(self) -> tuple[int, int]:
        """V and C."""
        ...

    @property
    def dtype(self) -> Any:
        """Type of the values."""
        ...

    def most_entries(self) -> NDArray[Any]:
        """Return how many entries every row may have, (V,)."""
        ...

    @property
    def exact(self) -> bool:
        """Whether rows have as many entries as that."""
        ...

    def load(self, first: int, last: int) -> Callable[[], Part]:
        """Return what loads a range of rows, on any worker and again if need be."""
        ...


class HeldRows:
    """A matrix in the memory of this process; its rows travel to the workers and can be sent again."""

    exact = True

    def __init__(self, X: Any) -> None:
        self.weights: Array | None = None  # of the stored pairs
        self.X, self.shape, self.dtype = X, (int(X.shape[0]), int(X.shape[1])), X.dtype

    def most_entries(self) -> NDArray[Any]:
        """Return the entries of every row, (V,)."""
        return row_sizes(self.X)

    def load(self, first: int, last: int) -> Callable[[], Part]:
        """Return what holds a range of rows."""
        rows = self.X[first:last]
        if self.weights is None:
            return partial(Part, rows)
        starts = np.concatenate(([0], np.cumsum(self.most_entries())))
        return partial(Part, rows, self.weights[starts[first] : starts[last]])


@dataclass(frozen=True, eq=False)
class Batch(Sized):
    """The words of a part that a step is about: their numbers inside the part, and what is known of them."""

    rows: Array
    words: Words


@dataclass(frozen=True, eq=False)
class _Layout:
    """X for one number of components: whole shards to a worker; ``ranges`` are of rows, one for each part."""

    n_components: int
    shards: list[Range]
    ranges: list[Range]
    parts: list[Handle]
    inside: list[list[Range]]  # the shards of each part, from its first row on


def dealt(shards: list[Range], costs: NDArray[Any], n_workers: int) -> tuple[list[Range], list[list[Range]]]:
    """Deal whole shards of rows with such costs, (V,), out to workers: the rows of each, and its shards inside them."""
    by_shard = np.add.reduceat(costs, [first for first, _ in shards])
    groups = [shards[a:b] for a, b in equal_ranges(by_shard, min(n_workers, len(shards)))]
    inside = [[(a - group[0][0], b - group[0][0]) for a, b in group] for group in groups]
    return [(group[0][0], group[-1][1]) for group in groups], inside


class ClusterRows(Rows):
    """X (V, C) in the memory of workers: parts of whole shards by rows, and ranges of columns where they are needed."""

    def __init__(self, source: Source, cluster: Cluster) -> None:
        self.source, self.cluster, self.executor = source, cluster, Threads()
        self.shape, self.like = source.shape, np.empty(0, dtype=source.dtype)
        self._sizes = source.most_entries()
        if not source.exact:
            self._sizes = self._measured(equal_ranges(self._sizes.astype(np.int64) + 1, cluster.n_parts))
        self._layout: _Layout | None = None
        self._columns: list[tuple[Range, Handle]] = []
        self.on_words: Callable[[int], None] = lambda _: None  # hears how many words of a step were just coded
        self.allocate: Callable[[int, Any], NDArray[Any]] | None = None  # makes room for codes in a file

    def _measured(self, ranges: list[Range]) -> NDArray[Any]:
        """Have workers look how many entries rows have."""
        tasks = [self.cluster.submit(_load_sizes, self.source.load(*rows)) for rows in ranges]
        return np.concatenate([self.cluster.get(task) for task in tasks])

    def layout(self, n_components: int | None = None) -> _Layout:
        """Return X on the workers, for a number of components; for any, where none is given."""
        if self._layout is None or n_components not in (None, self._layout.n_components):
            self._layout, self._columns = None, []  # what is there makes room
            self._layout = self._laid_out(n_components or 1)
        return self._layout

    def _laid_out(self, n_components: int) -> _Layout:
        shards = self.shards(n_components)
        ranges, inside = dealt(shards, row_costs(self._sizes, n_components), self.cluster.n_workers)
        self._check_memory(ranges, n_components)
        loads = [(self.source.load(*rows), own) for rows, own in zip(ranges, inside, strict=True)]
        return _Layout(n_components, shards, ranges, self.cluster.spread(_load_part, loads), inside)

    def _check_memory(self, ranges: list[Range], n_components: int) -> None:
        """Refuse workers that are too small for their part: told before anything dies of it."""
        memory, C = self.cluster.least_memory(), self.shape[1]
        entries = max(int(self._sizes[first:last].sum()) for first, last in ranges)
        item = self.dtype.itemsize
        needed = int(_SPARE * (2 * (item + 4) * entries + 2 * C * n_components * item))
        if memory is not None and memory < needed:
            raise ClusterError(
                f"a worker may use {memory / 1e9:.3g} GB, but a part of X with {entries} pairs and a dictionary of "
                f"{C} x {n_components} need about {needed / 1e9:.3g} GB. Give workers more memory (dask worker "
                "--memory-limit), or use more workers."
            )

    @property
    def words_here(self) -> int:
        """Words whose codes take memory of this process: none where they lie in a file."""
        return self.shape[0] if self.allocate is None else 1

    def zeros(self, shape: tuple[int, ...]) -> Array:
        """Return room with a row for every word, in a file if there is one."""
        if self.allocate is None:
            return np.zeros(shape, self.dtype)
        out = self.allocate(int(np.prod(shape)), self.dtype).reshape(shape)
        out[:] = 0
        return out

    def shards(self, n_components: int) -> list[Range]:
        """Return ranges of rows whose sums are made apart."""
        return cut_into_shards(self._sizes, n_components)

    def _squares(self) -> Array:
        return np.concatenate(self.each_part(_squares_of))

    def each_part(self, task: Callable[..., R], *arguments: Any) -> list[R]:
        """Run a task for every part of X, where it is."""
        parts = self.layout().parts
        return self.cluster.collect([self.cluster.submit(task, part, *arguments, near=part) for part in parts])

    def _owners(self, rows: Array) -> list[tuple[Handle, slice, Array]]:
        """Return for every part where its rows stand among sorted rows, and their numbers inside the part."""
        layout = self.layout()
        places = zip(layout.parts, layout.ranges, split_rows(rows, layout.ranges), strict=True)
        return [(part, place, rows[place] - first) for part, (first, _), place in places]

    def times(self, rows: Array, D: Array) -> Array:
        """Return ``X[rows] @ D`` here, shape (b, M); rows are in order."""
        owners = self._owners(rows)

        def work() -> list[Array]:
            (shared,) = self.cluster.put([D])
            return self.cluster.collect(
                [self.cluster.submit(_times, part, own, shared, near=part) for part, _, own in owners]
            )

        return np.concatenate(self.cluster.attempt(work))

    def add_transposed(self, rows: Array, A: Array, out: Array) -> None:
        """Add ``X[rows].T @ A`` to ``out``, shape (C, M); workers have it by ranges of contexts."""
        columns = self._by_columns()

        def work() -> list[Array]:
            numbers, shared = self.cluster.put([rows, A])
            return self.cluster.collect(self._times_codes(columns, numbers, [shared]))

        self._add_ranges(columns, self.cluster.attempt(work), out)

    def _times_codes(self, columns: list[tuple[Range, Handle]], numbers: Handle, changes: list[Handle]) -> list[Handle]:
        submit, threads = self.cluster.submit, self.cluster.threads
        return [submit(_times_codes, own, numbers, changes, threads, near=own) for _, own in columns]

    def _add_ranges(self, columns: list[tuple[Range, Handle]], products: list[Array], out: Array) -> None:
        for (contexts, _), product in zip(columns, products, strict=True):
            out[slice(*contexts)] += product

    def row(self, word: int) -> Array:
        """Return a row here as a dense vector, shape (C,)."""
        return self.take(np.array([word])).row(0)

    def take(self, rows: Array) -> HostRows:
        """Return some rows here, in the order given, as Rows of their own."""
        return self._taken(rows)[0]

    def sample(self, rows: Array, loss: Loss) -> tuple[HostRows, Loss]:
        """Return some rows here, given in order, and the loss over their pairs."""
        self.bring_weights(loss)
        taken, weights = self._taken(rows)
        return taken, Loss(weights if loss.weights is not None else None, loss.zeros)

    def _taken(self, rows: Array) -> tuple[HostRows, Array | None]:
        """Return some rows, and the weights of their pairs where the rows were given in order and have weights."""
        order = np.argsort(rows, kind="stable")
        owners = self._owners(rows[order])
        tasks = [self.cluster.submit(Part.cut, part, own) for part, _, own in owners if len(own)]
        taken = joined([self.cluster.get(task) for task in tasks])
        return HostRows(taken.X[np.argsort(order)]), taken.weights

    def _by_columns(self) -> list[tuple[Range, Handle]]:
        """Have workers hold ranges of columns, too: each is joined from its piece of every part."""
        if self._columns:
            return self._columns
        used = self.context_sizes(SAMPLE)
        if used is None:
            ranges = context_ranges(np.empty((0, self.shape[1])))
        else:
            ranges = equal_ranges(used + 1, self.cluster.n_workers)
        self._columns = list(zip(ranges, self.columns(ranges), strict=True))
        return self._columns

    def context_sizes(self, every: int = 1) -> NDArray[np.int64] | None:
        """Return how many of every so many pairs each context has, (C,), None where all pairs are stored."""
        sizes = self.each_part(_context_sizes, self.shape[1], every)
        return None if sizes[0] is None else np.sum(np.array(sizes, dtype=np.int64), axis=0)

    def columns(self, ranges: list[Range], shards: list[list[Range]] | None = None) -> list[Handle]:
        """Have workers hold ranges of columns, shard by shard: a whole part might be too large to travel in one piece.

        Given the shards of each range, the weights of pairs come along.
        """
        layout, submit = self.layout(), self.cluster.submit
        rows = [(part, slice(*shard)) for part, own in zip(layout.parts, layout.inside, strict=True) for shard in own]
        cut = partial(Part.cut, weigh=shards is not None)
        pieces = [[submit(cut, part, own, slice(*columns), near=part) for part, own in rows] for columns in ranges]
        inside = [(own,) for own in shards] if shards else [() for _ in ranges]
        return self.cluster.spread(joined, [(own, *more) for own, more in zip(pieces, inside, strict=True)])

    def _sides(self, loss: Loss, n_components: int) -> tuple[Side, Side]:
        """Return the words' and the contexts' side of a weighted loss."""
        from wordforest.coder.rows.weighted_cluster import cluster_sides

        return cluster_sides(self, loss, n_components)

    def bring_weights(self, loss: Loss) -> None:
        """Have the parts hold the weights of a loss, unless they are loaded with the rows."""
        if isinstance(self.source, HeldRows) and loss.weights is not None and loss.weights is not HELD:
            loss.check(int(self._sizes.sum()))
            self.source.weights = np.asarray(loss.weights, dtype=self.dtype).ravel()
            self._layout, self._columns = None, []

    def run(self, task: Callable[..., R], words: Words, batch: Array, shared: Any) -> list[R]:
        """Run a task for the batch's words of every part, on the worker that has it, some shards at a time.

        So what comes back for all words is never here at once. Results are in the order of the shards.
        """
        pieces = self._pieces(batch, words["A"].shape[1])
        found = [self._run(task, words, piece, shared, None) for piece in pieces]
        return [result for part in zip(*found, strict=True) for result in part]

    def _pieces(self, batch: Array, n_components: int) -> list[Array]:
        """Cut a batch into at most ``_PIECES``, each with about as many shards of every part."""
        starts = [first for first, _ in self.shards(n_components)]
        piece_of = np.empty(len(starts), dtype=np.int64)
        for first, last in self.layout(n_components).ranges:
            own = slice(*np.searchsorted(starts, (first, last)))
            n = own.stop - own.start
            piece_of[own] = np.arange(n) * _PIECES // max(n, 1)
        pieces = piece_of[np.searchsorted(starts, batch, side="right") - 1]
        return [batch[pieces == piece] for piece in np.unique(pieces)]

    def run_and_add(
        self, task: Callable[..., tuple[Array, R]], words: Words, batch: Array, shared: Any, out: Array
    ) -> list[R]:
        """As ``run``; changes of codes go from worker to worker, and ``X[batch].T @ change`` is added to ``out``."""
        return self._run(task, words, batch, shared, out)

    def _run(self, task: Callable[..., Any], words: Words, batch: Array, shared: Any, out: Array | None) -> list[Any]:
        cluster, layout = self.cluster, self.layout(words["A"].shape[1])
        columns = [] if out is None else self._by_columns()
        owners = self._owners(batch)
        sizes = [len(own) for _, _, own in owners]

        def work() -> tuple[list[Any], list[Array]]:
            own = [
                Batch(inside, {name: values[batch[place]] for name, values in words.items()})
                for _, place, inside in owners
            ]
            how, numbers, *batches = cluster.put([shared, batch, *own])
            ran = [
                cluster.submit(_run_task, part, task, how, own, cluster.threads, out is not None, near=part)
                for part, own in zip(layout.parts, batches, strict=True)
            ]
            both = list(zip(ran, layout.parts, strict=True))
            fetched = [cluster.submit(_without_change, one, near=part) for one, part in both]
            changes = [cluster.submit(_change, one, near=part) for one, part in both if columns]
            added = self._times_codes(columns, numbers, changes)
            found = cluster.collect(fetched + added, lambda i: self.on_words(sizes[i]) if i < len(sizes) else None)
            return found[: len(sizes)], found[len(sizes) :]

        found, products = cluster.attempt(work)
        for (_, place, _), (changed, _) in zip(owners, found, strict=True):
            for name, values in changed.items():
                words[name][batch[place]] = values
        if out is not None:
            self._add_ranges(columns, products, out)
        return [result for _, result in found]


# What workers run: pure functions of a part of X and of what a step sends along. A part is loaded once and stays; all
# else comes with the task. So a task may run twice, or on another worker.


def _run_task(part: Part, task: Any, shared: Any, batch: Batch, threads: int, changes: bool) -> tuple[Any, Words, Any]:
    """Run a task over the words of a batch; return the change of the codes, what is now known of them, the result."""
    words = {}
    for name, values in batch.words.items():
        words[name] = np.zeros((part.X.shape[0], *values.shape[1:]), values.dtype)
        words[name][batch.rows] = values
    with one_blas_thread():
        result = task(part.rows(threads), words, batch.rows, shared)
    change, result = result if changes else (None, result)
    return (
        change,
        {name: values[batch.rows] for name, values in words.items() if name not in ("weights", "lengths")},
        result,
    )


def _without_change(ran: tuple[Any, Words, Any]) -> tuple[Words, Any]:
    return ran[1:]


def _change(ran: tuple[Any, Words, Any]) -> Any:
    return ran[0]


def _load_part(load: Callable[[], Part], shards: list[Range]) -> Part:
    loaded = load()
    return replace(loaded, squares=row_squares(loaded.X), shards=shards)


def _load_sizes(load: Callable[[], Part]) -> NDArray[Any]:
    """Return how many entries rows have."""
    return row_sizes(load().X)


def _squares_of(part: Part) -> Any:
    return part.squares


def _times(part: Part, rows: Array, D: Array) -> Array:
    with one_blas_thread():
        return part.rows(1).times(rows, D)


def _context_sizes(part: Part, n_contexts: int, every: int) -> NDArray[np.int64] | None:
    return None if isinstance(part.X, np.ndarray) else np.bincount(part.X.indices[::every], minlength=n_contexts)


def joined(pieces: list[Part], shards: list[Range] | None = None) -> Part:
    """Put parts with the same columns below each other."""
    matrices = [piece.X for piece in pieces]
    dense = isinstance(matrices[0], np.ndarray)
    X = np.concatenate(matrices) if dense else sparse.vstack(matrices, format="csr")
    weights = None if pieces[0].weights is None else np.concatenate([piece.weights for piece in pieces])
    return Part(X, weights, shards=shards)


def _times_codes(columns: Part, rows: Array, changes: list[Array], threads: int) -> Array:
    """Return ``X[rows].T @ change`` for the columns that X (V, columns) holds, (columns, M)."""
    X, change = columns.X, np.concatenate(changes)
    out = np.zeros((X.shape[1], change.shape[1]), change.dtype)
    is_sparse = not isinstance(X, np.ndarray)
    borders = np.linspace(0, len(out), 4 * threads + 1 if is_sparse and threads > 1 else 2).astype(int)
    held = HostRows(X, Threads(threads))
    with one_blas_thread():
        held.add_by_ranges(rows, change, out, list(pairwise(np.unique(borders).tolist())))
    return out
