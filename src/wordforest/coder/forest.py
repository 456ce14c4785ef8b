"""The topology of the dimensions: trees whose nodes are numbered in preorder.

After learning, nodes that nothing uses are taken out and trees put in order; nodes of two forests can be matched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import ForestError

_MOST_NODES = 1 << 20  # D'D alone would take 8 TB
_MOST_LEVELS = 4096


class Forest:
    """A forest over dimensions 0 .. M-1 in preorder, given by the parent of every node (-1 for a root).

    Preorder makes a node and all its descendants one slice: the group of node i is ``slice(i, end[i])``.

    Examples:
        >>> import wordforest as wf
        >>> forest = wf.Forest([-1, 0, 1, 1, 0])
        >>> forest
        Forest(5 nodes, 1 trees, depth 3)
        >>> list(range(1, forest.end[1]))  # node 1 and all below it
        [1, 2, 3]
    """

    def __init__(self, parent: Iterable[int]) -> None:
        nodes = list(parent)
        _check_preorder(nodes)
        self.parent: NDArray[np.int32] = _frozen(nodes)

    @classmethod
    def complete(cls, trees: int = 4, branching: Sequence[int] = (3, 3)) -> Forest:
        """Return ``trees`` equal trees in which a node at depth d has ``branching[d]`` children.

        The paper's forests are ``complete(4)``, ``complete(20)`` and ``complete(40)``: 13 nodes a tree.

        Examples:
            >>> wf.Forest.complete(trees=2, branching=(2,)).parent
            array([-1,  0,  0, -1,  3,  3], dtype=int32)
        """
        if trees < 1:
            raise ForestError(f"trees = {trees}, but a forest needs at least one tree.")
        for depth, width in enumerate(branching):
            if width < 1:
                raise ForestError(
                    f"branching[{depth}] = {width}, but every level needs at least one child per node. "
                    "Leave the level out to get shallower trees."
                )
        _check_size(trees, branching)
        tree = [-1]
        for width in reversed(branching):
            tree = [-1, *(0 if p < 0 else p + 1 + k * len(tree) for k in range(width) for p in tree)]
        return cls(p if p < 0 else p + k * len(tree) for k in range(trees) for p in tree)

    @classmethod
    def flat(cls, n: int) -> Forest:
        """Return n trees of one node each; the forest penalty is then the lasso.

        Examples:
            >>> wf.Forest.flat(3).parent
            array([-1, -1, -1], dtype=int32)
        """
        return cls.complete(n, ())

    def __len__(self) -> int:
        return len(self.parent)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Forest) and np.array_equal(self.parent, other.parent)

    def __hash__(self) -> int:
        return hash(self.parent.tobytes())

    def __reduce__(self) -> tuple[type[Forest], tuple[list[int]]]:
        """Send the parents alone: a copy then has read-only arrays, too, for which kernels are compiled already."""
        return Forest, (self.parent.tolist(),)

    def __repr__(self) -> str:
        return f"Forest({len(self)} nodes, {len(self.roots)} trees, depth {self.depth.max() + 1})"

    @cached_property
    def end(self) -> NDArray[np.int32]:
        """End of every node's group, shape (M,): node i and its descendants are i .. end[i] - 1.

        Examples:
            >>> forest.end.tolist()
            [5, 4, 3, 4, 5]
        """
        end = np.arange(1, len(self) + 1, dtype=np.int32)
        for i in reversed(range(len(self))):
            if (p := self.parent[i]) >= 0:
                end[p] = max(end[p], end[i])
        return _frozen(end)

    @cached_property
    def depth(self) -> NDArray[np.int32]:
        """Depth of every node, shape (M,); roots have depth 0.

        Examples:
            >>> forest.depth
            array([0, 1, 2, 2, 1], dtype=int32)
        """
        depth = np.zeros(len(self), dtype=np.int32)
        for i, p in enumerate(self.parent):
            if p >= 0:
                depth[i] = depth[p] + 1
        return _frozen(depth)

    @cached_property
    def roots(self) -> NDArray[np.int32]:
        """The root of every tree, in order, shape (trees,).

        Examples:
            >>> forest.roots
            array([0], dtype=int32)
        """
        return _frozen(np.flatnonzero(self.parent < 0))

    def children(self, node: int) -> list[int]:
        """Return the children of a node, in order.

        Examples:
            >>> forest.children(0)
            [1, 4]
        """
        return [int(i) for i in np.flatnonzero(self.parent == node)]


def _check_size(trees: int, branching: Sequence[int]) -> None:
    """Refuse a forest that is larger than any that can be learned, before its nodes are listed."""
    nodes = level = trees
    for width in branching:
        level *= width
        nodes += level
        if nodes > _MOST_NODES:
            break
    if nodes > _MOST_NODES or len(branching) > _MOST_LEVELS:
        raise ForestError(
            f"trees = {trees} with branching {tuple(branching[:8])} has {nodes:,} nodes or more and "
            f"{len(branching) + 1} levels, but {_MOST_NODES:,} and {_MOST_LEVELS + 1} are the most: the memory they "
            "need grows with the square of the nodes. Use fewer trees, or a smaller branching."
        )


def _check_preorder(parent: list[int]) -> None:
    if not parent:
        raise ForestError("the list of parents is empty, but a forest needs at least one node.")
    path: list[int] = []  # the way from a root to node i - 1
    for i, p in enumerate(parent):
        while path and path[-1] != p:
            path.pop()
        if p != -1 and not path:
            raise ForestError(
                f"parent[{i}] = {p}, but it must be -1, node {i - 1} or an ancestor of it (preorder). "
                "Renumber the nodes, or build with Forest.complete()."
            )
        path.append(i)


def _frozen(values: object) -> NDArray[np.int32]:
    array = np.array(values, dtype=np.int32)
    array.setflags(write=False)
    return array


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


def matched_nodes(A: Any, B: Any) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Match the nodes of two forests one to one, with the largest sum of cosines (Hungarian method).

    A is (n, M), B (n, K), sparse or dense: what the same rows have at the nodes of each. Return the nodes of each that
    belong together and the cosines of their columns, (min(M, K),) each, without their signs where codes have signs.
    """
    from scipy.optimize import linear_sum_assignment
    from sklearn.preprocessing import normalize

    cosine: Any = normalize(A.astype(np.float64), axis=0).T @ normalize(B.astype(np.float64), axis=0)
    cosine = cosine if isinstance(cosine, np.ndarray) else cosine.toarray()
    if min(A.min(), B.min()) < 0:
        cosine = np.abs(cosine)  # the sign of a signed node is arbitrary
    first, second = linear_sum_assignment(cosine, maximize=True)
    return first.astype(np.int64), second.astype(np.int64), np.asarray(cosine[first, second])
