"""The visits of the entry learner, compiled by Numba: for every entry a step on a row of D, one on a code, one prox.

Threads call ``visit`` on blocks that share neither words nor contexts. Which entries, in which order: decided above.
Loops are fastest over rows of a multiple of ``LANES`` numbers; columns of zeros stay zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.forest import Forest
from wordforest.runtime.machine import kernel, part_of_kernel

Array = NDArray[Any]
Index = NDArray[Any]
Scalar = Any  # of the type of the codes

LANES = 16
_LOWEST = -3e38  # times any threshold, below all codes


def entry_type(kind: Any) -> np.dtype[Any]:
    """Return the type of one stored pair, with floats of a kind; 24 bytes in float32.

    A visit's residual is ``value - keep * d.a``. ``mass`` is how much a visit counts (1 if entries are drawn by their
    mass: then it is the coin of the alias method, and ``alias`` the entry that a lost toss leads to).
    """
    floats = [(name, np.dtype(kind)) for name in ("value", "keep", "mass")]
    return np.dtype([("word", "i4"), ("context", "i4"), *floats, ("alias", "i4")])


class Visited(NamedTuple):
    """All words, or all contexts, as the visits see them."""

    vectors: Array  # (n, M), A or D
    rates: Array  # (n, 2): step size of the row, and its lam or tau
    pull: Array  # (n, M), half the gradient of the unstored pairs for a visit of mass 1; (0, M) if they do not count


class Tree(NamedTuple):
    """The penalty as a walk over columns in an order of its own: every inner node is followed by its leaves.

    Inner nodes come level by level, roots first; node n and the leaves right below it are the columns first[n] to
    first[n + 1]; leaves that are roots come last, and then columns that pad. Indices are unsigned, which spares the
    loops a test for negative ones.
    """

    columns: Index  # (M,), the nodes of the forest in this order
    leaf: Array  # (2, width), weight of a leaf, 0 for an inner node; and -weight, or -inf where codes are not negative
    weights: Array  # (I,), of the inner nodes
    first: Index  # (I + 1,)
    parent: Index  # (I,), place of the parent among the inner nodes; any for a root
    levels: Index  # (L + 1,), where levels begin


def tree_of(forest: Forest, weights: Array, nonnegative: bool) -> Tree:
    """Return the forest in the order in which the prox meets it; columns that pad the codes are leaves of weight 0."""
    M = len(forest)
    is_leaf = forest.end == np.arange(1, M + 1)
    inner = np.flatnonzero(~is_leaf)
    inner = inner[np.argsort(forest.depth[inner], kind="stable")]
    place = np.full(M + 1, len(inner))  # the last is above all roots; leaves go to their parents, roots behind all
    place[inner] = np.arange(len(inner))
    owner = np.where(is_leaf, place[forest.parent], place[:M])
    columns = np.lexsort((np.arange(M), is_leaf, owner))  # a node before its leaves
    first = np.searchsorted(owner[columns], np.arange(len(inner) + 1))
    n_levels = int(forest.depth[inner].max()) + 1 if len(inner) else 0
    levels = np.searchsorted(forest.depth[inner], np.arange(n_levels + 1))
    leaf = np.zeros((2, -(-M // LANES) * LANES), dtype=weights.dtype)
    leaf[0, :M] = np.where(is_leaf, weights, 0)[columns]
    leaf[1] = _LOWEST if nonnegative else -leaf[0]
    above = np.where(forest.parent[inner] >= 0, place[forest.parent[inner]], 0)
    unsigned = [part.astype(np.uint64) for part in (first, above, levels)]
    return Tree(columns, leaf, weights[inner], unsigned[0], unsigned[1], unsigned[2])


class Rule(NamedTuple):
    """``by_mass``: scale visits by their mass; ``limit``: of a sane residual."""

    by_mass: bool
    limit: float


@kernel
def visit(entries: Array, order: Index, words: Visited, contexts: Visited, tree: Tree, rule: Rule) -> bool:
    """Visit the entries of a block in the order given; change D and A. False: out of bounds.

    For an entry (v, c) with mass m, steps s_v and s_c:

        d_c <- d_c + 2 s_c m (a_v (value - keep d_c.a_v) - tau_c d_c - pull_c)
        a_v <- a_v + 2 s_v m (d_c (value - keep d_c.a_v) - pull_v)            with the new d_c, as in Algorithm 1
        a_v <- prox of s_v m lam_v Omega

    The new d_c is a combination of d_c, a_v and pull_c, so its product with a_v is known before it is computed, and
    both rows move in one loop.
    """
    A, word_rates, word_pull = words  # out of the loop: taking an array from a tuple counts references
    D, context_rates, context_pull = contexts
    by_mass, limit = rule
    zero, one, two, half = A.dtype.type(0), A.dtype.type(1), A.dtype.type(2), A.dtype.type(0.5)
    _, leaf, weights, first, parent, levels = tree
    energy, factor = np.empty(len(weights), dtype=A.dtype), np.empty(len(weights), dtype=A.dtype)
    for k in order:
        entry = entries[k]
        v, c = entry.word, entry.context
        mass = entry.mass if by_mass else one
        da, aa = _products(D, c, A, v)
        error = entry.value - entry.keep * da
        if not abs(error) <= limit:  # true for NaN, too
            return False
        step = two * context_rates[c, 0] * mass
        keep, gain = max(one - step * context_rates[c, 1], zero), step * error
        new = keep * da + gain * aa
        if len(context_pull):
            new -= step * _products(context_pull, c, A, v)[0]
        error = entry.value - entry.keep * new
        pace = two * word_rates[v, 0] * mass
        if len(word_pull):
            _move_pulled(D, c, A, v, (keep, gain, pace * error), context_pull, word_pull, step, pace)
        else:
            _move(D, c, A, v, keep, gain, pace * error)
        threshold = half * pace * word_rates[v, 1]
        prox_row(A, v, threshold, leaf, weights, first, parent, levels, energy, factor)
    return True


@part_of_kernel
def prox_row(
    A: Array,
    v: int,
    threshold: Scalar,
    leaf: Array,
    weights: Array,
    first: Index,
    parent: Index,
    levels: Index,
    energy: Array,
    factor: Array,
) -> None:
    """Put the prox of ``threshold * Omega`` of row v of A, (V, width), in its place; linear in M.

    Going up, the squared norm of a node's group is known from its children's, shrunk; going down, a node's factor is
    its own times its parent's. ``energy`` and ``factor`` (I,) are room for these; before them come the parts of a
    ``Tree``, not the tree itself: taking an array from a tuple counts references.
    """
    zero, one, tiny = A.dtype.type(0), A.dtype.type(1), A.dtype.type(1e-36)
    threshold = max(threshold, A.dtype.type(1e-30))  # changes no code, and lets a penalty of 0 keep codes non-negative
    for i in range(A.shape[1]):
        A[v, i] -= min(max(A[v, i], threshold * leaf[1, i]), threshold * leaf[0, i])
    for n in range(len(weights)):
        energy[n] = zero
    for step in range(len(levels) - 1):
        level = len(levels) - 2 - step  # from the deepest up
        for n in range(levels[level], levels[level + 1]):
            energy[n] += _square(A, v, first[n], first[n + 1])
        for n in range(levels[level], levels[level + 1]):
            left = max(one - threshold * weights[n] / np.sqrt(energy[n] + tiny), zero)
            factor[n] = left
            energy[n] *= left * left
        if level > 0:
            for n in range(levels[level], levels[level + 1]):
                energy[parent[n]] += energy[n]
    if len(weights):
        for n in range(levels[1], levels[-1]):
            factor[n] *= factor[parent[n]]
    for n in range(len(weights)):
        for i in range(first[n], first[n + 1]):
            A[v, i] *= factor[n]


@part_of_kernel
def _square(A: Array, v: int, start: int, end: int) -> Scalar:
    total = A.dtype.type(0)
    for i in range(start, end):
        total += A[v, i] * A[v, i]
    return total


@kernel
def weighted_squares(part: tuple[Index, Index, Array, Array], zeros: float, A: Array, D: Array) -> float:
    """Return ``sum w (x - p)^2 - W p^2`` over pairs (word, context, x, w), float64, with p = d.a."""
    words, contexts, values, weights = part
    total = 0.0
    for k in range(len(words)):
        v, c = words[k], contexts[k]
        p = 0.0
        for i in range(A.shape[1]):
            p += np.float64(A[v, i]) * np.float64(D[c, i])
        error = np.float64(values[k]) - p
        total += np.float64(weights[k]) * error * error - zeros * p * p
    return total


@part_of_kernel
def _products(D: Array, c: int, A: Array, v: int) -> tuple[Scalar, Scalar]:
    """Return d.a and a.a."""
    da, aa = A.dtype.type(0), A.dtype.type(0)
    for i in range(A.shape[1]):
        da += D[c, i] * A[v, i]
        aa += A[v, i] * A[v, i]
    return da, aa


@part_of_kernel
def _move(D: Array, c: int, A: Array, v: int, keep: Scalar, gain: Scalar, pace: Scalar) -> None:
    """d <- keep d + gain a;  a <- a + pace d."""
    for i in range(A.shape[1]):
        d = keep * D[c, i] + gain * A[v, i]
        D[c, i] = d
        A[v, i] += pace * d


@part_of_kernel
def _move_pulled(
    D: Array,
    c: int,
    A: Array,
    v: int,
    rates: tuple[Scalar, Scalar, Scalar],
    context_pull: Array,
    word_pull: Array,
    of_context: Scalar,
    of_word: Scalar,
) -> None:
    """The same, less the pulls of the unstored pairs."""
    keep, gain, pace = rates
    for i in range(A.shape[1]):
        d = keep * D[c, i] + gain * A[v, i] - of_context * context_pull[c, i]
        D[c, i] = d
        A[v, i] += pace * d - of_word * word_pull[v, i]
