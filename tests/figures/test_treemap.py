"""Treemaps: areas, boxes within boxes, labels inside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.figures.drawn import written
from wordforest.coder.forest import Forest
from wordforest.figures import treemap
from wordforest.figures.treemap import Box, squarified


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=30), st.floats(0.5, 20), st.floats(0.5, 20))
def test_boxes_fill_the_whole_by_their_sizes(sizes: list[float], w: float, h: float) -> None:
    sizes = sorted(sizes, reverse=True)
    boxes = squarified(sizes, Box(1, 2, w, h))
    areas = np.array([box.w * box.h for box in boxes])
    np.testing.assert_allclose(areas, np.array(sizes) / sum(sizes) * w * h, rtol=1e-6)
    for box in boxes:
        assert box.x >= 1 - 1e-6
        assert box.x + box.w <= 1 + w + 1e-6
        assert box.y >= 2 - 1e-6
        assert box.y + box.h <= 2 + h + 1e-6


def test_the_papers_example_is_laid_out_as_in_the_paper() -> None:
    """Bruls, Huizing and van Wijk 2000, figure 4: 6, 6, 4, 3, 2, 2, 1 in a rectangle of 6 by 4."""
    boxes = squarified([6, 6, 4, 3, 2, 2, 1], Box(0, 0, 6, 4))
    np.testing.assert_allclose(boxes[:2], [(0, 0, 3, 2), (0, 2, 3, 2)])
    ratios = [max(box.w / box.h, box.h / box.w) for box in boxes]
    assert max(ratios) < 3
    np.testing.assert_allclose(boxes[2:4], [(3, 0, 12 / 7, 7 / 3), (3 + 12 / 7, 0, 9 / 7, 7 / 3)])


@pytest.fixture(scope="module")
def figure() -> Any:
    forest = Forest([-1, 0, 0, -1, -1])
    return treemap(forest, [0.6, 0.4, 0.1, 0.4, 0.0001], ["church faith", "bible", "prayer", "windows " * 40, "dust"])


def boxes(figure: Any) -> list[Any]:
    return [patch.get_bbox() for patch in figure.axes[0].patches]


def test_children_lie_within_their_parent_and_roots_beside_each_other(figure: Any) -> None:
    church, bible, prayer, windows, *_ = boxes(figure)
    for inner in (bible, prayer):
        assert church.x0 < inner.x0
        assert inner.x1 < church.x1
        assert church.y0 < inner.y0
        assert inner.y1 < church.y1
    assert church.width * church.height == pytest.approx(1.5 * windows.width * windows.height)
    assert bible.width * bible.height == pytest.approx(4 * prayer.width * prayer.height)


def test_labels_stay_within_their_boxes_and_tiny_boxes_have_none(figure: Any) -> None:
    figure.canvas.draw()
    axes = figure.axes[0]
    assert "dust" not in written(figure)
    for text, patch in zip(axes.texts, axes.patches, strict=True):
        if text.get_text():
            extent, box = text.get_window_extent(), patch.get_window_extent()
            assert box.x0 <= extent.x0
            assert extent.x1 <= box.x1
            assert box.y0 <= extent.y0
            assert extent.y1 <= box.y1


def test_depth_ends_the_boxes() -> None:
    assert len(boxes(treemap(Forest([-1, 0, 1]), [1, 1, 1], ["a", "b", "c"], depth=1))) == 2
