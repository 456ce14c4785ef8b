"""The kernels for the CPU, compiled by Numba, over contiguous rows. Threads call them on blocks of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.compile import kernel

Array = NDArray[Any]
Index = NDArray[Any]


_LANES = 32  # words that go through the forest side by side, in vector registers


@kernel
def forest_prox(A: Array, parent: Index, threshold: float, out: Array) -> None:
    """Write the prox of the forest penalty of every row of A, shape (b, M), into ``out``; linear in M.

    Going up, the squared norm of a node's group is known from its children's, shrunk; going down, a node's factor is
    its own times its parent's.
    """
    n_rows, M = A.shape
    tile = np.zeros((M, _LANES), dtype=A.dtype)
    energy = np.zeros((M + 1, _LANES), dtype=A.dtype)  # squared norms of the groups; the last row is above all roots
    factor = np.zeros((M, _LANES), dtype=A.dtype)
    for start in range(0, n_rows, _LANES):
        rows = A[start : start + _LANES]
        for k in range(len(rows)):
            for i in range(M):
                tile[i, k] = rows[k, i]
        for i in range(M):
            _square(tile[i], energy[i])
        for i in range(M - 1, -1, -1):
            _shrink(energy[i], threshold, factor[i], energy[parent[i] if parent[i] >= 0 else M])
        for i in range(M):
            if parent[i] >= 0:
                _multiply(factor[i], factor[parent[i]])
        for k in range(len(rows)):
            for i in range(M):
                out[start + k, i] = tile[i, k] * factor[i, k]


@kernel
def _square(a: Array, energy: Array) -> None:
    for k in range(_LANES):
        energy[k] = a[k] * a[k]


@kernel
def _shrink(energy: Array, threshold: float, factor: Array, above: Array) -> None:
    """Find the factor of one node's group from its squared norm and hand what is left to its parent's."""
    one, zero = energy.dtype.type(1), energy.dtype.type(0)
    for k in range(_LANES):
        size = np.sqrt(energy[k])
        left = one - threshold / size if size > threshold else zero
        factor[k] = left
        above[k] += energy[k] * left * left


@kernel
def _multiply(factor: Array, above: Array) -> None:
    for k in range(_LANES):
        factor[k] *= above[k]


@kernel
def forest_norms(A: Array, parent: Index, out: Array) -> None:
    """Write the sum of the group norms of every row into ``out``, shape (b,), in float64."""
    n_rows, M = A.shape
    energy = np.empty(M, dtype=np.float64)
    for v in range(n_rows):
        for i in range(M):
            energy[i] = np.float64(A[v, i]) * np.float64(A[v, i])
        out[v] = 0.0
        for i in range(M - 1, -1, -1):
            out[v] += np.sqrt(energy[i])
            if parent[i] >= 0:
                energy[parent[i]] += energy[i]


@kernel
def times_dictionary(data: Array, indices: Index, indptr: Index, rows: Index, D: Array, out: Array) -> None:
    """Write ``X[rows] @ D`` for a CSR matrix X into ``out``, shape (b, M)."""
    for r in range(len(rows)):
        out[r] = 0
        start, end = indptr[rows[r]], indptr[rows[r] + 1]
        _add_rows(data[start:end], indices[start:end], D, out[r])


@kernel
def add_times_codes(
    data: Array, indices: Index, indptr: Index, rows: Index, A: Array, first: int, last: int, out: Array
) -> None:
    """Add ``X[rows].T @ A`` to the contexts first .. last - 1 of ``out``, shape (C, M); X has sorted columns.

    The entries are first sorted by context, so that each row of ``out`` is touched once and rows of A stay in cache.
    Every context sums over the words in their order: the bits do not depend on where contexts are cut.
    """
    starts = np.zeros(last - first + 1, dtype=np.int64)
    inside = np.empty((len(rows), 2), dtype=np.int64)  # where the contexts lie in each row of X
    for r in range(len(rows)):
        start, end = indptr[rows[r]], indptr[rows[r] + 1]
        inside[r, 0] = start + np.searchsorted(indices[start:end], first)
        inside[r, 1] = start + np.searchsorted(indices[start:end], last)
        for k in range(inside[r, 0], inside[r, 1]):
            starts[indices[k] - first + 1] += 1
    for c in range(last - first):
        starts[c + 1] += starts[c]
    words = np.empty(starts[-1], dtype=np.int32)
    values = np.empty(starts[-1], dtype=data.dtype)
    fill = starts.copy()
    for r in range(len(rows)):
        for k in range(inside[r, 0], inside[r, 1]):
            c = indices[k] - first
            place = fill[c]
            fill[c] = place + 1
            words[place] = r
            values[place] = data[k]
    for c in range(last - first):
        _add_rows(values[starts[c] : starts[c + 1]], words[starts[c] : starts[c + 1]], A, out[first + c])


@kernel
def _add_rows(weights: Array, chosen: Index, B: Array, out: Array) -> None:
    """Add ``weights @ B[chosen]`` to ``out``, shape (M,), eight rows at a time to spare loads and stores of ``out``."""
    M = B.shape[1]
    n = len(weights) - len(weights) % 8
    for k in range(0, n, 8):
        w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        w4, w5, w6, w7 = weights[k + 4], weights[k + 5], weights[k + 6], weights[k + 7]
        b0, b1, b2, b3 = B[chosen[k]], B[chosen[k + 1]], B[chosen[k + 2]], B[chosen[k + 3]]
        b4, b5, b6, b7 = B[chosen[k + 4]], B[chosen[k + 5]], B[chosen[k + 6]], B[chosen[k + 7]]
        for m in range(M):
            left = (w0 * b0[m] + w1 * b1[m]) + (w2 * b2[m] + w3 * b3[m])
            right = (w4 * b4[m] + w5 * b5[m]) + (w6 * b6[m] + w7 * b7[m])
            out[m] += left + right
    for k in range(n, len(weights)):
        w, b = weights[k], B[chosen[k]]
        for m in range(M):
            out[m] += w * b[m]
