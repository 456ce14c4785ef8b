"""When to write a checkpoint, and going on from one.

A checkpoint is written only when it costs less than two percent of the work it saves, so short runs write none; after a
crash they begin again and end with the same bits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from wordforest import store
from wordforest.coder.entries import EntryState
from wordforest.coder.kernels import on_host
from wordforest.coder.online import State, Step
from wordforest.coder.weighted import WeightedState
from wordforest.errors import InputError
from wordforest.runtime.signals import end_step, is_told

_SHARE = 0.01  # of the time that writing may take; its true cost is known only afterwards, so half of what is allowed
_TENSORS: dict[type, tuple[str, ...]] = {
    State: ("D", "A", "AA", "XA", "losses"),
    EntryState: ("D", "A", "eta", "word_squares", "context_squares"),
    WeightedState: ("D", "A", "word_curvatures", "context_curvatures"),
}
_BYTES_PER_SECOND = 4e8  # a careful guess until a first checkpoint was written


class Checkpoint:
    """The checkpoint of one run; without a folder it does nothing."""

    def __init__(self, folder: Path | None, settings: dict[str, Any], *, resume: bool) -> None:
        self._folder = folder
        self._text = ""
        self._last = time.monotonic()
        self._seconds_per_byte = 1 / _BYTES_PER_SECOND
        if folder is None:
            return
        begin_or_go_on(folder, settings, resume=resume)

    def learning(
        self, kind: type[State] | type[EntryState] | type[WeightedState], text: str = ""
    ) -> tuple[Any, list[dict[str, Any]]]:
        """Return where learning stood, a state of this kind, and its history, if an earlier try wrote it.

        ``text`` is the fingerprint of what is learned from; a state of another text is an error.
        """
        self._text = text
        found = store.load_state(self._folder, _TENSORS[kind], text) if self._folder else None
        if found is None:
            return None, []
        tensors, history = found
        steps = [Step(**{name: row[name] for name in Step.__dataclass_fields__}) for row in history]
        parts: dict[str, Any] = dict(tensors)
        if kind is EntryState:
            parts["eta"] = float(parts["eta"][0])
        return kind(**parts, history=steps), history

    def keep_learning(self, state: State | EntryState | WeightedState, history: list[dict[str, Any]]) -> None:
        """Write where learning stands, if it went on for long since the last time, or is to stop; then stop."""
        tensors = {name: np.atleast_1d(on_host(getattr(state, name))) for name in _TENSORS[type(state)]}
        size = sum(tensor.nbytes for tensor in tensors.values())
        folder = self._folder
        if folder and (self._pays(size) or is_told()):
            self._timed(lambda: store.save_state(folder, tensors, history, self._text), size)
        end_step()

    def remove(self) -> None:
        """Remove the checkpoint: the run is complete."""
        if self._folder:
            store.remove_checkpoint(self._folder)

    def _pays(self, size: int) -> bool:
        return size * self._seconds_per_byte <= _SHARE * (time.monotonic() - self._last)

    def _timed(self, write: Callable[[], None], size: int) -> None:
        started = time.monotonic()
        write()
        self._last = time.monotonic()
        self._seconds_per_byte = (self._last - started) / max(size, 1)


def begin_or_go_on(folder: Path, settings: dict[str, Any], *, resume: bool) -> None:
    """Begin a checkpoint in a folder; with ``resume`` go on with the one there, if its settings are the same."""
    if resume and store.has_checkpoint(folder):
        _check_same(folder, settings)
    else:
        store.begin_checkpoint(folder, settings)


def check_complete(
    folder: Path, settings: dict[str, Any], config: dict[str, Any], found: tuple[str | None, ...] = ()
) -> None:
    """Refuse to take a complete result for one with other settings; values ``found`` stand for what was to be found."""
    for name, value in settings.items():
        if value not in found and config.get(name, value) != value:
            raise InputError(
                f"{folder} is complete, but with {name} = {config[name]}, and now it is {value}. "
                "Use the same settings, --force to begin again, or another --out."
            )


def history_row(step: Step, seconds: float) -> dict[str, Any]:
    """Return a step as a line of history.jsonl."""
    return {"seconds": round(seconds, 3), **asdict(step)}


def _check_same(folder: Path, settings: dict[str, Any]) -> None:
    begun = store.checkpoint_settings(folder)
    for name in settings.keys() | begun.keys():
        if settings.get(name) != begun.get(name):
            raise InputError(
                f"{folder} was begun with {name} = {begun.get(name)}, but now it is {settings.get(name)}. "
                "Use the same settings to go on, or --force to begin again."
            )
