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
from wordforest.coder.entries import Entries, EntrySettings
from wordforest.coder.forest import Forest, in_order
from wordforest.coder.lam import lam_for_training
from wordforest.coder.learn import Learned, Learner, OnStep, State, learn
from wordforest.coder.online import Online, OnlineSettings
from wordforest.coder.penalties import NonNegativeL1, Penalty, with_lam
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
    aims at. ``allocate`` is for the learner entries, whose entries may lie in files.
    """

    forest: Forest
    make_penalty: Callable[[Forest], Penalty]
    learner: Literal["online", "entries"] = "online"
    auto_lam: bool = False
    density: float = 0.5
    start: Start = field(default_factory=RandomStart)
    nonnegative: bool = False  # of the dictionary
    loss: Loss = field(default_factory=Loss)
    word_weights: Array | None = None
    seed: int = 0
    settings: dict[str, Any] = field(default_factory=dict)  # epochs, tol, and what else the learner takes
    allocate: Any = np.empty
    additive: bool = False  # a parent has what its children have, too
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
    begun = Begun(None, plan.forest)
    mean = _mean(rows, plan) if plan.additive else None
    random = isinstance(plan.start, RandomStart) and not plan.additive
    if not random and (resume is None or plan.start.shapes):
        say(f"starting from {plan.start.about}")
        counted, weights, keys = _counted(rows, plan.word_weights, plan.keys)
        asked = Asked(plan.nonnegative, plan.seed, plan.loss, on_start, weights, keys, mean)
        begun = plan.start(counted, plan.forest, asked)
    penalty = plan.make_penalty(begun.forest)
    if mean is not None:
        return _fit_additive(rows, plan, penalty, begun, mean, resume, on_step)
    if plan.auto_lam:
        lam = lam_for_training(
            rows, penalty, len(begun.forest), plan.density, plan.seed, nonnegative=plan.nonnegative, loss=plan.loss
        )
        penalty = with_lam(penalty, lam)
        say(f"lam = {lam:.4g}, chosen for about {plan.density:.0%} non-zeros")
    learned = learn(_learner(rows, plan, penalty, begun), resume=resume, on_step=on_step)
    forest, A, D = begun.forest, kernels.on_host(learned.A), kernels.on_host(learned.D)
    notes = _notes(plan, penalty, learned)
    if plan.start.shapes:
        forest, A, D = in_order(forest, A, D, prune=getattr(plan.start, "grow", False))
    return Fitted(D, A, forest, penalty, learned, notes)


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


def _fit_additive(
    rows: Rows,
    plan: Plan,
    penalty: Penalty,
    begun: Begun,
    mean: Array,
    resume: State | None,
    on_step: OnStep | None,
) -> Fitted:
    """Learn an additive forest; its atoms are returned at right angles to the mean."""
    density = plan.density if plan.auto_lam else None
    drawn = getattr(plan.start, "drawn", False)
    settings = AdditiveSettings(
        seed=plan.seed, nonnegative=plan.nonnegative, density=density, drawn=drawn, **plan.settings
    )
    learner = Additive(rows, begun.forest, NonNegativeL1(penalty.lam), settings, begun.D, mean, plan.word_weights)
    learned = learn(learner, resume=resume, on_step=on_step)
    Z, W = kernels.on_host(learned.A), kernels.on_host(learned.D)
    forest, D = begun.forest, W @ own_parts(begun.forest).T.astype(W.dtype)
    forest, Z, D = in_order(forest, Z, D, prune=getattr(plan.start, "grow", False))
    penalty = with_lam(penalty, learned.facts["lam"])
    notes = _notes(plan, penalty, learned)
    empty = int(np.count_nonzero(~Z.any(axis=1) & (kernels.on_host(rows.squares()) > 0)))
    if empty > _MANY_EMPTY * len(Z) and not plan.centred:  # documents get their shares another way, each of them
        notes.append(f"note: {empty} of {len(Z)} rows have no node. More trees, or a larger density, give them one.")
    return Fitted(D, activations(Z, forest, rows.lengths()), forest, penalty, learned, notes)


def _learner(rows: Rows, plan: Plan, penalty: Penalty, begun: Begun) -> Learner:
    M, settings = len(begun.forest), {"seed": plan.seed, **plan.settings}
    if plan.learner == "entries":
        own = EntrySettings(**settings, zeros=plan.loss.zeros)
        return Entries(rows, penalty, M, own, plan.loss.weights, plan.allocate)
    settings |= {"nonnegative": plan.nonnegative, "revive": not plan.start.shapes}
    if plan.loss.is_plain:
        return Online(rows, penalty, M, OnlineSettings(**settings), begun.D, plan.word_weights)
    start = None if begun.D is None else (begun.D, begun.A)
    return Weighted(rows, plan.loss, penalty, M, WeightedSettings(**settings), start)


def _notes(plan: Plan, penalty: Penalty, learned: Learned) -> list[str]:
    notes = []
    if learned.revived:
        notes.append(
            f"note: {learned.revived} times a dimension that no word used started anew from a badly coded word."
        )
    reached = learned.history[-1].nonzeros
    if plan.auto_lam and not 0.75 < reached / plan.density < 1.25:
        notes.append(
            f"warning: {reached:.1%} non-zeros came out. Give --lam by hand, near {penalty.lam:.4g}, to get closer."
        )
    return notes


def start_named(name: str, *, grow: bool = False, spectrum: float = default("spectrum"), drawn: bool = False) -> Start:
    """Return the start called random, rows, nested or spectral.

    >>> start_named("spectral", spectrum=0.4)
    SpectralStart(power=0.4, passes=2, steps=3)
    """
    starts: dict[str, Callable[[], Start]] = {
        "random": RandomStart,
        "rows": RowStart,
        "nested": lambda: NestedStart(grow=grow, drawn=drawn),
        "grown": lambda: NestedStart(grow=True, drawn=drawn),
        "spectral": lambda: SpectralStart(spectrum),
    }
    if name not in starts:
        raise InputError(f"init = {name!r}, but it must be one of {', '.join(starts)}, or a Start object.")
    return starts[name]()
