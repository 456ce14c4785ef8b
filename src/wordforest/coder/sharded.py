"""Online learning and coding on a cluster: X lives in the memory of workers, by rows and by columns.

A step sends D to the workers that code, and the change of the codes to those that hold columns. These return their
ranges of XA, so that no partial (C, M) ever has to be added: a range is summed over the words in their order, as on one
machine. Codes stay here, in a file if asked for, since they are the state from which a step begins; a worker that dies
takes nothing with it but what can be read or computed again. A step changes the state only when all of it has arrived.

Every task is a pure function of its arguments. Shards, blocks and orders are those of ``shards.py`` and ``online.py``;
how many parts of shards the workers hold changes no bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wordforest.coder import kernels
from wordforest.coder.encode import EXACT_ITER, Codes, Gram, Solver, admm, finite_squares, joined
from wordforest.coder.online import OnlineSettings, State, _Learner
from wordforest.coder.penalties import Penalty
from wordforest.coder.shard_tasks import (
    Batch,
    Coded,
    How,
    Load,
    Write,
    change_of,
    code_part,
    cut_columns,
    encode_part,
    finish_part,
    join_columns,
    join_rows,
    kept,
    load_part,
    load_sizes,
    same,
    squares_of,
    take_rows,
    times_codes,
    used_contexts,
)
from wordforest.coder.shards import Range, context_ranges, equal_ranges, row_costs, row_sizes, shard_rows, split_rows
from wordforest.errors import ClusterError
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.threads import Threads, one_blas_thread

Array = Any  # a NumPy array
Allocate = Callable[[int, Any], NDArray[Any]]  # (length, dtype) to an array with room for it, in memory or in a file

_SPARE = 1.3  # times the memory that arrays take


class Source(Protocol):
    """Where the rows of X (V, C) come from."""

    @property
    def shape(self) -> tuple[int, int]:
        """V and C."""
        ...

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        ...

    def most_entries(self) -> NDArray[Any]:
        """Return how many entries every row may have, (V,)."""
        ...

    @property
    def exact(self) -> bool:
        """Whether rows have as many entries as that."""
        ...

    def rows(self, first: int, last: int) -> Load:
        """Return what loads a range of rows, on any worker and again if need be."""
        ...


@dataclass(frozen=True, eq=False)
class HeldRows:
    """A matrix in the memory of this process; its rows travel to the workers and can be sent again."""

    X: Any

    @property
    def shape(self) -> tuple[int, int]:
        """V and C."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return self.X.dtype

    def most_entries(self) -> NDArray[Any]:
        """Return the entries of every row, (V,)."""
        return row_sizes(self.X)

    exact = True

    def rows(self, first: int, last: int) -> Load:
        """Return what holds a range of rows."""
        return partial(same, self.X[first:last])


