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
    M = D.shape[1]
    for r in range(len(rows)):
        row = out[r]
        row[:] = 0
        for k in range(indptr[rows[r]], indptr[rows[r] + 1]):
            x = data[k]
            d = D[indices[k]]
            for m in range(M):
                row[m] += x * d[m]


@kernel
def add_times_codes(
    data: Array, indices: Index, indptr: Index, rows: Index, A: Array, first: int, last: int, out: Array
) -> None:
    """Add ``X[rows].T @ A`` to the contexts first .. last - 1 of ``out``, shape (C, M); X has sorted columns.

    Every context sums over the words in their order, so the bits do not depend on where contexts are cut.
    """
    M = A.shape[1]
    for r in range(len(rows)):
        a = A[r]
        start, end = indptr[rows[r]], indptr[rows[r] + 1]
        for k in range(start + np.searchsorted(indices[start:end], first), end):
            c = indices[k]
            if c >= last:
                break
            x = data[k]
            row = out[c]
            for m in range(M):
                row[m] += x * a[m]


_ATOMS = 32  # atoms whose steps share one matrix product


def sweep(D: Array, AA: Array, XA: Array) -> Array:
    """Return D (C, M) after one pass over the atoms, ``_ATOMS`` at a time: a matrix product, then the steps."""
    atoms = np.array(D.T, order="C")  # (M, C), a row per atom
    XA = XA.T  # (M, C)
    AA = AA.astype(D.dtype)
    for first in range(0, len(atoms), _ATOMS):
        block = slice(first, first + _ATOMS)
        _step(XA[block] - AA[block] @ atoms, AA, first, atoms)
    return np.ascontiguousarray(atoms.T)


@kernel
def _step(R: Array, AA: Array, first: int, atoms: Array) -> None:
    """Move the atoms first .. first + B - 1 one after the other; ``R``, shape (B, C), holds ``XA - D AA`` of each.

    Each atom takes its step and goes back into the unit ball; what it changed is taken off the atoms after it.
    """
    B, C = R.shape
    for b in range(B):
        j = first + b
        if not AA[j, j] > 0:
            continue
        change, atom = R[b], atoms[j]
        inverse = 1 / AA[j, j]
        norm = 0.0
        for c in range(C):
            change[c] = change[c] * inverse + atom[c]
            norm += np.float64(change[c]) * np.float64(change[c])
        scale = R.dtype.type(1 / max(1.0, np.sqrt(norm)))
        for c in range(C):
            new = change[c] * scale
            change[c] = new - atom[c]
            atom[c] = new
        for later in range(b + 1, B):
            rest, weight = R[later], AA[j, first + later]
            for c in range(C):
                rest[c] -= weight * change[c]
