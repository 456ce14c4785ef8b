"""Codes for a fixed dictionary: ``min_a |x - D a|^2 + lam Omega(a)`` for each word, through XD and DD alone.

The gradient of the loss, zeros of X included, is ``2 (A DD - XD)`` with ``XD = X @ D`` and ``DD = D'D``. Solvers are
written once, for NumPy arrays and PyTorch tensors. ``code_batch`` and ``code_to_the_end`` run where the rows are
(``Rows.run``) and change what ``words`` hold of their rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np

from wordforest.coder import kernels
from wordforest.coder.certificate import duality_gaps
from wordforest.coder.kernels import namespace
from wordforest.coder.penalties import MostActive, NonNegativeL1, Penalty
from wordforest.coder.rows import Rows, Words, as_rows
from wordforest.coder.rows.base import split_rows
from wordforest.errors import InputError
from wordforest.runtime.cluster import Sized
from wordforest.runtime.machine import Executor, by_halves, check_room, gpu_memory_explained, one_blas_thread

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
    """``DD = D'D`` (M, M) of a dictionary D (C, M), and what solvers derive from it once per dictionary.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> D = np.eye(3)[:, :2]
        >>> gram = wf.coder.Gram(D.T @ D)
        >>> gram.lipschitz, gram.rho
        (2.0, 2.0)
    """

    DD: Array

    def __getstate__(self) -> dict[str, Any]:
        """Travel with all that solvers need made, so that it is made once."""
        _ = self.inverse, self.curvature
        return self.__dict__

    @cached_property
    def _wide(self) -> Array:
        return kernels.wide(self.DD)

    @cached_property
    def _extremes(self) -> tuple[float, float]:
        """The extreme eigenvalues of DD, or on tensors bounds of them."""
        return kernels.extreme_eigenvalues(self._wide, _FLATTEST)

    @cached_property
    def lipschitz(self) -> float:
        """Largest curvature of the loss, twice the largest eigenvalue of DD; 1 for a dictionary of zeros."""
        return 2 * self._extremes[1] or 1.0

    @cached_property
    def curvature(self) -> float:
        """Smallest curvature of the loss, less what rounding of DD may add; 0 if the dictionary is flat somewhere."""
        noise = namespace(self.DD).finfo(self.DD.dtype).eps * len(self.DD) ** 0.5 * self.lipschitz
        return float(max(2 * self._extremes[0] - noise, 0.0))

    @cached_property
    def rho(self) -> float:
        """Parameter of ADMM: the geometric mean of the extreme curvatures, best for a quadratic loss."""
        flattest = max(2 * self._extremes[0], _FLATTEST * self.lipschitz)
        return float((flattest * self.lipschitz) ** 0.5)

    @cached_property
    def inverse(self) -> Array:
        """``(2 DD + rho I)^-1``, shape (M, M), in the type of DD: the one factorisation per dictionary."""
        shifted = 2 * self._wide
        diagonal = range(len(shifted))
        shifted[diagonal, diagonal] += self.rho
        return kernels.as_type(kernels.inverse(shifted), self.DD)


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
    """Code words, XD (b, M), by accelerated proximal gradient (Beck and Teboulle 2009), restarted when it overshoots.

    Each word has ``min_a |x - D a|^2 + lam Omega(a)``, through ``XD = X @ D`` and ``DD = D'D`` alone; ``start`` (b, M)
    are first codes. Stops when the last step of every word is at most ``tol`` times the length of its code. What comes
    back has the codes ``A`` (b, M), ``n_iter`` and ``converged``.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> X, D = np.array([[2.0, 0.1], [0.0, 3.0]]), np.eye(2)
        >>> codes = wf.coder.fista(X @ D, wf.coder.Gram(D.T @ D), wf.coder.L1(lam=1.0))
        >>> codes.A.round(3), codes.converged
        (array([[1.5, 0. ],
               [0. , 2.5]]), True)
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
    """Code words, XD (b, M), by alternating directions (ADMM, Boyd et al. 2011).

    Over-relaxed, with one inverse per dictionary. Arguments and result are those of ``fista``. ``A`` minimises the loss
    plus ``rho/2 |A - Z + U|^2``, ``Z`` is the prox and has the exact zeros, ``U`` is the scaled dual. A warm start sets
    U to what it is at the solution, the scaled gradient of the loss. Stops when both ``Z`` and the gap between A and Z
    move by at most ``tol`` times the length of every word's code.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> X, D = np.array([[2.0, 0.1], [0.0, 3.0]]), np.eye(2)
        >>> codes = wf.coder.admm(X @ D, wf.coder.Gram(D.T @ D), wf.coder.L1(lam=1.0))
        >>> codes.A.round(3), codes.converged
        (array([[1.5, 0. ],
               [0. , 2.5]]), True)
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


def coordinate_descent(
    XD: Array,
    gram: Gram,
    penalty: Penalty,
    *,
    start: Array | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> Codes:
    """One coordinate of a code after the other, for the non-negative l1 penalty, where most are zero and stay so.

    A sweep over all coordinates, then sweeps over those that are on until they settle, ``max_iter`` times at most.
    Where these creep, a jump to the minimum of what is on (Lawson and Hanson 1974). A word is done when no coordinate
    times the length of its atom moves by more than ``tol``, or than rounding. Tensors go to ``admm``.
    """
    if not isinstance(penalty, NonNegativeL1):
        raise InputError(f"coordinate descent solves NonNegativeL1, not {type(penalty).__name__}. Use admm or fista.")
    if namespace(XD) is not np:
        return admm(XD, gram, penalty, start=start, tol=tol, max_iter=max_iter)
    from wordforest.coder.kernels import compiled

    A = np.zeros_like(XD) if start is None else np.array(start, order="C")
    rounding = float(np.finfo(XD.dtype).eps)
    n_iter = compiled.descend(np.ascontiguousarray(XD), gram.DD, penalty.lam / 2, tol, rounding, max_iter, A)
    return Codes(A, n_iter, n_iter < max_iter)


def pursuit(
    XD: Array,
    gram: Gram,
    penalty: Penalty,
    *,
    start: Array | None = None,  # noqa: ARG001 a solver's signature
    tol: float = 0.0,  # noqa: ARG001
    max_iter: int = 1,  # noqa: ARG001
) -> Codes:
    """Code words, XD (b, M), with at most so many nodes on as ``MostActive`` says (tree pursuit: La and Do 2005).

    One node after the other comes on, with all above it, and coefficients are fitted anew without shrinkage, until
    there are as many as may be or no other is worth its price. Arguments and result are those of ``fista``; ``start``,
    ``tol`` and ``max_iter`` play no part.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> X, D = np.array([[2.0, 0.1, 1.0], [0.0, 0.0, 3.0]]), np.eye(3)
        >>> bound = wf.coder.MostActive(wf.Forest([-1, 0, -1]), most=2)
        >>> wf.coder.pursuit(X @ D, wf.coder.Gram(D.T @ D), bound).A.round(3)
        array([[2., 0., 1.],
               [0., 0., 3.]])
    """
    if not isinstance(penalty, MostActive):
        raise InputError(f"pursuit solves MostActive, not {type(penalty).__name__}. Use admm or fista.")
    bound = penalty
    A = kernels.pursue(XD, gram.DD, bound.forest, bound.most, nonnegative=bound.nonnegative, price=bound.price)
    return Codes(A, 1, True)


def solver_for(penalty: Penalty) -> Solver:
    """Return the solver that is best for a penalty: ``pursuit`` for a bound on the nodes that are on, else ``admm``."""
    return pursuit if isinstance(penalty, MostActive) else admm


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

    ``squares`` holds ``|x|^2``, shape (b,). Words that are done are left alone while the others go on. Codes under a
    bound on the nodes that are on have no such certificate: their gap is NaN.
    """
    if isinstance(penalty, MostActive):
        return solver(XD, gram, penalty, start=start, tol=0.0, max_iter=max_iter)
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


