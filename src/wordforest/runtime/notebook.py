"""Progress in a Jupyter notebook: one output, which changes in its place, with a bar for every stage."""

from __future__ import annotations

import time
from html import escape
from typing import Any

from wordforest.runtime.progress import Event, Reporter, describe

_EVERY = 0.2  # seconds between two changes: each is a message to the browser
_ROW = '<div><progress style="width:12em"{}></progress> <code>{}</code></div>'


class NotebookReporter(Reporter):
    """A bar for every stage and a line for every message, in one output of the cell; needs no widgets."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: dict[str, tuple[Event, float, float]] = {}  # by stage: the last event, begin and end
        self._lines: list[str] = []
        self._shown = 0.0
        self._handle: Any = None

    def __call__(self, event: Event) -> None:
        """Move the bar of the event's stage."""
        now = time.monotonic()
        before = self._rows.get(event.stage)
        self._rows[event.stage] = (event, now if before is None or event.begins else before[1], now)
        if event.finished or now - self._shown > _EVERY:
            self._show()

    def say(self, message: str) -> None:
        """Write a line below the bars."""
        self._lines.append(message)
        self._show()

    def _show(self) -> None:
        from IPython.display import display

        self._shown = time.monotonic()
        if self._handle is None:
            self._handle = display(self._bundle(), raw=True, display_id=True)
        else:
            self._handle.update(self._bundle(), raw=True)

    def _bundle(self) -> dict[str, Any]:
        bars, lines = [], []
        for event, begin, end in self._rows.values():
            share = f' value="{event.done / event.total:.3f}"' if event.total else ""
            lines.append(describe(event, end - begin))
            bars.append(_ROW.format(share, escape(lines[-1])))
        said = "".join(f"<div>{escape(line)}</div>" for line in self._lines)
        return {"text/html": "".join(bars) + said, "text/plain": "\n".join([*lines, *self._lines])}
