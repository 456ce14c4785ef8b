"""What all formats share: the file to read, words from bytes, repeated words, errors that name the place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.runtime.disk import COMPRESSION
from wordforest.vectors import NodeNote, Vectors, first_non_finite_row

AGAIN = "Download or write the file again."
BOM = b"\xef\xbb\xbf"
CHUNK = 1 << 20

SPACE = re.compile(r"[ \t\n\r\x0b\f]")  # what the text formats split at; other Unicode spaces are letters


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


@dataclass(frozen=True)
class Place:
    """Where rows stand in a file: the first on ``line 2``, ``record 1`` or ``row 0``."""

    unit: str
    first: int

    def of(self, row: int) -> str:
        """Return the place of a row."""
        return f"{self.unit} {self.first + row}"


def format_suffix(name: str) -> str:
    """Return the suffix that names the format, compression left aside."""
    path = Path(name.lower())
    if path.suffix in COMPRESSION:
        path = path.with_suffix("")
    return ".glove" if path.name.endswith(".glove.txt") else path.suffix


def quoted(raw: bytes) -> str:
    """Return the start of what came, for a message."""
    return repr(raw[:60].decode("utf-8", "replace"))


def decoded(source: VectorFile, raw: Sequence[bytes], place: Place) -> list[str]:
    """Return the words of a file in one encoding: UTF-8, or Latin-1 with a notice where a word is not UTF-8."""
    try:
        return [word.decode("utf-8") for word in raw]
    except UnicodeDecodeError as error:
        where_not, shown = place.of(raw.index(error.object)), error.object.decode("latin-1")[:60]
    source.notice(f"{where_not} is not UTF-8, so all words are read as Latin-1 (here {shown!r}).")
    return [word.decode("latin-1") for word in raw]


def assembled(
    source: VectorFile,
    words: Sequence[str],
    matrix: Any,
    place: Place,
    forest: Forest | None = None,
    labels: Mapping[int, str | NodeNote] | None = None,
    nodes: Mapping[str, Any] | None = None,
) -> Vectors:
    """Return words and matrix (V, M) as vectors, all values finite; of a repeated word the first row stays."""
    row = first_non_finite_row(matrix)
    if row is not None:
        raise InputError(
            f"{source.name}, {place.of(row)}: the vector of {words[row]!r} holds NaN or infinity. Remove the word."
        )
    first: dict[str, int] = {}
    again = [row for row, word in enumerate(words) if first.setdefault(word, row) != row]
    if again:
        word = words[again[0]]
        source.notice(
            f"{len(again)} rows of repeated words are left out, the first row of each stays "
            f"({word!r} on {place.of(again[0])} stands on {place.of(first[word])} already)."
        )
        words, matrix = list(first), matrix[list(first.values())]
    try:
        return Vectors(words, matrix, forest=forest, labels=labels, nodes=nodes)
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
