"""Vectors as text: word2vec with a header, GloVe and others without, and bare matrices of numbers."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from wordforest.errors import InputError
from wordforest.runtime.disk import opened
from wordforest.store.formats.common import (
    AGAIN,
    BOM,
    CHUNK,
    VectorFile,
    assembled,
    check_first_word,
    check_words,
    decoded,
    is_header,
    is_number,
    parse_header,
    quoted,
    write_parts,
)
from wordforest.vectors import Dense, Vectors

LONGEST_LINE = 1 << 24  # bytes: half a million numbers and more
_FIRST_LINES = 10  # so many lines without a word make a matrix: the first words of a list may be numbers
_COMMENT = (b"#", b"%", b"//")
_LARGE = CHUNK // 2  # bytes of a block that is worth loading compiled code for


def read_word2vec(source: VectorFile, skip: int) -> Vectors:
    """Return the vectors that follow a header, which follows ``skip`` lines of preface."""
    with opened(source.name) as handle:
        lines = islice(_lines(source, handle), skip, None)
        n_words, width = parse_header(source.name, next(lines), skip + 1)
        words, matrix = _read_rows(source, lines, width, first=skip + 2)
    if len(words) != (n_words if source.limit is None else min(n_words, source.limit)):
        raise InputError(
            f"{source.name}, line {skip + 1}: the header promises {n_words} words, but {len(words)} came. "
            f"Correct the header, or: {AGAIN}"
        )
    return _named(source, words, matrix, first=skip + 2)


def read_plain(source: VectorFile, skip: int) -> Vectors:
    """Return the vectors of lines ``word f1 .. fM`` after ``skip`` lines of preface."""
    with opened(source.name) as handle:
        lines = islice(_lines(source, handle), skip, None)
        line = next(lines)
        width = len(_fields(line)) - 1
        if width < 1:
            raise InputError(
                f"{source.name}, line {skip + 1}: expected a word and its numbers, but {quoted(line)} came. {AGAIN}"
            )
        words, matrix = _read_rows(source, chain([line], lines), width, first=skip + 1)
    return _named(source, words, matrix, first=skip + 1)


def read_matrix(source: VectorFile) -> Dense:
    """Return the numbers of a file without words, shape (lines, M)."""
    with opened(source.name) as handle:
        lines = _lines(source, handle)
        line = next(lines, b"")
        if not line:
            raise InputError(f"{source.name}: expected a matrix of numbers, but the file is empty. {AGAIN}")
        return _read_rows(source, chain([line], lines), len(line.split()), first=1, has_words=False)[1]


def write_word2vec(target: Path, vectors: Vectors) -> None:
    """Write a header and a line for every word."""
    check_words(target, vectors)
    header = f"{len(vectors)} {vectors.n_dimensions}\n".encode()
    write_parts(target, chain([header], _word_lines(vectors)))


def write_glove(target: Path, vectors: Vectors) -> None:
    """Write a line for every word."""
    check_words(target, vectors)
    check_first_word(target, vectors)
    write_parts(target, _word_lines(vectors))


def is_matrix(head: bytes) -> bool:
    """Return whether the first lines are numbers and nothing else."""
    lines = head.split(b"\n")
    rows = [line.split() for line in (lines[:-1] or lines)[:_FIRST_LINES]]
    return all(row and all(map(is_number, row)) for row in rows)


def starts_with_header(lines: Sequence[bytes]) -> bool:
    """Return whether the first line is a header, and not the first of a matrix of two columns."""
    fields = lines[1].split() if len(lines) > 1 else []
    is_two_columns = len(fields) == 2 and all(map(is_number, fields)) and lines[0].split()[1:] != [b"1"]
    return is_header(lines[0]) and not is_two_columns


def preface(head: bytes) -> int:
    """Return how many lines stand before the first row or header: comments, and perhaps names of columns."""
    lines = head.split(b"\n")
    skip = 0
    while skip < len(lines) - 1 and _is_comment(lines[skip]):
        skip += 1
    names, row = lines[skip].split(), lines[skip + 1] if skip + 1 < len(lines) else b""
    if len(names) == len(row.split()) and is_row(row) and not any(map(is_number, names)):
        skip += 1
    return skip


def _is_comment(line: bytes) -> bool:
    """Return whether a line starts with a mark and is mostly words: #rare# and its numbers are a row."""
    fields = line.split()
    return line.startswith(_COMMENT) and not is_row(line) and 2 * sum(map(is_number, fields)) <= len(fields)


def is_row(line: bytes) -> bool:
    """Return whether a line is a word and numbers."""
    fields = _fields(line)
    return len(fields) > 1 and all(map(is_number, fields[1:]))


