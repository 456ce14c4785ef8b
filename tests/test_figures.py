"""Figures are checked by their pixels and by what they label."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from wordforest.coder.forest import Forest
from wordforest.errors import InputError, MissingExtraError
from wordforest.figures import ANIMALS, COUNTRIES, heatmap, present_words, trees
from wordforest.figures.colors import ink_on, rgb, symmetric_limit
from wordforest.figures.heatmap import column_order
from wordforest.figures.trees import place_nodes
from wordforest.vectors import Vectors

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

WHITE = [255, 255, 255]


@pytest.fixture
def two_words() -> Vectors:
    """Means over both words are 0, 2, -2 and 0.5e-6: the columns are shown in the order 2, 0, 3, 1."""
    rows = [[0, 1, -1, 1e-6], [0, 3, -3, 0]]
    return Vectors(["up", "down"], np.array(rows, dtype=np.float32))


@pytest.fixture
def forest_vectors() -> Vectors:
    seed = 0
    forest = Forest.complete(4)
    rows = np.random.default_rng(seed).standard_normal((10, len(forest)))
    rows[:, 5] = 0
    return Vectors(ANIMALS, rows.astype(np.float32), forest=forest)


def pixels(figure: Any) -> NDArray[np.uint8]:
    """Return the drawn figure, (height, width, 3)."""
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3]


def pixel(figure: Any, axes: Any, x: float, y: float) -> list[int]:
    """Return the colour at a point given in the data coordinates of the axes."""
    image = pixels(figure)
    column, row = axes.transData.transform((x, y))
    return [int(channel) for channel in image[image.shape[0] - 1 - int(row), int(column)]]


def is_red(color: list[int]) -> bool:
    return color[0] > color[1] and color[0] > color[2]


def is_blue(color: list[int]) -> bool:
    return color[2] > color[0] and color[2] > color[1]


class TestColors:
    def test_exact_zero_alone_is_white(self) -> None:
        colors = rgb([0.0, -0.0, 1e-30, -1e-30], limit=1.0)
        assert (colors == 1).all(axis=1).tolist() == [True, True, False, False]

    @pytest.mark.parametrize("value", [1e-12, -1e-12])
    def test_tiny_values_are_visibly_tinted(self, value: float) -> None:
        assert rgb(value, limit=1.0).min() < 0.85

    @pytest.mark.parametrize("sign", [1, -1])
    def test_more_extreme_is_darker(self, sign: int) -> None:
        brightness = rgb(sign * np.linspace(0, 1, 101), limit=1.0).mean(axis=1)
        assert (np.diff(brightness) < 0).all()

    def test_values_beyond_the_limit_take_its_colour(self) -> None:
        np.testing.assert_array_equal(rgb(5.0, limit=1.0), rgb(1.0, limit=1.0))

    def test_limit_of_zeros_is_one(self) -> None:
        assert symmetric_limit(np.zeros(3)) == 1.0

    def test_text_is_light_on_dark_and_dark_on_light(self) -> None:
        light, dark = ink_on(rgb([0.0, 1.0], limit=1.0))
        assert (light, dark) == ("#222222", "white")


class TestHeatmap:
    def test_columns_run_from_most_negative_to_most_positive(self, two_words: Vectors) -> None:
        assert column_order(two_words.dense.astype(float)).tolist() == [2, 0, 3, 1]

    def test_axis_carries_the_original_index(self, two_words: Vectors) -> None:
        axes = heatmap(two_words, ["up", "down"]).axes[0]
        assert [label.get_text() for label in axes.get_xticklabels()] == ["2", "0", "3", "1"]

    def test_rows_carry_the_words_that_have_vectors(self, two_words: Vectors) -> None:
        axes = heatmap(two_words, ["down", "sideways", "up"]).axes[0]
        assert [label.get_text() for label in axes.get_yticklabels()] == ["down", "up"]

    def test_exact_zero_is_white_on_the_page(self, two_words: Vectors) -> None:
        figure = heatmap(two_words, ["up", "down"])
        assert pixel(figure, figure.axes[0], 1, 0) == WHITE
        assert pixel(figure, figure.axes[0], 2, 1) == WHITE

    def test_tiny_positive_is_blue_on_the_page(self, two_words: Vectors) -> None:
        figure = heatmap(two_words, ["up", "down"])
        assert is_blue(pixel(figure, figure.axes[0], 2, 0))

    @pytest.mark.parametrize("row", [0, 1])
    def test_negative_is_red_and_positive_is_blue_on_the_page(self, two_words: Vectors, row: int) -> None:
        figure = heatmap(two_words, ["up", "down"])
        assert is_red(pixel(figure, figure.axes[0], 0, row))
        assert is_blue(pixel(figure, figure.axes[0], 3, row))

    def test_many_dimensions_get_thinned_labels(self) -> None:
        vectors = Vectors(["word"], np.arange(520, dtype=np.float32)[None])
        labels = [label.get_text() for label in heatmap(vectors, ["word"]).axes[0].get_xticklabels()]
        assert labels == [str(i) for i in range(0, 520, 7)]

    def test_all_zero_vectors_draw_white(self) -> None:
        figure = heatmap(Vectors(["word"], np.zeros((1, 3), dtype=np.float32)), ["word"])
        assert pixel(figure, figure.axes[0], 1, 0) == WHITE

    def test_title_is_shown(self, two_words: Vectors) -> None:
        assert heatmap(two_words, ["up"], title="directions").axes[0].get_title(loc="left") == "directions"

    def test_limit_must_be_positive(self, two_words: Vectors) -> None:
        with pytest.raises(InputError, match=r"limit = 0\.0, but"):
            heatmap(two_words, ["up"], limit=0.0)

    def test_no_word_left_is_an_input_error_that_names_them(self, two_words: Vectors) -> None:
        with pytest.raises(InputError, match="found none for: left, right"):
            heatmap(two_words, ["left", "right"])

    def test_empty_list_is_an_input_error(self, two_words: Vectors) -> None:
        with pytest.raises(InputError, match="the list is empty"):
            heatmap(two_words, [])

    @pytest.mark.parametrize("form", ["png", "svg", "pdf"])
    def test_saves_in_every_form(self, two_words: Vectors, tmp_path: Any, form: str) -> None:
        heatmap(two_words, ["up"]).savefig(tmp_path / f"figure.{form}")
        assert (tmp_path / f"figure.{form}").stat().st_size > 0


class TestTrees:
    def test_parents_stand_amid_children_and_above_them(self) -> None:
        places = place_nodes(Forest([-1, 0, 1, 1, 0]), 0)
        assert places[:, 0].tolist() == [0.25, -0.5, -1.0, 0.0, 1.0]
        assert (np.argsort(-places[:, 1], kind="stable") == [0, 1, 4, 2, 3]).all()

    def test_a_later_tree_has_the_layout_of_the_first(self) -> None:
        forest = Forest.complete(3)
        np.testing.assert_array_equal(place_nodes(forest, 0), place_nodes(forest, 26))

    def test_one_panel_per_word(self, forest_vectors: Vectors) -> None:
        figure = trees(forest_vectors, ["animal", "horse", "elephant"], tree=1)
        assert [axes.get_title() for axes in figure.axes[:-1]] == [
            "animal, tree 1",
            "horse, tree 1",
            "elephant, tree 1",
        ]

    def test_all_trees_give_a_panel_each(self, forest_vectors: Vectors) -> None:
        figure = trees(forest_vectors, ["horse", "dog"], tree=None)
        titles = [axes.get_title() for axes in figure.axes[:-1]]
        assert titles == [f"{word}, tree {tree}" for word in ("horse", "dog") for tree in range(4)]

    def test_nodes_carry_their_dimension(self, forest_vectors: Vectors) -> None:
        axes = trees(forest_vectors, ["horse"], tree=2).axes[0]
        assert [text.get_text() for text in axes.texts] == [str(node) for node in range(26, 39)]

    @pytest.mark.parametrize("tree", [0, 2])
    def test_nodes_have_the_colour_of_their_coefficient(self, forest_vectors: Vectors, tree: int) -> None:
        figure = trees(forest_vectors, ["horse"], tree=tree)
        above_number = 0.32
        places = place_nodes(Forest.complete(4), 13 * tree)
        colors = [pixel(figure, figure.axes[0], x, y + above_number) for x, y in places]
        seen = [0 if color == WHITE else 1 if is_blue(color) else -1 for color in colors]
        assert seen == np.sign(forest_vectors["horse"][13 * tree : 13 * (tree + 1)]).tolist()

    def test_the_scale_is_shared_by_all_panels(self) -> None:
        vectors = Vectors(["weak", "strong"], np.array([[1], [9]], dtype=np.float32), forest=Forest.flat(1))
        weak, strong, _ = trees(vectors, ["weak", "strong"]).axes
        assert weak.collections[1].get_facecolor().mean() > strong.collections[1].get_facecolor().mean()

    def test_trees_of_different_shapes_fit_one_figure(self) -> None:
        forest = Forest([-1, 0, 0, -1, -1, 4, 5])
        vectors = Vectors(["word"], np.arange(7, dtype=np.float32)[None], forest=forest)
        assert len(trees(vectors, ["word"], tree=None).axes) == 4

    def test_vectors_without_a_forest_are_an_input_error(self, two_words: Vectors) -> None:
        with pytest.raises(InputError, match="these have none"):
            trees(two_words, ["up"])

    @pytest.mark.parametrize("tree", [-1, 4])
    def test_absent_tree_is_an_input_error(self, forest_vectors: Vectors, tree: int) -> None:
        with pytest.raises(InputError, match=rf"tree = {tree}, but the trees are 0 to 3"):
            trees(forest_vectors, ["horse"], tree=tree)

    def test_too_many_panels_are_an_input_error(self) -> None:
        vectors = Vectors(["word"], np.ones((1, 401), dtype=np.float32), forest=Forest.flat(401))
        with pytest.raises(InputError, match="at most 400 panels, but 1 words x 401 trees"):
            trees(vectors, ["word"], tree=None)

    def test_no_word_left_is_an_input_error(self, forest_vectors: Vectors) -> None:
        with pytest.raises(InputError, match="found none for: unicorn"):
            trees(forest_vectors, ["unicorn"])


class TestWords:
    def test_present_and_missing_words_keep_their_order(self, two_words: Vectors) -> None:
        assert present_words(two_words, ["left", "down", "right", "up"]) == (
            ["down", "up"],
            ["left", "right"],
        )

    @pytest.mark.parametrize("words", [ANIMALS, COUNTRIES])
    def test_lists_have_ten_different_words(self, words: tuple[str, ...]) -> None:
        assert len(set(words)) == len(words) == 10


class TestMatplotlib:
    def test_absent_package_names_the_extra(self, two_words: Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        with pytest.raises(MissingExtraError, match=r"drawing needs .*wordforest\[figures\]"):
            heatmap(two_words, ["up"])

    def test_importing_figures_does_not_import_matplotlib(self) -> None:
        code = "import sys, wordforest.figures; sys.exit('matplotlib' in sys.modules)"
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_pyplot_is_never_loaded(self) -> None:
        code = """
import sys
import wordforest.figures, wordforest.vectors
wordforest.figures.heatmap(wordforest.vectors.Vectors(["word"], [[1.0, 2.0]]), ["word"])
sys.exit("matplotlib.pyplot" in sys.modules)
"""
        subprocess.run([sys.executable, "-c", code], check=True)
