"""Vectors read by dimension: which words use a node, and what they have of their own in the node's group."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.vectors import CSR, Dense, Vectors, forest_of

Rows: TypeAlias = NDArray[np.intp]


class Columns:
    """The columns of the vectors, whether these are dense or sparse. Without a forest each dimension is a tree.

    ``strength`` (V,) sums up the size of what each word has at all nodes itself.
    """

    def __init__(self, vectors: Vectors) -> None:
        self.words = vectors.words
        self.forest = forest_of(vectors)
        self._values = _by_column(vectors.matrix)
        self._own = self._values if vectors.own is vectors.matrix else _by_column(vectors.own)
        if isinstance(self._own, np.ndarray):
            self.strength = np.abs(self._own).sum(axis=0, dtype=np.float64)
        else:
            sizes = np.abs(self._own.data.astype(np.float64))
            self.strength = np.bincount(self._own.indices, sizes, minlength=len(self.words))

    def used(self, node: int) -> tuple[Rows, NDArray[np.float64]]:
        """Return the rows (n,), ascending, that are not zero in a dimension, and their values there (n,)."""
        return _column(self._values, node)

    def own(self, node: int) -> tuple[Rows, NDArray[np.float64]]:
        """Return the rows (n,), ascending, that have something at a node itself, and how much (n,)."""
        return _column(self._own, node)

    def group(self, node: int, rows: Rows) -> NDArray[np.float64]:
        """Return what some rows have of their own in the group of a node: itself and its descendants, (g, n)."""
        nodes = slice(node, int(self.forest.end[node]))
        if isinstance(self._own, np.ndarray):
            return self._own[nodes].take(rows, axis=1).astype(np.float64)
        block = self._own[:, nodes].tocsr()[rows].toarray().T
        return np.ascontiguousarray(block, dtype=np.float64)


def _by_column(matrix: Dense | CSR) -> Any:
    """Return a matrix (V, M) so that a column lies together: CSC, or (M, V)."""
    return np.ascontiguousarray(matrix.T) if isinstance(matrix, np.ndarray) else sparse.csc_array(matrix)


def _column(columns: Any, node: int) -> tuple[Rows, NDArray[np.float64]]:
    if isinstance(columns, np.ndarray):
        rows = np.flatnonzero(columns[node])
        return rows, columns[node, rows].astype(np.float64)
    part = slice(columns.indptr[node], columns.indptr[node + 1])
    return columns.indices[part].astype(np.intp), columns.data[part].astype(np.float64)


def branch_shares(vectors: Vectors, rows: NDArray[Any]) -> CSR:
    """Return which share of some words lies in each node and all below it, (n, M); nothing of a word without codes."""
    own = abs(sparse.csr_array(vectors.own[rows])).astype(np.float64)
    parent = forest_of(vectors).parent
    node: NDArray[Any] = np.arange(len(parent))
    above, pairs = node, []
    while len(node):  # each node with itself, its parent, the parent of that, ...
        pairs.append(np.stack((node, above)))
        above = parent[above]
        node, above = node[above >= 0], above[above >= 0]
    pair = np.concatenate(pairs, axis=1)
    within: CSR = own @ sparse.csr_array((np.ones(pair.shape[1]), (pair[0], pair[1])), shape=(len(parent),) * 2)
    strength = np.repeat(own.sum(axis=1), np.diff(within.indptr))
    within.data /= np.where(strength > 0, strength, 1.0)
    return within
