"""Commands killed at random moments and run again: the bits of an unbroken run, and never half of anything."""

from __future__ import annotations

import random
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from torture.child import Ended, Fault, has_shim, kill_after, run
from torture.desk import PREPARATION, Command, digests, known_commands, leftovers, write_inputs

Row = dict[str, Any]
FEW = 10  # moments of a short run


class Whole(NamedTuple):
    """What a command that nothing disturbs comes to: the digests of its files, and its seconds."""

    files: dict[str, str]
    seconds: float


class LossError(AssertionError):
    """Something was lost, mixed or left half written."""


class Bench:
    """A folder with inputs, in which commands run; constants that make short runs write as long ones do."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self._known = folder, dict[str, Whole]()
        shutil.rmtree(folder, ignore_errors=True)
        _load_everything()
        self.places = write_inputs(folder / "inputs", seed)
        _make_short_runs_write_like_long_ones()
        for line in PREPARATION:  # in this process, so that every fork has all modules and kernels
            _main_here(line.format(**self.places).split())

    def fresh(self, name: str) -> Path:
        """Return a place for results, with nothing there."""
        place = self.folder / "work" / name.replace(" ", "-").replace(",", "")
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        return place / "out"

    def done(self, arguments: list[str]) -> Ended:
        """Run a command that must succeed."""
        ended = run(arguments, self.folder)
        if ended.code:
            raise LossError(f"wordforest {' '.join(arguments)} ended with {ended.code}: {ended.said}")
        return ended

    def whole(self, command: Command) -> Whole:
        """Return what an undisturbed run of a command comes to; it is made once."""
        if command.name not in self._known:
            out = self.fresh(command.name)
            seconds = self.done(command.arguments(self.places, out)).seconds
            self._known[command.name] = Whole(digests(out), seconds)
        return self._known[command.name]


def torture_kills(folder: Path, seed: int, moments: int, only: str = "") -> Iterator[Row]:
    """Kill every command at so many moments; yield a row for each."""
    bench = Bench(folder, seed)
    commands = [command for command in known_commands() if only in command.name]
    for command in commands:
        # the jobs of reproduce are processes of their own, which take seconds to start: tests/reproduce kills it once
        if command.verb != "reproduce" or moments > FEW:
            yield _kill_command(bench, command, random.Random(f"{seed} {command.name}"), moments)


def _kill_command(bench: Bench, command: Command, rng: random.Random, moments: int) -> Row:
    new, seconds = bench.whole(command)
    old, before = older(bench, command)
    events = count_events(bench, command)
    row: Row = {
        "command": command.name,
        "tries": 0,
        "killed": 0,
        "by event": 0,
        "torn writes": 0,
        "over old": 0,
        "again": command.again or "as before",
        "losses": 0,
    }
    for number in range(2 * moments):  # some end before their moment
        if row["killed"] == moments:
            break
        out = bench.fresh(command.name)
        over_old = bool(number % 2) and before is not None
        if over_old and before is not None:
            shutil.copytree(before, out.parent, dirs_exist_ok=True)
        arguments = command.arguments(bench.places, out, command.force if over_old else "")
        ended, how = _killed(bench, arguments, rng, number, events, seconds, out.parent)
        row["tries"] += 1
        row["killed"] += ended.code == -signal.SIGKILL
        row["by event"] += how != Fault.OFF
        row["torn writes"] += how == Fault.TEAR
        row["over old"] += over_old
        check_nothing_is_half_written(command, out, old if over_old else {}, new)
        run_again(bench, command, out, new)
    row["events"] = events
    return row


def _killed(
    bench: Bench, arguments: list[str], rng: random.Random, number: int, events: int, seconds: float, root: Path
) -> tuple[Ended, Fault]:
    """Run a command and kill it: at a random event, in the middle of a write, or at a random moment of its time."""
    if events and number % 4 != 3:
        fault = Fault.TEAR if number % 4 == 2 else Fault.KILL
        return run(arguments, bench.folder, fault=fault, at=rng.randint(1, events), root=root), fault
    return run(arguments, bench.folder, meanwhile=kill_after(rng.random() * seconds)), Fault.OFF


def older(bench: Bench, command: Command) -> tuple[dict[str, str], Path | None]:
    """Return another result of a command, to be replaced, and where it lies; none where a command replaces nothing."""
    if not command.force:
        return {}, None
    out = bench.fresh(command.name + " before")
    places = {**bench.places, "run": bench.places["older"], "vectors": bench.places["older"]}
    bench.done(command.arguments(places, out, command.old))
    return digests(out), out.parent


def count_events(bench: Bench, command: Command) -> int:
    """Return how often an unbroken run changes something on the disk; 0 where the shim is missing."""
    if not has_shim():
        return 0
    out = bench.fresh(command.name)
    return run(command.arguments(bench.places, out), bench.folder, fault=Fault.COUNT, root=out.parent).events


def check_nothing_is_half_written(command: Command, out: Path, old: dict[str, str], new: dict[str, str]) -> None:
    """Every file is what it was or what it should become, and a complete folder is not mixed of both."""
    found = digests(out)
    for name, digest in found.items():
        if digest not in (old.get(name), new.get(name)) and command.verb != "reproduce":
            raise LossError(f"{command.name}: {name} is neither what it was nor what it should become")
    if command.last and f"{out.name}/{command.last}" in found and found not in (old, new):
        mixed = sorted({*found} ^ {*new}) or "values"
        raise LossError(f"{command.name}: complete, but mixed of old and new: {mixed}")


def run_again(bench: Bench, command: Command, out: Path, new: dict[str, str]) -> None:
    """Run again after a kill: the bits of an unbroken run, and nothing left beside them."""
    ended = run(command.arguments(bench.places, out, command.again), bench.folder)
    if ended.code == 2 and "--force" in ended.said:  # killed before it had begun: the old result stands
        ended = run(command.arguments(bench.places, out, "--force"), bench.folder)
    if ended.code:
        raise LossError(f"{command.name}: the second try ended with {ended.code}: {ended.said}")
    if digests(out) != new:
        different = sorted(name for name, digest in digests(out).items() if new.get(name) != digest)
        raise LossError(
            f"{command.name}: other bits after a kill: {different or sorted(new)}; the second try said: {ended.said}"
        )
    if left := [name for name in leftovers(out) if "judged" not in name]:
        raise LossError(f"{command.name}: left behind: {left}")


def _load_everything() -> None:
    """Import all of wordforest that commands use, so that forks have nothing left to load."""
    import ftplib  # noqa: F401 as are the next, what Pooch needs
    import pkgutil
    import urllib.request  # noqa: F401

    import pooch  # noqa: F401
    import requests  # noqa: F401

    import wordforest

    for module in pkgutil.walk_packages(wordforest.__path__, "wordforest."):
        if not any(part in module.name for part in ("__main__", ".fused", ".interop.")):  # PyTorch, spaCy, pandas
            __import__(module.name)


def _make_short_runs_write_like_long_ones() -> None:
    """Let checkpoints be written after every step, and shards be small."""
    from wordforest.counts import tally
    from wordforest.jobs import job as checkpoint

    for module, name, value in ((checkpoint, "_SHARE", 1e9), (tally, "_LEAST_SHARD", 1 << 13)):
        getattr(module, name)  # one that is not there would be set for nothing
        setattr(module, name, value)


def _main_here(arguments: list[str]) -> None:
    from torture.child import _main

    if code := _main(arguments):
        raise LossError(f"wordforest {' '.join(arguments)} ended with {code}")
