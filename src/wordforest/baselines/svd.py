"""PCA and Hellinger PCA: truncated singular values of a sparse matrix, which is never made dense.

Subspace iteration (Halko, Martinsson and Tropp 2011): a random start of n + some columns is multiplied by X and X' in
turn, and the small matrix of what is left is solved exactly. The sparse products are the coder's kernels over blocks
that do not depend on the number of workers, so neither do the bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.coder.rows import split_blocks
from wordforest.coder.rows.host import HostRows
from wordforest.coder.rows.place import as_floats
from wordforest.errors import InputError
from wordforest.runtime.threads import Executor, on_this_machine, one_blas_thread

Array = NDArray[Any]

_CONTEXT_RANGES = 16
_SLICE = 4096  # rows of a tall matrix that a worker takes at a time
_TINY = 1e-12  # share of the largest eigenvalue below which a direction is empty


@dataclass(frozen=True)
class SvdSettings:
    """``power`` p gives words ``U S^p``; ``extra`` columns and ``iterations`` buy precision."""

    dimensions: int = 52
    power: float = 1.0
    extra: int = 32
    iterations: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("dimensions", 1), ("extra", 0), ("iterations", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise InputError(f"{name} = {getattr(self, name)}, but it must be at least {least}.")
        if not np.isfinite(self.power):
            raise InputError(f"power = {self.power}, but it must be a finite number; 1 gives U S, 0 gives U.")


@dataclass(frozen=True, eq=False)
class Svd:
    """Words ``U S^power`` (V, n), values S (n,) from large to small, contexts (C, n) with orthonormal columns."""

    words: Array
    values: Array
    contexts: Array


def pca(X: Any, settings: SvdSettings, *, executor: Executor | None = None) -> Svd:
    """Return the n largest singular values of X (V, C) and the words ``U S^power``. X is not centred."""
    return _truncated(_Products(as_floats(X), None, on_this_machine(executor, "an SVD")), settings)


def hellinger_pca(
    counts: Any, settings: SvdSettings, *, contexts: int = 10_000, executor: Executor | None = None
) -> Svd:
    """Return Hellinger PCA of window counts (V, C), Lebret and Collobert (2014): PCA of ``sqrt(p(c | v))``, centred.

    Only the ``contexts`` most frequent columns are used. A word without any of them gets the code of an empty row.
    """
    if contexts < 1:
        raise InputError(f"contexts = {contexts}, but it must be at least 1.")
    matrix = sparse.csr_array(counts)
    seen = np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel()
    kept = np.sort(np.argsort(-seen, kind="stable")[:contexts])
    matrix = matrix[:, kept].astype(np.float32)
    totals = np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()
    scale = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)
    matrix.data = np.sqrt(matrix.data * np.repeat(scale, np.diff(matrix.indptr))).astype(np.float32)
    mean = (np.asarray(matrix.sum(axis=0, dtype=np.float64)).ravel() / len(totals)).astype(np.float32)
    return _truncated(_Products(as_floats(matrix), mean, on_this_machine(executor, "an SVD")), settings)


class _Products:
    """Products with X (or with X - 1 mean'), block by block."""

    def __init__(self, X: Any, mean: Array | None, executor: Executor) -> None:
        self.X, self.mean, self.executor = X, mean, executor
        self.rows = HostRows(X, executor)
        borders = np.linspace(0, X.shape[1], _CONTEXT_RANGES + 1).astype(np.int64).tolist()
        self.ranges = [(a, b) for a, b in pairwise(borders) if a < b]

    def times(self, Q: Array) -> Array:
        """``X Q``, (C, l) -> (V, l)."""
        Y = np.empty((self.X.shape[0], Q.shape[1]), dtype=Q.dtype)
        blocks = split_blocks(np.arange(len(Y)), Q.shape[1])
        products = self.executor.map(lambda rows: self.rows.times(rows, Q), blocks)
        for rows, product in zip(blocks, products, strict=True):
            Y[rows] = product
        if self.mean is not None:
            Y -= self.mean @ Q
        return Y

    def times_transposed(self, Y: Array) -> Array:
        """``X' Y``, (V, l) -> (C, l)."""
        out = np.zeros((self.X.shape[1], Y.shape[1]), dtype=Y.dtype)
        rows = np.arange(len(Y))
        self.rows.add_by_ranges(rows, Y, out, self.ranges)
        if self.mean is not None:
            out -= np.outer(self.mean, Y.sum(axis=0, dtype=np.float64)).astype(Y.dtype)
        return out

    def gram(self, Y: Array) -> Array:
        """``Y' Y`` in float64, (l, l), summed over slices in order."""
        starts = range(0, len(Y), _SLICE)
        parts = self.executor.map(lambda i: (Y[i : i + _SLICE].T @ Y[i : i + _SLICE]).astype(np.float64), starts)
        total: Array = sum(parts, start=np.zeros((Y.shape[1], Y.shape[1])))
        return total

    def combine(self, Y: Array, W: Array) -> Array:
        """``Y W``, (rows, l) -> (rows, k)."""
        W = W.astype(Y.dtype)
        starts = range(0, len(Y), _SLICE)
        return np.concatenate(list(self.executor.map(lambda i: Y[i : i + _SLICE] @ W, starts)))


def _truncated(products: _Products, settings: SvdSettings) -> Svd:
    n, (n_words, n_contexts) = settings.dimensions, products.X.shape
    if n > min(n_words, n_contexts):
        raise InputError(
            f"{n} dimensions were asked for, but a matrix of {n_words} words and {n_contexts} contexts has at most "
            f"{min(n_words, n_contexts)}. Ask for fewer dimensions or give more text."
        )
    width = min(n + settings.extra, n_words, n_contexts)
    with one_blas_thread():
        start = np.random.default_rng(settings.seed).standard_normal((n_contexts, width))
        Q = _orthonormal(products, start.astype(products.X.dtype))
        for _ in range(settings.iterations):
            half = _orthonormal(products, products.times(Q))  # else values below 1e-3 of the largest would be lost
            Q = _orthonormal(products, products.times_transposed(half))
        Y = products.times(Q)  # (V, l) = U S W'
        values, W = _large_first(products.gram(Y))
        S, W = np.sqrt(values[:n]), _with_signs(W[:, :n], Q)
        scale = np.power(S, settings.power - 1, out=np.zeros_like(S), where=values[:n] > _TINY * values[0])
        return Svd(products.combine(Y, W * scale), S, products.combine(Q, W))


def _orthonormal(products: _Products, Y: Array) -> Array:
    """Return columns that span those of Y and are orthonormal; empty directions become zero. Twice, for precision."""
    for _ in range(2):
        values, W = _large_first(products.gram(Y))
        scale = np.zeros_like(values)
        np.divide(1.0, np.sqrt(np.maximum(values, 0)), out=scale, where=values > _TINY * values[0])
        Y = products.combine(Y, W * scale)
    return Y


def _large_first(gram: Array) -> tuple[Array, Array]:
    values, W = np.linalg.eigh(gram)
    return np.maximum(values[::-1], 0.0), W[:, ::-1]


def _with_signs(W: Array, Q: Array) -> Array:
    """Turn each direction so that its strongest context is positive: the sign of a singular vector is free."""
    contexts = Q.astype(np.float64) @ W
    strongest = contexts[np.abs(contexts).argmax(axis=0), np.arange(W.shape[1])]
    return W * np.where(strongest < 0, -1.0, 1.0)
