"""One writer in a folder at a time, by a lock that goes away with its process, however that ends."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wordforest.errors import InputError

try:
    import fcntl
except ImportError:  # not on Windows: there, folders go without
    fcntl = None  # type: ignore[assignment, unused-ignore]

_TAKEN = (errno.EACCES, errno.EAGAIN)
_PAUSE = 0.05  # seconds between two tries


@contextmanager
def locked(folder: Path, patience: float = 0.0) -> Iterator[None]:
    """Keep other writers out of a folder that exists; one that is inside already is an error after ``patience`` seconds.

    The lock is on the folder itself, so it leaves no file and cannot outlive a process that was killed. File systems
    that know no such locks go without.
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
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in _TAKEN
    return True
