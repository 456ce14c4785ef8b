"""Files beside results: plain and compressed streams to read, and room for what may be larger than memory."""

from __future__ import annotations

import io
import json
import lzma
import mmap
import os
import shutil
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import FullDiskError, InputError
from wordforest.runtime.machine import three_quarters

_SPARE = 64 << 20  # bytes that a disk keeps free
_CHECKED_AT_ONCE = 256 << 20  # bytes for which one look at the disk is enough


class ScratchFiles:
    """Files of one job, seven at most, however large the corpus: ``memory`` bytes in all, a quarter of it for parts
    before they go to a file.

    Without names the files are gone with the process; with names a job that was killed can be resumed: ``note`` writes
    down what is finished, ``notes`` reads it again.
    """

    def __init__(self, folder: str | Path | None = None, memory: int | None = None, *, named: bool = False) -> None:
        self._files: dict[str, IO[bytes]] = {}
        self._in_memory: dict[int, NDArray[np.uint8]] = {}
        self.memory = memory or three_quarters()
        self.named = named and folder is not None
        self._folder = Path(folder or tempfile.gettempdir())
        self._left = min(self.memory // 4, 1 << 30) if self.named else self.memory // 4
        self._lock = threading.Lock()
        self._end = 0  # of the file of parts
        self._granted = 0  # bytes that the disk was seen to have
        self._next_key = -1

    def file(self, name: str) -> IO[bytes]:
        """Return a file open to read and write, at its end."""
        if name not in self._files:
            if self.named:
                path = self._folder / name
                path.touch()
                self._files[name] = path.open("r+b", buffering=0)
            else:
                self._files[name] = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
            self._files[name].seek(0, os.SEEK_END)
        return self._files[name]

    def apart(self) -> ScratchFiles:
        """Return files of their own, without names, for a part of the job that is done again if it is broken off."""
        return ScratchFiles(self._folder, self.memory)

    def reserve(self, size: int) -> None:
        """Look whether the disk has room for ``size`` bytes more."""
        self._granted -= size
        if self._granted >= 0:
            return
        free = check_disk(self._folder, size, "counting")
        self._granted = min(max(size, _CHECKED_AT_ONCE), free - _SPARE)

    def put(self, part: NDArray[np.uint8]) -> int:
        """Keep bytes and return their key: a place in the file, or a negative number for what is in memory."""
        with self._lock:
            if part.nbytes <= self._left:
                self._left -= part.nbytes
                key = self._next_key
                self._next_key -= 1
                self._in_memory[key] = part
                return key
            self.reserve(part.nbytes)
            file = self.file("parts.bin")
            self._end = self._end or file.seek(0, os.SEEK_END)
            key = self._end
            self._end += part.nbytes
        write_at(file, part, key)
        return key

    def get(self, key: int, size: int) -> NDArray[np.uint8]:
        """Return ``size`` bytes kept under a key."""
        if key < 0:
            return self._in_memory[key]
        return read_at(self.file("parts.bin"), key, size)

    def drop(self, key: int) -> None:
        """Forget what is in memory under a key."""
        part = self._in_memory.pop(key, None)
        if part is not None:
            with self._lock:
                self._left += part.nbytes

    def note(self, what: dict[str, Any]) -> None:
        """Write down what is finished; nothing where files have no names.

        A process that is killed loses nothing it has written. A machine that stops may, so notes from before its last
        start do not count (see ``notes``), and nothing has to wait for the disk here.
        """
        if not self.named:
            return
        file = self.file("notes.jsonl")
        first = json.dumps({"boot": _boot()}).encode() + b"\n" if file.tell() == 0 else b""
        file.write(first + json.dumps(what).encode() + b"\n")

    def notes(self) -> list[dict[str, Any]]:
        """Return what an earlier try wrote down; a last line that was cut short does not count."""
        path = self._folder / "notes.jsonl"
        if not self.named or not path.exists():
            return []
        lines = path.read_bytes()
        whole = lines[: lines.rfind(b"\n") + 1]
        notes: list[dict[str, Any]] = [json.loads(line) for line in whole.splitlines()]
        if not notes or notes[0].get("boot") != _boot():
            self.cut("notes.jsonl", 0)
            return []
        self.cut("notes.jsonl", len(whole))
        return notes[1:]

    def cut(self, name: str, size: int) -> None:
        """Shorten a file to what was noted; an error if it is shorter already."""
        file = self.file(name)
        if file.seek(0, os.SEEK_END) < size:
            raise InputError(f"{self._folder / name}: part of it is lost. Begin again, with --force.")
        file.truncate(size)
        file.seek(size)

    def __del__(self) -> None:
        """Close the files with the last that uses them."""
        self.close()

    def close(self) -> None:
        """Close the files; unnamed ones go away."""
        for file in self._files.values():
            file.close()
        self._files.clear()
        self._in_memory.clear()


def read_at(file: IO[bytes], start: int, size: int) -> NDArray[np.uint8]:
    """Return ``size`` bytes from ``start``; threads may read and write at once."""
    part = np.empty(size, dtype=np.uint8)
    view, done = part.data, 0
    while done < size:
        n = os.preadv(file.fileno(), [view[done:]], start + done)
        if n == 0:
            raise InputError(f"a working file ends {size - done} bytes too early. Begin again, with --force.")
        done += n
    return part


def write_at(file: IO[bytes], part: NDArray[np.uint8], start: int) -> None:
    """Write bytes from ``start`` on."""
    view, done = part.data, 0
    while done < part.nbytes:
        done += os.pwrite(file.fileno(), view[done:], start + done)


def let_go(*arrays: NDArray[Any]) -> None:
    """Give back the memory of arrays mapped from files to read; what is looked at again is read again."""
    for array in arrays:
        base: Any = array
        while isinstance(base, np.ndarray | memoryview):
            base = base.base if isinstance(base, np.ndarray) else base.obj
        if isinstance(base, mmap.mmap) and not array.flags.writeable and hasattr(mmap, "MADV_DONTNEED"):
            base.madvise(mmap.MADV_DONTNEED)


def arrays_in(folder: Path | None, memory: int = 0) -> Callable[[int, Any], NDArray[Any]]:
    """Return what makes arrays, ``allocate(length, dtype)``: in memory as long as all of them take at most ``memory``
    bytes, else mapped from files of a folder (or the system's for temporary files).

    The files have no names, so they are gone with their arrays, even if the process is killed. Their room on the disk
    is taken at once, so a full disk is an error here and not a crash later.
    """
    left = memory

    def allocate(length: int, dtype: Any) -> NDArray[Any]:
        nonlocal left
        size = length * np.dtype(dtype).itemsize
        if size <= left or size == 0:
            left -= size
            return np.empty(length, dtype)
        place = folder or Path(tempfile.gettempdir())
        if not place.is_dir():
            raise InputError(f"{place}: expected a folder for arrays larger than memory. Create it, or choose another.")
        check_disk(place, size, "an array larger than memory")
        with tempfile.TemporaryFile(dir=place) as file:  # what is mapped from it outlives the handle
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                file.truncate(size)
            return np.asarray(np.memmap(file, dtype=dtype, mode="r+", shape=(length,)))

    return allocate


def check_disk(folder: Path, size: int, what: str) -> int:
    """Return the bytes free on the disk of a folder; an error if ``what`` needs ``size`` bytes and they are fewer."""
    free = shutil.disk_usage(folder).free
    if free < size + _SPARE:
        needed, left = (
            f"{amount / 1e9:.1f} GB" if amount >= 1e9 else f"{amount / 1e6:.0f} MB" for amount in (size + _SPARE, free)
        )
        raise FullDiskError(
            f"{folder}: {what} needs {needed} on this disk, but {left} are free. Free some and add --resume, or choose "
            "an --out on another disk."
        )
    return free


def _boot() -> str:
    """Return what tells one start of the machine from another, where the system says so."""
    path = Path("/proc/sys/kernel/random/boot_id")
    return path.read_text().strip() if path.exists() else ""


COMPRESSION = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz", ".zst": "zstd"}
_BUFFER = 1 << 18


@contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """Yield the content of a file or URL, decompressed; a damaged one is an error that names it."""
    damage: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, lzma.LZMAError)
    if name.lower().endswith(".zst"):
        damage = (*damage, zstd_library().ZstdError)
    try:
        source = _file(name, "rb", "infer")
    except ImportError as error:
        extra = name.partition("://")[0].replace("https", "http")
        raise InputError(f"{name}: {error}. Run: pip install 'fsspec[{extra}]'") from error
    except ValueError as error:
        raise InputError(f"{name}: cannot be opened ({error}). Check the name.") from error
    try:
        with source as stream:
            size = _size(stream)
            yield io.BufferedReader(stream, _BUFFER)
            if size and (left := _size(stream)) is not None and left < size:
                raise InputError(f"{name}: it shrank from {size} to {left} bytes while it was read. Write it again.")
    except FileNotFoundError as error:
        raise InputError(no_such_file(name)) from error
    except damage as error:
        raise InputError(f"{name}: cannot be read to its end ({error}). Download or write it again.") from error


