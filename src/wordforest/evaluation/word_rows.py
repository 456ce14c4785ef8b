"""Words of the tasks as rows of vectors: looked up as written, then lower-cased; numbers as #number#."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from wordforest.vectors import Vectors

_NUMBER_WORD = "#number#"  # stands for every number in vectors learned from text whose numbers were replaced
_NUMBER_FORM = re.compile(r"[+\-\u2212]?\d+(?:[.,]\d+)*")


def row_of(vectors: Vectors, word: str) -> int | None:
    """Return the row of a word as written, else of its lower-cased form, else None."""
    rows = vectors.lookup.exact  # asked a hundred thousand times
    row = rows.get(word)
    return rows.get(word.lower()) if row is None else row


def rows_of(vectors: Vectors, words: tuple[str, ...]) -> list[int] | None:
    """Return the row of every word, or None if one of them has no vector."""
    rows = [row for word in words if (row := row_of(vectors, word)) is not None]
    return rows if len(rows) == len(words) else None


def token_rows(vectors: Vectors, tokens: Iterable[str]) -> list[int]:
    """Return the row of every token of a sentence that has one; a number without one is ``#number#``."""
    rows = []
    for token in tokens:
        row = row_of(vectors, token)
        if row is None and _NUMBER_FORM.fullmatch(token):
            row = row_of(vectors, _NUMBER_WORD)
        rows += [] if row is None else [row]
    return rows


def dense_rows(vectors: Vectors, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the vectors of some rows as float64, (n,) -> (n, M), without making all of a sparse matrix dense."""
    chosen = vectors.matrix[rows]
    return np.asarray(chosen if isinstance(chosen, np.ndarray) else chosen.toarray(), dtype=np.float64)


def unit_rows(vectors: Vectors, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the vectors of some rows divided by their norm, (n,) -> (n, M) float64; zeros stay zero."""
    chosen = dense_rows(vectors, rows)
    size = np.sqrt(np.einsum("ij,ij->i", chosen, chosen))[:, None]
    return np.asarray(np.divide(chosen, size, out=np.zeros_like(chosen), where=size > 0))
