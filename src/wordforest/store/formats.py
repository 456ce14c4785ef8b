"""Files of word vectors that other tools use: word2vec text and binary, GloVe text; else RUN folders."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.store.files import replace_file
from wordforest.store.run import Run, load_run, save_run
from wordforest.streams import COMPRESSION, created, opened
from wordforest.vectors import Vectors, first_non_finite_row

StrPath: TypeAlias = str | os.PathLike[str]

_CHUNK = 1 << 20
_LONGEST_WORD = 1 << 16  # bytes without a space that are still taken for a word of a binary file
_HEADER = re.compile(rb"\s*(\d{1,18})\s+(\d{1,18})\s*")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_SPACE = re.compile(r"[ \t\n\r\x0b\f]")  # what the text formats split at; other Unicode spaces are letters
_AGAIN = "Download or write the file again."


def read_vectors(path: StrPath) -> Vectors:
    """Return the vectors of a RUN folder or of a word2vec (text, binary) or GloVe file, plain or compressed.

    A name in ``.bin`` is binary, one in ``.glove`` or ``.glove.txt`` has no header; else the content tells.
    """
    name = os.fspath(path)
    if Path(name).is_dir():
        return load_run(Path(name)).vectors
    kind = _suffix(name)
    with opened(name) as handle:
        head = handle.read(_CHUNK)
    if not head:
        raise InputError(f"{name}: expected word vectors, but the file is empty. {_AGAIN}")
    read: Callable[[str, BinaryIO], Vectors]
    if kind == ".bin" or (kind != ".glove" and _looks_binary(head)):
        read = _read_binary
    elif kind != ".glove" and _HEADER.fullmatch(head.partition(b"\n")[0]):
        read = _read_word2vec
    else:
        read = _read_glove
    with opened(name) as handle:
        return read(name, handle)


def write_vectors(path: StrPath, vectors: Vectors) -> None:
    """Write vectors in the format that the name asks for; float32 values come back exactly.

    ``.bin`` word2vec binary; ``.txt``, ``.vec``, ``.w2v`` word2vec text; ``.glove``, ``.glove.txt`` GloVe
    text (each also with ``.gz``, ``.bz2``, ``.xz`` or ``.zst``); no suffix: a RUN folder.
    """
    target = Path(path)
    kind = _suffix(target.name)
    if kind == "" and target.suffix == "":
        save_run(target, _as_run(vectors))
        return
    write = _WRITERS.get(kind)
    if write is None:
        raise InputError(
            f"{target}: no format goes by this name. Use .bin, .txt, .vec, .w2v or .glove, perhaps followed "
            f"by {', '.join(COMPRESSION)}, or no suffix for a run folder."
        )
    _check_words(target, vectors)
    with replace_file(target) as temporary, created(temporary, target.suffix.lower()) as handle:
        for part in write(vectors):
            handle.write(part)


def _suffix(name: str) -> str:
    """Return the suffix that names the format, compression left aside."""
    path = Path(name.lower())
    if path.suffix in COMPRESSION:
        path = path.with_suffix("")
    return ".glove" if path.name.endswith(".glove.txt") else path.suffix


def _looks_binary(head: bytes) -> bool:
    """Return whether a header is followed by what no text holds. Small samples may lack it: use ``.bin``."""
    first, _, rest = head.partition(b"\n")
    return bool(_HEADER.fullmatch(first) and _CONTROL.search(rest) and not _is_row(rest.partition(b"\n")[0]))


def _is_row(line: bytes) -> bool:
    fields = line.split()
    return len(fields) > 1 and all(map(_is_number, fields[1:]))


def _read_word2vec(name: str, lines: BinaryIO) -> Vectors:
    n_words, width = _parse_header(name, next(lines))
    words, values = _read_rows(name, lines, width, first=2)
    if len(words) != n_words:
        raise InputError(
            f"{name}, line 1: the header promises {n_words} words, but {len(words)} came. "
            f"Correct the header, or: {_AGAIN}"
        )
    return _vectors(words, np.frombuffer(values, np.float32), width, lambda row: f"{name}, line {row + 2}")


def _read_glove(name: str, lines: BinaryIO) -> Vectors:
    line = next(lines)
    width = len(line.split()) - 1
    if width < 1:
        raise InputError(f"{name}, line 1: expected a word and its numbers, but {_quoted(line)} came. {_AGAIN}")
    words, values = _read_rows(name, chain([line], lines), width, first=1)
    return _vectors(words, np.frombuffer(values, np.float32), width, lambda row: f"{name}, line {row + 1}")


def _read_rows(name: str, lines: Iterator[bytes], width: int, first: int) -> tuple[list[str], array[float]]:
    """Return words and their numbers in a row; memory grows with what is read, not with a header."""
    words: dict[str, int] = {}
    values = array("f")
    for number, line in enumerate(lines, start=first):
        fields = line.split()
        if len(fields) != width + 1:
            fields = _with_spaced_word(name, number, line, width)
        word = _decode(fields[0], f"{name}, line {number}")
        try:
            values.extend(map(float, fields[1:]))
        except ValueError:
            raise InputError(_not_a_number(name, number, fields)) from None
        if b"_" in line and not all(map(_is_number, fields[1:])):  # float() reads 1_0 as 10
            raise InputError(_not_a_number(name, number, fields))
        if (before := words.setdefault(word, number)) != number:
            raise InputError(
                f"{name}, line {number}: the word {word!r} stands on line {before} already. Keep one of them."
            )
    return list(words), values


def _with_spaced_word(name: str, number: int, line: bytes, width: int) -> list[bytes]:
    """Split a line whose word holds spaces, as ". . ." in GloVe 840B; a number too many is no such word."""
    fields = line.rsplit(maxsplit=width)
    if len(fields) == width + 1 and not _is_number(fields[0].split()[-1]):
        return fields
    raise InputError(
        f"{name}, line {number}: expected a word and {width} numbers, "
        f"but {len(line.split())} fields came: {_quoted(line)}. Repair the line, or: {_AGAIN}"
    )


def _read_binary(name: str, handle: BinaryIO) -> Vectors:
    n_words, width = _parse_header(name, handle.readline(64))
    words: dict[str, int] = {}
    values = bytearray()
    for number, (raw, vector) in enumerate(_records(name, handle, n_words, 4 * width), start=1):
        values += vector
        word = _decode(raw, f"{name}, record {number}")
        if (before := words.setdefault(word, number)) != number:
            raise InputError(
                f"{name}, record {number}: the word {word!r} is record {before} already. Keep one of them."
            )
    numbers = np.frombuffer(values, "<f4").astype(np.float32, copy=False)
    return _vectors(list(words), numbers, width, lambda row: f"{name}, record {row + 1}")


def _records(name: str, handle: BinaryIO, n_words: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield word and vector bytes of each record: the word, a space, ``size`` bytes, perhaps a line end."""
    buffer, start = bytearray(), 0
    for number in range(1, n_words + 1):
        while (space := buffer.find(b" ", start)) < 0 or len(buffer) - space <= size:
            del buffer[:start]
            start = 0
            chunk = handle.read(_CHUNK)
            if not chunk or (space < 0 and len(buffer) > _LONGEST_WORD):
                raise InputError(
                    f"{name}, record {number} of {n_words}: expected a word, a space and {size} bytes, "
                    f"but {'the file ends' if not chunk else 'no space came'}. {_AGAIN}"
                )
            buffer += chunk
        yield bytes(buffer[start:space]).lstrip(b"\n"), bytes(buffer[space + 1 : space + 1 + size])
        start = space + 1 + size
    if (bytes(buffer[start:]) + handle.read(_CHUNK)).strip(b"\n"):
        raise InputError(
            f"{name}, record {n_words}: the header promises {n_words} words, but more follows. "
            f"Correct the header, or: {_AGAIN}"
        )


