"""A start for rows in which many things are on at once: single nodes are learned first, then their atoms are nested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder import kernels
from wordforest.coder.forest import Forest
from wordforest.coder.online import OnlineSettings, learn_online
from wordforest.coder.penalties import MostActive
from wordforest.coder.rows import as_rows
from wordforest.coder.starts import Asked, Begun, RowStart, set_atom, unit_rows
from wordforest.errors import InputError
from wordforest.runtime.machine import one_blas_thread

_NOTHING = Asked()


@dataclass(frozen=True)
class AtomStart:
    """Nested clusters of atoms, not of rows: for rows in which many nodes are on at once.

    A row that is a sum of few paths from roots to leaves, ``x = sum_p c_p u_p`` with ``c_p >= 0`` and u_p the sum of
    the atoms on path p, is coded best by single nodes whose atoms are the paths u_p themselves. Two paths have the
    nodes above both in common, so ``cos(u_p, u_q)`` is larger the deeper they part. So

    1. M single nodes are learned, their codes at least zero and ``most`` of them on in a row, at most;
    2. their atoms, each times its mean code, are merged by average linkage of their cosines;
    3. the cosines of the merges, and the 1 of every atom with itself, are cut into L + 1 groups, L being the levels of
       the forest given, so that the squares within groups are least: merges of the highest group find one and the same
       node, those of the lowest are by chance and are undone, and each group between is a level of inner nodes;
    4. a node's mean is that of its children's means, at leaves the mean of its atoms; its atom is what its mean adds to
       that of its parent.

    The forest given says how many nodes there are at most and how many levels. Atoms that fewest rows use are left out
    if there would be more. ``n_rows`` rows at most are learned from, drawn at random.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> rng, forest = np.random.default_rng(0), wf.Forest.complete(12, (2,))
        >>> paths = np.kron(np.eye(12), [[1, 1, 0], [1, 0, 1]])  # a root and one of its two leaves
        >>> leaf = np.eye(2)[rng.integers(2, size=(1000, 12))] * rng.uniform(1, 2, (1000, 12, 1))
        >>> X = (leaf * (rng.random((1000, 12, 1)) < 0.3)).reshape(1000, 24) @ paths  # few trees are on in a row
        >>> wf.coder.AtomStart()(X, forest).forest == forest
        True
    """

    most: int = 4
    n_rows: int = 30_000
    epochs: int = 10
    tol: float = 1e-3
    about = "nested atoms"
    shapes = True
    grow = True  # the shape comes from the data
    drawn = True  # rows are in no order

    def __post_init__(self) -> None:
        for name in ("most", "n_rows", "epochs"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} = {getattr(self, name)}, but it must be a whole number >= 1.")

    def __call__(self, X: Any, forest: Forest, asked: Asked = _NOTHING) -> Begun:
        """Return the atoms (C, M') of nested paths and their forest, of M' <= M nodes."""
        rows = as_rows(X)
        with one_blas_thread():
            U, uses = self._paths(rows, len(forest), asked)
            levels, n = int(forest.depth.max()) + 1, len(U)
            while len((nodes := nested(U[:n], uses[:n], levels))[0]) > len(forest):
                n -= len(nodes[0]) - len(forest)
            parent, means = nodes
            D = kernels.zeros((rows.shape[1], len(parent)), rows.like)
            for node, above in enumerate(parent):
                added = means[node] - (means[above] if above >= 0 else 0)
                if not set_atom(D, node, kernels.as_type(added, D), asked.nonnegative):
                    set_atom(D, node, kernels.as_type(abs(means[node]) + np.finfo(np.float32).eps, D), nonnegative=True)
        return Begun(D, Forest(parent))

    def _paths(self, rows: Any, M: int, asked: Asked) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return atoms of single nodes times their mean codes, (N, C), and how many rows use each; most used first."""
        filled = np.flatnonzero(kernels.on_host(rows.squares()) > 0)
        if not len(filled):
            raise InputError("X holds only zeros, so there is nothing to start from. Give other data.")
        drawn = np.sort(np.random.default_rng((asked.seed, 2)).permutation(filled)[: self.n_rows])
        rows = rows.take(drawn)
        weights = None if asked.weights is None else np.asarray(asked.weights)[drawn]
        flat = Forest.flat(M)
        settings = OnlineSettings(self.epochs, self.tol, seed=asked.seed, nonnegative=asked.nonnegative)
        start = RowStart()(rows, flat, asked).D
        bound = MostActive(flat, min(self.most, M), nonnegative=True)
        learned = learn_online(rows, bound, M, settings, start=start, weights=weights)
        A, D = (kernels.on_host(one).astype(np.float64) for one in (learned.A, learned.D))
        uses = np.count_nonzero(A, axis=0)
        U = (D * (A.sum(0) / np.maximum(uses, 1))).T
        if asked.mean is not None:
            mean = np.asarray(kernels.on_host(asked.mean), dtype=np.float64)
            U -= np.outer(U @ mean, mean)
        order = np.argsort(-uses, kind="stable")[: max(1, np.count_nonzero(uses))]
        return U[order], uses[order]


def nested(U: NDArray[Any], uses: NDArray[Any], levels: int) -> tuple[list[int], list[NDArray[Any]]]:
    """Return the parent of every node, in preorder, and its mean: steps 2 to 4 of ``AtomStart`` for paths U (N, C)."""
    from scipy.cluster.hierarchy import fcluster, linkage

    if len(U) == 1:
        return [-1], [U[0]]
    Z = unit_rows(U)
    apart = np.maximum(0, 1 - (Z @ Z.T)[np.triu_indices(len(Z), 1)])
    merges = linkage(apart, "average")
    steps = cuts(np.append(merges[:, 2], np.zeros(len(U))), levels + 1)
    labels = [fcluster(merges, cut, "distance") for cut in reversed(steps)]  # roots first
    if not labels:  # all atoms are one
        labels = [np.zeros(len(U), dtype=np.int32)]
    parent: list[int] = []
    means: list[NDArray[Any]] = []

    def grow(members: NDArray[Any], depth: int, above: int) -> NDArray[Any]:
        """Add a node for the members, which level ``depth`` has together, and all below it. Return its mean."""
        while depth < len(labels) and (labels[depth][members] == labels[depth][members[0]]).all():
            depth += 1
        node = len(parent)
        parent.append(above)
        means.append(np.average(U[members], axis=0, weights=uses[members] + np.finfo(np.float64).tiny))
        if depth < len(labels):
            own = labels[depth][members]
            parts = [grow(members[own == label], depth + 1, node) for label in dict.fromkeys(own.tolist())]
            means[node] = np.mean(parts, axis=0)
        return means[node]

    for label in dict.fromkeys(labels[0].tolist()):
        grow(np.flatnonzero(labels[0] == label), 1, -1)
    return parent, means


def cuts(values: NDArray[Any], n: int) -> list[float]:
    """Return, in order, where to cut numbers into n groups so that the sum of squares within groups is least.

    Each cut is the middle between two groups. Where there are fewer different numbers than groups, there are as many
    groups as numbers.

    >>> cuts(np.array([1.0, 9.0, 2.0, 10.0]), 2)
    [5.5]
    """
    values = np.sort(values)
    n = min(n, len(np.unique(values)))
    sums, squares = (np.concatenate([[0.0], np.cumsum(values**power)]) for power in (1, 2))
    first, end = np.ogrid[: len(values) + 1, : len(values) + 1]
    within = squares[end] - squares[first] - (sums[end] - sums[first]) ** 2 / np.maximum(end - first, 1)
    within = np.where(first < end, within, np.inf)  # (N + 1, N + 1): of the numbers from first up to end
    best, chosen = within[0], []
    for _ in range(n - 1):
        total = best[:, None] + within
        chosen.append(total.argmin(0))
        best = total.min(0)
    found, last = [], len(values)
    for begins in reversed(chosen):
        last = int(begins[last])
        found.append(float(values[last - 1] + values[last]) / 2)
    return found[::-1]
