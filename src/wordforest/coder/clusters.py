"""Nested clusters of points: by a given forest, by numbers of nodes at each depth, or grown where it pays.

The best of many runs of k-means counts at every cut: clusters of nearly the least spread are alike in any sample of the
points, clusters of a single run are not. Random numbers belong to a point's key, not to its place, so that more points,
or others before it, do not change them. Neither does the number of threads change a bit.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.forest import Forest
from wordforest.runtime.machine import Executor, Threads

Array = NDArray[Any]

_RUNS = 100  # of k-means at a cut
_STEPS = 60  # of a run, at most
_TOGETHER = 1 << 22  # distances that are held at a time: runs go side by side through one matrix product
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # sets runs apart, as in SplitMix64
_NEAREST = 1e-12  # squared distance of points that are the same


def key_of(name: str) -> int:
    """Return the key of a point with a name, a word or the id of a document: the same in any collection."""
    return int.from_bytes(blake2b(name.encode("utf-8", "replace"), digest_size=8).digest(), "little")


def keys_of(names: Iterable[str]) -> NDArray[np.uint64]:
    """Return the keys of points, (n,)."""
    return np.array([*map(key_of, names)], dtype=np.uint64)


@dataclass(eq=False)
class Points:
    """Points with weights (n,) and keys (n,), uint64; ``spaces`` are their coordinates (n, K) by depth.

    Trees are cut in the first space, their children in the second, and so on; the last goes for all below.
    """

    spaces: Sequence[Array]
    weights: Array | None = None
    keys: Array | None = None
    seed: int = 0
    executor: Executor = field(default_factory=lambda: Threads(1))

    def __len__(self) -> int:
        return len(self.spaces[0])

    def cut(self, sets: Sequence[Array], parts: Sequence[int], depth: int) -> list[tuple[float, list[Array]]]:
        """Cut each set of points into so many clusters; return their spread and the clusters, largest first.

        Some clusters are empty where points are too few.
        """
        clouds = [self._cloud(points, depth) for points in sets]
        runs = [
            (number, range(first, min(first + size, _RUNS)))
            for number, (cloud, k) in enumerate(zip(clouds, parts, strict=True))
            for size in [max(1, _TOGETHER // max(1, len(cloud.Z) * k))]
            for first in range(0, _RUNS, size)
        ]
        best = [(np.inf, np.empty(0, dtype=np.int64))] * len(clouds)
        found = self.executor.map(lambda run: clouds[run[0]].cut(parts[run[0]], run[1], self.seed + depth), runs)
        for (number, _), one in zip(runs, found, strict=True):
            best[number] = min(best[number], one, key=lambda result: result[0])
        return [
            (spread, sorted((points[label == i] for i in range(k)), key=self._rank))
            for points, k, (spread, label) in zip(sets, parts, best, strict=True)
        ]

    def _rank(self, part: Array) -> tuple[int, int]:
        """Return what clusters are sorted by: their size, then a key, so that no run of k-means decides."""
        keys = part if self.keys is None else self.keys[part]
        return -len(part), int(keys.min()) if len(part) else 0

    def spread(self, points: Array, depth: int) -> float:
        """Return the weighted squared distance of points to their mean, summed."""
        return self._cloud(points, depth).cut(1, range(1), 0)[0]

    def _cloud(self, points: Array, depth: int) -> _Cloud:
        Z = self.spaces[min(depth, len(self.spaces) - 1)][points]
        weights = np.ones(len(points)) if self.weights is None else self.weights[points].astype(np.float64)
        return _Cloud(Z, weights, (points if self.keys is None else self.keys[points]).astype(np.uint64))


def nest(points: Points, forest: Forest) -> list[Array]:
    """Return the points of every node: trees share out all points, children those of their parent.

    A node with fewer points than children leaves some children without any.
    """
    members: list[Array] = [np.empty(0, dtype=np.int64)] * len(forest)
    cuts = [(np.arange(len(points)), [int(root) for root in forest.roots])]
    depth = 0
    while cuts:
        parts = points.cut([own for own, _ in cuts], [len(nodes) for _, nodes in cuts], depth)
        for (_, nodes), (_, clusters) in zip(cuts, parts, strict=True):
            for node, cluster in zip(nodes, clusters, strict=True):
                members[node] = cluster
        level = [node for _, nodes in cuts for node in nodes]
        cuts = [(members[node], children) for node in level if (children := forest.children(node))]
        depth += 1
    return members


def grow(
    points: Points, *, trees: int, n_nodes: int, most_children: int, least_rows: int
) -> tuple[Forest, list[Array]]:
    """Grow a forest of at most ``n_nodes`` nodes over the points; return it and the points of every node.

    Begins with ``trees`` clusters. Then, again and again, the split that lowers the squared distance of the points to
    the centre of their cluster most for every node it adds; one with more parts than nodes are left is passed over.
    Nodes are numbered in preorder at the end, the trees by their number of points.
    """
    everything = np.arange(len(points))
    roots = [_Node(own) for own in points.cut([everything], [trees], 0)[0][1] if len(own)]
    left = n_nodes - len(roots)
    heap: list[tuple[float, int, _Node, list[Array]]] = []
    made = 0

    def offer(node: _Node) -> None:
        nonlocal made
        made += 1
        best = _best_split(points, node, most_children, least_rows)
        if best is not None:
            heapq.heappush(heap, (-best[0], made, node, best[1]))

    for root in roots:
        offer(root)
    while heap and left > 0:
        _, _, node, parts = heapq.heappop(heap)
        if len(parts) > left:
            continue
        node.children = [_Node(own, node.depth + 1) for own in parts]
        left -= len(parts)
        for child in node.children:
            offer(child)
    return _numbered(roots)


def grow_levels(points: Points, levels: Sequence[int], least_rows: int) -> tuple[Forest, list[Array]]:
    """Cut the points into ``levels[0]`` trees, these into ``levels[1]`` children, and so on; return as ``grow`` does.

    Nodes with a large spread get many children. A node has two or more, or none: none where there are too few nodes
    for all, or where a part would have fewer than ``least_rows`` points. So there may be fewer nodes than asked for.
    """
    most = max(1, len(points) // least_rows)
    level = [_Node(own) for own in points.cut([np.arange(len(points))], [min(levels[0], most)], 0)[0][1] if len(own)]
    roots = level
    for depth, n_nodes in enumerate(levels[1:], 1):
        parts = _shared_out(n_nodes, [points.spread(node.points, depth) for node in level], level, least_rows)
        split = [(node, k) for node, k in zip(level, parts, strict=True) if k]
        cuts = points.cut([node.points for node, _ in split], [k for _, k in split], depth)
        for (node, _), (_, clusters) in zip(split, cuts, strict=True):
            filled = [own for own in clusters if len(own)]
            node.children = [_Node(own, depth) for own in filled] if len(filled) > 1 else []
        level = [child for node in level for child in node.children]
    return _numbered(roots)


def _shared_out(n_nodes: int, spreads: Sequence[float], level: Sequence[_Node], least_rows: int) -> list[int]:
    """Return the number of children of every node: two for all, or the most spread ones, then more for the widest."""
    most = [len(node.points) // least_rows for node in level]
    parts = [0] * len(level)
    for number in sorted(range(len(level)), key=lambda i: -spreads[i]):
        if most[number] >= 2 and sum(parts) + 2 <= n_nodes:
            parts[number] = 2
    while sum(parts) < n_nodes:
        open_to_more = [i for i, k in enumerate(parts) if 0 < k < most[i]]
        if not open_to_more:
            break
        parts[max(open_to_more, key=lambda i: spreads[i] / parts[i])] += 1
    return parts


def _numbered(roots: list[_Node]) -> tuple[Forest, list[Array]]:
    """Return the forest of the nodes in preorder, the largest first, and the points of every node."""
    parent: list[int] = []
    members: list[Array] = []
    for root in sorted(roots, key=lambda root: -len(root.points)):
        root.number(-1, parent, members)
    return Forest(parent), members


@dataclass(eq=False)
class _Node:
    points: Array
    depth: int = 0
    children: list[_Node] = field(default_factory=list)

    def number(self, above: int, parent: list[int], members: list[Array]) -> None:
        """Append this node and all below it, in preorder."""
        node = len(parent)
        parent.append(above)
        members.append(self.points)
        for child in sorted(self.children, key=lambda child: -len(child.points)):
            child.number(node, parent, members)


def _best_split(points: Points, node: _Node, most_children: int, least_rows: int) -> tuple[float, list[Array]] | None:
    """Return the split that gains most for every new node, with its gain; None if no split leaves enough points."""
    depth = node.depth + 1
    whole = points.spread(node.points, depth)
    parts = [k for k in range(2, most_children + 1) if k * least_rows <= len(node.points)]
    splits = [
        ((whole - spread) / len(clusters), clusters)
        for spread, clusters in points.cut([node.points] * len(parts), parts, depth)
        if min(map(len, clusters)) >= least_rows
    ]
    best = max(splits, key=lambda split: split[0], default=None)
    return best if best is not None and best[0] > 0 else None


@dataclass(frozen=True, eq=False)
class _Cloud:
    """Points Z (n, d) with weights (n,) and keys (n,)."""

    Z: Array
    weights: Array
    keys: Array

    def cut(self, k: int, runs: range, seed: int) -> tuple[float, Array]:
        """Return the least spread of k clusters over some runs of k-means, and the cluster of every point (n,)."""
        n, d = self.Z.shape
        if not n:
            return 0.0, np.empty(0, dtype=np.int64)
        centres = self.Z[self._seeds(k, runs, seed)]  # (runs, k, d)
        labels = np.full((len(runs), n), -1, dtype=np.int32)
        moving = np.arange(len(runs))
        for _ in range(_STEPS):
            C = centres[moving].reshape(-1, d)
            nearness = C @ self.Z.T - ((C * C).sum(1) / 2)[:, None]  # (runs k, n), largest where a point is nearest
            new = nearness.reshape(len(moving), k, n).argmax(1)
            changed = (new != labels[moving]).any(1)
            moving, new = moving[changed], new[changed]
            if not len(moving):
                break
            labels[moving] = new
            sums, sizes = self._sums(new, k)
            filled = sizes[..., None] > 0
            np.divide(sums, sizes[..., None], out=sums, where=filled)
            centres[moving] = np.where(filled, sums, centres[moving])
        spreads = self._spreads(labels, k)
        best = int(spreads.argmin())
        return float(spreads[best]), labels[best].astype(np.int64)

    def _seeds(self, k: int, runs: range, seed: int) -> Array:
        """Choose centres far from each other (k-means++), (runs, k), by the noise of every point's key."""
        chosen: list[Array] = []
        with np.errstate(divide="ignore"):
            prior = np.log(self.weights)
        near = np.ones((len(runs), len(self.Z)))
        for draw in range(k):
            pick = (prior + np.log(near) + self._noise(runs, seed, draw)).argmax(1)
            squares = ((self.Z[pick] ** 2).sum(1)[:, None] + (self.Z**2).sum(1)) - 2 * (self.Z[pick] @ self.Z.T)
            near = np.maximum(squares if draw == 0 else np.minimum(near, squares), _NEAREST)
            chosen.append(pick)
        return np.stack(chosen, axis=1)

    def _noise(self, runs: range, seed: int, draw: int) -> Array:
        """Return Gumbel noise of every point in every run, (runs, n)."""
        own = _mixed(_mixed(self.keys) + np.uint64((seed * 1_000_003 + draw * 7_919 + 12_345) % 2**64))
        of_runs = _mixed((np.arange(runs.start, runs.stop, dtype=np.uint64) + np.uint64(1)) * _GOLDEN)
        uniform = ((_mixed(own + of_runs[:, None]) >> np.uint64(11)) + 0.5) / 2.0**53
        return np.asarray(-np.log(-np.log(uniform)))

    def _sums(self, labels: Array, k: int) -> tuple[Array, Array]:
        """Return the weighted sums of the points of every cluster, (runs, k, d), and their weights (runs, k)."""
        mine = (labels[:, None] == np.arange(k)[:, None]) * self.weights.astype(self.Z.dtype)  # (runs, k, n)
        sums = mine.reshape(-1, len(self.Z)) @ self.Z
        return sums.reshape(len(labels), k, -1), mine.sum(2)

    def _spreads(self, labels: Array, k: int) -> Array:
        """Return the weighted squared distance of all points to the means of their clusters, (runs,)."""
        sums, sizes = self._sums(labels, k)
        kept = (sums.astype(np.float64) ** 2).sum(2) / np.maximum(sizes, np.finfo(np.float32).tiny)
        return np.asarray(self.weights @ (self.Z.astype(np.float64) ** 2).sum(1) - kept.sum(1))


def _mixed(keys: Array) -> Array:
    """Return keys, uint64, with all bits mixed (the finaliser of SplitMix64)."""
    keys = np.asarray(keys, dtype=np.uint64)
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(keys ^ (keys >> np.uint64(31)))
