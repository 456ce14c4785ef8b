"""Where words and documents lie: one space, in which a document is the weighed mean of its words.

A document that says what few others say should be told by its rare words, and still lie beside documents that say the
same in other words. So words get rows first, from the words they share documents with; a document's row is their mean,

    y_d = sum over its words v of (1 + log n_dv) w_v r_v,

with ``n_dv`` how often d has v, ``w_v = log(n / n_v)`` the information of having v at all, and r_v the word's row. What
all documents have in common is taken away: ``y / |y| - m``, m the mean over the documents, and the rest divided by its
length. Words go the same way, less their own mean, so words and documents are coded by one dictionary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.coder.rows import as_rows
from wordforest.coder.starts import directions, unit_rows
from wordforest.counts.documents import document_ppmi
from wordforest.errors import InputError
from wordforest.runtime.machine import Executor, Threads

CSR: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"
Dense: TypeAlias = NDArray[np.float32]

_BLOCK = 1 << 15  # documents whose rows are looked at together


@dataclass(frozen=True, eq=False)
class Space:
    """Rows of words (V, K), how much a word tells (V,), and the mean document (K,).

    The last ``n_embedded`` of the K coordinates are those of embeddings. Documents bring theirs along, and a word has
    the mean of its documents; or words have them (``words_embedded``), and a document has the mean of its words.
    """

    words: Dense
    weights: Dense
    mean: Dense
    n_embedded: int = 0
    words_embedded: bool = False

    def rows(self, counts: CSR, embeddings: Any = None, executor: Executor | None = None) -> Dense:
        """Return the rows of documents, (n, K), of length one; zeros for one without a known word."""
        return _centred(self._parts(counts, embeddings, executor), self._cut(self.mean[None]))

    def word_rows(self) -> Dense:
        """Return the rows of words, (V, K), as those of documents.

        Their mean is their own: less that of documents, which have the frequent words, all rare words would be alike.
        """
        parts = [unit_rows(part) for part in self._cut(self.words)]
        return _centred(parts, [_mean(part) for part in parts])

    def _parts(self, counts: CSR, embeddings: Any, executor: Executor | None) -> list[Dense]:
        tf_idf = sparse.csr_array(
            (
                (1 + np.log(counts.data.astype(np.float32))) * self.weights[counts.indices],
                counts.indices,
                counts.indptr,
            ),
            shape=counts.shape,
        )
        rows, blocks = as_rows(tf_idf, executor or Threads()), self._cut(self.words)
        from_words = blocks if self.words_embedded else blocks[:1]
        parts = [unit_rows(rows.all_times(np.ascontiguousarray(block))) for block in from_words]
        if self.n_embedded and not self.words_embedded:
            parts.append(unit_rows(checked_embeddings(embeddings, counts.shape[0], self.n_embedded)))
        elif embeddings is not None:
            raise InputError("embeddings came, but the forest was learned without any. Leave them out, or learn again.")
        return parts

    def _cut(self, rows: NDArray[Any]) -> list[Any]:
        """Return coordinates from words and, if there are any, from embeddings."""
        n = rows.shape[1] - self.n_embedded
        return [rows[:, :n], rows[:, n:]] if self.n_embedded else [rows]


def space_of_documents(
    counts: CSR, *, unknown: int = -1, n_contexts: int, embeddings: Any = None, seed: int = 0, executor: Executor
) -> Space:
    """Find the space of documents from the words they share, ``counts`` (n, V), and embeddings if given.

    These are of documents (n, E), or ``WordEmbeddings`` (V, E).

    A word's row is its PPMI with the words in most documents, in the 200 directions that explain all words best
    (``coder/starts.py``), times its length: a word seen with few others says little of a document. ``unknown`` is the
    column of words outside of the vocabulary, which say nothing.
    """
    n_documents = np.bincount(counts.indices, minlength=counts.shape[1])  # that have a word, (V,)
    weights = np.log(counts.shape[0] / np.maximum(n_documents, 1)).astype(np.float32)
    if unknown >= 0:
        weights[unknown] = 0
        counts = _without(counts, unknown)
    X = document_ppmi(counts, n_contexts, executor)
    if not X.nnz:
        raise InputError(
            "no two words share documents more often than chance has it, so there are no topics. Give more or longer "
            "documents, or lower min_df."
        )
    rows = as_rows(X, executor)
    words = (directions(rows, seed) * np.asarray(rows.lengths())[:, None]).astype(np.float32)
    space = Space(words, weights, np.zeros(words.shape[1], dtype=np.float32))
    if isinstance(embeddings, WordEmbeddings):
        space, embeddings = _with_words(space, embeddings), None
    elif embeddings is not None:
        space = _with_embeddings(space, counts, embeddings)
    return replace(space, mean=_mean_document(space, counts, embeddings, executor))


def _mean_document(space: Space, counts: CSR, embeddings: Any, executor: Executor) -> Dense:
    """Return the mean of the rows of documents that are not empty, (K,), some thousand at a time."""
    sums, n = np.zeros(space.words.shape[1]), np.zeros(space.words.shape[1])
    for first in range(0, counts.shape[0], _BLOCK):
        here = slice(first, first + _BLOCK)
        parts = space._parts(counts[here], None if embeddings is None else embeddings[here], executor)
        sums += np.hstack([part.sum(0, dtype=np.float64) for part in parts])
        n += np.hstack([np.full(part.shape[1], part.any(1).sum()) for part in parts])
    mean: Dense = (sums / np.maximum(n, 1)).astype(np.float32)
    return mean


def _centred(parts: list[Dense], means: list[Dense]) -> Dense:
    # one that is empty, or has no known word, lies nowhere: not where the mean is missing
    moved = [np.where(part.any(axis=1, keepdims=True), part - mean, 0) for part, mean in zip(parts, means, strict=True)]
    return np.asarray(unit_rows(np.hstack([unit_rows(part) for part in moved]).astype(np.float32)))


def _mean(part: Dense) -> Dense:
    """Return the mean of rows that are not empty, (K,)."""
    filled = part[part.any(axis=1)]
    mean = filled.mean(axis=0, dtype=np.float64) if len(filled) else part.sum(axis=0)
    return np.asarray(mean, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class WordEmbeddings:
    """Embeddings of the words of a vocabulary, (V, E); zeros for words without one."""

    matrix: Dense


def _with_words(space: Space, embeddings: WordEmbeddings) -> Space:
    """Add the coordinates of embeddings of words."""
    E = unit_rows(embeddings.matrix)
    return Space(np.hstack([space.words, E]), space.weights, np.zeros(0, np.float32), E.shape[1], True)


def _with_embeddings(space: Space, counts: CSR, embeddings: Any) -> Space:
    """Add the coordinates of embeddings; a word's are the mean of its documents'."""
    E = unit_rows(checked_embeddings(embeddings, counts.shape[0]))
    has = sparse.csr_array((np.ones(counts.nnz, dtype=np.float32), counts.indices, counts.indptr), shape=counts.shape)
    of_words = (has.T @ E).astype(np.float32)
    return Space(np.hstack([space.words, of_words]), space.weights, np.zeros(0, np.float32), E.shape[1])


def space_of_codes(codes: CSR, D: Dense, counts: NDArray[np.int64]) -> tuple[Space, Dense]:
    """Return the space that a forest of words spans, and its atoms (M, M) there: a word lies where its code puts it.

    With ``R'R = D'D``, a code a of (M,) stands for ``D a``, whose coordinates are ``R a``. How much a word tells is
    guessed from how often it occurs; the mean is that of a document of all words.
    """
    values, basis = np.linalg.eigh((D.T @ D).astype(np.float64))
    R = (np.sqrt(np.maximum(values, 0))[:, None] * basis.T).astype(np.float32)  # (M, M)
    words = (codes @ R.T).astype(np.float32)
    weights = word_weights(counts)
    mean = unit_rows(((counts / max(int(counts.sum()), 1) * weights) @ words)[None])[0]
    return Space(words, weights, mean.astype(np.float32)), R


_COMMON = 1e-3  # share of all words from which on a word says little


def word_weights(counts: NDArray[np.int64]) -> Dense:
    """Return how much a word tells of a document, (V,), guessed from how often it occurs; alike where all are 0."""
    share = counts / max(int(counts.sum()), 1)
    return np.log1p(_COMMON / np.maximum(share, np.finfo(np.float64).tiny)).astype(np.float32)


def checked_embeddings(embeddings: Any, n: int, n_columns: int | None = None) -> Dense:
    """Return embeddings as float32 (n, E), after a look at their shape."""
    if embeddings is None:
        raise InputError("this forest was learned with embeddings of documents. Give those of these documents, too.")
    E = np.asarray(embeddings, dtype=np.float32)
    if E.ndim != 2 or len(E) != n or n_columns not in (None, E.shape[1]) or not np.isfinite(E).all():
        raise InputError(
            f"embeddings have shape {E.shape}, but {n} rows, one for each document, of {n_columns or 'some'} finite "
            "numbers are needed."
        )
    return E


def _without(counts: CSR, column: int) -> CSR:
    """Return counts without those of one column; its place stays."""
    others = counts.copy()
    others.data[others.indices == column] = 0
    others.eliminate_zeros()
    return others
