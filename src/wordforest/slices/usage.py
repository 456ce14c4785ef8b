"""How much slices use nodes and words: shares with intervals, log odds against all other slices, tests, change points.

The log odds of a node in a slice against all others have a Dirichlet prior (Monroe, Colaresi and Quinn 2008) that knows
the whole: ``PRIOR`` words of average text are added to either side, so that what is rare is not extreme by chance::

    log odds = log (y + a) / (n + A - y - a)  in the slice  -  the same in all others,   a = A * share in the whole

y is what the node has of the slice's n words. Intervals are a bootstrap over documents; a test asks whether the
documents of a slice could be any documents: over all permutations of documents, mean, variance and skewness of what a
slice has beyond its length are known exactly, and a Pearson III curve goes through them (documents/groups.py). All of
this follows from sums over the documents of every slice, of counts and lengths to the third power.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.documents.groups import adjusted, subset_test
from wordforest.evaluation.bootstrap import N_RESAMPLES, generator
from wordforest.slices.texts import CSR, Slices

Floats = NDArray[np.float64]

PRIOR = 1000.0  # words of average text on either side
_UNITS = 512  # documents of a slice that are resampled one by one; more are pooled to so many
_DEEPEST = 6  # times that a curve is cut in two


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over the documents of S slices, of counts c of K things and lengths L: (S, K) or (S,) each."""

    documents: NDArray[np.int64]
    length: Floats  # (3, S): L, L^2, L^3
    count: Floats  # (3, S, K): c, c^2, c^3
    mixed: Floats  # (3, S, K): c L, c L^2, c^2 L

    @property
    def share(self) -> Floats:
        """What things have of the length of a slice, (S, K)."""
        return np.asarray(self.count[0] / np.maximum(self.length[0], 1)[:, None])

    def part(self, first: int, last: int) -> Sums:
        """Return the sums of some slices that follow each other."""
        own = slice(first, last)
        return Sums(self.documents[own], self.length[:, own], self.count[:, own], self.mixed[:, own])

    def of(self, things: Any) -> Sums:
        """Return the sums of some things."""
        return Sums(self.documents, self.length, self.count[:, :, things], self.mixed[:, :, things])

    def residuals(self, p: Floats | None = None) -> Floats:
        """Return sums of what documents have beyond their length, of its square and its cube, (3, S, K).

        Beyond p times their length, p (K,) or (S, K); by default what all slices together have.
        """
        if p is None:
            p = self.count[0].sum(axis=0) / max(float(self.length[0].sum()), 1)
        L, (c1, c2, c3), (cL, cL2, c2L) = self.length[:, :, None], self.count, self.mixed
        return np.stack(
            [
                c1 - p * L[0],
                c2 - 2 * p * cL + p**2 * L[1],
                c3 - 3 * p * c2L + 3 * p**2 * cL2 - p**3 * L[2],
            ]
        )

    def up_to(self) -> Sums:
        """Return the sums of all slices up to each but the last."""
        n, length = np.cumsum(self.documents)[:-1], np.cumsum(self.length, axis=1)[:, :-1]
        return Sums(n, length, *(np.cumsum(one, axis=1)[:, :-1] for one in (self.count, self.mixed)))

    def without(self, part: Sums) -> Sums:
        """Return for each of some parts the sums of all that is not in it."""
        return Sums(
            self.documents.sum() - part.documents,
            self.length.sum(axis=1, keepdims=True) - part.length,
            self.count.sum(axis=1, keepdims=True) - part.count,
            self.mixed.sum(axis=1, keepdims=True) - part.mixed,
        )

    def spread(self) -> Floats:
        """Return the variance of the sum of what documents have beyond their length, by the share of each, (S, K)."""
        n = self.documents[:, None].astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):  # of one document nothing can be said
            return np.asarray(self.residuals(self.share)[1] * n / (n - 1))


class Usage(NamedTuple):
    """Shares of K things in S slices, (S, K) each; ``low`` and ``high`` end a 95 % interval, nan where none is."""

    share: Floats
    low: Floats
    high: Floats
    log_odds: Floats
    log_low: Floats
    log_high: Floats
    p: Floats
    q: Floats  # p after Benjamini and Yekutieli over all cells


class Change(NamedTuple):
    """A thing that is used more or less from a slice on: its shares before and after, within what was cut in two."""

    thing: int
    slice: int
    before: float
    after: float
    p: float
    q: float


