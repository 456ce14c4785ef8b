"""The kernels for the CPU, compiled by Numba, over contiguous rows. Threads call them on blocks of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.kernels.halves import widened
from wordforest.runtime.machine import kernel

Array = NDArray[Any]
Index = NDArray[Any]
_RIDGE = 1e-12  # share by which a diagonal grows, so that equal atoms have a solution
_ON_SWEEPS = 30  # over coordinates that are on, before the others are looked at again
_REGISTER = 16  # numbers in a vector register
_LANES = 64  # words that go through the forest side by side, in vector registers


@kernel
def forest_prox(A: Array, parent: Index, end: Index, thresholds: Array, out: Array) -> None:
    """Write the prox of the l2 forest penalty of every row of A, shape (b, M), into ``out``; linear in M.

    Going up, the squared norm of a node's group is known from its children's, shrunk; going down, a node's factor is
    its own times its parent's. The last tile overlaps the one before, since loops of fixed length are fastest.
    """
    n_rows, M = A.shape
    if n_rows < _LANES:
        padded = np.zeros((_LANES, M), dtype=A.dtype)
        _copy(A, padded)
        forest_prox(padded, parent, end, thresholds, padded)
        _copy(padded, out)
        return
    tile = np.empty((M, _LANES), dtype=A.dtype)
    factor = np.empty((M + 1, _LANES), dtype=A.dtype)  # the last row is above all roots
    for start in range(0, n_rows, _LANES):
        first = min(start, n_rows - _LANES)
        _load(A[first : first + _LANES], tile)
        _shrink_groups(tile, parent, end, thresholds, factor)
        _store(tile, out[first : first + _LANES])


@kernel
def _shrink_groups(tile: Array, parent: Index, end: Index, thresholds: Array, factor: Array) -> None:
    """Put the prox of a tile (M, lanes) in its place; ``factor`` (M + 1, lanes) is room to work in."""
    M = len(tile)
    factor[:] = 0  # squared norms of what is left of the children, until a node's turn comes
    for i in range(M - 1, -1, -1):
        above = factor[parent[i] if parent[i] >= 0 else M]
        if end[i] == i + 1:
            _shrink_leaf(tile[i], thresholds[i], above)
        else:
            _shrink_inner(tile[i], thresholds[i], factor[i], above)
    factor[M] = 1
    for i in range(M):
        above = factor[parent[i] if parent[i] >= 0 else M]
        if end[i] == i + 1:
            _multiply(tile[i], above)
        else:
            _multiply(factor[i], above)
            _multiply(tile[i], factor[i])


@kernel
def _copy(rows: Array, out: Array) -> None:
    """Copy as many rows as both have; ``out[:n] = rows`` would compile an error message, too, for two seconds."""
    for k in range(min(len(rows), len(out))):
        for m in range(rows.shape[1]):
            out[k, m] = rows[k, m]


@kernel
def _load(rows: Array, tile: Array) -> None:
    for i in range(len(tile)):
        lanes = tile[i]
        for k in range(_LANES):
            lanes[k] = rows[k, i]


@kernel
def _store(tile: Array, rows: Array) -> None:
    for i in range(len(tile)):
        lanes = tile[i]
        for k in range(_LANES):
            rows[k, i] = lanes[k]


@kernel
def _shrink_leaf(a: Array, threshold: float, above: Array) -> None:
    """Soft thresholding in place, no root and no division; the squares of what is left go to the parent."""
    for k in range(_LANES):
        cut = a[k] if a[k] < threshold else threshold
        cut = cut if cut > -threshold else -threshold
        a[k] -= cut
        above[k] += a[k] * a[k]


@kernel
def _shrink_inner(a: Array, threshold: float, factor: Array, above: Array) -> None:
    """Turn the squared norms of a node's children into the factor of its group; what is left goes to its parent."""
    zero = a.dtype.type(0)
    for k in range(_LANES):
        size = np.sqrt(factor[k] + a[k] * a[k])
        left = size - threshold if size > threshold else zero
        factor[k] = left / size if left > zero else zero
        above[k] += left * left


@kernel
def _multiply(a: Array, factor: Array) -> None:
    for k in range(_LANES):
        a[k] *= factor[k]


@kernel
def forest_norms(A: Array, parent: Index, weights: Array, out: Array) -> None:
    """Write the weighted sum of the l2 norms of all groups of every row into ``out``, shape (b,), in float64."""
    n_rows, M = A.shape
    energy = np.empty(M, dtype=np.float64)
    for v in range(n_rows):
        for i in range(M):
            energy[i] = np.float64(A[v, i]) * np.float64(A[v, i])
        out[v] = 0.0
        for i in range(M - 1, -1, -1):
            out[v] += weights[i] * np.sqrt(energy[i])
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
def entries_between(indices: Index, indptr: Index, rows: Index, first: int, last: int) -> tuple[Index, Index]:
    """Return where the contexts first .. last - 1 begin and end in each of some rows, (b,) each; columns are sorted."""
    begins, ends = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
    for r in range(len(rows)):
        start, end = indptr[rows[r]], indptr[rows[r] + 1]
        begins[r] = start + np.searchsorted(indices[start:end], first)
        ends[r] = start + np.searchsorted(indices[start:end], last)
    return begins, ends


