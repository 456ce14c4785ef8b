"""From scores to the numbers of a table: means over seeds, intervals, and comparisons with one model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from statistics import fmean, stdev
from typing import Any

from wordforest.evaluation import Comparison, Outcome, Score, compare, scores_of
from wordforest.evaluation.report import as_objects
from wordforest.reproduce.commands import JobResult
from wordforest.reproduce.plan import Trial
from wordforest.reproduce.scoring import Scored


@dataclass(frozen=True)
class Column:
    """A column of the tables: one summary of a task. ``name`` is also that of the paper's value in the TOML file."""

    name: str
    task: str
    set: str  # empty: the only set of the task
    digits: int

    def matches(self, score: Score | Comparison) -> bool:
        """Return whether a score belongs into this column."""
        return score.task == self.task and (not self.set or score.set == self.set)


COLUMNS = (
    Column("similarity", "similarity", "weighted mean", 3),
    Column("syntactic", "analogy", "syntactic", 1),
    Column("semantic", "analogy", "semantic", 1),
    Column("completion", "completion", "", 1),
    Column("sentiment", "sentiment", "", 1),
)


@dataclass(frozen=True)
class Number:
    """A mean over seeds, the mean of their intervals, and their spread (nan for one seed)."""

    value: float
    low: float
    high: float
    spread: float


@dataclass(frozen=True, eq=False)
class Row:
    """One model at one size: what it took, what it scored by part of the items, or why it failed."""

    trial: Trial
    jobs: tuple[JobResult, ...] = ()
    scored: tuple[Scored, ...] = ()
    scores: dict[str, list[list[Score]]] = field(default_factory=dict)  # by part, a list for each seed
    failure: str = ""

    @property
    def size(self) -> int:
        """M, as found in the vectors."""
        return self.scored[0].n_dimensions if self.scored else self.trial.size

    def number(self, column: Column, part: str = "all") -> Number | None:
        """Return the number of a column, or None where there is none."""
        found = [score for scores in self.scores.get(part, []) for score in scores if column.matches(score)]
        return _over_seeds(found)

    @property
    def outcomes(self) -> list[Outcome]:
        """The outcomes of the first seed on all items."""
        return self.scored[0].outcomes["all"]


def make_row(trial: Trial, jobs: Sequence[JobResult], scored: Sequence[Scored]) -> Row:
    """Return the row of a trial, with its scores."""
    scores = {part: [scores_of(one.outcomes[part]) for one in scored] for part in scored[0].outcomes}
    return Row(trial, tuple(jobs), tuple(scored), scores)


@dataclass(frozen=True)
class Against:
    """The reference model and another of the same size on their common items; differences are reference - other."""

    size: int
    first: str
    second: str
    comparisons: tuple[tuple[Column, Comparison], ...]

    def as_objects(self) -> list[dict[str, Any]]:
        """Return the comparisons for results.json; NaN becomes null."""
        compared = [comparison for _, comparison in self.comparisons]
        return [{"size": self.size, **item} for item in as_objects([self.first, self.second], compared)]


def against_reference(rows: Sequence[Row], reference: str) -> list[Against]:
    """Return the comparisons of the reference with all other models of its size."""
    ours = {row.trial.size: row for row in rows if row.trial.model.name == reference and row.scored}
    others = [row for row in rows if row.trial.model.name != reference and row.scored and row.trial.size in ours]
    return [_against(ours[row.trial.size], row) for row in others]


@cache
def _against(ours: Row, other: Row) -> Against:
    """Compare two rows; the report is written anew after every model, but its comparisons are made once."""
    compared = compare(ours.outcomes, other.outcomes)
    chosen = [(column, c) for column in COLUMNS for c in compared if column.matches(c)]
    return Against(other.trial.size, ours.trial.model.name, other.trial.model.name, tuple(chosen))


def as_object(row: Row) -> dict[str, Any]:
    """Return a row for results.json; NaN becomes null."""
    facts = {
        **{name: value for name, value in asdict(row.trial.model).items() if name not in ("name", "sizes", "path")},
        "model": row.trial.model.name,
        "size": row.size,
        "failure": row.failure,
    }
    if not row.scored:
        return facts
    return {
        **facts,
        "words": row.scored[0].n_words,
        "nonzeros": [one.density for one in row.scored],
        "seconds": [job.seconds for job in row.jobs],
        "counting_seconds": [job.counting for job in row.jobs],
        "peak_bytes": [job.peak for job in row.jobs],
        "commands": [job.command for job in row.jobs],
        "folders": [str(job.folder) for job in row.jobs],
        "scores": {
            part: [as_objects(facts["model"], scores) for scores in by_seed] for part, by_seed in row.scores.items()
        },
    }


def _over_seeds(scores: Sequence[Score]) -> Number | None:
    valued = [score for score in scores if not math.isnan(score.value)]
    if not valued:
        return None
    values = [score.value for score in valued]
    spread = stdev(values) if len(values) > 1 else math.nan
    low, high = fmean(score.low for score in valued), fmean(score.high for score in valued)
    return Number(fmean(values), low, high, spread)
