"""Sunbursts: angles, rings, labels inside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.figures.drawn import written
from wordforest.coder.forest import Forest
from wordforest.figures import sunburst

FOREST = Forest([-1, 0, 0, -1, -1])


@pytest.fixture(scope="module")
def figure() -> Any:
    labels = ["church faith", "bible", "prayer", "windows files drivers", "dust"]
    return sunburst(FOREST, [0.6, 0.3, 0.15, 0.399, 0.001], labels)


def test_angles_are_sizes_clockwise_from_the_top_and_children_outside_their_parent(figure: Any) -> None:
    church, bible, prayer, windows, dust = figure.axes[0].patches
    for wedge, turn in ((church, 0.6), (bible, 0.3), (prayer, 0.15), (windows, 0.399), (dust, 0.001)):
        assert wedge.theta2 - wedge.theta1 == pytest.approx(360 * turn)
    assert church.theta2 == 90
    assert bible.theta2 == 90
    assert prayer.theta2 == pytest.approx(bible.theta1)
    assert bible.r - bible.width == pytest.approx(church.r)
    assert windows.r == church.r


def test_labels_are_where_they_fit_and_read_from_left_to_right(figure: Any) -> None:
    texts = written(figure)
    assert texts[:3] == ["church faith", "bible", "prayer"]
    assert texts[3].split() == ["windows", "files", "drivers"]
    assert texts[4] == ""
    for text in figure.axes[0].texts:
        assert -90 <= ((text.get_rotation() + 180) % 360) - 180 <= 90


@pytest.mark.parametrize("trees", [3, 12, 48])
def test_every_label_stays_within_its_wedge(trees: int) -> None:
    forest = Forest.complete(trees, (3,))
    sizes = np.where(forest.parent < 0, 1.0, 1 / 3)
    figure = sunburst(forest, sizes.tolist(), ["church bible faith prayer"] * len(forest))
    figure.canvas.draw()
    axes = figure.axes[0]
    labelled = [pair for pair in zip(axes.texts, axes.patches, strict=True) if pair[0].get_text()]
    assert labelled
    for text, wedge in labelled:
        rotation = text.get_rotation()
        text.set_rotation(0)
        size = text.get_window_extent()
        half = np.array([size.width, size.height]) / 2 / figure.dpi
        turn = np.deg2rad(rotation)
        corners = np.array([[a * half[0], b * half[1]] for a in (-1, 1) for b in (-1, 1)])
        corners = (
            corners @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]]) + text.get_position()
        )
        radius = np.hypot(*corners.T)
        assert radius.max() < wedge.r
        assert radius.min() > wedge.r - wedge.width
        angles = (np.rad2deg(np.arctan2(corners[:, 1], corners[:, 0])) - wedge.theta1) % 360
        assert angles.max() < wedge.theta2 - wedge.theta1


def test_depth_ends_the_rings() -> None:
    assert len(sunburst(FOREST, [0.5, 0.2, 0.1, 0.3, 0.2], list("abcde"), depth=0).axes[0].patches) == 3
