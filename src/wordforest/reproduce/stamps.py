"""What a figure needs behind it: the commit that made it, the day, and the machine."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import time
from importlib.metadata import version
from pathlib import Path

from wordforest.runtime.machine import available_cores, available_memory

_HERE = Path(__file__).parent


def stamp() -> dict[str, str]:
    """Return the commit (of an installed package: none), the version, the day and the machine."""
    return {
        "commit": commit(),
        "version": version("wordforest"),
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine(),
    }


def commit() -> str:
    """Return the commit of this code, with -dirty where files differ from it, or nothing outside of a clone."""
    if _said("git", "-C", str(_HERE), "ls-files", Path(__file__).name):
        return _said("git", "-C", str(_HERE), "describe", "--always", "--dirty", "--abbrev=7", "--exclude=*")
    return ""


def machine() -> str:
    """Return cores, processor, memory, GPU and Python in a line."""
    parts = [
        f"{available_cores()} cores",
        _processor(),
        f"{available_memory() / 2**30:.0f} GiB",
        _said("nvidia-smi", "--query-gpu=name", "--format=csv,noheader"),
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}",
    ]
    return ", ".join(filter(None, parts))


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.*)$", cpuinfo.read_text(), re.M) if cpuinfo.is_file() else None
    return found[1] if found else platform.processor()


def _said(*command: str) -> str:
    """Return what a command answers, nothing where it fails or is not there."""
    if not shutil.which(command[0]):
        return ""
    answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 a list of our own, no shell
    return answer.stdout.strip() if answer.returncode == 0 else ""
