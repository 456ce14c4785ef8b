"""What a long job tells while it works: bars on a terminal, lines in a log, JSON for programs, or nothing."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import IO, Any

LINE_EVERY = 5.0  # seconds between two lines of one stage in a log


@dataclass(frozen=True)
class Event:
    """How far a stage is: ``done`` of ``total`` (None if unknown) in ``unit``, and facts worth showing."""

    stage: str
    done: float
    total: float | None
    unit: str
    facts: dict[str, float] = field(default_factory=dict)

    @property
    def finished(self) -> bool:
        """Whether the stage has ended."""
        return self.total is not None and self.done >= self.total

    @property
    def begins(self) -> bool:
        """Whether the stage has just begun; in a row of jobs the same stage begins many times."""
        return self.done == 0 and not self.finished


Report = Callable[[Event], None]


class Reporter(AbstractContextManager["Reporter"]):
    """Takes events and messages; this one is silent."""

    def __call__(self, event: Event) -> None:
        """Show an event."""

    def say(self, message: str) -> None:
        """Show a line for a person."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it was."""


class _Written(Reporter):
    """Writes lines."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def say(self, message: str) -> None:
        """Write a line."""
        self._stream.write(message + "\n")
        self._stream.flush()


class LineReporter(_Written):
    """Plain lines: the end of every stage, and now and then in between."""

    def __init__(self, stream: IO[str], clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream)
        self._clock = clock
        self._started: dict[str, float] = {}
        self._shown: dict[str, float] = {}
        self._ended = ""

    def __call__(self, event: Event) -> None:
        """Write a line if the stage has ended or the last line is old."""
        now = self._clock()
        if event.begins:
            self._started[event.stage] = self._shown[event.stage] = now
            self._ended = ""
        started = self._started.setdefault(event.stage, now)
        last = self._shown.setdefault(event.stage, now)
        if self._ended == event.stage or (not event.finished and now - last < LINE_EVERY):
            return
        self._ended = event.stage if event.finished else ""
        self._shown[event.stage] = now
        self.say(describe(event, now - started))


class QuietReporter(_Written):
    """Warnings alone."""

    def say(self, message: str) -> None:
        """Write a line if it is a warning."""
        if message.startswith("warning:"):
            super().say(message)


class JsonReporter(_Written):
    """One JSON object a line."""

    def __call__(self, event: Event) -> None:
        """Write the event."""
        super().say(json.dumps(asdict(event), ensure_ascii=False))

    def say(self, message: str) -> None:
        """Write the message as an object."""
        super().say(json.dumps({"message": message}, ensure_ascii=False))


class BarReporter(Reporter):
    """A bar for every stage, on a terminal."""

    def __init__(self, stream: IO[str]) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description:<6}"),
            BarColumn(24),
            TextColumn("{task.fields[facts]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(file=stream),
        )
        self._tasks: dict[str, Any] = {}
        self._started: dict[str, float] = {}
        self._progress.start()

    def __call__(self, event: Event) -> None:
        """Move the bar of the event's stage."""
        now = time.monotonic()
        if event.stage not in self._tasks:
            self._tasks[event.stage] = self._progress.add_task(event.stage, total=None, facts="")
            self._started[event.stage] = now
        elif event.begins:
            self._progress.reset(self._tasks[event.stage], total=None)
            self._started[event.stage] = now
        facts = _facts(event, now - self._started[event.stage])
        self._progress.update(self._tasks[event.stage], completed=event.done, total=event.total, facts=facts)

    def say(self, message: str) -> None:
        """Write a line above the bars."""
        self._progress.console.print(message, markup=False, highlight=False)

    def __exit__(self, *_: object) -> None:
        """Stop drawing."""
        self._progress.stop()


def make_reporter(*, quiet: bool = False, as_json: bool = False, stream: IO[str] | None = None) -> Reporter:
    """Return bars on a terminal and lines elsewhere; ``as_json`` and ``quiet`` override."""
    stream = stream or sys.stderr
    if quiet:
        return QuietReporter(stream)
    if as_json:
        return JsonReporter(stream)
    return BarReporter(stream) if stream.isatty() else LineReporter(stream)


def describe(event: Event, seconds: float) -> str:
    """Return an event as a line of a log."""
    share = f" {event.done / event.total:4.0%}" if event.total and not event.finished else ""
    return f"{event.stage}{share}: {_facts(event, seconds)}, {seconds:.1f} s"


def _facts(event: Event, seconds: float) -> str:
    parts = [f"{_short(event.done)} {event.unit}"]
    if seconds > 0:
        parts.append(f"{_short(event.done / seconds)} {event.unit}/s")
    shown = {"objective": "objective {:.6g}", "density": "{:.1%} non-zero", "loss": "loss {:.4g}"}
    parts += [form.format(event.facts[name]) for name, form in shown.items() if name in event.facts]
    return ", ".join(parts)


def _short(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.1f}{letter}"
    return f"{value:.0f}"