class ClusterRows:
    """X (V, C) in the memory of workers: parts of whole shards by rows, and ranges of columns where they are needed."""

    def __init__(self, source: Source, cluster: Cluster, n_components: int) -> None:
        self.source, self.cluster, self.n_components = source, cluster, n_components
        self.shape, self.dtype = source.shape, source.dtype
        sizes = source.most_entries()
        if not source.exact:
            sizes = self._measured(equal_ranges(row_costs(sizes, n_components), cluster.n_parts))
        self.shards = shard_rows(sizes, n_components)
        costs = row_costs(sizes, n_components)
        by_shard = np.add.reduceat(costs, [first for first, _ in self.shards])
        self.groups = [self.shards[a:b] for a, b in equal_ranges(by_shard, min(cluster.n_workers, len(self.shards)))]
        self.ranges = [(group[0][0], group[-1][1]) for group in self.groups]  # of rows, one for each part
        self._check_memory(sizes, n_components)
        self.inside = [[(a - group[0][0], b - group[0][0]) for a, b in group] for group in self.groups]
        self.parts = cluster.spread(
            load_part, [(source.rows(*rows), own) for rows, own in zip(self.ranges, self.inside, strict=True)]
        )
        self.columns: list[Any] = []
        self.contexts: list[Range] = []
        self.on_words: Callable[[int], None] = lambda _: None  # hears how many words of a step were just coded
        self.allocate: Allocate = np.empty  # makes room for the codes here
        self.storage: Storage | None = None  # where workers put the last codes; else they come here, too

    def _measured(self, ranges: list[Range]) -> NDArray[Any]:
        """Have workers look how many entries rows have."""
        tasks = [self.cluster.submit(load_sizes, self.source.rows(*rows)) for rows in ranges]
        return np.concatenate([self.cluster.get(task) for task in tasks])

    def _check_memory(self, sizes: NDArray[Any], n_components: int) -> None:
        """Refuse workers that are too small for their part: told before anything dies of it."""
        memory = self.cluster.least_memory()
        per_entry = self.dtype.itemsize + 4
        entries = max(int(sizes[first:last].sum()) for first, last in self.ranges)
        needed = int(_SPARE * (2 * per_entry * entries + 2 * self.shape[1] * n_components * self.dtype.itemsize))
        if memory is not None and memory < needed:
            raise ClusterError(
                f"a worker may use {memory / 1e9:.3g} GB, but a part of X with {entries} pairs and a dictionary of "
                f"{self.shape[1]} x {n_components} need about {needed / 1e9:.3g} GB. Give workers more memory (dask "
                "worker --memory-limit), or use more workers."
            )

    def squares(self) -> Array:
        """Return ``|x_v|^2`` of every row, shape (V,), float64."""
        tasks = [self.cluster.submit(squares_of, part, near=part) for part in self.parts]
        return np.concatenate([self.cluster.get(task) for task in tasks])

    def __getitem__(self, rows: Any) -> Any:
        """Return some rows here, in the order given."""
        rows = np.asarray(rows)
        order = np.argsort(rows, kind="stable")
        tasks = [
            self.cluster.submit(take_rows, part, rows[order][place] - first)
            for part, (first, _), place in zip(
                self.parts, self.ranges, split_rows(rows[order], self.ranges), strict=True
            )
            if place.stop > place.start
        ]
        return join_rows([self.cluster.get(task) for task in tasks])[np.argsort(order)]

    def put_columns(self) -> None:
        """Have workers hold ranges of columns, too: each is joined from its piece of every part."""
        if self.columns:
            return
        submit, C = self.cluster.submit, self.shape[1]
        used = self.cluster.collect([submit(used_contexts, part, C, near=part) for part in self.parts])
        self.contexts = (
            context_ranges(np.empty((0, C))) if used[0] is None else _equal_contexts(sum(used), self.cluster)
        )
        shards = [(part, shard) for part, own in zip(self.parts, self.inside, strict=True) for shard in own]
        pieces = [
            [submit(cut_columns, part, shard, contexts, near=part) for part, shard in shards]
            for contexts in self.contexts
        ]
        self.columns = self.cluster.spread(join_columns, [(own,) for own in pieces])

    def step(
        self, rows: Array, how: How, codes: Array, weights: Array | None
    ) -> tuple[list[tuple[slice, Coded]], list[Array]]:
        """Code a batch of words, in row order, and multiply the change of their codes with X.

        Returns the place of each part in the batch with what came of it, and ``X[rows].T @ change`` by ranges of
        contexts. The changes go from worker to worker.
        """
        self.put_columns()
        places, submit = split_rows(rows, self.ranges), self.cluster.submit

        def work() -> tuple[list[tuple[slice, Coded]], list[Array]]:
            batches = [
                Batch(rows[place] - first, codes[rows[place]], None if weights is None else weights[first:last])
                for (first, last), place in zip(self.ranges, places, strict=True)
            ]
            shared, numbers, *own = self.cluster.put([how, rows, *batches])
            pairs = list(zip(self.parts, own, strict=True))
            coded = [submit(code_part, part, shared, batch, near=part) for part, batch in pairs]
            changes = [
                submit(change_of, new, batch, near=part) for new, (part, batch) in zip(coded, pairs, strict=True)
            ]
            threads = self.cluster.threads
            added = [submit(times_codes, own, numbers, changes, threads, near=own) for own in self.columns]
            sizes = [place.stop - place.start for place in places]
            found = self.cluster.collect(coded + added, lambda i: self.on_words(sizes[i]) if i < len(sizes) else None)
            return list(zip(places, found[: len(places)], strict=True)), found[len(places) :]

        return self.cluster.attempt(work)

    def add_statistics(self, rows: Array, change: Array, XA: Array) -> None:
        """Add ``X[rows].T @ change`` to XA, (C, M)."""
        self.put_columns()

        def work() -> list[Array]:
            numbers, shared = self.cluster.put([rows, change])
            tasks = [
                self.cluster.submit(times_codes, own, numbers, [shared], self.cluster.threads, near=own)
                for own in self.columns
            ]
            return self.cluster.collect(tasks)

        self.add_ranges(self.cluster.attempt(work), XA)

    def add_ranges(self, products: list[Array], XA: Array) -> None:
        """Add what workers found for their ranges of contexts to XA, (C, M)."""
        for contexts, product in zip(self.contexts, products, strict=True):
            XA[slice(*contexts)] += product

    def code_exactly(
        self, how: How, codes: Array, weights: Array | None, write: Write, take: Callable[[slice, Coded], None]
    ) -> list[tuple[float, float, bool]]:
        """Code all words to the end, from their codes (V, M), which workers ``write``; ``take`` gets the rest.

        Returns the loss, the worst gap and whether all is exact for each block, in order.
        """
        done: list[Any] = [None] * len(self.parts)

        def work() -> None:
            (shared,) = self.cluster.put([how])

            def start(i: int) -> Any:
                part, (first, last) = self.parts[i], self.ranges[i]
                own = None if weights is None else weights[first:last]
                (batch,) = self.cluster.put([Batch(np.arange(last - first), codes[first:last], own)])
                return self.cluster.submit(finish_part, part, shared, batch, first, write, near=part)

            for i, coded in self.cluster.stream(start, [i for i, blocks in enumerate(done) if blocks is None]):
                take(slice(*self.ranges[i]), coded)
                done[i] = coded.sums
                self.on_words(len(coded.losses))

        self.cluster.attempt(work)
        return [block for blocks in done for block in blocks]

    def encode(self, how: How, write: Write, take: Callable[[slice, Any], None]) -> Codes:
        """Code all rows from nothing; workers put the codes away by ``write``, ``take`` gets what that returned.

        The codes themselves are not in what is returned here.
        """
        done: list[Any] = [None] * len(self.parts)

        def work() -> None:
            (shared,) = self.cluster.put([how])
            left = [i for i, found in enumerate(done) if found is None]
            submit = self.cluster.submit
            tasks = [
                submit(encode_part, self.parts[i], shared, self.ranges[i][0], write, near=self.parts[i]) for i in left
            ]
            for n, (blocks, written) in self.cluster.each(tasks):
                rows = slice(*self.ranges[left[n]])
                take(rows, written)
                done[left[n]] = blocks
                self.on_words(rows.stop - rows.start)

        self.cluster.attempt(work)
        return joined(how.D[:0], [block for part in done for block in part])


