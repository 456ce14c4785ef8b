"""Vectors line by line: word2vec's text and binary, GloVe and others without a header, and words and numbers apart.

In two files came SENNA, RNN-DC and HPCA, and so the Embedding Projector loads them.
"""

from __future__ import annotations

import re
import shlex
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO

import numpy as np

from wordforest.errors import InputError
from wordforest.runtime.disk import COMPRESSION, created, opened
from wordforest.store.files import replace_file, replace_pair
from wordforest.store.formats.common import (
    AGAIN,
    BOM,
    CHUNK,
    Place,
    VectorFile,
    assembled,
    check_words,
    decoded,
    format_suffix,
    quoted,
)
from wordforest.vectors import Dense, Vectors

LONGEST_LINE = 1 << 24  # bytes: half a million numbers and more
_LONGEST_WORD = 1 << 16  # bytes of a binary file without a space that are still taken for a word
_FIRST_LINES = 10  # so many lines without a word make a matrix: the first words of a list may be numbers
_LARGE = CHUNK // 2  # bytes of a block that is worth loading compiled code for
_HEADER = re.compile(rb"\s*(-?\d{1,18})\s+(-?\d{1,18})\s*")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_LINE_BREAK = re.compile(r"[\t\n\r]")

METADATA = "metadata.tsv"
_WORDS_BESIDE = ("words.lst", "words.txt", "vocab.txt", METADATA, "../hash/words.lst")  # the last is SENNA's


def read_text(source: VectorFile, head: bytes, *, has_words: bool) -> Vectors:
    """Read what the first lines say: a header, or numbers alone, or a word and its numbers."""
    is_headed = not has_words and _starts_with_header(head)
    if not has_words and not is_headed and _is_matrix(head):
        return read_pair(source, _words_beside(source.name), source.name)
    with opened(source.name) as handle:
        lines = _lines(source, handle)
        line = next(lines)
        n_words, width = _parsed_header(source.name, line) if is_headed else (None, len(line.split()) - 1)
        if width < 1 or not (is_headed or _is_row(line)):
            raise InputError(
                f"{source.name}, line 1: expected a word and its numbers, but {quoted(line)} came. If this is text, "
                f"learn vectors from it: wordforest train {shlex.quote(source.name)} --out RUN"
            )
        place = Place("line", 2 if is_headed else 1)
        words, matrix = _read_rows(source, lines if is_headed else chain([line], lines), width, place.first)
    if n_words is not None and len(words) != min(n_words, source.limit or n_words):
        raise InputError(
            f"{source.name}, line 1: the header promises {n_words} words, but {len(words)} came. "
            f"Correct the header, or: {AGAIN}"
        )
    return assembled(source, decoded(source, words, place), matrix, place)


def write_word2vec(target: Path, vectors: Vectors) -> None:
    """Write a header and a line for every word."""
    check_words(target, vectors)
    _write(target, chain([_header(vectors)], _word_lines(vectors)))


def write_glove(target: Path, vectors: Vectors) -> None:
    """Write a line for every word."""
    check_words(target, vectors)
    _check_first_word(target, vectors)
    _write(target, _word_lines(vectors))


def looks_binary(head: bytes) -> bool:
    """Return whether a header is followed by what no text holds. Small samples may lack it: use ``.bin``."""
    first, _, rest = head.partition(b"\n")
    fields = rest.partition(b"\n")[0].split()
    is_row = len(fields) > 1 and all(map(_is_number, fields[1:]))
    return bool(_HEADER.fullmatch(first) and _CONTROL.search(rest) and not is_row)


def read_binary(source: VectorFile) -> Vectors:
    """Return the vectors of word2vec's binary format; memory grows with what is read, not with the header."""
    words: list[bytes] = []
    values, place = bytearray(), Place("record", 1)
    with opened(source.name) as handle:
        n_words, width = _parsed_header(source.name, handle.readline(64))
        for raw, vector in _records(source, handle, n_words, 4 * width):
            words.append(raw)
            values += vector
    matrix = np.frombuffer(values, "<f4").astype(np.float32, copy=False).reshape(len(words), width)
    return assembled(source, decoded(source, words, place), matrix, place)


def write_binary(target: Path, vectors: Vectors) -> None:
    """Write the header and a record for every word."""
    check_words(target, vectors)
    rows = zip(vectors.words, vectors.dense, strict=True)
    records = (word.encode("utf-8") + b" " + row.astype("<f4").tobytes() for word, row in rows)
    _write(target, chain([_header(vectors)], records))


