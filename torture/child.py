"""Commands in processes of their own that can be killed at any moment, forked from one that has loaded everything.

A fork takes milliseconds where a start takes a second; what runs in it is the command line as users have it.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

SHIM = Path(__file__).with_name("shim.c")
NOBODY = 65534
LONGEST = 300.0  # seconds that a command may take


class Fault(IntEnum):
    """What the shim does; see shim.c."""

    OFF = 0
    COUNT = 1
    KILL = 2
    TEAR = 3
    FULL = 4
    COUNT_READS = 5
    SHRINK = 6
    VANISH = 7


@dataclass(frozen=True)
class Ended:
    """How a process ended: exit code (negative for a signal), what it wrote, seconds, and events that the shim saw."""

    code: int
    said: str
    seconds: float
    events: int = 0


def with_shim(scratch: Path) -> None:
    """Begin this process anew with the shim loaded, once; without a C compiler run without it."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if "TORTURE_SHIM" in os.environ or compiler is None or sys.platform != "linux":
        return
    scratch.mkdir(parents=True, exist_ok=True)
    library = scratch / "shim.so"
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(SHIM), "-ldl"], check=True)
    here = {**os.environ, "LD_PRELOAD": str(library), "TORTURE_SHIM": str(library)}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], here)


def has_shim() -> bool:
    """Return whether faults can be injected into this process and its children."""
    return "TORTURE_SHIM" in os.environ


def arm(root: Path, fault: Fault, at: int) -> None:
    """Begin to count, or to wait for the moment of a fault, in this process."""
    ctypes.CDLL(None).torture_arm(os.fsencode(root), int(fault), ctypes.c_long(at))


def run(
    arguments: list[str],
    desk: Path,
    *,
    fault: Fault = Fault.OFF,
    at: int = 0,
    root: Path | None = None,
    user: int | None = None,
    meanwhile: Callable[[int, float], None] | None = None,
) -> Ended:
    """Run ``wordforest ARGUMENTS`` in a fork and wait for it.

    ``meanwhile(pid, started)`` is called in the parent, to send signals, as soon as the fork is the command. ``root``
    is where faults apply.
    """
    said, counted = desk / "said.txt", desk / "events.txt"
    counted.unlink(missing_ok=True)
    ready, preparing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(arguments, said, counted, fault, at, root or desk, user, preparing)
    os.close(preparing)
    os.read(ready, 1)  # ends when the fork has closed its side
    os.close(ready)
    started = time.monotonic()
    if meanwhile is not None:
        meanwhile(pid, started)
    status = _waited(pid, started + LONGEST)
    seconds = time.monotonic() - started
    events = int(counted.read_text()) if counted.exists() and counted.read_text() else 0
    return Ended(os.waitstatus_to_exitcode(status), said.read_text(errors="replace"), seconds, events)


def _waited(pid: int, until: float) -> int:
    """Return how a process ended; one that does not end in time is killed, and an error."""
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return status
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise TimeoutError(f"a command did not end within {LONGEST} s")
        time.sleep(0.002)


def _become(
    arguments: list[str],
    said: Path,
    counted: Path,
    fault: Fault,
    at: int,
    root: Path,
    user: int | None,
    preparing: int,
) -> None:
    """Be the command, and close ``preparing`` when it begins; never returns."""
    code = 70
    try:
        output = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        events = os.open(counted, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        os.dup2(output, 2)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if user is not None:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
        os.close(preparing)
        if fault:
            arm(root, fault, at)
        code = _main(arguments)
        if fault:
            n = ctypes.CDLL(None).torture_count()
            arm(root, Fault.OFF, 0)
            os.write(events, str(n).encode())
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _main(arguments: list[str]) -> int:
    from wordforest.cli import main

    sys.argv = ["wordforest", *arguments]
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def kill_after(seconds: float, number: int = signal.SIGKILL) -> Callable[[int, float], None]:
    """Return what sends a signal to a process after some seconds."""

    def send(pid: int, started: float) -> None:
        time.sleep(max(0.0, started + seconds - time.monotonic()))
        os.kill(pid, number)  # not waited for yet, so the number is still its own

    return send
