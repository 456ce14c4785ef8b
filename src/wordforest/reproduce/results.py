"""What models scored: item by item, remembered; as numbers of a table; and against one of them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from statistics import stdev
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from wordforest import store
from wordforest.evaluation import Comparison, Outcome, Score, compare, corrected, find_data, judge, scores_of
from wordforest.evaluation.report import as_objects
from wordforest.reproduce.commands import JobResult
from wordforest.reproduce.plan import Trial

HALVES = ("development", "test")
_JUDGED = "halves and clusters by pair"  # what an outcome holds: what was judged otherwise is judged again


@dataclass(frozen=True)
class Scored:
    """What vectors are and how they did: words, dimensions, share of non-zeros, and outcomes on all items or a half."""

    n_words: int
    n_dimensions: int
    density: float
    outcomes: dict[str, list[Outcome]]  # by "all", "development", "test"


class Scorer:
    """Scores vectors on the tasks of an experiment; what was scored before with the same data is not scored again."""

    def __init__(
        self, folder: Path, data: str | Path | None, cache: Path | None, tasks: Iterable[str], halves: bool
    ) -> None:
        self.data = find_data(data, cache)
        self.tasks = [task for task in tasks if task in self.data.files]
        self.missing = [task for task in tasks if task not in self.data.files]
        self._folder = folder
        self._halves: dict[str, Any] = {"all": None} | ({half: half for half in HALVES} if halves else {})
        self.key = [[path.name, _digest(path)] for task in self.tasks for path in self.data.of(task)]

    def score(self, name: str, source: Path, scale: float) -> Scored:
        """Return what the vectors of a run folder or a file achieve, each dimension's norm raised to ``scale``."""
        tail = "" if scale == 1 else f"-scale{scale:g}"
        path = self._folder / f"{quote(name, safe=' +()@,')}{tail}.json"  # a name is no path
        key = json.loads(json.dumps([self.key, _JUDGED, _stamp(source), scale, list(self._halves), self.tasks]))
        if not path.is_file() or store.read_json(path)["key"] != key:
            vectors = store.read_vectors(source)
            vectors = vectors if scale == 1 else vectors.scaled(scale)
            self._folder.mkdir(parents=True, exist_ok=True)
            facts = {"n_words": len(vectors), "n_dimensions": vectors.n_dimensions, "density": vectors.density()}
            items = {
                part: [_remembered(one) for one in judge(vectors, self.data, tasks=self.tasks, half=half)]
                for part, half in self._halves.items()
            }
            store.write_json(path, {"key": key, **facts, "outcomes": items})
        known = store.read_json(path)
        outcomes = {part: [_outcome(entry) for entry in found] for part, found in known["outcomes"].items()}
        return Scored(known["n_words"], known["n_dimensions"], known["density"], outcomes)


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


class Number(NamedTuple):
    """A mean over seeds, its interval over items and seeds, and the standard deviation of seeds (nan for one)."""

    value: float
    low: float
    high: float
    spread: float


@dataclass(frozen=True, eq=False)
class Row:
    """One model at one size: what it took and what it scored, for each seed, or why it failed."""

    trial: Trial
    jobs: Sequence[JobResult] = ()
    scored: Sequence[Scored] = ()
    failure: str = ""

    @property
    def size(self) -> int:
        """M, as found in the vectors."""
        return self.scored[0].n_dimensions if self.scored else self.trial.size

    @cached_property
    def scores(self) -> dict[str, list[list[Score]]]:
        """The scores by part of the items, a list for each seed."""
        return {part: [scores_of(seed) for seed in seeds] for part, seeds in self.outcomes.items()}

    @cached_property
    def means(self) -> dict[str, list[Score]]:
        """The means over seeds by part of the items, with intervals over items and seeds."""
        one = len(self.scored) == 1
        return {part: self.scores[part][0] if one else scores_of(*seeds) for part, seeds in self.outcomes.items()}

    @property
    def outcomes(self) -> dict[str, list[list[Outcome]]]:
        """What was judged by part of the items, a list for each seed."""
        parts = self.scored[0].outcomes if self.scored else ()
        return {part: [one.outcomes[part] for one in self.scored] for part in parts}

    def number(self, column: Column, part: str = "all") -> Number | None:
        """Return the number of a column over all seeds, or None where there is none."""
        found = [score for score in self.means.get(part, []) if column.matches(score) and not math.isnan(score.value)]
        if not found:
            return None
        values = [score.value for seed in self.scores[part] for score in seed if column.matches(score)]
        spread = stdev(values) if len(values) > 1 else math.nan
        return Number(found[0].value, found[0].low, found[0].high, spread)


