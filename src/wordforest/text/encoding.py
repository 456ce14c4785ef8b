"""Bytes that ought to be UTF-8: what to do where they are not, and where that is."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from typing import Literal

from wordforest.errors import InputError

Errors = Literal["strict", "replace", "skip"]

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CONTROLS = bytes({*range(32)} - {*b"\t\n\v\f\r\x1b"})
_REPLACEMENT = "\ufffd".encode()


def valid_utf8(data: bytes, source: str, line: int, errors: Errors) -> bytes:
    """Return bytes that begin at a ``line`` as UTF-8 without a NUL; ``errors`` says what to do with others."""
    if data.startswith(_UTF16) and line == 1:
        raise InputError(
            f"{source}: line 1: this is UTF-16, expected UTF-8. Convert it, for example with iconv -t UTF-8."
        )
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
