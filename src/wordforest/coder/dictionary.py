"""The dictionary for fixed codes, from the statistics AA and XA alone: block coordinate descent over its atoms."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordforest.coder import kernels
from wordforest.coder.kernels import arrays, namespace
from wordforest.runtime.machine import Executor, Threads

Array = Any  # a NumPy array or a PyTorch tensor

_ATOMS = 64  # atoms that move on the strength of one matrix product
_CONTEXTS = 4096  # contexts in a slice: what a worker takes at a time
_RANDOM_VALUES = 1 << 24  # random numbers made at a time on a GPU
_CONTEXTS_BY_ATOM = 16384  # more of them where every atom is a task of its own


@dataclass(frozen=True, eq=False)
class CodeStats:
    """All that the dictionary needs of data and codes: ``AA = A'A`` (M, M) and ``XA = X'A`` (C, M). Parts add."""

    AA: Array
    XA: Array

    def __add__(self, other: CodeStats) -> CodeStats:
        return CodeStats(self.AA + other.AA, self.XA + other.XA)


def update_dictionary(D: Array, stats: CodeStats, DD: Array, *, executor: Executor | None = None) -> Array:
    """Lower ``|X - A D'|^2`` over dictionaries with columns in the unit ball, shape (C, M), for fixed codes.

    One atom after the other moves to its minimiser (Mairal et al. 2010, Algorithm 2). An atom that no word uses stays
    as it is. ``DD`` is ``D'D`` (M, M), known to callers anyway.

    Atoms move in blocks of B, all by matrix products. What the atoms of a block become is a combination of their old
    values and of ``R = XA - D AA``; the coefficients need only the inner products of these 2 B columns. Contexts are
    cut into slices that workers take in turn; sums over slices run in their order.
    """
    executor = executor or Threads(1)
    D = D + 0
    AA, DD = kernels.wide(stats.AA), kernels.wide(DD)
    slices = kernels.slices(len(D), _CONTEXTS, D)
    for first in range(0, D.shape[1], _ATOMS):
        atoms = slice(first, first + _ATOMS)
        weights = kernels.as_type(AA[:, atoms], D)  # (M, B)
        residuals: list[Array] = [None] * len(slices)

        def measure(i: int, atoms: slice = atoms, weights: Array = weights, out: list[Array] = residuals) -> Any:
            part = D[slices[i]]
            out[i] = stats.XA[slices[i], atoms] - part @ weights  # (contexts, B)
            return kernels.block_products(out[i], part[:, atoms])

        products = list(executor.map(measure, range(len(slices))))
        RR, RD = (sum(parts) for parts in zip(*products, strict=True))  # (B, B)
        of_R, of_D = (kernels.as_type(part, D) for part in _moves(AA[atoms, atoms], RR, RD, DD[atoms, atoms]))

        def move(
            i: int, atoms: slice = atoms, of_R: Array = of_R, of_D: Array = of_D, R: list[Array] = residuals
        ) -> None:
            D[slices[i], atoms] = kernels.combined(R[i], of_R, D[slices[i], atoms], of_D)

        list(executor.map(move, range(len(slices))))
    return D


def update_nonnegative_dictionary(
    D: Array,
    stats: CodeStats,
    DD: Array,  # noqa: ARG001 as update_dictionary
    *,
    executor: Executor | None = None,
) -> Array:
    """Lower ``|X - A D'|^2`` over dictionaries without negative values and with columns in the unit ball, (C, M).

    As ``update_dictionary``, but cutting negatives is not linear, so the atoms of a block move one by one: what the
    block has moved so far is a product of vectors. An atom's length needs all contexts; workers share the rest.
    """
    executor = executor or Threads(1)
    D, AA = D + 0, _host(stats.AA)
    slices = kernels.slices(len(D), _CONTEXTS_BY_ATOM, D)
    for first in range(0, D.shape[1], _ATOMS):
        atoms = slice(first, first + _ATOMS)
        used = np.flatnonzero(np.diag(AA)[atoms] > 0).tolist()

        def begin(rows: slice, atoms: slice = atoms) -> _Slice:
            return _Slice(D[rows], stats.XA[rows, atoms], AA, atoms)

        parts = list(executor.map(begin, slices))
        length = 1.0
        for n in range(len(used)):
            length = max(1.0, math.hypot(*executor.map(_aiming(used, n, length), parts)))
        for rows, part in zip(slices, parts, strict=True):
            if used:
                part.move(used[-1], length)
            D[rows, atoms] = part.atoms.T
    return D


def _aiming(used: list[int], n: int, length: float) -> Callable[[_Slice], float]:
    return lambda part: part.aim(used, n, length)


class _Slice:
    """A block of atoms over a slice of the contexts, a row each: their values, residuals and how far they moved."""

    def __init__(self, D: Array, XA: Array, AA: Array, atoms: slice) -> None:
        self.own = kernels.as_type(AA[atoms, atoms], D)  # (B, B)
        self.residuals = kernels.transposed(XA - D @ kernels.as_type(AA[:, atoms], D))  # (B, contexts)
        self.atoms = kernels.transposed(D[:, atoms])
        self.changes = self.atoms * 0

    def aim(self, used: list[int], n: int, length: float) -> float:
        """Find the minimiser of the n-th atom in use, once the one before it has moved; return its length."""
        if n:
            self.move(used[n - 1], length)
        b = used[n]
        u = self.atoms[b] + (self.residuals[b] - self.own[:b, b] @ self.changes[:b]) / self.own[b, b]
        self.changes[b] = u = namespace(u).clip(u, 0, None)
        largest = float(u.max())  # squares of what tiny codes ask for would overflow
        return largest * float(((u / largest) ** 2).sum()) ** 0.5 if largest > 0 else 0.0

    def move(self, b: int, length: float) -> None:
        """Move an atom to its minimiser, divided by its length if that is above one."""
        self.changes[b] /= length
        self.changes[b] -= self.atoms[b]
        self.atoms[b] += self.changes[b]


def _moves(AA: Array, RR: Array, RD: Array, DD: Array) -> tuple[Array, Array]:
    """Return how each new atom of a block is made of R and of the old atoms, two matrices (B, B), a column per atom.

    RR, RD and DD are the inner products of R and the old atoms; AA belongs to the block.
    """
    B, xp = len(AA), namespace(AA)
    products = xp.vstack((xp.hstack((RR, RD)), xp.hstack((RD.T, DD))))
    new = kernels.move_atoms(AA, products)  # (B, 2 B)
    return new[:, :B].T, new[:, B:].T


def _host(array: Array) -> Array:
    """Return an array of either library as float64 of NumPy."""
    return np.asarray(kernels.on_host(array), dtype=np.float64)


def random_columns(shape: tuple[int, int], seed: int, *, nonnegative: bool = False, like: Array | None = None) -> Array:
    """Return random directions of length one as columns, (n, M), float32, where ``like`` is; the same bits everywhere.

    A value is the sum of four uniform whole numbers of 16 bits, less its mean: near enough to a normal one that many of
    them point anywhere alike. Squares of whole numbers add up exactly, in any order.
    """
    key = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    if like is None or isinstance(like, np.ndarray):
        return _columns_here(shape, key, nonnegative)
    D = like.new_empty(shape).float()
    sums: Any = 0
    step = max(1, _RANDOM_VALUES // shape[1])
    for row in range(0, shape[0], step):
        sums = sums + arrays.fill_random(key, row, nonnegative, D[row : row + step])
    lengths = sums.double().sqrt()
    for part in D.split(step):
        part.copy_(part.double() / lengths)
    return D


def _columns_here(shape: tuple[int, int], key: int, nonnegative: bool) -> Array:
    from wordforest.coder.kernels import compiled

    D = np.empty(shape, dtype=np.float32)
    threads = Threads()
    starts = range(0, shape[0], _CONTEXTS)

    def fill(row: int) -> Any:
        return compiled.fill_random(np.uint64(key), row, nonnegative, D[row : row + _CONTEXTS])

    sums = sum(threads.map(fill, starts))
    lengths = np.sqrt(np.asarray(sums, dtype=np.float64))

    def divide(row: int) -> None:
        D[row : row + _CONTEXTS] = D[row : row + _CONTEXTS].astype(np.float64) / lengths

    list(threads.map(divide, starts))
    return D
