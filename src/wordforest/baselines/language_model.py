"""What the language models nce and rnn share: checks, what they return, which text they hold out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.options import OPTIONS, POSITIVE, Checked, Option
from wordforest.runtime.progress import Event

Array = NDArray[Any]
Report = Callable[[Event], None]

_HELD_OUT_SHARE = 0.01
_HELD_OUT = 50_000  # tokens at most
_PIECE = 1 << 22  # ids looked at a time: a text may be a memory map


@dataclass(frozen=True)
class LearningSettings(Checked):
    """Settings of a language model; numbers that the table of options does not have are whole and at least 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in (one.name for one in fields(self) if one.name not in OPTIONS):
            Option(name, POSITIVE, 1, "", "").check(getattr(self, name))


class LearnedVectors(NamedTuple):
    """Vectors (V, M) float32, and an entry for each epoch: what was measured in it and on held-out text."""

    vectors: NDArray[np.float32]
    history: list[dict[str, Any]]


def count_words(ids: Array, counts: Array) -> int:
    """Return how many words a text ``ids`` (n,) has, negative ids being borders; refuse what is no text.

    ``counts`` (V,) says how often each word of the vocabulary occurs, in this text or in a longer one.
    """
    for name, array in (("ids", ids), ("counts", counts)):
        if array.ndim != 1 or not len(array) or not np.issubdtype(array.dtype, np.integer):
            raise InputError(f"{name} is {array.dtype} of shape {array.shape}, but it must be a row of integers.")
    if counts.min() < 0 or counts.max() == 0:
        raise InputError(
            f"counts go from {counts.min()} to {counts.max()}, but they must be at least 0, and some above."
        )
    n_words, highest = 0, -1
    for first in range(0, len(ids), _PIECE):
        piece = ids[first : first + _PIECE]
        n_words += int(np.count_nonzero(piece >= 0))
        highest = max(highest, int(piece.max()))
    if highest >= len(counts):
        raise InputError(
            f"ids has the word {highest}, but counts has {len(counts)} words. Give ids and counts of one text."
        )
    return n_words


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
