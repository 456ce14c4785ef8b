"""Forests after learning: nodes that nothing uses taken out, trees put in order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.forest import Forest


def pruned(forest: Forest, uses: NDArray[Any]) -> tuple[Forest, NDArray[np.intp]]:
    """Return the forest without the nodes that nothing uses, and the columns that stay. One node always stays.

    ``uses`` (M,) counts the rows that use each node. A node in use keeps all nodes above it, used or not.
    """
    kept = np.asarray(uses) > 0
    for node in reversed(range(len(forest))):
        if kept[node] and forest.parent[node] >= 0:
            kept[forest.parent[node]] = True
    kept[0] |= not kept.any()
    columns = np.flatnonzero(kept)
    return _restricted(forest, columns), columns


def homes(A: NDArray[Any]) -> NDArray[np.int64]:
    """Return how many rows of A (V, M) have their largest value at each node, (M,): the rows that it explains most."""
    used = A.any(axis=1)
    return np.bincount(np.abs(A[used]).argmax(axis=1), minlength=A.shape[1])


def by_strength(forest: Forest, strengths: NDArray[Any]) -> tuple[Forest, NDArray[np.intp]]:
    """Return the forest with its strongest trees first, and siblings likewise, and the columns in the new order.

    ``strengths`` (M,) says what each node is worth; a tree or a branch is worth the sum of its nodes.
    """
    worth = np.array([np.asarray(strengths)[i:end].sum() for i, end in enumerate(forest.end)])
    order: list[int] = []

    def walk(nodes: list[int]) -> None:
        for node in sorted(nodes, key=lambda node: (-worth[node], node)):
            order.append(node)
            walk(forest.children(node))

    walk([int(root) for root in forest.roots])
    columns = np.array(order, dtype=np.intp)
    return _restricted(forest, columns), columns


def _restricted(forest: Forest, columns: NDArray[np.intp]) -> Forest:
    place = np.full(len(forest) + 1, -1)
    place[columns] = np.arange(len(columns))
    return Forest(place[forest.parent[columns]].tolist())


def in_order(
    forest: Forest, A: NDArray[Any], D: NDArray[Any], *, prune: bool
) -> tuple[Forest, NDArray[Any], NDArray[Any]]:
    """Put the trees in which most rows are at home first; take out nodes that no row uses, if asked.

    A is (V, M), D (C, M); their columns move with the nodes.
    """
    if prune:
        forest, columns = pruned(forest, np.count_nonzero(A, axis=0))
        A, D = A[:, columns], D[:, columns]
    forest, columns = by_strength(forest, homes(A))
    return forest, np.ascontiguousarray(A[:, columns]), np.ascontiguousarray(D[:, columns])
