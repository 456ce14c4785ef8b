"""What a long job says and hears: progress, and being stopped by Ctrl-C or SIGTERM.

A signal stops it at once, or after the step at hand, where a checkpoint can follow it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field
from types import FrameType, TracebackType
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
    """Takes events and messages; this one shows messages alone, and without a stream nothing."""

    _stream: IO[str] | None = None

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream

    def __call__(self, event: Event) -> None:
        """Show an event."""

    def say(self, message: str) -> None:
        """Show a line for a person."""
        if self._stream is not None:
            self._stream.write(message + "\n")
            self._stream.flush()

    def tell(self, facts: dict[str, Any], line: str) -> None:  # noqa: ARG002 for a program
        """Show facts: as a line for a person, as an object for a program."""
        self.say(line)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it was."""


class LineReporter(Reporter):
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


class QuietReporter(Reporter):
    """Warnings alone."""

    def say(self, message: str) -> None:
        """Write a line if it is a warning."""
        if message.startswith("warning:"):
            super().say(message)


class JsonReporter(Reporter):
    """One JSON object a line."""

    def __call__(self, event: Event) -> None:
        """Write the event."""
        super().say(json.dumps(asdict(event), ensure_ascii=False))

    def say(self, message: str) -> None:
        """Write the message as an object."""
        self.tell({"message": message}, "")

    def tell(self, facts: dict[str, Any], line: str) -> None:  # noqa: ARG002 for a person
        """Write the facts."""
        super().say(json.dumps(facts, ensure_ascii=False))


class BarReporter(Reporter):
    """A bar for every stage, on a terminal."""

    def __init__(self, stream: IO[str]) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.table import Column

        facts = Column(no_wrap=True, overflow="ellipsis", ratio=1)  # what is cut on a narrow terminal
        self._progress = Progress(
            TextColumn("{task.description:<6}"),
            BarColumn(24),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[facts]}", table_column=facts),
            console=Console(file=stream),
            expand=True,
        )
        self._bars: dict[str, Any] = {}
        self._progress.start()

    def __call__(self, event: Event) -> None:
        """Move the bar of the event's stage."""
        if event.stage not in self._bars:
            self._bars[event.stage] = self._progress.add_task(event.stage, total=None, facts="")
        elif event.begins:
            self._progress.reset(self._bars[event.stage], total=None)
        bar = self._bars[event.stage]
        facts = _facts(event, self._progress.tasks[bar].elapsed or 0.0)
        self._progress.update(bar, completed=event.done, total=event.total, facts=facts)

    def say(self, message: str) -> None:
        """Write a line above the bars."""
        self._progress.console.print(message, markup=False, highlight=False)

    def __exit__(self, *_: object) -> None:
        """Stop drawing."""
        self._progress.stop()


def make_reporter(*, quiet: bool = False, as_json: bool = False, stream: IO[str] | None = None) -> Reporter:
    """Return bars on a terminal and in a notebook, lines elsewhere; ``as_json`` and ``quiet`` override."""
    if stream is None and in_notebook() and not (quiet or as_json):
        from wordforest.runtime.notebook import NotebookReporter

        return NotebookReporter()
    stream = stream or sys.stderr
    if quiet:
        return QuietReporter(stream)
    if as_json:
        return JsonReporter(stream)
    return BarReporter(stream) if stream.isatty() else LineReporter(stream)


def as_reporter(report: Reporter | bool | None) -> Reporter:
    """Return what shows the progress of a function of Python: True bars or lines, False nothing, None notebooks' bars.

    A script that asks for nothing hears nothing, as from gensim and scikit-learn.
    """
    if isinstance(report, Reporter):
        return report
    return make_reporter() if report or (report is None and in_notebook()) else Reporter()


def in_notebook() -> bool:
    """Return whether this process is the kernel of a Jupyter notebook."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return hasattr(shell, "kernel")


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


ENDS_WITH_STDIN = "WORDFOREST_ENDS_WITH_STDIN"  # set for a job: when its parent is gone, it has nothing to do
_DELICATE = ("llvmlite", "numba.core")
_SOON = 0.02  # seconds
PATIENT = "stopping after this step, to keep what was done. Once more stops at once."


class Terminated(KeyboardInterrupt):
    """SIGTERM came; what handles Ctrl-C handles this, too."""


class _Listener:
    """Who listens to signals, what came, and whether it can wait for the end of a step."""

    def __init__(self) -> None:
        self.say: Callable[[str], None] = lambda _: None
        self.came = 0
        self.raised: KeyboardInterrupt | None = None
        self.in_steps = False  # where patience may begin
        self.patient = False  # a step is done, so there is something to keep

    def hear(self, number: int, frame: FrameType | None = None) -> None:
        if _is_delicate(frame):
            self._hear_soon(number)
            return
        if self.patient and not self.came:
            self.came = number
            self.say(PATIENT)
            return
        self.patient, self.came = False, 0
        self.raised = Terminated() if number == signal.SIGTERM else KeyboardInterrupt()
        raise self.raised

    def hear_again(self, lost: Any) -> None:
        """Raise a signal once more that was raised where nobody could take it, as in a callback from C."""
        if self.raised is None or lost.exc_value is not self.raised:
            sys.__unraisablehook__(lost)
            return
        self._hear_soon(signal.SIGTERM if isinstance(self.raised, Terminated) else signal.SIGINT)

    def _hear_soon(self, number: int) -> None:
        signal.signal(signal.SIGALRM, lambda _, frame: self.hear(number, frame))
        signal.setitimer(signal.ITIMER_REAL, _SOON)


_listener = _Listener()


def _is_delicate(frame: FrameType | None) -> bool:
    """Return whether an exception would be lost, or worse, here: in a finaliser, or below LLVM, which calls back."""
    while frame is not None:
        if frame.f_code.co_name == "__del__" or frame.f_globals.get("__name__", "").startswith(_DELICATE):
            return True
        frame = frame.f_back
    return False


@contextmanager
def listening(say: Callable[[str], None]) -> Iterator[_Listener]:
    """Listen to Ctrl-C and SIGTERM within the block, which a program's main thread runs; signals ignored stay so.

    What is yielded has ``raised``, the last signal, for those who got less than that from a library in between.
    """
    usual: dict[signal.Signals, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    heard = [number for number, handler in usual.items() if signal.getsignal(number) == handler]
    _listener.say, _listener.raised = say, None
    if os.environ.pop(ENDS_WITH_STDIN, ""):
        threading.Thread(target=_end_with_stdin, daemon=True).start()
    for number in heard:
        signal.signal(number, _listener.hear)
    hook, sys.unraisablehook = sys.unraisablehook, _listener.hear_again
    try:
        yield _listener
    finally:
        sys.unraisablehook = hook
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number in heard:
            signal.signal(number, usual[number])


def _end_with_stdin() -> None:
    """Wait until nobody holds the other end of standard input, however it was lost, and end this process."""
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


@contextmanager
def step_by_step() -> Iterator[None]:
    """Within the block, after the first step, a signal waits for the end of a step; a second one does not.

    One that comes when no step is left, but the end of the block, does nothing: all is done then.
    """
    _listener.in_steps, _listener.patient, _listener.came = True, False, 0
    try:
        yield
    finally:
        _listener.in_steps = _listener.patient = False


def is_stopping() -> bool:
    """Return whether a signal waits."""
    return _listener.came != 0


def end_step() -> None:
    """Stop if a signal waits; from now on, within ``step_by_step``, one will wait."""
    if _listener.came:
        _listener.hear(_listener.came)
    _listener.patient = _listener.in_steps
