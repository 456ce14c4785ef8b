"""An experiment as a TOML file describes it: which models, which sizes, which seeds, and what the paper reports."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from wordforest.errors import InputError
from wordforest.evaluation import TASKS
from wordforest.reproduce.sweep.plan import AXES, Sweep

FOREST = "forest"
FILE = "file"
FROM_COUNTS = (FOREST, "pca", "sc", "nnse", "hpca")
CODES = (FOREST, "sc", "nnse", FILE)  # what they make may have zeros
METHODS = (*FROM_COUNTS, "cbow", "sg", "cbow-hs", "sg-hs", "nce", "rnn", FILE)
BRANCHING = "3,3"  # a tree of the paper: root, 3, 9

# Of the package; of the clone, where it is not built.
_HERE = Path(__file__).parent
EXPERIMENTS = _HERE / "experiments" if (_HERE / "experiments").is_dir() else _HERE.parents[2] / "experiments"

Options = dict[str, str | int | float | bool]


@dataclass(frozen=True)
class Model:
    """One competitor: a method with its options, at some sizes and seeds, or a file of vectors.

    ``count`` are options of counting that differ from those of the experiment; ``scale`` is the power that the norm
    of every dimension is raised to before scoring (1 leaves vectors as they are); ``source`` says where a file comes
    from, for those who do not have it.
    """

    name: str
    method: str
    sizes: tuple[int, ...] = (52,)
    seeds: tuple[int, ...] = (0,)
    options: Options = field(default_factory=dict)
    count: Options = field(default_factory=dict)
    scale: float = 1.0
    path: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(f"method = {self.method!r}, but it must be one of {', '.join(METHODS)}.")
        if (self.method == FILE) != bool(self.path):
            raise InputError(f"the method {FILE!r} and a path belong together.")
        nodes = tree_size(str(self.options.get("branching", BRANCHING)))
        if self.method == FOREST and "trees" not in self.options:
            for size in self.sizes:
                if size % nodes:
                    raise InputError(f"size {size} is no multiple of {nodes}, the nodes of a tree.")


@dataclass(frozen=True)
class Experiment:
    """A table to make. ``paper`` holds, for a size and a model, the values the paper reports, by column."""

    models: tuple[Model, ...] = ()
    sweeps: tuple[Sweep, ...] = ()  # in place of models
    title: str = "Experiment"
    about: str = ""
    corpus: tuple[str, ...] = ()
    tasks: tuple[str, ...] = TASKS
    count: Options = field(default_factory=dict)
    halves: bool = False
    reference: str = ""  # the model that all others are compared with
    paper: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    processes: int = 8  # that learn the cells of sweeps; one on a GPU that they cannot share

    def __post_init__(self) -> None:
        names = [model.name for model in self.models]
        if bool(names) == bool(self.sweeps):
            found = "both" if names else "none"
            raise InputError(f"expected at least one [[model]], or one [[sweep]], found {found}.")
        if twice := [name for name in names if names.count(name) > 1]:
            raise InputError(f"two models are called {twice[0]!r}. Give each a name of its own.")
        if unknown := [task for task in self.tasks if task not in TASKS]:
            raise InputError(f"no task is called {unknown[0]!r}. Tasks are: {', '.join(TASKS)}.")
        if self.reference and self.reference not in names:
            raise InputError(f"reference = {self.reference!r} is none of the models: {', '.join(names)}.")


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
class Trial:
    """One row of the report: a model at one size, with the job of each seed."""

    model: Model
    size: int
    jobs: tuple[Job, ...]


def experiment_file(name: Path) -> Path:
    """Return a file by its path, or the experiment of the package by its name: table1, experiments/table1.toml."""
    ours = (EXPERIMENTS / name.name).with_suffix(".toml")
    if name.is_file() or not (ours.is_file() and str(name.parent) in (".", "experiments")):
        return name
    return ours


def read_experiment(path: Path, *, quick: bool = False) -> Experiment:
    """Read an experiment; ``quick`` applies what its ``[quick]`` part changes."""
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        names = ", ".join(sorted(one.stem for one in EXPERIMENTS.glob("*.toml")))
        raise InputError(f"{path}: cannot be read ({error.strerror}). Name a file, or one of ours: {names}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not TOML ({error}). Correct the file.") from error
    try:
        keys = [entry.name for entry in fields(Experiment) if entry.name not in ("models", "sweeps")]
        found = _checked(raw, "experiment", ["model", "sweep", *keys, "quick"])
        models = tuple(_model(entry, number) for number, entry in enumerate(found.pop("model", ()), start=1))
        sweeps = tuple(_sweep(entry, number) for number, entry in enumerate(found.pop("sweep", ()), start=1))
        changes = found.pop("quick", {})
        experiment = Experiment(models, sweeps, **found)
        return _quickened(experiment, changes) if quick else experiment
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def trials_of(experiment: Experiment, skipped: Sequence[str] = ()) -> list[Trial]:
    """Return the rows of the report, sizes from small to large, models in the order of the file.

    ``skipped`` names models to leave out, as MODEL or MODEL@SIZE.
    """
    every = [(model, size) for model in experiment.models for size in model.sizes]
    names = {model.name for model, _ in every} | {f"{model.name}@{size}" for model, size in every}
    for name in skipped:
        if name not in names:
            raise InputError(f"--skip {name}: no such model. Name one of: {', '.join(sorted(names))}.")
    trials = []
    for model, size in sorted(every, key=lambda one: one[1]):
        if model.name not in skipped and f"{model.name}@{size}" not in skipped:
            count = {**experiment.count, **model.count}
            jobs = tuple(Job(model.method, size, seed, model.options, count) for seed in model.seeds)
            trials.append(Trial(model, size, jobs))
    return trials


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


def _model(table: dict[str, Any], number: int) -> Model:
    where = f"[[model]] number {number}"
    found = _checked(table, where, [entry.name for entry in fields(Model)])
    method = found.setdefault("method", FILE if "path" in found else "")
    found.setdefault("name", method)
    if method == FILE:
        found.setdefault("sizes", (0,))
    try:
        return Model(**found)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _sweep(table: dict[str, Any], number: int) -> Sweep:
    where = f"[[sweep]] number {number}"
    try:
        return Sweep(**_checked(table, where, [entry.name for entry in fields(Sweep)]))
    except InputError as error:
        raise InputError(f"{where}: {str(error).removeprefix(f'{where}: ')}") from error


def _quickened(experiment: Experiment, quick: dict[str, Any]) -> Experiment:
    """Return the experiment made small: other sizes, one seed, options by method, and axes of sweeps that name them."""
    by_method = quick.get("options", {})
    rest = {key: value for key, value in quick.items() if key not in ("options", "sweep")}
    axes = _checked(quick.get("sweep", {}), "[quick.sweep]", AXES)
    found = _checked(rest, "[quick]", ["sizes", "seeds", "corpus", "count"])
    seeds, sizes = found.pop("seeds", (0,)), found.pop("sizes", None)
    models = []
    for model in experiment.models:
        kept = tuple(size for size in model.sizes if sizes is None or size in sizes or model.method == FILE)
        changed = _checked({"options": by_method.get(model.method, {})}, "[quick.options]", ["options"])
        options = {**model.options, **changed["options"]}
        if kept:
            models.append(replace(model, sizes=kept, seeds=seeds, options=options))
    count = {**experiment.count, **found.pop("count", {})}
    sweeps = tuple(sweep.changed(axes) for sweep in experiment.sweeps)
    return replace(experiment, models=tuple(models), sweeps=sweeps, count=count, **found)


_NUMBER = int | float
# What the values of some keys must be: in words, and as a type, a list of one, or a table of one.
_KINDS: tuple[tuple[str, str, Any], ...] = (
    ("title about reference name method path source", "text", str),
    ("tasks notes", "a list of texts", [str]),
    ("corpus", "the name of a file or a list of them", [str]),
    ("sizes seeds", "a list of whole numbers", [int]),
    ("options count", "a table of text, numbers, true or false", {"": str | int | float | bool}),
    ("halves", "true or false", bool),
    ("scale", "a number", _NUMBER),
    ("paper", "numbers by size, model and column", {"": {"": {"": _NUMBER}}}),
    ("model sweep", "a list of tables", [dict]),
    ("lam share thin", "a list of numbers", [_NUMBER]),
    ("passes seed size max_vocab", "a list of whole numbers", [int]),
    ("structure rows", "a list of texts", [str]),
    ("processes", "a whole number", int),
    ("quick", "a table", dict),
)


def _checked(table: dict[str, Any], where: str, keys: Sequence[str]) -> dict[str, Any]:
    """Return a table of the file whose keys are known and whose values are as they should be; lists become tuples."""
    found = {}
    for key, value in table.items():
        if key not in keys:
            raise InputError(f"{where}: unknown key {key!r}. Keys are: {', '.join(keys)}.")
        value = [value] if key == "corpus" and isinstance(value, str) else value
        wanted, kind = next(entry[1:] for entry in _KINDS if key in entry[0].split())
        if not _holds(value, kind):
            raise InputError(f"{where}: {key} = {value!r}: expected {wanted}. Correct it.")
        found[key] = tuple(value) if isinstance(value, list) else value
    return found


def _holds(value: Any, kind: Any) -> bool:
    if isinstance(kind, list):
        return isinstance(value, list) and all(_holds(one, kind[0]) for one in value)
    if isinstance(kind, dict):
        return isinstance(value, dict) and all(_holds(one, kind[""]) for one in value.values())
    is_number = kind in (int, _NUMBER)  # true and false are none, though Python takes them for 1 and 0
    return isinstance(value, kind) and not (is_number and isinstance(value, bool))
