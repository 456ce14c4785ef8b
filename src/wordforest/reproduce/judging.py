"""Judging the runs of an experiment, and remembering what was found, item by item."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from wordforest import store
from wordforest.evaluation import Data, Outcome, find_data, judge
from wordforest.vectors import Vectors

HALVES = ("development", "test")


@dataclass(frozen=True)
class Judged:
    """What vectors are and how they did: words, dimensions, share of non-zeros, and outcomes on all items or a half."""

    n_words: int
    n_dimensions: int
    density: float
    outcomes: dict[str, list[Outcome]]  # by "all", "development", "test"


class Bench:
    """Judges vectors on the tasks of an experiment; what was judged before with the same data is not judged again."""

    def __init__(
        self, folder: Path, data: str | Path | None, cache: Path | None, tasks: Iterable[str], halves: bool
    ) -> None:
        self.data: Data = find_data(data, cache)
        self.tasks = [task for task in tasks if task in self.data.files]
        self.missing = [task for task in tasks if task not in self.data.files]
        self._folder, self._parts = folder, ("all", *HALVES) if halves else ("all",)
        self._key = [[path.name, _digest(path)] for task in self.tasks for path in self.data.of(task)]

    def judge(self, name: str, source: Path, scale: float) -> Judged:
        """Return what the vectors of a run folder or a file achieve, each dimension's norm raised to ``scale``."""
        tail = "" if scale == 1 else f"-scale{scale:g}"
        place = self._folder / f"{quote(name, safe=' +()@,')}{tail}.json"  # a name is no path
        key = json.loads(json.dumps([self._key, _stamp(source), scale, self._parts, self.tasks]))
        if place.is_file() and (known := store.read_json(place))["key"] == key:
            return _read(known)
        vectors = store.read_vectors(source)
        vectors = vectors if scale == 1 else vectors.scaled(scale)
        found = {part: self._outcomes(vectors, part) for part in self._parts}
        judged = Judged(len(vectors), vectors.n_dimensions, vectors.density(), found)
        self._folder.mkdir(parents=True, exist_ok=True)
        store.write_json(place, {"key": key, **_written(judged)})
        return judged

    def _outcomes(self, vectors: Vectors, part: Any) -> list[Outcome]:
        return judge(vectors, self.data, tasks=self.tasks, half=None if part == "all" else part)


def _stamp(source: Path) -> list[Any]:
    file = source / "codes.safetensors" if source.is_dir() else source
    return [str(source), file.stat().st_size, file.stat().st_mtime_ns]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _written(judged: Judged) -> dict[str, Any]:
    outcomes = {
        part: [
            {**o.__dict__, "keys": list(o.keys), "values": o.values.round(12).tolist(), "gold": o.gold.tolist()}
            for o in found
        ]
        for part, found in judged.outcomes.items()
    }
    return {
        "n_words": judged.n_words,
        "n_dimensions": judged.n_dimensions,
        "density": judged.density,
        "outcomes": outcomes,
    }


def _read(known: dict[str, Any]) -> Judged:
    outcomes = {part: [_outcome(entry) for entry in found] for part, found in known["outcomes"].items()}
    return Judged(known["n_words"], known["n_dimensions"], known["density"], outcomes)


def _outcome(entry: dict[str, Any]) -> Outcome:
    arrays = {name: np.array(entry[name], dtype=np.float64) for name in ("values", "gold")}
    return Outcome(
        entry["task"], entry["set"], entry["metric"], tuple(entry["keys"]), n_total=entry["n_total"], **arrays
    )