class Against(NamedTuple):
    """The reference and another model of its size on their common items of a part; differences are reference - other.

    ``seeds`` are how many each has; ``paired``: they are the same, and compared one by one.
    """

    size: int
    first: str
    second: str
    part: str
    seeds: tuple[int, int]
    paired: bool
    comparisons: tuple[tuple[Column, Comparison], ...]

    def as_objects(self) -> list[dict[str, Any]]:
        """Return the comparisons for results.json; NaN becomes null."""
        facts = {"size": self.size, "part": self.part, "seeds": list(self.seeds), "paired": self.paired}
        compared = [comparison for _, comparison in self.comparisons]
        return [{**facts, **item} for item in as_objects([self.first, self.second], compared)]


def against_reference(rows: Sequence[Row], reference: str) -> list[Against]:
    """Return the comparisons of the reference with all other models of its size, p corrected for all of them.

    Where items are in halves, settings were chosen on the development half: the test half alone is compared.
    """
    ours = {row.trial.size: row for row in rows if row.trial.model.name == reference and row.scored}
    others = [row for row in rows if row.trial.model.name != reference and row.scored and row.trial.size in ours]
    found = [_against(ours[row.trial.size], row) for row in others]
    better = iter(corrected([comparison for one in found for _, comparison in one.comparisons]))
    return [one._replace(comparisons=tuple((column, next(better)) for column, _ in one.comparisons)) for one in found]


@cache
def _against(ours: Row, other: Row) -> Against:
    """Compare two rows; the report is written anew after every model, but its comparisons are made once."""
    part = "test" if "test" in ours.outcomes else "all"
    seeds = [[job.seed for job in row.trial.jobs] for row in (ours, other)]
    paired = seeds[0] == seeds[1] and len(seeds[0]) > 1
    compared = compare(ours.outcomes[part], other.outcomes[part], paired=paired)
    chosen = [(column, c) for column in COLUMNS for c in compared if column.matches(c)]
    n_seeds = (len(ours.scored), len(other.scored))
    return Against(
        other.trial.size, ours.trial.model.name, other.trial.model.name, part, n_seeds, paired, tuple(chosen)
    )


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
        "means": {part: as_objects(facts["model"], scores) for part, scores in row.means.items()},
        "scores": {
            part: [as_objects(facts["model"], scores) for scores in by_seed] for part, by_seed in row.scores.items()
        },
    }


def _stamp(source: Path) -> list[Any]:
    single = source if source.exists() else Path(str(source).rpartition("+")[2])  # the vectors of WORDS+VECTORS
    file = source / "codes.safetensors" if source.is_dir() else single
    return [str(source), file.stat().st_size, file.stat().st_mtime_ns]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _remembered(outcome: Outcome) -> dict[str, Any]:
    arrays = {name: getattr(outcome, name).tolist() for name in ("gold", "clusters")}
    return {**vars(outcome), "keys": list(outcome.keys), "values": outcome.values.round(12).tolist(), **arrays}


def _outcome(entry: dict[str, Any]) -> Outcome:
    arrays = {name: np.array(entry[name], dtype=np.float64) for name in ("values", "gold")}
    clusters = np.array(entry["clusters"], dtype=np.int64).reshape(-1, 2)
    return Outcome(**{**entry, "keys": tuple(entry["keys"]), "clusters": clusters, **arrays})
