"""Stopping by Ctrl-C or SIGTERM: at once, or after the step at hand, where a checkpoint can follow it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

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
def listening(say: Callable[[str], None]) -> Iterator[None]:
    """Listen to Ctrl-C and SIGTERM within the block, which a program's main thread runs; signals ignored stay so."""
    usual: dict[signal.Signals, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    heard = [number for number, handler in usual.items() if signal.getsignal(number) == handler]
    _listener.say, _listener.raised = say, None
    if os.environ.pop(ENDS_WITH_STDIN, ""):
        threading.Thread(target=_end_with_stdin, daemon=True).start()
    for number in heard:
        signal.signal(number, _listener.hear)
    hook, sys.unraisablehook = sys.unraisablehook, _listener.hear_again
    try:
        yield
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


def raised() -> KeyboardInterrupt | None:
    """Return what the last signal was raised as, for those who got less than that from a library in between."""
    return _listener.raised


def is_stopping() -> bool:
    """Return whether a signal waits."""
    return _listener.came != 0


def end_step() -> None:
    """Stop if a signal waits; from now on, within ``step_by_step``, one will wait."""
    if _listener.came:
        _listener.hear(_listener.came)
    _listener.patient = _listener.in_steps
