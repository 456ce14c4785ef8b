"""Codes for a fixed dictionary: ``min_a |x - D a|^2 + lam Omega(a)`` for each word, through XD and DD alone.

The gradient of the loss, zeros of X included, is ``2 (A DD - XD)`` with ``XD = X @ D`` and ``DD = D'D``. Solvers are
written once, for NumPy arrays and PyTorch tensors.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from wordforest.coder import kernels
from wordforest.coder.certificate import duality_gaps
from wordforest.coder.kernels import namespace
from wordforest.coder.penalties import Penalty

Array = Any  # a NumPy array or a PyTorch tensor

EXACT_TOL = {4: 1e-6, 8: 1e-9}  # relative duality gap that "exact" means, by the bytes of a number
EXACT_ITER = 1000
_ROUND = 12  # iterations before the gaps are looked at first; then after half as many as were done
_SINGLE_ITER = 150  # iterations in float32 before the last words are finished in float64
_RELAX = 1.7  # over-relaxation of ADMM; 1 is none, below 2 converges
_FLATTEST = 1e-4  # eigenvalues of DD below this share of the largest do not lower rho further


@dataclass(frozen=True, eq=False)
class Codes:
    """Codes A (b, M), iterations done, whether the stopping rule was met for every word, and the worst gap if known.

    ``gap`` bounds ``(objective - best objective) / |x|^2`` over all words.
    """

    A: Array
    n_iter: int
    converged: bool
    gap: float = float("nan")


@dataclass(frozen=True, eq=False)
class Gram:
    """``DD = D'D`` (M, M) and what solvers derive from it once per dictionary."""

    DD: Array

    def __getstate__(self) -> dict[str, Any]:
        """Travel with all that solvers need made, so that it is made once."""
        _ = self.inverse, self.curvature
        return self.__dict__

    @cached_property
    def _wide(self) -> Array:
        return kernels.wide(self.DD)

    @cached_property
    def _eigenvalues(self) -> Array:
        return namespace(self.DD).linalg.eigvalsh(self._wide)

    @cached_property
    def lipschitz(self) -> float:
        """Largest curvature of the loss, twice the largest eigenvalue of DD; 1 for a dictionary of zeros."""
        return 2 * float(self._eigenvalues[-1]) or 1.0

    @cached_property
    def curvature(self) -> float:
        """Smallest curvature of the loss, less what rounding of DD may add; 0 if the dictionary is flat somewhere."""
        noise = namespace(self.DD).finfo(self.DD.dtype).eps * len(self.DD) ** 0.5 * self.lipschitz
        return float(max(2 * float(self._eigenvalues[0]) - noise, 0.0))

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
        return kernels.as_type(namespace(self.DD).linalg.inv(shifted), self.DD)


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


def solve_exactly(
    XD: Array,
    squares: Array,
    gram: Gram,
    penalty: Penalty,
    *,
    solver: Solver = admm,
    start: Array | None = None,
    tol: float | None = None,
    max_iter: int = EXACT_ITER,
) -> Codes:
    """Code words until each is certain to be within ``tol * |x|^2`` of its best objective.

    ``squares`` holds ``|x|^2``, shape (b,). Words that are done are left alone while the others go on.
    """
    tol = EXACT_TOL[XD.dtype.itemsize] if tol is None else tol
    A = namespace(XD).zeros_like(XD) if start is None else start + 0
    gaps = squares * 1.0
    left = squares == squares  # every word, as a mask
    n_iter, size = 0, _ROUND
    while n_iter < max_iter and bool(left.any()):
        size = min(size, max_iter - n_iter)
        warm = A[left] if n_iter or start is not None else None
        codes = solver(XD[left], gram, penalty, start=warm, tol=0.0, max_iter=size).A
        A[left], found = certify(codes, XD[left], squares[left], gram, penalty)
        gaps[left] = kernels.wide(found)
        left = gaps > tol * squares
        n_iter += size + 1
        size = n_iter // 2
        if XD.dtype.itemsize == 4 and n_iter > _SINGLE_ITER and bool(left.any()):  # as good as float32 gets
            wide = [kernels.wide(part[left]) for part in (XD, squares, A)]
            codes = solve_exactly(
                wide[0],
                wide[1],
                Gram(kernels.wide(gram.DD)),
                penalty,
                solver=solver,
                start=wide[2],
                tol=tol,
                max_iter=max_iter,
            )
            A[left], gaps[left] = kernels.as_type(codes.A, A), codes.gap * squares[left]
            left = gaps > tol * squares
            break
    relative = gaps / namespace(XD).where(squares > 0, squares, 1.0)
    return Codes(A, n_iter, not bool(left.any()), float(relative.max()))


def certify(A: Array, XD: Array, squares: Array, gram: Gram, penalty: Penalty) -> tuple[Array, Array]:
    """Take one proximal step and bound how far it still is from the best objective, (b, M) and (b,).

    The step from a to b with step size s leaves the subgradient ``v = (a - b) / s - 2 DD (a - b)`` of the objective at
    b, so the objective is within ``|v|^2 / (2 curvature)`` of the best. Where the dictionary is (nearly) flat in some
    direction this says little, and the duality gap is taken.
    """
    step = 1 / gram.lipschitz
    B = penalty.prox(A - 2 * step * (A @ gram.DD - XD), step)
    if gram.curvature < _FLATTEST * gram.lipschitz:
        return B, duality_gaps(B, XD, squares, gram.DD, penalty)
    moved = A - B
    v = moved / step - 2 * (moved @ gram.DD)
    return B, (v * v).sum(1) / (2 * gram.curvature)


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
