"""Plain and compressed files and URLs as streams of bytes."""

from __future__ import annotations

import io
import lzma
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from wordforest.errors import InputError

COMPRESSION = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd"}

_BUFFER = 1 << 18
_LONGEST_WINDOW = 1 << 31  # zstd --long=31, as large corpora are packed; the library's own limit is 1 << 27


@contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """Yield the content of a file or URL, decompressed; a damaged one is an error that names it."""
    from zstandard import ZstdError

    is_zstd = name.lower().endswith(".zst")
    try:
        source = _file(name, "rb", None if is_zstd else "infer")
    except (ValueError, ImportError) as error:
        raise InputError(f"{name}: cannot be opened ({error}). Check the name.") from error
    try:
        with source as raw:
            size = _size(raw)
            stream = io.BufferedReader(_ZstdFrames(raw) if is_zstd else raw, _BUFFER)
            yield stream
            if size and (left := _size(raw)) is not None and left < size:
                raise InputError(f"{name}: it shrank from {size} to {left} bytes while it was read. Write it again.")
    except FileNotFoundError as error:
        raise InputError(f"{name}: no such file or folder. Check the path.") from error
    except (OSError, EOFError, zlib.error, lzma.LZMAError, ZstdError) as error:
        raise InputError(f"{name}: cannot be read to its end ({error}). Download or write it again.") from error


@contextmanager
def created(path: Path, suffix: str) -> Iterator[BinaryIO]:
    """Yield a new file to write bytes to, compressed as ``suffix`` asks."""
    with _file(str(path), "wb", COMPRESSION.get(suffix)) as handle:
        yield handle


def _size(raw: Any) -> int | None:
    """Return the size of the file behind a handle; None where there is no file, or it is closed."""
    try:
        return os.fstat(raw.fileno()).st_size
    except (AttributeError, OSError, ValueError):
        return None


def _file(name: str, mode: str, compression: str | None) -> Any:
    """Return what opens a file or URL. In a URL "::" chains file systems, in a local name it means nothing."""
    import fsspec
    from fsspec.core import OpenFile, get_compression

    if "://" in name:
        return fsspec.open(name, mode, compression=compression)
    return OpenFile(fsspec.filesystem("file"), name, mode, compression=get_compression(name, compression))


class _ZstdFrames(io.RawIOBase):
    """All frames of a .zst stream; the library's own reader stops after one and passes over a cut."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._frame: Any = None
        self._compressed = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: Any) -> int:
        while not self._ready and self._decompress():
            pass
        view = memoryview(target).cast("B")
        n = min(len(view), len(self._ready))
        view[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n

    def _decompress(self) -> bool:
        """Make more bytes ready; False at the end of the last frame."""
        from zstandard import ZstdDecompressor

        data = self._compressed or self._raw.read(_BUFFER)
        if not data and self._frame is not None:
            raise EOFError("the compressed data are cut")
        if not data:
            return False
        self._frame = self._frame or ZstdDecompressor(max_window_size=_LONGEST_WINDOW).decompressobj()
        self._ready = memoryview(self._frame.decompress(data))
        self._compressed = self._frame.unused_data
        if self._frame.eof:
            self._frame = None
        return True
