"""Where the dictionary begins: random directions, rows of the data, or nested clusters of them.

A start is an object that takes the rows and a forest and returns a dictionary, and the forest it is for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wordforest.coder import clusters, kernels
from wordforest.coder.encode import as_rows
from wordforest.coder.forest import Forest
from wordforest.coder.objective import row_squares
from wordforest.coder.online import OnlineSettings, learn_online, random_atoms
from wordforest.coder.penalties import NoPenalty
from wordforest.coder.shards import context_ranges
from wordforest.errors import InputError
from wordforest.runtime.threads import Executor, Threads

Array = NDArray[Any]

_DIRECTIONS = 52  # dimensions in which rows are compared
_FAINT = 1e-3  # singular values below this share of the largest are noise


@dataclass(frozen=True, eq=False)
class Begun:
    """A first dictionary D (C, M), the forest over its columns, and first codes A (V, M) where they are known."""

    D: Array
    forest: Forest
    A: Array | None = None


class Start(Protocol):
    """Chooses the first dictionary."""

    def __call__(
        self, X: Any, forest: Forest, *, nonnegative: bool = False, seed: int = 0, executor: Executor | None = None
    ) -> Begun:
        """Return atoms of length one for the rows of X (V, C), CSR or dense; without negatives if asked."""
        ...


@dataclass(frozen=True)
class RandomStart:
    """Random directions: what the paper does."""

    def __call__(
        self, X: Any, forest: Forest, *, nonnegative: bool = False, seed: int = 0,
        executor: Executor | None = None,  # noqa: ARG002 the protocol's signature
    ) -> Begun:  # fmt: skip
        """Return random directions."""
        return Begun(random_atoms(X.shape[1], len(forest), seed, nonnegative=nonnegative), forest)


@dataclass(frozen=True)
class RowStart:
    """Rows of the data, drawn at random."""

    def __call__(
        self, X: Any, forest: Forest, *, nonnegative: bool = False, seed: int = 0,
        executor: Executor | None = None,  # noqa: ARG002 the protocol's signature
    ) -> Begun:  # fmt: skip
        """Return drawn rows, divided by their lengths; random directions where the data have too few."""
        X = as_rows(X)
        D = random_atoms(X.shape[1], len(forest), seed, nonnegative=nonnegative).astype(X.dtype, copy=False)
        filled = np.flatnonzero(row_squares(X) > 0)
        drawn = np.random.default_rng((seed, 1)).permutation(filled)[: len(forest)]
        for atom, row in enumerate(drawn):
            _set_atom(D, atom, _dense_row(X, row), nonnegative)
        return Begun(D, forest)


@dataclass(frozen=True)
class NestedStart:
    """Nested clusters: a node stands for a set of rows, its children for a partition of that set.

    Rows are compared by their directions in the subspace that explains X best, its spectrum flattened to the square
    root. k-means, with rows weighed by their length, cuts them into as many clusters as there are trees, each of these
    into as many as its root has children, and so on. A root's atom is the mean of its rows, each divided by its length.
    A child's atom is what its mean adds to its parent's: the part that points elsewhere.

    ``n_rows`` rows are clustered at most: the first (words come by frequency), or drawn at random if ``drawn``.
    ``grow`` finds the shape: the forest given says how many trees and nodes, not where the nodes are. The node whose
    split lowers the squared distance of the rows to their centres most for every new node is split next, into two up
    to ``most_children`` parts, until all nodes are spent or no cluster with ``least_rows`` rows a part is left.
    """

    n_rows: int = 8000
    drawn: bool = False
    grow: bool = False
    most_children: int = 6
    least_rows: int = 12

    def __post_init__(self) -> None:
        for name, least in (("n_rows", 1), ("most_children", 2), ("least_rows", 1)):
            if getattr(self, name) < least:
                raise InputError(f"{name} = {getattr(self, name)}, but it must be a whole number >= {least}.")

    def __call__(
        self, X: Any, forest: Forest, *, nonnegative: bool = False, seed: int = 0, executor: Executor | None = None
    ) -> Begun:
        """Return the atoms of nested clusters, and the forest, grown if asked."""
        X, executor = as_rows(X), executor or Threads()
        squares = row_squares(X)
        rows = self._rows(squares, seed)
        Z, lengths = directions(X, seed, executor)[rows], np.sqrt(squares[rows])
        if self.grow:
            forest, members = clusters.grow(
                Z, trees=len(forest.roots), n_nodes=len(forest), most_children=self.most_children,
                least_rows=self.least_rows, seed=seed, weights=lengths,
            )  # fmt: skip
        else:
            members = clusters.nest(Z, forest, seed, weights=lengths)
        D = _means(X, [rows[part] for part in members], squares, executor)  # (C, M)
        for node in reversed(range(len(forest))):  # children before their parents, which they are measured against
            parent = int(forest.parent[node])
            added = D[:, node] if parent < 0 else _beyond(D[:, node], D[:, parent])
            if not _set_atom(D, node, added, nonnegative):
                own = members[node] if len(members[node]) else np.arange(len(rows))
                row = np.random.default_rng((seed, node)).choice(rows[own])
                if not _set_atom(D, node, _dense_row(X, row), nonnegative):
                    D[:, node] = random_atoms(len(D), 1, seed + node, nonnegative=nonnegative)[:, 0]
        return Begun(D, forest)

    def _rows(self, squares: Array, seed: int) -> Array:
        """Return the rows to cluster, in order."""
        filled = np.flatnonzero(squares > 0)
        if not len(filled):
            raise InputError("X holds only zeros, so there is nothing to cluster. Give other data.")
        order = np.random.default_rng((seed, 2)).permutation(filled) if self.drawn else filled
        return np.sort(order[: self.n_rows])


def directions(X: Any, seed: int, executor: Executor) -> Array:
    """Return every row of X (V, C) as a direction, (V, K) of length one, in the subspace that explains X best.

    Its singular values are flattened to their square roots: as they are, the first few would decide alone.
    """
    n = min(_DIRECTIONS, *X.shape)
    if n == X.shape[1] and not hasattr(X, "indptr"):
        A = X
    else:
        A = learn_online(X, NoPenalty(), n, OnlineSettings(seed=seed, exact_tol=1e-3), executor=executor).A
    A = A.astype(np.float64)
    values, basis = np.linalg.eigh(A.T @ A)  # squared singular values, ascending
    kept = values > _FAINT**2 * values[-1]
    Z = A @ (basis[:, kept] / values[kept] ** 0.25)
    length = np.sqrt((Z * Z).sum(1))[:, None]
    return np.asarray(np.divide(Z, length, out=np.zeros_like(Z), where=length > 0))


def _means(X: Any, members: list[Array], squares: Array, executor: Executor) -> Array:
    """Return the mean of the rows of every set, each row divided by its length, as columns (C, M)."""
    rows = np.unique(np.concatenate(members))
    shares = np.zeros((len(rows), len(members)), dtype=X.dtype)
    for node, own in enumerate(members):
        shares[np.searchsorted(rows, own), node] = 1 / (np.sqrt(squares[own]) * max(1, len(own)))
    D = np.zeros((X.shape[1], len(members)), dtype=X.dtype)
    if hasattr(X, "add_statistics"):  # on a cluster
        X.add_statistics(rows, shares, D)
        return D
    list(executor.map(lambda part: kernels.add_times_codes(X, rows, shares, part, D), context_ranges(X)))
    return D


def _beyond(mean: Array, parent: Array) -> Array:
    """Return the part of a mean that is at a right angle to its parent's."""
    square = float(parent @ parent)
    return np.asarray(mean - parent * (float(parent @ mean) / square) if square > 0 else mean)


def _set_atom(D: Array, atom: int, direction: Array, nonnegative: bool) -> bool:
    """Set a column of D to a direction, divided by its length; say whether there is one."""
    direction = np.maximum(direction, 0) if nonnegative else direction
    length = float(np.linalg.norm(direction))
    if length > np.finfo(D.dtype).eps:
        D[:, atom] = direction / length
    return bool(length > np.finfo(D.dtype).eps)


def _dense_row(X: Any, row: int) -> Array:
    x = X[[row]]
    return np.asarray(x.toarray() if hasattr(x, "toarray") else x).ravel()
