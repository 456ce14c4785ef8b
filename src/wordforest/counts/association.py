"""Counts to X: how much more often a word and a context meet than chance would have it.

Pairs that were never seen are not stored and count as 0 (the paper's rule).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.counts import Counts
from wordforest.errors import InputError
from wordforest.runtime.machine import Executor, Threads, kernel

Allocate = Callable[[int, Any], NDArray[Any]]  # (length, dtype) to an array with room for it, in memory or in a file
Place = tuple[slice, slice]  # some rows of a matrix, and their pairs

ONE_THREAD = Threads(1)
_PAIRS = 1 << 20  # pairs at a time, to bound memory; a row is never split


def pmi(
    counts: Counts | sparse.csr_array,
    *,
    smoothing: float = 1.0,
    share_pattern: bool = False,
    allocate: Allocate = np.empty,
    executor: Executor = ONE_THREAD,
) -> sparse.csr_array:
    """Pointwise mutual information, ``x_vc = log(n_vc n / (n_v n_c))``, (V, C) float32 with the pattern of the counts.

    Negative values stay. ``smoothing`` raises the context counts to a power before they become probabilities (Levy,
    Goldberg and Dagan 2015 use 0.75): ``p_c = n_c^s / sum n_c^s``. ``share_pattern`` saves memory where the counts are
    not needed afterwards: X uses their index arrays instead of copies. Counts may be mapped from a file, and
    ``allocate(length, dtype)`` may make an array in a file for the values. The bits are the same for any ``executor``.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> from scipy.sparse import csr_array
        >>> wf.pmi(csr_array(np.array([[4, 1], [1, 4]]))).toarray().round(2)
        array([[ 0.47, -0.92],
               [-0.92,  0.47]], dtype=float32)
    """
    matrix = positive(counts, share_pattern)
    return pmi_rows(matrix, *log_margins(*margins(matrix, executor), smoothing), None, allocate, executor)


def pmi_rows(
    counts: sparse.csr_array,
    log_v: NDArray[np.float32],
    log_c: NDArray[np.float32],
    least: float | None = None,
    allocate: Allocate = np.empty,
    executor: Executor = ONE_THREAD,
) -> sparse.csr_array:
    """Return the PMI of rows of counts; ``log_v`` and ``log_c`` are the logarithms of their sums and of the columns.

    The values are those that ``pmi`` has for the whole matrix; with ``least`` those of ``sppmi`` with that shift.
    """
    values = allocate(counts.nnz, np.float32)

    def fill(place: Place) -> None:
        rows, part = place
        x = counts.data[part].astype(np.float32)
        np.log(x, out=x)
        x -= np.repeat(log_v[rows], np.diff(counts.indptr[rows.start : rows.stop + 1]))
        x -= log_c[counts.indices[part]]
        values[part] = x

    list(executor.map(fill, parts(counts)))
    X = assembled(values, counts.indices, counts.indptr, counts.shape)
    return X if least is None else _above(X, least, allocate)


def ppmi(
    counts: Counts | sparse.csr_array,
    *,
    shift: float = 0.0,
    smoothing: float = 1.0,
    allocate: Allocate = np.empty,
    executor: Executor = ONE_THREAD,
) -> sparse.csr_array:
    """Positive PMI, ``max(x_vc - shift, 0)``, (V, C) float32; zeros are not stored. Arguments are those of ``pmi``.

    With ``shift = log k`` it is what k negative samples of word2vec factorise (Levy and Goldberg 2014).

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> from scipy.sparse import csr_array
        >>> counts = csr_array(np.array([[4, 1], [1, 4]]))
        >>> wf.ppmi(counts).toarray().round(2)
        array([[0.47, 0.  ],
               [0.  , 0.47]], dtype=float32)
        >>> wf.ppmi(counts, shift=0.2).toarray().round(2)
        array([[0.27, 0.  ],
               [0.  , 0.27]], dtype=float32)
    """
    matrix = positive(counts, share_pattern=True)
    return pmi_rows(matrix, *log_margins(*margins(matrix, executor), smoothing), shift, allocate, executor)


def _above(X: sparse.csr_array, shift: float, allocate: Allocate) -> sparse.csr_array:
    """Keep what is above the shift, less the shift; the values of X are overwritten."""
    least = np.float32(shift)
    n = sum(int(np.count_nonzero(X.data[part] > least)) for _, part in parts(X))
    indices = allocate(n, X.indices.dtype)
    indptr = np.zeros_like(X.indptr)
    done = 0
    for rows, part in parts(X):
        kept = X.data[part] > least
        before = np.concatenate(([0], np.cumsum(kept)))  # of each pair of the part, and of the end
        place = slice(done, done + int(before[-1]))
        ends = X.indptr[rows.start + 1 : rows.stop + 1]
        indptr[rows.start + 1 : rows.stop + 1] = done + before[ends - part.start]
        indices[place] = X.indices[part][kept]
        X.data[place] = X.data[part][kept] - least  # never beyond what was read
        done = place.stop
    return assembled(X.data[:n], indices, indptr, X.shape)


def counts_at(X: sparse.csr_array, counts: Counts | sparse.csr_array) -> NDArray[Any]:
    """Return the counts of the stored pairs of X, (nnz,), in the order of ``X.data`` and of its type.

    X comes from these counts, so its pairs are some of theirs; both have sorted columns.
    """
    matrix = positive(counts, share_pattern=True)
    if X.nnz == matrix.nnz:
        return np.asarray(matrix.data.astype(X.dtype))
    found, C = np.empty(X.nnz, dtype=X.dtype), matrix.shape[1]
    for rows, part in parts(matrix):
        own = slice(int(X.indptr[rows.start]), int(X.indptr[rows.stop]))
        starts = np.arange(rows.stop - rows.start) * C
        all_pairs, some = (
            np.repeat(starts, np.diff(m.indptr[rows.start : rows.stop + 1])) + m.indices[place]
            for m, place in ((matrix, part), (X, own))
        )
        found[own] = matrix.data[part][np.searchsorted(all_pairs, some)]
    return found


def positive(counts: Counts | sparse.csr_array, share_pattern: bool) -> sparse.csr_array:
    """Return the counts as CSR with every pair once and nothing stored that is 0; index arrays may be the caller's."""
    matrix = counts.matrix if isinstance(counts, Counts) else counts
    matrix = matrix if matrix.format == "csr" else sparse.csr_array(matrix)
    if not (matrix.has_canonical_format and matrix.data.all()):
        matrix = sparse.csr_array(matrix, copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    elif not share_pattern:
        matrix = assembled(matrix.data, matrix.indices.copy(), matrix.indptr.copy(), matrix.shape)
    if matrix.nnz == 0:
        raise InputError(
            "the count matrix is empty: no two words stand within a window of each other. Give more text, or, "
            "of a table, the column that holds texts."
        )
    least = matrix.data.min()
    if least < 0:
        raise InputError(f"the counts hold {least:g}, but a count is never negative. Give counts, not scores.")
    return matrix


def assembled(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> sparse.csr_array:
    """Return arrays in canonical order as a matrix, none copied; SciPy would widen int32 indices if indptr is int64."""
    matrix = sparse.csr_array(shape, dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
    matrix.has_canonical_format = True
    return matrix


def parts(matrix: sparse.csr_array) -> Iterator[Place]:
    """Yield slices of rows with about ``_PAIRS`` pairs, and of their pairs."""
    first, V = 0, matrix.shape[0]
    while first < V:
        start = int(matrix.indptr[first])
        last = int(np.searchsorted(matrix.indptr, start + _PAIRS, "right")) - 1
        last = min(max(last, first + 1), V)
        yield slice(first, last), slice(start, int(matrix.indptr[last]))
        first = last


def log_margins(
    n_v: NDArray[np.float64], n_c: NDArray[np.float64], smoothing: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return ``log n_v`` (V,) and ``log p_c`` (C,) for the sums of rows and columns."""
    n_c = n_c**smoothing
    return _log(n_v).astype(np.float32), (_log(n_c) - np.log(n_c.sum())).astype(np.float32)


def margins(
    matrix: sparse.csr_array, executor: Executor = ONE_THREAD
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sums of all rows, (V,), and columns, (C,); exact below 2^53, and quicker than in integers."""
    n_v, n_c = np.zeros(matrix.shape[0]), np.zeros(matrix.shape[1])

    def add_up(place: Place) -> NDArray[np.float64]:
        rows, pairs = place
        by_column = np.zeros_like(n_c)
        indptr = matrix.indptr[rows.start : rows.stop + 1] - matrix.indptr[rows.start]
        _add_up(matrix.data[pairs], matrix.indices[pairs], indptr, n_v[rows], by_column)
        return by_column

    for by_column in executor.map(add_up, parts(matrix)):
        n_c += by_column
    return n_v, n_c


@kernel
def _add_up(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], n_v: NDArray[Any], n_c: NDArray[Any]
) -> None:
    for v in range(len(n_v)):
        for i in range(indptr[v], indptr[v + 1]):
            n_v[v] += data[i]
            n_c[indices[i]] += data[i]


def _log(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithm where a row or column has entries; 0 where it has none, since nothing there is stored."""
    return np.log(sums, out=np.zeros_like(sums), where=sums > 0)
