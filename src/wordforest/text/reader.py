"""Where text comes from: files, folders, globs, URLs, standard input, plain or compressed, cut into chunks.

Text is never held as a whole: a chunk is a few megabytes of valid UTF-8 that ends at a line border.
"""

from __future__ import annotations

import codecs
import glob
import hashlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from wordforest.errors import InputError
from wordforest.runtime.disk import COMPRESSION, opened
from wordforest.text.encoding import Errors, as_utf8, looks_binary, valid_utf8
from wordforest.text.tables import joined, read_table, table_kind, text_column, text_of

CHUNK_BYTES = 8 << 20
_HEAD = 8192  # bytes of a file in a folder that tell whether it is text

# A line longer than a chunk is cut after a letter or digit and before a space: no word or sentence end is lost there.
_SAFE_CUT = re.compile(r"(?s).*[^\W_](?=\s)")
_LONGEST_LINE = 1 << 30  # where there is no such place; positions in a chunk are 32-bit numbers


@dataclass(frozen=True)
class Chunk:
    """A piece of text in UTF-8 that ends at a line border, unless one line is longer than a chunk."""

    data: bytes
    source: str
    last: bool  # nothing of this source follows


def find_sources(
    corpus: str | Path | Iterable[str | Path], notice: Callable[[str], None] = lambda _: None
) -> list[str]:
    """Return the files that a corpus stands for: files, folders (sorted, with subfolders), globs, URLs, '-'.

    Of a folder those that are text, or tables of texts; a ``notice`` names the others.
    """
    items = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    try:
        sources = [source for item in items for source in _expand(str(item), notice)]
    except OSError as error:  # no right to look, a name too long to be one
        raise InputError(f"{error.filename:.80}: cannot be found ({error.strerror}). Check the path.") from error
    if not sources:
        raise InputError("no corpus given. Name at least one text file, folder, glob or URL, or - for standard input.")
    return sources


def total_bytes(sources: Iterable[str]) -> int | None:
    """Return the size of all text, or None where it cannot be known before reading (compressed, table, URL, stream)."""
    paths = [Path(source) for source in sources]
    return sum(path.stat().st_size for path in paths) if all(map(is_plain, paths)) else None


def is_plain(path: Path) -> bool:
    """Say whether a file is text as it lies, neither compressed nor a table."""
    return path.is_file() and path.suffix.lower() not in COMPRESSION and not table_kind(path.name)


def content_hash(sources: Iterable[str]) -> str | None:
    """Return the SHA-256 of files as they lie, in order, or None where text cannot be read twice (URL, stream)."""
    whole = hashlib.sha256()
    for source in sources:
        path = Path(source)
        if source == "-" or not path.is_file():
            return None
        with path.open("rb") as file:
            one = hashlib.file_digest(file, "sha256").hexdigest()
        whole.update(f"{table_kind(source)}{COMPRESSION.get(path.suffix.lower(), '')} {one}\n".encode())
    return whole.hexdigest()


def read_chunks(
    sources: Iterable[str], errors: Errors = "strict", size: int = CHUNK_BYTES, text: str | None = None
) -> Iterator[Chunk]:
    """Read sources one after the other as chunks of about ``size`` bytes; of tables the column ``text``."""
    for source in sources:
        if table_kind(source):
            yield from _chunks_of_table(source, errors, size, text)
            continue
        with nullcontext(sys.stdin.buffer) if source == "-" else opened(source) as stream:
            yield from chunks_of(stream, source, errors, size)


def chunks_of(
    stream: BinaryIO, source: str, errors: Errors, size: int = CHUNK_BYTES, *, begins: bool = True
) -> Iterator[Chunk]:
    """Cut a stream into chunks of valid UTF-8; one that ``begins`` a file may have a mark of its encoding."""
    line = 1
    for data, last in _cut_at_lines(stream, source, size):
        text = data.removeprefix(codecs.BOM_UTF8) if begins and line == 1 else data
        yield Chunk(valid_utf8(text, source, line, errors), source, last)
        line += data.count(b"\n")


