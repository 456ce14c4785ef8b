"""Panels fill a room without overlapping."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wordforest.coder.forest import Forest
from wordforest.figures.tree_layout import best_flow, flow, outline_nodes

SIZES = st.lists(st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)), min_size=1, max_size=20)


def test_an_outline_has_a_line_a_node_and_indents_children() -> None:
    places = outline_nodes(Forest([-1, 0, 1, 0]), 0)
    assert np.diff(places[:, 1]).tolist() == [-1, -1, -1]
    assert (np.argsort(places[:, 0], kind="stable") == [0, 1, 3, 2]).all()


@given(SIZES, st.floats(1, 30))
def test_panels_do_not_overlap_and_keep_to_the_width(sizes: list[tuple[float, float]], width: float) -> None:
    ((corners,), _, _) = flow([sizes], width)
    boxes = [(x, y, w, h) for (x, y), (w, h) in zip(corners, sizes, strict=True)]
    for i, (x, y, w, _) in enumerate(boxes):
        assert x == 0 or x + w <= width
        for left, top, wide, high in boxes[:i]:
            beside = x >= left + wide - 1e-9 or left >= x + w - 1e-9
            assert beside or y <= top - high + 1e-9


def test_each_group_begins_below_its_heading() -> None:
    flowed = flow([[(2, 1), (2, 3)], [(1, 1)]], 10.0, 0.5)
    assert flowed == ([[(0, -0.5), (2, -0.5)], [(0, -4)]], 4, 5)


@given(SIZES, st.floats(1, 20), st.floats(1, 20))
def test_the_best_flow_fits_its_room(sizes: list[tuple[float, float]], width: float, height: float) -> None:
    (_, w, h), scale = best_flow([sizes], 0.0, (width, height), 1.0)
    assert w * scale <= width * (1 + 1e-6)
    assert h * scale <= height * (1 + 1e-6)


def test_three_equal_panels_stand_in_a_row() -> None:
    (((first, *others),), _, _), _ = best_flow([[(9.0, 5.0)] * 3], 0.0, (12.0, 9.0), 0.33)
    assert all(y == first[1] for _, y in others)
