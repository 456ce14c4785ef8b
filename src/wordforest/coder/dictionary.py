"""The dictionary for fixed codes, from the statistics AA and XA alone: block coordinate descent over its atoms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wordforest.execution import Executor, Threads

Array = Any  # a NumPy array or a PyTorch tensor

_ATOMS = 32  # atoms that move on the strength of one matrix product
_CONTEXTS = 4096  # contexts in a slice: what a worker takes at a time


@dataclass(frozen=True, eq=False)
class CodeStats:
    """All that the dictionary needs of data and codes: ``AA = A'A`` (M, M) and ``XA = X'A`` (C, M). Parts add."""

    AA: Array
    XA: Array

    def __add__(self, other: CodeStats) -> CodeStats:
        return CodeStats(self.AA + other.AA, self.XA + other.XA)


def update_dictionary(D: Array, stats: CodeStats, *, sweeps: int = 1, executor: Executor | None = None) -> Array:
    """Lower ``|X - A D'|^2`` over dictionaries with columns in the unit ball, shape (C, M), for fixed codes.

    Each sweep moves one atom after the other to its minimiser (Mairal et al. 2010, Algorithm 2; the definition is
    ``kernels/plain.py``). An atom that no word uses stays as it is.

    Atoms move in blocks of B, all by matrix products. What the atoms of a block become is a combination of their old
    values and of ``R = XA - D AA``; the coefficients need only the inner products of these 2 B columns. Contexts are
    cut into slices that workers take in turn; sums over slices run in their order.
    """
    executor = executor or Threads(1)
    D = D + 0
    AA = np.asarray(stats.AA if isinstance(stats.AA, np.ndarray) else stats.AA.cpu(), dtype=np.float64)
    slices = [slice(i, i + _CONTEXTS) for i in range(0, len(D), _CONTEXTS)]
    for first in list(range(0, D.shape[1], _ATOMS)) * sweeps:
        atoms = slice(first, first + _ATOMS)
        weights = _like(AA[:, atoms], D)  # (M, B)
        parts: list[Array] = [None] * len(slices)

        def residual(i: int, atoms: slice = atoms, weights: Array = weights, parts: list[Array] = parts) -> Array:
            part = D[slices[i]]
            R = stats.XA[slices[i], atoms] - part @ weights  # (contexts, B)
            parts[i] = _beside(R, part[:, atoms])  # (contexts, 2 B)
            return parts[i].T @ parts[i]

        products = sum(_wide(product) for product in executor.map(residual, range(len(slices))))
        combine = _like(_moves(AA[atoms, atoms], products), D)  # (2 B, B)

        def move(i: int, atoms: slice = atoms, combine: Array = combine, parts: list[Array] = parts) -> None:
            D[slices[i], atoms] = parts[i] @ combine

        for _ in executor.map(move, range(len(slices))):
            pass
    return D


def _moves(AA: Array, products: Array) -> Array:
    """Return how each new atom is made of R and the old atoms, shape (2 B, B).

    ``products`` (2 B, 2 B) are the inner products of ``[R, D]``; AA (B, B) belongs to the block.
    """
    B = len(AA)
    new = np.zeros((2 * B, B))
    change = np.zeros((2 * B, B))
    for b in range(B):
        old = np.zeros(2 * B)
        old[B + b] = 1
        new[:, b] = old
        if AA[b, b] <= 0:
            continue
        step = -change[:, :b] @ AA[:b, b]
        step[b] += 1
        u = old + step / AA[b, b]
        new[:, b] = u / max(1.0, float(np.sqrt(max(u @ products @ u, 0.0))))
        change[:, b] = new[:, b] - old
    return new


def _beside(left: Array, right: Array) -> Array:
    if isinstance(left, np.ndarray):
        return np.concatenate((left, right), axis=1)
    import torch

    return torch.cat((left, right), dim=1)


def _wide(array: Array) -> Array:
    return array.astype(np.float64) if isinstance(array, np.ndarray) else array.double().cpu().numpy()


def _like(array: Array, like: Array) -> Array:
    if isinstance(like, np.ndarray):
        return array.astype(like.dtype)
    import torch

    return torch.as_tensor(array, dtype=like.dtype, device=like.device)