@kernel
def add_times_codes(
    data: Array, indices: Index, indptr: Index, rows: Index, A: Array, first: int, last: int, out: Array
) -> None:
    """Add ``X[rows].T @ A`` to the contexts first .. last - 1 of ``out``, shape (C, M); X has sorted columns.

    The entries are first sorted by context, so that each row of ``out`` is touched once and rows of A stay in cache.
    Every context sums over the words in their order: the bits do not depend on where contexts are cut, nor on who adds
    the sum to what was there before.
    """
    starts = np.zeros(last - first + 1, dtype=np.int64)
    begins, ends = entries_between(indices, indptr, rows, first, last)
    for r in range(len(rows)):
        for k in range(begins[r], ends[r]):
            starts[indices[k] - first + 1] += 1
    for c in range(last - first):
        starts[c + 1] += starts[c]
    words = np.empty(starts[-1], dtype=np.int32)
    values = np.empty(starts[-1], dtype=data.dtype)
    fill = starts.copy()
    for r in range(len(rows)):
        for k in range(begins[r], ends[r]):
            c = indices[k] - first
            place = fill[c]
            fill[c] = place + 1
            words[place] = r
            values[place] = data[k]
    total = np.empty_like(A[:1])[0]
    for c in range(last - first):
        if starts[c] < starts[c + 1]:
            total[:] = 0
            _add_rows(values[starts[c] : starts[c + 1]], words[starts[c] : starts[c + 1]], A, total)
            for m in range(len(total)):
                out[first + c, m] += total[m]


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
            left = (w0 * widened(b0[m]) + w1 * widened(b1[m])) + (w2 * widened(b2[m]) + w3 * widened(b3[m]))
            right = (w4 * widened(b4[m]) + w5 * widened(b5[m])) + (w6 * widened(b6[m]) + w7 * widened(b7[m]))
            out[m] += left + right
    for k in range(n, len(weights)):
        w, b = weights[k], B[chosen[k]]
        for m in range(M):
            out[m] += w * widened(b[m])


@kernel
def copy_entries(
    data: Array, indices: Index, begins: Index, ends: Index, places: Index, out_data: Array, out_indices: Index
) -> None:
    """Copy ranges of entries to places of other arrays."""
    for r in range(len(begins)):
        place = places[r] - begins[r]
        for k in range(begins[r], ends[r]):
            out_data[place + k] = data[k]
            out_indices[place + k] = indices[k]


@kernel
def fill_random(key: np.uint64, first: int, nonnegative: bool, out: Array) -> Array:
    """Write random whole numbers into rows of a matrix, ``first`` and on; return their squares by column, (M,), int64.

    See ``arrays.py``, where the same is written for tensors.
    """
    n_rows, M = out.shape
    sums = np.zeros(M, dtype=np.int64)
    for r in range(n_rows):
        for m in range(M):
            z = key + np.uint64((first + r) * M + m) * np.uint64(0x9E3779B97F4A7C15)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z = z ^ (z >> np.uint64(31))
            low, part = np.uint64(0xFFFF), np.uint64(16)
            four = (z & low) + ((z >> part) & low) + ((z >> (part + part)) & low) + (z >> (part + part + part))
            value = np.int64(four) - np.int64(0x1FFFE)
            value = abs(value) if nonnegative else value
            sums[m] += value * value
            out[r, m] = value
    return sums


@kernel
def move_atoms(AA: Array, products: Array) -> Array:
    """Return how each new atom of a block is made of R and of the old atoms, a row each, (B, 2 B), all float64.

    One atom after the other moves to its minimiser and back into the unit ball; ``products`` (2 B, 2 B) are the inner
    products of R and the old atoms, AA (B, B) belongs to the block.
    """
    B = len(AA)
    new, change = np.zeros((B, 2 * B)), np.zeros((B, 2 * B))
    for b in range(B):
        new[b, B + b] = 1
        if AA[b, b] <= 0:
            continue
        u = np.zeros(2 * B)
        u[b] = 1
        for j in range(b):
            for i in range(2 * B):
                u[i] -= change[j, i] * AA[j, b]
        for i in range(2 * B):
            u[i] = new[b, i] + u[i] / AA[b, b]
        square = 0.0
        for i in range(2 * B):
            part = 0.0
            for j in range(2 * B):
                part += products[i, j] * u[j]
            square += u[i] * part
        length = max(1.0, np.sqrt(max(square, 0.0)))
        for i in range(2 * B):
            moved = u[i] / length
            change[b, i], new[b, i] = moved - new[b, i], moved
    return new