def _word_lines(vectors: Vectors) -> Iterator[bytes]:
    for word, row in zip(vectors.words, number_lines(vectors, " "), strict=True):
        yield word.encode("utf-8") + b" " + row


def number_lines(vectors: Vectors, separator: str) -> Iterator[bytes]:
    """Yield the numbers of every word in a line."""
    form = separator.join(["%.9g"] * vectors.n_dimensions) + "\n"  # nine digits name a float32
    for row in vectors.dense:
        yield (form % tuple((row + np.float32(0)).tolist())).encode()  # + 0 turns -0 into 0


def _lines(source: VectorFile, handle: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file; memory is not spent on one that is no row of numbers."""
    mark = BOM
    while line := handle.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise InputError(
                f"{source.name}: expected a word and its numbers on each line, but a line of more than "
                f"{LONGEST_LINE >> 20} MiB came: {quoted(line)}. Name a file of vectors."
            )
        yield line.removeprefix(mark)
        mark = b""


def _named(source: VectorFile, raw: Sequence[bytes], matrix: Dense, first: int) -> Vectors:
    def where(row: int) -> str:
        return f"line {first + row}"

    return assembled(source, decoded(source, raw, where), matrix, where)


def _read_rows(
    source: VectorFile, lines: Iterator[bytes], width: int, first: int, *, has_words: bool = True
) -> tuple[list[bytes], Dense]:
    """Return the words, where there are any, and the numbers (lines, width) of lines up to the limit.

    ``first`` is the number of the first line in the file. Memory grows with what is read, not with a header.
    """
    words: list[bytes] = []
    values, number, left = bytearray(), first, islice(lines, source.limit)
    for line in left:
        block = [line, *islice(left, CHUNK // len(line))]
        names, numbers = _parsed(block, width, has_words) or _parsed_carefully(
            source.name, block, number, width, has_words
        )
        words += names
        values += numbers
        number += len(block)
    return words, np.frombuffer(values, np.float32).reshape(number - first, width)


def _parsed(lines: Sequence[bytes], width: int, has_words: bool) -> tuple[list[bytes], bytes] | None:
    """Return words and numbers of a large block, or None where it is small, or the least doubt is left."""
    if sum(map(len, lines)) < _LARGE:
        return None
    from wordforest.store.formats.numbers import parse_numbers

    parts = [line.split(None, 1) for line in lines] if has_words else [[b"", line] for line in lines]
    block = parse_numbers([part[1] for part in parts], width) if all(len(part) == 2 for part in parts) else None
    return None if block is None else ([part[0] for part in parts if has_words], block.tobytes())


def _parsed_carefully(
    name: str, lines: Sequence[bytes], first: int, width: int, has_words: bool
) -> tuple[list[bytes], bytes]:
    """Return words and numbers of lines, the first of which has the number ``first`` in the file."""
    words, values = [], array("f")
    for number, line in enumerate(lines, start=first):
        fields = line.split()
        if has_words:
            word, *fields = fields if len(fields) == width + 1 else _with_spaced_word(name, number, line, width)
            words.append(word)
        elif len(fields) != width or not fields:
            raise InputError(
                f"{name}, line {number}: expected {max(width, 1)} numbers, but {len(fields)} fields came: "
                f"{quoted(line)}. Repair the line, or: {AGAIN}"
            )
        if b"_" not in b"".join(fields):  # float() reads 1_0 as 10
            with suppress(ValueError):
                values.extend(map(float, fields))
                continue
        position, field = next((i, f) for i, f in enumerate(fields, start=1) if not is_number(f))
        raise InputError(
            f"{name}, line {number}: value {position}, {quoted(field)}, is not a number. Repair it, or: {AGAIN}"
        )
    return words, values.tobytes()


def _fields(line: bytes) -> list[bytes]:
    """Split a line at tabs where all but the first part are then numbers, so that the word may hold spaces."""
    parts = line.rstrip(b"\r\n\t ").split(b"\t")
    return parts if len(parts) > 1 and all(map(is_number, parts[1:])) else line.split()


def _with_spaced_word(name: str, number: int, line: bytes, width: int) -> list[bytes]:
    """Split a line whose word holds spaces, as ". . ." in GloVe 840B; a number too many is no such word."""
    fields = _fields(line)
    if len(fields) == width + 1 and fields[0]:
        return fields
    fields = line.rsplit(maxsplit=width)
    if len(fields) == width + 1 and not is_number(fields[0].split()[-1]):
        return fields
    raise InputError(
        f"{name}, line {number}: expected a word and {width} numbers, "
        f"but {len(line.split())} fields came: {quoted(line)}. Repair the line, or: {AGAIN}"
    )
