"""The sides of a weighted loss on a cluster: workers improve the rows they hold, by the code of one machine.

The rows of a side, their curvatures and the dictionary are here; pairs and their weights are on the workers. Parts are
whole shards of words, or of contexts, so blocks, sums and bits are those of one machine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wordforest.coder.descent import Quadratic
from wordforest.coder.penalties import Penalty
from wordforest.coder.rows.base import Loss, Range, row_costs, shard_rows
from wordforest.coder.rows.cluster import ClusterRows, Part, dealt
from wordforest.coder.rows.host import as_csr
from wordforest.coder.rows.weighted import Factor, HostSide, Side, host_sides
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.machine import Threads, one_blas_thread

Array = Any  # a NumPy array
Handle = Any


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
    """A side in parts, each a range of rows on a worker: of words, or (``which`` is 1) of contexts."""

    def __init__(self, cluster: Cluster, ranges: list[Range], parts: list[Handle], which: int, zeros: float) -> None:
        self.cluster, self.ranges, self.parts, self.kind = cluster, ranges, parts, (which, zeros, cluster.threads)

    def _each(self, task: Callable[..., Any], shared: _Sent, rows: list[Array], *more: Any) -> list[Any]:
        """Run a task for every part, with the part's own rows of some arrays, and with what all share."""
        cluster, tried = self.cluster, 0

        def work() -> list[Any]:
            nonlocal tried
            tried += 1
            own = cluster.put([tuple(values[slice(*span)] for values in rows) for span in self.ranges])
            common = shared.on(cluster, again=tried > 1)
            tasks = [
                cluster.submit(_on_side, part, self.kind, task, values, common, *more, near=part)
                for part, values in zip(self.parts, own, strict=True)
            ]
            return cluster.collect(tasks)

        return cluster.attempt(work)

    def improve(
        self, values: Array, curvatures: Array, factor: Factor, penalty: Penalty, n_iter: int, tol: float
    ) -> None:
        """Take steps on all rows in place."""
        found = self._each(_improve, _Sent(factor), [values, curvatures], penalty, n_iter, tol)
        for span, (own, curved) in zip(self.ranges, found, strict=True):
            values[slice(*span)], curvatures[slice(*span)] = own, curved

    def form(self, factor: Factor) -> Quadratic:
        """Return the quadratic form of all rows together; every product goes to the workers."""
        sent = _Sent(factor)
        linear = np.concatenate(self._each(_linear, sent, []))
        return Quadratic(linear, lambda values: np.concatenate(self._each(_times, sent, [values])))

    def stored_losses(self, values: Array, F: Array) -> list[float]:
        """Return the loss over stored pairs in pieces."""
        return [piece for part in self._each(_stored_losses, _Sent(F), [values]) for piece in part]

    def row_losses(self, values: Array, factor: Factor) -> Array:
        """Return the loss of every row, (n,)."""
        return np.concatenate(self._each(HostSide.row_losses, _Sent(factor), [values]))

    def gap(self, values: Array, factor: Factor, penalty: Penalty) -> float:
        """Return the worst relative duality gap."""
        return float(max(self._each(HostSide.gap, _Sent(factor), [values], penalty)))


def cluster_sides(rows: ClusterRows, loss: Loss, n_components: int) -> tuple[ClusterSide, ClusterSide]:
    """Return the words' and the contexts' side of X (V, C) on a cluster."""
    cluster, (V, C) = rows.cluster, rows.shape
    rows.bring_weights(loss)
    layout = rows.layout(n_components)
    sizes = rows.context_sizes()
    sizes = np.full(C, V) if sizes is None else sizes
    shards = shard_rows(sizes, n_components)
    ranges, inside = dealt(shards, row_costs(sizes, n_components), cluster.n_workers)
    words = ClusterSide(cluster, layout.ranges, layout.parts, 0, loss.zeros)
    return words, ClusterSide(cluster, ranges, rows.columns(ranges, inside), 1, loss.zeros)


# What workers run.


def _on_side(part: Part, kind: tuple[int, float, int], task: Callable[..., Any], rows: Any, *more: Any) -> Any:
    """Run a task on a side of a part, as on one machine, and on copies of its rows, which may be written to."""
    which, zeros, threads = kind
    side = host_sides(as_csr(part.X), Loss(part.weights, zeros), Threads(threads))[which]
    side.given_shards = part.shards
    with one_blas_thread():
        return task(side, *map(np.array, rows), *more)


def _improve(side: HostSide, values: Array, curvatures: Array, *how: Any) -> tuple[Array, Array]:
    side.improve(values, curvatures, *how)
    return values, curvatures


def _linear(side: HostSide, factor: Factor) -> Array:
    return side.form(factor).linear


def _times(side: HostSide, values: Array, factor: Factor) -> Array:
    return side.form(factor).times(values)


def _stored_losses(side: HostSide, values: Array, F: Array) -> list[float]:
    return side.stored_losses(values, np.array(F))
