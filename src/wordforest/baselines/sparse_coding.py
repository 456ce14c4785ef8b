"""Sparse coding without a hierarchy, by the forest's own learner: SC (l1) and NNSE (non-negative codes).

SC is a forest of single nodes. NNSE (Murphy, Talukdar and Mitchell 2012) has the same penalty with codes that are
never negative; its atoms have a length of at most one and any sign.
"""

from __future__ import annotations

from dataclasses import dataclass

from wordforest.coder.fit import Plan
from wordforest.coder.forest import Forest
from wordforest.coder.learn import TolOf
from wordforest.coder.penalties import L1, NonNegativeL1
from wordforest.errors import InputError
from wordforest.options import Checked, default


@dataclass(frozen=True)
class SparseCodingSettings(Checked):
    """The same defaults as for the forest."""

    dimensions: int = default("dimensions")
    lam: float = default("lam")
    epochs: int = default("epochs")
    tol: float = default("tol")
    tol_of: TolOf = default("tol_of")
    nonnegative: bool = False
    seed: int = default("seed")

    def __post_init__(self) -> None:
        super().__post_init__()
        if str(self.lam) == "auto":
            raise InputError("lam = auto is for the forest alone. Give a number, as in 0.1.")

    @property
    def plan(self) -> Plan:
        """What to fit: ``|X - A D'|^2 + lam |A|_1``, with A >= 0 for NNSE."""
        penalty = NonNegativeL1(self.lam) if self.nonnegative else L1(self.lam)
        settings = {"epochs": self.epochs, "tol": self.tol, "tol_of": self.tol_of}
        return Plan(Forest.flat(self.dimensions), lambda _: penalty, seed=self.seed, settings=settings)