def no_such_file(name: str) -> str:
    """Return that there is no such file, and the one in its folder that was perhaps meant."""
    path, close = Path(name), []
    if "://" not in name and path.parent.is_dir():
        close = get_close_matches(path.name, [one.name for one in path.parent.iterdir()], 1)
    meant = f"Did you mean {path.parent / close[0]}?" if close else "Check the path."
    return f"{name:.300}: no such file or folder. {meant}"  # a text in place of a name is not told in full


def created(path: Path, suffix: str) -> Any:
    """Return a context that yields a new file to write bytes to, compressed as ``suffix`` asks."""
    return _file(str(path), "wb", COMPRESSION.get(suffix))


def zstd_library() -> Any:
    """Return the module that knows .zst, which Python has from 3.14 on."""
    return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


def _zstd_file(raw: Any, mode: str) -> Any:
    """Return a .zst stream, also as ``zstd --long=31`` packs large corpora: the library's own limit is 27."""
    zstd = zstd_library()
    return zstd.ZstdFile(raw, mode, options={zstd.DecompressionParameter.window_log_max: 31} if mode == "r" else None)


def _size(stream: Any) -> int | None:
    """Return the size of the file behind a stream; None where there is no file, or it is closed."""
    try:
        return os.fstat(stream.fileno()).st_size
    except (AttributeError, OSError, ValueError):
        return None


def _file(name: str, mode: str, compression: str | None) -> Any:
    """Return what opens a file or URL. In a URL "::" chains file systems, in a local name it means nothing."""
    import fsspec
    from fsspec.compression import register_compression
    from fsspec.core import OpenFile, get_compression

    register_compression("zstd", _zstd_file, "zst", force=True)
    if "://" in name:
        return fsspec.open(name, mode, compression=compression)
    return OpenFile(fsspec.filesystem("file"), name, mode, compression=get_compression(name, compression))
