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
from wordforest.coder.certificate import duality_gaps
from wordforest.coder.kernels import Precision, namespace
from wordforest.coder.objective import row_squares
from wordforest.coder.penalties import Penalty
from wordforest.coder.shards import row_sizes, shard_rows
from wordforest.errors import InputError
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.gpu import by_halves, memory_told
from wordforest.runtime.memory import check_room
from wordforest.runtime.threads import Executor, Threads, one_blas_thread

Array = Any  # a NumPy array or a PyTorch tensor

EXACT_TOL = {4: 1e-6, 8: 1e-9}  # relative duality gap that "exact" means, by the bytes of a number
EXACT_ITER = 1000
_ROUND = 12  # iterations before the gaps are looked at first; then after half as many as were done
BLOCK_VALUES = 1 << 17  # numbers in a block of codes: half a megabyte in float32
DEVICE_VALUES = 1 << 27  # on a device, that it has enough to do: half a gigabyte in float32
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
    """``DD = D'D`` (M, M) and what solvers derive from it once per dictionary.

    ``precision`` is that of the products with whole blocks of codes, which solvers repeat; all else is exact.
    """

    DD: Array
    precision: Precision = "float32"

    @property
    def exact(self) -> Gram:
        """The same with products of the full precision."""
        return self if self.precision == "float32" else Gram(self.DD)

    def times(self, A: Array) -> Array:
        """Return ``A DD``, (b, M)."""
        return kernels.product(A, self.DD, self.precision)

    def solve(self, B: Array) -> Array:
        """Return ``B (2 DD + rho I)^-1``, (b, M)."""
        return kernels.product(B, self.inverse, self.precision)

    @cached_property
    def _wide(self) -> Array:
        return _double(self.DD)

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
        new = penalty.prox(Y - 2 * step * (gram.times(Y) - XD), step)
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
    U = xp.zeros_like(XD) if start is None else (2 / gram.rho) * (XD - gram.times(Z))  # (b, M)
    base = 2 * XD
    for n in range(1, max_iter + 1):
        A = gram.solve(base + gram.rho * (Z - U))
        target = _RELAX * A + (1 - _RELAX) * Z + U
        new = penalty.prox(target, 1 / gram.rho)
        U = target - new
        done = _settled(new, Z, tol) and _settled(new, A, tol)
        Z = new
        if done:
            return Codes(Z, n, True)
    return Codes(Z, max_iter, False)


def solve_exactly(
    XD: Array, squares: Array, gram: Gram, penalty: Penalty, *, solver: Solver = admm, start: Array | None = None,
    tol: float | None = None, max_iter: int = EXACT_ITER,
) -> Codes:  # fmt: skip
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
        gaps[left] = _double(found)
        left = gaps > tol * squares
        n_iter += size + 1
        size = n_iter // 2
        if XD.dtype.itemsize == 4 and n_iter > _SINGLE_ITER and bool(left.any()):  # as good as float32 gets
            wide = [_double(part[left]) for part in (XD, squares, A)]
            codes = solve_exactly(
                wide[0],
                wide[1],
                Gram(_double(gram.DD)),
                penalty,
                solver=solver,
                start=wide[2],
                tol=tol,
                max_iter=max_iter,
            )
            A[left], gaps[left] = _single(codes.A), codes.gap * squares[left]
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


