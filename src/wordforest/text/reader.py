"""Where text comes from: files, folders, globs, URLs, standard input, plain or compressed, cut into chunks.

Text is never held as a whole: a chunk is a few megabytes of valid UTF-8 that ends at a line border.
"""

from __future__ import annotations

import codecs
import glob
import hashlib
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Literal

from wordforest.errors import InputError
from wordforest.runtime.disk import COMPRESSION, no_such_file, opened

Errors = Literal["strict", "replace", "skip"]

CHUNK_BYTES = 8 << 20
_TABLES = (".csv", ".tsv", ".jsonl", ".parquet")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_OTHERS = {  # what files that are no text begin with
    b"%PDF-": "a PDF. Take the text out of it, for example with pdftotext",
    b"PK\x03\x04": "an archive, or a document of an office program. Save it as text",
    b"\x89PNG": "a picture. Name a text file",
    b"\xff\xd8\xff": "a picture. Name a text file",
    b"\x1f\x8b": "compressed. Rename it to end in .gz",
}
_CONTROLS = bytes({*range(32)} - {*b"\t\n\v\f\r\x1b"})
_REPLACEMENT = "\ufffd".encode()
_HEAD = 1 << 16  # bytes of a file that tell whether it is text
_VECTORS = (".bin", ".npz", ".safetensors")
_HEADER = re.compile(rb"\d+ \d+\s*")
_ROW = re.compile(rb"\S+(\s+-?\d+(\.\d+)?([eE][-+]?\d+)?){4,}\s*")

# A line longer than a chunk is cut after a letter or digit and before a space: no word or sentence end is lost there.
_SAFE_CUT = re.compile(r"(?s).*[^\W_](?=\s)")
_LONGEST_LINE = 1 << 30  # where there is no such place; positions in a chunk are 32-bit numbers


@dataclass(frozen=True)
class Chunk:
    """A piece of text in UTF-8 that ends at a line border, unless one line is longer than a chunk."""

    data: bytes
    source: str
    last: bool  # nothing of this source follows


class Corpus(list[str]):
    """The names that make up a corpus, as results note them down; what else is known of it hangs on them.

    Texts of Python lie in a file, a text after the other, so that a generator is read once and a text larger than
    memory can be looked at again. The file goes away with this object.
    """

    file: Any = None  # with the texts, where they come from Python
    tokenised = False  # as lists of tokens

    def sources(self, notice: Callable[[str], None] = lambda _: None) -> list[str]:
        """Return the files to read."""
        return [self.file.name] if self.file else find_sources(self, notice)


