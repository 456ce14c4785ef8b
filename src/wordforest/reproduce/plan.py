"""An experiment as a TOML file describes it: which models, which sizes, which seeds, and what the paper reports."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wordforest.errors import InputError

FOREST = "forest"
FILE = "file"
FROM_COUNTS = (FOREST, "pca", "sc", "nnse", "hpca")
FROM_TEXT = ("cbow", "sg", "cbow-hs", "sg-hs", "nce", "rnn")
TASKS = ("similarity", "analogy", "completion", "sentiment")
BRANCHING = "3,3"  # a tree of the paper: root, 3, 9

Options = dict[str, str | int | float | bool]


@dataclass(frozen=True)
class Model:
    """One competitor: a method with its options, at some sizes and seeds, or a file of vectors.

    ``count`` are options of counting that differ from those of the experiment; ``scale`` is the power that the norm
    of every dimension is raised to before judging (1 leaves vectors as they are).
    """

    name: str
    method: str
    sizes: tuple[int, ...] = (52,)
    seeds: tuple[int, ...] = (0,)
    options: Options = field(default_factory=dict)
    count: Options = field(default_factory=dict)
    scale: float = 1.0
    path: str = ""


@dataclass(frozen=True)
class Experiment:
    """A table to make. ``paper`` holds, for a size and a model, the values the paper reports, by column."""

    title: str
    about: str
    models: tuple[Model, ...]
    corpus: tuple[str, ...] = ()
    tasks: tuple[str, ...] = TASKS
    count: Options = field(default_factory=dict)
    halves: bool = False
    reference: str = ""  # the model that all others are compared with
    paper: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Job:
    """One command to run: a model at one size with one seed. Models that differ in ``scale`` alone share it."""

    method: str
    size: int
    seed: int
    options: Options
    count: Options

    @property
    def name(self) -> str:
        """Name of its folder: readable, and different for different settings."""
        settings = json.dumps([self.options, self.count], sort_keys=True)
        tail = "-" + hashlib.sha256(settings.encode()).hexdigest()[:8] if self.options or self.count else ""
        return f"{self.method}-{self.size}-seed{self.seed}{tail}"


@dataclass(frozen=True)
class Cell:
    """One row of the report: a model at one size, with the job of each seed."""

    model: Model
    size: int
    jobs: tuple[Job, ...]


def read_experiment(path: Path, *, quick: bool = False) -> Experiment:
    """Read an experiment; ``quick`` applies what its ``[quick]`` part changes."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}). Check the name.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not TOML ({error}). Correct the file.") from error
    try:
        experiment = _experiment(raw)
        return _quickened(experiment, raw.get("quick", {})) if quick else experiment
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def cells_of(experiment: Experiment) -> list[Cell]:
    """Return the rows of the report, sizes from small to large, models in the order of the file."""
    sizes = sorted({size for model in experiment.models for size in model.sizes})
    return [
        Cell(model, size, tuple(_job(model, size, seed, experiment.count) for seed in model.seeds))
        for size in sizes
        for model in experiment.models
        if size in model.sizes
    ]


def without(cells: Sequence[Cell], skipped: Sequence[str]) -> list[Cell]:
    """Return the cells that are not named as MODEL or MODEL@SIZE."""
    names = {cell.model.name for cell in cells} | {f"{cell.model.name}@{cell.size}" for cell in cells}
    for name in skipped:
        if name not in names:
            raise InputError(f"--skip {name}: no such model. Name one of: {', '.join(sorted(names))}.")
    return [cell for cell in cells if not {cell.model.name, f"{cell.model.name}@{cell.size}"} & set(skipped)]


def _job(model: Model, size: int, seed: int, count: Options) -> Job:
    return Job(model.method, size, seed, model.options, {**count, **model.count})


def _experiment(raw: dict[str, Any]) -> Experiment:
    _only(
        raw,
        "experiment",
        ("title", "about", "corpus", "tasks", "count", "halves", "reference", "model", "paper", "notes", "quick"),
    )
    models = tuple(_model(entry, position) for position, entry in enumerate(_get(raw, "model", list, []), start=1))
    if not models:
        raise InputError("expected at least one [[model]], found none.")
    names = [model.name for model in models]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two models are called {name!r}. Give each a name of its own.")
    tasks = tuple(_get(raw, "tasks", list, list(TASKS)))
    if unknown := [task for task in tasks if task not in TASKS]:
        raise InputError(f"no task is called {unknown[0]!r}. Tasks are: {', '.join(TASKS)}.")
    reference = _get(raw, "reference", str, "")
    if reference and reference not in names:
        raise InputError(f"reference = {reference!r} is none of the models: {', '.join(names)}.")
    return Experiment(
        title=_get(raw, "title", str, "Experiment"),
        about=_get(raw, "about", str, ""),
        models=models,
        corpus=_corpus(raw),
        tasks=tasks,
        count=_options(raw, "count"),
        halves=_get(raw, "halves", bool, False),
        reference=reference,
        paper=_paper(_get(raw, "paper", dict, {})),
        notes=tuple(map(str, _get(raw, "notes", list, []))),
    )


