"""What all formats share: the file to read, words from bytes, repeated words, errors that name the place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.runtime.disk import COMPRESSION, created
from wordforest.store.files import replace_file
from wordforest.vectors import Vectors, first_non_finite_row

Where: TypeAlias = Callable[[int], str]  # row -> "line 7", "record 7"

AGAIN = "Download or write the file again."
BOM = b"\xef\xbb\xbf"
CHUNK = 1 << 20

SPACE = re.compile(r"[ \t\n\r\x0b\f]")  # what the text formats split at; other Unicode spaces are letters
_HEADER = re.compile(rb"\s*(-?\d{1,18})\s+(-?\d{1,18})\s*")


@dataclass(frozen=True)
class VectorFile:
    """Vectors to read: their name, how many rows at most (None: all), and who hears what was odd but usable."""

    name: str
    limit: int | None = None
    on_notice: Callable[[str], None] | None = None

    def notice(self, text: str) -> None:
        """Report what was odd, if somebody listens."""
        if self.on_notice is not None:
            self.on_notice(f"{self.name}: {text}")


def format_suffix(name: str) -> str:
    """Return the suffix that names the format, compression left aside."""
    path = Path(name.lower())
    if path.suffix in COMPRESSION:
        path = path.with_suffix("")
    return ".glove" if path.name.endswith(".glove.txt") else path.suffix


def is_header(line: bytes) -> bool:
    """Return whether a line is two whole numbers, as word2vec's numbers of words and dimensions."""
    return _HEADER.fullmatch(line) is not None


def parse_header(name: str, line: bytes, number: int = 1) -> tuple[int, int]:
    """Return the numbers of words and dimensions."""
    match = _HEADER.fullmatch(line)
    n_words, width = map(int, match.groups()) if match else (0, 0)
    if n_words < 1 or width < 1:
        raise InputError(
            f"{name}, line {number}: expected a header with the numbers of words and dimensions, "
            f"but {quoted(line)} came. {AGAIN}"
        )
    return n_words, width


def is_number(field: bytes) -> bool:
    """Return whether a field is a number; float() alone would read 1_0 as 10."""
    try:
        float(field)
    except ValueError:
        return False
    return b"_" not in field


def quoted(raw: bytes) -> str:
    """Return the start of what came, for a message."""
    return repr(raw[:60].decode("utf-8", "replace"))


def decoded(source: VectorFile, raw: Sequence[bytes], where: Where) -> list[str]:
    """Return the words of a file in one encoding: UTF-8, or Latin-1 with a notice where a word is not UTF-8."""
    try:
        return [word.decode("utf-8") for word in raw]
    except UnicodeDecodeError as error:
        where_not, shown = where(raw.index(error.object)), error.object.decode("latin-1")[:60]
    source.notice(f"{where_not} is not UTF-8, so all words are read as Latin-1 (here {shown!r}).")
    return [word.decode("latin-1") for word in raw]


def assembled(
    source: VectorFile, words: Sequence[str], matrix: Any, where: Where, forest: Forest | None = None
) -> Vectors:
    """Return words and matrix (V, M) as vectors, all values finite; of a repeated word the first row stays."""
    row = first_non_finite_row(matrix)
    if row is not None:
        raise InputError(
            f"{source.name}, {where(row)}: the vector of {words[row]!r} holds NaN or infinity. Remove the word."
        )
    first: dict[str, int] = {}
    again = [row for row, word in enumerate(words) if first.setdefault(word, row) != row]
    if again:
        word = words[again[0]]
        source.notice(
            f"{len(again)} rows of repeated words are left out, the first row of each stays "
            f"({word!r} on {where(again[0])} stands on {where(first[word])} already)."
        )
        words, matrix = list(first), matrix[list(first.values())]
    try:
        return Vectors(words, matrix, forest=forest)
    except InputError as error:  # a forest of another size
        raise InputError(f"{source.name}: {error}") from error


def check_words(target: Path, vectors: Vectors, forbidden: re.Pattern[str] | None = SPACE) -> None:
    """Refuse to write nothing, and words that the format would lose or change."""
    if not len(vectors) or not vectors.n_dimensions:
        raise InputError(f"{target}: there is nothing to write, {vectors!r}. Give at least one word and dimension.")
    for row, word in enumerate(vectors.words):
        if forbidden is not None and (not word or forbidden.search(word)):
            raise InputError(
                f"{target}: word {row}, {word!r}, is empty or holds a space, which this format cannot hold. "
                "Rename the word, or write a run folder."
            )
        try:
            word.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(f"{target}: word {row}, {word!r}, has no UTF-8 form. Rename the word.") from error


def check_first_word(target: Path, vectors: Vectors) -> None:
    """Refuse a first word that a reader takes for a mark of the encoding."""
    if vectors.words[0].startswith("\ufeff"):
        raise InputError(
            f"{target}: word 0, {vectors.words[0]!r}, starts with U+FEFF, which readers drop at the start of a file. "
            "Rename the word, or put another one first."
        )


def write_parts(target: Path, parts: Iterable[bytes]) -> None:
    """Write bytes, compressed as the suffix asks, in place of what was there."""
    with replace_file(target) as temporary:
        fill(temporary, target, parts)


def fill(temporary: Path, target: Path, parts: Iterable[bytes]) -> None:
    """Write bytes to a temporary file, compressed as the suffix of its target asks."""
    with created(temporary, target.suffix.lower()) as handle:
        for part in parts:
            handle.write(part)
