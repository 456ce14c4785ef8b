"""word2vec's binary format: a header line, then word, space and float32 values of each record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from wordforest.errors import InputError
from wordforest.runtime.disk import opened
from wordforest.store.formats.common import (
    AGAIN,
    CHUNK,
    VectorFile,
    assembled,
    check_words,
    decoded,
    parse_header,
    write_parts,
)
from wordforest.vectors import Vectors

_LONGEST_WORD = 1 << 16  # bytes without a space that are still taken for a word


def read_binary(source: VectorFile) -> Vectors:
    """Return the vectors of a binary file; memory grows with what is read, not with the header."""
    words: list[bytes] = []
    values = bytearray()
    with opened(source.name) as handle:
        n_words, width = parse_header(source.name, handle.readline(64))
        for raw, vector in _records(source, handle, n_words, 4 * width):
            words.append(raw)
            values += vector
    matrix = np.frombuffer(values, "<f4").astype(np.float32, copy=False).reshape(len(words), width)
    return assembled(source, decoded(source, words, _where), matrix, _where)


def write_binary(target: Path, vectors: Vectors) -> None:
    """Write the header and a record for every word."""
    check_words(target, vectors)
    write_parts(target, _lines(vectors))


def _lines(vectors: Vectors) -> Iterator[bytes]:
    yield f"{len(vectors)} {vectors.n_dimensions}\n".encode()
    for word, row in zip(vectors.words, vectors.dense, strict=True):
        yield word.encode("utf-8") + b" " + row.astype("<f4").tobytes()


def _where(row: int) -> str:
    return f"record {row + 1}"


def _records(source: VectorFile, handle: BinaryIO, n_words: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield word and vector bytes of each record: the word, a space, ``size`` bytes, perhaps a line end."""
    buffer, start = bytearray(), 0
    n_read = n_words if source.limit is None else min(n_words, source.limit)
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