def encode(
    X: Any,
    D: Array,
    penalty: Penalty,
    *,
    solver: Solver = admm,
    tol: float | None = None,
    max_iter: int = EXACT_ITER,
    executor: Executor | None = None,
) -> Codes:
    """Code all rows of X (V, C), CSR or dense, with the dictionary D (C, M), in blocks that stay in cache.

    Every row is solved to a duality gap of ``tol * |x|^2`` (default 1e-6 in float32, 1e-9 in float64); the worst is
    returned. Where X is a tensor or ``DeviceRows``, the codes are tensors there.
    """
    X = as_rows(X)
    V, M = X.shape[0], D.shape[1]
    check_room(f"codes of {M:,} numbers for {V:,} rows", float(X.dtype.itemsize) * M * V + 24.0 * M * M)
    if isinstance(executor, Cluster) and V:
        from wordforest.coder.sharded import encode_held, how_to_code

        return encode_held(X, how_to_code(D, penalty, executor, solver=solver, tol=tol, max_iter=max_iter), executor)
    squares = finite_squares(X)
    on_host = isinstance(squares, np.ndarray)
    D = D if on_host else kernels.placed(D, squares).to(X.dtype)
    with one_blas_thread(), memory_told(f"codes of {M} components", "Use fewer components, or the device cpu."):
        gram = Gram(D.T @ D)
        A = kernels.zeros((V, M), D)

        @by_halves(lambda left, right: (max(left[0], right[0]), left[1] and right[1], max(left[2], right[2])))
        def code(rows: Array) -> tuple[int, bool, float]:
            XD = kernels.times_dictionary(X, rows, D)
            codes = solve_exactly(XD, squares[rows], gram, penalty, solver=solver, tol=tol, max_iter=max_iter)
            A[rows] = codes.A
            return codes.n_iter, codes.converged, codes.gap

        rows = kernels.placed(np.arange(V), squares)
        shards = shard_rows(row_sizes(X), M) if on_host else [(0, V)]
        size = BLOCK_VALUES if on_host else DEVICE_VALUES
        blocks = [block for shard in shards for block in split_blocks(rows[slice(*shard)], M, size)]
        executor = (executor or Threads()) if on_host else Threads(1)
        return joined(A, list(executor.map(code, blocks)))


def joined(A: Array, parts: list[tuple[int, bool, float]]) -> Codes:
    """Return codes with the iterations, exactness and gap of all blocks, after checking that they are finite."""
    if not parts:
        return Codes(A, 0, True, 0.0)
    n_iter, converged, gaps = zip(*parts, strict=True)
    if not np.isfinite(gaps).all():
        raise InputError("the codes are not finite: the values of X are too large. Scale the data, or use float64.")
    return Codes(A, max(n_iter), all(converged), max(gaps))


def check_learning_fits(n_words: int, n_contexts: int, n_components: int) -> None:
    """Refuse sizes whose codes, dictionary and statistics do not fit into the memory of this machine."""
    V, C, M = n_words, n_contexts, n_components
    check_room(f"a dictionary of {M:,} atoms for {V:,} words and {C:,} contexts", 4.0 * M * (V + 3 * C) + 24.0 * M * M)


def finite_squares(X: Any) -> Array:
    """Return ``|x_v|^2`` of every row, (V,), after checking that all are numbers to compute with."""
    squares = row_squares(X)
    bad = np.flatnonzero(~np.isfinite(kernels.on_host(squares)))
    if len(bad):
        raise InputError(
            f"row {bad[0]} of X holds NaN, infinity or values too large to square. Mend or scale the data."
        )
    return squares


def as_rows(X: Any) -> Any:
    """Return X as the kernels want it: floats, dense, or CSR with sorted columns and no position stored twice."""
    if hasattr(X, "squares") or namespace_is_torch(X):  # rows on a device or a cluster
        return X
    if hasattr(X, "tocsr"):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InputError(
            f"X is {X.dtype} of shape {X.shape}, but a matrix of numbers is needed, a row a word. Convert it."
        )
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def namespace_is_torch(X: Any) -> bool:
    """Whether this is a PyTorch tensor, told without importing PyTorch."""
    return type(X).__module__.partition(".")[0] == "torch"


def split_blocks(rows: Array, n_components: int, values: int = BLOCK_VALUES) -> list[Array]:
    """Deal rows out to blocks of so many values of codes, which stay in a core's cache. Never by the workers.

    Dealt like cards, since rows in order of frequency have ever fewer entries.
    """
    n_blocks = -(-len(rows) * n_components // values)
    return [rows[i::n_blocks] for i in range(n_blocks)]


def word_objectives(A: Array, XD: Array, gram: Gram, penalty: Penalty) -> Array:
    """``|x - D a|^2 - |x|^2 + lam Omega(a)`` of every word, shape (b,), float64."""
    loss = (A * (A @ gram.DD - 2 * XD)).sum(1)
    return loss + penalty.per_word(A)


def _double(array: Array) -> Array:
    return array.astype("float64") if isinstance(array, np.ndarray) else array.double()


def _single(array: Array) -> Array:
    return array.astype("float32") if isinstance(array, np.ndarray) else array.float()


def _settled(new: Array, old: Array, tol: float) -> bool:
    """Say whether no row moved by more than ``tol`` times its length; never if tol is 0."""
    if tol == 0:
        return False
    change = new - old
    return bool(((change * change).sum(1) <= tol * tol * (new * new).sum(1)).all())
