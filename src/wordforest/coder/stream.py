"""Learning from rows that come in blocks and are then gone: what they taught stays in sums of fixed size.

A block goes through one step of the learner that ``fit`` would use, on top of the sums ``A'A`` and ``X'A`` of all
blocks before it. The codes of old blocks were found with old dictionaries, so their sums fade: before block t they are
multiplied by ``(1 - 1 / t) ** 2``, which leaves block s with a weight of ``(s / t) ** 2`` (Mairal et al. 2010, 3.4).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from wordforest.coder import kernels
from wordforest.coder.dictionary import CodeStats
from wordforest.coder.fit import Plan, begin, make_learner
from wordforest.coder.forest import Forest
from wordforest.coder.online import Online
from wordforest.coder.penalties import Penalty, with_lam
from wordforest.coder.rows import Rows
from wordforest.coder.starts import Begun
from wordforest.errors import InputError
from wordforest.runtime.machine import gpu_memory_explained, one_blas_thread

Array = Any  # a NumPy array or a PyTorch tensor

_FADING = 2  # power with which old blocks fade


@dataclass(frozen=True, eq=False)
class Learnt:
    """What blocks of rows have taught: atoms D (C, M) and the sums behind them, all of NumPy.

    ``AA`` (M, M) and ``XA`` (C, M) are the faded sums, ``uses`` (M,) the rows that used each node, ``mean`` (C,) the
    direction that additive trees leave alone.
    """

    forest: Forest
    penalty: Penalty
    D: Array
    AA: Array
    XA: Array
    uses: Array
    mean: Array | None
    n_blocks: int

    @property
    def atoms(self) -> Array:
        """D (C, M) as codes go with it: of additive trees at right angles to the mean."""
        if self.mean is None:
            return self.D
        return self.D - np.outer(self.mean, self.mean @ self.D).astype(self.D.dtype)

    def arrays(self) -> dict[str, Array]:
        """Return all numbers by name, for a file."""
        named = {name: getattr(self, name) for name in ("D", "AA", "XA", "uses")}
        named |= {"parent": self.forest.parent, "lam": np.array([self.penalty.lam])}
        named |= {"n_blocks": np.array([self.n_blocks])}
        return named if self.mean is None else {**named, "mean": self.mean}

    @classmethod
    def of(cls, forest: Forest, penalty: Penalty, D: Array, mean: Array | None) -> Learnt:
        """Return a dictionary D (C, M) with nothing behind it: blocks go on from it."""
        M = len(forest)
        return cls(forest, penalty, D, np.zeros((M, M)), np.zeros_like(D), np.zeros(M, dtype=np.int64), mean, 0)

    @classmethod
    def load(cls, plan: Plan, arrays: dict[str, Array]) -> Learnt:
        """Return what ``arrays`` wrote down, for the same plan."""
        forest = Forest(arrays["parent"].tolist())
        penalty = with_lam(plan.make_penalty(forest), float(arrays["lam"][0]))
        D, AA, XA, uses = (arrays[name] for name in ("D", "AA", "XA", "uses"))
        return cls(forest, penalty, D, AA, XA, uses, arrays.get("mean"), int(arrays["n_blocks"][0]))


def learn_block(rows: Rows, plan: Plan, before: Learnt | None = None) -> Learnt:
    """Learn from a block of rows, (n, C), on top of what blocks before it have taught."""
    if plan.learner != "online" or not plan.loss.is_plain:
        raise InputError(
            "more rows are learned by the learner online, without weights: only there do sums of fixed size tell what "
            "was learned before. Use fit."
        )
    if float(kernels.on_host(rows.finite_squares()).max(initial=0)) > float(np.finfo(rows.dtype).max):
        raise InputError("squares of the values of X are too large for their type. Scale the data, or use float64.")
    advice = "Use fewer components or smaller blocks, or the device cpu."
    with one_blas_thread(), gpu_memory_explained("a block of rows", advice):
        if before is None:
            begun, penalty, mean = begin(rows, plan)
        else:
            begun, penalty, mean = Begun(before.D, before.forest), before.penalty, before.mean
            plan = replace(plan, nonnegative=plan.nonnegative and bool((before.D >= 0).all()))  # of the first rows
        learner = cast(Online, make_learner(rows, plan, penalty, begun, mean))
        learner.begin()
        n_blocks = 1 if before is None else before.n_blocks + 1
        if before is not None:
            faded = (1 - 1 / n_blocks) ** _FADING
            learner.remember(CodeStats(before.AA * faded, before.XA * np.float32(faded)), before.uses)
        if before is None:
            learner.find_lam()
        moved = learner.step(n_blocks, np.arange(rows.shape[0]), np.inf)
        learner.find_lam()
    D, AA, XA, uses = (kernels.on_host(one) for one in (learner.atoms, learner.AA, learner.XA, learner.uses()))
    if not (np.isfinite(moved.objective) and np.isfinite(D).all()):
        raise InputError("the dictionary is not finite: the values of X are too large. Scale the data.")
    mean = None if mean is None else kernels.on_host(mean)
    return Learnt(begun.forest, learner.penalty, D, AA, XA, uses, mean, n_blocks)
