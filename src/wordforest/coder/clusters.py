"""Nested clusters of points: by a given forest, or a forest grown where it pays. One thread, so bits never differ."""

from __future__ import annotations

import heapq
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.forest import Forest
from wordforest.runtime.machine import one_thread

Array = NDArray[Any]

_TRIES = 3  # starts of k-means, the best of which counts


def nest(Z: Array, forest: Forest, seed: int, *, weights: Array | None = None) -> list[Array]:
    """Return the points of every node: trees share out all points, children those of their parent.

    Z is (n, K); ``weights`` (n,) says how much each point counts. A node with fewer points than children leaves some
    children without any.
    """
    members: list[Array] = [np.empty(0, dtype=np.int64)] * len(forest)
    roots = [int(root) for root in forest.roots]
    cloud = _Cloud(Z, weights)
    _share_out(cloud, np.arange(len(Z)), roots, (seed, len(forest)), members)
    for node in range(len(forest)):  # preorder: a parent before its children
        children = forest.children(node)
        if children:
            _share_out(cloud, members[node], children, (seed, node), members)
    return members


def grow(
    Z: Array,
    *,
    trees: int,
    n_nodes: int,
    most_children: int,
    least_rows: int,
    seed: int,
    weights: Array | None = None,
) -> tuple[Forest, list[Array]]:
    """Grow a forest of at most ``n_nodes`` nodes over the points Z (n, K); return it and the points of every node.

    Begins with ``trees`` clusters. Then, again and again, the split that lowers the squared distance of the points to
    the centre of their cluster most for every node it adds. Nodes are numbered in preorder at the end, the trees by
    their number of points.
    """
    cloud = _Cloud(Z, weights)
    roots = [_Node(points) for points in cloud.parts(np.arange(len(Z)), trees, (seed, 0)) if len(points)]
    left = n_nodes - len(roots)
    heap: list[tuple[float, int, _Node, list[Array]]] = []
    made = 0

    def offer(node: _Node) -> None:
        nonlocal made
        made += 1
        best = _best_split(cloud, node.points, most_children, least_rows, (seed, made))
        if best is not None:
            heapq.heappush(heap, (-best[0], made, node, best[1]))

    for root in roots:
        offer(root)
    while heap and left > 0:
        _, _, node, parts = heapq.heappop(heap)
        if len(parts) > left:
            continue
        node.children = [_Node(points) for points in parts]
        left -= len(parts)
        for child in node.children:
            offer(child)
    roots.sort(key=lambda root: -len(root.points))
    parent: list[int] = []
    members: list[Array] = []
    for root in roots:
        root.number(-1, parent, members)
    return Forest(parent), members


@dataclass(eq=False)
class _Node:
    points: Array
    children: list[_Node] = field(default_factory=list)

    def number(self, above: int, parent: list[int], members: list[Array]) -> None:
        """Append this node and all below it, in preorder."""
        node = len(parent)
        parent.append(above)
        members.append(self.points)
        for child in sorted(self.children, key=lambda child: -len(child.points)):
            child.number(node, parent, members)


def _best_split(
    cloud: _Cloud, points: Array, most_children: int, least_rows: int, seed: tuple[int, int]
) -> tuple[float, list[Array]] | None:
    """Return the split that gains most for every new node, with its gain; None if no split leaves enough points."""
    best: tuple[float, list[Array]] | None = None
    whole = cloud.spread(points)
    for k in range(2, most_children + 1):
        if k * least_rows > len(points):
            break
        parts = cloud.parts(points, k, (*seed, k))
        if min(map(len, parts)) < least_rows:
            continue
        gain = (whole - sum(cloud.spread(part) for part in parts)) / k
        if best is None or gain > best[0]:
            best = gain, parts
    return best if best is not None and best[0] > 0 else None


def _share_out(cloud: _Cloud, points: Array, nodes: list[int], seed: tuple[int, ...], members: list[Array]) -> None:
    for node, part in zip(nodes, cloud.parts(points, len(nodes), seed), strict=True):
        members[node] = part


class _Cloud:
    """Points Z (n, K) with weights (n,)."""

    def __init__(self, Z: Array, weights: Array | None) -> None:
        self.Z = Z
        self.weights = np.ones(len(Z)) if weights is None else np.asarray(weights, dtype=np.float64)

    def spread(self, points: Array) -> float:
        """Return the weighted squared distance of points to their mean, summed."""
        Z, w = self.Z[points], self.weights[points]
        return float(w @ ((Z - np.average(Z, axis=0, weights=w)) ** 2).sum(1))

    def parts(self, points: Array, k: int, seed: tuple[int, ...]) -> list[Array]:
        """Cut points into k clusters by k-means, largest first; some are empty where points are too few."""
        Z = self.Z[points]
        _, same = np.unique(Z, axis=0, return_inverse=True)
        label = np.minimum(same.ravel(), k - 1)
        if 1 < k <= same.max(initial=-1):  # more different points than clusters
            from sklearn.cluster import KMeans
            from sklearn.exceptions import ConvergenceWarning

            state = int(np.random.default_rng(seed).integers(2**31))
            with one_thread(), warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # points equal but for rounding: fewer clusters
                label = KMeans(k, n_init=_TRIES, random_state=state).fit(Z, sample_weight=self.weights[points]).labels_
        parts = [points[label == i] for i in range(k)]
        return sorted(parts, key=lambda part: -len(part))
