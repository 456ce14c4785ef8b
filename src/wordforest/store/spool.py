"""Arrays in files instead of memory, for what may be larger than it."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError

_SPARE = 64 << 20  # bytes that a disk keeps free


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
        return _mapped(folder or Path(tempfile.gettempdir()), size).view(dtype)

    return allocate


def _mapped(folder: Path, size: int) -> NDArray[np.uint8]:
    """Return bytes mapped from a file without a name."""
    if not folder.is_dir():
        raise InputError(f"{folder}: expected a folder for arrays larger than memory. Create it, or choose another.")
    free = shutil.disk_usage(folder).free
    if free < size + _SPARE:
        raise _no_room(folder, size, free)
    with tempfile.TemporaryFile(dir=folder) as file:  # what is mapped from it outlives the handle
        try:
            _reserve(file.fileno(), size)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            raise _no_room(folder, size, free) from error
        return np.asarray(np.memmap(file, dtype=np.uint8, mode="r+", shape=(size,)))


def _reserve(handle: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, size)
    else:
        os.truncate(handle, size)


def _no_room(folder: Path, size: int, free: int) -> InputError:
    return InputError(
        f"{folder}: an array larger than memory needs {_amount(size + _SPARE)} on this disk, but {_amount(free)} are "
        "free. Free some, or choose a folder on another disk."
    )


def _amount(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
