"""Checks that several baselines share: of their settings, and of a text of word ids."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError

Array = NDArray[Any]

_PIECE = 1 << 22  # ids looked at a time: a text may be a memory map


def at_least(settings: object, **least: int) -> None:
    """Refuse settings that are not whole numbers of at least so much."""
    for name, bound in least.items():
        value = getattr(settings, name)
        if not isinstance(value, int) or value < bound:
            raise InputError(f"{name} = {value!r}, but it must be a whole number of at least {bound}.")


def check_step(eta: float) -> None:
    """Refuse a step size that is not a positive number."""
    if not (math.isfinite(eta) and eta > 0):
        raise InputError(f"eta = {eta}, but the step must be a finite number above 0. Leave it out if unsure.")


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
