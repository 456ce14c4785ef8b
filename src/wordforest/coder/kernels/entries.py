"""The visits of the entry learner, compiled by Numba: for every entry a step on a row of D, one on a code, one prox.

Threads call ``visit`` on blocks that share neither words nor contexts. Which entries, in which order: decided above.
Loops are fastest over rows of a multiple of ``LANES`` numbers; columns of zeros stay zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.compile import kernel

Array = NDArray[Any]
Index = NDArray[Any]
Scalar = Any  # float32

LANES = 32

# One stored pair. A visit's residual is ``value - keep * d.a``. ``mass`` is how much a visit counts (1 if entries are
# drawn by their mass: then it is the coin of the alias method, and ``alias`` the entry that a lost toss leads to).
ENTRY = np.dtype([("word", "i4"), ("context", "i4"), ("value", "f4"), ("keep", "f4"), ("mass", "f4"), ("alias", "i4")])


class Side(NamedTuple):
    """All words, or all contexts, as the visits see them."""

    vectors: Array  # (n, M), A or D
    rates: Array  # (n, 2): step size of the row, and its lam or tau
    pull: Array  # (n, M), half the gradient of the unstored pairs for a visit of mass 1; (0, M) if they do not count
    squares: Array  # (n,), sums of squared gradients; (0,) if steps do not depend on them


class Tree(NamedTuple):
    """The penalty as a walk: leaves first, all at once; then the inner nodes, each with the leaves right below it."""

    leaf: Array  # (M,), weight of a leaf, 0 for an inner node
    weights: Array  # (I,), of the inner nodes
    inner: Index  # (I, 4) in preorder: node, place of its parent here or -1, and its leaves, leaves[first:last]
    leaves: Index
    nonnegative: bool


class Rule(NamedTuple):
    """``by_mass``: scale visits by their mass; ``lazy``: visits of a word per prox; ``limit``: of a sane residual."""

    by_mass: bool
    lazy: int
    limit: float


@kernel
def visit(entries: Array, order: Index, words: Side, contexts: Side, tree: Tree, rule: Rule) -> bool:
    """Visit the entries of a block in the order given; change D, A and the sums of squares. False: out of bounds.

    For an entry (v, c) with mass m, steps s_v and s_c:

        d_c <- d_c + 2 s_c m (a_v (value - keep d_c.a_v) - tau_c d_c - pull_c)
        a_v <- a_v + 2 s_v m (d_c (value - keep d_c.a_v) - pull_v)            with the new d_c, as in Algorithm 1
        a_v <- prox of s_v m lam_v Omega
    """
    A, word_rates, word_pull, word_squares = words  # out of the loop: taking an array from a tuple counts references
    D, context_rates, context_pull, context_squares = contexts
    by_mass, lazy, limit = rule
    energy = np.empty(len(tree.inner), dtype=A.dtype)
    pending = np.zeros(len(A) if lazy > 1 else 0, dtype=A.dtype)
    counts = np.zeros(len(pending), dtype=np.int32)
    for k in order:
        entry = entries[k]
        v, c = entry.word, entry.context
        mass = entry.mass if by_mass else np.float32(1)
        error = entry.value - entry.keep * _dot(D, c, A, v)
        if not abs(error) <= limit:  # true for NaN, too
            return False
        step = _step(context_rates, context_squares, c, mass * error, A, v) * mass
        _move(D, c, A, v, step * error, step * context_rates[c, 1])
        if len(context_pull):
            _move(D, c, context_pull, c, -step, np.float32(0))
        error = entry.value - entry.keep * _dot(D, c, A, v)
        step = _step(word_rates, word_squares, v, mass * error, D, c) * mass
        _move(A, v, D, c, step * error, np.float32(0))
        if len(word_pull):
            _move(A, v, word_pull, v, -step, np.float32(0))
        threshold = np.float32(0.5) * step * word_rates[v, 1]
        if lazy > 1:
            pending[v] += threshold
            counts[v] += 1
            if counts[v] < lazy:
                continue
            threshold, pending[v], counts[v] = pending[v], 0, 0
        prox_row(A, v, tree, threshold, energy)
    for v in range(len(pending)):
        if counts[v] > 0:
            prox_row(A, v, tree, pending[v], energy)
    return True


@kernel
def prox_row(A: Array, v: int, tree: Tree, threshold: Scalar, energy: Array) -> None:
    """Put the prox of ``threshold * Omega`` of row v of A, (V, M), in its place; linear in M.

    Going up, the squared norm of a node's group is known from its children's, shrunk; going down, a node's factor is
    its own times its parent's. ``energy`` is room for a number per inner node.
    """
    zero = np.float32(0)
    leaf, weights, inner, leaves = tree.leaf, tree.weights, tree.inner, tree.leaves
    if tree.nonnegative:
        for i in range(A.shape[1]):
            A[v, i] = A[v, i] if A[v, i] > zero else zero
    if not threshold > zero:
        return
    for i in range(A.shape[1]):
        bound = threshold * leaf[i]
        cut = A[v, i] if A[v, i] < bound else bound
        A[v, i] -= cut if cut > -bound else -bound
    energy[:] = zero
    for n in range(len(inner) - 1, -1, -1):
        total = energy[n] + A[v, inner[n, 0]] * A[v, inner[n, 0]]
        for k in range(inner[n, 2], inner[n, 3]):
            total += A[v, leaves[k]] * A[v, leaves[k]]
        size, bound = np.sqrt(total), threshold * weights[n]
        left = size - bound if size > bound else zero
        energy[n] = left / size if left > zero else zero  # from here on the factor
        if inner[n, 1] >= 0:
            energy[inner[n, 1]] += left * left
    for n in range(len(inner)):
        if inner[n, 1] >= 0:
            energy[n] *= energy[inner[n, 1]]
        A[v, inner[n, 0]] *= energy[n]
        for k in range(inner[n, 2], inner[n, 3]):
            A[v, leaves[k]] *= energy[n]


@kernel
def weighted_squares(entries: Array, A: Array, D: Array) -> float:
    """Return ``sum mass (keep p^2 - 2 value p)`` over entries, float64, with p = d.a."""
    total = 0.0
    for k in range(len(entries)):
        entry = entries[k]
        p = 0.0
        for i in range(A.shape[1]):
            p += np.float64(A[entry.word, i]) * np.float64(D[entry.context, i])
        total += np.float64(entry.mass) * (np.float64(entry.keep) * p * p - 2 * np.float64(entry.value) * p)
    return total


@kernel
def _step(rates: Array, squares: Array, row: int, error: Scalar, others: Array, other: int) -> Scalar:
    """Return twice the step of a row; if sums of squares are kept, the root of its sum divides it."""
    step = np.float32(2) * rates[row, 0]
    if len(squares):
        squares[row] += np.float32(4) * error * error * _dot(others, other, others, other)
        step /= np.sqrt(squares[row])
    return step


@kernel
def _dot(B: Array, b: int, E: Array, e: int) -> Scalar:
    total = np.float32(0)
    for i in range(B.shape[1]):
        total += B[b, i] * E[e, i]
    return total


@kernel
def _move(B: Array, b: int, E: Array, e: int, toward: Scalar, shrink: Scalar) -> None:
    """Add ``toward`` times a row of E to a row of B and take off ``shrink`` times itself."""
    for i in range(B.shape[1]):
        B[b, i] += toward * E[e, i] - shrink * B[b, i]
