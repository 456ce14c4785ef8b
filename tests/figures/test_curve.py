"""Objective and non-zeros against seconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.figures.drawn import (
    history,
)
from wordforest.errors import InputError
from wordforest.figures import (
    curve,
)


def test_objective_and_non_zeros_stand_against_seconds() -> None:
    upper, lower = curve({"run": history(8.0)}).axes
    assert (upper.get_ylabel(), lower.get_ylabel()) == ("objective", "non-zeros, %")
    assert upper.lines[0].get_xdata().tolist() == [2, 4, 6, 8]
    assert upper.lines[0].get_ydata().tolist() == [1e6 / k for k in (1, 2, 3, 4)]
    np.testing.assert_allclose(lower.lines[0].get_ydata(), [90, 80, 70, 60], rtol=1e-12)


def test_a_dot_ends_each_pass() -> None:
    upper, _ = curve({"run": history(8.0)}).axes
    assert upper.lines[0].get_markevery() == [1, 3]
    assert [text.get_text() for text in upper.texts] == ["pass 1", "pass 2"]


def test_several_runs_are_named_and_differ_in_colour_and_dashes() -> None:
    figure = curve({"one": history(8.0), "two": history(9.0)})
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one", "two"]
    one, two = figure.axes[0].lines
    assert one.get_color() != two.get_color()
    assert one.get_linestyle() != two.get_linestyle()


@pytest.mark.parametrize(("seconds", "scale"), [(30.0, "linear"), (80.0, "log")])
def test_seconds_are_logarithmic_where_runs_differ_much(seconds: float, scale: str) -> None:
    assert curve({"one": history(8.0), "two": history(seconds)}).axes[1].get_xscale() == scale


def test_steps_without_an_objective_are_left_out() -> None:
    upper, _ = curve({"run": [{"loss": 1.0}, *history(8.0)]}).axes
    assert len(upper.lines[0].get_xdata()) == 4


@pytest.mark.parametrize(("steps", "what"), [([], "it is empty"), ([{"loss": 1.0}], "its steps have loss")])
def test_a_history_without_what_is_drawn_is_an_input_error(steps: list[dict[str, Any]], what: str) -> None:
    with pytest.raises(InputError, match=f"baseline: expected a history with seconds.*{what}"):
        curve({"baseline": steps})


def test_no_run_is_an_input_error() -> None:
    with pytest.raises(InputError, match="at least one run"):
        curve({})
