"""Differences between groups, by their pixels and names."""

from __future__ import annotations

import pytest

from tests.figures.drawn import WHITE, is_blue, is_red, pixel
from wordforest.errors import InputError
from wordforest.figures import differences


def test_more_is_blue_less_is_red_and_what_is_not_sure_is_white() -> None:
    figure = differences(["x", "y"], ["war", "peace"], [[0.2, -0.3], [0.1, 0.3]], [[0.01, 0.01], [0.2, float("nan")]])
    axes = figure.axes[0]
    assert is_blue(pixel(figure, axes, 0, 0))
    assert is_red(pixel(figure, axes, 0, 1))
    assert pixel(figure, axes, 1, 0) == WHITE  # q of 0.2
    assert pixel(figure, axes, 1, 1) == WHITE  # not tested
    assert [label.get_text() for label in axes.get_yticklabels()] == ["war", "peace"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["x", "y"]


def test_another_shape_is_told() -> None:
    with pytest.raises(InputError, match="1 groups by 2 nodes"):
        differences(["x"], ["a", "b"], [[1.0], [2.0]], [[1.0], [2.0]])
