"""From what was judged to the numbers of a table: means over seeds, intervals, and comparisons with one model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean, stdev
from typing import Any

from wordforest.evaluation import Comparison, Outcome, Score, compare, scores_of
from wordforest.reproduce.jobs import Done
from wordforest.reproduce.judging import Judged
from wordforest.reproduce.plan import Cell


@dataclass(frozen=True)
class Column:
    """A column of the tables: one summary of a task. ``key`` names the paper's value in the TOML file."""

    key: str
    title: str
    task: str
    set: str  # empty: the only set of the task
    digits: int

    def matches(self, score: Score | Comparison) -> bool:
        """Tell whether a score belongs into this column."""
        return score.task == self.task and (not self.set or score.set == self.set)


COLUMNS = (
    Column("similarity", "similarity", "similarity", "weighted mean", 3),
    Column("syntactic", "syntactic", "analogy", "syntactic", 1),
    Column("semantic", "semantic", "analogy", "semantic", 1),
    Column("completion", "completion", "completion", "", 1),
    Column("sentiment", "sentiment", "sentiment", "", 1),
)


@dataclass(frozen=True)
class Number:
    """A mean over seeds, the mean of their intervals, and their spread (nan for one seed)."""

    value: float
    low: float
    high: float
    spread: float
    n_scored: int
    n_total: int


@dataclass(frozen=True)
class Row:
    """One model at one size: what it took, what it scored by part of the items, or why it failed."""

    cell: Cell
    done: tuple[Done, ...] = ()
    judged: tuple[Judged, ...] = ()
    scores: dict[str, list[list[Score]]] = field(default_factory=dict)  # by part, a list for each seed
    failure: str = ""

    @property
    def size(self) -> int:
        """M, as found in the vectors."""
        return self.judged[0].n_dimensions if self.judged else self.cell.size

    def number(self, column: Column, part: str = "all") -> Number | None:
        """Return the number of a column, or None where there is none."""
        found = [score for scores in self.scores.get(part, []) for score in scores if column.matches(score)]
        return _over_seeds(found)

    def outcomes(self, part: str = "all") -> list[Outcome]:
        """Return the outcomes of the first seed."""
        return self.judged[0].outcomes[part]


def make_row(cell: Cell, done: Sequence[Done], judged: Sequence[Judged]) -> Row:
    """Return the row of a cell, scored."""
    parts = judged[0].outcomes
    scores = {part: [scores_of(one.outcomes[part]) for one in judged] for part in parts}
    return Row(cell, tuple(done), tuple(judged), scores)


@dataclass(frozen=True)
class Against:
    """The reference model and another of the same size on their common items; differences are reference - other."""

    size: int
    first: str
    second: str
    comparisons: tuple[tuple[Column, Comparison], ...]


def against_reference(rows: Sequence[Row], reference: str, known: Sequence[Against] = ()) -> list[Against]:
    """Return the comparisons of the reference with all other models of its size; ``known`` ones are not redone."""
    ours = {row.cell.size: row for row in rows if row.cell.model.name == reference and row.judged}
    done = {(found.size, found.second): found for found in known}
    found = []
    for row in rows:
        size, name = row.cell.size, row.cell.model.name
        if name == reference or not row.judged or size not in ours:
            continue
        found.append(done.get((size, name)) or _against(ours[size], row))
    return found


def _against(ours: Row, other: Row) -> Against:
    compared = compare(ours.outcomes(), other.outcomes())
    chosen = [(column, c) for column in COLUMNS for c in compared if column.matches(c)]
    return Against(other.cell.size, ours.cell.model.name, other.cell.model.name, tuple(chosen))


def as_object(row: Row) -> dict[str, Any]:
    """Return a row for results.json; nan becomes null."""
    model = row.cell.model
    facts = {
        "model": model.name,
        "method": model.method,
        "size": row.size,
        "seeds": list(model.seeds),
        "options": model.options,
        "count": model.count,
        "scale": model.scale,
        "failure": row.failure,
    }
    if not row.judged:
        return facts
    return {
        **facts,
        "words": row.judged[0].n_words,
        "nonzeros": [one.density for one in row.judged],
        "seconds": [done.seconds for done in row.done],
        "counting_seconds": [done.counting for done in row.done],
        "peak_bytes": [done.peak for done in row.done],
        "commands": [done.command for done in row.done],
        "folders": [str(done.folder) for done in row.done],
        "scores": {
            part: [[_plain(asdict(score)) for score in scores] for scores in by_seed]
            for part, by_seed in row.scores.items()
        },
    }


def comparison_objects(found: Against) -> list[dict[str, Any]]:
    """Return comparisons for results.json."""
    head = {"size": found.size, "first_model": found.first, "second_model": found.second}
    return [{**head, **_plain(asdict(comparison))} for _, comparison in found.comparisons]


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {name: None if value != value else value for name, value in values.items()}


def _over_seeds(scores: Sequence[Score]) -> Number | None:
    valued = [score for score in scores if not math.isnan(score.value)]
    if not valued:
        return None
    values = [score.value for score in valued]
    spread = stdev(values) if len(values) > 1 else math.nan
    low, high = fmean(score.low for score in valued), fmean(score.high for score in valued)
    return Number(fmean(values), low, high, spread, valued[0].n_scored, valued[0].n_total)
