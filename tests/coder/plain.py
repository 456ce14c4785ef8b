"""The definitions, written to be read. Every faster implementation is tested against these."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.forest import Forest
from wordforest.coder.penalties import Penalty

Array = NDArray[Any]
PerNode = float | Array  # one number for all nodes, or shape (M,)


def shrink(block: Array, threshold: float) -> Array:
    """Block thresholding, the prox of ``threshold * |block|_2``."""
    size = np.linalg.norm(block)
    return block * (1 - threshold / size) if size > threshold else np.zeros_like(block)


def forest_prox(A: Array, forest: Forest, thresholds: PerNode) -> Array:
    """Prox of ``sum_i thresholds_i |a_group(i)|_2`` for every row of A, shape (V, M)."""
    t = np.broadcast_to(thresholds, len(forest))
    B = A.copy()
    for a in B:
        for i in reversed(range(len(forest))):  # leaves before roots, else this is not the prox
            group = slice(i, forest.end[i])
            a[group] = shrink(a[group], t[i])
    return B


def forest_norms(A: Array, forest: Forest, weights: PerNode) -> Array:
    """``sum_i w_i |a_v,group(i)|_2`` of every row, shape (V,), float64."""
    wide, w = A.astype(np.float64), np.broadcast_to(weights, len(forest))
    return np.asarray(sum(w[i] * np.linalg.norm(wide[:, i:end], axis=1) for i, end in enumerate(forest.end)))


def pursue(XD: Array, DD: Array, forest: Forest, most: int, nonnegative: bool, price: float = 0.0) -> Array:
    """Codes with at most ``most`` nodes on, none under a node that is off: the best way for every node it turns on.

    With a price a way must promise more than it for every node, and lower ``|x - D a|^2 + price * nodes on``.
    """
    A = np.zeros_like(XD)
    for x, a in zip(XD, A, strict=True):
        on: list[int] = []
        barred: set[int] = set()
        while True:
            for way in ways(x - DD @ a, DD, forest, on, most - len(on), barred, nonnegative, max(price, 1e-9)):
                code, left = refitted(x, DD, forest, [*on, *way], nonnegative)
                gained = code @ (2 * x - DD @ code) - a @ (2 * x - DD @ a)
                if price == 0 or gained > price * (len(left) - len(on)):
                    break
            else:
                break
            barred |= {*on, *way} - {*left}
            a[:], on = code, left
    return A


def ways(
    slope: Array, DD: Array, forest: Forest, on: list[int], room: int, barred: set[int], nonnegative: bool, least: float
) -> list[list[int]]:
    """The nodes that would come on with each node that is off and promises more than ``least``, the best first."""
    found: list[tuple[float, list[int]]] = []
    for node in range(len(forest)):
        way = [one for one in above(node, forest) if one not in on]
        useful = [one for one in way if slope[one] > 0 or not nonnegative]
        rate = sum(slope[one] ** 2 / DD[one, one] for one in useful) / max(len(way), 1)
        if node in useful and len(way) <= room and not barred & set(way) and rate > least:
            found.append((rate, way))
    return [way for _, way in sorted(found, key=lambda one: -one[0])]


def refitted(x: Array, DD: Array, forest: Forest, on: list[int], nonnegative: bool) -> tuple[Array, list[int]]:
    """The best code (M,) with these nodes on, and those that are left: not zero, or above one that is not."""
    from scipy.optimize import nnls

    code, products = np.zeros_like(x), DD[np.ix_(on, on)]
    if not nonnegative:
        code[on] = np.linalg.solve(products, x[on])
        return code, on
    factor = np.linalg.cholesky(products)
    code[on] = nnls(factor.T, np.linalg.solve(factor, x[on]))[0]
    while empty := [n for n in on if code[n] == 0 and not any(forest.parent[m] == n for m in on)]:
        on = [node for node in on if node not in empty]
    return code, on


def above(node: int, forest: Forest) -> list[int]:
    """A node and all above it."""
    return [] if node < 0 else [node, *above(int(forest.parent[node]), forest)]


def times_dictionary(X: Any, rows: Array, D: Array) -> Array:
    """``X[rows] @ D``, shape (b, M)."""
    return np.asarray(X[rows] @ D)


def add_times_codes(X: Any, rows: Array, A: Array, contexts: tuple[int, int], out: Array) -> None:
    """Add ``X[rows].T @ A`` to the rows of ``out``, shape (C, M), that belong to the contexts given."""
    first, last = contexts
    out[first:last] += (X[rows].T @ A)[first:last]


def sweep(D: Array, AA: Array, XA: Array, *, nonnegative: bool = False) -> Array:
    """One pass of block coordinate descent over the atoms: Algorithm 2 of Mairal et al. (2010).

    Atom j becomes the minimiser of ``|X - A D'|^2`` over the unit ball with all other atoms fixed; an atom that no
    word uses stays as it is. ``nonnegative`` keeps to the part of the ball without negative values: there the minimiser
    is the projection of the free one, and negatives are cut before the length is.
    """
    D = D.copy()
    for j in range(D.shape[1]):
        if AA[j, j] > 0:
            u = D[:, j] + (XA[:, j] - D @ AA[:, j]) / AA[j, j]  # (C,)
            u = np.maximum(u, 0) if nonnegative else u
            D[:, j] = u / max(1.0, float(np.linalg.norm(u)))
    return D


def entry_objective(X: Any, D: Array, A: Array, penalty: Penalty, tau: float) -> float:
    """``sum over stored (v, c) of (x_vc - d_c . a_v)^2 + lam * sum_v Omega(a_v) + tau * |D|^2`` for a CSR matrix X."""
    D, A = D.astype(np.float64), A.astype(np.float64)
    total = tau * float(np.vdot(D, D)) + float(penalty.per_word(A).sum())
    for v in range(X.shape[0]):
        stored = slice(X.indptr[v], X.indptr[v + 1])
        residual = X.data[stored] - D[X.indices[stored]] @ A[v]
        total += float(residual @ residual)
    return total
