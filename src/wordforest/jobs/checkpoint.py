"""When to write a checkpoint, and resuming from one.

A checkpoint is written only when it costs less than two percent of the work it saves, so short runs write none; after a
crash they begin again and end with the same bits.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest import store
from wordforest.coder.kernels import on_host
from wordforest.coder.learn import Step
from wordforest.errors import InputError
from wordforest.runtime.signals import end_step, is_stopping

_SHARE = 0.01  # of the time that writing may take; its true cost is known only afterwards, so half of what is allowed
_BYTES_PER_SECOND = 4e8  # a careful guess until a first checkpoint was written
History = list[dict[str, Any]]


class Checkpoint:
    """The checkpoint of a job: its settings, and named arrays with their history; without a folder it does nothing."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._text = ""
        self._is_new = False  # begun by this job
        self._last = time.monotonic()
        self._seconds_per_byte = 1 / _BYTES_PER_SECOND

    def begin(self, settings: dict[str, Any], *, resume: bool) -> None:
        """Begin the checkpoint; with ``resume`` keep the one that is there, whose settings must be the same."""
        if self._folder is None:
            return
        self._is_new = not (resume and store.has_checkpoint(self._folder))
        if self._is_new:
            store.begin_checkpoint(self._folder, settings)
            return
        begun = store.checkpoint_settings(self._folder)
        for name in settings.keys() | begun.keys():
            if settings.get(name) != begun.get(name):
                raise InputError(
                    f"{self._folder} was begun with {name} = {begun.get(name)}, but now it is {settings.get(name)}. "
                    "Use the same settings to resume, or --force to begin again."
                )

    def load(self, text: str = "") -> tuple[dict[str, NDArray[Any]], History] | None:
        """Return the arrays and the history that an earlier try wrote, if it did.

        ``text`` is the fingerprint of what is learned from; arrays of another text are an error.
        """
        self._text = text
        return store.load_state(self._folder, text) if self._folder else None

    def save(self, arrays: Mapping[str, Any], history: History) -> None:
        """Write arrays, of any device, if the last time was long ago, or a signal asks to stop; then stop."""
        size = sum(array.nbytes for array in arrays.values())
        is_due = size * self._seconds_per_byte <= _SHARE * (time.monotonic() - self._last)
        if self._folder and (is_due or is_stopping()):
            started = time.monotonic()
            tensors = {name: np.asarray(on_host(array)) for name, array in arrays.items()}
            store.save_state(self._folder, tensors, history, self._text)
            self._last = time.monotonic()
            self._seconds_per_byte = (self._last - started) / max(size, 1)
        end_step()

    def settle(self, is_bad: bool) -> None:
        """Remove what cannot be resumed from: an empty checkpoint, or one begun with input that is bad."""
        if self._folder and is_bad and self._is_new:
            self.remove()
        elif self._folder:
            store.drop_empty_checkpoint(self._folder)

    def remove(self) -> None:
        """Remove the checkpoint: the job is complete."""
        if self._folder:
            store.remove_checkpoint(self._folder)


def history_row(step: Step, seconds: float) -> dict[str, Any]:
    """Return a step as a line of history.jsonl."""
    return {"seconds": round(seconds, 3), **asdict(step)}
