"""A sweep as an experiment file describes it: axes, the cells of their product, and tasks that learn cells together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from typing import Any, NamedTuple

from wordforest.errors import InputError

STRUCTURES = ("tree", "flat", "permuted")
NONE = "none"  # the structure where lam = 0: no penalty, so no structure
ROWS = ("raw", "unit")
TREE_SIZE = 13  # a tree of the paper: root, 3, 9


class Source(NamedTuple):
    """What is counted: every how many-th line of the text as a share, which share of the counts is kept, words."""

    share: float
    thin: float
    max_vocab: int  # 0: all


@dataclass(frozen=True)
class Cell:
    """One setting: a point on every axis."""

    lam: float
    structure: str
    passes: int
    seed: int
    size: int
    rows: str
    share: float
    thin: float
    max_vocab: int

    @property
    def source(self) -> Source:
        """What its counts are made of."""
        return Source(self.share, self.thin, self.max_vocab)


@dataclass(frozen=True)
class Sweep:
    """Axes, each a list of values; the cells are their product."""

    name: str = "sweep"
    lam: tuple[float, ...] = (0.1,)
    structure: tuple[str, ...] = ("tree",)
    passes: tuple[int, ...] = (30,)
    seed: tuple[int, ...] = (0,)
    size: tuple[int, ...] = (52,)
    rows: tuple[str, ...] = ("raw",)
    share: tuple[float, ...] = (1,)
    thin: tuple[float, ...] = (1,)
    max_vocab: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        for name, allowed, says in _RULES:
            for value in getattr(self, name):
                if not allowed(value):
                    raise InputError(f"{name} = {value!r}, but it must be {says}.")

    @property
    def cells(self) -> list[Cell]:
        """Its cells, in the order of the axes; without a penalty all structures are one."""
        points = product(*(getattr(self, name) for name in AXES))
        return list(dict.fromkeys(_cell(dict(zip(AXES, point, strict=True))) for point in points))

    def changed(self, axes: dict[str, Any]) -> Sweep:
        """Return the sweep with other values on some axes; on those of the source only if it has some there itself."""
        own = [name for name in axes if name not in Source._fields or getattr(self, name) != getattr(_USUAL, name)]
        return replace(self, **{name: axes[name] for name in own})


AXES = tuple(one.name for one in fields(Cell))
_RULES: tuple[tuple[str, Any, str], ...] = (
    ("lam", lambda lam: lam >= 0, "0 or more"),
    ("structure", STRUCTURES.__contains__, f"one of {', '.join(STRUCTURES)}"),
    ("passes", lambda passes: passes > 0, "1 or more"),
    ("seed", lambda seed: seed >= 0, "0 or more"),
    ("size", lambda size: size > 0 and size % TREE_SIZE == 0, f"a multiple of {TREE_SIZE}, the nodes of a tree"),
    ("rows", ROWS.__contains__, f"one of {', '.join(ROWS)}"),
    ("share", lambda share: 0 < share <= 1 and (1 / share).is_integer(), "1, 1/2, 1/3 and so on: every k-th line"),
    ("thin", lambda thin: 0 < thin <= 1, "above 0 and at most 1"),
    ("max_vocab", lambda most: most >= 0, "0, for all words, or more"),
)
_USUAL = Sweep()


def _cell(point: dict[str, Any]) -> Cell:
    return Cell(**{**point, "structure": point["structure"] if point["lam"] else NONE})


@dataclass(frozen=True)
class Task:
    """Cells that one process learns one after the other: same rows, size and seed. ``missing`` are not known yet."""

    cells: tuple[Cell, ...]
    missing: frozenset[Cell]

    @property
    def first(self) -> Cell:
        """A cell that has what all share."""
        return self.cells[0]

    def passes(self, lam: float, *structures: str) -> tuple[int, ...]:
        """Return the passes after which codes of a penalty are wanted, few first: those that a missing cell asks for.

        Those of lam = 0 are what codes of all others are compared with.
        """
        asked = {one.passes for one in self.missing if lam in (0, one.lam)}
        own = {one.passes for one in self.cells if one.lam == lam and one.structure in structures}
        return tuple(sorted(asked & own))

    def lacks(self, lam: float, *structures: str) -> bool:
        """Say whether a cell of a penalty is missing."""
        return any(one.lam == lam and one.structure in structures for one in self.missing)


def cells_of(sweeps: Iterable[Sweep]) -> list[Cell]:
    """Return the cells of all sweeps, each once."""
    return list(dict.fromkeys(cell for sweep in sweeps for cell in sweep.cells))


def tasks_of(cells: Sequence[Cell], known: Iterable[Cell]) -> list[Task]:
    """Return the tasks with a cell that is not known, long ones first, since short ones fill the end."""
    missing = frozenset(cells) - frozenset(known)
    groups: dict[Any, list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.source, cell.rows, cell.size, cell.seed), []).append(cell)
    tasks = [Task(tuple(own), missing & frozenset(own)) for own in groups.values()]
    return sorted((task for task in tasks if task.missing), key=_longest_first)


def _longest_first(task: Task) -> tuple[int, int]:
    """Order tasks by what they take: components, and raw rows: little is left of unit ones under a penalty."""
    return -task.first.size, ROWS.index(task.first.rows)


def as_record(cell: Cell) -> dict[str, Any]:
    """Return a cell as results.jsonl has it."""
    return asdict(cell)


def cell_in(record: dict[str, Any]) -> Cell:
    """Return the cell of a record."""
    return Cell(**{name: record[name] for name in AXES})