def tell_columns(sources: Iterable[str], text: str | None, errors: Errors, notice: Callable[[str], None]) -> None:
    """Say which column of tables is read where none is named; refuse a column that a table lacks, or text has not."""
    tables = [source for source in sources if table_kind(source)]
    if text and not tables:
        raise InputError(f"text = {text!r}, but none of the files is a .csv, .tsv, .jsonl or .parquet. Leave it out.")
    columns: dict[str, list[str]] = {}
    for source in tables:
        columns.setdefault(text_column(source, text, errors)[0], []).append(source)
    for column, of in columns.items() if text is None else ():
        notice(f"{_listed(of)}: the column {column!r} is read as the text; --text COLUMN names another")


def _chunks_of_table(source: str, errors: Errors, size: int, text: str | None) -> Iterator[Chunk]:
    """Cut the texts of a table into chunks, each text on lines of its own."""
    column, _ = text_column(source, text, errors)
    parts: list[bytes] = []
    n_bytes = 0
    for number, (value,) in enumerate(read_table(source, column, (), errors), 1):
        part = as_utf8(joined(text_of(value))) + b"\n"
        if len(part) > _LONGEST_LINE:
            raise InputError(f"{source}: the text of row {number} has more than {_LONGEST_LINE >> 20} MiB. Cut it.")
        if parts and n_bytes + len(part) > size:
            yield Chunk(b"".join(parts), source, last=False)
            parts, n_bytes = [], 0
        parts.append(part)
        n_bytes += len(part)
    yield Chunk(b"".join(parts), source, last=True)


def _expand(item: str, notice: Callable[[str], None]) -> list[str]:
    if item == "-" or "://" in item:
        return [item]
    path = Path(item)
    if path.is_dir():
        found = (p for p in path.rglob("*") if p.is_file())
        files = sorted(str(p) for p in found if not any(part[0] == "." for part in p.relative_to(path).parts))
        texts = [file for file in files if not _is_binary(file)]
        if len(texts) < len(files):
            notice(f"{item}: skipped what is not text: {_listed(sorted({*files} - {*texts}))}")
        if not texts:
            raise InputError(f"{item}: the folder holds no text files. Name a folder with text files in it.")
        return texts
    if path.exists():
        return [item]
    matches = sorted(m for m in glob.glob(item, recursive=True) if Path(m).is_file())  # noqa: PTH207 absolute globs too
    if not matches:
        raise InputError(f"{item}: no such file or folder. Check the path.")
    return matches


def _is_binary(file: str) -> bool:
    if table_kind(file):
        return False
    with Path(file).open("rb") if Path(file).suffix.lower() not in COMPRESSION else opened(file) as stream:
        return looks_binary(stream.read(_HEAD))


def _listed(files: list[str]) -> str:
    return ", ".join(files[:20]) + (f" and {len(files) - 20} more" if len(files) > 20 else "")


def _cut_at_lines(stream: BinaryIO, source: str, size: int) -> Iterator[tuple[bytes, bool]]:
    rest = b""
    while block := stream.read(size):
        rest += block
        cut = rest.rfind(b"\n") + 1
        if not cut and len(rest) >= 2 * size:
            cut = _cut_inside_line(rest)
        if cut:
            yield rest[:cut], False
            rest = rest[cut:]
        elif len(rest) > _LONGEST_LINE:
            raise InputError(
                f"{source}: a line of more than {_LONGEST_LINE >> 20} MiB has no white space between words. "
                "Name a text file, or break its lines."
            )
    yield rest, True


def _cut_inside_line(data: bytes) -> int:
    """Return the last safe place in the tail of a long line, 0 if there is none."""
    tail = data[-(1 << 16) :].decode("utf-8", "surrogateescape")  # may begin and end inside a character
    match = _SAFE_CUT.match(tail)
    return len(data) - len(tail[match.end() :].encode("utf-8", "surrogateescape")) if match else 0
