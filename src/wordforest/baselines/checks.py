"""Checks that several baselines share: of their settings, and of a text of word ids."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.options import OPTIONS, POSITIVE, Option

Array = NDArray[Any]

_PIECE = 1 << 22  # ids looked at a time: a text may be a memory map


def check_settings(settings: Any) -> None:
    """Refuse settings that the table of options does not allow; numbers that are not in it are whole and at least 1."""
    for name in settings.__dataclass_fields__:
        value = getattr(settings, name)
        if name in OPTIONS:
            OPTIONS[name].check(value)
        elif not isinstance(value, bool):
            Option(name, POSITIVE, 1, "", "").check(value)


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