def sum_up(slices: Slices, shares: CSR | None = None) -> Sums:
    """Return sums of words over documents, or of what nodes have of them where ``shares`` (V, M) are given."""
    S, K = len(slices.names), len(slices.words) if shares is None else shares.shape[1]
    length, count, mixed = np.zeros((3, S)), np.zeros((3, S, K)), np.zeros((3, S, K))
    for bags, rows in slices.bags():
        L = bags.sum(axis=1)
        within = sparse.csr_array((np.ones(len(rows)), (slices.code[rows], np.arange(len(rows)))), shape=(S, len(rows)))
        C: Any = bags if shares is None else (bags @ shares).toarray()
        by = [within, *(sparse.csr_array(within * L**k) for k in (1, 2))]
        powers = [C, C * C, C * C * C]
        for k in range(3):
            length[k] += within @ L ** (k + 1)
            count[k] += _dense(within @ powers[k])
        mixed[0] += _dense(by[1] @ C)
        mixed[1] += _dense(by[2] @ C)
        mixed[2] += _dense(by[1] @ powers[1])
    return Sums(np.bincount(slices.code, minlength=S), length, count, mixed)


def _dense(found: Any) -> Floats:
    return np.asarray(found if isinstance(found, np.ndarray) else found.toarray())


def usage(slices: Slices, sums: Sums, shares: CSR | None = None, *, seed: int = 0) -> Usage:
    """Return how much each slice uses things; intervals where ``shares`` (V, M) of nodes are given."""
    log_odds = _log_odds(sums.count[0], sums.length[0][:, None], sums)
    p = _tested(sums, sums)
    none = np.full_like(log_odds, np.nan)
    low, high, log_low, log_high = (none,) * 4 if shares is None else _intervals(slices, sums, shares, seed)
    return Usage(sums.share, low, high, log_odds, log_low, log_high, p, adjusted(p, dependent=True))


def _tested(parts: Sums, sums: Sums) -> Floats:
    """Return p of parts of the slices, (P, K): is what they have beyond their length more than chance?

    The larger of two: that of permuted documents, and that of Welch's test. Permutations take documents of all slices
    for alike, so that those of a slice with few long ones would seem to vary too little; Welch's test lets slices vary
    each as it does, but knows no skewness.
    """
    from scipy.special import stdtr

    whole, N = sums.residuals().sum(axis=1), int(sums.documents.sum())
    n = parts.documents[:, None].astype(np.float64)
    r = parts.residuals(sums.count[0].sum(axis=0) / max(float(sums.length[0].sum()), 1))[0]
    _, p = subset_test(whole, N, n, r / np.maximum(n, 1))
    f = (parts.length[0] / max(float(sums.length[0].sum()), 1))[:, None]
    a, b = (1 - f) ** 2 * parts.spread(), f**2 * sums.without(parts).spread()
    with np.errstate(divide="ignore", invalid="ignore"):  # parts of one document, or all of them: permutations alone
        df = (a + b) ** 2 / (a**2 / (n - 1) + b**2 / (N - n - 1))
        welch = 2 * stdtr(df, -np.abs(r) / np.sqrt(a + b))
    return np.asarray(np.fmax(p, np.where(np.isfinite(welch), welch, np.nan)))


def _log_odds(y: Any, n: Any, sums: Sums, y_all: Any = None, n_all: Any = None) -> Floats:
    """Return log odds of counts y of n words against the rest of y_all of n_all, all by the prior of the whole."""
    total, size = sums.count[0].sum(axis=0), sums.length[0].sum()
    a = PRIOR * total / max(float(size), 1)
    y_all, n_all = total if y_all is None else y_all, size if n_all is None else n_all
    # at least one word is not the thing's: of a single tree the root has all
    inside = np.log(y + a + 1e-9) - np.log(np.maximum(n + PRIOR - y - a, 1.0))
    outside = np.log(np.maximum(y_all - y, 0) + a + 1e-9) - np.log(np.maximum(n_all - n + PRIOR - (y_all - y) - a, 1.0))
    return np.asarray(inside - outside)


