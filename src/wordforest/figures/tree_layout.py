"""Where the nodes of trees stand: each tree on its own, then tree after tree like words in lines. Numbers only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.forest import Forest

_LEVEL = 1.9  # height of a level, in distances between two leaves, at least
_SLOPE = 0.05  # height of a level of a wide tree, over the number of its leaves
_NEARLY = 0.85  # of the largest scale

Sizes = Sequence[Sequence[tuple[float, float]]]  # width and height of the panels of each group


class Flow(NamedTuple):
    """Left and top edges of the panels of each group (y falls from 0), and the width and height of all."""

    corners: list[list[tuple[float, float]]]
    width: float
    height: float


def place_nodes(forest: Forest, root: int) -> NDArray[np.float64]:
    """Return x and y of a tree's nodes in preorder, (k, 2): leaves 1 apart, parents amid their children.

    x is centred on the tree, y falls by one level per depth.
    """
    nodes = np.arange(root, forest.end[root])
    x = np.zeros(len(nodes))
    is_leaf = forest.end[nodes] == nodes + 1
    x[is_leaf] = np.arange(is_leaf.sum())
    for node in nodes[~is_leaf][::-1]:
        children = x[np.array(forest.children(int(node))) - root]
        x[node - root] = (children[0] + children[-1]) / 2
    level = max(_LEVEL, _SLOPE * is_leaf.sum())
    return np.stack([x - x[is_leaf].mean(), -level * forest.depth[nodes]], axis=1)


def outline_nodes(forest: Forest, root: int) -> NDArray[np.float64]:
    """Return x and y of a tree's nodes in preorder, (k, 2), as an outline: a line each, children indented."""
    nodes = np.arange(root, forest.end[root])
    return np.stack([1.1 * forest.depth[nodes], -1.0 * np.arange(len(nodes))], axis=1)


def flow(groups: Sizes, width: float, heading: float = 0.0) -> Flow:
    """Place panels left to right in lines of at most ``width``, each group below ``heading`` for its name.

    A line is as high as its highest panel; a panel wider than ``width`` has a line of its own.
    """
    corners: list[list[tuple[float, float]]] = []
    widest = y = 0.0
    for sizes in groups:
        corners.append([])
        x, y, line = 0.0, y - heading, 0.0
        for w, h in sizes:
            if x > 0 and x + w > width:
                x, y, line = 0.0, y - line, 0.0
            corners[-1].append((x, y))
            x, line = x + w, max(line, h)
            widest = max(widest, x)
        y -= line
    return Flow(corners, widest, -y)


def best_flow(groups: Sizes, heading: float, room: tuple[float, float], largest: float) -> tuple[Flow, float]:
    """Return a flow, and the scale (inches per unit, at most ``largest``) at which it fills ``room`` (inches) best.

    ``heading`` is in inches. Tries lines as wide as 1, 2, ... of the widest panels. Of those that can be drawn nearly
    as large as the best, the one with the longest lines is taken: a row of three is easier to compare than two and one.
    """
    widest = max(w for sizes in groups for w, _ in sizes)
    longest = max(sum(w for w, _ in sizes) for sizes in groups)
    tried: list[tuple[float, float]] = []
    for columns in range(1, int(np.ceil(longest / widest)) + 1):
        width = columns * widest * (1 + 1e-9)
        _, w, h = flow(groups, width)
        high = max(room[1] - heading * len(groups), 0.1 * room[1])
        tried.append((min(room[0] / w, high / h, largest), width))
    best = max(tried)[0]
    scale, width = [choice for choice in tried if choice[0] >= _NEARLY * best][-1]
    return flow(groups, width, heading / scale), scale
