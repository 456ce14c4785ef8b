"""One writer in a folder at a time, by a lock that goes away with its process, however that ends."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatch
from pathlib import Path

from wordforest.errors import InputError

TEMPORARY = ".wordforest-*.tmp"
_TAKEN = (errno.EACCES, errno.EAGAIN)
_PAUSE = 0.05  # seconds between two tries


@contextmanager
def locked(folder: Path, patience: float = 1.0) -> Iterator[None]:
    """Keep other writers out of a folder that exists; one that is still inside after ``patience`` seconds is an error.

    The lock is on the folder itself, so it leaves no file and cannot outlive a process that was killed, but for the
    moment in which a child it was just starting has not begun. File systems that know no such locks go without.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        until = time.monotonic() + patience
        while not _take(handle):
            if time.monotonic() >= until:
                raise InputError(
                    f"{folder}: another process is writing there. Wait until it has ended, or choose another place."
                )
            time.sleep(_PAUSE)
        yield
    finally:
        os.close(handle)


@contextmanager
def workplace(folder: Path) -> Iterator[Path]:
    """Yield a new folder inside ``folder`` for what is not finished yet; it goes away at the end.

    It is locked, so that whoever comes later can tell the workplace of a process that was killed, and remove it.
    """
    if not fnmatch(folder.name, TEMPORARY):
        remove_leftovers(folder)
    while True:
        place = folder / TEMPORARY.replace("*", secrets.token_hex(8))
        place.mkdir()
        handle = os.open(place, os.O_RDONLY)
        if _take(handle) and place.is_dir():
            break
        os.close(handle)  # somebody took it for a leftover before it was locked
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.close(handle)


def remove_leftovers(folder: Path) -> None:
    """Remove the workplaces of processes that were killed."""
    for place in folder.glob(TEMPORARY):
        with suppress(OSError):  # somebody else was quicker
            handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
            if _take(handle, without=False):
                shutil.rmtree(place)
            os.close(handle)


def _take(handle: int, *, without: bool = True) -> bool:
    """Lock what a handle stands for; where there are no locks, return ``without``."""
    try:
        import fcntl
    except ImportError:  # on Windows
        return without
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return without and error.errno not in _TAKEN
    return True
