"""Counts to X: how much more often a word and a context meet than chance would have it.

Pairs that were never seen are not stored and count as 0 (the paper's rule).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.counts import Counts
from wordforest.errors import InputError

_ROWS = 1024  # words at a time, to bound memory


def pmi(counts: Counts | sparse.csr_array, *, smoothing: float = 1.0, share_pattern: bool = False) -> sparse.csr_array:
    """Pointwise mutual information, ``x_vc = log(n_vc n / (n_v n_c))``, (V, C) float32 with the pattern of the counts.

    Negative values stay. ``smoothing`` raises the context counts to a power before they become probabilities
    (Levy, Goldberg and Dagan 2015 use 0.75): ``p_c = n_c^s / sum n_c^s``. ``share_pattern`` saves memory where the
    counts are not needed afterwards: X uses their index arrays instead of copies.
    """
    matrix = sparse.csr_array(counts.matrix if isinstance(counts, Counts) else counts)
    if share_pattern and matrix.has_canonical_format and matrix.data.all():
        parts = (matrix.data.astype(np.float32), matrix.indices, matrix.indptr)
        X = sparse.csr_array(parts, shape=matrix.shape, copy=False)
    else:
        X = matrix.astype(np.float32)
        X.sum_duplicates()
        X.eliminate_zeros()
    if X.nnz == 0:
        raise InputError("the count matrix is empty: no two words stand within a window of each other. Give more text.")
    if X.data.min() < 0:
        raise InputError(f"the counts hold {X.data.min():g}, but a count is never negative. Give counts, not scores.")
    n_v, n_c = _margins(matrix)
    n_c **= smoothing
    log_v = _log(n_v)
    log_c = _log(n_c) - np.log(n_c.sum())
    np.log(X.data, out=X.data)
    for start in range(0, X.shape[0], _ROWS):
        ends = X.indptr[start : start + _ROWS + 1]
        part = slice(ends[0], ends[-1])
        X.data[part] -= np.repeat(log_v[start : start + _ROWS].astype(np.float32), np.diff(ends))
        X.data[part] -= log_c.astype(np.float32)[X.indices[part]]
    return X


def ppmi(counts: Counts | sparse.csr_array, *, smoothing: float = 1.0) -> sparse.csr_array:
    """Positive PMI, ``max(x_vc, 0)``; zeros are not stored."""
    return sppmi(counts, shift=0.0, smoothing=smoothing)


def sppmi(counts: Counts | sparse.csr_array, *, shift: float = 0.0, smoothing: float = 1.0) -> sparse.csr_array:
    """Shifted positive PMI, ``max(x_vc - shift, 0)``; shift = log k for k negative samples (Levy, Goldberg 2014)."""
    X = pmi(counts, smoothing=smoothing)
    X.data -= np.float32(shift)
    np.maximum(X.data, 0, out=X.data)
    X.eliminate_zeros()
    return X


def _margins(matrix: sparse.csr_array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sums of all rows, (V,), and columns, (C,); exact below 2^53, and quicker than in integers."""
    n_v, n_c = np.zeros(matrix.shape[0]), np.zeros(matrix.shape[1])
    for start in range(0, matrix.shape[0], _ROWS):
        part = matrix[start : start + _ROWS]
        n_v[start : start + _ROWS] = part @ np.ones(matrix.shape[1])
        n_c += part.T @ np.ones(part.shape[0])
    return n_v, n_c


def _log(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithm where a row or column has entries; 0 where it has none, since nothing there is stored."""
    return np.log(sums, out=np.zeros_like(sums), where=sums > 0)
