"""Sparse coding without a hierarchy, by the forest's own learner: SC (l1) and NNSE (non-negative codes).

SC is a forest of single nodes. NNSE (Murphy, Talukdar and Mitchell 2012) has the same penalty with codes that are
never negative; its atoms have a length of at most one and any sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wordforest.coder.online import Learned, OnlineSettings, OnStep, learn_online
from wordforest.coder.penalties import L1, NonNegativeL1
from wordforest.errors import InputError
from wordforest.runtime.threads import Executor


@dataclass(frozen=True)
class SparseCodingSettings:
    """The same defaults as for the forest."""

    dimensions: int = 52
    lam: float = 0.1
    epochs: int = 100
    tol: float = 5e-3
    nonnegative: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("dimensions", 1), ("lam", 0), ("epochs", 1), ("tol", 0), ("seed", 0)):
            if not least <= getattr(self, name) < float("inf"):
                raise InputError(f"{name} = {getattr(self, name)}, but it must be a finite number, at least {least}.")


def learn_sparse_codes(
    X: Any, settings: SparseCodingSettings, *, executor: Executor | None = None, on_step: OnStep | None = None
) -> Learned:
    """Return ``D`` (C, M) and ``A`` (V, M) that minimise ``|X - A D'|^2 + lam |A|_1``; A >= 0 for NNSE."""
    penalty = NonNegativeL1(settings.lam) if settings.nonnegative else L1(settings.lam)
    online = OnlineSettings(epochs=settings.epochs, tol=settings.tol, seed=settings.seed)
    return learn_online(X, penalty, settings.dimensions, online, executor=executor, on_step=on_step)
