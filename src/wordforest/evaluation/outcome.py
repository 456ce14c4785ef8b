"""What a task found out about vectors, item by item: the ground of scores and of comparisons."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from wordforest.evaluation.ranks import spearman

Array = NDArray[np.float64]


def _nothing() -> Array:
    return np.empty(0)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The n scored items of one set, of ``n_total``.

    ``keys`` name the items, each once, the same for all vectors. ``values`` (n,) is the cosine of a pair for
    ``spearman``, and 1 or 0, right or wrong, for ``accuracy``. ``gold`` (n,) is what people say of a pair; it is
    empty for ``accuracy``.
    """

    task: str
    set: str
    metric: str
    keys: tuple[str, ...]
    values: Array
    n_total: int
    gold: Array = field(default_factory=_nothing)

    @property
    def value(self) -> float:
        """The correlation in [-1, 1] or the percentage right; nan where nothing could be scored."""
        if self.metric == "spearman":
            return spearman(self.values, self.gold)
        return 100 * float(self.values.mean()) if self.n_scored else math.nan

    @property
    def n_scored(self) -> int:
        """The number of items with the vectors they need."""
        return len(self.keys)

    @property
    def name(self) -> tuple[str, str, str]:
        """Task, set and metric: what two outcomes must share to be compared."""
        return self.task, self.set, self.metric
