"""Trees of words, by their circles and texts."""

from __future__ import annotations

import numpy as np
import pytest

from tests.figures.drawn import (
    WHITE,
    circles,
    is_blue,
    pixels,
    two_words,
    written,
)
from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.figures import (
    WORD_LISTS,
    trees,
)
from wordforest.figures.tree_layout import place_nodes
from wordforest.vectors import Vectors


@pytest.fixture(name="two_words")
def two_words_fixture() -> Vectors:
    return two_words()


@pytest.fixture
def forest_vectors() -> Vectors:
    seed = 0
    forest = Forest.complete(4)
    rows = np.random.default_rng(seed).standard_normal((10, len(forest)))
    rows[:, 5] = 0
    return Vectors(WORD_LISTS["animals"]["animals"], rows.astype(np.float32), forest=forest)


def test_parents_stand_amid_children_and_above_them() -> None:
    places = place_nodes(Forest([-1, 0, 1, 1, 0]), 0)
    assert places[:, 0].tolist() == [0.25, -0.5, -1.0, 0.0, 1.0]
    assert (np.argsort(-places[:, 1], kind="stable") == [0, 1, 4, 2, 3]).all()


def test_a_later_tree_has_the_layout_of_the_first() -> None:
    forest = Forest.complete(3)
    np.testing.assert_array_equal(place_nodes(forest, 0), place_nodes(forest, 26))


def test_one_tree_per_word(forest_vectors: Vectors) -> None:
    titles = [t for t in written(trees(forest_vectors, ["animal", "horse"], tree=1)) if not t.isdecimal()]
    assert titles == ["animal, tree 1", "horse, tree 1"]


def test_without_a_number_every_word_has_the_tree_of_which_it_has_most() -> None:
    vectors = Vectors(["one", "other", "nothing"], [[3, 3, 4], [2, 1, 1], [0, 0, 0]], forest=Forest([-1, 0, -1]))
    titles = [t for t in written(trees(vectors, ["one", "other", "nothing"])) if not t.isdecimal()]
    assert titles == ["one, tree 1", "other, tree 0", "nothing, tree 0"]  # additive: one has 3 of the first tree, not 6


def test_the_line_to_a_zero_is_faint_only_where_nothing_below_is_used() -> None:
    vectors = Vectors(["word"], [[1.0, 0.0, 2.0, 0.0]], forest=Forest([-1, 0, 1, 0]))
    lines = trees(vectors, ["word"]).axes[0].collections[0]
    between, used, unused = lines.get_colors()[:, 0]
    assert between == used < unused


def test_all_trees_stand_under_their_word(forest_vectors: Vectors) -> None:
    figure = trees(forest_vectors, ["horse", "dog"], tree="all")
    titles = [text for text in figure.axes[0].texts if not text.get_text().isdecimal()]
    height = {word: t.get_position()[1] for t in titles if (word := t.get_text()) in ("horse", "dog")}
    heights = [text.get_position()[1] for text in titles if text.get_text().startswith("tree")]
    assert len(heights) == 8
    assert all(height["dog"] < y < height["horse"] for y in heights[:4])
    assert all(y < height["dog"] for y in heights[4:])


def test_nodes_carry_their_dimension(forest_vectors: Vectors) -> None:
    numbers = [text for text in written(trees(forest_vectors, ["horse"], tree=2)) if text.isdecimal()]
    assert numbers == [str(node) for node in range(26, 39)]


@pytest.mark.parametrize("tree", [0, 2, "all"])
def test_nodes_have_the_colour_of_their_coefficient(forest_vectors: Vectors, tree: int | str) -> None:
    figure = trees(forest_vectors, ["horse"], tree=tree)
    shown = slice(None) if tree == "all" else slice(13 * tree, 13 * (tree + 1))
    centres, _ = circles(figure)
    above_number = 0.32
    image = pixels(figure)
    at = figure.axes[0].transData.transform(centres + np.array([0, above_number])).astype(int)
    colors = image[image.shape[0] - 1 - at[:, 1], at[:, 0]].tolist()
    seen = [0 if color == WHITE else 1 if is_blue(color) else -1 for color in colors]
    assert seen == np.sign(forest_vectors["horse"][shown]).tolist()


def test_the_scale_is_shared_by_all_trees() -> None:
    vectors = Vectors(["weak", "strong"], np.array([[1], [9]], dtype=np.float32), forest=Forest.flat(1))
    _, (weak, strong) = circles(trees(vectors, ["weak", "strong"]))
    assert weak.mean() > strong.mean()


def test_forty_trees_fit_without_touching() -> None:
    forest = Forest.complete(40)
    vectors = Vectors(["word"], np.ones((1, 520), dtype=np.float32), forest=forest)
    figure = trees(vectors, ["word"], tree="all")
    centres, _ = circles(figure)
    distance = np.linalg.norm(centres[:, None] - centres, axis=2) + 9 * np.eye(520)
    assert distance.min() >= 2 * 0.42
    assert max(figure.get_size_inches()) <= 13


def test_trees_of_different_shapes_fit_one_figure() -> None:
    forest = Forest([-1, 0, 0, -1, -1, 4, 5])
    vectors = Vectors(["word"], np.arange(7, dtype=np.float32)[None], forest=forest)
    centres, _ = circles(trees(vectors, ["word"], tree="all"))
    assert len({tuple(np.round(place, 6)) for place in centres}) == 7


def test_labels_stand_beside_their_nodes_and_are_grey_at_zeros() -> None:
    vectors = Vectors(["word"], [[1.0, 0.0, 2.0]], forest=Forest([-1, 0, 0]))
    figure = trees(vectors, ["word"], labels=[("sport", "team"), ("ball",), ()])
    texts = {text.get_text(): text for text in figure.axes[0].texts}
    centres, _ = circles(figure)
    assert texts["sport, team"].get_position()[1] == pytest.approx(centres[0, 1])
    assert texts["ball"].get_position()[0] > centres[1, 0]
    assert (texts["sport, team"].get_color(), texts["ball"].get_color()) == ("#222222", "#8c8c8c")


def test_labels_of_another_forest_are_an_input_error(forest_vectors: Vectors) -> None:
    with pytest.raises(InputError, match="each of the 52 nodes, but 1 came"):
        trees(forest_vectors, ["horse"], labels=[("word",)])


def test_vectors_without_a_forest_are_an_input_error(two_words: Vectors) -> None:
    with pytest.raises(InputError, match="these have none"):
        trees(two_words, ["up"])


@pytest.mark.parametrize("tree", [-1, 4])
def test_absent_tree_is_an_input_error(forest_vectors: Vectors, tree: int) -> None:
    with pytest.raises(InputError, match=rf"tree = {tree}, but the trees are 0 to 3"):
        trees(forest_vectors, ["horse"], tree=tree)


def test_too_many_nodes_are_an_input_error() -> None:
    vectors = Vectors(["word"], np.ones((1, 12001), dtype=np.float32), forest=Forest.flat(12001))
    with pytest.raises(InputError, match="at most 12000 nodes, but the trees of 1 words have 12001"):
        trees(vectors, ["word"], tree="all")


def test_no_word_left_is_an_input_error(forest_vectors: Vectors) -> None:
    with pytest.raises(InputError, match="found none for: unicorn"):
        trees(forest_vectors, ["unicorn"])
