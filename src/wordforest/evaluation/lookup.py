"""What every task needs first: the lines of a data file, and the row of a word."""

from __future__ import annotations

from pathlib import Path

from wordforest.errors import InputError
from wordforest.vectors import Vectors


def numbered_lines(path: str | Path) -> list[tuple[int, str]]:
    """Return (line number from 1, stripped line) for every line of a UTF-8 file that is not blank."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}, line {line}: expected UTF-8 text, found byte 0x{error.object[error.start]:02x}. "
            "Convert the file to UTF-8."
        ) from error
    except OSError as error:
        raise InputError(f"{path}: expected a readable data file, found: {error.strerror}. Check the path.") from error
    lines = enumerate(text.split("\n"), start=1)
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
