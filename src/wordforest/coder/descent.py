"""Steps on the quadratic forms of a weighted loss: proximal ones, every row at a step size of its own, no row ever
worse, and conjugate gradients where there is no penalty.

The same code runs on NumPy arrays and PyTorch tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wordforest.coder.kernels import as_type, namespace, row_products, shrunk_squares
from wordforest.coder.penalties import Penalty
from wordforest.runtime.machine import Executor

Array = Any  # a NumPy array or a PyTorch tensor
_SAFETY = 1.05  # of a curvature seen, since the largest may lie in another direction
_FIRST = 1.5  # of the curvature along b, which is nearly that of the steepest direction
_NEWTON = 4  # steps to the multipliers of the unit balls; what is left is cut off


def descend(
    quadratic: Quadratic,
    penalty: Penalty,
    A: Array,
    curvatures: Array,
    n_iter: int,
    tol: float = 0.0,
    ahead: tuple[Array, int] | None = None,
) -> tuple[Array, Array]:
    """Take accelerated proximal steps on ``a'Ha - 2 b'a + lam Omega(a)`` of every row of A (r, M).

    Returns A and the curvatures. These (r,), twice the largest eigenvalue of each H as far as known, 0 where it is not,
    set the step sizes. H enters through one product an iteration: at a point between two others it is known from
    theirs, and so are the objective and the curvature along each step. Where a step was too long, its curvature is
    learned from it; a row that would get worse stays, and its momentum is dropped, as it is where a row overshoots
    (O'Donoghue and Candes 2015). Stops early when no row moves by more than ``tol`` times its length. ``ahead``
    says how to take steps of conjugate gradients first, their scales (M,) and number, as if there were no penalty:
    rows that get better so begin there.
    """
    xp, b = namespace(A), quadratic.linear
    L = _known(quadratic, curvatures)  # (r, 1)
    product = quadratic.times(A)
    value = _values(A, product, b, penalty)  # (r, 1)
    if ahead is not None:
        new, product_new = conjugate(quadratic, A, product, *ahead)
        found = _values(new, product_new, b, penalty)
        better = found < value
        A, product = xp.where(better, new, A), xp.where(better, product_new, product)
        value = xp.where(better, found, value)
    Y, product_Y = A, product
    t = xp.ones_like(A[:, :1])
    for _ in range(n_iter):
        new = _prox(penalty, Y - 2 * (product_Y - b) / L, L)
        product_new = quadratic.times(new)
        moved = new - Y
        L = steeper(L, moved, product_new - product_Y)
        found = _values(new, product_new, b, penalty)
        worse = ~(found <= value)
        overshot = row_products(moved, new - A) < 0
        t = xp.where(worse | overshot, 1.0, t)
        t_next = (1 + xp.sqrt(1 + 4 * t * t)) / 2
        momentum = xp.where(worse, 0.0, (t - 1) / t_next)
        old, product_old = A, product
        A, product = xp.where(worse, A, new), xp.where(worse, product, product_new)
        value = xp.where(worse, value, found)
        Y, product_Y = A + momentum * (A - old), product + momentum * (product - product_old)
        t = xp.where(worse, 1.0, t_next)
        if tol and bool((row_products(moved, moved) <= tol * tol * row_products(new, new)).all()):
            break
    return A, L[:, 0]


def conjugate(
    quadratic: Quadratic, A: Array, product: Array, scales: Array, n_iter: int, tol: float = 0.0
) -> tuple[Array, Array]:
    """Take steps of conjugate gradients on ``a'Ha - 2 b'a`` of every row of A (r, M); return A and its product.

    ``product`` is H a of every row, ``scales`` (M,) the diagonal of a matrix that every H is like: what is left of b is
    divided by it. Stops early when no row moves by more than ``tol`` times its length.
    """
    xp = namespace(A)
    left = quadratic.linear - product
    steered = left / scales
    direction, size = steered, row_products(left, steered)
    for _ in range(n_iter):
        bent = quadratic.times(direction)
        curvature = row_products(direction, bent)
        step = xp.where(curvature > 0, size / xp.where(curvature > 0, curvature, 1.0), 0.0)
        A, left = A + step * direction, left - step * bent
        if tol and bool((step * step * row_products(direction, direction) <= tol * tol * row_products(A, A)).all()):
            break
        steered = left / scales
        before, size = size, row_products(left, steered)
        direction = steered + size / xp.where(before > 0, before, 1.0) * direction
    return A, quadratic.linear - left


def descend_together(
    quadratic: Quadratic, bound: Callable[[Array, Array], Array], D: Array, curvatures: Array, n_iter: int
) -> tuple[Array, Array]:
    """Take proximal steps on ``sum_c d'Hd - 2 b'd`` over rows that a bound ties; return D and the curvatures.

    ``bound(U, L)`` is the point within the bound that is nearest to U, a row's distance counting L (C, 1) times. Steps
    are as in ``descend``, without momentum: one that would raise the sum is taken back, and the next is shorter.
    """
    b = quadratic.linear
    L = _known(quadratic, curvatures)
    product = quadratic.times(D)

    def total(D: Array, product: Array) -> float:
        return float(row_products(D, product - 2 * b, in_float64=True).sum())

    value = total(D, product)
    for _ in range(n_iter):
        new = bound(D - 2 * (product - b) / L, L)
        product_new = quadratic.times(new)
        L_new = steeper(L, new - D, product_new - product)
        found = total(new, product_new)
        if found <= value:
            D, product, value, L = new, product_new, found, L_new
        else:
            L = 2 * L_new
    return D, L[:, 0]


def steeper(L: Array, moved: Array, bent: Array) -> Array:
    """Return curvatures (r, 1) at least as large as along the steps taken, (r, M), given H times these, (r, M)."""
    xp = namespace(L)
    size = row_products(moved, moved)
    seen = 2 * _SAFETY * row_products(moved, bent) / xp.where(size > 0, size, 1.0)
    return xp.where(seen > L, seen, L)


def in_unit_balls(U: Array, L: Array, executor: Executor, *, nonnegative: bool = False) -> Array:
    """Return the D (C, M) nearest to U whose columns have length one at most: ``min sum_c L_c |d_c - u_c|^2``.

    The solution is ``d_cm = L_c u_cm / (L_c + mu_m)``, with the multiplier mu_m >= 0 at which the column has length
    one, found by Newton's method on the length. ``nonnegative`` cuts negatives first, which leaves this the solution.
    """
    xp = namespace(U)
    U = xp.clip(U, 0, None) if nonnegative else U
    multipliers = U[0] * 0
    for _ in range(_NEWTON):
        squares, slopes = shrunk_squares(U, L, multipliers, executor)
        length = xp.sqrt(squares)
        more = squares / xp.where(slopes > 0, slopes, 1.0) * (length - 1)
        multipliers = multipliers + xp.where(length > 1, more, 0.0)
    squares, _ = shrunk_squares(U, L, multipliers, executor)
    length = xp.clip(xp.sqrt(squares), 1.0, None)
    return U * (L / ((L + as_type(multipliers, U)) * as_type(length, U)))


def _known(quadratic: Quadratic, curvatures: Array) -> Array:
    """Return the curvatures as a column; where they are not known, from the curvature along b."""
    xp, b, L = namespace(curvatures), quadratic.linear, curvatures[:, None]
    if bool((L > 0).all()):
        return L
    size = row_products(b, b)
    along = 2 * _FIRST * row_products(b, quadratic.times(b)) / xp.where(size > 0, size, 1.0)
    return xp.where(L > 0, L, xp.where(along > 0, along, 1.0))


def _prox(penalty: Penalty, Z: Array, L: Array) -> Array:
    """Prox with steps 1 / L (r, 1): penalties are norms, so rows may be scaled to have the same step."""
    return penalty.prox(Z * L, 1.0) / L


def _values(A: Array, product: Array, b: Array, penalty: Penalty) -> Array:
    """``a'Ha - 2 b'a + lam Omega(a)`` of every row, (r, 1), float64."""
    return row_products(A, product - 2 * b, in_float64=True) + penalty.per_word(A)[:, None]


@dataclass(frozen=True, eq=False)
class Quadratic:
    """``a'Ha - 2 b'a`` of a block of rows: ``linear`` is b (r, M), ``times(A)`` is H a for every row, (r, M)."""

    linear: Array
    times: Callable[[Array], Array]
