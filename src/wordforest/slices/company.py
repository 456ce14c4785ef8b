"""Did a word change its company? The usages of its occurrences, compared between slices by permuted documents.

An occurrence of a word w may stand where another word c, a *usage*, could stand (space.py): the log likelihood ratio of
c against w is linear in where the occurrence lies, and how far it is on the side of c is cut off at 0 and at 4, so that
an occurrence says nothing, something, or at most that it is one of c::

    l_ic = (x_i - m_w) . (m_c - m_w) - |m_c - m_w|^2 / 2          m the mean of a word, in some hundred words c
    f_dc = mean over occurrences i in document d of  min(max(l_ic / 4, 0), 1)
    r_dc = f_dc - mean over all documents,  divided by its standard deviation
    q_c  = sum over slices s of (sum over d in s of r_dc)^2 / n_s                   (n_s documents of s)
    T    = (mean over c of q_c^4)^(1/4)

There are two spaces, in which the words around are their vectors and their nodes, and c is a word in one of them:
vectors find more of what stands where another word stood, nodes more of what moved to another topic. In small texts
words lie far apart, and no occurrence of one is ever on the side of another; so m_c is brought within ten standard
deviations of m_w. q_c is the sum of squares between slices (as in PERMANOVA, Anderson 2001) of one usage. Where a tenth
of the occurrences are new, their mean hardly moves, but usages that nearly no occurrence had before have some; and they
are a few of all, so that T is near the largest q, but counts how many usages agree (docs/compare.md: what was gained,
what tried). Its p comes from permuting the slices of the documents that have the word. So it takes nothing for granted
of how words lie in documents, and does not mind that a word became more frequent. Permuting ends early where chance
does as well ten times (Besag and Clifford 1991), or where it is far from it; where it never does, the tail goes on from
the upper tenth of the permuted T as that of a sum of squares does, exponentially.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.runtime.machine import Executor, Threads, kernel, part_of_kernel
from wordforest.slices.space import AROUND, Space, learn_space, node_vectors, with_usages, word_vectors
from wordforest.slices.texts import CSR, Slices

Floats = NDArray[np.float64]
Dense = NDArray[np.float32]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

PERMUTATIONS = 1000
LEAST = 3  # documents with the word, below which a slice is left out of its test
_SURE = 4.0  # log likelihood ratio from which on an occurrence is wholly one of a usage
_APART = 10.0  # standard deviations between a word and a usage; one farther away is taken as near, on the same side
_POWER = 4  # of q: 1 would be the mean over usages, infinity the largest
_FOR_LENGTH = 5  # units for each number that says how many words are around, below which none is asked
_UNITS = 256  # documents of a word that are permuted one by one; more are pooled to so many
_OCCURRENCES = 4000  # of a word that are looked at; of more every second, third, ...
_OF_STYLE = 1000  # occurrences of a word that say what it has around it on the whole
_MORE = 16  # times as many permutations, at most, where documents are few
_TOP = 0.1  # of the permuted T that the tail begins with
_ENOUGH = 10  # permutations that do as well, after which no more are made
_FIRST, _FAR = 250, 10.0  # permutations, and standard deviations beyond them, after which no more are made either
_BLOCK = 32  # words of a task that tests them
_WIDE = 1024  # words of a task that looks around them


class Changes(NamedTuple):
    """What the test found for W words: how much of the company changed, z and p, and how many slices have the word."""

    words: Int64s  # (W,) rows of the vocabulary
    effect: Floats  # share of the variance of usages that is between slices, beyond what chance gives; up to 1
    z: Floats
    p: Floats  # nan where fewer than two slices have the word in enough documents
    slices: Int64s


class Company(NamedTuple):
    """The company of one word before and after: lift of nodes, (2, M), and z of the difference, (M,)."""

    lift: Floats
    z: Floats


class Scene:
    """Slices seen from a forest: shares of nodes (V, M) of every word, and how much each slice uses them.

    ``whole`` (M,) marks the nodes whose shares of a word add up to one: the roots of an additive forest, all if left
    out. Dividing by shares of the slice alone (lift, as PMI does) would not do: where a slice has less text about the
    sea, sailors would seem to be closer to it. ``spaces`` are those of the same documents, if learned already: they do
    not depend on how documents are dealt into slices.
    """

    def __init__(
        self,
        slices: Slices,
        shares: CSR,
        whole: NDArray[Any] | None = None,
        executor: Executor | None = None,
        spaces: Sequence[Space] = (),
    ) -> None:
        self.slices, self.shares = slices, shares.astype(np.float32)
        self._executor = executor or Threads()
        self._roots = np.ones(shares.shape[1]) if whole is None else np.asarray(whole, dtype=np.float64)
        _ = slices.positions, slices.document  # once, before threads ask for them
        own = self.shares
        self._csr = (own.indptr.astype(np.int64), own.indices.astype(np.int32), np.ascontiguousarray(own.data))
        vectors = () if spaces else (word_vectors(slices, self._executor), node_vectors(self.shares))
        spaces = spaces or [learn_space(slices, E, self._executor) for E in vectors]
        self.spaces = [with_usages(space, slices, self._executor) for space in spaces]

    @cached_property
    def used(self) -> Floats:
        """What each slice has of each node, (S, M)."""
        return np.asarray(self.slices.frequencies @ self.shares.astype(np.float64))

    @cached_property
    def style(self) -> Floats:
        """How much more of each node words have around them in a slice than the same words on the whole, (S, M)::

        share of j in slice s  /  sum over words w of share of w in s * company of w at j on the whole
        """
        frequencies, M = self.slices.frequencies.astype(np.float64), self.shares.shape[1]

        def expected(block: Int64s) -> Floats:
            around = _around(block, self.slices.ids, *self.slices.positions, self.slices.document, self._csr, M)
            return np.asarray(frequencies[:, block] @ around)

        words = np.arange(len(self.slices.words))
        blocks = [words[i : i + _WIDE] for i in range(0, len(words), _WIDE)]
        sums = np.sum([*self._executor.map(expected, blocks)], axis=0)
        found, wanted = (one / np.maximum(one @ self._roots, 1e-12)[:, None] for one in (self.used, sums))
        both = (found > 0) & (wanted > 0)
        return np.asarray(np.divide(found, wanted, out=np.ones_like(found), where=both))

    def changes(self, words: Any, *, permutations: int = PERMUTATIONS, seed: int = 0) -> Changes:
        """Test for each of the words, rows of the vocabulary, whether its company differs between slices."""
        words = np.asarray(words, dtype=np.int64)
        blocks = [words[i : i + _BLOCK] for i in range(0, len(words), _BLOCK)]

        def test(block: Int64s) -> list[tuple[float, ...]]:
            return [self._tested(int(word), permutations, seed) for word in block]

        found = [row for rows in self._executor.map(test, blocks) for row in rows]
        effect, z, p, n = np.array(found, dtype=np.float64).reshape(-1, 4).T
        return Changes(words, effect, z, p, n.astype(np.int64))

    def contrast(self, word: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the slices before and after which a word's company differs most, or all others and the one slice."""
        S = len(self.slices.names)
        if S == 2:
            return (0,), (1,)
        F, n, label = self._usages(word)
        R = _scaled(_residuals(F, n))
        sums = np.zeros((S, R.shape[1]))
        np.add.at(sums, label, R)
        inside, N = np.bincount(label, minlength=S).astype(np.float64), len(label)
        if self.slices.is_time:
            sums, inside = np.cumsum(sums, axis=0), np.cumsum(inside)
        usable = (inside >= LEAST) & (N - inside >= LEAST)
        size = np.maximum(inside * (N - inside), 1)
        largest = ((sums**2) ** _POWER).sum(axis=1) ** (1 / _POWER)
        best = int(np.argmax(np.where(usable, largest / size, -1)))
        if self.slices.is_time:
            return tuple(range(best + 1)), tuple(range(best + 1, S))
        return tuple(s for s in range(S) if s != best), (best,)

    def company(self, word: int, before: tuple[int, ...], after: tuple[int, ...]) -> Company:
        """Return the lift of nodes around a word in two sets of slices, and z of the difference."""
        at, unit, label, _ = self._units(word)
        M = self.shares.shape[1]
        U, n = _gathered(at, unit, len(label), self.slices.ids, self.slices.document, self._csr, M)
        U /= self.style[label]
        mass = U @ self._roots
        for s in np.unique(label):  # shorter documents have fewer words around a word: of every slice as many
            own = label == s
            U[own] *= n[own].sum() / max(float(mass[own].sum()), 1e-12)
        own = np.isin(label, (*before, *after))
        U, n, later = U[own], n[own], np.isin(label[own], after)
        by_side = np.stack([U[~later].sum(axis=0), U[later].sum(axis=0)])
        share = by_side / np.maximum(by_side @ self._roots, 1e-12)[:, None]
        whole = self.used.sum(axis=0)
        base = whole / max(float(whole @ self._roots), 1e-12)
        lift = np.divide(share, base, out=np.zeros_like(share), where=base > 0)
        R, N, inside = _residuals(U, n), len(U), int(later.sum())
        deviation = np.sqrt(inside * (N - inside) / max(N * (N - 1), 1) * (R**2).sum(axis=0))
        z = np.divide(R[later].sum(axis=0), deviation, out=np.zeros(M), where=deviation > 1e-9)
        return Company(lift, z)

    def _units(self, word: int) -> tuple[Int32s, Int32s, Int32s, Dense]:
        """Return the occurrences of a word that are looked at, (n,), and the documents, or pools of them, they are in.

        The unit of each occurrence, (n,); the slice of each unit, (N,); and what an occurrence counts, (n,): those of a
        document add up to one.
        """
        starts, positions = self.slices.positions
        at = positions[starts[word] : starts[word + 1]]
        at = at[:: max(len(at) // _OCCURRENCES, 1)]
        documents, own, n = np.unique(self.slices.document[at], return_inverse=True, return_counts=True)
        label, unit = _pooled(documents, self.slices.code[documents], len(self.slices.names))
        return at, unit[own], label, (1 / n[own]).astype(np.float32)

    def _usages(self, word: int) -> tuple[Dense, Dense, Int32s]:
        """Return how much documents, or pools of them, have of every usage, (N, C); documents and slices, (N,) each."""
        at, unit, label, weight = self._units(word)
        parts = list[Dense]()
        for space in self.spaces:
            X, views = space.place(self.slices, at)
            mean = X.mean(axis=0)
            X -= mean
            away = space.usages[space.words != word] - mean
            length = np.sqrt((away**2).sum(axis=1, keepdims=True))
            away *= _APART / np.maximum(length, _APART)
            L = X @ away.T
            L -= 0.5 * (away**2).sum(axis=1)
            F = np.zeros((len(label), len(away)), np.float32)
            _add_usages(L, unit, weight, F)
            parts.append(F)
        within = sparse.csr_array((weight, (unit, np.arange(len(at)))), shape=(len(label), len(at)))
        n: Dense = np.asarray(within.sum(axis=1))
        few = np.asarray(within @ (1 / (views + 1)))
        return _beyond(np.concatenate(parts, axis=1), np.column_stack((n, few))), n, label

    def _tested(self, word: int, permutations: int, seed: int) -> tuple[float, float, float, int]:
        F, n, label = self._usages(word)
        sizes = np.bincount(label, minlength=len(self.slices.names))
        kept = sizes[label] >= LEAST
        F, n, label = F[kept], n[kept], label[kept]
        often = np.bincount(label, n, minlength=len(sizes))[sizes >= LEAST]
        sizes = sizes[sizes >= LEAST]
        if len(sizes) < 2:
            return np.nan, np.nan, np.nan, len(sizes)
        R = _scaled(_residuals(F, n))[np.argsort(label, kind="stable")]
        if not R.size:
            return 0.0, 0.0, 1.0, len(sizes)
        most = permutations * min(max(_UNITS // len(R), 1), _MORE)  # of few documents more, for the same time
        wider = _wider(R, sizes, often)
        observed, above, drawn = _permuted(np.ascontiguousarray(R), sizes, wider, most, seed * 1_000_003 + word)
        by_chance = float(drawn.mean())
        effect = (observed - by_chance) / max(1 - by_chance, 1e-12)
        z, p = _tail(observed, above, drawn)
        return effect, z, max(p, _fewest(sizes)), len(sizes)


def _beyond(F: Dense, H: Dense) -> Dense:
    """Return what units have beyond what follows from H (N, h): documents, and how many words are around the word."""
    if len(F) < _FOR_LENGTH * H.shape[1]:
        H = H[:, :1]
    Q, values, _ = np.linalg.svd(H, full_matrices=False)
    Q = Q[:, values > 1e-6 * values[0]].astype(np.float32)
    return np.asarray(F - Q @ (Q.T @ F))


def _residuals(F: Any, n: Any) -> Any:
    """Return what units have more than so many documents would have on average, (N, K)."""
    return F - n[:, None] * (F.sum(axis=0) / max(float(n.sum()), 1e-12))


def _scaled(R: Any) -> Any:
    """Return columns of length one; those that are zero are left out."""
    length = np.sqrt((R**2).sum(axis=0))
    return R[:, length > 1e-6] / length[length > 1e-6]


def _pooled(documents: Int32s, code: Int32s, S: int) -> tuple[Int32s, Int32s]:
    """Return the slice of every unit, (N,), and the unit of every document, (n,): many documents are pooled."""
    n = np.bincount(code, minlength=S)
    if len(documents) <= _UNITS:
        return code, np.arange(len(documents), dtype=np.int32)
    share = np.maximum(n * _UNITS // len(documents), np.minimum(n, LEAST))
    # at random, not in turn: neighbours are alike, and pools that share them out evenly differ too little
    number = ((documents.astype(np.uint64) + np.uint64(1)) * np.uint64(11400714819323198485)) >> np.uint64(33)
    first = np.cumsum(share) - share
    used, unit = np.unique(first[code] + number.astype(np.int64) % share[code], return_inverse=True)
    return np.repeat(np.arange(S, dtype=np.int32), share)[used], unit.astype(np.int32)


def _tail(observed: float, above: int, drawn: Floats) -> tuple[float, float]:
    """Return z and p of a statistic, given those of permutations."""
    mean, deviation = float(drawn.mean()), float(drawn.std())
    if deviation <= 1e-12 * abs(mean):
        return 0.0, 1.0
    z = (observed - mean) / deviation
    if above >= _ENOUGH:
        return z, above / len(drawn)
    from_here = float(np.quantile(drawn, 1 - _TOP))
    beyond = drawn[drawn > from_here]
    excess = float((beyond - from_here).mean()) if len(beyond) else 0.0
    p = len(beyond) / len(drawn) * np.exp(-(observed - from_here) / excess) if excess > 0 else 0.0
    return z, float(min(max(p, 1e-300), (above + 1) / (len(drawn) + 1)))


def _wider(R: Any, sizes: Int64s, often: Any) -> float:
    """Return how much larger q is by chance than permutations have it, at least 1.

    Documents of one slice may vary more; permuted among others they seem to vary less. R (N, C) is in the order of
    slices, ``often`` (S,) their documents; documents vary about the mean of their slice.
    """
    parts = np.split(R, np.cumsum(sizes)[:-1])
    own = np.array([float(((part - part.mean(axis=0)) ** 2).sum()) for part in parts])
    share, free = often / max(float(often.sum()), 1e-12), max(int(sizes.sum()) - len(sizes), 1)
    varied = own * sizes / (sizes - 1)
    expected = (((1 - share) ** 2 * varied + share**2 * (varied.sum() - varied)) / sizes).sum()
    permuted = (len(sizes) - 1) * float(own.sum()) / free
    return float(max(expected / permuted, 1.0)) if permuted > 0 else 1.0


def _fewest(sizes: Int64s) -> float:
    """Return the least p that so few documents can have: one over the number of ways to deal them into slices."""
    from scipy.special import gammaln

    alike = gammaln(np.unique(sizes, return_counts=True)[1] + 1).sum()  # slices of one size can change places
    ways = gammaln(sizes.sum() + 1) - gammaln(sizes + 1).sum() - alike
    return float(min(np.exp(-ways), 1.0))


@kernel
def _add_usages(L: Dense, unit: Int32s, weight: Dense, out: Dense) -> None:
    """Add to units (N, C) how far occurrences, (n, C) log likelihood ratios, are on the side of every usage."""
    for i in range(len(L)):
        row = out[unit[i]]
        for c in range(L.shape[1]):
            row[c] += weight[i] * min(max(L[i, c] / np.float32(_SURE), np.float32(0)), np.float32(1))


@kernel
def _gathered(
    at: Int32s, unit: Int32s, N: int, ids: Int32s, document: Int32s, csr: tuple[Int64s, Int32s, Dense], M: int
) -> tuple[Floats, Floats]:
    """Add up the nodes around some positions by unit, (N, M), and the positions, (N,)."""
    indptr, indices, data = csr
    U, n = np.zeros((N, M)), np.zeros(N)
    for i in range(len(at)):
        p = at[i]
        n[unit[i]] += 1
        for q in range(max(p - AROUND, 0), min(p + AROUND + 1, len(ids))):
            c = ids[q]
            if q == p or c < 0 or document[q] != document[p]:
                continue
            for t in range(indptr[c], indptr[c + 1]):
                U[unit[i], indices[t]] += data[t]
    return U, n


@kernel
def _around(
    words: Int64s,
    ids: Int32s,
    starts: Int64s,
    positions: Int32s,
    document: Int32s,
    csr: tuple[Int64s, Int32s, Dense],
    M: int,
) -> Floats:
    """Return the mean of what an occurrence of each word has around it, (words, M)."""
    indptr, indices, data = csr
    found = np.zeros((len(words), M))
    for w in range(len(words)):
        first, last = starts[words[w]], starts[words[w] + 1]
        stride = max((last - first) // _OF_STYLE, 1)
        n = 0
        for i in range(first, last, stride):
            p = positions[i]
            n += 1
            for q in range(max(p - AROUND, 0), min(p + AROUND + 1, len(ids))):
                c = ids[q]
                if q == p or c < 0 or document[q] != document[p]:
                    continue
                for t in range(indptr[c], indptr[c + 1]):
                    found[w, indices[t]] += data[t]
        for j in range(M):
            found[w, j] /= max(n, 1)
    return found


@part_of_kernel
def _next(state: Any) -> Any:
    """Draw 32 random bits (xorshift64*)."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return (x * np.uint64(2685821657736338717)) >> np.uint64(32)


@kernel
def _permuted(R: Dense, sizes: Int64s, wider: float, permutations: int, seed: int) -> tuple[float, int, Floats]:
    """Return T, how many permutations reach it, and T of all that were made. R (N, C) is in the order of slices.

    T itself is divided by ``wider``.
    """
    N = len(R)
    order = np.arange(N)
    sums, q = np.empty((2, R.shape[1]), np.float32), np.empty(R.shape[1])
    observed = _between(R, sizes, order, sums, q) / wider
    drawn = np.empty(permutations)
    state = np.zeros(1, np.uint64)
    state[0] = np.uint64(seed + 1) * np.uint64(11400714819323198485) | np.uint64(1)
    for _ in range(16):
        _next(state)
    above, made = 0, 0
    while made < permutations and above < _ENOUGH:
        for i in range(N - 1, 0, -1):
            r = np.int64((_next(state) * np.uint64(i + 1)) >> np.uint64(32))
            order[i], order[r] = order[r], order[i]
        drawn[made] = _between(R, sizes, order, sums, q)
        above += drawn[made] >= observed
        made += 1
        if made == _FIRST and observed - drawn[:made].mean() > _FAR * drawn[:made].std():
            break
    return observed, above, drawn[:made].copy()


@part_of_kernel
def _between(R: Dense, sizes: Int64s, order: Int64s, sums: Dense, q: Floats) -> float:
    """Return T: slice s has the next sizes[s] units of the order; columns of R add up to nothing, to the last too."""
    first, C = 0, R.shape[1]
    q[:] = 0
    sums[:] = 0
    for s in range(len(sizes)):
        size = sizes[s]
        if s < len(sizes) - 1:
            sums[0] = 0
            for i in range(first, first + size):
                row = R[order[i]]
                for c in range(C):
                    sums[0, c] += row[c]
            for c in range(C):
                sums[1, c] -= sums[0, c]
        own = sums[0] if s < len(sizes) - 1 else sums[1]
        for c in range(C):
            q[c] += own[c] * own[c] / size
        first += size
    total = 0.0
    for c in range(C):
        total += q[c] ** _POWER
    mean: float = (total / C) ** (1 / _POWER)
    return mean