def _model(entry: Any, position: int) -> Model:
    where = f"[[model]] number {position}"
    if not isinstance(entry, dict):
        raise InputError(f"{where}: expected a table, found {entry!r}.")
    _only(entry, where, ("name", "method", "sizes", "seeds", "options", "count", "scale", "path"))
    method = _get(entry, "method", str, FILE if "path" in entry else "")
    if method not in (*FROM_COUNTS, *FROM_TEXT, FILE):
        known = ", ".join((*FROM_COUNTS, *FROM_TEXT, FILE))
        raise InputError(f"{where}: method = {method!r}, but it must be one of {known}.")
    if (method == FILE) != ("path" in entry):
        raise InputError(f"{where}: the method {FILE!r} and a path belong together.")
    sizes = _whole_numbers(entry, "sizes", [0] if method == FILE else [52])
    for size in sizes:
        nodes = tree_size(str(entry.get("options", {}).get("branching", BRANCHING)))
        if method == FOREST and "trees" not in entry.get("options", {}) and size % nodes:
            raise InputError(f"{where}: size {size} is no multiple of {nodes}, the nodes of a tree.")
    return Model(
        name=_get(entry, "name", str, method),
        method=method,
        sizes=sizes,
        seeds=_whole_numbers(entry, "seeds", [0]),
        options=_options(entry, "options"),
        count=_options(entry, "count"),
        scale=float(_get(entry, "scale", (int, float), 1.0)),
        path=_get(entry, "path", str, ""),
    )


def tree_size(branching: str) -> int:
    """Return the nodes of a tree with so many children at each depth.

    >>> tree_size("3,3")
    13
    """
    level, nodes = 1, 1
    for children in branching.split(",") if branching.strip() else ():
        if not children.strip().isdigit():
            raise InputError(f"branching = {branching!r}: expected whole numbers with commas between, as in 3,3.")
        level *= int(children)
        nodes += level
    return nodes


def _quickened(experiment: Experiment, quick: dict[str, Any]) -> Experiment:
    """Return the experiment made small: other sizes, one seed, and options by method."""
    _only(quick, "[quick]", ("sizes", "seeds", "corpus", "count", "options"))
    sizes = _whole_numbers(quick, "sizes", []) if "sizes" in quick else None
    by_method = _get(quick, "options", dict, {})
    models = []
    for model in experiment.models:
        kept = tuple(size for size in model.sizes if sizes is None or size in sizes or model.method == FILE)
        options = {**model.options, **_options(by_method, model.method)}
        if kept:
            models.append(replace(model, sizes=kept, seeds=_whole_numbers(quick, "seeds", [0]), options=options))
    return replace(
        experiment,
        models=tuple(models),
        corpus=_corpus(quick) if "corpus" in quick else experiment.corpus,
        count={**experiment.count, **_options(quick, "count")},
    )


def _only(table: dict[str, Any], where: str, known: tuple[str, ...]) -> None:
    if unknown := [key for key in table if key not in known]:
        raise InputError(f"{where}: unknown key {unknown[0]!r}. Keys are: {', '.join(known)}.")


def _get(table: dict[str, Any], key: str, kind: type | tuple[type, ...], default: Any) -> Any:
    value = table.get(key, default)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        wanted = " or ".join(one.__name__ for one in (kind if isinstance(kind, tuple) else (kind,)))
        raise InputError(f"{key} = {value!r}: expected {wanted}, found {type(value).__name__}.")
    return value


def _whole_numbers(table: dict[str, Any], key: str, default: list[int]) -> tuple[int, ...]:
    values = _get(table, key, list, default)
    for value in values:
        if type(value) is not int or value < 0:
            raise InputError(f"{key} = {values!r}: expected a list of whole numbers, found {value!r}.")
    return tuple(values)


def _corpus(table: dict[str, Any]) -> tuple[str, ...]:
    names = _get(table, "corpus", (str, list), [])
    names = [names] if isinstance(names, str) else names
    if odd := [name for name in names if not isinstance(name, str)]:
        raise InputError(f"corpus = {names!r}: expected names of files, found {odd[0]!r}.")
    return tuple(names)


def _paper(table: dict[str, Any]) -> dict[str, dict[str, dict[str, float]]]:
    for size, models in table.items():
        for model in _get(table, size, dict, {}):
            for column in _get(models, model, dict, {}):
                _get(models[model], column, (int, float), 0)
    return table


def _options(table: dict[str, Any], key: str) -> Options:
    options: Options = _get(table, key, dict, {})
    for name, value in options.items():
        if not isinstance(value, str | int | float | bool):
            raise InputError(f"{key}.{name} = {value!r}: expected text, a number, true or false.")
    return options
