"""Learning the cells of a task: one run of many passes serves all numbers of passes, permuted trees need none.

At a pass that a cell asks for, the state of the run is handed to a second learner that is allowed no further pass: all
it does is code the words exactly. The run itself goes on as if nothing had been asked.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.coding import encode
from wordforest.coder.fit import Plan, begin, make_learner
from wordforest.coder.forest import Forest
from wordforest.coder.learn import Learned, OnStep, State, Step, learn
from wordforest.coder.penalties import L1, ForestL2, Penalty
from wordforest.coder.rows import Rows
from wordforest.reproduce.sweep.measure import likeness, measured
from wordforest.reproduce.sweep.plan import NONE, TREE_SIZE, Cell, Task

Array = Any  # a NumPy array or a PyTorch tensor
_PERMUTED = 1  # stream of random numbers beside the seed


@dataclass(frozen=True, eq=False)
class Coded:
    """A cell with its codes A (V, M) where the rows are, and what is known of them but the scores."""

    cell: Cell
    A: Array
    facts: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Dictionary D (C, M) and exact codes A (V, M) after some passes, and the seconds that learning took.

    ``gap`` bounds how far the codes are from exact; ``atoms`` (M,) says which atom of the run a dimension is, if not
    that of its own number.
    """

    D: Array
    A: Array
    gap: float
    passes: int
    seconds: float
    atoms: NDArray[np.int64] | None = None

    @property
    def by_atom(self) -> Array:
        """The codes in the order of the atoms of the run."""
        return self.A if self.atoms is None else self.A[:, np.argsort(self.atoms)]


Snapshots = Mapping[int, Snapshot]  # by passes


def learn_task(rows: Rows, task: Task) -> Iterator[Coded]:
    """Yield the missing cells of a task: per lam the flat penalty, the tree, and the tree's dictionary permuted."""
    bench = _Bench(rows, task)
    plain = bench.learn(0.0, NONE, task.passes(0.0, NONE))
    yield from bench.coded(0.0, NONE, plain.items(), {})
    for lam in sorted({cell.lam for cell in task.missing if cell.lam}):
        flat = bench.learn(lam, "flat", task.passes(lam, "flat"))
        yield from bench.coded(lam, "flat", flat.items(), {NONE: plain})
        if task.lacks(lam, "tree", "permuted"):
            others = {NONE: plain, "flat": flat}
            tree = bench.learn(lam, "tree", task.passes(lam, "tree", "permuted"))
            yield from bench.coded(lam, "tree", tree.items(), others)
            permuted = ((n, bench.permuted(lam, tree[n])) for n in task.passes(lam, "permuted"))
            yield from bench.coded(lam, "permuted", permuted, others)


class _Bench:
    """Rows, and what all cells of a task share."""

    def __init__(self, rows: Rows, task: Task) -> None:
        self.rows, self.missing, self.first = rows, task.missing, task.first
        self.forest = Forest.complete(task.first.size // TREE_SIZE)

    def penalty(self, lam: float, structure: str) -> Penalty:
        return L1(lam) if structure == "flat" else ForestL2(self.forest, lam)

    def learn(self, lam: float, structure: str, passes: tuple[int, ...]) -> Snapshots:
        """Learn with a penalty, by the settings of the paper."""
        penalty = self.penalty(lam, structure)
        return learn_through(self.rows, Plan(self.forest, lambda _: penalty, seed=self.first.seed), passes)

    def permuted(self, lam: float, tree: Snapshot) -> Snapshot:
        """Put the atoms of a tree at random nodes and code all words anew."""
        atoms = np.random.default_rng((self.first.seed, _PERMUTED)).permutation(len(self.forest))
        D, started = tree.D[:, atoms], time.monotonic()
        codes = encode(self.rows, D, self.penalty(lam, "permuted"))
        return Snapshot(D, codes.A, codes.gap, tree.passes, time.monotonic() - started, atoms)

    def coded(
        self, lam: float, structure: str, made: Iterable[tuple[int, Snapshot]], others: Mapping[str, Snapshots]
    ) -> Iterator[Coded]:
        """Yield those cells of a penalty that are missing, compared with what other penalties gave."""
        for passes, snapshot in made:
            cell = replace(self.first, lam=lam, structure=structure, passes=passes)
            if cell in self.missing:
                facts = measured(self.rows, snapshot.D, snapshot.A, self.penalty(lam, structure), self.forest)
                like = {f"like_{name}": _like(snapshot, found.get(passes)) for name, found in others.items()}
                own = {
                    "gap": None if np.isnan(snapshot.gap) else snapshot.gap,
                    "passes_made": snapshot.passes,
                    "seconds": snapshot.seconds,
                }
                yield Coded(cell, snapshot.A, {**facts, **like, **own})


def _like(one: Snapshot, other: Snapshot | None) -> float | None:
    return None if other is None else likeness(one.by_atom, other.A)


def learn_through(rows: Rows, plan: Plan, passes: tuple[int, ...]) -> dict[int, Snapshot]:
    """Learn until the most passes asked for; return what each number of passes gives, to the bits of ``fit``.

    No pass is left out for a small gain (tol = 0). Where a pass moves nothing at all, learning has ended, and all
    further numbers of passes give the same.
    """
    found: dict[int, Snapshot] = {}
    if not passes:
        return found
    started, aside, V = time.monotonic(), 0.0, rows.shape[0]

    def on_step(step: Step, state: State) -> None:
        nonlocal aside
        if step.epoch in passes[:-1] and step.words_seen == step.epoch * V and not step.last:
            at = time.monotonic()
            learned = _learned(rows, _until(plan, step.epoch), resume=State(state.arrays, list(state.history)))
            found[step.epoch] = _snapshot(learned, at - started - aside)
            aside += time.monotonic() - at

    last = _snapshot(_learned(rows, _until(plan, passes[-1]), on_step=on_step), 0.0)
    last = replace(last, seconds=time.monotonic() - started - aside)
    return {n: found.get(n, last) for n in passes}


def _until(plan: Plan, passes: int) -> Plan:
    return replace(plan, settings={"epochs": passes, "tol": 0.0})


def _learned(rows: Rows, plan: Plan, *, resume: State | None = None, on_step: OnStep | None = None) -> Learned:
    """Return what ``fit`` learns, where the rows are: it would bring all of it to the host."""
    begun, penalty, mean = begin(rows, plan, begun=resume is not None)
    return learn(make_learner(rows, plan, penalty, begun, mean), resume=resume, on_step=on_step)


def _snapshot(learned: Learned, seconds: float) -> Snapshot:
    made = max((step.epoch for step in learned.history if not step.last), default=0)
    return Snapshot(learned.D, learned.A, learned.gap, made, seconds)
