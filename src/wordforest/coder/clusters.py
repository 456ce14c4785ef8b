"""Nested clusters of points: by a given forest, or a forest grown where it pays. One thread, so bits never differ."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.forest import Forest
from wordforest.execution import one_thread

Array = NDArray[Any]

_TRIES = 3  # starts of k-means, the best of which counts


def nest(Z: Array, forest: Forest, seed: int) -> list[Array]:
    """Return the points of every node: trees share out all points, children those of their parent.

    Z is (n, K). A node with fewer points than children leaves some children without any.
    """
    members: list[Array] = [np.empty(0, dtype=np.int64)] * len(forest)
    roots = [int(root) for root in forest.roots]
    _share_out(Z, np.arange(len(Z)), roots, (seed, len(forest)), members)
    for node in range(len(forest)):  # preorder: a parent before its children
        children = forest.children(node)
        if children:
            _share_out(Z, members[node], children, (seed, node), members)
    return members


def grow(
    Z: Array, *, n_trees: int, n_nodes: int, most_children: int, least_rows: int, seed: int
) -> tuple[Forest, list[Array]]:
    """Grow a forest of at most ``n_nodes`` nodes over the points Z (n, K); return it and the points of every node.

    Begins with ``n_trees`` clusters. Then, again and again, the split that lowers the squared distance of the points to
    the centre of their cluster most for every node it adds. Nodes are numbered in preorder at the end, the trees by
    their number of points.
    """
    roots = [_Node(points) for points in _parts(Z, np.arange(len(Z)), n_trees, (seed, 0)) if len(points)]
    left = n_nodes - len(roots)
    heap: list[tuple[float, int, _Node, list[Array]]] = []
    made = 0

    def offer(node: _Node) -> None:
        nonlocal made
        made += 1
        best = _best_split(Z, node.points, most_children, least_rows, (seed, made))
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
    Z: Array, points: Array, most_children: int, least_rows: int, seed: tuple[int, int]
) -> tuple[float, list[Array]] | None:
    """Return the split that gains most for every new node, with its gain; None if no split leaves enough points."""
    best: tuple[float, list[Array]] | None = None
    whole = _spread(Z[points])
    for k in range(2, most_children + 1):
        if k * least_rows > len(points):
            break
        parts = _parts(Z, points, k, (*seed, k))
        if min(map(len, parts)) < least_rows:
            continue
        gain = (whole - sum(_spread(Z[part]) for part in parts)) / k
        if best is None or gain > best[0]:
            best = gain, parts
    return best if best is not None and best[0] > 0 else None


def _spread(Z: Array) -> float:
    """Squared distance of points to their mean, summed."""
    return float(((Z - Z.mean(0)) ** 2).sum())


def _share_out(Z: Array, points: Array, nodes: list[int], seed: tuple[int, ...], members: list[Array]) -> None:
    for node, part in zip(nodes, _parts(Z, points, len(nodes), seed), strict=True):
        members[node] = part


def _parts(Z: Array, points: Array, k: int, seed: tuple[int, ...]) -> list[Array]:
    """Cut points into k clusters by k-means, largest first; some are empty where points are too few."""
    distinct = len(np.unique(Z[points], axis=0)) if len(points) else 0
    if k == 1 or distinct <= k:
        _, label = np.unique(Z[points], axis=0, return_inverse=True)
        label = np.minimum(label.ravel(), k - 1)
    else:
        from sklearn.cluster import KMeans

        state = int(np.random.default_rng(seed).integers(2**31))
        with one_thread():
            label = KMeans(k, n_init=_TRIES, random_state=state).fit(Z[points]).labels_
    parts = [points[label == i] for i in range(k)]
    return sorted(parts, key=lambda part: -len(part))
