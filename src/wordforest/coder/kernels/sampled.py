"""Products over the stored pairs alone, compiled by Numba: what weighted losses need beside those over all pairs.

For a row with stored columns c and numbers e, and the rows f_c of a matrix F, ``H = sum_c e_c f_c f_c'``, (M, M).
Either H is built once and used often, or ``H a`` is taken by visiting the pairs each time, which needs no room.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.runtime.compile import kernel

Array = NDArray[Any]
Index = NDArray[Any]


@kernel
def sampled_times(starts: Index, indices: Index, excess: Array, rows: Index, F: Array, A: Array, out: Array) -> None:
    """Write ``sum_c e_c (f_c . a_r) f_c`` for every row into ``out``, shape (b, M); each f_c is read once."""
    M = F.shape[1]
    zero = F.dtype.type(0)
    for r in range(len(rows)):
        a, total = A[r], out[r]
        total[:] = 0
        first, last = starts[rows[r]], starts[rows[r] + 1]
        whole = last - (last - first) % 4
        for k in range(first, whole, 4):
            f0, f1, f2, f3 = F[indices[k]], F[indices[k + 1]], F[indices[k + 2]], F[indices[k + 3]]
            p0 = p1 = p2 = p3 = zero
            for m in range(M):
                p0 += f0[m] * a[m]
                p1 += f1[m] * a[m]
                p2 += f2[m] * a[m]
                p3 += f3[m] * a[m]
            p0, p1, p2, p3 = p0 * excess[k], p1 * excess[k + 1], p2 * excess[k + 2], p3 * excess[k + 3]
            for m in range(M):
                total[m] += (p0 * f0[m] + p1 * f1[m]) + (p2 * f2[m] + p3 * f3[m])
        for k in range(whole, last):
            f0, p0 = F[indices[k]], zero
            for m in range(M):
                p0 += f0[m] * a[m]
            p0 *= excess[k]
            for m in range(M):
                total[m] += p0 * f0[m]


@kernel
def row_grams(starts: Index, indices: Index, excess: Array, rows: Index, F: Array, out: Array) -> None:
    """Add ``sum_c e_c f_c f_c'`` of every row to ``out``, shape (b, M, M), eight pairs at a time."""
    M = F.shape[1]
    for r in range(len(rows)):
        H = out[r]
        first, last = starts[rows[r]], starts[rows[r] + 1]
        whole = last - (last - first) % 8
        for k in range(first, whole, 8):
            f0, f1, f2, f3 = F[indices[k]], F[indices[k + 1]], F[indices[k + 2]], F[indices[k + 3]]
            f4, f5, f6, f7 = F[indices[k + 4]], F[indices[k + 5]], F[indices[k + 6]], F[indices[k + 7]]
            for i in range(M):
                e0, e1, e2, e3 = excess[k] * f0[i], excess[k + 1] * f1[i], excess[k + 2] * f2[i], excess[k + 3] * f3[i]
                e4, e5 = excess[k + 4] * f4[i], excess[k + 5] * f5[i]
                e6, e7 = excess[k + 6] * f6[i], excess[k + 7] * f7[i]
                h = H[i]
                for m in range(M):
                    left = (e0 * f0[m] + e1 * f1[m]) + (e2 * f2[m] + e3 * f3[m])
                    h[m] += left + ((e4 * f4[m] + e5 * f5[m]) + (e6 * f6[m] + e7 * f7[m]))
        for k in range(whole, last):
            f0 = F[indices[k]]
            for i in range(M):
                e0, h = excess[k] * f0[i], H[i]
                for m in range(M):
                    h[m] += e0 * f0[m]


@kernel
def grams_times(H: Array, A: Array, out: Array) -> None:
    """Write ``H_r a_r`` of every row into ``out``, shape (b, M); H (b, M, M) is symmetric."""
    M = A.shape[1]
    for r in range(len(A)):
        total = out[r]
        total[:] = 0
        whole = M - M % 4
        for i in range(0, whole, 4):
            h0, h1, h2, h3 = H[r, i], H[r, i + 1], H[r, i + 2], H[r, i + 3]
            a0, a1, a2, a3 = A[r, i], A[r, i + 1], A[r, i + 2], A[r, i + 3]
            for m in range(M):
                total[m] += (a0 * h0[m] + a1 * h1[m]) + (a2 * h2[m] + a3 * h3[m])
        for i in range(whole, M):
            a0, h0 = A[r, i], H[r, i]
            for m in range(M):
                total[m] += a0 * h0[m]


@kernel
def shrunk_squares(U: Array, curvatures: Array, multipliers: Array, squares: Array, slopes: Array) -> None:
    """Add for every column m the sums over rows of ``s^2`` and ``s^2 / (L + mu_m)``, where ``s = L u / (L + mu_m)``.

    L (n,) are the curvatures of the rows, mu (M,) the multipliers; the sums, (M,) each, are float64.
    """
    for c in range(len(U)):
        L, u = curvatures[c], U[c]
        for m in range(U.shape[1]):
            below = np.float64(L) + multipliers[m]
            s = L * np.float64(u[m]) / below
            squares[m] += s * s
            slopes[m] += s * s / below
