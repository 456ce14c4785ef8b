"""Matrices of vectors that nobody writes to: float32, as an ndarray or as CSR without stored zeros."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.errors import InputError

Dense: TypeAlias = NDArray[np.float32]
CSR: TypeAlias = "sparse.csr_array[np.float32, tuple[int, int]]"


def protected(matrix: Any) -> Dense | CSR:
    """Return a matrix that cannot be written to, without touching the caller's; shared if it is protected already."""
    return _protected_csr(matrix) if sparse.issparse(matrix) else _protected_dense(matrix)


def _protected_dense(matrix: Any) -> Dense:
    given = np.asarray(matrix)
    if given.ndim != 2:
        raise InputError(f"expected a matrix (words, dimensions), but an array of shape {given.shape} came.")
    with np.errstate(over="ignore"):  # too large for float32: reported with its word
        return frozen(given.astype(np.float32, copy=_is_writable(given)))


def _protected_csr(matrix: Any) -> CSR:
    with np.errstate(over="ignore"):
        csr: CSR = sparse.csr_array(matrix, dtype=np.float32)
    if csr.ndim != 2:
        raise InputError(f"expected a matrix (words, dimensions), but one of shape {csr.shape} came.")
    parts = (csr.data, csr.indices, csr.indptr)
    if any(map(_is_writable, parts)) or not csr.has_canonical_format or not csr.data.all():
        csr = csr.copy()
        csr.sum_duplicates()
        csr.eliminate_zeros()
    for part in (csr.data, csr.indices, csr.indptr):
        part.setflags(write=False)
    return csr


def _is_writable(array: NDArray[Any]) -> bool:
    base: object = array
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return True
        base = base.base
    return False


def dense_row(matrix: Dense | CSR, row: int) -> Dense:
    """Return a row as a read-only array, shape (M,)."""
    if isinstance(matrix, np.ndarray):
        view: Dense = matrix[row]
        return view
    vector = np.zeros(matrix.shape[1], np.float32)
    stored = slice(matrix.indptr[row], matrix.indptr[row + 1])
    vector[matrix.indices[stored]] = matrix.data[stored]
    return frozen(vector)


def dense_rows(matrix: Dense | CSR, rows: list[int]) -> Dense:
    """Return some rows as a read-only array, shape (n, M)."""
    chosen = matrix[np.asarray(rows, dtype=np.intp)]
    return frozen(chosen if isinstance(chosen, np.ndarray) else chosen.toarray())


def frozen(array: Dense) -> Dense:
    """Protect an array from writing."""
    array.setflags(write=False)
    return array


def first_non_finite_row(matrix: Any) -> int | None:
    """Return the first row of an ndarray or CSR matrix that holds NaN or infinity, or None."""
    if isinstance(matrix, np.ndarray):
        bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
        return int(bad[0]) if len(bad) else None
    entries = np.flatnonzero(~np.isfinite(matrix.data))
    return int(np.searchsorted(matrix.indptr, entries[0], side="right")) - 1 if len(entries) else None
