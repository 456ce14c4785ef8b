"""How much memory there is, for the machine or the container around this process."""

from __future__ import annotations

import os
from pathlib import Path

from wordforest.errors import InputError

_CGROUP = Path("/sys/fs/cgroup/memory.max")


def available_memory() -> int:
    """Return the bytes of memory that this machine, or the container around this process, has."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = _CGROUP.read_text().strip() if _CGROUP.is_file() else ""
    return min(memory, int(limit)) if limit.isdigit() else memory


def three_quarters() -> int:
    """Return three quarters of the memory, in bytes: what a job may take if nobody says how much."""
    return available_memory() * 3 // 4


def check_room(what: str, n_bytes: float) -> None:
    """Refuse what needs more memory than this machine has, before it takes the machine down."""
    if n_bytes > (memory := available_memory()):
        raise InputError(
            f"{what} needs at least {n_bytes / 1e9:,.1f} GB of memory, but this machine has {memory / 1e9:,.1f}. "
            "Ask for less, or use a larger machine."
        )