@kernel
def weighted_times(
    starts: Index, indices: Index, weights: Array, data: Array, rows: Index, F: Array, out: Array
) -> None:
    """Write ``sum_c w_c x_c f_c`` for every row into ``out``, shape (b, M); F may have numbers of 16 bits."""
    for r in range(len(rows)):
        out[r] = 0
        first, last = starts[rows[r]], starts[rows[r] + 1]
        _add_rows(weights[first:last] * data[first:last], indices[first:last], F, out[r])


@kernel
def sampled_times(
    starts: Index, indices: Index, weights: Array, zeros: float, rows: Index, F: Array, A: Array, out: Array
) -> None:
    """Write ``sum_c (w_c - W) (f_c . a_r) f_c`` for every row into ``out``, shape (b, M); each f_c is read once.

    F may have numbers of 16 bits.
    """
    M = F.shape[1]
    zero, W = A.dtype.type(0), A.dtype.type(zeros)
    for r in range(len(rows)):
        a, total = A[r], out[r]
        total[:] = 0
        first, last = starts[rows[r]], starts[rows[r] + 1]
        own, excess = indices[first:last], weights[first:last] - W
        whole = len(own) - len(own) % 4
        for k in range(0, whole, 4):
            f0, f1, f2, f3 = F[own[k]], F[own[k + 1]], F[own[k + 2]], F[own[k + 3]]
            p0 = p1 = p2 = p3 = zero
            for m in range(M):
                p0 += widened(f0[m]) * a[m]
                p1 += widened(f1[m]) * a[m]
                p2 += widened(f2[m]) * a[m]
                p3 += widened(f3[m]) * a[m]
            p0, p1, p2, p3 = p0 * excess[k], p1 * excess[k + 1], p2 * excess[k + 2], p3 * excess[k + 3]
            for m in range(M):
                left, right = p0 * widened(f0[m]) + p1 * widened(f1[m]), p2 * widened(f2[m]) + p3 * widened(f3[m])
                total[m] += left + right
        for k in range(whole, len(own)):
            f0, p0 = F[own[k]], zero
            for m in range(M):
                p0 += widened(f0[m]) * a[m]
            p0 *= excess[k]
            for m in range(M):
                total[m] += p0 * widened(f0[m])


@kernel
def row_grams(starts: Index, indices: Index, weights: Array, zeros: float, rows: Index, F: Array, out: Array) -> None:
    """Add ``sum_c (w_c - W) f_c f_c'`` of every row to ``out``, shape (b, M, M), eight pairs at a time.

    The part right of the diagonal is summed, from a whole vector register on, and then copied to the left.
    """
    M, W = F.shape[1], F.dtype.type(zeros)
    for r in range(len(rows)):
        H = out[r]
        first, last = starts[rows[r]], starts[rows[r] + 1]
        own, excess = indices[first:last], weights[first:last] - W
        whole = len(own) - len(own) % 8
        for k in range(0, whole, 8):
            f0, f1, f2, f3 = F[own[k]], F[own[k + 1]], F[own[k + 2]], F[own[k + 3]]
            f4, f5, f6, f7 = F[own[k + 4]], F[own[k + 5]], F[own[k + 6]], F[own[k + 7]]
            for i in range(M):
                e0, e1, e2, e3 = excess[k] * f0[i], excess[k + 1] * f1[i], excess[k + 2] * f2[i], excess[k + 3] * f3[i]
                e4, e5 = excess[k + 4] * f4[i], excess[k + 5] * f5[i]
                e6, e7 = excess[k + 6] * f6[i], excess[k + 7] * f7[i]
                h = H[i]
                for m in range(np.uint64(i - i % _REGISTER), np.uint64(M)):  # signed ones might count from the end
                    left = (e0 * f0[m] + e1 * f1[m]) + (e2 * f2[m] + e3 * f3[m])
                    h[m] += left + ((e4 * f4[m] + e5 * f5[m]) + (e6 * f6[m] + e7 * f7[m]))
        for k in range(whole, len(own)):
            f0 = F[own[k]]
            for i in range(M):
                e0, h = excess[k] * f0[i], H[i]
                for m in range(np.uint64(i - i % _REGISTER), np.uint64(M)):
                    h[m] += e0 * f0[m]
        for i in range(M):
            for m in range(i):
                H[i, m] = H[m, i]


