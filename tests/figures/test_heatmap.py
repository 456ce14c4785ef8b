"""Heatmaps, by their pixels and by what they label."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.figures.drawn import (
    WHITE,
    is_blue,
    is_red,
    pixel,
    two_words,
)
from wordforest.errors import InputError
from wordforest.figures import (
    PRINT,
    Style,
    heatmap,
)
from wordforest.figures.heatmap import columns_shown
from wordforest.vectors import Vectors


@pytest.fixture(name="two_words")
def two_words_fixture() -> Vectors:
    return two_words()


@pytest.fixture(scope="module")
def figure() -> Any:
    """The heatmap of up and down."""
    return heatmap(two_words(), ["up", "down"])


def test_columns_run_from_most_negative_to_most_positive(two_words: Vectors) -> None:
    assert columns_shown(two_words.dense.astype(float), room=9).tolist() == [2, 3, 1]  # none uses 0


def test_of_more_columns_than_find_room_the_strongest_are_shown() -> None:
    A = np.array([[1.0, -3.0, 0.0, 2.0], [1.0, -3.0, 0.0, 2.0]])
    assert columns_shown(A, room=2).tolist() == [1, 3]
    assert columns_shown(0 * A, room=9).tolist() == [0, 1, 2, 3]


def test_axis_carries_the_original_index_and_tells_what_is_not_used(figure: Any) -> None:
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "3", "1"]
    assert axes.get_xlabel() == "dimension (1 not used), from lowest to highest mean"


def test_labels_name_the_columns(two_words: Vectors) -> None:
    labels = [("never",), ("up", "high"), ("down",), ()]
    axes = heatmap(two_words, ["up", "down"], labels=labels).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["2 down", "3", "1 up high"]


def test_names_find_room_below_the_columns() -> None:
    vectors = Vectors(["word"], 1 + np.arange(200, dtype=np.float32)[None])
    figure = heatmap(vectors, ["word"], labels=[("antidisestablishment", "arianism")] * 200)
    figure.canvas.draw()
    names = figure.axes[0].get_xticklabels()
    boxes = [name.get_window_extent() for name in names]
    assert all(a.x1 < b.x0 for a, b in pairwise(boxes))
    assert min(box.y0 for box in boxes) > 0
    bar = figure.axes[-1].yaxis.label.get_window_extent()
    assert 0 < bar.y0 < bar.y1 < figure.bbox.height
    assert names[-1].get_text().startswith("199 ")  # the strongest
    assert f"the strongest {len(names)} of 200" in figure.axes[0].get_xlabel()


def test_labels_of_another_forest_are_an_input_error(two_words: Vectors) -> None:
    with pytest.raises(InputError, match="each of the 4 nodes, but 1 came"):
        heatmap(two_words, ["up"], labels=[("word",)])


def test_rows_carry_the_words_that_have_vectors(two_words: Vectors) -> None:
    axes = heatmap(two_words, ["down", "sideways", "up"]).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["down", "up"]


def test_exact_zero_is_white_on_the_page(figure: Any) -> None:
    assert pixel(figure, figure.axes[0], 1, 1) == WHITE


def test_tiny_positive_is_blue_on_the_page(figure: Any) -> None:
    assert is_blue(pixel(figure, figure.axes[0], 1, 0))


@pytest.mark.parametrize("row", [0, 1])
def test_negative_is_red_and_positive_is_blue_on_the_page(figure: Any, row: int) -> None:
    assert is_red(pixel(figure, figure.axes[0], 0, row))
    assert is_blue(pixel(figure, figure.axes[0], 2, row))


def test_many_dimensions_get_thinned_labels() -> None:
    vectors = Vectors(["word"], np.arange(520, dtype=np.float32)[None])
    labels = [label.get_text() for label in heatmap(vectors, ["word"]).axes[0].get_xticklabels()]
    steps = np.diff([int(label) for label in labels])
    assert set(steps) == {steps[0]}
    assert 60 < len(labels) < 120


def test_a_narrow_figure_has_fewer_labels() -> None:
    vectors = Vectors(["word"], np.arange(520, dtype=np.float32)[None])
    wide, narrow = (heatmap(vectors, ["word"], style=Style(width=w)).axes[0].get_xticklabels() for w in (12, 4))
    assert len(narrow) < len(wide) / 2


@pytest.mark.parametrize("style", [Style(), PRINT])
def test_labels_of_the_papers_size_do_not_touch(style: Style) -> None:
    vectors = Vectors(["word"], 1 + np.arange(52, dtype=np.float32)[None])
    figure = heatmap(vectors, ["word"], style=style)
    figure.canvas.draw()
    boxes = [label.get_window_extent() for label in figure.axes[0].get_xticklabels()]
    assert len(boxes) == 52
    assert all(a.x1 < b.x0 for a, b in pairwise(boxes))


def test_each_block_has_its_own_order_and_title(two_words: Vectors) -> None:
    figure = heatmap(two_words, {"first": ["up", "down"], "second": ["other"]})
    labels = [[label.get_text() for label in axes.get_xticklabels()] for axes in figure.axes[:2]]
    assert labels == [["2", "3", "1"], ["1", "2", "3"]]
    assert [axes.get_title(loc="left") for axes in figure.axes[:2]] == ["first", "second"]


def test_blocks_share_one_scale() -> None:
    vectors = Vectors(["weak", "strong"], np.array([[1], [9]], dtype=np.float32))
    figure = heatmap(vectors, {"a": ["weak"], "b": ["strong"]})
    weak, strong = (sum(pixel(figure, axes, 0.2, 0)) for axes in figure.axes[:2])
    assert weak > strong


@pytest.mark.parametrize(("row", "ends"), [([1.0, 2.0], (0, 2)), ([-1.0, 2.0], (-2, 2))])
def test_the_scale_has_a_negative_half_only_where_values_are_negative(row: list[float], ends: tuple[int, int]) -> None:
    bar = heatmap(Vectors(["word"], [row]), ["word"]).axes[-1]
    assert bar.get_ylim() == ends


def test_lines_between_cells_are_not_white() -> None:
    figure = heatmap(Vectors(["a", "b"], np.zeros((2, 3), dtype=np.float32)), ["a", "b"])
    around = [pixel(figure, figure.axes[0], 1, 0.5 + d) for d in np.linspace(-0.05, 0.05, 9)]
    assert any(color != WHITE for color in around)


def test_a_word_given_twice_is_drawn_once(two_words: Vectors) -> None:
    axes = heatmap(two_words, ["up", "up"]).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["up"]


def test_all_zero_vectors_draw_white() -> None:
    figure = heatmap(Vectors(["word"], np.zeros((1, 3), dtype=np.float32)), ["word"])
    assert pixel(figure, figure.axes[0], 1, 0) == WHITE


def test_limit_must_be_positive(two_words: Vectors) -> None:
    with pytest.raises(InputError, match=r"limit = 0\.0, but"):
        heatmap(two_words, ["up"], limit=0.0)


def test_no_word_left_is_an_input_error_that_names_them(two_words: Vectors) -> None:
    with pytest.raises(InputError, match="found none for: left, right"):
        heatmap(two_words, ["left", "right"])


def test_empty_list_is_an_input_error(two_words: Vectors) -> None:
    with pytest.raises(InputError, match="the list is empty"):
        heatmap(two_words, [])
