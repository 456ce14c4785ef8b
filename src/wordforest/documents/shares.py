"""Shares of nodes in documents.

A document is coded as words are (``coder/additive.py``): a node has what it has itself plus all that nodes below it
have. Its share is that, divided by the sum over the roots; so the roots share a document out, and a parent has at least
what its children have together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.coder.additive import ancestors, encode_additive
from wordforest.coder.coding import Gram, coordinate_descent
from wordforest.coder.forest import Forest
from wordforest.coder.penalties import NonNegativeL1
from wordforest.coder.rows import as_rows
from wordforest.documents.space import Space
from wordforest.errors import InputError
from wordforest.runtime.machine import Executor, Threads, one_blas_thread
from wordforest.vectors.edits import Edit, after

CSR: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"
Dense: TypeAlias = NDArray[np.float32]

_TOL = 3e-5  # of |y|, by which a node still moves when a document is coded: shares are read to three digits
_BLOCK = 1 << 12  # documents that are looked at together
_SHORT = 20  # known words that make a document half as typical as a long one


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of n documents, (n, M), and how well each can stand for its nodes, (n,)."""

    matrix: CSR
    typicality: Dense


@dataclass(frozen=True, eq=False)
class DocumentCoder:
    """Codes documents with the atoms D (K, M) of an additive forest over a space."""

    space: Space
    atoms: Dense
    forest: Forest
    lam: float

    def shares(self, counts: CSR, embeddings: Any = None, executor: Executor | None = None) -> Shares:
        """Return the shares of documents with ``counts`` (n, V) of the words of the space.

        No document is left over: one too far from all nodes has the node that would be the first for a smaller lam.
        Only a document without a known word has no shares.
        """
        executor = executor or Threads()
        Y = self.space.rows(counts, embeddings, executor)
        with one_blas_thread():  # blocks are cut by the documents alone, so that bits do not depend on the workers
            parts = [*executor.map(self._own_activations, (Y[i : i + _BLOCK] for i in range(0, len(Y), _BLOCK)))]
        Z = sparse.csr_array(sparse.vstack(parts)) if parts else sparse.csr_array((0, len(self.forest)), dtype=Y.dtype)
        explained = Z.sum(axis=1)  # (n,): what the roots have together
        shares: Any = Z @ self._solved[2]
        shares.sort_indices()
        shares.data /= np.repeat(explained, np.diff(shares.indptr))
        known = np.diff(counts.indptr)
        return Shares(shares, (explained * known / (known + _SHORT)).astype(np.float32))

    @cached_property
    def _solved(self) -> tuple[Dense, Gram, CSR]:
        """The dictionary of own activations (K, M), its products, and the matrix that adds them up along the trees."""
        T = ancestors(self.forest).astype(np.float32)
        W = self.atoms @ T.T
        return W, Gram(W.T @ W), sparse.csr_array(T)

    def _own_activations(self, Y: Dense) -> CSR:
        """Return what each of some documents has at the nodes themselves, (n, M)."""
        W, gram, _ = self._solved
        # row by row: last digits of a BLAS product depend on how many rows it has, and a document must get the same
        # shares alone, among others, and in any chunk of a file
        YW = as_rows(sparse.csr_array(Y), Threads(1)).times(np.arange(len(Y)), W)
        Z = coordinate_descent(YW, gram, NonNegativeL1(self.lam), tol=_TOL).A
        left = np.flatnonzero(~Z.any(axis=1) & Y.any(axis=1))
        Z[left, YW[left].argmax(axis=1)] = 1
        return sparse.csr_array(Z)

    def word_codes(self, executor: Executor | None = None) -> CSR:
        """Return the codes of words, (V, M), in the same trees."""
        rows = as_rows(self.space.word_rows(), executor or Threads())
        return sparse.csr_array(encode_additive(rows, self.atoms, self.forest, self.lam).A.astype(np.float32))


@dataclass(frozen=True, eq=False)
class MeanCoder:
    """Gives documents the mean of what their words have of nodes (V, M), for forests that cannot code documents."""

    words: CSR | Dense
    weights: Dense  # how much a word tells, (V,)
    forest: Forest

    def shares(self, counts: CSR, embeddings: Any = None, executor: Executor | None = None) -> Shares:  # noqa: ARG002
        """Return the shares of documents with ``counts`` (n, V); the executor is that of other coders."""
        if embeddings is not None:
            raise InputError("embeddings came, but words alone place documents on this forest. Leave them out.")
        values = (1 + np.log(counts.data.astype(np.float32))) * self.weights[counts.indices]
        told: Any = sparse.csr_array((values, counts.indices, counts.indptr), shape=counts.shape)
        total = told.sum(axis=1)  # (n,)
        told.data /= np.repeat(np.where(total > 0, total, 1), np.diff(told.indptr))
        mean: Any = sparse.csr_array(told @ self.words)
        mean.sort_indices()
        known = np.diff(counts.indptr)
        return Shares(mean, (known / (known + _SHORT)).astype(np.float32))


@dataclass(frozen=True, eq=False, repr=False)
class DocumentShares:
    """Documents on a forest: n ids, shares (n, M), a label for each of the M nodes, and what else is known of them.

    ``fields`` has columns such as time and group, n values each; ``typicality`` (n,) says how well a document can stand
    for its nodes: little if it is short.
    """

    ids: Sequence[str]
    shares: CSR
    forest: Forest
    labels: Sequence[str]
    stability: NDArray[np.float64] | None = None
    fields: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    typicality: Dense | None = None

    def __repr__(self) -> str:
        return f"DocumentShares({len(self.ids)} documents, {self.forest!r})"

    def main_path(self) -> NDArray[np.int64]:
        """Return the strongest root of every document, its strongest child, and so on, (n, depths); -1 at the end."""
        return self._main_path

    @cached_property
    def _main_path(self) -> NDArray[np.int64]:
        depth, parent = self.forest.depth, self.forest.parent
        path = np.full((self.shares.shape[0], int(depth.max()) + 1), -1, dtype=np.int64)
        for first in range(0, len(path), _BLOCK):
            dense = self.shares[first : first + _BLOCK].toarray()
            above = np.full((len(dense), 1), -1)
            for level in range(path.shape[1]):
                nodes = np.flatnonzero(depth == level)
                mine = np.where(parent[nodes] == above, dense[:, nodes], 0)
                best = np.where(mine.any(axis=1), nodes[mine.argmax(axis=1)], -2)  # no parent is -2
                path[first : first + _BLOCK, level], above = np.maximum(best, -1), best[:, None]
        return path

    def typical(self, node: int, k: int = 10) -> list[int]:
        """Return the rows of the k documents that a node has the largest share in, short ones last."""
        if not 0 <= node < len(self.forest):
            raise InputError(f"node = {node}, but nodes are numbered from 0 to {len(self.forest) - 1}.")
        column = self._by_node[:, [node]]
        value = column.data if self.typicality is None else column.data * self.typicality[column.indices]
        return [int(row) for row in column.indices[np.argsort(-value, kind="stable")[:k]]]

    @cached_property
    def _by_node(self) -> Any:
        return sparse.csc_array(self.shares)


def edited(placed: DocumentShares, edits: Sequence[Edit]) -> DocumentShares:
    """Return documents after nodes were merged or hidden, one edit after the other; nodes get new numbers."""
    if not edits:
        return placed
    made = after(placed.forest, edits)
    return replace(
        placed,
        shares=made.columns(placed.shares),
        forest=made.forest,
        labels=[placed.labels[node] for node in made.first],
        stability=None if placed.stability is None else placed.stability[made.first],
    )
