"""The stored pairs of X as the entry learner reads them: a part at a time, so that X may be larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError

Array = NDArray[Any]
Index = NDArray[Any]
Allocate = Callable[[int, Any], Array]  # (length, dtype) to an array with room for it, in memory or in a file

_PART = 1 << 18  # pairs at a time


class SomePairs(NamedTuple):
    """Some stored pairs, in the order of X."""

    words: Index  # (p,), int32
    contexts: Index  # (p,), int32
    values: Array  # (p,), x
    weights: Array  # (p,), w


@dataclass(frozen=True, eq=False)
class Pairs:
    """The arrays of a CSR matrix X (V, C) and the weights of its pairs: as they came, on disk if they lie there."""

    data: Array  # (n,)
    indices: Index  # (n,)
    indptr: Index  # (V + 1,)
    weights: Array | None  # (n,); None is |x|
    shape: tuple[int, int]
    dtype: Any = np.float32  # of values and weights handed out

    def __len__(self) -> int:
        return int(self.indptr[-1])

    def slices(self, first: int = 0, last: int | None = None) -> list[slice]:
        """Cut pairs from first to last into parts that depend on their number alone."""
        last = len(self) if last is None else last
        return [slice(i, min(i + _PART, last)) for i in range(first, last, _PART)]

    def part(self, chosen: slice) -> SomePairs:
        """Return a slice of the pairs."""
        first = np.searchsorted(self.indptr, chosen.start, "right") - 1
        last = np.searchsorted(self.indptr, chosen.stop, "left")
        ends = np.clip(self.indptr[first : last + 1], chosen.start, chosen.stop)
        return self._part(np.repeat(np.arange(first, last, dtype=np.int32), np.diff(ends)), chosen)

    def parts(self) -> Iterator[SomePairs]:
        """Yield all pairs, a part after the other."""
        return map(self.part, self.slices())

    def sample(self, n: int, rng: np.random.Generator) -> SomePairs:
        """Return n pairs, spread over all of X: one from each of n stretches; all if there are no more than n."""
        if len(self) <= n:
            return self.part(slice(0, len(self)))
        chosen = ((np.arange(n) + rng.random(n)) * (len(self) / n)).astype(np.int64)
        words = np.searchsorted(self.indptr, chosen, "right") - 1
        return self._part(words.astype(np.int32), np.minimum(chosen, len(self) - 1))

    def _part(self, words: Index, chosen: slice | Index) -> SomePairs:
        with np.errstate(over="ignore"):  # what is too large becomes infinite, which is looked for
            values = np.array(self.data[chosen], dtype=self.dtype)
            weights = abs(values) if self.weights is None else np.array(self.weights[chosen], dtype=self.dtype)
        return SomePairs(words, np.array(self.indices[chosen], dtype=np.int32), values, weights)


def stored_pairs(X: Any, weights: Array | None = None) -> Pairs:
    """Return the pairs of a CSR matrix; ``weights`` are in the order of ``X.data``, |x| if left out."""
    if weights is not None and np.shape(weights) != X.data.shape:
        raise InputError(
            f"weights have shape {np.shape(weights)}, but X stores {X.nnz} pairs. Give one weight for each."
        )
    weights = None if weights is None else np.asarray(weights)
    return Pairs(X.data, X.indices, X.indptr, weights, X.shape, X.dtype)


def typical_and_largest(pairs: Pairs) -> tuple[float, float]:
    """Return the root of the mean of x^2, weighted by w, and the largest |x|, after checking that all are usable."""
    total = energy = largest = 0.0
    for _, _, x, w in pairs.parts():
        if not (np.isfinite(x).all() and np.isfinite(w).all() and (w >= 0).all()):
            raise InputError("X or its weights hold NaN or infinity, or a weight is negative. Mend the data.")
        total += float(w.sum(dtype=np.float64))
        energy += float(np.sum(w * np.square(x, dtype=np.float64)))
        largest = max(largest, float(abs(x).max()))
    if energy == 0:
        raise InputError(
            f"X of shape {pairs.shape} stores no pair with a value and a weight other than 0, so there is nothing to "
            "learn from."
        )
    return float(np.sqrt(energy / total)), largest
