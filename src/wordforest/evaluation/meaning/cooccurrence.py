"""Which words stand together in held-out text: NPMI of pairs, and the words that can be judged by it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.errors import InputError
from wordforest.evaluation.bootstrap import Array
from wordforest.vectors import is_marker

Places: TypeAlias = NDArray[np.int64]
CSR: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"

MAX_SHARE = 1e-3  # of all tokens: commoner words are function words, which topic models drop as stop words
_LIFT = 100.0  # times as often together as by chance: two words of one narrow subject (PMI of 4.6 nats)


class Cooccurrence:
    """V words, how often each occurs, (V,), and how often two stand together, a symmetric (V, V) matrix.

    As ``wordforest count HELDOUT --out HELD --window 10 --min-count 1`` leaves them in a folder. With T the sum of
    the matrix, p(a, b) = n(a, b) / T and p(a) = sum over b of p(a, b), the margin, so that NPMI stays in [-1, 1].

    >>> pair = Cooccurrence(["salt", "pepper"], [3, 3], [[0, 3], [3, 0]])
    >>> pair.npmi(pair.rows(["salt"]), pair.rows(["pepper"])).tolist()
    [1.0]
    """

    def __init__(self, words: Sequence[str], counts: Sequence[int] | NDArray[Any], matrix: Any) -> None:
        self.words: tuple[str, ...] = tuple(words)
        self.counts: NDArray[np.int64] = np.asarray(counts, dtype=np.int64)
        self.matrix: CSR = sparse.csr_array(matrix)
        if not self.matrix.has_canonical_format:
            self.matrix = self.matrix.copy()  # the caller's stays as it is
            self.matrix.sum_duplicates()
        self._row = {word: row for row, word in enumerate(self.words)}
        n = len(self.words)
        if self.counts.shape != (n,) or self.matrix.shape != (n, n):
            raise InputError(
                f"{n} words came with counts of shape {self.counts.shape} and a matrix of shape {self.matrix.shape}, "
                "but each word needs one count, one row and one column. Use the files of one wordforest count."
            )
        if len(self._row) != n:
            raise InputError(f"{n - len(self._row)} words come twice, but each may have one row only.")
        self.margins: Array = np.asarray(self.matrix.sum(axis=1), dtype=np.float64)  # (V,)
        self.total = float(self.margins.sum())
        columns = np.asarray(self.matrix.sum(axis=0), dtype=np.float64)
        if not np.array_equal(columns, self.margins) or (self.matrix.nnz and self.matrix.data.min() < 0):
            raise InputError(
                "expected counts of how often two words stand together, the same both ways and never negative, "
                "but rows and columns have different sums or a count is below 0. Use the counts of wordforest count."
            )

    def rows(self, words: Iterable[str]) -> Places:
        """Return the row of every word, (n,)."""
        words = list(words)
        missing = [word for word in words if word not in self._row]
        if missing:
            raise InputError(
                f"{missing[0]!r} does not occur in the held-out text (nor do {len(missing) - 1} others of "
                f"{len(words)}). Ask for words that candidates() returns."
            )
        return np.array([self._row[word] for word in words], dtype=np.int64)

    def npmi(self, first: Places, second: Places) -> Array:
        """Return log(p(a,b) / (p(a) p(b))) / -log p(a,b) of n pairs of rows, (n,); -1 where never seen together."""
        seen = self.matrix[first, second] if len(first) else np.empty(0)
        return self._npmi_of(np.asarray(seen, dtype=np.float64).ravel(), first, second)

    def lifted(self, words: Sequence[str]) -> CSR:
        """Return NPMI + 1 of every pair of different words among U, sparse (U, U): 0 where never seen together.

        So means over many sets of words become sparse products, and no dense V x V is made.
        """
        rows = self.rows(words)
        part = self.matrix[rows][:, rows].tocoo()
        i, j = part.coords
        kept = (i != j) & (part.data > 0)
        i, j, seen = i[kept], j[kept], part.data[kept].astype(np.float64)
        values = 1.0 + self._npmi_of(seen, rows[i], rows[j])
        return sparse.csr_array((values, (i, j)), shape=part.shape)

    @cached_property
    def judgeable_count(self) -> int:
        """The count from which never seen together says something.

        Two words that occur c times each, and together 100 times as often as by chance (as the words of one narrow
        subject do), are expected together 100 (c T/N)^2 / T times, N tokens in all. The smallest c with one such
        time is c = N / sqrt(100 T). Below it even such words are mostly never seen together: -1 says nothing then.
        """
        if not self.total:
            return 1
        return max(1, math.ceil(float(self.counts.sum()) / math.sqrt(_LIFT * self.total)))

    def candidates(
        self,
        vocabularies: Iterable[Iterable[str]] = (),
        *,
        min_count: int | None = None,
        max_share: float = MAX_SHARE,
    ) -> tuple[str, ...]:
        """Return the words that may be anybody's top words, in the order of these counts.

        Those in all ``vocabularies`` (one for each model), seen at least ``min_count`` times here (without it
        ``judgeable_count``) and making up at most ``max_share`` of all tokens. Marks such as #rare# are no words.
        """
        least = self.judgeable_count if min_count is None else min_count
        if least < 1 or not 0 < max_share <= 1:
            raise InputError(
                f"min_count = {least}, max_share = {max_share}: expected at least 1, and a share above 0 and at most 1."
            )
        fit = (self.counts >= least) & (self.counts <= max_share * float(self.counts.sum())) & (self.margins > 0)
        chosen = [word for word, ok in zip(self.words, fit, strict=True) if ok and not is_marker(word)]
        for vocabulary in vocabularies:
            known = set(vocabulary)
            chosen = [word for word in chosen if word in known]
        return tuple(chosen)

    def _npmi_of(self, seen: Array, first: Places, second: Places) -> Array:
        """Return the NPMI of n pairs of rows that were ``seen`` together so often, (n,)."""
        npmi = np.full(len(seen), -1.0)
        met = seen > 0
        joint = seen[met] / self.total
        pmi = np.log(joint) - np.log(self.margins[first[met]] / self.total * (self.margins[second[met]] / self.total))
        # p(a, b) = 1 leaves nothing else in the text: 0 / 0, and as much together as can be
        npmi[met] = np.divide(pmi, -np.log(joint), out=np.ones(len(joint)), where=joint < 1)
        clipped: Array = np.clip(npmi, -1.0, 1.0)  # against the last digit
        return clipped
