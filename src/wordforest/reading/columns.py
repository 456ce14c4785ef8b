"""Vectors read by dimension: which words use a node, and with what values in the node's group."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.vectors import Vectors, forest_of

Rows: TypeAlias = NDArray[np.intp]


class Columns:
    """The columns of the vectors, whether these are dense or sparse. Without a forest each dimension is a tree."""

    def __init__(self, vectors: Vectors) -> None:
        self.words = vectors.words
        self.forest = forest_of(vectors)
        matrix = vectors.matrix
        if isinstance(matrix, np.ndarray):
            self._dense: NDArray[np.float32] | None = np.ascontiguousarray(matrix.T)  # (M, V): a column lies together
            self.length = np.sqrt(np.einsum("vm,vm->v", matrix, matrix, dtype=np.float64))  # (V,)
            return
        self._dense = None
        self._columns = sparse.csc_array(matrix)
        squares = self._columns.data.astype(np.float64) ** 2
        self.length = np.sqrt(np.bincount(self._columns.indices, squares, minlength=len(self.words)))  # (V,)

    def used(self, node: int) -> tuple[Rows, NDArray[np.float64]]:
        """Return the rows (n,), ascending, that are not zero in a dimension, and their values there (n,)."""
        if self._dense is not None:
            column = self._dense[node]
            rows = np.flatnonzero(column)
            return rows, column[rows].astype(np.float64)
        part = slice(self._columns.indptr[node], self._columns.indptr[node + 1])
        return self._columns.indices[part].astype(np.intp), self._columns.data[part].astype(np.float64)

    def group(self, node: int, rows: Rows) -> NDArray[np.float64]:
        """Return the values of some rows in the group of a node, which is itself and its descendants: (g, n)."""
        nodes = slice(node, int(self.forest.end[node]))
        if self._dense is not None:
            return self._dense[nodes].take(rows, axis=1).astype(np.float64)
        block = self._columns[:, nodes].tocsr()[rows].toarray().T
        return np.ascontiguousarray(block, dtype=np.float64)


def largest(score: NDArray[Any], k: int) -> Rows:
    """Return the places of the k largest scores, largest first, of equals the first."""
    chosen = np.arange(len(score))
    if k < len(score):
        kth = np.partition(score, len(score) - k)[len(score) - k]
        chosen = np.flatnonzero(score >= kth)  # all that tie with the k-th, so that the order can decide
    return chosen[np.argsort(-score[chosen], kind="stable")][:k]


def check_k(k: int) -> None:
    """Refuse to look for fewer than one word."""
    if k < 1:
        raise InputError(f"k = {k}, but at least one word must be asked for.")


def check_node(forest: Forest, node: int) -> None:
    """Refuse a node that the forest does not have."""
    if not 0 <= node < len(forest):
        raise InputError(f"node {node} does not exist: choose one from 0 to {len(forest) - 1}.")
