"""Data files of the tasks: their text, line by line, and what is said of a line that cannot be read."""

from __future__ import annotations

import re
from pathlib import Path

from wordforest.errors import InputError


def read_bytes(path: str | Path) -> bytes:
    """Return the bytes of a data file."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: expected a readable data file, found: {error.strerror}. Check the path.") from error


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


def numbered_lines(path: str | Path) -> list[tuple[int, str]]:
    """Return (line number from 1, stripped line) for every line of a UTF-8 file that is not blank."""
    lines = enumerate(re.split("\r\n|\r|\n", read_utf8(path)), start=1)
    return [(number, stripped) for number, line in lines if (stripped := line.strip())]


def bad_line(path: str | Path, number: int, expected: str, found: str) -> InputError:
    """Return the error of a line that is not what it should be."""
    return InputError(f"{path}, line {number}: expected {expected}, found {found[:60]!r}. Correct or delete the line.")


def nothing_in(path: str | Path, expected: str) -> InputError:
    """Return the error of a file without any item."""
    return InputError(f"{path}: expected {expected}, found none. Check the path.")
