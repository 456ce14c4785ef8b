"""Did a word change its company? The nodes of the words around it, compared between slices by permuted documents.

An occurrence of a word is described by the nodes of the words left of it, right of it (those nearer count more, 1 / d)
and around it (ten on each side): the *company* it keeps on the forest, 3 M numbers. A slice may be written in another
style, so that all words are in other company there; that says nothing of one word. So company is divided by how much
more of a node the words of the slice have around them than the same words have on the whole (``style``)::

    style_sj = share of j in slice s  /  sum over words w of share of w in s * company of w at j on the whole
    u_dj = sum over words c near the word in document d of  weight * share_cj / style_sj      (s the slice of d)
    r_dj = (u_dj - n_d sum_d u_dj / sum_d n_d),  divided by its length over all documents     (n_d occurrences)
    T    = sum over slices s of |sum over d in s of r_d|^2 / n_s                              (n_s documents of s)

T is the sum of squares between slices (as in PERMANOVA, Anderson 2001), all nodes at all depths alike: roots add up
many weak differences, leaves see narrow ones. Its p comes from permuting the slices of the documents that have the
word. So it takes nothing for granted of how words lie in documents, and does not mind that a word became more frequent.
All that permuting needs is the products of documents, r_d . r_e. It ends early where chance does as well ten times
(Besag and Clifford 1991); where it never does, the tail goes on from the upper tenth of the permuted T as that of a sum
of squares does, exponentially.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.runtime.machine import Executor, Threads, kernel, part_of_kernel
from wordforest.slices.texts import CSR, Slices

Floats = NDArray[np.float64]
Dense = NDArray[np.float32]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

PERMUTATIONS = 1000
WINDOW, AROUND = 5, 10  # words on each side that count by nearness, and all alike
VIEWS = 3  # left, right, around
LEAST = 3  # documents with the word, below which a slice is left out of its test
_UNITS = 256  # documents of a word that are permuted one by one; more are pooled to so many
_OCCURRENCES = 4000  # of a word that are looked at; of more every second, third, ...
_MORE = 16  # times as many permutations, at most, where documents are few
_TOP = 0.1  # of the permuted T that the tail begins with
_ENOUGH = 10  # permutations that do as well, after which no more are made
_BLOCK = 32  # words of a task that tests them
_WIDE = 1024  # words of a task that looks around them


class Changes(NamedTuple):
    """What the test found for W words: how much of the company changed, z and p, and how many slices have the word."""

    words: Int64s  # (W,) rows of the vocabulary
    effect: Floats  # share of the company's sum of squares that is between slices, beyond what chance gives; up to 1
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
    sea, sailors would seem to be closer to it.
    """

    def __init__(
        self, slices: Slices, shares: CSR, whole: NDArray[Any] | None = None, executor: Executor | None = None
    ) -> None:
        self.slices, self.shares = slices, shares.astype(np.float32)
        M = shares.shape[1]
        self._roots = np.ones(M) if whole is None else np.asarray(whole, dtype=np.float64)
        _ = slices.positions, slices.document  # once, before threads ask for them
        sizes = slices.frequencies.sum(axis=1, keepdims=True)
        used = np.asarray(slices.frequencies @ shares.astype(np.float64))
        self.base = used / np.maximum(sizes, 1)  # (S, M): share of each node in each slice
        self.whole = used.sum(axis=0) / max(int(sizes.sum()), 1)  # (M,)
        own = self.shares
        self._csr = (own.indptr.astype(np.int64), own.indices.astype(np.int32), np.ascontiguousarray(own.data))
        self._scale = (1 / self._style(executor or Threads())).astype(np.float32)

    def _style(self, executor: Executor) -> Floats:
        """Return how much more of each node words have around them in a slice than on the whole, (S, M)."""
        frequencies, M = self.slices.frequencies.astype(np.float64), self.base.shape[1]

        def expected(block: Int64s) -> Floats:
            around = _around(block, self.slices.ids, *self.slices.positions, self.slices.document, self._csr, M)
            return np.asarray(frequencies[:, block] @ around)

        words = np.arange(len(self.slices.words))
        blocks = [words[i : i + _WIDE] for i in range(0, len(words), _WIDE)]
        sums = np.sum([*executor.map(expected, blocks)], axis=0)
        found, wanted = (one / np.maximum(one @ self._roots, 1e-12)[:, None] for one in (self.base, sums))
        both = (found > 0) & (wanted > 0)
        return np.asarray(np.divide(found, wanted, out=np.ones_like(found), where=both))

    def changes(
        self, words: Any, *, permutations: int = PERMUTATIONS, seed: int = 0, executor: Executor | None = None
    ) -> Changes:
        """Test for each of the words, rows of the vocabulary, whether its company differs between slices."""
        words = np.asarray(words, dtype=np.int64)
        blocks = [words[i : i + _BLOCK] for i in range(0, len(words), _BLOCK)]

        def test(block: Int64s) -> list[tuple[float, ...]]:
            return [self._tested(int(word), permutations, seed) for word in block]

        found = [row for rows in (executor or Threads()).map(test, blocks) for row in rows]
        effect, z, p, n = np.array(found, dtype=np.float64).reshape(-1, 4).T
        return Changes(words, effect, z, p, n.astype(np.int64))

    def contrast(self, word: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the slices before and after which a word's company differs most, or all others and the one slice."""
        S = len(self.slices.names)
        if S == 2:
            return (0,), (1,)
        U, n, label = self._units(word)
        R = _scaled(_residuals(U, n))
        sums = np.zeros((S, R.shape[1]))
        np.add.at(sums, label, R)
        inside, N = np.bincount(label, minlength=S).astype(np.float64), len(label)
        if self.slices.is_time:
            sums, inside = np.cumsum(sums, axis=0), np.cumsum(inside)
        usable = (inside >= LEAST) & (N - inside >= LEAST)
        size = np.maximum(inside * (N - inside), 1)
        best = int(np.argmax(np.where(usable, (sums**2).sum(axis=1) / size, -1)))
        if self.slices.is_time:
            return tuple(range(best + 1)), tuple(range(best + 1, S))
        return tuple(s for s in range(S) if s != best), (best,)

    def company(self, word: int, before: tuple[int, ...], after: tuple[int, ...]) -> Company:
        """Return the lift of nodes around a word in two sets of slices, and z of the difference."""
        U, n, label = self._units(word)
        M = self.base.shape[1]
        own = np.isin(label, (*before, *after))
        V, n, later = U[own, (VIEWS - 1) * M :].astype(np.float64), n[own], np.isin(label[own], after)
        by_side = np.stack([V[~later].sum(axis=0), V[later].sum(axis=0)])
        share = by_side / np.maximum(by_side @ self._roots, 1e-12)[:, None]
        base = self.whole / max(float(self.whole @ self._roots), 1e-12)
        lift = np.divide(share, base, out=np.zeros_like(share), where=base > 0)
        R, N, inside = _residuals(V, n), len(V), int(later.sum())
        deviation = np.sqrt(inside * (N - inside) / max(N * (N - 1), 1) * (R**2).sum(axis=0))
        z = np.divide(R[later].sum(axis=0), deviation, out=np.zeros(M), where=deviation > 1e-9)
        return Company(lift, z)

    def _units(self, word: int) -> tuple[Dense, Dense, Int32s]:
        """Return the company of a word in documents, or pools of them, (N, 3 M); occurrences and slices, (N,) each."""
        one = self.slices
        U, n, label = _gathered(
            word, one.ids, *one.positions, one.document, one.code, self._csr, len(one.names), self.base.shape[1]
        )
        U *= np.tile(self._scale, VIEWS)[label]
        M = self.base.shape[1]
        for view in range(
            VIEWS
        ):  # shorter sentences and documents have fewer words around a word: of every slice as many
            part = U[:, view * M : (view + 1) * M]
            mass = part @ self._roots.astype(np.float32)
            for s in np.unique(label):
                own = label == s
                part[own] *= np.float32(n[own].sum() / max(float(mass[own].sum()), 1e-12))
        return U, n, label

    def _tested(self, word: int, permutations: int, seed: int) -> tuple[float, float, float, int]:
        U, n, label = self._units(word)
        sizes = np.bincount(label, minlength=len(self.slices.names))
        kept = sizes[label] >= LEAST
        U, n, label = U[kept], n[kept], label[kept]
        kept_sizes = sizes[sizes >= LEAST]
        often = np.bincount(label, n, minlength=len(sizes))[sizes >= LEAST]
        sizes = kept_sizes
        if len(sizes) < 2:
            return np.nan, np.nan, np.nan, len(sizes)
        R = _scaled(_residuals(U, n))[np.argsort(label, kind="stable")]
        if not R.size:
            return 0.0, 0.0, 1.0, len(sizes)
        most = permutations * min(max((_UNITS // len(R)) ** 2, 1), _MORE)  # of few documents more, for the same time
        G = R @ R.T
        wider = _wider(G, sizes, often)
        observed, above, drawn = _permuted(G, sizes, wider, most, seed * 1_000_003 + word)
        by_chance = float(drawn.mean())
        effect = (observed - by_chance) / max(R.shape[1] - by_chance, 1e-12)
        z, p = _tail(observed, above, drawn)
        return effect, z, max(p, _fewest(sizes)), len(sizes)


def _residuals(U: Any, n: Any) -> Any:
    """Return what documents have more than their occurrences would have on average, (N, K)."""
    return U - n[:, None] * (U.sum(axis=0) / max(float(n.sum()), 1e-12))


def _scaled(R: Any) -> Any:
    """Return columns of length one; those that are zero are left out."""
    length = np.sqrt((R**2).sum(axis=0))
    return R[:, length > 1e-6] / length[length > 1e-6]


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


def _wider(G: Any, sizes: Int64s, often: Any) -> float:
    """Return how much larger T is by chance than permutations have it, at least 1.

    Documents of one slice may have the word more often, hence vary more; permuted among others they seem to vary less.
    G (N, N) is in the order of slices, ``often`` (S,) their occurrences; documents vary about the mean of their slice.
    """
    ends = np.cumsum(sizes)
    blocks = [G[end - size : end, end - size : end] for size, end in zip(sizes, ends, strict=True)]
    own = np.array([float(np.trace(one)) - float(one.sum(dtype=np.float64)) / len(one) for one in blocks])
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
def _gathered(
    word: int,
    ids: Int32s,
    starts: Int64s,
    positions: Int32s,
    document: Int32s,
    code: Int32s,
    csr: tuple[Int64s, Int32s, Dense],
    S: int,
    M: int,
) -> tuple[Dense, Dense, Int32s]:
    """Add up the nodes near a word by document, (N, 3 M): left, right, around; occurrences and slices, (N,) each."""
    indptr, indices, data = csr
    first, last = starts[word], starts[word + 1]
    stride = max((last - first) // _OCCURRENCES, 1)
    n_documents, n_units, offset = np.zeros(S, np.int64), np.zeros(S, np.int64), np.zeros(S + 1, np.int64)
    before = -1
    for i in range(first, last, stride):
        d = document[positions[i]]
        if d != before:
            n_documents[code[d]] += 1
            before = d
    N = n_documents.sum()
    for s in range(S):
        few = min(n_documents[s], LEAST)
        n_units[s] = n_documents[s] if N <= _UNITS else max(n_documents[s] * _UNITS // N, few)
        offset[s + 1] = offset[s] + n_units[s]
    pooled = N > _UNITS
    U = np.zeros((offset[S], 3 * M), np.float32)
    n, label = np.zeros(offset[S], np.float32), np.zeros(offset[S], np.int32)
    seen = np.zeros(S, np.int64)
    before, unit = -1, 0
    for i in range(first, last, stride):
        p = positions[i]
        d = document[p]
        if d != before:
            s = code[d]
            # at random, not in turn: neighbours are alike, and pools that share them out evenly differ too little
            number = np.int64((np.uint64(d + 1) * np.uint64(11400714819323198485)) >> np.uint64(33))
            unit = offset[s] + (number if pooled else seen[s]) % n_units[s]
            label[unit] = s
            seen[s] += 1
            before = d
        n[unit] += 1
        for side in range(2):
            step = 2 * side - 1
            inside = True
            q = p
            for k in range(AROUND):
                q += step
                if q < 0 or q >= len(ids) or document[q] != d:
                    break
                c = ids[q]
                if c < 0:
                    inside = False  # nearness ends with the sentence, what is around with the document
                    continue
                near = np.float32(1 / (k + 1)) if inside and k < WINDOW else np.float32(0)
                for t in range(indptr[c], indptr[c + 1]):
                    j = indices[t]
                    U[unit, side * M + j] += near * data[t]
                    U[unit, 2 * M + j] += data[t]
    if not pooled:
        return U, n, label
    used = np.flatnonzero(n)  # a pool that nothing came into is none
    return U[used], n[used], label[used]


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
        stride = max((last - first) // _OCCURRENCES, 1)
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
def _permuted(G: Dense, sizes: Int64s, wider: float, permutations: int, seed: int) -> tuple[float, int, Floats]:
    """Return T, how many permutations reach it, and T of all that were made. G (N, N) is in the order of slices.

    T itself is divided by ``wider``.
    """
    N = len(G)
    order = np.arange(N)
    observed = _between(G, sizes, order) / wider
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
        drawn[made] = _between(G, sizes, order)
        above += drawn[made] >= observed
        made += 1
    return observed, above, drawn[:made].copy()


@part_of_kernel
def _between(G: Dense, sizes: Int64s, order: Int64s) -> float:
    """Return the sum of squares between slices: slice s has the next sizes[s] documents of the order."""
    total, first = 0.0, 0
    for size in sizes:
        within = 0.0
        for i in range(first, first + size):
            row = G[order[i]]
            within += 0.5 * row[order[i]]
            for j in range(first, i):
                within += row[order[j]]
        total += 2 * within / size
        first += size
    return total