def how_to_code(
    D: Array, penalty: Penalty, cluster: Cluster, *, solver: Solver = admm, tol: float | None = None,
    max_iter: int = EXACT_ITER,
) -> How:  # fmt: skip
    """Return what coding with a dictionary D (C, M) needs, as ``encode`` has it."""
    with one_blas_thread():
        gram = Gram(D.T @ D)
        _ = gram.inverse, gram.curvature
    return How(D, gram, penalty, OnlineSettings(solver=solver, exact_tol=tol), cluster.threads, max_iter)


def encode_held(X: Any, how: How, cluster: Cluster) -> Codes:
    """Code all rows of a matrix that is in the memory of this process; the codes, too, come back here."""
    A = np.zeros((X.shape[0], how.D.shape[1]), how.D.dtype)
    rows = X if isinstance(X, ClusterRows) else ClusterRows(HeldRows(X), cluster, how.D.shape[1])
    finite_squares(rows)
    codes = rows.encode(how, kept, A.__setitem__)
    return replace(codes, A=A)


class Storage(Protocol):
    """A place for codes (V, M) that all workers can write to."""

    def create(self, shape: tuple[int, int], dtype: Any) -> None:
        """Make room."""
        ...

    def write(self, first: int, A: Array) -> None:
        """Write the codes of the rows from ``first`` on; runs on a worker, perhaps twice."""
        ...

    def read(self) -> Array:
        """Return all codes, left where they are."""
        ...


