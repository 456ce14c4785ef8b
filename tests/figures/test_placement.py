"""Labels stand beside their points and off each other."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from wordforest.figures.placement import place_labels


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_labels_with_room_hide_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = np.stack(np.meshgrid(np.arange(4), np.arange(5)), axis=-1).reshape(-1, 2)
    points = (cells + 0.5 + rng.uniform(-0.1, 0.1, cells.shape)) * [110, 45]
    sizes = np.stack([rng.uniform(10, 60, len(points)), np.full(len(points), 10.0)], axis=1)
    placed = place_labels(points, sizes, (440.0, 225.0), 2.0)
    low, high = placed.centres - sizes / 2, placed.centres + sizes / 2
    assert placed.free.all()
    assert not placed.led.any()
    assert (low >= 0).all()
    assert (high <= [440, 225]).all()
    apart = (low[:, None] >= high - 1e-9).any(axis=2) | (low >= high[:, None] - 1e-9).any(axis=2)
    assert (apart | np.eye(len(points), dtype=bool)).all()


def test_a_label_makes_way_for_its_neighbour() -> None:
    points = np.array([[100.0, 50.0], [130.0, 50.0], [115.0, 54.0]])  # to the right of each is no room for all
    placed = place_labels(points, np.full((3, 2), [50.0, 10.0]), (300.0, 100.0), 2.0)
    assert placed.free.all()


def test_labels_that_remain_never_overlap() -> None:
    points = np.random.default_rng(9).uniform(40, 60, (60, 2))  # all in one crowd
    sizes = np.full((60, 2), [50.0, 10.0])
    placed = place_labels(points, sizes, (300.0, 200.0), 2.0)
    centres = placed.centres[placed.free]
    apart = (np.abs(centres[:, None] - centres) >= np.array([50, 10]) - 0.5).any(axis=2)
    assert (apart | np.eye(len(centres), dtype=bool)).all()
    assert 0 < placed.free.sum() < 60