def _intervals(slices: Slices, sums: Sums, shares: CSR, seed: int) -> list[Floats]:
    """Return the ends of intervals of shares and of log odds, (S, M) each, by resampling documents within slices."""
    from scipy.special import stdtrit

    S, M = sums.count[0].shape
    drawn_y, drawn_n = np.zeros((S, N_RESAMPLES, M), np.float32), np.zeros((S, N_RESAMPLES, 1))
    wider = np.ones((S, 1))
    for s, Y, L in _units(slices, shares, seed):
        rng, n = generator(seed, "usage", str(slices.names[s])), len(L)
        draws = rng.multinomial(n, np.full(n, 1 / n), size=N_RESAMPLES).astype(np.float64)
        drawn_y[s], drawn_n[s, :, 0] = draws @ Y, draws @ L
        documents = int(sums.documents[s])
        if documents > 1:  # resamples of few documents are too alike
            wider[s] = stdtrit(documents - 1, 0.975) / 1.959964 * np.sqrt(documents / (documents - 1))
        else:
            wider[s] = np.nan
    all_y, all_n = drawn_y.sum(axis=0, dtype=np.float64), drawn_n.sum(axis=0)
    ends = [np.empty((S, M)) for _ in range(4)]
    for s in range(S):
        share = drawn_y[s] / np.maximum(drawn_n[s], 1)
        odds = _log_odds(drawn_y[s].astype(np.float64), drawn_n[s], sums, all_y, all_n)
        for k, drawn in ((0, share), (2, odds)):
            low, middle, high = np.percentile(drawn, (2.5, 50, 97.5), axis=0)
            ends[k][s], ends[k + 1][s] = middle + wider[s] * (low - middle), middle + wider[s] * (high - middle)
    ends[0] = np.maximum(ends[0], 0.0)
    return ends


def _units(slices: Slices, shares: CSR, seed: int) -> Iterator[tuple[int, Floats, Floats]]:
    """Yield each slice with what is resampled: nodes (n, M) and lengths (n,) of documents, or of pools of them."""
    rng = generator(seed, "usage", "pools")
    S, M = len(slices.names), shares.shape[1]
    number = np.bincount(slices.code, minlength=S)
    n_units = np.minimum(number, _UNITS)
    offset = np.concatenate(([0], np.cumsum(n_units)))
    unit = np.empty(len(slices.code), dtype=np.int64)
    for s in range(S):
        own = np.flatnonzero(slices.code == s)
        unit[own] = offset[s] + (rng.permutation(len(own)) % max(int(n_units[s]), 1))
    Y, L = np.zeros((int(offset[-1]), M)), np.zeros(int(offset[-1]))
    for bags, rows in slices.bags():
        np.add.at(L, unit[rows], bags.sum(axis=1))
        gather = sparse.csr_array((np.ones(len(rows)), (unit[rows], np.arange(len(rows)))), shape=(len(L), len(rows)))
        Y += (gather @ bags @ shares).toarray()
    for s in range(S):
        if n_units[s]:
            part = slice(int(offset[s]), int(offset[s + 1]))
            yield s, Y[part], L[part]


def change_points(sums: Sums, *, level: float = 0.05) -> list[Change]:
    """Return where things begin to be used more or less, for slices in the order of time.

    A curve is cut where its two parts differ most; p is that of the cut by permuted documents, times the number of cuts
    that were possible. Those that hold after Benjamini and Yekutieli over all things are kept, and either part is asked
    again.
    """
    S = len(sums.documents)
    cuts = _best_cuts(sums, np.arange(sums.count.shape[2]), 0)
    ends = [(0, S)] * len(cuts)
    found: list[Change] = []
    for _ in range(_DEEPEST):
        q = adjusted(np.array([cut.p for cut in cuts]), dependent=True)
        kept = [(cut._replace(q=float(v)), end) for cut, v, end in zip(cuts, q, ends, strict=True) if v < level]
        found += [cut for cut, _ in kept]
        parts = [(cut.thing, *end) for cut, (a, b) in kept for end in ((a, cut.slice), (cut.slice, b))]
        parts = [(thing, a, b) for thing, a, b in parts if b - a > 1]
        cuts = [_best_cuts(sums.of([thing]).part(a, b), np.array([thing]), a)[0] for thing, a, b in parts]
        ends = [(a, b) for _, a, b in parts]
        if not cuts:
            break
    return sorted(found, key=lambda change: (change.thing, change.slice))


def _best_cuts(sums: Sums, things: NDArray[Any], first: int) -> list[Change]:
    """Return for every thing the cut of its curve whose parts differ most; p is nan where there is nothing to cut."""
    y, L = sums.count[0], sums.length[0]
    p = _tested(sums.up_to(), sums)
    p = np.where(y.sum(axis=0) > 0, p, np.nan)  # (S - 1, K)
    cut = np.where(np.isnan(p), np.inf, p).argmin(axis=0) + 1
    every = np.arange(len(things))
    below, long = np.cumsum(y, axis=0), np.cumsum(L)
    share = below[cut - 1, every] / np.maximum(long[cut - 1], 1)
    after = (below[-1] - below[cut - 1, every]) / np.maximum(long[-1] - long[cut - 1], 1)
    least = np.minimum(1.0, p[cut - 1, every] * len(p))
    columns = zip(things.tolist(), (first + cut).tolist(), share.tolist(), after.tolist(), least.tolist(), strict=True)
    return [Change(*row, 1.0) for row in columns]
