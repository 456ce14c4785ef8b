"""Slices compared: curves with bands and changes, dots with intervals, and which nodes are drawn."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.figures.drawn import pixels
from wordforest.errors import InputError
from wordforest.figures import compared

PARENT = [-1, 0, 0, -1, -1]


def made(slices: list[Any], share: Any, *, is_time: bool, changes: list[tuple[int, Any, float, float]] = ()) -> Any:
    """A comparison of five nodes, (M, S) shares; log odds are those of shares, sure where they are beyond a half."""
    share = np.asarray(share, dtype=float)
    M, S = share.shape
    log_odds = np.log(share / share.mean(axis=1, keepdims=True))
    nodes = {
        "node": np.repeat(np.arange(M), S).tolist(),
        "label": [f"label of {node}" for node in range(M) for _ in range(S)],
        "parent": np.repeat(PARENT[:M], S).tolist(),
        "slice": slices * M,
        **{"share": share.ravel().tolist(), "low": (share / 2).ravel().tolist(), "high": (2 * share).ravel().tolist()},
        **{"log_odds": log_odds.ravel().tolist(), "q": np.where(abs(log_odds) > 0.5, 0.01, 0.5).ravel().tolist()},
        "log_low": (log_odds - 0.1).ravel().tolist(),
        "log_high": (log_odds + 0.1).ravel().tolist(),
    }
    table = (
        dict(zip(("node", "slice", "before", "after"), zip(*changes, strict=True), strict=True))
        if changes
        else {name: [] for name in ("node", "slice", "before", "after")}
    )
    return SimpleNamespace(slices=tuple(slices), is_time=is_time, tables={"nodes": nodes, "changes": table})


YEARS = [1990, 2000, 2010, 2020]
SHARES = [[0.3, 0.3, 0.3, 0.3], [0.1, 0.1, 0.2, 0.2], [0.2] * 4, [0.05, 0.05, 0.05, 0.1], [0.1, 0.2, 0.1, 0.2]]
CHANGES = [(0, 2010, 0.3, 0.29), (1, 2010, 0.1, 0.2), (3, 2020, 0.05, 0.1), (3, 2000, 0.05, 0.01)]


def titles(figure: Any) -> list[str]:
    return [axes.get_title(loc="left") for axes in figure.axes]


def test_curves_are_those_of_nodes_that_change_most_and_never_of_one_within_another() -> None:
    figure = compared(made(YEARS, SHARES, is_time=True, changes=CHANGES))
    assert titles(figure) == ["3 label of 3", "1 label of 1", "4 label of 4", "2 label of 2"]  # 0 is above 1 and 2
    curve = figure.axes[1].lines[0]
    assert curve.get_xdata().tolist() == YEARS
    assert curve.get_ydata().tolist() == SHARES[1]
    band = figure.axes[1].collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == pytest.approx((0.05, 0.4))
    assert len(compared(made(YEARS, SHARES, is_time=True, changes=CHANGES), nodes=2).axes) == 2


def test_a_change_stands_between_two_slices_and_is_named_by_the_second() -> None:
    axes = compared(made(YEARS, SHARES, is_time=True, changes=CHANGES)).axes[0]
    assert [text.get_text() for text in axes.texts] == ["▼2000", "▲2020"]
    assert [line.get_xdata()[0] for line in axes.lines[1:]] == [1995, 2015]


def test_names_of_changes_that_are_near_do_not_touch() -> None:
    years = [*range(1900, 2000, 4)]
    shares = np.tile(np.linspace(0.1, 0.2, len(years)), (1, 1))
    changes = [(0, year, 0.1, 0.2) for year in years[5:10]]
    figure = compared(made(years, shares, is_time=True, changes=changes))
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert len(boxes) == 5
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])


def test_dots_have_intervals_and_are_hollow_where_a_difference_is_not_sure() -> None:
    shares = [[0.1, 0.3, 0.2], [0.2, 0.2, 0.2], [0.1, 0.1, 0.7]]
    figure = compared(made(["x", "y", "z"], shares, is_time=False))
    assert [axes.get_title() for axes in figure.axes] == [f"{name} against the others" for name in "xyz"]
    first = figure.axes[0]
    assert [label.get_text() for label in first.get_yticklabels()] == ["2 label of 2", "0 label of 0", "1 label of 1"]
    dots = first.collections[1]
    assert dots.get_offsets()[:, 0].tolist() == pytest.approx(np.log([1 / 3, 1 / 2, 1]).tolist())
    faces = dots.get_facecolor()
    assert (faces[:2, :3] != 1).any(axis=1).all()
    assert faces[2, :3].tolist() == [1, 1, 1]
    ends = [path.vertices[:, 0] for path in first.collections[0].get_paths()]
    assert ends[2].tolist() == pytest.approx([-0.1, 0.1])


def test_of_two_slices_one_side_is_drawn_from_one_end_to_the_other() -> None:
    figure = compared(made(["x", "y"], [[0.1, 0.3], [0.3, 0.1], [0.2, 0.2]], is_time=False))
    assert [axes.get_title() for axes in figure.axes] == ["y against x"]
    drawn = figure.axes[0].collections[1].get_offsets()[:, 0]
    assert drawn.tolist() == sorted(drawn)


def test_many_slices_become_a_table_of_colours() -> None:
    shares = [[0.1] * 7 + [0.5], [0.5] * 7 + [0.1]]
    axes = compared(made([f"s{i}" for i in range(8)], shares, is_time=False)).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == [f"s{i}" for i in range(8)]


def test_a_node_without_an_interval_or_a_share_is_drawn() -> None:
    found = made(YEARS, SHARES, is_time=True, changes=CHANGES)
    nodes = found.tables["nodes"]
    nodes["low"] = nodes["high"] = [None] * len(nodes["node"])
    nodes["share"][12:16] = [None] * 4
    assert pixels(compared(found)).shape[2] == 3


def test_nothing_to_draw_is_told() -> None:
    with pytest.raises(InputError, match="with nodes"):
        compared(made(YEARS, np.zeros((0, 4)), is_time=True))
