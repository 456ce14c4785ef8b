"""What treemap and sunburst share: sizes within sizes, colours of trees, labels that fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.figures._matplotlib import drawing, new_figure, text_size
from wordforest.figures.regions import fitted, nested, tree_colors
from wordforest.figures.style import ink_on


@pytest.fixture(scope="module")
def axes() -> Any:
    with drawing():
        return new_figure(4, 4).add_subplot()


def test_children_are_scaled_to_fit_into_their_parent() -> None:
    shown = nested(Forest([-1, 0, 0, -1]), [0.4, 0.6, 0.2, 0.1], ["a", "b, c", "", "d"], None)
    np.testing.assert_allclose(shown.sizes, [0.4, 0.3, 0.1, 0.1])
    assert shown.labels[1] == ["b", "c"]
    assert shown.parts(-1) == [0, 3]
    assert nested(Forest([-1, 0]), [1, 1], ["", ""], 0).sizes.tolist() == [1, 0]


@pytest.mark.parametrize("sizes", [[0.0, 0.0], [-1.0, 0.0], [np.nan, 0.0], [1.0]])
def test_sizes_that_are_none_are_told(sizes: list[float]) -> None:
    with pytest.raises(InputError, match="expected"):
        nested(Forest([-1, 0]), sizes, ["a", "b"], None)


def test_a_tree_has_one_hue_that_is_lighter_the_deeper_and_text_can_be_read() -> None:
    forest = Forest.complete(20, (3, 3))
    colors = tree_colors(forest)
    assert colors.min() >= 0
    assert colors.max() <= 1
    light = colors @ [0.2126, 0.7152, 0.0722]
    for node, parent in enumerate(forest.parent):
        assert parent < 0 or light[node] > light[parent]
    roots = colors[forest.roots]
    apart = np.linalg.norm(roots[:, None] - roots, axis=2)[~np.eye(20, dtype=bool)]
    assert apart.min() > 0.02
    assert np.linalg.norm(np.diff(roots, axis=0), axis=1).min() > 0.25  # neighbours are far apart
    assert set(ink_on(roots)) == {"white"}


def test_only_words_that_fit_are_written(axes: Any) -> None:
    words = ["church", "bible", "faith"]
    with drawing():
        width, _ = text_size(axes, "church bible", 9)
        assert fitted(axes, words, (width + 0.02, 0.17), 9) == (["church bible"], 9)
        assert fitted(axes, words, (width + 0.02, 0.4), 9) == (["church bible", "faith"], 9)
        lines, size = fitted(axes, words, (0.75 * text_size(axes, "church", 9)[0], 0.17), 9)
        assert lines == ["church"]
        assert size == pytest.approx(6.75)
        assert fitted(axes, words, (0.1, 1.0), 9)[0] == []
        assert fitted(axes, words, (9.0, 0.05), 9)[0] == []
        assert fitted(axes, [], (9.0, 9.0), 9)[0] == []