def find_sources(
    corpus: str | Path | Iterable[str | Path], notice: Callable[[str], None] = lambda _: None
) -> list[str]:
    """Return the files that a corpus stands for: files, folders (sorted, with subfolders), globs, URLs, '-'.

    Of a folder or a glob those that are text, or tables of texts; a ``notice`` names the others.
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


def table_kind(name: str) -> str:
    """Return .csv, .tsv, .jsonl or .parquet for the name of a table, compressed or not, else nothing.

    >>> table_kind("a/b.CSV.gz"), table_kind("b.txt")
    ('.csv', '')
    """
    suffixes = PurePosixPath(name.lower()).suffixes
    last = [suffix for suffix in suffixes[-2:] if suffix not in COMPRESSION][-1:]
    return last[0] if last and last[0] in _TABLES else ""


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
        from wordforest.text.tables import text_column

        columns.setdefault(text_column(source, text, errors)[0], []).append(source)
    for column, of in columns.items() if text is None else ():
        notice(f"{_listed(of)}: the column {column!r} is read as the text; --text COLUMN names another")


def _chunks_of_table(source: str, errors: Errors, size: int, text: str | None) -> Iterator[Chunk]:
    """Cut the texts of a table into chunks, each text on lines of its own."""
    from wordforest.text.tables import joined, read_table, text_column, text_of

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
    if not item.strip():  # which would be the working folder
        raise InputError("an empty name came, as of a variable that is not set. Name a file or a folder.")
    path = Path(item)
    if path.is_dir():
        found = (p for p in path.rglob("*") if p.is_file())
        files = sorted(str(p) for p in found if not any(part[0] == "." for part in p.relative_to(path).parts))
        if not (texts := _texts_among(files, item, notice)):
            raise InputError(f"{item}: the folder holds no text files. Name a folder with text files in it.")
        return texts
    if path.exists():
        _refuse_json(path)
        _refuse_vectors(path)
        return [item]
    matches = sorted(m for m in glob.glob(item, recursive=True) if Path(m).is_file())  # noqa: PTH207 absolute globs too
    if not matches:
        is_sentence = len(item.split()) > 2 and "/" not in item
        raise InputError(no_such_file(item) + is_sentence * " A text itself goes into a file, in Python into a list.")
    return _texts_among(matches, item, notice) or matches  # what is wrong with the first is told when it is read


def _texts_among(files: list[str], item: str, notice: Callable[[str], None]) -> list[str]:
    """Return the files that are text, or tables of texts; a notice names the others."""
    texts = [file for file in files if not _is_no_text(file)]
    if len(texts) < len(files):
        notice(f"{item}: skipped what is not text: {_listed(sorted({*files} - {*texts}))}")
    return texts


def _is_no_text(file: str) -> bool:
    if table_kind(file):
        return False
    if _is_json(Path(file)):
        return True
    with Path(file).open("rb") if Path(file).suffix.lower() not in COMPRESSION else opened(file) as stream:
        return looks_binary(stream.read(_HEAD))


def _is_json(path: Path) -> bool:
    return path.suffix.lower() == ".json"


def _refuse_json(path: Path) -> None:
    """Refuse a file of JSON, whose names of fields would become words."""
    if _is_json(path):
        write = 'In pandas: frame.to_json("texts.jsonl", orient="records", lines=True)'
        raise InputError(
            f"{path}: JSON is read with an object a line, by the name .jsonl. Rename or rewrite it. {write}"
        )


def _refuse_vectors(path: Path) -> None:
    """Refuse a file of word vectors, by its name or its first rows: a word and numbers, as many in each."""
    lines = []
    if path.is_file() and not (known := path.suffix.lower() in _VECTORS):
        with opened(str(path)) as stream:
            lines = stream.read(_HEAD).split(b"\n")[:-1]
    rows = lines[1:] if lines and _HEADER.fullmatch(lines[0]) else lines
    if path.is_file() and (known or (len(rows) > 1 and all(map(_ROW.fullmatch, rows)))):
        look = f"Look into them with: wordforest inspect {shlex.quote(str(path))}"
        raise InputError(f"{path}: these are vectors, not text. {look}. To learn new ones, name a text.")


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


def valid_utf8(data: bytes, source: str, line: int, errors: Errors) -> bytes:
    """Return bytes that begin at a ``line`` as UTF-8 without a NUL; ``errors`` says what to do with others."""
    if data.startswith(_UTF16) and line == 1:
        raise InputError(
            f"{source}: line 1: this is UTF-16, expected UTF-8. Convert it, for example with iconv -t UTF-8."
        )
    for begin, what in _OTHERS.items() if line == 1 else ():
        if data.startswith(begin):
            raise InputError(f"{source}: this is {what}.")
    if (nul := data.find(b"\0")) >= 0:
        if errors == "strict":
            raise InputError(
                f"{source}: {_place(data, nul, line)}: found a NUL byte, so this is hardly a text file. "
                "Name a UTF-8 text file, or add --errors replace or skip."
            )
        data = data.replace(b"\0", _REPLACEMENT if errors == "replace" else b"")
    if data.isascii():
        return data
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if errors != "strict":
            return data.decode("utf-8", "replace" if errors == "replace" else "ignore").encode()
        raise InputError(
            f"{source}: {_place(data, error.start, line)}: byte 0x{data[error.start]:02x} is not valid UTF-8 "
            f"({error.reason}). Convert the file to UTF-8, or add --errors replace."
        ) from error
    return data


def as_utf8(text: str) -> bytes:
    """Return a text of Python for the tokeniser, which knows neither byte 0 nor lone surrogates: both end a word."""
    return text.encode("utf-8", "replace").replace(b"\0", b" ")


def lines_of(stream: Iterable[bytes], source: str, errors: Errors) -> Iterator[str]:
    """Yield the lines of a file with their ends."""
    for number, line in enumerate(stream, 1):
        yield valid_utf8(line, source, number, errors).decode("utf-8-sig" if number == 1 else "utf-8")


def looks_binary(head: bytes) -> bool:
    """Say whether the first bytes of a file are a picture, a PDF, an archive or the like, and not text with a flaw."""
    if head.startswith(_UTF16):
        return False
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return head.startswith(b"%PDF-") or 100 * controls > len(head)


def _place(data: bytes, at: int, line: int) -> str:
    """Return line and column of a byte; columns are counted in characters, as editors do."""
    begin = data.rfind(b"\n", 0, at) + 1
    column = len(data[begin:at].decode("utf-8", "replace")) + 1
    return f"line {line + data[:begin].count(10)}, column {column}"