def _parse_header(name: str, line: bytes) -> tuple[int, int]:
    match = _HEADER.fullmatch(line)
    n_words, width = map(int, match.groups()) if match else (0, 0)
    if n_words < 1 or width < 1:
        raise InputError(
            f"{name}, line 1: expected a header with the numbers of words and dimensions, "
            f"but {_quoted(line)} came. {_AGAIN}"
        )
    return n_words, width


def _vectors(words: Sequence[str], values: NDArray[np.float32], width: int, place: Callable[[int], str]) -> Vectors:
    values.setflags(write=False)
    matrix = values.reshape(len(words), width)
    row = first_non_finite_row(matrix)
    if row is not None:
        raise InputError(f"{place(row)}: the vector of {words[row]!r} holds NaN or infinity. Remove the word.")
    return Vectors(words, matrix)


def _decode(word: bytes, place: str) -> str:
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: the word {word[:80]!r} is not UTF-8. Convert the file to UTF-8.") from error


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return b"_" not in field


def _not_a_number(name: str, number: int, fields: list[bytes]) -> str:
    position, field = next((i, f) for i, f in enumerate(fields) if i and not _is_number(f))
    return f"{name}, line {number}: value {position}, {_quoted(field)}, is not a number. Repair it, or: {_AGAIN}"


def _quoted(raw: bytes) -> str:
    return repr(raw[:60].decode("utf-8", "replace"))


def _check_words(target: Path, vectors: Vectors) -> None:
    if not len(vectors) or not vectors.n_dimensions:
        raise InputError(f"{target}: there is nothing to write, {vectors!r}. Give at least one word and dimension.")
    for row, word in enumerate(vectors.words):
        if not word or _SPACE.search(word):
            raise InputError(
                f"{target}: word {row}, {word!r}, is empty or holds a space, which this format cannot hold. "
                "Rename the word, or write a run folder."
            )
        try:
            word.encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(f"{target}: word {row}, {word!r}, has no UTF-8 form. Rename the word.") from error


def _glove_lines(vectors: Vectors) -> Iterator[bytes]:
    form = " %.9g" * vectors.n_dimensions + "\n"  # nine digits name a float32
    for word, row in zip(vectors.words, vectors.dense, strict=True):
        yield (word + form % tuple((row + np.float32(0)).tolist())).encode("utf-8")  # + 0 turns -0 into 0


def _word2vec_lines(vectors: Vectors) -> Iterator[bytes]:
    yield f"{len(vectors)} {vectors.n_dimensions}\n".encode()
    yield from _glove_lines(vectors)


def _binary_records(vectors: Vectors) -> Iterator[bytes]:
    yield f"{len(vectors)} {vectors.n_dimensions}\n".encode()
    for word, row in zip(vectors.words, vectors.dense, strict=True):
        yield word.encode("utf-8") + b" " + row.astype("<f4").tobytes()


_WRITERS: dict[str, Callable[[Vectors], Iterator[bytes]]] = {
    ".bin": _binary_records,
    ".txt": _word2vec_lines,
    ".vec": _word2vec_lines,
    ".w2v": _word2vec_lines,
    ".glove": _glove_lines,
}


def _as_run(vectors: Vectors) -> Run:
    return Run(
        words=vectors.words,
        counts=np.zeros(len(vectors), dtype=np.int64),
        codes=sparse.csr_array(vectors.matrix),
        dictionary=None,
        forest=vectors.forest or Forest.flat(vectors.n_dimensions),
        config={"source": "write_vectors", "counts": "unknown"},
    )