@kernel
def row_energies(starts: Index, weights: Array, data: Array, out: Array) -> None:
    """Write ``sum_c w_c x_c^2`` of every row into ``out``, (n,), float64."""
    for r in range(len(out)):
        total = 0.0
        for k in range(starts[r], starts[r + 1]):
            total += np.float64(weights[k] * data[k]) * np.float64(data[k])
        out[r] = total


@kernel
def transpose(
    data: Array, weights: Array, indices: Index, starts: Index, first: int, last: int, column_starts: Index, out: Any
) -> None:
    """Write values, weights and rows of the pairs of contexts first .. last - 1, one context after the other."""
    out_data, out_weights, out_rows = out
    fill = column_starts[first:last].copy()
    for r in range(len(starts) - 1):
        for k in range(starts[r], starts[r + 1]):
            c = indices[k]
            if first <= c < last:
                place = fill[c - first]
                fill[c - first] = place + 1
                out_data[place], out_weights[place], out_rows[place] = data[k], weights[k], r


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


@kernel
def descend(XD: Array, DD: Array, half: float, tol: float, rounding: float, most: int, A: Array) -> int:
    """Lower ``a'DD a - 2 XD a + 2 half sum(a)`` over rows a >= 0 of A (b, M), coordinate by coordinate, in place.

    Return the most rounds a row took: a sweep over all coordinates, then sweeps over those that are on. ``rounding`` is
    the share of a code's largest value by which no move can be told from none.
    """
    n, M = XD.shape
    slope = np.empty(M, dtype=XD.dtype)
    every, on = np.arange(M), np.empty(M, dtype=np.int64)
    longest = 0
    for v in range(n):
        a = A[v]
        _set_slope(XD[v], DD, half, a, slope)
        rounds = 0
        while rounds < most:
            rounds += 1
            floor = max(tol, rounding * _largest(a))
            if _sweep(a, slope, DD, every, False) <= floor:
                break
            n_on = _places_on(a, on)
            for _ in range(_ON_SWEEPS):
                if _sweep(a, slope, DD, on[:n_on], True) <= floor:
                    break
            else:  # where atoms are much alike, sweeps creep
                while _jump(a, slope, DD, on):
                    _set_slope(XD[v], DD, half, a, slope)
                _set_slope(XD[v], DD, half, a, slope)
        longest = max(longest, rounds)
    return longest


@kernel
def _largest(a: Array) -> float:
    """Return the largest of values >= 0; ``a.max()`` takes ten times as long to compile."""
    largest: float = a.dtype.type(0)
    for k in range(len(a)):
        largest = max(largest, a[k])
    return largest


@kernel
def _places_on(a: Array, on: Array) -> int:
    """Write which coordinates are on to the start of ``on``; return how many there are."""
    n = 0
    for k in range(len(a)):
        if a[k] != 0:
            on[n] = k
            n += 1
    return n


@kernel
def _sweep(a: Array, slope: Array, DD: Array, places: Array, only_on: bool) -> float:
    """Move some coordinates to where each is best, or those of them that are on; return the largest move in atoms."""
    largest = 0.0
    for k in places:
        if (only_on and a[k] == 0) or DD[k, k] <= 0:
            continue
        new = max(a[k] + slope[k] / DD[k, k], a.dtype.type(0))
        moved = new - a[k]
        if moved != 0:
            a[k] = new
            _move_slope(slope, DD[k], moved)
            largest = max(largest, abs(moved) * np.sqrt(DD[k, k]))
    return largest


@kernel
def _jump(a: Array, slope: Array, DD: Array, on: Array) -> bool:
    """Move the coordinates that are on to their common minimum, or until one gets zero; say whether one did.

    ``on`` (M,) is room for their places.
    """
    n = _places_on(a, on)
    products, target = np.empty((n, n)), np.empty(n)
    for i in range(n):
        for j in range(n):
            products[i, j] = DD[on[i], on[j]]
        products[i, i] *= 1 + _RIDGE
        target[i] = slope[on[i]]
    move = np.linalg.solve(products, target)
    share, first = 1.0, -1
    for i in range(n):
        if move[i] < 0 and -a[on[i]] / move[i] < share:
            share, first = -a[on[i]] / move[i], i
    for i in range(n):
        new = a[on[i]] + share * move[i]
        a[on[i]] = new if new > 0 and i != first else 0
    return first >= 0


@kernel
def _set_slope(XD: Array, DD: Array, half: float, a: Array, slope: Array) -> None:
    for i in range(len(slope)):
        slope[i] = XD[i] - slope.dtype.type(half)
    for k in range(len(a)):
        if a[k] != 0:
            _move_slope(slope, DD[k], a[k])


@kernel
def _move_slope(slope: Array, column: Array, moved: float) -> None:
    for i in range(len(slope)):
        slope[i] -= moved * column[i]
