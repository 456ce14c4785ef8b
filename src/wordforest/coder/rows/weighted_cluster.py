"""The sides of a weighted loss on a cluster: workers improve the rows they hold, by the code of one machine.

The rows of a side, their curvatures and the dictionary are here; pairs and their weights are on the workers. Parts are
whole shards of words, or of contexts, so blocks, sums and bits are those of one machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from wordforest.coder import kernels
from wordforest.coder.descent import Factor, Quadratic
from wordforest.coder.rows.base import Loss, Range, equal_ranges, row_costs, shard_rows
from wordforest.coder.rows.cluster import ClusterRows, Loaded, Part, stacked
from wordforest.coder.rows.host import as_csr
from wordforest.coder.rows.weighted import Descent, HostSide, Side, host_sides
from wordforest.runtime.cluster import Cluster, Sized
from wordforest.runtime.machine import Threads, one_blas_thread

Array = Any  # a NumPy array
Handle = Any


@dataclass(frozen=True, eq=False)
class _SidePart(Sized):
    """Some rows of a side on a worker: the sides of a weighted loss over them, and which of the two it is."""

    X: Any
    weights: Array | None
    zeros: float
    shards: list[Range]
    of_contexts: bool

    def side(self, threads: int) -> HostSide:
        """Return the side as on one machine."""
        side = host_sides(self.X, Loss(self.weights, self.zeros), Threads(threads))[int(self.of_contexts)]
        side.given_shards = self.shards
        return side


@dataclass(frozen=True, eq=False)
class _Prepared(Sized):
    """The other side's rows and their products, sent once for each half of a pass."""

    F: Array
    products: Array

    def factor(self, side: HostSide) -> Factor:
        """Return them as a side wants them."""
        return side.factor(np.array(self.F), self.products)


class _Sent:
    """A value that several tasks share, sent to the cluster once, and again when it is lost there."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.handle: Handle = None

    def on(self, cluster: Cluster, *, again: bool) -> Handle:
        """Return its handle."""
        if self.handle is None or again:
            (self.handle,) = cluster.put([self.value])
        return self.handle


class ClusterSide(Side):
    """A side in parts, each a range of rows on a worker."""

    def __init__(self, cluster: Cluster, ranges: list[Range], parts: list[Handle]) -> None:
        self.cluster, self.ranges, self.parts = cluster, ranges, parts

    def _each(self, task: Callable[..., Any], shared: list[_Sent], *rows: Array) -> list[Any]:
        """Run a task for every part, with the part's own rows of some arrays, and with what all share."""
        cluster, tried = self.cluster, 0

        def work() -> list[Any]:
            nonlocal tried
            tried += 1
            own = cluster.put([tuple(values[slice(*span)] for values in rows) for span in self.ranges])
            common = [one.on(cluster, again=tried > 1) for one in shared]
            tasks = [
                cluster.submit(task, part, cluster.threads, values, *common, near=part)
                for part, values in zip(self.parts, own, strict=True)
            ]
            return cluster.collect(tasks)

        return cluster.attempt(work)

    def improve(self, values: Array, curvatures: Array, F: Array, descent: Descent) -> None:
        """Take steps on all rows in place."""
        found = self._each(_improve, [_prepared(F), _Sent(descent)], values, curvatures)
        for span, (own, curved) in zip(self.ranges, found, strict=True):
            values[slice(*span)], curvatures[slice(*span)] = own, curved

    def form(self, F: Array) -> Quadratic:
        """Return the quadratic form of all rows together; every product goes to the workers."""
        prepared = _prepared(F)
        linear = np.concatenate(self._each(_linear, [prepared]))
        return Quadratic(linear, lambda values: np.concatenate(self._each(_times, [prepared], values)))

    def stored_losses(self, values: Array, F: Array) -> list[float]:
        """Return the loss over stored pairs in pieces."""
        return [piece for part in self._each(_stored_losses, [_Sent(F)], values) for piece in part]

    def row_losses(self, values: Array, F: Array) -> Array:
        """Return the loss of every row, (n,)."""
        return np.concatenate(self._each(_row_losses, [_Sent(F)], values))


