"""Lines of numbers to float32, fast: the same bits as float() on each field, or no answer at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordforest.runtime.machine import kernel

Bytes: TypeAlias = NDArray[np.uint8]
Ints: TypeAlias = NDArray[np.int64]

_MOST_DIGITS = 15  # below 2^53: numerator and power of ten are exact, so one division rounds as float() does
_POWERS = 10.0 ** np.arange(_MOST_DIGITS + 1)
_BY_FLOAT = -1  # in place of the digits after the point: an exponent, many digits, or no number


def parse_numbers(lines: Sequence[bytes], width: int) -> NDArray[np.float32] | None:
    """Return the ``width`` numbers of every line, shape (lines, width), or None at the least doubt.

    None asks for the careful reading that finds and names the line: a field too many or too few, or no number.
    """
    text = b"".join(lines) + b"\n"
    n = len(lines) * width
    if 2 * n > len(text):  # a number and a space each; a header may promise any width
        return None
    numerator, places, begin, end = (np.empty(n, np.int64) for _ in range(4))
    if _scan(np.frombuffer(text, np.uint8), width, numerator, places, begin, end) != n:
        return None
    values = numerator / _POWERS[places]  # places of -1 are filled below
    for i in np.flatnonzero(places == _BY_FLOAT):
        field = text[begin[i] : end[i]]
        try:
            values[i] = float(field)
        except ValueError:
            return None
        if b"_" in field:
            return None
    with np.errstate(over="ignore"):  # too large for float32: the caller finds the infinity
        return values.astype(np.float32).reshape(len(lines), width)


@kernel
def _scan(text: Bytes, width: int, numerator: Ints, places: Ints, begin: Ints, end: Ints) -> int:
    """Read fields such as -12.345 as -12345 / 10^3; return their number, or -1 at a line with too many."""
    n = in_line = i = 0
    while i < len(text):
        if text[i] == 32 or 9 <= text[i] <= 13:
            if text[i] == 10:
                in_line = 0
            i += 1
            continue
        if in_line == width or n == len(numerator):
            return -1
        begin[n] = i
        i, numerator[n], places[n] = _field(text, i)
        end[n] = i
        n += 1
        in_line += 1
    return n


@kernel
def _field(text: Bytes, i: int) -> tuple[int, int, int]:
    """Return where a field ends, its digits as one number, and how many of them follow the point."""
    number = digits = after = 0
    point, plain, minus = False, True, text[i] == 45
    i += minus
    while not (text[i] == 32 or 9 <= text[i] <= 13):
        if 48 <= text[i] <= 57:
            digits += 1
            after += point
            if digits <= _MOST_DIGITS:
                number = number * 10 + (text[i] - 48)
        elif text[i] == 46 and not point:
            point = True
        else:
            plain = False
        i += 1
    if plain and 0 < digits <= _MOST_DIGITS and not (minus and number == 0):  # -0 has a sign
        return i, -number if minus else number, after
    return i, 0, _BY_FLOAT