_MORE = 6  # times the iterations for words that a few iterations did not help


@dataclass(frozen=True, eq=False)
class Coding(Sized):
    """All that coding needs beside the words: the dictionary, its products, the penalty, and how to solve."""

    D: Array
    gram: Gram
    penalty: Penalty
    solver: Solver = admm
    inner_iter: int = 5
    tol: float | None = None
    max_iter: int = EXACT_ITER

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Arrive: D moves out of the message into memory of its own, whose large pages make its rows quick to find."""
        self.__dict__.update(state, D=np.array(state["D"]))


class Sums(NamedTuple):
    """By how much the codes of some words changed: ``A'A`` (M, M), ``<XA, D>``, words a column, non-zeros."""

    AA: Array
    cross: float
    uses: Array
    filled: int

    def plus(self, other: Sums) -> Sums:
        """Return the sum of both."""
        return Sums(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class Solved(NamedTuple):
    """A block coded to the end: its loss, non-zeros, iterations, whether all is exact, and the worst relative gap."""

    loss: float
    filled: int
    n_iter: int
    converged: bool
    gap: float

    def and_(self, other: Solved) -> Solved:
        """Return what two halves of a block came to."""
        loss, filled = self.loss + other.loss, self.filled + other.filled
        exact = self.converged and other.converged
        return Solved(loss, filled, max(self.n_iter, other.n_iter), exact, max(self.gap, other.gap))


def code_batch(rows: Rows, words: Words, batch: Array, coding: Coding) -> tuple[Array, list[Sums]]:
    """Give a batch of words better codes; return the weighted change, (b, M), and the sums of every shard.

    ``words`` are A (V, M), penalties and losses (V,), weights (V,) if words count differently, and lengths (V,) if rows
    are divided by them before they are coded.
    """
    M = coding.D.shape[1]
    change = kernels.zeros((len(batch), M), coding.D)
    parts = split_rows(batch, rows.shards(M))
    blocks = [rows.blocks(batch[part], M) for part in parts]
    coded = rows.map(partial(_code_block, rows, words, coding), (block for own in blocks for block in own))
    sums = []
    for part, own in zip(parts, blocks, strict=True):
        total = Sums(kernels.zeros((M, M), coding.D, "float64"), 0.0, kernels.zeros((M,), coding.D, "int64"), 0)
        for i, (moved, found) in enumerate(islice(coded, len(own))):
            change[part][i :: len(own)] = moved  # blocks were dealt out like this
            total = total.plus(found)
        sums.append(total)
    return change, sums


def _together(left: tuple[Array, Sums], right: tuple[Array, Sums]) -> tuple[Array, Sums]:
    """Put the results for every second word of a block and for the others together."""
    change = kernels.zeros((len(left[0]) + len(right[0]), left[0].shape[1]), left[0])
    change[::2], change[1::2] = left[0], right[0]
    return change, left[1].plus(right[1])


@by_halves(_together)
def _code_block(rows: Rows, words: Words, coding: Coding, block: Array) -> tuple[Array, Sums]:
    """Give a block of words codes never worse than those they have.

    But those of a pursuit are taken as they come: a dictionary that fits codes of old, which no pursuit finds any more,
    serves new words less (docs/decisions.md).
    """
    A, gram, penalty = words["A"], coding.gram, coding.penalty
    XD = products(rows, words, block, coding.D)  # (b, M)

    def solve(some: Any, start: Array | None, n_iter: int) -> Array:
        return coding.solver(XD[some], gram, penalty, start=start, tol=0.0, max_iter=n_iter).A

    old = A[block]
    warm = bool(old.any())  # else the first code: twice the iterations, from the solver's own start
    new = solve(slice(None), old if warm else None, coding.inner_iter * (1 if warm else 2))
    before, after = (word_objectives(codes, XD, gram, penalty) for codes in (old, new))
    worse = ~(after <= before)
    if worse.any() and not isinstance(
        penalty, MostActive
    ):  # few iterations may not be enough to get below where a word was: more, or no change
        more = solve(worse, old[worse], coding.inner_iter * _MORE)
        better = word_objectives(more, XD[worse], gram, penalty) <= before[worse]
        new[worse] = kernels.namespace(new).where(better[:, None], more, old[worse])
        after[worse] = word_objectives(new[worse], XD[worse], gram, penalty)
    weighted_new, weighted_old = weigh(new, words, block), weigh(old, words, block)
    change = weighted_new - weighted_old
    AA, cross = weighted_new.T @ new - weighted_old.T @ old, kernels.inner(change, XD)
    uses = kernels.uses(weighted_new) - kernels.uses(weighted_old)
    filled = uses if "weights" not in words else kernels.uses(new) - kernels.uses(old)
    penalties = penalty.per_word(new)
    A[block], words["penalties"][block] = new, penalties  # last: a block that memory was too small for begins again
    words["losses"][block] = after - penalties + squares_of(rows, words, block)
    return divided(change, words, block), Sums(AA, cross, uses, int(filled.sum()))


def weigh(values: Array, words: Words, block: Array) -> Array:
    """Return values of some words, (b,) or (b, M), times the weights of these words, if they have any."""
    if "weights" not in words:
        return values
    weights = words["weights"][block]
    return values * (weights if values.ndim == 1 else weights[:, None])


def divided(values: Array, words: Words, block: Array) -> Array:
    """Return values of some words, (b, M), divided by the lengths of their rows, if rows are."""
    return values / words["lengths"][block][:, None] if "lengths" in words else values


def products(rows: Rows, words: Words, block: Array, D: Array) -> Array:
    """Return ``X[block] @ D``, shape (b, M), of rows divided by their lengths if they are."""
    return divided(rows.times(block, D), words, block)


def squares_of(rows: Rows, words: Words, block: Array) -> Array:
    """Return ``|x_v|^2`` of some words, (b,), of rows divided by their lengths if they are."""
    squares = rows.squares()[block]
    return squares / kernels.wide(words["lengths"][block]) ** 2 if "lengths" in words else squares


def code_to_the_end(rows: Rows, words: Words, batch: Array, coding: Coding) -> list[Solved]:
    """Code words until each is within the tolerance of its best objective; return what came of every block.

    ``words`` are A (V, M); if they also have penalties and losses, (V,), codes start from A, and all three are set.
    """
    M = coding.D.shape[1]
    parts = split_rows(batch, rows.shards(M))
    blocks = (block for part in parts for block in rows.blocks(batch[part], M))
    return list(rows.map(partial(_solve_block, rows, words, coding), blocks))


@by_halves(lambda left, right: left.and_(right))
def _solve_block(rows: Rows, words: Words, coding: Coding, block: Array) -> Solved:
    """Code a block of words to the end."""
    measured, squares = "losses" in words, squares_of(rows, words, block)
    XD = products(rows, words, block, coding.D)
    codes = solve_exactly(
        XD,
        squares,
        coding.gram,
        coding.penalty,
        solver=coding.solver,
        start=words["A"][block] if measured else None,
        tol=coding.tol,
        max_iter=coding.max_iter,
    )
    loss = 0.0
    if measured:
        penalties = coding.penalty.per_word(codes.A)
        losses = word_objectives(codes.A, XD, coding.gram, coding.penalty) - penalties + squares
        loss = float(weigh(losses, words, block).sum())
        words["penalties"][block] = penalties
    words["A"][block] = codes.A
    return Solved(loss, int(kernels.uses(codes.A).sum()), codes.n_iter, codes.converged, codes.gap)


def encode(
    X: Any,
    D: Array,
    penalty: Penalty,
    *,
    solver: Solver | None = None,
    tol: float | None = None,
    max_iter: int = EXACT_ITER,
    lengths: Array | None = None,
    executor: Executor | None = None,
) -> Codes:
    """Code all rows of X (V, C), a matrix or Rows, with the dictionary D (C, M), in blocks that stay in cache.

    ``min_a |x - D a|^2 + lam Omega(a)`` for every row x; ``lengths`` (V,) are numbers by which rows are divided first.
    Every row is solved to a duality gap of ``tol * |x|^2`` (default 1e-6 in float32, 1e-9 in float64); under a bound on
    the nodes that are on (``MostActive``) there is none, and ``gap`` is NaN. What comes back has the codes ``A``
    (V, M), where X is: tensors if that is a GPU; ``gap``, the worst over the rows; ``n_iter``; ``converged``.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> X, D = np.array([[2.0, 1.0, 0.0], [0.0, 0.0, 3.0]]), np.eye(3)
        >>> codes = wf.coder.encode(X, D, wf.coder.ForestL2(wf.Forest([-1, 0, -1]), lam=1.0))
        >>> codes.A.round(3), codes.converged
        (array([[1.515, 0.379, 0.   ],
               [0.   , 0.   , 2.5  ]]), True)
    """
    rows = as_rows(X, executor)
    (V, _), M = rows.shape, D.shape[1]
    check_room(f"codes of {M:,} numbers for {V:,} rows", float(rows.dtype.itemsize) * M * V + 24.0 * M * M)
    with (
        one_blas_thread(),
        gpu_memory_explained(f"codes of {M} components", "Use fewer components, or the device cpu."),
    ):
        rows.finite_squares()
        D = kernels.as_type(D, rows.like)
        coding = Coding(D, Gram(D.T @ D), penalty, solver or solver_for(penalty), tol=tol, max_iter=max_iter)
        words: Words = {"A": rows.zeros((V, M))}
        if lengths is not None:
            words["lengths"] = rows.own(lengths)
        solved = [block for part in rows.run(code_to_the_end, words, rows.numbers(V), coding) for block in part]
    certified = not isinstance(penalty, MostActive)
    if certified and not np.isfinite([block.gap for block in solved]).all():
        raise InputError("the codes are not finite: the values of X are too large. Scale the data, or use float64.")
    n_iter = max((block.n_iter for block in solved), default=0)
    gap = max((block.gap for block in solved), default=0.0)
    return Codes(words["A"], n_iter, all(block.converged for block in solved), gap)
