"""From rows to a dictionary and codes: start, lam, learner, and the order of the trees. Every driver calls this.

The command ``train``, its cluster, the baselines sc and nnse, and ``ForestCoder`` differ in where their rows and
settings come from, and in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from wordforest.coder import kernels
from wordforest.coder.additive import Additive, AdditiveSettings, activations, mean_direction, own_parts
from wordforest.coder.atoms import AtomStart
from wordforest.coder.entries import Entries, EntrySettings
from wordforest.coder.forest import Forest, in_order
from wordforest.coder.lam import lam_for_training
from wordforest.coder.learn import Learned, Learner, OnStep, State, learn
from wordforest.coder.online import Online, OnlineSettings
from wordforest.coder.penalties import MostActive, NonNegativeL1, Penalty, with_lam
from wordforest.coder.rows import Rows
from wordforest.coder.rows.base import Loss
from wordforest.coder.starts import Asked, Begun, NestedStart, RandomStart, RowStart, SpectralStart, Start
from wordforest.coder.weighted import Weighted, WeightedSettings
from wordforest.errors import InputError
from wordforest.options import default

Array = Any  # a NumPy array or a PyTorch tensor

_MANY_EMPTY = 0.01  # share of rows without a node that a person should know of


@dataclass(frozen=True, eq=False)
class Plan:
    """What to learn. ``make_penalty`` takes the forest that the start found; ``settings`` are those of the learner.

    ``loss`` says how much pairs count, ``word_weights`` (V,) how much words do; ``density`` is what ``lam="auto"``
    aims at, ``mean_active`` how many nodes of a row are on, on average, where the penalty is ``MostActive``.
    ``allocate`` is for the learner entries, whose entries may lie in files.
    """

    forest: Forest
    make_penalty: Callable[[Forest], Penalty]
    learner: Literal["online", "entries"] = "online"
    auto_lam: bool = False
    density: float = 0.5
    mean_active: float | None = None
    start: Start = field(default_factory=RandomStart)
    nonnegative: bool = False  # of the dictionary
    loss: Loss = field(default_factory=Loss)
    word_weights: Array | None = None
    seed: int = 0
    settings: dict[str, Any] = field(default_factory=dict)  # epochs, tol, and what else the learner takes
    allocate: Any = np.empty
    additive: bool = False  # a parent has what its children have, too
    unit: bool = False  # rows are divided by their lengths while they are coded, as those of additive trees always are
    centred: bool = False  # what all rows share was taken away before; additive trees do it else
    keys: Array | None = None  # of rows, (V,), uint64: what tells them apart wherever they stand


@dataclass(frozen=True, eq=False)
class Fitted:
    """Dictionary D (C, M) and codes A (V, M) of NumPy, their forest and penalty, and how learning went."""

    D: Array
    A: Array
    forest: Forest
    penalty: Penalty
    learned: Learned
    notes: list[str]  # what a person should know, beside the learner's notices
    mean: Array | None = None  # the direction that additive trees leave alone, (C,)


def fit(
    rows: Rows,
    plan: Plan,
    *,
    resume: State | None = None,
    on_step: OnStep | None = None,
    on_start: Callable[[int], None] = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
) -> Fitted:
    """Learn a dictionary and codes for the rows of X.

    ``on_start`` hears how many rows a start that learns has gone through, ``say`` what is being done, in words.
    """
    begun, penalty, mean = begin(rows, plan, begun=resume is not None, on_start=on_start, say=say)
    learner = make_learner(rows, plan, penalty, begun, mean)
    learned = learn(learner, resume=resume, on_step=on_step)
    forest, A, D = begun.forest, kernels.on_host(learned.A), kernels.on_host(learned.D)
    penalty = learner.penalty
    notes = _notes(plan, penalty, learned)
    if plan.additive:
        D = D @ own_parts(forest).T.astype(D.dtype)  # at right angles to the mean
        notes += _empty_rows(rows, plan, A)
    if plan.additive or plan.start.shapes:
        forest, A, D = in_order(forest, A, D, prune=getattr(plan.start, "grow", False))
    if plan.additive:
        A = activations(A, forest, rows.lengths())
    elif plan.unit:
        A = A * rows.lengths().astype(A.dtype)[:, None]
    return Fitted(D, A, forest, penalty, learned, notes, None if mean is None else kernels.on_host(mean))


def begin(
    rows: Rows,
    plan: Plan,
    *,
    begun: bool = False,
    on_start: Callable[[int], None] = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[Begun, Penalty, Array | None]:
    """Return the first dictionary with its forest, the penalty, and the direction that additive trees leave alone.

    What has ``begun`` already needs no first dictionary, only its forest.
    """
    first = Begun(None, plan.forest)
    mean = _mean(rows, plan) if plan.additive else None
    random = isinstance(plan.start, RandomStart) and not plan.additive
    if not random and (not begun or plan.start.shapes):
        say(f"starting from {plan.start.about}")
        counted, weights, keys = _counted(rows, plan.word_weights, plan.keys)
        asked = Asked(plan.nonnegative, plan.seed, plan.loss, on_start, weights, keys, mean)
        first = plan.start(counted, plan.forest, asked)
    penalty = plan.make_penalty(first.forest)
    if plan.auto_lam and not plan.additive:
        lam = lam_for_training(
            rows, penalty, len(first.forest), plan.density, plan.seed, nonnegative=plan.nonnegative, loss=plan.loss
        )
        penalty = with_lam(penalty, lam)
        say(f"lam = {lam:.4g}, chosen for about {plan.density:.0%} non-zeros")
    return first, penalty, mean


def _mean(rows: Rows, plan: Plan) -> Array:
    """Return the direction that additive trees leave alone, (C,)."""
    if plan.centred:  # what is left of a mean then is that large subjects outweigh small ones
        return kernels.zeros((rows.shape[1], 1), rows.like)[:, 0]
    return mean_direction(rows, plan.word_weights)


def _counted(rows: Rows, weights: Array | None, keys: Array | None) -> tuple[Rows, Array | None, Array | None]:
    """Return the rows that count, for a start to look at, with their weights and keys."""
    if weights is None or (weights > 0).all() or not weights.any():
        return rows, weights, keys
    counted = np.flatnonzero(weights > 0)
    return rows.take(counted), weights[counted], None if keys is None else keys[counted]


def make_learner(rows: Rows, plan: Plan, penalty: Penalty, begun: Begun, mean: Array | None) -> Learner:
    """Return the learner of a plan, at its start; ``mean`` (C,) is of additive trees."""
    M, settings = len(begun.forest), {"seed": plan.seed, **plan.settings}
    if mean is not None:
        own_penalty = penalty if isinstance(penalty, MostActive) else NonNegativeL1(penalty.lam)
        additive = AdditiveSettings(
            nonnegative=plan.nonnegative,
            density=_aim(plan, M),
            drawn=getattr(plan.start, "drawn", False),
            **settings,
        )
        return Additive(rows, begun.forest, own_penalty, additive, begun.D, mean, plan.word_weights)
    if plan.learner == "entries":
        own = EntrySettings(**settings, zeros=plan.loss.zeros)
        return Entries(rows, penalty, M, own, plan.loss.weights, plan.allocate)
    settings |= {"nonnegative": plan.nonnegative, "revive": not plan.start.shapes}
    if plan.loss.is_plain:
        lengths = rows.lengths() if plan.unit else None
        density = None if plan.mean_active is None else _aim(plan, M)
        online = OnlineSettings(**settings, density=density)
        return Online(rows, penalty, M, online, begun.D, plan.word_weights, lengths)
    start = None if begun.D is None else (begun.D, begun.A)
    return Weighted(rows, plan.loss, penalty, M, WeightedSettings(**settings), start)


def _aim(plan: Plan, M: int) -> float | None:
    """Return the density that the codes of M nodes should have, None where lam is given."""
    if plan.mean_active is not None:
        return min(1.0, plan.mean_active / M)
    return plan.density if plan.auto_lam else None


def _empty_rows(rows: Rows, plan: Plan, Z: Array) -> list[str]:
    """Say how many rows have no node, where they are many and nothing else gives them one."""
    empty = int(np.count_nonzero(~Z.any(axis=1) & (kernels.on_host(rows.squares()) > 0)))
    if empty <= _MANY_EMPTY * len(Z) or plan.centred:  # documents get their shares another way, each of them
        return []
    return [f"note: {empty} of {len(Z)} rows have no node. More trees, or a larger density, give them one."]


def _notes(plan: Plan, penalty: Penalty, learned: Learned) -> list[str]:
    notes = []
    if learned.revived:
        notes.append(
            f"note: {learned.revived} times a dimension that no word used started anew from a badly coded word."
        )
    reached = learned.history[-1].nonzeros
    if reached and plan.mean_active is not None and not 0.9 < reached * learned.A.shape[1] / plan.mean_active < 1.1:
        notes.append(
            f"{reached * learned.A.shape[1]:.3g} nodes are on in a row, on average, not mean_active = "
            f"{plan.mean_active:g}: these rows are explained by fewer, or few of them have something to explain. "
            "Lower it."
        )
    if plan.auto_lam and not 0.75 < reached / plan.density < 1.25:
        notes.append(
            f"warning: {reached:.1%} non-zeros came out. Give --lam by hand, near {penalty.lam:.4g}, to get closer."
        )
    return notes


def start_named(name: str, *, grow: bool = False, spectrum: float = default("spectrum"), drawn: bool = False) -> Start:
    """Return the start called random, rows, nested, grown, spectral or atoms.

    >>> start_named("spectral", spectrum=0.4)
    SpectralStart(power=0.4, passes=2, steps=3)
    """
    starts: dict[str, Callable[[], Start]] = {
        "random": RandomStart,
        "rows": RowStart,
        "nested": lambda: NestedStart(grow=grow, drawn=drawn),
        "grown": lambda: NestedStart(grow=True, drawn=drawn),
        "spectral": lambda: SpectralStart(spectrum),
        "atoms": AtomStart,
    }
    if name not in starts:
        raise InputError(f"init = {name!r}, but it must be one of {', '.join(starts)}, or a Start object.")
    return starts[name]()
