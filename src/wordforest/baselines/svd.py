"""PCA and Hellinger PCA: truncated singular values of a sparse matrix, which is never made dense.

ARPACK (SciPy's ``svds``) finds the directions of the contexts to full precision from products with X and X', one thread
and one seeded start, so the bits do not depend on the number of workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.errors import InputError
from wordforest.options import Checked, default
from wordforest.runtime.machine import one_blas_thread

Array = NDArray[Any]

_NARROW = 100  # rows or columns up to which a matrix is decomposed as a dense one


@dataclass(frozen=True)
class SvdSettings(Checked):
    """``power`` p gives words ``U S^p``."""

    dimensions: int = default("dimensions")
    power: float = default("power")
    seed: int = default("seed")


class Svd(NamedTuple):
    """Words ``U S^power`` (V, n), values S (n,) from large to small, contexts (C, n) with orthonormal columns."""

    words: Array
    values: Array
    contexts: Array


def pca(X: Any, settings: SvdSettings) -> Svd:
    """Return the n largest singular values of X (V, C) and the words ``U S^power``. X is not centred."""
    X = sparse.csr_array(X)
    return _truncated(X, np.zeros(X.shape[1], dtype=X.dtype), settings)


def hellinger_pca(counts: Any, settings: SvdSettings, *, contexts: int = 10_000) -> Svd:
    """Return Hellinger PCA of window counts (V, C), Lebret and Collobert (2014): PCA of ``sqrt(p(c | v))``, centred.

    Only the ``contexts`` most frequent columns are used. A word without any of them gets the code of an empty row.
    """
    matrix = sparse.csr_array(counts)
    seen = np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel()
    kept = np.sort(np.argsort(-seen, kind="stable")[:contexts])
    matrix = matrix[:, kept].astype(np.float32)
    totals = np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()
    scale = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)
    matrix.data = np.sqrt(matrix.data * np.repeat(scale, np.diff(matrix.indptr))).astype(np.float32)
    mean = (np.asarray(matrix.sum(axis=0, dtype=np.float64)).ravel() / len(totals)).astype(np.float32)
    return _truncated(matrix, mean, settings)


def _truncated(X: sparse.csr_array[Any, tuple[int, int]], mean: Array, settings: SvdSettings) -> Svd:
    """Return the truncated SVD of ``X - 1 mean'``."""
    n, (n_words, n_contexts) = settings.dimensions, X.shape
    if n > min(n_words, n_contexts):
        raise InputError(
            f"{n} dimensions were asked for, but a matrix of {n_words} words and {n_contexts} contexts has at most "
            f"{min(n_words, n_contexts)}. Ask for fewer dimensions or give more text."
        )
    with one_blas_thread():
        contexts = _directions(X, mean, settings)  # (C, n)
        strongest = contexts[np.abs(contexts).argmax(axis=0), np.arange(n)]
        contexts = contexts * np.where(strongest < 0, -1, 1).astype(X.dtype)  # the sign of a direction is free
        words = X @ contexts - mean @ contexts  # (V, n) = U S
        values = np.sqrt(np.square(words, dtype=np.float64).sum(axis=0))
    scale = np.power(values, settings.power - 1, out=np.zeros(n), where=values > 1e-6 * values.max(initial=0))
    return Svd(words * scale.astype(X.dtype), values, contexts)


def _directions(X: sparse.csr_array[Any, tuple[int, int]], mean: Array, settings: SvdSettings) -> Array:
    """Return the right singular vectors of the n largest values, largest first, (C, n)."""
    from scipy.sparse.linalg import LinearOperator, svds

    narrow = min(X.shape)
    if narrow <= max(_NARROW, 2 * settings.dimensions):
        dense = X.toarray() - mean
        return np.asarray(np.linalg.svd(dense, full_matrices=False)[2][: settings.dimensions].T)
    if not X.data.any():
        return np.eye(X.shape[1], settings.dimensions, dtype=X.dtype)  # ARPACK cannot start from zeros
    XT = X.T.tocsr()
    centred = LinearOperator(
        X.shape,
        matvec=lambda x: X @ x.ravel() - mean @ x.ravel(),
        rmatvec=lambda y: XT @ y.ravel() - mean * y.sum(),
        dtype=X.dtype,
    )
    start = np.random.default_rng(settings.seed).standard_normal(narrow).astype(X.dtype)
    return np.asarray(svds(centred, k=settings.dimensions, v0=start)[2][::-1].T)
