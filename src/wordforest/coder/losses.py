"""The family of squared losses, and how much each stored pair counts in it.

    sum over stored (v, c) of w_vc (x_vc - d_c . a_v)^2  +  W sum over unstored (v, c) of (d_c . a_v)^2

With w = 1 and W = 1 this is the paper's first objective, which needs X only through XD and DD; with w = |x| and W = 0
it is what its Algorithm 1 goes down. In between, rare pairs and pairs never seen can be trusted less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wordforest.coder.kernels import namespace, row_squares
from wordforest.coder.penalties import Penalty
from wordforest.errors import InputError

Array = Any  # a NumPy array; of weights, a PyTorch tensor as well
_ROWS = 1024  # words at a time, to bound memory


@dataclass(frozen=True)
class Weighing:
    """Makes weights (nnz,) from the values x (nnz,) and the counts n (nnz,) of the stored pairs.

    ``none``: all 1, for which None stands; ``abs``: |x|, the paper's; ``count``: ``(n / mean n)^P``, so that pairs seen
    often are trusted more; ``glove``: ``min(1, n / X)^P``, all alike from X on (Pennington, Socher and Manning 2014).
    With a second number T, ``count`` takes the counts that would be left, on average, if words and contexts whose share
    of all counts is above T were dropped down to it by the square root, as word2vec does; with a third, L, pairs that
    are left less often than that are not stored.
    """

    kind: str
    numbers: tuple[float, ...] = ()

    def __call__(self, values: Array, counts: Array, mean: float | None = None) -> Array | None:
        """Return the weights; ``mean`` is that of the counts of all pairs, where these are only some."""
        if self.kind == "none":
            return None
        if self.kind == "abs":
            return abs(values)
        if self.kind == "glove":
            most, power = self.numbers
            return namespace(counts).clip(counts / most, None, 1.0) ** power
        if mean is None:
            mean = float(counts.mean(dtype=np.float64)) if len(counts) else 1.0
        return (counts / mean) ** self.numbers[0]

    @property
    def of_counts(self) -> bool:
        """Whether the counts matter."""
        return self.kind in ("count", "glove")

    @property
    def threshold(self) -> float | None:
        """T, where counts of frequent words are discounted."""
        return self.numbers[1] if self.kind == "count" and len(self.numbers) > 1 else None

    @property
    def least(self) -> float | None:
        """L, how often a pair must have been seen to be stored."""
        return self.numbers[2] if self.kind == "count" and len(self.numbers) > 2 else None


def discount(sums: Array, threshold: float) -> Array:
    """Return ``sqrt(min(1, T / p))`` for the shares p of rows or columns in all counts, float32; 1 where p = 0."""
    most = threshold * sums.sum()
    return np.asarray(np.sqrt(most / np.maximum(sums, most)).astype(np.float32))


def weighing(text: str) -> Weighing:
    """Return what ``none``, ``abs``, ``count:P``, ``count:P,T``, ``count:P,T,L`` or ``glove:X,P`` stands for.

    It makes weights (nnz,) from the values x (nnz,) and the counts n (nnz,) of the stored pairs: 1 (None), ``|x|``,
    ``(n / mean n)^P`` or ``min(1, n / X)^P``. T drops frequent words first as word2vec does; pairs below L are not
    stored.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> glove = wf.coder.weighing("glove:100,0.75")
        >>> glove
        Weighing(kind='glove', numbers=(100.0, 0.75))
        >>> glove(values=np.ones(3), counts=np.array([10.0, 100.0, 1000.0])).round(2)
        array([0.18, 1.  , 1.  ])
    """
    kind, _, rest = text.partition(":")
    try:
        numbers = tuple(float(part) for part in rest.split(",")) if rest else ()
    except ValueError:
        numbers = ()
    known = len(numbers) in {"none": (0,), "abs": (0,), "count": (1, 2, 3), "glove": (2,)}.get(kind, ())
    if not (known and all(np.isfinite(number) and number > 0 for number in numbers)):
        raise InputError(
            f"weights = {text!r}, but it must be none, abs, count:P, count:P,T, count:P,T,L or glove:X,P with positive "
            "numbers, as in count:0.25, count:0.5,1e-4 or glove:100,0.75."
        )
    return Weighing(kind, numbers)


def objective(X: Any, D: Array, A: Array, penalty: Penalty) -> float:
    """Return the paper's first objective, ``|X - A D'|^2 + lam * sum_v Omega(a_v)`` over all pairs, in float64.

    X is (V, C), sparse or dense; D (C, M); A (V, M).

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> X, D = np.array([[2.0, 0.0], [0.0, 3.0]]), np.eye(2)
        >>> A = np.array([[1.0, 0.0], [0.0, 3.0]])
        >>> wf.coder.objective(X, D, A, wf.coder.L1(lam=0.5))  # 1 + 0.5 * 4
        3.0
    """
    D = D.astype(np.float64)
    DD = D.T @ D  # (M, M)
    total = 0.0
    for start in range(0, X.shape[0], _ROWS):
        x, a = X[start : start + _ROWS].astype(np.float64), A[start : start + _ROWS].astype(np.float64)
        total += float(row_squares(x).sum()) - 2 * float(np.vdot(x @ D, a)) + float(np.vdot(a @ DD, a))
        total += float(penalty.per_word(a).sum())
    return total
