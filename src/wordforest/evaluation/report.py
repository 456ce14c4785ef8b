"""Scores for a person: a table for a terminal, plain lines for a log."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wordforest.evaluation.score import Score

if TYPE_CHECKING:
    from rich.table import Table

RULE = "Items with a word that has no vector are skipped; 'scored' counts the others."


def as_table(scores: Sequence[Score]) -> Table:
    """Return a Rich table of the scores, a line between tasks, with the rule for missing words below."""
    from rich.table import Table

    table = Table(caption=RULE, caption_justify="left")
    for name in ("task", "set", "metric"):
        table.add_column(name, no_wrap=True)
    for name in ("value", "scored"):
        table.add_column(name, justify="right", no_wrap=True)
    for i, score in enumerate(scores):
        ends_task = i + 1 < len(scores) and scores[i + 1].task != score.task
        cells = (score.task, score.set, score.metric, _value(score), _coverage(score))
        table.add_row(*cells, end_section=ends_task)
    return table


def as_lines(scores: Sequence[Score]) -> list[str]:
    """Return one aligned line per score, then the rule for missing words."""
    width = max((len(score.set) for score in scores), default=0)
    lines = [f"{s.task:<10}  {s.set:<{width}}  {s.metric:<8}  {_value(s):>6}  {_coverage(s)} scored" for s in scores]
    return [*lines, RULE]


def _value(score: Score) -> str:
    if math.isnan(score.value):
        return "-"
    return f"{score.value:.1f}%" if score.metric == "accuracy" else f"{score.value:.3f}"


def _coverage(score: Score) -> str:
    return f"{score.n_scored}/{score.n_total}"
