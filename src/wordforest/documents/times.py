"""When documents were written: dates, years, numbers or ISO text, in bins of equal length or of the calendar."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.text.tables import is_missing

_CALENDAR = {"decade": (10, "Y"), "year": (1, "Y"), "month": (1, "M"), "day": (1, "D")}
_FEW = 40  # different times up to which each is a bin of its own
_USUAL = 20  # bins of more
_MOST = 2000  # bins: more is a wrong date, or a wrong unit


class Bins(NamedTuple):
    """Starts of bins in order, and the bin of every document (n,); -1 where it has none."""

    starts: list[Any]
    code: NDArray[np.int64]


def binned(times: Sequence[Any], bins: int | str | None = None) -> Bins:
    """Put times in bins: so many of equal length, or each a decade, year, month or day.

    Times are dates, numbers such as years, or text of either (1994, 1994-05, 1994-05-17T10:00Z). None: each time is a
    bin where these are few, else 20 bins. A bin is named by its start: a number, or a date as ISO text. Times that are
    missing have no bin.
    """
    known = _moments(times)
    if not known:
        raise InputError("expected a time for some documents, but none has one. Name another column.")
    found = sorted(set(known.values()))
    place = dict(zip(found, range(len(found)), strict=True))
    at = np.array([-1 if is_missing(value) else place[known[value]] for value in times])
    starts, code = _cut(found, bins)
    return Bins(starts, np.where(at < 0, -1, code[at]))


def in_time(values: Iterable[Any]) -> list[Any] | None:
    """Return distinct times in their order; None where a value is no time."""
    values = [*values]
    try:
        known = _moments(values)
    except InputError:
        return None
    if any(isinstance(value, bool) for value in values):
        return None
    return sorted(known, key=known.__getitem__)


def _moments(values: Iterable[Any]) -> dict[Any, Any]:
    """Return times with what they are compared by: all numbers, or all dates."""
    known = {value: _moment(value) for value in dict.fromkeys(values) if not is_missing(value)}
    if len({isinstance(moment, datetime) for moment in known.values()}) > 1:  # 1994 among whole dates is a year
        return {value: m if isinstance(m, datetime) else _as_year(m) for value, m in known.items()}
    return known


def _moment(value: Any) -> float | datetime:
    """Return a time as a number or as a date without a zone."""
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, str):
        value = _from_text(value.strip())
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    if isinstance(value, date):
        return datetime.combine(value, time())
    if isinstance(value, numbers.Real) and math.isfinite(value):
        return float(value)
    raise InputError(
        f"expected a date or a number as time, but {value!r:.80} came. "
        "Write dates as 1994, 1994-05 or 1994-05-17, or leave the cell empty."
    )


def _from_text(text: str) -> Any:
    for read in (float, datetime.fromisoformat, lambda month: datetime.strptime(month, "%Y-%m")):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _cut(found: list[Any], bins: int | str | None) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the starts of bins, and the bin of each of the sorted times, which are all dates or all numbers."""
    dated = isinstance(found[0], datetime)
    if isinstance(bins, str):
        return _by_calendar(found if dated else [_as_year(one) for one in found], bins)
    if len(found) == 1 or (bins is None and len(found) <= _FEW):
        return [_name(one) for one in found], np.arange(len(found))
    n = _USUAL if bins is None else bins
    if not 1 <= n <= _MOST:
        raise InputError(f"bins = {bins}: expected 1 to {_MOST}, or one of {', '.join(_CALENDAR)}.")
    values = np.array(found, dtype="datetime64[s]" if dated else np.float64).astype(np.float64)
    edges = np.linspace(values[0], values[-1], n + 1)
    code = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, n - 1)
    starts = edges[:-1].astype("datetime64[s]") if dated else edges[:-1]
    return [_name(start) for start in starts.tolist()], code


def _name(moment: Any) -> Any:
    if isinstance(moment, datetime):
        return moment.date().isoformat() if moment.time() == time() else moment.isoformat(timespec="seconds")
    return int(moment) if moment == int(moment) else float(moment)


def _as_year(year: float) -> datetime:
    if not (year == int(year) and 1 <= year <= 9999):
        raise InputError(f"expected a date or a year, but {year:g} came. Write all times in one way.")
    return datetime(int(year), 1, 1)


def _by_calendar(found: list[datetime], unit: str) -> tuple[list[Any], NDArray[np.int64]]:
    if unit not in _CALENDAR:
        raise InputError(f"bins = {unit}: expected a number, or one of {', '.join(_CALENDAR)}.")
    step, letter = _CALENDAR[unit]
    since = 1970 % step  # so that decades begin at years that end in 0
    number = (np.array(found, dtype=f"datetime64[{letter}]").astype(np.int64) + since) // step
    n = int(number[-1] - number[0]) + 1
    if n > _MOST:
        first, last = found[0].date(), found[-1].date()
        raise InputError(
            f"a bin for every {unit} from {first} to {last} makes {n}; {_MOST} are the most. Take longer bins."
        )
    starts = (number[0] + np.arange(n)) * step - since
    names = [str(start) for start in starts.astype(f"datetime64[{letter}]")]
    return [int(name) for name in names] if letter == "Y" else names, number - number[0]
