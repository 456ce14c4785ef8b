"""Word similarity: does the cosine of two words rank pairs as people do?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wordforest.errors import InputError
from wordforest.evaluation.items import numbered, pair_text
from wordforest.evaluation.lookup import numbered_lines, rows_of, unit_rows
from wordforest.evaluation.outcome import Array, Outcome
from wordforest.vectors import Vectors

TEN_SETS = (
    "EN-WS-353-ALL",
    "EN-WS-353-SIM",
    "EN-WS-353-REL",
    "EN-MC-30",
    "EN-RG-65",
    "EN-RW-STANFORD",
    "EN-MEN-TR-3k",
    "EN-MTurk-287",
    "EN-MTurk-771",
    "EN-YP-130",
)
"""The similarity sets of the paper, by the stem of their file."""

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


def judge_similarity(vectors: Vectors, pairs: Sequence[Pair], name: str) -> Outcome:
    """Return the cosine and the human score of every pair with two vectors; Spearman's correlation is their score.

    A pair with a word that has no vector, as written or lower-cased, is skipped. A vector of zeros has
    cosine 0 with every other. Repeated pairs count as they stand. The value is nan for fewer than two pairs,
    and where all cosines or all human scores are equal.
    """
    found = [
        (key, rows, pair.score)
        for key, pair in zip(numbered(pair_text(*pair[:2]) for pair in pairs), pairs, strict=True)
        if (rows := rows_of(vectors, pair[:2])) is not None
    ]
    cosines = _cosines(vectors, [rows for _, rows, _ in found])
    gold = np.array([score for _, _, score in found], dtype=np.float64)
    return Outcome("similarity", name, "spearman", tuple(key for key, _, _ in found), cosines, len(pairs), gold)


def averaged(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the similarity sets that the means run over: those of the paper, or all if none of them is there."""
    sets = [outcome for outcome in outcomes if outcome.task == "similarity"]
    return [outcome for outcome in sets if outcome.set in TEN_SETS] or sets


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


def _cosines(vectors: Vectors, rows: list[list[int]]) -> Array:
    """Return the cosine of every pair of rows, n x 2 -> (n,), in float64 so that parallel vectors tie."""
    x, y = (unit_rows(vectors, side) for side in np.array(rows, dtype=np.int64).reshape(-1, 2).T)  # (n, M) each
    cosines: Array = np.einsum("ij,ij->i", x, y)
    return cosines.round(_DECIMALS) + 0.0  # -0.0 + 0.0 is 0.0