def _prepared(F: Array) -> _Sent:
    return _Sent(_Prepared(F, kernels.gram(F, Threads())))


def cluster_sides(rows: ClusterRows, loss: Loss, n_components: int) -> tuple[ClusterSide, ClusterSide]:
    """Return the words' and the contexts' side of X (V, C) on a cluster."""
    cluster, C = rows.cluster, rows.shape[1]
    rows.bring_weights(loss)
    layout = rows.layout(n_components)
    words = [cluster.submit(_words_of, part, loss.zeros, near=part) for part in layout.parts]
    sizes = np.sum(rows.each_part(_context_sizes, C), axis=0)
    shards = shard_rows(sizes, n_components)
    by_shard = np.add.reduceat(row_costs(sizes, n_components), [first for first, _ in shards])
    groups = [shards[a:b] for a, b in equal_ranges(by_shard, min(cluster.n_workers, len(shards)))]
    ranges = [(group[0][0], group[-1][1]) for group in groups]
    inside = [[(a - group[0][0], b - group[0][0]) for a, b in group] for group in groups]
    pieces = [[cluster.submit(_cut, part, span, near=part) for part in layout.parts] for span in ranges]
    arguments = [(own, loss.zeros, shards) for own, shards in zip(pieces, inside, strict=True)]
    contexts = cluster.spread(_contexts_of, arguments)
    return ClusterSide(cluster, layout.ranges, words), ClusterSide(cluster, ranges, contexts)


# What workers run.


def _words_of(part: Part, zeros: float) -> _SidePart:
    return _SidePart(as_csr(part.X), part.weights, zeros, part.shards, of_contexts=False)


def _context_sizes(part: Part, n_contexts: int) -> Array:
    """Return how many pairs of a part every context has."""
    if isinstance(part.X, np.ndarray):
        return np.full(n_contexts, len(part.X))
    return np.bincount(part.X.indices, minlength=n_contexts)


def _cut(part: Part, contexts: Range) -> Loaded:
    """Return a range of the columns of a part, and the weights of their pairs."""
    X = as_csr(part.X)
    columns = slice(*contexts)
    if part.weights is None:
        return Loaded(X[:, columns])
    places = sparse.csr_array((np.arange(1, X.nnz + 1), X.indices, X.indptr), shape=X.shape)[:, columns]
    return Loaded(X[:, columns], part.weights[places.data - 1])


def _contexts_of(pieces: list[Loaded], zeros: float, shards: list[Range]) -> _SidePart:
    """Put the same columns of all parts below each other."""
    weights = None if pieces[0].weights is None else np.concatenate([piece.weights for piece in pieces])
    return _SidePart(stacked([piece.X for piece in pieces]), weights, zeros, shards, of_contexts=True)


def _improve(
    part: _SidePart, threads: int, rows: tuple[Array, Array], prepared: _Prepared, descent: Descent
) -> tuple[Array, Array]:
    side = part.side(threads)
    values, curvatures = (np.array(own) for own in rows)
    with one_blas_thread():
        side.improve_with(prepared.factor(side), values, curvatures, descent)
    return values, curvatures


def _linear(part: _SidePart, threads: int, rows: tuple[()], prepared: _Prepared) -> Array:  # noqa: ARG001 _each sends them
    side = part.side(threads)
    with one_blas_thread():
        return side.form_with(prepared.factor(side), prepared.F.shape[1]).linear


def _times(part: _SidePart, threads: int, rows: tuple[Array], prepared: _Prepared) -> Array:
    side = part.side(threads)
    with one_blas_thread():
        return side.form_with(prepared.factor(side), prepared.F.shape[1]).times(np.array(rows[0]))


def _stored_losses(part: _SidePart, threads: int, rows: tuple[Array], F: Array) -> list[float]:
    return part.side(threads).stored_losses(np.array(rows[0]), np.array(F))


def _row_losses(part: _SidePart, threads: int, rows: tuple[Array], F: Array) -> Array:
    with one_blas_thread():
        return part.side(threads).row_losses(np.array(rows[0]), np.array(F))
