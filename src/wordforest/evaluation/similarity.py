"""Word similarity: does the cosine of two words rank pairs as people do?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wordforest.evaluation.bootstrap import Array
from wordforest.evaluation.files import bad_line, nothing_in, numbered_lines
from wordforest.evaluation.scores import Outcome, cluster_ids, numbered
from wordforest.evaluation.word_rows import rows_of, unit_rows
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
        raise nothing_in(path, "lines of 'word TAB word TAB score'")
    return pairs


def judge_similarity(vectors: Vectors, pairs: Sequence[Pair], name: str) -> Outcome:
    """Return the cosine and the human score of every pair with two vectors; Spearman's correlation is their score.

    A pair with a word that has no vector, as written or lower-cased, is skipped. A vector of zeros has
    cosine 0 with every other. Repeated pairs count as they stand. The value is nan for fewer than two pairs,
    and where all cosines or all human scores are equal.
    """
    found = [
        (key, rows, pair)
        for key, pair in zip(numbered(pair_text(*pair[:2]) for pair in pairs), pairs, strict=True)
        if (rows := rows_of(vectors, pair[:2])) is not None
    ]
    keys = tuple(key for key, _, _ in found)
    cosines = _cosines(vectors, [rows for _, rows, _ in found])
    gold = np.array([pair.score for _, _, pair in found], dtype=np.float64)
    words = cluster_ids([(pair.first.lower(), pair.second.lower()) for _, _, pair in found])
    return Outcome("similarity", name, "spearman", keys, cosines, len(pairs), gold, words)


def pair_text(first: str, second: str) -> str:
    """Return one text for a pair of words, whichever comes first and however they are written."""
    return " ".join(sorted((first.lower(), second.lower())))


def _pair(path: str | Path, number: int, line: str) -> Pair:
    try:
        first, second, score = (field.strip() for field in (line.split("\t") if "\t" in line else line.split()))
        if not (first and second and math.isfinite(float(score))):
            raise ValueError
    except ValueError:
        raise bad_line(path, number, "'word TAB word TAB score' with a finite score", line) from None
    return Pair(first, second, float(score))


def _cosines(vectors: Vectors, rows: list[list[int]]) -> Array:
    """Return the cosine of every pair of rows, n x 2 -> (n,), in float64 so that parallel vectors tie."""
    x, y = (unit_rows(vectors, side) for side in np.array(rows, dtype=np.int64).reshape(-1, 2).T)  # (n, M) each
    cosines: Array = np.einsum("ij,ij->i", x, y)
    return cosines.round(_DECIMALS) + 0.0  # -0.0 + 0.0 is 0.0
