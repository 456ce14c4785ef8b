"""Scoring the runs of an experiment, and remembering what was found, item by item."""

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
from wordforest.evaluation import Outcome, find_data, judge

HALVES = ("development", "test")


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
        self._key = [[path.name, _digest(path)] for task in self.tasks for path in self.data.of(task)]

    def score(self, name: str, source: Path, scale: float) -> Scored:
        """Return what the vectors of a run folder or a file achieve, each dimension's norm raised to ``scale``."""
        tail = "" if scale == 1 else f"-scale{scale:g}"
        path = self._folder / f"{quote(name, safe=' +()@,')}{tail}.json"  # a name is no path
        key = json.loads(json.dumps([self._key, _stamp(source), scale, list(self._halves), self.tasks]))
        if not path.is_file() or store.read_json(path)["key"] != key:
            vectors = store.read_vectors(source)
            vectors = vectors if scale == 1 else vectors.scaled(scale)
            self._folder.mkdir(parents=True, exist_ok=True)
            facts = {"n_words": len(vectors), "n_dimensions": vectors.n_dimensions, "density": vectors.density()}
            items = {
                part: [_as_object(one) for one in judge(vectors, self.data, tasks=self.tasks, half=half)]
                for part, half in self._halves.items()
            }
            store.write_json(path, {"key": key, **facts, "outcomes": items})
        known = store.read_json(path)
        outcomes = {part: [_outcome(entry) for entry in found] for part, found in known["outcomes"].items()}
        return Scored(known["n_words"], known["n_dimensions"], known["density"], outcomes)


def _stamp(source: Path) -> list[Any]:
    file = source / "codes.safetensors" if source.is_dir() else source
    return [str(source), file.stat().st_size, file.stat().st_mtime_ns]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _as_object(outcome: Outcome) -> dict[str, Any]:
    arrays = {"values": outcome.values.round(12).tolist(), "gold": outcome.gold.tolist()}
    return {**vars(outcome), "keys": list(outcome.keys), **arrays}


def _outcome(entry: dict[str, Any]) -> Outcome:
    arrays = {name: np.array(entry[name], dtype=np.float64) for name in ("values", "gold")}
    return Outcome(**{**entry, "keys": tuple(entry["keys"]), **arrays})
