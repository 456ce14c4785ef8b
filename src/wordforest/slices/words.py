"""Words in slices: the contexts a word has in each, X of a word in some of the slices, and lines to read.

X of a word in a slice is the association of its counts there, with the counts of the whole as a prior: ``kappa`` pairs
are added, shared out as the word's pairs are in all slices together. So a word that a slice has seldom looks there as
it looks on the whole, and one that it has often looks as it does there::

    x_c = log  (n_c + kappa P(c | word)) / ((n + kappa) q_c),      q_c the share of context c in the slice

q is shrunk towards the whole in the same way. With this X and the dictionary of the run the word has a code, hence a
path, for every slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.counts.association import pmi_rows
from wordforest.counts.windows import WindowRules
from wordforest.runtime.machine import kernel
from wordforest.slices.texts import CSR, Int32s, Int64s, Slices

Floats = NDArray[np.float64]

KAPPA = 300.0  # pairs of the whole that are added to those of a slice; what it gains: docs/compare.md
_CONTEXTS = 10_000.0  # words of the whole that are added to those of a slice, for the shares of contexts
_LOOKED_AT = 10_000  # occurrences of a word that examples are chosen from
_PRIOR = 500.0  # pairs of average text, for contexts that made a difference


class Contrast(NamedTuple):
    """A word in some of the slices and in others: rows of two sets of slices."""

    word: int
    before: tuple[int, ...]
    after: tuple[int, ...]


def contexts(slices: Slices, word: int, rules: WindowRules) -> Int64s:
    """Return how often a word has each context in each slice, (S, C), as window counts have it."""
    V = len(slices.words)
    weights = rules.weights(len(slices.ids))
    return _contexts(
        word,
        slices.ids,
        *slices.positions,
        slices.document,
        slices.code,
        weights,
        (rules.contexts(V), rules.columns(V), len(slices.names)),
    )


def rows(
    slices: Slices,
    contrasts: Sequence[Contrast],
    rules: WindowRules,
    *,
    smoothing: float = 1.0,
    least: float | None = None,
    kappa: float = KAPPA,
) -> CSR:
    """Return X (2 n, C): for each contrast a row of the word before and one after.

    ``least`` is the shift of shifted positive PMI, 0 for positive PMI, None for PMI.
    """
    made, shares = list[CSR](), dict[tuple[int, ...], Any]()
    unit = max(float(rules.weights(len(slices.ids))[0]), 1.0)  # what a pair of neighbours counts
    for word, *sides in contrasts:
        found = contexts(slices, word, rules) / unit  # (S, C), in pairs
        whole = found.sum(axis=0)
        prior = kappa * whole / max(float(whole.sum()), 1)
        for side in sides:
            n = found[list(side)].sum(axis=0) + prior
            at = np.flatnonzero(n)
            own = sparse.csr_array((n[at], (np.zeros(len(at), int), at)), shape=(1, len(n)))
            if side not in shares:
                shares[side] = _log_shares(slices, side, rules, smoothing)
            log_v = np.log(np.maximum(n.sum(keepdims=True), 1e-12)).astype(np.float32)
            made.append(pmi_rows(own, log_v, shares[side], least))
    return sparse.csr_array(sparse.vstack(made, format="csr"))


def _log_shares(slices: Slices, side: Sequence[int], rules: WindowRules, smoothing: float) -> Any:
    """Return the logarithm of the share of every context in some slices, (C,), shrunk towards the whole."""
    C, columns = rules.contexts(len(slices.words)), rules.columns(len(slices.words))
    own = slices.frequencies[list(side), :C].sum(axis=0).astype(np.float64)
    whole = slices.frequencies[:, :C].sum(axis=0).astype(np.float64)
    q = (own + _CONTEXTS * whole / max(float(whole.sum()), 1)) ** smoothing
    q = np.tile(q, columns // C)
    return np.log(np.maximum(q / q.sum(), 1e-30)).astype(np.float32)


def telling_contexts(slices: Slices, contrast: Contrast, rules: WindowRules) -> tuple[list[int], list[int], Floats]:
    """Return the contexts that a word has rather before, and those rather after, the most telling first, and z (V,).

    z is the log odds ratio of a context, by a prior of average text, over its standard deviation (Monroe and others
    2008).
    """
    found = contexts(slices, contrast.word, rules)
    V = rules.contexts(len(slices.words))
    by_side = np.stack([found[list(side)].sum(axis=0) for side in (contrast.before, contrast.after)])
    y = by_side.reshape(2, -1, V).sum(axis=1).astype(np.float64)  # left and right are one
    unit = max(float(rules.weights(len(slices.ids))[0]), 1.0)
    y /= unit
    whole = slices.frequencies[:, :V].sum(axis=0).astype(np.float64)
    a = _PRIOR * whole / max(float(whole.sum()), 1) + 1e-9
    n = y.sum(axis=1, keepdims=True) + _PRIOR
    odds = np.log((y + a) / (n - y - a))
    z = (odds[1] - odds[0]) / np.sqrt((1 / (y + a)).sum(axis=0))
    order = np.argsort(z, kind="stable")
    return [int(i) for i in order if z[i] < -1], [int(i) for i in order[::-1] if z[i] > 1], z


def example_lines(
    slices: Slices, word: int, side: Sequence[int], z: Floats, n: int = 2, width: int = 9
) -> list[tuple[str, str, str, str]]:
    """Return occurrences of a word in some slices, (document, left, word, right), the largest sums of z near first."""
    starts, positions = slices.positions
    own = positions[starts[word] : starts[word + 1]]
    own = own[np.isin(slices.code[slices.document[own]], list(side))]
    if not len(own):
        return []
    own = own[:: max(len(own) // _LOOKED_AT, 1)]
    values = np.append(np.append(z, np.zeros(len(slices.words) - len(z))), 0.0)  # -1 is the last
    score = np.zeros(len(own))
    for step in (*range(-width, 0), *range(1, width + 1)):
        near = np.clip(own + step, 0, len(slices.ids) - 1)
        score += np.where(slices.document[near] == slices.document[own], values[slices.ids[near]], 0.0)
    picked, documents = list[tuple[str, str, str, str]](), set[int]()
    for i in np.argsort(-score, kind="stable").tolist():
        d = int(slices.document[own[i]])
        if d not in documents:
            documents.add(d)
            picked.append((slices.documents[d], *slices.line(int(own[i]), width)))
        if len(picked) == n:
            break
    return picked


@kernel
def _contexts(
    word: int,
    ids: Int32s,
    starts: Int64s,
    positions: Int32s,
    document: Int32s,
    code: Int32s,
    weights: Int64s,
    sizes: tuple[int, int, int],
) -> Int64s:
    n_contexts, n_columns, S = sizes
    found = np.zeros((S, n_columns), np.int64)
    for i in range(starts[word], starts[word + 1]):
        p = positions[i]
        s = code[document[p]]
        for side in range(2):
            step = 2 * side - 1
            offset = side * (n_columns - n_contexts)
            q = p
            for d in range(len(weights)):
                q += step
                if q < 0 or q >= len(ids) or ids[q] < 0:
                    break
                if ids[q] < n_contexts:
                    found[s, ids[q] + offset] += weights[d]
    return found
