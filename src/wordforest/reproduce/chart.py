"""Scores as dots with their intervals, and the paper's values as hollow diamonds beside them: SVG, written by hand."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_LEFT, _WIDTH, _RIGHT, _ROW, _TOP = 90, 260, 50, 22, 28
_OURS, _PAPER = "#1f4e9c", "#b04a2f"


@dataclass(frozen=True)
class Dot:
    """A model's value with its interval, and the paper's value or nan."""

    name: str
    value: float
    low: float
    high: float
    paper: float = math.nan


def dots(title: str, rows: Sequence[Dot], digits: int) -> str:
    """Return a chart of one task: a row for each model, the axis from the lowest to the highest number shown."""
    numbers = [n for row in rows for n in (row.value, row.low, row.high, row.paper) if math.isfinite(n)]
    if not numbers:
        return ""
    low, high = min(numbers), max(numbers)
    span = (high - low) or 1.0

    def x(value: float) -> float:
        return _LEFT + _WIDTH * (value - low) / span

    height = _TOP + _ROW * len(rows) + 24
    parts = [f'<text x="0" y="16" style="font-weight:bold">{html.escape(title)}</text>']
    parts += [_row(row, _TOP + _ROW * (i + 0.5), x, digits) for i, row in enumerate(rows)]
    parts.append(f'<text x="{_LEFT}" y="{height - 6}">{low:.{digits}f}</text>')
    parts.append(f'<text x="{_LEFT + _WIDTH}" y="{height - 6}" text-anchor="end">{high:.{digits}f}</text>')
    size = f'width="{_LEFT + _WIDTH + _RIGHT}" height="{height}" viewBox="0 0 {_LEFT + _WIDTH + _RIGHT} {height}"'
    label = html.escape(f"{title}: {', '.join(f'{row.name} {row.value:.{digits}f}' for row in rows)}")
    return f'<svg {size} role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _row(row: Dot, y: float, x: Callable[[float], float], digits: int) -> str:
    line = f'<line x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y}" y2="{y}" stroke="#eee"/>'
    name = f'<text x="0" y="{y + 4}">{html.escape(row.name)}</text>'
    parts = [line, name]
    if math.isfinite(row.paper):
        at = x(row.paper)
        diamond = f"M{at} {y - 5} L{at + 5} {y} L{at} {y + 5} L{at - 5} {y} Z"
        parts.append(f'<path d="{diamond}" fill="none" stroke="{_PAPER}" stroke-width="1.5"/>')
    if math.isfinite(row.value):
        if math.isfinite(row.low) and math.isfinite(row.high):
            ends = f'x1="{x(row.low):.1f}" x2="{x(row.high):.1f}"'
            parts.append(f'<line {ends} y1="{y}" y2="{y}" stroke="{_OURS}" stroke-width="2"/>')
        parts.append(f'<circle cx="{x(row.value):.1f}" cy="{y}" r="4" fill="{_OURS}"/>')
        parts.append(f'<text x="{_LEFT + _WIDTH + 10}" y="{y + 4}">{row.value:.{digits}f}</text>')
    return "".join(parts)
