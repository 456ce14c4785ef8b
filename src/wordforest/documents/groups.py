"""Shares of nodes by group of documents or over time: means, bootstrap intervals, and a test for difference.

The interval of a mean is a bootstrap over documents. A resample is a row of counts of documents, so all nodes of a
group are one sparse product with a matrix of counts. Which of the resampled means are the ends is corrected for the
skewness of shares (BCa, Efron 1987, whose constants are known for a mean) and for small groups (Student's t in place of
the normal curve): plain percentiles miss a rare node's true share half as often again, nearly always from below.

The test asks whether the documents of a group could be any documents. Permutations would need millions of draws to tell
5,000 cells apart; but mean, variance and skewness of a group's mean over all permutations are known exactly (sampling
without replacement), and a Pearson III curve through them follows the distribution far into its tail. Welch's test is
wrong here: in a small group a rare node has often no share at all, hence no variance, and each such zero is a proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.documents.times import Bins, binned
from wordforest.errors import InputError
from wordforest.evaluation.bootstrap import N_RESAMPLES, blocks_of_draws, generator
from wordforest.text.tables import is_missing

Floats = NDArray[np.float64]

_MOST_GROUPS = 1000
_UNITS = 4096  # documents that are resampled one by one; the width of the interval of more is known to 1 % anyway


class GroupShares(NamedTuple):
    """Shares of M nodes in G groups, or bins of time: mean, ends of its 95 % interval, and difference from the rest.

    ``p`` is for each cell alone; ``q`` is p after Benjamini and Hochberg over all cells. Cells that nothing can be said
    of are nan: shares of a bin without documents, intervals of a single document, tests where there is no rest.
    """

    groups: list[Any]
    documents: NDArray[np.int64]  # (G,)
    share: Floats  # (G, M), as those below
    low: Floats
    high: Floats
    difference: Floats
    p: Floats
    q: Floats
    left_out: int  # documents without a group


def by_group(shares: Any, groups: Sequence[Any], *, resamples: int = N_RESAMPLES, seed: int = 0) -> GroupShares:
    """Return the shares (n, M) of nodes by the group of each document; None, nan and empty text are no group."""
    _check(shares, groups)
    known = {group for group in groups if not is_missing(group)}
    if not known:
        raise InputError("expected a group for some documents, but none has one. Name another column.")
    if len(known) > _MOST_GROUPS:
        raise InputError(
            f"expected at most {_MOST_GROUPS} groups, but {len(known)} came. Is this column one of ids? Name another."
        )
    names = in_order(known)
    place = {name: i for i, name in enumerate(names)}
    codes = [-1 if is_missing(group) else place[group] for group in groups]
    return _by_code(shares, Bins(names, np.array(codes)), resamples, seed)


def over_time(
    shares: Any, times: Sequence[Any], *, bins: int | str | None = None, resamples: int = N_RESAMPLES, seed: int = 0
) -> GroupShares:
    """Return the shares (n, M) of nodes over time; ``groups`` are the starts of the bins, in order (see times.binned).

    Bins without documents are there, with 0 documents and nan for shares.
    """
    _check(shares, times)
    return _by_code(shares, binned(times, bins), resamples, seed)


def _check(shares: Any, values: Sequence[Any]) -> None:
    if shares.shape[0] != len(values):
        raise InputError(
            f"expected a value for each of {shares.shape[0]} documents, but {len(values)} came. "
            "Give them in the order of the documents, None where there is none."
        )


def in_order(names: set[Any]) -> list[Any]:
    """Return names sorted, as text where they cannot be compared."""
    try:
        return sorted(names)
    except TypeError:  # numbers and text
        return sorted(names, key=str)


def _by_code(shares: Any, bins: Bins, resamples: int, seed: int) -> GroupShares:
    G, M = len(bins.starts), shares.shape[1]
    documents = np.bincount(bins.code[bins.code >= 0], minlength=G)
    low, high = np.full((2, G, M), np.nan)
    sums = np.zeros((3, G, M))
    for g, name in enumerate(bins.starts):
        rows = shares[np.flatnonzero(bins.code == g)].astype(np.float64)  # a group at a time: no second copy of all
        sums[:, g] = [np.bincount(rows.indices, rows.data**k, minlength=M) for k in (1, 2, 3)]
        if documents[g] > 1:
            low[g], high[g] = _interval(rows, sums[:, g], generator(seed, "shares", str(name)), resamples)
    share = np.divide(sums[0], documents[:, None], out=np.full((G, M), np.nan), where=documents[:, None] > 0)
    difference, p = subset_test(sums.sum(axis=1), int(documents.sum()), documents[:, None], share)
    left_out = len(bins.code) - int(documents.sum())
    return GroupShares(bins.starts, documents, share, low, high, difference, p, adjusted(p), left_out)


def _interval(X: Any, sums: Floats, rng: np.random.Generator, resamples: int) -> tuple[Floats, Floats]:
    """Return low and high end of the interval of the mean of the rows of X, (n, M) -> (M,) each."""
    from scipy.special import ndtr, stdtrit

    n = X.shape[0]
    _, s2, s3 = _moments(sums, n)
    a = np.divide(s3, 6 * np.sqrt(n) * s2**1.5, out=np.zeros_like(s2), where=s2 > 0)  # at most 1/6 where s2 is not 0
    units, sizes = _units(X, rng)
    columns = units.T.tocsr()  # a node's means are summed up in one place
    means = [(columns @ draws.T) / (draws @ sizes) for draws in blocks_of_draws(len(sizes), resamples, rng)]
    ordered = np.sort(np.concatenate(means, axis=1), axis=1)  # (M, B)
    t = stdtrit(n - 1, 0.975) * np.sqrt(n / (n - 1))
    low, high = (_quantile(ordered, ndtr(a + (a + z) / (1 - a * (a + z)))) for z in (-t, t))
    return low, high


def _quantile(ordered: Floats, level: Floats) -> Floats:
    """Return the quantile of each sorted row at a level of its own, (M, B), (M,) -> (M,)."""
    place = level * (ordered.shape[1] - 1)
    below = np.floor(place).astype(np.intp)
    rows, above = np.arange(len(ordered)), np.ceil(place).astype(np.intp)
    found: Floats = ordered[rows, below] + (place - below) * (ordered[rows, above] - ordered[rows, below])
    return found


def _moments(sums: Floats, n: int) -> tuple[Floats, Floats, Floats]:
    """Return mean, variance and third central moment from sums of n values, their squares and cubes, (M,) each."""
    mean, second, third = sums / n
    s2 = second - mean**2
    s2[s2 <= 1e-12 * second] = 0.0  # what rounding leaves of a constant
    return mean, s2, third - 3 * mean * second + 2 * mean**3


def _units(X: Any, rng: np.random.Generator) -> tuple[Any, Floats]:
    """Return what is resampled, and how many documents each is: documents, or sums of some at random if many."""
    from scipy.sparse import csr_matrix

    n = X.shape[0]
    if n <= _UNITS:
        return X, np.ones(n)
    unit = rng.permutation(n) % _UNITS
    gather = csr_matrix((np.ones(n), (unit, np.arange(n))), shape=(_UNITS, n))
    return gather @ X, np.bincount(unit).astype(np.float64)


def subset_test(sums: Floats, N: int, n: Any, share: Floats) -> tuple[Floats, Floats]:
    """Return how much subsets of n of N documents differ from the rest and two-sided p, as ``share`` is shaped.

    ``sums`` (3, M) are of the values of all documents, their squares and cubes, ``share`` the mean of each subset.
    Under permutations of the N documents the mean of n of them has the variance s2/n * (N-n)/(N-1) and the third
    central moment s3/n^2 * (N-n)(N-2n) / ((N-1)(N-2)), s2 and s3 those of a document. The normal curve is the bound in
    the thin tail, where the Pearson III curve ends.
    """
    from scipy.stats import norm, pearson3

    n = np.asarray(n, dtype=np.float64)
    mean, s2, s3 = _moments(sums, N)
    with np.errstate(divide="ignore", invalid="ignore"):  # n is 0 or N, N below 3, s2 is 0: all sorted out below
        difference = (share - mean) * N / (N - n)
        deviation = np.sqrt(s2 / n * (N - n) / (N - 1))
        skew = s3 / n**2 * (N - n) * (N - 2 * n) / ((N - 1) * (N - 2)) / deviation**3
        z = (share - mean) / deviation
    usable = np.isfinite(z) & np.isfinite(skew)
    z, skew = np.where(usable, z, 0.0), np.where(usable, skew, 0.0)
    tail = np.maximum(norm.sf(np.abs(z)), pearson3.sf(np.abs(z), np.where(z < 0, -skew, skew)))
    p = np.where((n > 0) & (n < N), np.minimum(1.0, 2 * tail), np.nan)
    return np.where(n < N, difference, np.nan), p


def adjusted(p: Floats, *, dependent: bool = False) -> Floats:
    """Return p after Benjamini and Hochberg over all cells that were tested.

    Of Benjamini and Yekutieli (2001) if cells depend on each other in any way, for which the first has no proof.
    """
    from scipy.stats import false_discovery_control

    q = p.copy()
    tested = ~np.isnan(p)
    if tested.any():
        q[tested] = false_discovery_control(p[tested], method="by" if dependent else "bh")
    return q
