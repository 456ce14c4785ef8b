"""What cells say together: curves over lam, read off at equal density, error or bits, seed by seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np

from wordforest.reproduce.sweep.plan import NONE, STRUCTURES

Record = dict[str, Any]
DENSITIES = (0.9, 0.7, 0.5, 0.3, 0.1)
PAPER_GAP = {52: (11.84, 24.38), 520: (22.02, 48.0)}  # syntactic scores of SC and FOREST by M, table 1 of the paper
_STEPS = 4  # points within what two curves both reach
_FAR = 0.5  # points of a curve whose densities differ by more say nothing of what lies between
_SPREADS = 2  # a mean difference beyond so many standard deviations of the seeds' is told


class Setting(NamedTuple):
    """What the cells of one chapter of the report share."""

    size: int
    rows: str
    share: float
    thin: float
    max_vocab: int

    def __str__(self) -> str:
        parts = [f"M = {self.size}", f"{self.rows} rows"]
        parts += [f"every {round(1 / self.share)}th line"] if self.share < 1 else []
        parts += [f"counts thinned to {self.thin:g}"] if self.thin < 1 else []
        return ", ".join([*parts, *([f"{self.max_vocab:,} words at most"] if self.max_vocab else [])])


def by_setting(records: Iterable[Record]) -> dict[Setting, list[Record]]:
    """Return the records of every setting."""
    found: dict[Setting, list[Record]] = {}
    for record in records:
        found.setdefault(Setting(*(record[name] for name in Setting._fields)), []).append(record)
    return found


def bits_of(record: Record) -> float:
    """Return bits a word: which nodes are on is coded given the parents where there is a tree, else one by one."""
    return float(record["bits_alone" if record["structure"] in ("flat", NONE) else "bits_given_parent"])


@dataclass(frozen=True)
class Measure:
    """Something read off a record: its name, digits, and the way to it; ``scores`` are in percent or correlations."""

    name: str
    digits: int
    path: tuple[str, ...]

    def of(self, record: Record) -> float | None:
        """Return the number, or None where a record has none."""
        if self.name == "bits":
            return bits_of(record)
        value: Any = record
        for name in self.path:
            value = value.get(name) if value is not None else None
        return None if value is None else float(value)


DENSITY, ERROR, BITS = Measure("density", 3, ("density",)), Measure("error", 5, ("error",)), Measure("bits", 1, ())


class Spread(NamedTuple):
    """A mean over seeds and their standard deviation, nan for one seed."""

    mean: float
    sd: float
    n: int

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Spread | None:
        """Return that of the numbers that are there."""
        known = [value for value in values if value is not None]
        return cls(fmean(known), stdev(known) if len(known) > 1 else float("nan"), len(known)) if known else None

    @property
    def is_clear(self) -> bool:
        """Whether the mean is farther from 0 than the seeds' spread explains."""
        return self.n > 1 and abs(self.mean) > _SPREADS * self.sd


class Curves:
    """The records of a setting after some passes: for every seed and structure a curve over lam, which begins at 0."""

    def __init__(self, records: Sequence[Record], passes: int) -> None:
        self.records = [record for record in records if record["passes"] == passes]
        self.passes, self.seeds = passes, sorted({record["seed"] for record in self.records})
        self.structures = [one for one in STRUCTURES if any(r["structure"] == one for r in self.records)]

    def curve(self, structure: str, seed: int) -> list[Record]:
        """Return the points of a curve; without a penalty all structures are one."""
        own = [r for r in self.records if r["seed"] == seed and r["structure"] in (structure, NONE)]
        return sorted(own, key=lambda record: record["lam"])

    def at(self, x: Measure, where: float, y: Measure, structure: str, seed: int) -> float | None:
        """Return y where x has a value, between the nearest points; None beyond all, or where they are far apart."""
        found = ((x.of(record), y.of(record), record["density"]) for record in self.curve(structure, seed))
        points = np.array(sorted(one for one in found if None not in one), dtype=np.float64).reshape(-1, 3)
        if not len(points) or not points[0, 0] <= where <= points[-1, 0]:
            return None
        after = int(np.searchsorted(points[:, 0], where))
        if points[after, 0] != where and abs(points[after, 2] - points[after - 1, 2]) > _FAR:
            return None
        return float(np.interp(where, points[:, 0], points[:, 1]))

    def over_seeds(self, x: Measure, where: float, y: Measure, structure: str) -> Spread | None:
        """Return ``at`` over all seeds."""
        return Spread.of(self.at(x, where, y, structure, seed) for seed in self.seeds)

    def difference(self, x: Measure, where: float, y: Measure) -> Spread | None:
        """Return tree minus flat, seed by seed."""
        pairs = [(self.at(x, where, y, "tree", seed), self.at(x, where, y, "flat", seed)) for seed in self.seeds]
        return Spread.of(None if a is None or b is None else a - b for a, b in pairs)

    def places(self, x: Measure) -> list[float]:
        """Return the values of x at which to compare: round densities, or evenly within what tree and flat reach."""
        if x is DENSITY:
            return [*DENSITIES]
        values = [
            [float(x.of(record) or 0) for record in self.curve(structure, seed)]
            for structure in ("tree", "flat")
            for seed in self.seeds
        ]
        low, high = max(map(min, values)), min(map(max, values))
        return [round(low + (high - low) * k / _STEPS, x.digits) for k in range(1, _STEPS)] if low < high else []

    def falls_to(self, share: float, y: Measure, lam: float) -> tuple[Spread | None, Spread | None, float]:
        """Return where flat falls to a share of what the tree has at lam: the density, the lam, and the seeds' share.

        Over the seeds in which it does, between the two points of the curve around it.
        """
        crossings = [found for seed in self.seeds if (found := self._crossing(share, y, lam, seed))]
        density, where = ([one[i] for one in crossings] for i in (0, 1))
        return Spread.of(density), Spread.of(where), len(crossings) / max(1, len(self.seeds))

    def _crossing(self, share: float, y: Measure, lam: float, seed: int) -> tuple[float, float] | None:
        goals = [share * value for r in self.curve("tree", seed) if r["lam"] == lam and (value := y.of(r)) is not None]
        points = [(v, r["density"], r["lam"]) for r in self.curve("flat", seed) if (v := y.of(r)) is not None]
        for before, after in pairwise(points):
            if goals and before[0] > goals[0] >= after[0]:
                part = (before[0] - goals[0]) / (before[0] - after[0])
                return before[1] + part * (after[1] - before[1]), before[2] + part * (after[2] - before[2])
        return None
