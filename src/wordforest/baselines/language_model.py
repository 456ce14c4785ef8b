"""What the language models nce and rnn share: how far they are, what they return, which text they hold out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError

Array = NDArray[Any]

_HELD_OUT_SHARE = 0.01
_HELD_OUT = 50_000  # tokens at most


@dataclass(frozen=True)
class LearningProgress:
    """Where learning stands: tokens read of all to read, and the mean loss of the last of them."""

    tokens: int
    total: int
    loss: float


OnProgress = Callable[[LearningProgress], None]


@dataclass(frozen=True, eq=False)
class LearnedVectors:
    """Vectors (V, M) float32, and an entry for each epoch: what was measured in it and on held-out text."""

    vectors: NDArray[np.float32]
    history: list[dict[str, Any]]


def held_out_start(ids: Array) -> int:
    """Return where the held-out end of a text begins: after the border of a sentence if one is near."""
    n = len(ids)
    size = min(_HELD_OUT, max(2, round(_HELD_OUT_SHARE * n)))
    before = ids[max(2, n - 2 * size) : n - size]
    borders = np.flatnonzero(before < 0)
    return n - size - (len(before) - 1 - int(borders[-1]) if len(borders) else 0)


def diverged(loss: float, tokens: int, eta: float) -> InputError:
    """Return the error of a loss that is NaN or far above its start."""
    return InputError(
        f"learning diverged: the loss is {loss:.3g} after {tokens} tokens. "
        f"The step eta = {eta:g} is too large: lower it."
    )