def _records(source: VectorFile, handle: BinaryIO, n_words: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield word and vector bytes of each record: the word, a space, ``size`` bytes, perhaps a line end."""
    buffer, start = bytearray(), 0
    n_read = min(n_words, source.limit or n_words)
    for number in range(1, n_read + 1):
        while (space := buffer.find(b" ", start)) < 0 or len(buffer) - space <= size:
            del buffer[:start]
            start = 0
            chunk = handle.read(CHUNK)
            if not chunk or (space < 0 and len(buffer) > _LONGEST_WORD):
                raise InputError(
                    f"{source.name}, record {number} of {n_words}: expected a word, a space and {size} bytes, "
                    f"but {'the file ends' if not chunk else 'no space came'}. {AGAIN}"
                )
            buffer += chunk
        yield bytes(buffer[start:space]).lstrip(b"\n"), bytes(buffer[space + 1 : space + 1 + size])
        start = space + 1 + size
    if n_read == n_words and (bytes(buffer[start:]) + handle.read(CHUNK)).strip(b"\n"):
        raise InputError(
            f"{source.name}, record {n_words}: the header promises {n_words} words, but more follows. "
            f"Correct the header, or: {AGAIN}"
        )


def pair_of(name: str) -> tuple[str, str] | None:
    """Return WORDS and VECTORS of a name ``WORDS+VECTORS``, or of NAME.tsv beside NAME.metadata.tsv; else None."""
    if "://" in name:
        return None
    if Path(name).exists():
        words = metadata_of(Path(name))
        return (str(words), name) if format_suffix(name) == ".tsv" and words.is_file() else None
    words_name, plus, vectors_name = name.rpartition("+")
    missing = [part for part in (words_name, vectors_name) if not Path(part).is_file()]
    if plus and missing:
        raise InputError(
            f"{name}: no such file or folder, and as WORDS+VECTORS {' and '.join(map(repr, missing))} is missing. "
            "Check the path."
        )
    return (words_name, vectors_name) if plus else None


def metadata_of(target: Path) -> Path:
    """Return the place of the words that belong to NAME.tsv: NAME.metadata.tsv."""
    compression = target.suffix if target.suffix.lower() in COMPRESSION else ""
    return target.with_name(f"{Path(target.name.removesuffix(compression)).stem}.{METADATA}{compression}")


def read_pair(source: VectorFile, words_name: str, vectors_name: str) -> Vectors:
    """Return the vectors whose words and numbers stand on equal lines of two files."""
    numbers = replace(source, name=vectors_name)
    with opened(vectors_name) as handle:
        lines = _lines(numbers, handle)
        line = next(lines, b"")
        width = len(line.split())
        if not width:
            raise InputError(f"{vectors_name}: expected a matrix of numbers, but the file is empty, or its first line.")
        _, matrix = _read_rows(numbers, chain([line], lines), width, first=1, has_words=False)
    raw, first = _read_words(words_name)
    is_cut = source.limit == len(matrix) < len(raw)
    if len(raw) != len(matrix) and not is_cut:
        raise InputError(
            f"{words_name} has {len(raw)} words, but {vectors_name} has {len(matrix)} lines of numbers. "
            "Line by line they must belong together: use two files of one release."
        )
    words = decoded(replace(source, name=words_name), raw[: len(matrix)], Place("line", first))
    return assembled(numbers, words, matrix, Place("line", 1))


def write_projector(target: Path, vectors: Vectors) -> None:
    """Write NAME.metadata.tsv with the words and NAME.tsv with the numbers, as the Embedding Projector loads them."""
    check_words(target, vectors, _LINE_BREAK)
    _check_first_word(target, vectors)
    words = metadata_of(target)
    with replace_pair(words, target) as (first, second):
        _fill(first, words, (f"{word}\n".encode() for word in vectors.words))
        _fill(second, target, _number_lines(vectors, "\t"))


def _words_beside(vectors: str) -> str:
    """Return the file of words that by convention belongs to a file of numbers."""
    if "://" in vectors:
        raise InputError(f"{vectors}: numbers without words. Copy it and its words here and give WORDS+VECTORS.")
    path = Path(vectors)
    names = [metadata_of(path).name, *(name + suffix for name in _WORDS_BESIDE for suffix in ("", *COMPRESSION))]
    for name in names:
        words = path.parent / name
        if words.is_file() and words.resolve() != path.resolve():
            return str(words)
    raise InputError(
        f"{vectors}: its first lines are numbers without a word, so a file of words, line by line, is needed. "
        f"Looked in {path.parent} for {names[0]}, {', '.join(_WORDS_BESIDE)}. Put one there, give WORDS+VECTORS, "
        "or rename the file to *.glove if its first column holds the words."
    )


def _read_words(name: str) -> tuple[list[bytes], int]:
    """Return the words of a file, one a line, and the line of the first."""
    with opened(name) as handle:
        lines = [line.rstrip(b"\r\n") for line in handle.read().removeprefix(BOM).split(b"\n")]
    while lines and not lines[-1]:
        lines.pop()
    first = 1
    if METADATA not in Path(name).name.lower():
        lines = [line.strip(b" \t") for line in lines]
    elif lines and b"\t" in lines[0]:  # several columns have names on the first line, one has none
        lines, first = [line.partition(b"\t")[0] for line in lines[1:]], 2
    if lines and len(lines[0].split()) > 2 and _is_matrix(b"\n".join(lines)):
        raise InputError(f"{name}: expected a word on each line, but numbers came. Give WORDS+VECTORS in this order.")
    if b"" in lines or not lines:
        raise InputError(
            f"{name}, line {first + (lines.index(b'') if lines else 0)}: expected a word, but none came. {AGAIN}"
        )
    return lines, first


def _is_number(field: bytes) -> bool:
    """Return whether a field is a number; float() alone would read 1_0 as 10."""
    try:
        float(field)
    except ValueError:
        return False
    return b"_" not in field


def _is_matrix(head: bytes) -> bool:
    """Return whether the first lines are numbers and nothing else."""
    lines = head.split(b"\n")
    rows = [line.split() for line in (lines[:-1] or lines)[:_FIRST_LINES]]
    return all(row and all(map(_is_number, row)) for row in rows)


def _is_row(line: bytes) -> bool:
    """Return whether most of what follows the first field are numbers, so that what does not is a flaw."""
    numbers = [_is_number(field) for field in line.split()[1:]]
    return 2 * sum(numbers) >= len(numbers)


def _starts_with_header(head: bytes) -> bool:
    """Return whether the first line is a header, and not the first of a matrix of two columns."""
    first, _, rest = head.partition(b"\n")
    fields = rest.partition(b"\n")[0].split()
    is_two_columns = len(fields) == 2 and all(map(_is_number, fields)) and first.split()[1:] != [b"1"]
    return _HEADER.fullmatch(first) is not None and not is_two_columns


def _parsed_header(name: str, line: bytes) -> tuple[int, int]:
    """Return the numbers of words and dimensions."""
    match = _HEADER.fullmatch(line)
    n_words, width = map(int, match.groups()) if match else (0, 0)
    if n_words < 1 or width < 1:
        raise InputError(
            f"{name}, line 1: expected a header with the numbers of words and dimensions, "
            f"but {quoted(line)} came. {AGAIN}"
        )
    return n_words, width


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
        n_fields = len(fields)
        if has_words and n_fields > width + 1 and not _is_number(fields[-width - 1]):
            fields = line.rsplit(maxsplit=width)  # the word holds spaces, as ". . ." in GloVe 840B
        if len(fields) != width + has_words:
            raise InputError(
                f"{name}, line {number}: expected {'a word and ' if has_words else ''}{width} numbers, "
                f"but {n_fields} fields came: {quoted(line)}. Repair the line, or: {AGAIN}"
            )
        if has_words:
            words.append(fields.pop(0))
        if b"_" not in b"".join(fields):  # float() reads 1_0 as 10
            with suppress(ValueError):
                values.extend(map(float, fields))
                continue
        position, field = next((i, f) for i, f in enumerate(fields, start=1) if not _is_number(f))
        raise InputError(
            f"{name}, line {number}: value {position}, {quoted(field)}, is not a number. Repair it, or: {AGAIN}"
        )
    return words, values.tobytes()


def _header(vectors: Vectors) -> bytes:
    return f"{len(vectors)} {vectors.n_dimensions}\n".encode()


def _word_lines(vectors: Vectors) -> Iterator[bytes]:
    for word, row in zip(vectors.words, _number_lines(vectors, " "), strict=True):
        yield word.encode("utf-8") + b" " + row


def _number_lines(vectors: Vectors, separator: str) -> Iterator[bytes]:
    """Yield the numbers of every word in a line."""
    form = separator.join(["%.9g"] * vectors.n_dimensions) + "\n"  # nine digits name a float32
    for row in vectors.dense:
        yield (form % tuple((row + np.float32(0)).tolist())).encode()  # + 0 turns -0 into 0


def _check_first_word(target: Path, vectors: Vectors) -> None:
    """Refuse a first word that a reader takes for a mark of the encoding."""
    if vectors.words[0].startswith("\ufeff"):
        raise InputError(
            f"{target}: word 0, {vectors.words[0]!r}, starts with U+FEFF, which readers drop at the start of a file. "
            "Rename the word, or put another one first."
        )


def _write(target: Path, parts: Iterable[bytes]) -> None:
    """Write bytes, compressed as the suffix asks, in place of what was there."""
    with replace_file(target) as temporary:
        _fill(temporary, target, parts)


def _fill(temporary: Path, target: Path, parts: Iterable[bytes]) -> None:
    """Write bytes to a temporary file, compressed as the suffix of its target asks."""
    with created(temporary, target.suffix.lower()) as handle:
        handle.writelines(parts)
