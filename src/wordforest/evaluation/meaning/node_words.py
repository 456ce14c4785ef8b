"""The top words of every node, chosen by one rule for all models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.evaluation.meaning.cooccurrence import CSR, Array, Places
from wordforest.vectors import Vectors, forest_of

MIN_WORDS = 5
"""A node with fewer top words says too little to be judged: it counts as empty."""


@dataclass(frozen=True, eq=False)
class TopWords:
    """Up to n top words of each of M nodes, strongest first, as places in ``candidates``.

    ``side`` (M,) is 1 where they are the words of largest coefficient and -1 where they are those of the smallest.
    """

    candidates: tuple[str, ...]
    places: tuple[Places, ...]
    side: NDArray[np.int8]
    forest: Forest
    n: int

    def __len__(self) -> int:
        return len(self.places)

    def words(self, node: int) -> tuple[str, ...]:
        """Return the top words of a node, strongest first."""
        return tuple(self.candidates[place] for place in self.places[node])

    @cached_property
    def judged(self) -> Places:
        """The nodes with enough top words (MIN_WORDS, or n where that is less), ascending."""
        least = min(MIN_WORDS, self.n)
        return np.array([node for node, chosen in enumerate(self.places) if len(chosen) >= least], dtype=np.int64)

    @cached_property
    def pool(self) -> Places:
        """The candidates that are top words of at least one judged node, (U,), ascending."""
        chosen = [self.places[node] for node in self.judged]
        return np.unique(np.concatenate(chosen)) if chosen else np.empty(0, dtype=np.int64)

    @cached_property
    def pool_words(self) -> tuple[str, ...]:
        """The words of the pool, in its order."""
        return tuple(self.candidates[place] for place in self.pool)

    @cached_property
    def membership(self) -> CSR:
        """1 where a word of the pool is a top word of a node, sparse (U, M); empty nodes have no words here."""
        sizes = [len(self.places[node]) for node in self.judged]
        columns = np.repeat(self.judged, sizes)
        rows = np.searchsorted(self.pool, np.concatenate([self.places[node] for node in self.judged] or [self.pool]))
        return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(self.pool), len(self)))

    @property
    def depths(self) -> range:
        """The depths of the forest, roots first."""
        return range(int(self.forest.depth.max()) + 1)

    def at(self, depth: int) -> Places:
        """Return the nodes of a depth, ascending."""
        return np.flatnonzero(self.forest.depth == depth).astype(np.int64)


def top_words(vectors: Vectors, candidates: Sequence[str], n: int = 10) -> TopWords:
    """Return the n candidates of largest coefficient of every node; only those above 0 are its words.

    Vectors with negative coefficients have two sides: of each node the one with more mass (sum of absolute
    coefficients over the candidates) is taken, the positive one of equals. Ties go to the earlier candidate. So
    neither the scale of a node nor, with signs, its direction plays a part. Without a forest all nodes are roots.
    """
    if n < 2:
        raise InputError(f"n = {n}, but coherence needs pairs: ask for at least 2 top words.")
    forest = forest_of(vectors)
    rows = candidate_rows(vectors, candidates)
    places, sides = [], []
    for column in columns_of(vectors, rows):
        side = 1 if column.sum(dtype=np.float64) >= 0 else -1  # positive mass minus negative mass
        strength = side * column
        order = np.argsort(-strength, kind="stable")[:n]
        places.append(order[strength[order] > 0].astype(np.int64))
        sides.append(side)
    return TopWords(tuple(candidates), tuple(places), np.array(sides, dtype=np.int8), forest, n)


def candidate_rows(vectors: Vectors, candidates: Sequence[str]) -> Places:
    """Return the row of every candidate in some vectors, (K,)."""
    if not len(candidates):
        raise InputError(
            "no word can be judged: expected words that all models know and the held-out text has often enough, "
            "found none. Hold out more text, or lower min_count."
        )
    return np.array([vectors.index(word) for word in candidates], dtype=np.int64)


def columns_of(vectors: Vectors, rows: Places) -> Iterator[NDArray[np.float32]]:
    """Yield the coefficients of some rows on one node after the other, (K,) each, without a dense matrix."""
    chosen: Any = vectors.matrix[rows]
    if isinstance(chosen, np.ndarray):
        yield from chosen.T
        return
    by_column = chosen.tocsc()
    for node in range(chosen.shape[1]):
        column = np.zeros(len(rows), dtype=np.float32)
        stored = slice(by_column.indptr[node], by_column.indptr[node + 1])
        column[by_column.indices[stored]] = by_column.data[stored]
        yield column


def used_by_word(vectors: Vectors, nodes: Places) -> NDArray[np.int64]:
    """Return how many of some nodes each word uses, (V,)."""
    chosen: Any = vectors.matrix[:, nodes]
    if isinstance(chosen, np.ndarray):
        return np.asarray(np.count_nonzero(chosen, axis=1), dtype=np.int64)
    return np.asarray(np.diff(chosen.indptr), dtype=np.int64)


def node_density(vectors: Vectors) -> Array:
    """Return the share of all words that use each node, (M,)."""
    return np.asarray(vectors.uses() / max(1, len(vectors)), dtype=np.float64)
