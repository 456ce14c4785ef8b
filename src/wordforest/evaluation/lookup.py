"""What every task needs first: the lines of a data file, and the rows of its words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.vectors import Vectors

_NUMBER_WORD = "#number#"  # stands for every number in vectors learned from text whose numbers were replaced
_NUMBER_FORM = re.compile(r"[+\-\u2212]?\d+(?:[.,]\d+)*")


def read_utf8(path: str | Path) -> str:
    """Return the text of a UTF-8 file, with any line ends as they stand."""
    data = read_bytes(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line}: expected UTF-8 text, found byte 0x{data[error.start]:02x}. "
            "Convert the file to UTF-8."
        ) from error


def read_bytes(path: str | Path) -> bytes:
    """Return the bytes of a data file."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: expected a readable data file, found: {error.strerror}. Check the path.") from error


def numbered_lines(path: str | Path) -> list[tuple[int, str]]:
    """Return (line number from 1, stripped line) for every line of a UTF-8 file that is not blank."""
    lines = enumerate(re.split("\r\n|\r|\n", read_utf8(path)), start=1)
    return [(number, stripped) for number, line in lines if (stripped := line.strip())]


def row_of(vectors: Vectors, word: str) -> int | None:
    """Return the row of a word as written, else of its lower-cased form, else None."""
    for form in (word, word.lower()):
        if form in vectors:
            return vectors.index(form)
    return None


def rows_of(vectors: Vectors, words: tuple[str, ...]) -> list[int] | None:
    """Return the row of every word, or None if one of them has no vector."""
    rows = [row for word in words if (row := row_of(vectors, word)) is not None]
    return rows if len(rows) == len(words) else None


def token_rows(vectors: Vectors, tokens: Iterable[str]) -> list[int]:
    """Return the row of every token of a sentence that has one; a number without one is ``#number#``."""
    return [row for token in tokens if (row := _token_row(vectors, token)) is not None]


def dense_rows(vectors: Vectors, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the vectors of some rows as float64, (n,) -> (n, M), without making all of a sparse matrix dense."""
    chosen = vectors.matrix[rows]
    return np.asarray(chosen if isinstance(chosen, np.ndarray) else chosen.toarray(), dtype=np.float64)


def unit_rows(vectors: Vectors, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the vectors of some rows divided by their norm, (n,) -> (n, M) float64; zeros stay zero."""
    chosen = dense_rows(vectors, rows)
    size = np.sqrt(np.einsum("ij,ij->i", chosen, chosen))[:, None]
    unit = np.zeros_like(chosen)
    np.divide(chosen, size, out=unit, where=size > 0)
    return unit


def _token_row(vectors: Vectors, token: str) -> int | None:
    row = row_of(vectors, token)
    if row is None and _NUMBER_FORM.fullmatch(token):
        row = row_of(vectors, _NUMBER_WORD)
    return row
