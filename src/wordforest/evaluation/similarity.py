"""Word similarity: does the cosine of two words rank pairs as people do?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.evaluation.lookup import numbered_lines, rows_of
from wordforest.evaluation.score import Score
from wordforest.vectors import Vectors

_DECIMALS = 12  # cosines closer than this differ by rounding alone, and must tie


class Pair(NamedTuple):
    """Two words and how similar people find them, on the scale of the set."""

    first: str
    second: str
    score: float


def read_pairs(path: str | Path) -> list[Pair]:
    """Read ``word TAB word TAB score`` (or white space) from each line; # lines are comments."""
    pairs = [_pair(path, number, line) for number, line in numbered_lines(path) if not line.startswith("#")]
    if not pairs:
        raise InputError(f"{path}: expected lines of 'word TAB word TAB score', found none. Check the path.")
    return pairs


def evaluate_similarity(vectors: Vectors, pairs: Sequence[Pair], name: str) -> Score:
    """Return Spearman's rank correlation of cosine and human score over the pairs with two vectors.

    A pair with a word that has no vector, as written or lower-cased, is skipped. A vector of zeros has
    cosine 0 with every other. Repeated pairs count as they stand. The value is nan for fewer than two pairs,
    and where all cosines or all human scores are equal.
    """
    found = [(rows, pair.score) for pair in pairs if (rows := rows_of(vectors, pair[:2])) is not None]
    value = math.nan
    if found:
        cosines = _cosines(vectors, np.array([rows for rows, _ in found]))
        value = spearman(cosines, np.array([score for _, score in found]))
    return Score("similarity", name, "spearman", value, len(found), len(pairs))


def spearman(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return the correlation of the ranks of x and y, shape (n,) each; nan if either is constant.

    scipy.stats.spearmanr gives the same number; importing it takes longer than this whole package.
    """
    x, y = _centred_ranks(x), _centred_ranks(y)
    size = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / size if size > 0 else math.nan


def _pair(path: str | Path, number: int, line: str) -> Pair:
    fields = [field.strip() for field in (line.split("\t") if "\t" in line else line.split())]
    score = _finite(fields[2]) if len(fields) == 3 and all(fields) else None
    if score is None:
        raise InputError(
            f"{path}, line {number}: expected 'word TAB word TAB score' with a finite score, "
            f"found {line[:60]!r}. Correct or delete the line."
        )
    return Pair(fields[0], fields[1], score)


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _centred_ranks(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rank minus mean rank, shape (n,); equal values share the mean of their ranks."""
    _, group, counts = np.unique(x, return_inverse=True, return_counts=True)
    shared = np.cumsum(counts) - (counts - 1) / 2
    ranks: NDArray[np.float64] = shared[group] - (len(x) + 1) / 2
    return ranks


def _cosines(vectors: Vectors, rows: NDArray[np.int_]) -> NDArray[np.float64]:
    """Return the cosine of every pair of rows, (n, 2) -> (n,), in float64 so that parallel vectors tie."""
    x, y = (np.asarray(vectors.unit[side], dtype=np.float64) for side in rows.T)  # (n, M) each
    size = np.sqrt(np.einsum("ij,ij->i", x, x) * np.einsum("ij,ij->i", y, y))
    cosines: NDArray[np.float64] = np.einsum("ij,ij->i", x, y) / np.where(size > 0, size, 1.0)
    return cosines.round(_DECIMALS) + 0.0  # -0.0 + 0.0 is 0.0
