"""Codes for a fixed dictionary: ``min_a |x - D a|^2 + lam Omega(a)`` for each word, through XD and DD alone.

The gradient of the loss, zeros of X included, is ``2 (A DD - XD)`` with ``XD = X @ D`` and ``DD = D'D``. Solvers are
written once, for NumPy arrays and PyTorch tensors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from wordforest.coder import kernels
from wordforest.coder.kernels import namespace
from wordforest.coder.penalties import Penalty
from wordforest.execution import Executor, Threads, one_blas_thread

Array = Any  # a NumPy array or a PyTorch tensor

EXACT_TOL = 1e-5  # what "converged" means for float32 codes
EXACT_ITER = 500
_BLOCK_VALUES = 1 << 17  # numbers in a block of codes: half a megabyte in float32
_RELAX = 1.7  # over-relaxation of ADMM; 1 is none, below 2 converges
_FLATTEST = 1e-4  # eigenvalues of DD below this share of the largest do not lower rho further


@dataclass(frozen=True, eq=False)
class Codes:
    """Codes A (b, M), iterations done, and whether the stopping rule was met for every word."""

    A: Array
    n_iter: int
    converged: bool


@dataclass(frozen=True, eq=False)
class Gram:
    """``DD = D'D`` (M, M) and what solvers derive from it once per dictionary."""

    DD: Array

    @cached_property
    def _wide(self) -> Array:
        return self.DD.astype("float64") if hasattr(self.DD, "astype") else self.DD.double()

    @cached_property
    def _eigenvalues(self) -> Array:
        return namespace(self.DD).linalg.eigvalsh(self._wide)

    @cached_property
    def lipschitz(self) -> float:
        """Largest curvature of the loss, twice the largest eigenvalue of DD; 1 for a dictionary of zeros."""
        return 2 * float(self._eigenvalues[-1]) or 1.0

    @cached_property
    def rho(self) -> float:
        """Parameter of ADMM: the geometric mean of the extreme curvatures, best for a quadratic loss."""
        flattest = max(2 * float(self._eigenvalues[0]), _FLATTEST * self.lipschitz)
        return float((flattest * self.lipschitz) ** 0.5)

    @cached_property
    def inverse(self) -> Array:
        """``(2 DD + rho I)^-1``, shape (M, M), in the type of DD: the one factorisation per dictionary."""
        shifted = 2 * self._wide
        diagonal = range(len(shifted))
        shifted[diagonal, diagonal] += self.rho
        inverse = namespace(self.DD).linalg.inv(shifted)
        return inverse.astype(self.DD.dtype) if hasattr(inverse, "astype") else inverse.to(self.DD.dtype)


class Solver(Protocol):
    """Codes words: XD (b, M) and the Gram matrix of the dictionary in, Codes out."""

    def __call__(
        self,
        XD: Array,
        gram: Gram,
        penalty: Penalty,
        *,
        start: Array | None = None,
        tol: float,
        max_iter: int,
    ) -> Codes:
        """Return codes A (b, M)."""
        ...


def fista(
    XD: Array,
    gram: Gram,
    penalty: Penalty,
    *,
    start: Array | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> Codes:
    """Accelerated proximal gradient (Beck and Teboulle 2009), restarted word by word when it overshoots.

    Stops when the last step of every word is at most ``tol`` times the length of its code.
    """
    xp = namespace(XD)
    step = 1 / gram.lipschitz
    A = xp.zeros_like(XD) if start is None else start
    Y = A  # (b, M), where the gradient is taken
    t = xp.ones_like(XD[:, :1])  # (b, 1), momentum of each word
    for n in range(1, max_iter + 1):
        new = penalty.prox(Y - 2 * step * (Y @ gram.DD - XD), step)
        if _settled(new, Y, tol):
            return Codes(new, n, True)
        change = new - A
        overshot = ((Y - new) * change).sum(1)[:, None] > 0  # O'Donoghue and Candes (2015)
        t = xp.where(overshot, 1.0, t)
        t_next = (1 + xp.sqrt(1 + 4 * t * t)) / 2
        Y = new + (t - 1) / t_next * change
        A, t = new, t_next
    return Codes(A, max_iter, False)


def admm(
    XD: Array,
    gram: Gram,
    penalty: Penalty,
    *,
    start: Array | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> Codes:
    """Alternating directions (Boyd et al. 2011), over-relaxed, with one inverse per dictionary.

    ``A`` minimises the loss plus ``rho/2 |A - Z + U|^2``, ``Z`` is the prox and has the exact zeros, ``U`` is the
    scaled dual. A warm start sets U to what it is at the solution, the scaled gradient of the loss. Stops when both
    ``Z`` and the gap between A and Z move by at most ``tol`` times the length of every word's code.
    """
    xp = namespace(XD)
    Z = xp.zeros_like(XD) if start is None else start
    U = xp.zeros_like(XD) if start is None else (2 / gram.rho) * (XD - Z @ gram.DD)  # (b, M)
    base = 2 * XD
    for n in range(1, max_iter + 1):
        A = (base + gram.rho * (Z - U)) @ gram.inverse
        target = _RELAX * A + (1 - _RELAX) * Z + U
        new = penalty.prox(target, 1 / gram.rho)
        U = target - new
        done = _settled(new, Z, tol) and _settled(new, A, tol)
        Z = new
        if done:
            return Codes(Z, n, True)
    return Codes(Z, max_iter, False)


def encode(
    X: Any,
    D: Array,
    penalty: Penalty,
    *,
    solver: Solver = admm,
    tol: float = EXACT_TOL,
    max_iter: int = EXACT_ITER,
    executor: Executor | None = None,
) -> Codes:
    """Code all rows of X (V, C), CSR or dense, with the dictionary D (C, M), in blocks that stay in cache."""
    with one_blas_thread():
        gram = Gram(D.T @ D)
        A = np.zeros((X.shape[0], D.shape[1]), dtype=D.dtype)

        def code(rows: Array) -> Codes:
            return solver(kernels.times_dictionary(X, rows, D), gram, penalty, tol=tol, max_iter=max_iter)

        blocks = split_blocks(np.arange(len(A)), D.shape[1])
        n_iter, converged = 0, True
        for rows, codes in zip(blocks, (executor or Threads()).map(code, blocks), strict=True):
            A[rows] = codes.A
            n_iter, converged = max(n_iter, codes.n_iter), converged and codes.converged
    return Codes(A, n_iter, converged)


def split_blocks(rows: Array, n_components: int) -> list[Array]:
    """Cut rows into blocks whose codes stay in a core's cache. The cut does not depend on the workers."""
    size = max(32, _BLOCK_VALUES // n_components)
    return [rows[i : i + size] for i in range(0, len(rows), size)]


def word_objectives(A: Array, XD: Array, gram: Gram, penalty: Penalty) -> Array:
    """``|x - D a|^2 - |x|^2 + lam Omega(a)`` of every word, shape (b,), float64."""
    loss = (A * (A @ gram.DD - 2 * XD)).sum(1)
    return loss + penalty.per_word(A)


def _settled(new: Array, old: Array, tol: float) -> bool:
    """Say whether no row moved by more than ``tol`` times its length; never if tol is 0."""
    if tol == 0:
        return False
    change = new - old
    return bool(((change * change).sum(1) <= tol * tol * (new * new).sum(1)).all())
