"""Plain and compressed files and URLs as streams of bytes."""

from __future__ import annotations

import io
import lzma
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from wordforest.errors import InputError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

COMPRESSION = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd"}

_BUFFER = 1 << 18
# zstd --long=31, as large corpora are packed; the library's own limit is 27
_OPTIONS: dict[int, int] = {zstd.DecompressionParameter.window_log_max: 31}


@contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """Yield the content of a file or URL, decompressed; a damaged one is an error that names it."""
    is_zstd = name.lower().endswith(".zst")
    try:
        source = _file(name, "rb", None if is_zstd else "infer")
    except (ValueError, ImportError) as error:
        raise InputError(f"{name}: cannot be opened ({error}). Check the name.") from error
    try:
        with source as raw:
            size = _size(raw)
            stream: Any = zstd.ZstdFile(raw, options=_OPTIONS) if is_zstd else raw
            yield io.BufferedReader(stream, _BUFFER)
            if size and (left := _size(raw)) is not None and left < size:
                raise InputError(f"{name}: it shrank from {size} to {left} bytes while it was read. Write it again.")
    except FileNotFoundError as error:
        raise InputError(f"{name}: no such file or folder. Check the path.") from error
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zstd.ZstdError) as error:
        raise InputError(f"{name}: cannot be read to its end ({error}). Download or write it again.") from error


@contextmanager
def created(path: Path, suffix: str) -> Iterator[BinaryIO]:
    """Yield a new file to write bytes to, compressed as ``suffix`` asks."""
    file: Any = zstd.open(path, "wb") if suffix == ".zst" else _file(str(path), "wb", COMPRESSION.get(suffix))
    with file as handle:
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
