"""The top words of every node, chosen by one rule for all models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.evaluation.bootstrap import Array
from wordforest.evaluation.meaning.cooccurrence import CSR, Places
from wordforest.evaluation.word_rows import dense_rows
from wordforest.vectors import Vectors, forest_of

MIN_WORDS = 5
"""A node with fewer top words says too little to be judged: it counts as empty."""


@dataclass(frozen=True, eq=False)
class TopWords:
    """Up to n top words of each of M nodes, strongest first, as places in K ``candidates``.

    ``side`` (M,) is 1 where they are the words of largest coefficient and -1 where they are those of the smallest;
    ``strength`` (K, M) are the coefficients times the side.
    """

    candidates: tuple[str, ...]
    places: tuple[Places, ...]
    side: NDArray[np.int8]
    strength: Array
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
    def membership(self) -> CSR:
        """1 where a word of the pool is a top word of a node, sparse (U, M); empty nodes have no words here."""
        sizes = [len(self.places[node]) for node in self.judged]
        columns = np.repeat(self.judged, sizes)
        rows = np.searchsorted(self.pool, np.concatenate([self.places[node] for node in self.judged] or [self.pool]))
        return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(self.pool), len(self)))

    @cached_property
    def trees(self) -> Places:
        """The number of the tree of every node, (M,)."""
        return np.searchsorted(self.forest.roots, np.arange(len(self)), side="right").astype(np.int64) - 1


def top_words(vectors: Vectors, candidates: Sequence[str], n: int = 10) -> TopWords:
    """Return the n candidates of largest coefficient of every node; only those above 0 are its words.

    Vectors with negative coefficients have two sides: of each node the one with more mass (sum of absolute
    coefficients over the candidates) is taken, the positive one of equals. Ties go to the earlier candidate. So
    neither the scale of a node nor, with signs, its direction plays a part. Without a forest all nodes are roots.
    """
    if n < 2:
        raise InputError(f"n = {n}, but coherence needs pairs: ask for at least 2 top words.")
    coefficients = dense_rows(vectors, candidate_rows(vectors, candidates))
    side = np.where(coefficients.sum(axis=0) >= 0, 1, -1).astype(np.int8)  # positive mass minus negative mass
    strength = coefficients * side
    order = np.argsort(-strength, axis=0, kind="stable")[:n]  # (n, M)
    places = tuple(chosen[strength[chosen, node] > 0] for node, chosen in enumerate(order.T))
    return TopWords(tuple(candidates), places, side, strength, forest_of(vectors), n)


def candidate_rows(vectors: Vectors, candidates: Sequence[str]) -> Places:
    """Return the row of every candidate in some vectors, (K,)."""
    if not len(candidates):
        raise InputError(
            "no word can be judged: expected words that all models know and the held-out text has often enough, "
            "found none. Hold out more text, or lower min_count."
        )
    return np.array([vectors.index(word) for word in candidates], dtype=np.int64)