def cluster_learner(
    X: Any, penalty: Penalty, settings: OnlineSettings, weights: Array | None, cluster: Cluster, n_components: int
) -> ClusterLearner:
    """Return a learner over X (V, C), which is put on the cluster if it is not there for as many components yet."""
    rows = X if isinstance(X, ClusterRows) else ClusterRows(HeldRows(X), cluster, n_components)
    if rows.n_components != n_components:
        rows = ClusterRows(rows.source, cluster, n_components)
    return ClusterLearner(rows, penalty, settings, weights)


class ClusterLearner(_Learner):
    """The learner where X is on a cluster: coding and statistics go there, the dictionary and the state stay here."""

    def __init__(self, X: ClusterRows, penalty: Penalty, settings: OnlineSettings, weights: Array | None) -> None:
        self._filled = 0  # codes that are not zero
        self._products: list[Array] = []  # X' times the change of the codes in this step, by ranges of contexts
        super().__init__(X, penalty, settings, weights, Threads())

    def begin(self, start: Array | None, n_components: int) -> None:
        """Start from a dictionary and codes of zeros, which may lie in a file."""
        super().begin(start, n_components)
        self.state.A = self._room(0)

    def go_on(self, state: State) -> None:
        """Start from where an earlier learner stood."""
        codes, state.A = state.A, state.A[:0]
        super().go_on(state)
        self.state.A = self._room(None)
        self.uses = kernels.zeros((codes.shape[1],), self.state.D, "int64")
        self.penalties = self.squares * 0
        for rows in (slice(*shard) for shard in self.shards):
            self.state.A[rows] = codes[rows]
            self.uses += kernels.uses(self._weighted(codes[rows], rows))
            self._filled += int(np.count_nonzero(codes[rows]))
            self.penalties[rows] = self.penalty.per_word(self.state.A[rows])

    def _room(self, value: float | None) -> Array:
        M = self.state.D.shape[1]
        A = self.X.allocate(self.n_words * M, self.X.dtype).reshape(self.n_words, M)
        if value is not None:
            A[:] = value
        return A

    @property
    def shards(self) -> list[Range]:
        """Ranges of rows whose sums are made apart."""
        found: list[Range] = self.X.shards
        return found

    def _how(self) -> How:
        gram = self.gram
        _ = gram.inverse, gram.curvature  # made once, here, and sent along
        return How(self.state.D, gram, self.penalty, self.settings, self.X.cluster.threads)

    def _code(self, rows: Array) -> Array:
        state = self.state
        coding, self._products = self.X.step(rows, self._how(), state.A, self.weights)
        for place, coded in coding:
            own = rows[place]
            old = state.A[own]
            self._filled += coded.n_nonzeros - int(np.count_nonzero(old))
            state.A[own] = coded.codes
            self.penalties[own], state.losses[own] = coded.penalties, coded.losses
            for sums in coded.sums:
                self._add_sums(*sums)
        return state.A[:0]  # the change is where it is needed, on the workers

    def _add_statistics(self, rows: Array, change: Array) -> None:  # noqa: ARG002 the workers have it already
        self.X.add_ranges(self._products, self.state.XA)
        self._products = []

    def _code_exactly(self) -> Iterator[tuple[float, float, bool]]:
        state, storage = self.state, self.X.storage

        def take(rows: slice, coded: Coded) -> None:
            self._filled += coded.n_nonzeros - int(np.count_nonzero(state.A[rows]))
            self.penalties[rows] = coded.penalties
            if storage is None:
                state.A[rows] = coded.codes

        if storage:
            storage.create(state.A.shape, state.A.dtype)
        write = storage.write if storage else kept
        blocks = self.X.code_exactly(self._how(), state.A, self.weights, write, take)
        if storage:
            state.A = storage.read()
        yield from blocks

    def _n_nonzeros(self) -> int:
        return self._filled


def _equal_contexts(used: Any, cluster: Cluster) -> list[Range]:
    """Cut contexts into ranges with about equally many entries; bits do not depend on where."""
    return equal_ranges(np.asarray(used, dtype=np.int64) + 1, cluster.n_workers)
