"""A space of contexts, in which an occurrence of a word lies near the words that could stand in its place.

An occurrence is described by the words left of it and right of it (those nearer count more, 1 / d), ten
and forty words on each side (frequent words count less, a / (a + share), as in SIF, Arora and others
2017): the mean of each view, where a word is k numbers: singular vectors of the positive PMI of all slices
together in one space, of its nodes on the forest in another. Linear discriminant analysis (Fisher 1936,
Rao 1948) with the words themselves as classes finds the K directions that tell words apart best by these 4
k numbers, and scales them so that the occurrences of a word vary by one along each::

    W = covariance of occurrences about the mean of their word,   B = covariance of the means of words, less W / n
    P = the K leading solutions of  B p = e W p,  p' W p = 1,     x = P' (views of an occurrence)

Some hundred words, evenly over all frequencies, are *usages*: the mean x of each says where it stands. No slice is
looked at but for its style: what occurrences of all usages have more there than on the whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.counts.association import ppmi
from wordforest.counts.windows import WindowRules
from wordforest.runtime.machine import Executor, kernel
from wordforest.slices.texts import CSR, Int32s, Int64s, Slices

Floats = NDArray[np.float64]
Dense = NDArray[np.float32]

VIEWS = 4  # left, right, around, wide
NEAR, AROUND, WIDE = 5, 10, 40  # words on each side
ALL = np.array([NEAR, NEAR, 2 * AROUND, 2 * WIDE])  # words of a view
DIRECTIONS, USAGES = 100, 300
OFTEN = 150  # times that a word stands which is a class, and may be a usage; of few such words the most frequent are
_FREQUENT = 1e-4  # share of a word that counts half, around and wide
_LEAST = 0.5  # added to the weight of a view, so that a view of a word or two says less
_SAMPLE = 150_000  # occurrences that directions are learned from
_OF_USAGE = 500  # occurrences that say where a usage is
_RIDGE = 1e-3
_VECTOR, _NODES = 60, 100  # numbers of a word, by what is near it and by its nodes
_CONTEXTS = 3000  # most frequent words, with which words are counted for their vectors
_BLOCK = 64  # words of a task


class Space(NamedTuple):
    """Directions of contexts, and where usages are."""

    table: Dense  # (4 V, K): what a word adds to an occurrence, in each view
    weight: Dense  # (V,)
    words: Int64s  # (C,) rows of the vocabulary that are usages
    usages: Dense  # (C, K)
    style: Dense  # (S, K)
    most: Int64s  # (4,): words of a view that are looked at, the nearest

    def place(self, slices: Slices, at: Int32s) -> tuple[Dense, Dense]:
        """Return where the occurrences at some positions lie, style taken away, (n, K), and words in views, (n, 4)."""
        views, number = _views(slices, at, self.weight, self.most)
        X = np.asarray(views @ self.table)
        X -= self.style[slices.code[slices.document[at]]]
        return X, number


def word_vectors(slices: Slices, executor: Executor) -> Dense:
    """Return words by what is near them in all slices, (V, k): singular vectors of positive PMI, of length one."""
    from sklearn.utils.extmath import randomized_svd

    X = ppmi(slices.counts(WindowRules(window=NEAR, max_contexts=_CONTEXTS)), executor=executor)
    U, values, _ = randomized_svd(X, min(_VECTOR, *X.shape), n_iter=2, random_state=0)
    E = U * np.sqrt(values)
    return np.asarray(E / np.maximum(np.linalg.norm(E, axis=1, keepdims=True), 1e-12), dtype=np.float32)


def node_vectors(shares: CSR) -> Dense:
    """Return words by their nodes (V, M), (V, k): singular vectors, as long as they are."""
    from sklearn.utils.extmath import randomized_svd

    U, values, _ = randomized_svd(shares, min(_NODES, *shares.shape), n_iter=2, random_state=0)
    return np.asarray(U * values, dtype=np.float32)


def learn_space(slices: Slices, E: Dense, executor: Executor) -> Space:
    """Learn the directions in which words differ by the vectors E (V, k) of words around them, and choose usages."""
    starts, _ = slices.positions
    often = np.diff(starts)
    weight = (_FREQUENT / (_FREQUENT + often / max(int(often.sum()), 1))).astype(np.float32)
    words = np.flatnonzero(often >= min(OFTEN, max(np.sort(often)[::-1][:USAGES][-1], 2)))
    each = min(max(_SAMPLE // max(len(words), 1), 4), _OF_USAGE)
    V, D = len(often), VIEWS * E.shape[1]
    counted = often * np.concatenate((np.ones((2, V)), np.tile(weight, (2, 1))))  # (4, V)
    counted /= np.maximum(counted.sum(axis=1, keepdims=True), 1e-12)
    typical = (counted @ E).astype(np.float32)  # (4, k)

    def classes(block: Int64s) -> tuple[Floats, Floats, Floats]:
        own = [_some(slices, word, each) for word in block]
        views, number = _views(slices, np.concatenate(own), weight, ALL)
        ends = np.concatenate(([0], np.cumsum(number, dtype=np.int64)))
        by_view = sparse.csr_array((views.data, views.indices % V, ends), shape=(number.size, V))  # (4 n, V)
        X = (by_view @ E).reshape(-1, *typical.shape)
        X -= by_view.sum(axis=1).reshape(-1, VIEWS, 1) * typical  # a view of few words is no other than one of many
        X = X.reshape(-1, D)
        n, means = np.array([len(at) for at in own]), np.empty((len(own), D))
        for i, part in enumerate(np.split(X, np.cumsum(n)[:-1])):
            means[i] = part.mean(axis=0)
            part -= means[i]
        return X.T @ X, means, n.astype(np.float64)

    within, means, sizes = np.zeros((D, D)), list[Floats](), list[Floats]()
    for W, mean, n in executor.map(classes, _blocks(words)):
        within += W
        means.append(mean)
        sizes.append(n)
    P = _directions(within, np.concatenate(means or [np.zeros((0, D))]), np.concatenate(sizes or [np.zeros(0)]))
    return Space(
        np.concatenate([(E - mean) @ part for mean, part in zip(typical, np.split(P, VIEWS), strict=True)]),
        weight,
        words[np.unique(np.linspace(0, len(words) - 1, min(USAGES, len(words))).astype(np.int64))],
        np.zeros((0, P.shape[1]), np.float32),
        np.zeros((len(slices.names), P.shape[1]), np.float32),
        ALL,
    )


def _directions(within: Floats, means: Floats, n: Floats) -> Dense:
    """Return the directions that tell words apart best, (D, K), given sums of squares, means (words, D) and numbers."""
    from scipy.linalg import eigh

    D, free = len(within), float((n - 1).sum())
    if len(means) < 2 or free <= 0 or not within.any():
        return np.zeros((D, 0), np.float32)
    W = within / free
    B = np.cov(means.T) - W * float(np.mean(1 / n))
    W += np.eye(D) * (_RIDGE * np.trace(W) / D)
    K = min(DIRECTIONS, D, len(means) - 1)
    _, P = eigh(B, W, subset_by_index=(D - K, D - 1))
    return np.asarray(P[:, ::-1], dtype=np.float32)


def with_usages(space: Space, slices: Slices, executor: Executor) -> Space:
    """Return the space with the means of its usages, the style of slices, and as many words in a view as all have.

    In short documents few words are around a word, and what few words say varies more. So in all slices no more words
    are looked at than there are on average in that which has fewest.
    """
    S, K = len(slices.names), space.table.shape[1]
    style, number = np.zeros((S, K)), np.zeros((S, 1))
    space = space._replace(style=style.astype(np.float32))
    if not len(space.words) or not K:
        return space

    def around(block: Int64s) -> tuple[Floats, Floats]:
        at = np.concatenate([_some(slices, word, _OF_USAGE) for word in block])
        within = _within(slices, at)
        return np.asarray(within @ _views(slices, at, space.weight, ALL)[1]), within.sum(axis=1, dtype=np.float64)[
            :, None
        ]

    def look(space: Space, block: Int64s) -> tuple[Dense, Floats]:
        means, beyond = np.zeros((len(block), K), np.float32), np.zeros((S, K))
        for i, word in enumerate(block):
            at = _some(slices, word, _OF_USAGE)
            X, _ = space.place(slices, at)
            means[i] = X.mean(axis=0)
            beyond += _within(slices, at) @ (X - means[i])
        return means, beyond

    words = np.zeros((S, VIEWS))
    for found, n in executor.map(around, _blocks(space.words)):
        words += found
        number += n
    least = np.divide(words, number, out=np.full_like(words, np.inf), where=number > 0).min(axis=0)
    space = space._replace(most=np.ceil(least).astype(np.int64))
    usages = list[Dense]()
    for means, beyond in executor.map(look, _blocks(space.words), space):
        usages.append(means)
        style += beyond
    style /= np.maximum(number, 1)
    return space._replace(usages=np.concatenate(usages), style=style.astype(np.float32))


def _within(slices: Slices, at: Int32s) -> CSR:
    """Return which slice the occurrences at some positions are in, (S, n)."""
    code = slices.code[slices.document[at]]
    return sparse.csr_array((np.ones(len(at)), (code, np.arange(len(at)))), shape=(len(slices.names), len(at)))


def _blocks(words: Int64s) -> list[Int64s]:
    return [words[i : i + _BLOCK] for i in range(0, len(words), _BLOCK)]


def _some(slices: Slices, word: int, most: int) -> Int32s:
    """Return where a word stands, or of many places some, evenly."""
    starts, positions = slices.positions
    first, last = int(starts[word]), int(starts[word + 1])
    n = last - first
    return positions[first:last] if n <= most else positions[first + np.arange(most) * n // most]


def _views(slices: Slices, at: Int32s, weight: Dense, most: Int64s) -> tuple[CSR, Dense]:
    """Return the weights of the words around some positions, (n, 4 V), and how many they are in each view, (n, 4).

    The weights of a view are divided by their sum and a half, and so add up to less than one.
    """
    indices, data, ends, number = _words_near(at, slices.ids, slices.document, weight, most)
    return sparse.csr_array((data, indices, ends), shape=(len(at), VIEWS * len(weight))), number


@kernel
def _words_near(
    at: Int32s, ids: Int32s, document: Int32s, weight: Dense, most: Int64s
) -> tuple[Int64s, Dense, Int64s, Dense]:
    n, V = len(at), len(weight)
    indices = np.empty(n * most.sum(), np.int64)
    data = np.empty(len(indices), np.float32)
    ends, number = np.zeros(n + 1, np.int64), np.zeros((n, VIEWS), np.float32)
    k = 0
    for i in range(n):
        p = at[i]
        d, word = document[p], ids[p]
        for view in range(VIEWS):
            first, total = k, np.float32(_LEAST)
            reach = NEAR if view < 2 else AROUND if view == 2 else WIDE
            goes_on = np.array([view != 1, view != 0])
            for t in range(1, reach + 1):
                for side in range(2):
                    q = p + (2 * side - 1) * t
                    if not goes_on[side] or k - first == most[view]:
                        continue
                    if q < 0 or q >= len(ids) or document[q] != d or (ids[q] < 0 and view < 2):
                        goes_on[side] = False  # nearness ends with the sentence, what is around with the document
                        continue
                    c = ids[q]
                    if c < 0 or c == word:
                        continue
                    value = np.float32(1 / t) if view < 2 else weight[c]
                    indices[k], data[k] = view * V + c, value
                    total += value
                    k += 1
            number[i, view] = k - first
            for j in range(first, k):
                data[j] /= total
        ends[i + 1] = k
    return indices[:k].copy(), data[:k].copy(), ends, number
