"""One writer in a folder at a time, by a lock that goes away with its process, however that ends."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wordforest.errors import InputError

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


def _take(handle: int) -> bool:
    try:
        import fcntl
    except ImportError:  # on Windows, where folders go without
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in _TAKEN
    return True
