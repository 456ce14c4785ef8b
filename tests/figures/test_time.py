"""Curves over time: gaps, bands, names off each other."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from wordforest.errors import InputError
from wordforest.figures import over_time


def test_a_bin_without_documents_is_a_gap() -> None:
    share = np.array([[0.1], [0.2], [np.nan], [0.3], [0.1]])
    figure = over_time([1990, 1991, 1992, 1993, 1994], share, share - 0.05, share + 0.05, ["war"])
    axes = figure.axes[0]
    drawn = axes.lines[0].get_ydata()
    assert np.isnan(drawn[2])
    assert len(axes.collections[0].get_paths()) == 2  # a band before and one after
    assert axes.get_ylim()[0] == 0
    assert axes.get_ylim()[1] > 0.35


def test_dates_are_drawn_as_dates() -> None:
    share = np.array([[0.1], [0.2]])
    axes = over_time(["1990-05", "1990-11"], share, share, share, ["war"]).axes[0]
    axes.figure.canvas.draw()
    assert any("1990" in text.get_text() for text in [*axes.get_xticklabels(), axes.xaxis.get_offset_text()])


def test_names_of_curves_that_end_together_do_not_touch_and_stay_on_the_page() -> None:
    share = np.full((3, 8), 0.2) + np.linspace(0, 1e-3, 8)
    figure = over_time([1, 2, 3], share, share, share, [f"node {k} {'word ' * 9}" for k in range(8)])
    figure.canvas.draw()
    boxes = sorted((text.get_window_extent() for text in figure.axes[0].texts), key=lambda box: box.y0)
    assert all(a.y1 <= b.y0 + 1 for a, b in pairwise(boxes))
    assert all(box.x1 <= figure.bbox.width for box in boxes)
    assert max(text.xy[1] for text in figure.axes[0].texts) <= figure.axes[0].get_ylim()[1]
    heights = [text.get_window_extent().y0 for text in figure.axes[0].texts]
    assert heights == sorted(heights)  # in the order of the curves


def test_more_curves_than_colours_and_other_shapes_are_told() -> None:
    share = np.zeros((2, 9))
    with pytest.raises(InputError, match="1 to 8 nodes, but 9 came"):
        over_time([1, 2], share, share, share, ["x"] * 9)
    with pytest.raises(InputError, match="3 times by 1 nodes"):
        over_time([1, 2, 3], share, share, share, ["x"])
