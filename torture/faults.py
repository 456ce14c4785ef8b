"""Full disks, folders without rights, files that shrink or vanish while they are read, two writers, signals."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from torture.child import NOBODY, Ended, Fault, has_shim, kill_after, run
from torture.desk import Command, digests, known_commands, leftovers
from torture.kills import FEW, Bench, LossError, Row, check_nothing_is_half_written, count_events, older, run_again

SMALL_DISK = 40  # KiB of a disk of its own: less than any result here
QUICK = ("count", "train online", "convert to a folder")  # of a short run
SIGNALS = {signal.SIGINT: 130, signal.SIGTERM: 143}


def torture_faults(folder: Path, seed: int, moments: int, only: str = "") -> Iterator[Row]:
    """Let everything go wrong; yield a row for each fault and command."""
    bench = Bench(folder, seed)
    for command in known_commands():
        if only not in command.name or (moments < FEW and command.name not in QUICK):
            continue
        rng = random.Random(f"{seed} {command.name} faults")
        tried = moments if command.verb != "reproduce" else max(moments // 5, 2)  # its jobs are processes of their own
        yield from _full_disks(bench, command, rng, tried)
        yield from small_disk(bench, command)
        yield from _damaged_input(bench, command, rng, tried)
        yield from _read_only(bench, command)
        for number in SIGNALS:
            yield _signals(bench, command, rng, number, -(-tried // 2))
        if command.last:
            yield _two_writers(bench, command)


def _row(fault: str, command: Command, tried: int, injected: int, seen: str) -> Row:
    return {"fault": fault, "command": command.name, "tried": tried, "injected": injected, "seen": seen, "losses": 0}


def _full_disks(bench: Bench, command: Command, rng: random.Random, tried: int) -> list[Row]:
    """Fill the disk at random writes, over an older result; it must stay, and a second try must succeed."""
    rows = []
    new = bench.whole(command).files
    old, before = older(bench, command)
    if has_shim():
        events, full = count_events(bench, command), 0
        for _ in range(tried):
            out = bench.fresh(command.name)
            if before is not None:
                shutil.copytree(before, out.parent, dirs_exist_ok=True)
            arguments = command.arguments(bench.places, out, command.force)
            ended = run(arguments, bench.folder, fault=Fault.FULL, at=rng.randint(1, events), root=out.parent)
            _check_report(command, ended.said, ended.code, (0, 1, 2))
            full += ended.code != 0
            check_nothing_is_half_written(command, out, old, new)
            if ended.code and command.last and before is not None and digests(out) not in (old, new):
                raise LossError(f"{command.name}: a full disk took the older result away: {sorted(digests(out))}")
            run_again(bench, command, out, new)
        rows.append(_row("disk full at the n-th write", command, tried, full, "1 or 2, the older result stays"))
    return rows


def small_disk(bench: Bench, command: Command) -> Iterator[Row]:
    """Write to a disk that has no room: an error, and nothing left but what a next try can resume from."""
    with _small_disk(bench.folder / "small") as disk:
        if disk is None:
            return
        ended = run(command.arguments(bench.places, disk / "out"), bench.folder)
        _check_report(command, ended.said, ended.code, (1, 2))
        left = [*digests(disk / "out"), *leftovers(disk / "out")]
        if kept := [name for name in left if "checkpoint" not in name and command.verb != "reproduce"]:
            raise LossError(f"{command.name}: a full disk left {kept}")
        yield _row(f"a disk of {SMALL_DISK} KiB", command, 1, 1, "1 or 2, nothing left")


@contextmanager
def _small_disk(place: Path) -> Iterator[Path | None]:
    """Yield a small file system of its own, or None for those who may not mount one."""
    place.mkdir(exist_ok=True)
    mounted = os.geteuid() == 0 and shutil.which("mount") is not None
    options = ["-t", "tmpfs", "-o", f"size={SMALL_DISK}k", "tmpfs", str(place)]
    mounted = mounted and subprocess.run(["mount", *options], capture_output=True).returncode == 0
    try:
        yield place if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", str(place)], check=True)


def _damaged_input(bench: Bench, command: Command, rng: random.Random, tried: int) -> list[Row]:
    """Cut a file in half, or take its name away, while it is read: an error that names it, or the right result."""
    rows = []
    if not has_shim() or command.verb == "reproduce":
        return rows
    new = bench.whole(command).files
    for fault, name in ((Fault.SHRINK, "input shrinks while read"), (Fault.VANISH, "input vanishes while read")):
        reads = _count_reads(bench, command)
        injected = right = 0
        for _ in range(tried if reads else 0):
            with _own_inputs(bench) as root:
                out = bench.fresh(command.name)
                arguments = command.arguments(_moved(bench, root), out)
                ended = run(arguments, bench.folder, fault=fault, at=rng.randint(1, reads), root=root)
            _check_report(command, ended.said, ended.code, (0, 1, 2, -signal.SIGBUS))
            injected += 1
            if ended.code == -signal.SIGBUS and "entries" not in command.name:
                raise LossError(f"{command.name}: a file that shrank was a crash")
            if ended.code == 0:
                right += 1
                if _without_names(digests(out)) != _without_names(new):
                    raise LossError(f"{command.name}: {name}: another result, without a word")
            elif command.last and (out / command.last).exists():
                raise LossError(f"{command.name}: {name}: failed, but left a result")
        if reads:
            rows.append(_row(name, command, tried, injected, f"the right result {right} times, else an error"))
    return rows


def _without_names(found: dict[str, str]) -> dict[str, str]:
    """Leave out the files that name their inputs."""
    return {name: digest for name, digest in found.items() if not name.endswith("config.json")}


@contextmanager
def _own_inputs(bench: Bench) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=bench.folder) as folder:
        yield Path(shutil.copytree(bench.folder / "inputs", Path(folder) / "inputs"))


def _moved(bench: Bench, root: Path) -> dict[str, Path]:
    return {name: root / place.relative_to(bench.folder / "inputs") for name, place in bench.places.items()}


def _count_reads(bench: Bench, command: Command) -> int:
    out = bench.fresh(command.name)
    arguments = command.arguments(bench.places, out)
    return run(arguments, bench.folder, fault=Fault.COUNT_READS, root=bench.folder / "inputs").events


def _read_only(bench: Bench, command: Command) -> list[Row]:
    """Write where one may not: an error that names the place. Root may everywhere, so it steps down first."""
    user = NOBODY if os.geteuid() == 0 else None
    out = bench.fresh(command.name)
    out.parent.chmod(0o555)
    bench.folder.chmod(0o777)  # where a process of another user says what it has to say
    try:
        ended = run(command.arguments(bench.places, out), bench.folder, user=user)
    finally:
        out.parent.chmod(0o755)
    _check_report(command, ended.said, ended.code, (1, 2))
    if str(out.parent) not in ended.said:
        raise LossError(f"{command.name}: a folder without rights is not named: {ended.said}")
    return [_row("folder without rights", command, 1, 1, "1 or 2, the folder is named")]


def _signals(bench: Bench, command: Command, rng: random.Random, number: signal.Signals, tried: int) -> Row:
    """Stop a command at random moments: the exit code, how to resume, and the same bits if one does."""
    new, whole_seconds = bench.whole(command)
    heard = resumed = 0
    for _ in range(tried):
        out = bench.fresh(command.name)
        seconds = 0.01 + rng.random() * whole_seconds
        ended = run(command.arguments(bench.places, out), bench.folder, meanwhile=kill_after(seconds, number))
        _check_report(command, ended.said, ended.code, (0, SIGNALS[number], -number))
        if ended.code == SIGNALS[number]:
            heard += 1
            if "--resume" not in ended.said and "again" not in ended.said:
                raise LossError(f"{command.name}: stopped without a word on how to resume: {ended.said}")
            resumed += "--resume" in ended.said
        check_nothing_is_half_written(command, out, {}, new)
        run_again(bench, command, out, new)
    return _row(number.name, command, tried, heard, f"{SIGNALS[number]}, {resumed} times with a checkpoint")


def _two_writers(bench: Bench, command: Command) -> Row:
    """Begin a second run into a folder where one is at work: it is refused, and the first ends as if alone."""
    new = bench.whole(command).files
    out = bench.fresh(command.name)
    second = bench.folder / "second"
    second.mkdir(exist_ok=True)
    refused: list[Ended] = []

    def meanwhile(pid: int, _: float) -> None:
        until = time.monotonic() + 30
        while not (out.exists() and any(out.iterdir())) and time.monotonic() < until:
            time.sleep(0.001)
        os.kill(pid, signal.SIGSTOP)
        refused.append(run(command.arguments(bench.places, out, command.force), second))
        os.kill(pid, signal.SIGCONT)

    ended = run(command.arguments(bench.places, out), bench.folder, meanwhile=meanwhile)
    _check_report(command, refused[0].said, refused[0].code, (2,))
    if "another process is writing" not in refused[0].said or ended.code or digests(out) != new:
        raise LossError(f"{command.name}: two writers: {refused[0].said} {ended}")
    return _row("two writers", command, 1, 1, "2, the second is refused")


def _check_report(command: Command, said: str, code: int, allowed: tuple[int, ...]) -> None:
    """Refuse a traceback, an exit code of its own, and more than a few lines."""
    lines = [line for line in said.splitlines() if line.startswith(("error", "interrupted", "terminated"))]
    if code not in allowed or "Traceback" in said or len(lines) > 1 or (code in (1, 2) and not lines):
        raise LossError(f"{command.name}: ended with {code} and said: {said}")
