"""Times of documents: what is read as a time, and the bins."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas
import pytest

from wordforest.documents.times import binned
from wordforest.errors import InputError
from wordforest.text.tables import is_missing


@pytest.mark.parametrize(
    "may",
    [
        "1994-05",
        "1994-05-17",
        " 1994-05-17T23:30:00Z ",
        date(1994, 5, 17),
        datetime(1994, 5, 17, 9),
        datetime(1994, 6, 1, 1, tzinfo=timezone(timedelta(hours=5))),  # still May in Greenwich
        np.datetime64("1994-05-17"),
    ],
)
def test_a_month_however_it_is_written(may: Any) -> None:
    assert binned([may, "1994-07-01"], "month").starts == ["1994-05", "1994-06", "1994-07"]


def test_times_of_a_data_frame() -> None:
    column = pandas.Series(pandas.to_datetime(["1994-05-17", None, "1996-01-01"]))
    found = binned(column, "year")
    assert found.starts == [1994, 1995, 1996]
    assert found.code.tolist() == [0, -1, 2]
    assert binned(column, 2).starts == ["1994-05-17", "1995-03-10"]
    assert is_missing(pandas.NA)


def test_decades_begin_at_years_that_end_in_zero() -> None:
    found = binned([1899, "1900", 1909.0, np.int64(1931)], "decade")
    assert found.starts == [1890, 1900, 1910, 1920, 1930]
    assert found.code.tolist() == [0, 1, 1, 4]


def test_dates_before_1970_fall_into_their_own_year() -> None:
    assert binned(["1790-01-08", "1790-12-08", "1791-10-25"], "year").code.tolist() == [0, 0, 1]


def test_bins_of_equal_length() -> None:
    found = binned([0.0, 1.0, 2.5, 9.9, 10.0], 4)
    assert found.starts == [0, 2.5, 5, 7.5]
    assert found.code.tolist() == [0, 0, 1, 3, 3]
    assert binned(["2000-01-01", "2000-01-11"], 2).starts == ["2000-01-01", "2000-01-06"]


def test_few_times_are_a_bin_each_and_many_are_put_together() -> None:
    assert binned([3, 1, 1, 2]).starts == [1, 2, 3]
    assert binned(["b"[1:] or "7"]).starts == [7]
    assert len(binned(list(range(100))).starts) == 20
    assert binned([5, 5, 5], 4).code.tolist() == [0, 0, 0]


def test_a_single_date_is_put_in_its_year_too() -> None:
    assert binned(["1994-05-17", "1994-05-17"], "year").starts == [1994]


def test_a_year_among_dates_is_a_year() -> None:
    assert binned(["1994", "1994-05-17", 1995], "year").code.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("times", "bins", "said"),
    [
        (["spring"], None, "'spring' came"),
        ([1.5, 2.5], "year", "expected a date or a year, but 1.5 came"),
        ([1990, 1991], "week", "bins = week: expected a number, or one of decade, year, month"),
        ([1990, 1990], "week", "bins = week"),
        ([1990, 1991], 0, "bins = 0"),
        (["0019-01-01", "2019-01-01"], "month", "makes 24001"),
    ],
)
def test_what_is_no_time_is_told(times: list[Any], bins: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        binned(times, bins)
