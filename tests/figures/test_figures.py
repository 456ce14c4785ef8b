"""Figures are checked by their pixels and by what they label."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from typer.testing import CliRunner

import wordforest.cli.draw
from wordforest import store
from wordforest.cli.base import app
from wordforest.coder.forest import Forest
from wordforest.errors import InputError, MissingExtraError
from wordforest.figures import (
    COLORBLIND,
    PAPER,
    PRINT,
    WORD_LISTS,
    Look,
    Palette,
    curve,
    heatmap,
    heatmap_blocks,
    nearest_groups,
    present_words,
    project,
    trees,
    word_map,
)
from wordforest.figures.colors import ink_on, rgb, symmetric_limit
from wordforest.figures.heatmap import column_order
from wordforest.figures.labels import line_end, place_labels
from wordforest.figures.maps import turned
from wordforest.figures.tree_layout import best_flow, extent, flow, outline_nodes, place_nodes
from wordforest.figures.tsne import affinities, divergence
from wordforest.figures.words import ANIMALS, COUNTRIES
from wordforest.vectors import Vectors

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
pytest.importorskip("openTSNE", reason="openTSNE is not installed")

WHITE = [255, 255, 255]


@pytest.fixture
def two_words() -> Vectors:
    """Means over both words are 0, 2, -2 and 0.5e-6: the columns are shown in the order 2, 0, 3, 1."""
    rows = [[0, 1, -1, 1e-6], [0, 3, -3, 0], [0, -1, 1, 2]]
    return Vectors(["up", "down", "other"], np.array(rows, dtype=np.float32))


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


def circles(figure: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the centres (n, 2) and the colours (n, 3) of all nodes that a figure of trees shows, in order."""
    nodes = [c for c in figure.axes[0].collections if type(c).__name__ == "PatchCollection"]
    centres = [(path.vertices.min(axis=0) + path.vertices.max(axis=0)) / 2 for c in nodes for path in c.get_paths()]
    return np.array(centres), np.concatenate([c.get_facecolor()[:, :3] for c in nodes])


def written(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def seen_by(kind: str, colors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return colours (n, 3) in CIE Lab as readers without one kind of cone see them (Machado et al. 2009)."""
    simulated = {
        "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
        "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
    }[kind]
    linear = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear @ np.array(simulated).T, 0, 1)
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
    xyz = linear @ np.array(to_xyz).T / [0.95047, 1, 1.08883]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


def is_red(color: list[int]) -> bool:
    return color[0] > color[1] and color[0] > color[2]


def is_blue(color: list[int]) -> bool:
    return color[2] > color[0] and color[2] > color[1]


@pytest.mark.parametrize("palette", [PAPER, COLORBLIND])
class TestColors:
    def test_exact_zero_alone_is_white(self, palette: Palette) -> None:
        colors = rgb([0.0, -0.0, 1e-30, -1e-30], 1.0, palette)
        assert (colors == 1).all(axis=1).tolist() == [True, True, False, False]

    @pytest.mark.parametrize("value", [1e-12, -1e-12])
    def test_tiny_values_are_visibly_tinted(self, palette: Palette, value: float) -> None:
        assert rgb(value, 1.0, palette).min() < 0.85

    @pytest.mark.parametrize("sign", [1, -1])
    def test_more_extreme_is_darker(self, palette: Palette, sign: int) -> None:
        brightness = rgb(sign * np.linspace(0, 1, 101), 1.0, palette).mean(axis=1)
        assert (np.diff(brightness) < 0).all()

    def test_values_beyond_the_limit_take_its_colour(self, palette: Palette) -> None:
        np.testing.assert_array_equal(rgb(5.0, 1.0, palette), rgb(1.0, 1.0, palette))

    def test_text_is_light_on_dark_and_dark_on_light(self, palette: Palette) -> None:
        light, dark = ink_on(rgb([0.0, 1.0], 1.0, palette))
        assert (light, dark) == ("#222222", "white")

    @pytest.mark.parametrize("kind", ["no red", "no green", "no blue"])
    def test_colour_blind_readers_tell_tiny_values_from_zero(self, palette: Palette, kind: str) -> None:
        zero, below, above = seen_by(kind, rgb([0.0, -1e-9, 1e-9], 1.0, palette))
        # 2.3 is a just noticeable difference between neighbouring patches
        assert min(np.linalg.norm(below - zero), np.linalg.norm(above - zero)) > 5 * 2.3


class TestColorblind:
    # the paper's palette comes to 20, 24 and 26; a mix-up of signs takes less than about 10
    @pytest.mark.parametrize(("kind", "least"), [("no red", 40), ("no green", 40), ("no blue", 24)])
    def test_no_negative_looks_like_a_positive(self, kind: str, least: float) -> None:
        strength = np.linspace(1e-9, 1, 60)
        below = seen_by(kind, rgb(-strength, 1.0, COLORBLIND))
        above = seen_by(kind, rgb(strength, 1.0, COLORBLIND))
        assert np.linalg.norm(below[:, None] - above, axis=2).min() > least

    def test_limit_of_zeros_is_one(self) -> None:
        assert symmetric_limit(np.zeros(3)) == 1.0

    def test_the_palette_reaches_the_page(self, two_words: Vectors) -> None:
        figure = heatmap(two_words, ["up", "down"], look=Look(palette=COLORBLIND))
        expected = np.round(255 * np.array(rgb(-3.0, 3.0, COLORBLIND))).astype(int).tolist()
        assert pixel(figure, figure.axes[0], 0, 1) == expected


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
        steps = np.diff([int(label) for label in labels])
        assert set(steps) == {steps[0]}
        assert 60 < len(labels) < 120

    def test_a_narrow_figure_has_fewer_labels(self) -> None:
        vectors = Vectors(["word"], np.arange(520, dtype=np.float32)[None])
        wide, narrow = (heatmap(vectors, ["word"], look=Look(size=(w, 3))).axes[0].get_xticklabels() for w in (12, 4))
        assert len(narrow) < len(wide) / 2

    @pytest.mark.parametrize("look", [Look(), PRINT])
    def test_labels_of_the_papers_size_do_not_touch(self, look: Look) -> None:
        vectors = Vectors(["word"], np.arange(52, dtype=np.float32)[None])
        figure = heatmap(vectors, ["word"], look=look)
        figure.canvas.draw()
        boxes = [label.get_window_extent() for label in figure.axes[0].get_xticklabels()]
        assert len(boxes) == 52
        assert all(a.x1 < b.x0 for a, b in pairwise(boxes))

    def test_each_block_has_its_own_order_and_title(self, two_words: Vectors) -> None:
        figure = heatmap_blocks(two_words, {"first": ["up", "down"], "second": ["other"]})
        labels = [[label.get_text() for label in axes.get_xticklabels()] for axes in figure.axes[:2]]
        assert labels == [["2", "0", "3", "1"], ["1", "0", "2", "3"]]
        assert [axes.get_title(loc="left") for axes in figure.axes[:2]] == ["first", "second"]

    def test_blocks_share_one_scale(self) -> None:
        vectors = Vectors(["weak", "strong"], np.array([[1], [9]], dtype=np.float32))
        figure = heatmap_blocks(vectors, {"a": ["weak"], "b": ["strong"]})
        weak, strong = (sum(pixel(figure, axes, 0.2, 0)) for axes in figure.axes[:2])
        assert weak > strong

    def test_lines_between_cells_are_not_white(self) -> None:
        figure = heatmap(Vectors(["a", "b"], np.zeros((2, 3), dtype=np.float32)), ["a", "b"])
        around = [pixel(figure, figure.axes[0], 1, 0.5 + d) for d in np.linspace(-0.05, 0.05, 9)]
        assert any(color != WHITE for color in around)

    def test_a_word_given_twice_is_drawn_once(self, two_words: Vectors) -> None:
        axes = heatmap(two_words, ["up", "up"]).axes[0]
        assert [label.get_text() for label in axes.get_yticklabels()] == ["up"]

    def test_size_is_kept(self, two_words: Vectors) -> None:
        assert heatmap(two_words, ["up"], look=Look(size=(5, 2))).get_size_inches().tolist() == [5, 2]

    def test_an_absurd_size_is_an_input_error(self) -> None:
        with pytest.raises(InputError, match="each side must be 1 to 100"):
            Look(size=(0.1, 3))

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

    def test_one_tree_per_word(self, forest_vectors: Vectors) -> None:
        titles = [t for t in written(trees(forest_vectors, ["animal", "horse"], tree=1)) if not t.isdecimal()]
        assert titles == ["animal, tree 1", "horse, tree 1"]

    def test_all_trees_stand_under_their_word(self, forest_vectors: Vectors) -> None:
        figure = trees(forest_vectors, ["horse", "dog"], tree=None)
        titles = [text for text in figure.axes[0].texts if not text.get_text().isdecimal()]
        height = {word: t.get_position()[1] for t in titles if (word := t.get_text()) in ("horse", "dog")}
        heights = [text.get_position()[1] for text in titles if text.get_text().startswith("tree")]
        assert len(heights) == 8
        assert all(height["dog"] < y < height["horse"] for y in heights[:4])
        assert all(y < height["dog"] for y in heights[4:])

    def test_nodes_carry_their_dimension(self, forest_vectors: Vectors) -> None:
        numbers = [text for text in written(trees(forest_vectors, ["horse"], tree=2)) if text.isdecimal()]
        assert numbers == [str(node) for node in range(26, 39)]

    @pytest.mark.parametrize("tree", [0, 2, None])
    def test_nodes_have_the_colour_of_their_coefficient(self, forest_vectors: Vectors, tree: int | None) -> None:
        figure = trees(forest_vectors, ["horse"], tree=tree)
        shown = slice(None) if tree is None else slice(13 * tree, 13 * (tree + 1))
        centres, _ = circles(figure)
        above_number = 0.32
        image = pixels(figure)
        at = figure.axes[0].transData.transform(centres + np.array([0, above_number])).astype(int)
        colors = image[image.shape[0] - 1 - at[:, 1], at[:, 0]].tolist()
        seen = [0 if color == WHITE else 1 if is_blue(color) else -1 for color in colors]
        assert seen == np.sign(forest_vectors["horse"][shown]).tolist()

    def test_the_scale_is_shared_by_all_trees(self) -> None:
        vectors = Vectors(["weak", "strong"], np.array([[1], [9]], dtype=np.float32), forest=Forest.flat(1))
        _, (weak, strong) = circles(trees(vectors, ["weak", "strong"]))
        assert weak.mean() > strong.mean()

    def test_forty_trees_fit_without_touching(self) -> None:
        forest = Forest.complete(40)
        vectors = Vectors(["word"], np.ones((1, 520), dtype=np.float32), forest=forest)
        figure = trees(vectors, ["word"], tree=None)
        centres, _ = circles(figure)
        distance = np.linalg.norm(centres[:, None] - centres, axis=2) + 9 * np.eye(520)
        assert distance.min() >= 2 * 0.42
        assert max(figure.get_size_inches()) <= 13

    def test_trees_of_different_shapes_fit_one_figure(self) -> None:
        forest = Forest([-1, 0, 0, -1, -1, 4, 5])
        vectors = Vectors(["word"], np.arange(7, dtype=np.float32)[None], forest=forest)
        centres, _ = circles(trees(vectors, ["word"], tree=None))
        assert len({tuple(np.round(place, 6)) for place in centres}) == 7

    def test_labels_stand_beside_their_nodes_and_are_grey_at_zeros(self) -> None:
        vectors = Vectors(["word"], [[1.0, 0.0, 2.0]], forest=Forest([-1, 0, 0]))
        figure = trees(vectors, ["word"], labels=[("sport", "team"), ("ball",), ()])
        texts = {text.get_text(): text for text in figure.axes[0].texts}
        centres, _ = circles(figure)
        assert texts["sport, team"].get_position()[1] == pytest.approx(centres[0, 1])
        assert texts["ball"].get_position()[0] > centres[1, 0]
        assert (texts["sport, team"].get_color(), texts["ball"].get_color()) == ("#222222", "#8c8c8c")

    def test_labels_of_another_forest_are_an_input_error(self, forest_vectors: Vectors) -> None:
        with pytest.raises(InputError, match="each of the 52 nodes, but 1 came"):
            trees(forest_vectors, ["horse"], labels=[("word",)])

    def test_vectors_without_a_forest_are_an_input_error(self, two_words: Vectors) -> None:
        with pytest.raises(InputError, match="these have none"):
            trees(two_words, ["up"])

    @pytest.mark.parametrize("tree", [-1, 4])
    def test_absent_tree_is_an_input_error(self, forest_vectors: Vectors, tree: int) -> None:
        with pytest.raises(InputError, match=rf"tree = {tree}, but the trees are 0 to 3"):
            trees(forest_vectors, ["horse"], tree=tree)

    def test_too_many_nodes_are_an_input_error(self) -> None:
        vectors = Vectors(["word"], np.ones((1, 12001), dtype=np.float32), forest=Forest.flat(12001))
        with pytest.raises(InputError, match="at most 12000 nodes, but 1 words x 12001 nodes"):
            trees(vectors, ["word"], tree=None)

    def test_no_word_left_is_an_input_error(self, forest_vectors: Vectors) -> None:
        with pytest.raises(InputError, match="found none for: unicorn"):
            trees(forest_vectors, ["unicorn"])


SIZES = st.lists(st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)), min_size=1, max_size=20)


class TestLayout:
    def test_an_outline_has_a_line_a_node_and_indents_children(self) -> None:
        places = outline_nodes(Forest([-1, 0, 1, 0]), 0)
        assert np.diff(places[:, 1]).tolist() == [-1, -1, -1]
        assert (np.argsort(places[:, 0], kind="stable") == [0, 1, 3, 2]).all()

    @given(SIZES, st.floats(1, 30))
    def test_panels_do_not_overlap_and_keep_to_the_width(self, sizes: list[tuple[float, float]], width: float) -> None:
        boxes = flow(sizes, width)
        for i, a in enumerate(boxes):
            assert a.x == 0 or a.x + a.width <= width
            for b in boxes[:i]:
                beside = a.x >= b.x + b.width - 1e-9 or b.x >= a.x + a.width - 1e-9
                below = a.y <= b.y - b.height + 1e-9
                assert beside or below

    @given(SIZES, st.floats(1, 20), st.floats(1, 20))
    def test_the_best_flow_fits_its_room(self, sizes: list[tuple[float, float]], width: float, height: float) -> None:
        boxes, scale = best_flow([sizes], 0.0, (width, height), 1.0)
        w, h = extent(boxes)
        assert w * scale <= width * (1 + 1e-6)
        assert h * scale <= height * (1 + 1e-6)

    def test_three_equal_panels_stand_in_a_row(self) -> None:
        ((first, *others),), _ = best_flow([[(9.0, 5.0)] * 3], 0.0, (12.0, 9.0), 0.33)
        assert all(box.y == first.y for box in others)


def planted(n: int = 12, M: int = 10, seed: int = 0) -> Vectors:
    """Return n words a0, a1, ... around one direction and n words b0, ... around another, far apart."""
    rng = np.random.default_rng(seed)
    centres = np.repeat(np.eye(M)[:2], n, axis=0)
    words = [f"{letter}{i}" for letter in "ab" for i in range(n)]
    return Vectors(words, centres + 0.1 * rng.standard_normal((2 * n, M)))


def groups_of(vectors: Vectors) -> dict[str, list[str]]:
    return {letter: [word for word in vectors.words if word.startswith(letter)] for letter in "ab"}


class TestProjection:
    def test_the_run_with_the_lowest_error_is_kept(self) -> None:
        X = np.random.default_rng(1).standard_normal((15, 8))  # no structure: runs end in different places
        found = project(X, runs=4, seed=2)
        assert found.error == min(found.errors) < max(found.errors)
        assert divergence(affinities(X), found.places) == found.error

    def test_more_runs_are_never_worse(self) -> None:
        X = np.random.default_rng(1).standard_normal((15, 8))
        few, many = project(X, runs=1, seed=3), project(X, runs=3, seed=3)
        assert few.errors == many.errors[:1]
        assert many.error <= few.error

    def test_error_is_that_of_open_tsne(self) -> None:
        import openTSNE

        X = np.random.default_rng(4).standard_normal((30, 5))
        P = affinities(X)
        start = np.random.default_rng(5).normal(0, 1, (30, 2))
        fixed = openTSNE.affinity.PrecomputedAffinities(P.copy(), normalize=False)
        theirs = openTSNE.TSNEEmbedding(start, fixed, negative_gradient_method="bh", theta=0.0, n_jobs=1)
        theirs.optimize(20, inplace=True)
        # both add some 900 terms in float64
        assert divergence(P, np.array(theirs)) == pytest.approx(theirs.kl_divergence, rel=1e-9)

    def test_same_seed_same_places(self) -> None:
        X = planted().unit
        np.testing.assert_array_equal(project(X, runs=2, seed=6).places, project(X, runs=2, seed=6).places)

    def test_other_seed_other_places(self) -> None:
        X = planted().unit
        assert (project(X, runs=1, seed=6).places != project(X, runs=1, seed=7).places).any()

    def test_planted_groups_are_apart(self) -> None:
        vectors = planted()
        places = turned(project(vectors.unit, runs=2).places, np.arange(24) < 12)
        assert places[:12, 0].max() < places[12:, 0].min()

    @pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8])
    def test_few_words_do_not_fall_into_one_point(self, n: int) -> None:
        places = project(np.random.default_rng(8).standard_normal((n, 6)), runs=2).places
        distance = np.linalg.norm(places[:, None] - places, axis=2) + 9 * np.eye(n)
        assert places.shape == (n, 2)
        assert distance.min() > 1e-3

    def test_equal_vectors_give_finite_places(self) -> None:
        assert np.isfinite(project(np.ones((9, 3)), runs=1).places).all()

    def test_progress_counts_the_runs(self) -> None:
        told: list[tuple[int, int]] = []
        project(planted(3).unit, runs=2, on_run=lambda done, total: told.append((done, total)))
        assert told == [(1, 2), (2, 2)]

    def test_no_run_is_an_input_error(self) -> None:
        with pytest.raises(InputError, match="runs = 0"):
            project(np.ones((5, 2)), runs=0)


class TestLabels:
    @given(st.integers(0, 10_000))
    def test_labels_with_room_hide_nothing(self, seed: int) -> None:
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

    def test_a_label_makes_way_for_its_neighbour(self) -> None:
        points = np.array([[100.0, 50.0], [130.0, 50.0], [115.0, 54.0]])  # to the right of each is no room for all
        placed = place_labels(points, np.full((3, 2), [50.0, 10.0]), (300.0, 100.0), 2.0)
        assert placed.free.all()

    def test_labels_that_remain_never_overlap(self) -> None:
        points = np.random.default_rng(9).uniform(40, 60, (60, 2))  # all in one crowd
        sizes = np.full((60, 2), [50.0, 10.0])
        placed = place_labels(points, sizes, (300.0, 200.0), 2.0)
        centres = placed.centres[placed.free]
        apart = (np.abs(centres[:, None] - centres) >= np.array([50, 10]) - 0.5).any(axis=2)
        assert (apart | np.eye(len(centres), dtype=bool)).all()
        assert 0 < placed.free.sum() < 60

    def test_a_line_ends_at_the_box(self) -> None:
        assert line_end(np.zeros(2), np.array([10.0, 2.0]), np.array([8.0, 6.0])).tolist() == [6, 0]


class TestMap:
    def test_groups_have_their_colour_and_mark(self) -> None:
        vectors = planted(3)
        figure = word_map({"model": vectors}, groups_of(vectors), runs=1)
        dots = [line for line in figure.axes[0].lines if line.get_marker() in ("o", "^")]
        assert [len(line.get_xdata()) for line in dots] == [3, 3]
        assert {text.get_text(): text.get_color() for text in figure.axes[0].texts}["b1"] == dots[1].get_color()
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]

    def test_two_models_stand_side_by_side_with_the_same_words(self) -> None:
        one, two = planted(4), planted(3, seed=1)
        figure = word_map({"one": one, "two": two}, groups_of(one), runs=1)
        left, right = figure.axes
        assert [axes.get_title(loc="left") for axes in figure.axes] == ["one", "two"]
        assert left.get_position().x1 < right.get_position().x0
        assert sorted(written(figure)) == sorted(two.words)

    def test_the_error_is_written_below(self) -> None:
        vectors = planted(3)
        figure = word_map({"model": vectors}, groups_of(vectors), runs=2, seed=3)
        error = project(vectors.unit, runs=2, seed=3).error
        assert figure.axes[0].get_xlabel() == f"KL divergence {error:.3f}, lowest of 2 runs"

    def test_labels_stay_inside_the_frame(self) -> None:
        vectors = planted(8)
        figure = word_map({"model": vectors}, groups_of(vectors), runs=1, look=PRINT)
        figure.canvas.draw()
        frame = figure.axes[0].get_window_extent()
        boxes = [text.get_window_extent() for text in figure.axes[0].texts]
        assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in boxes)

    @pytest.mark.parametrize("n", [1, 2])
    def test_a_map_of_few_words(self, n: int) -> None:
        vectors = planted(3)
        assert len(written(word_map({"model": vectors}, {"": vectors.words[:n]}, runs=1))) == n

    def test_the_first_group_stands_on_the_left(self) -> None:
        places = np.array([[3.0, 0.1], [4, 0], [0, 0], [0.5, 0.2]])
        assert turned(places, np.array([True, True, False, False]))[:2, 0].max() < 0

    def test_progress_counts_the_runs_of_all_models(self) -> None:
        vectors, told = planted(2), []
        models = {"one": vectors, "two": vectors}
        word_map(models, groups_of(vectors), runs=2, on_run=lambda done, total: told.append((done, total)))
        assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]

    def test_no_shared_word_is_an_input_error(self) -> None:
        with pytest.raises(InputError, match="found none for: unicorn"):
            word_map({"model": planted(2)}, {"group": ["unicorn"]})

    def test_too_many_groups_are_an_input_error(self) -> None:
        vectors = planted(5)
        with pytest.raises(InputError, match="at most 8 groups"):
            word_map({"model": vectors}, {word: [word] for word in vectors.words})

    def test_nearest_groups_do_not_overlap_and_follow_cosine(self) -> None:
        vectors = planted(5)
        groups = nearest_groups(vectors, ["a0", "b0"], k=4)
        assert {title: {word[0] for word in words} for title, words in groups.items()} == {"a0": {"a"}, "b0": {"b"}}
        assert groups["a0"] == ["a0", *[word for word, _ in vectors.most_similar("a0", k=3)]]


def history(seconds: float, passes: int = 2) -> list[dict[str, Any]]:
    """Return the steps of a run of that many seconds, two to a pass."""
    n = 2 * passes
    return [
        {"seconds": seconds * (i + 1) / n, "epoch": i // 2 + 1, "objective": 1e6 / (i + 1), "nonzeros": 0.9 - 0.1 * i}
        for i in range(n)
    ]


class TestCurve:
    def test_objective_and_non_zeros_stand_against_seconds(self) -> None:
        upper, lower = curve({"run": history(8.0)}).axes
        assert (upper.get_ylabel(), lower.get_ylabel()) == ("objective", "non-zeros, %")
        assert upper.lines[0].get_xdata().tolist() == [2, 4, 6, 8]
        assert upper.lines[0].get_ydata().tolist() == [1e6 / k for k in (1, 2, 3, 4)]
        np.testing.assert_allclose(lower.lines[0].get_ydata(), [90, 80, 70, 60], rtol=1e-12)

    def test_a_dot_ends_each_pass(self) -> None:
        upper, _ = curve({"run": history(8.0)}).axes
        assert upper.lines[0].get_markevery() == [1, 3]
        assert [text.get_text() for text in upper.texts] == ["pass 1", "pass 2"]

    def test_several_runs_are_named_and_differ_in_colour_and_dashes(self) -> None:
        figure = curve({"one": history(8.0), "two": history(9.0)})
        assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one", "two"]
        one, two = figure.axes[0].lines
        assert one.get_color() != two.get_color()
        assert one.get_linestyle() != two.get_linestyle()

    @pytest.mark.parametrize(("seconds", "scale"), [(30.0, "linear"), (80.0, "log")])
    def test_seconds_are_logarithmic_where_runs_differ_much(self, seconds: float, scale: str) -> None:
        assert curve({"one": history(8.0), "two": history(seconds)}).axes[1].get_xscale() == scale

    def test_steps_without_an_objective_are_left_out(self) -> None:
        upper, _ = curve({"run": [{"loss": 1.0}, *history(8.0)]}).axes
        assert len(upper.lines[0].get_xdata()) == 4

    @pytest.mark.parametrize(("steps", "what"), [([], "it is empty"), ([{"loss": 1.0}], "its steps have loss")])
    def test_a_history_without_what_is_drawn_is_an_input_error(self, steps: list[dict[str, Any]], what: str) -> None:
        with pytest.raises(InputError, match=f"baseline: expected a history with seconds.*{what}"):
            curve({"baseline": steps})

    def test_no_run_is_an_input_error(self) -> None:
        with pytest.raises(InputError, match="at least one run"):
            curve({})


class TestWords:
    def test_present_and_missing_words_keep_their_order(self, two_words: Vectors) -> None:
        assert present_words(two_words, ["left", "down", "right", "up"]) == (
            ["down", "up"],
            ["left", "right"],
        )

    @pytest.mark.parametrize("words", [ANIMALS, COUNTRIES])
    def test_lists_have_ten_different_words(self, words: tuple[str, ...]) -> None:
        assert len(set(words)) == len(words) == 10

    @pytest.mark.parametrize("name", ["good-bad", "man-woman"])
    def test_pairs_of_lists_share_no_word_and_start_with_their_title(self, name: str) -> None:
        (first, some), (second, others) = WORD_LISTS[name].items()
        assert (some[0], others[0]) == (first, second)
        assert len(set(some) | set(others)) == len(some) + len(others) == 40


def every_figure() -> dict[str, Any]:
    vectors = planted(3)
    with_forest = Vectors(vectors.words, vectors.dense, forest=Forest.flat(10))
    return {
        "heatmap": heatmap(vectors, vectors.words),
        "trees": trees(with_forest, ["a0"], tree=None),
        "map": word_map({"model": vectors}, groups_of(vectors), runs=1),
        "curve": curve({"run": history(8.0)}),
    }


class TestFiles:
    @pytest.mark.parametrize("form", ["png", "svg", "pdf"])
    def test_the_same_figure_gives_the_same_bytes(self, tmp_path: Path, form: str) -> None:
        for folder in ("first", "second"):
            (tmp_path / folder).mkdir()
            for name, figure in every_figure().items():
                store.write_figure(tmp_path / folder / f"{name}.{form}", figure, dpi=60)
        for path in (tmp_path / "first").iterdir():
            assert path.read_bytes() == (tmp_path / "second" / path.name).read_bytes(), path.name

    def test_no_file_holds_a_date(self, tmp_path: Path) -> None:
        figure = heatmap(planted(2), ["a0"])
        for form in ("png", "svg", "pdf"):
            store.write_figure(tmp_path / f"figure.{form}", figure, dpi=60)
            content = (tmp_path / f"figure.{form}").read_bytes()
            assert not re.search(rb"<dc:date>|/CreationDate|tIME|Software", content)

    def test_text_in_svg_is_text(self, tmp_path: Path) -> None:
        store.write_figure(tmp_path / "figure.svg", heatmap(planted(2), ["a0", "b1"]))
        words = re.findall(r"<text[^>]*>([^<]*)</text>", (tmp_path / "figure.svg").read_text())
        assert {"a0", "b1"} <= set(words)

    def test_settings_of_the_user_change_nothing_and_stay(self, tmp_path: Path) -> None:
        import matplotlib

        store.write_figure(tmp_path / "plain.svg", curve({"run": history(8.0)}))
        with matplotlib.rc_context({"font.size": 31, "axes.grid": True, "svg.fonttype": "path"}):
            store.write_figure(tmp_path / "own.svg", curve({"run": history(8.0)}))
            assert matplotlib.rcParams["font.size"] == 31
        assert (tmp_path / "own.svg").read_bytes() == (tmp_path / "plain.svg").read_bytes()

    @pytest.mark.parametrize(
        "word", ["$x$", "$", "<b>&amp;</b>", "a\\b_{c}", "語", "\N{WOLF FACE}", "مرحبا", "x" * 200]
    )
    def test_any_word_can_be_drawn(self, tmp_path: Path, word: str) -> None:
        vectors = Vectors([word, "other"], [[1.0, -1.0], [0.0, 2.0]], forest=Forest.flat(2))
        for name, figure in {
            "heatmap": heatmap(vectors, [word]),
            "trees": trees(vectors, [word], tree=None, labels=[(word,), ()]),
            "map": word_map({word: vectors}, {word: [word], "b": ["other"]}, runs=1),
            "curve": curve({word: history(8.0)}),
        }.items():
            store.write_figure(tmp_path / f"{name}.svg", figure)
            assert (tmp_path / f"{name}.svg").stat().st_size > 0

    def test_a_dollar_is_a_letter(self) -> None:
        axes = heatmap(Vectors(["$x$"], [[1.0]]), ["$x$"]).axes[0]
        assert not axes.get_yticklabels()[0].get_parse_math()


@pytest.fixture
def saved(tmp_path: Path) -> str:
    """A file of vectors a0 .. a4, b0 .. b4 and some words of the built-in lists."""
    vectors = planted(5)
    extra = ["good", "bad", "horse", "wolf"]
    matrix = np.concatenate([vectors.dense, vectors.dense[[0, 5, 0, 1]] + 0.01])
    store.write_vectors(tmp_path / "model.npz", Vectors([*vectors.words, *extra], matrix))
    return str(tmp_path / "model.npz")


def run(*arguments: str) -> Any:
    """Run the command in this process."""
    assert wordforest.cli.draw.draw_app is not None  # its commands have joined the app
    return CliRunner().invoke(app, ["draw", *arguments])


class TestCommand:
    def test_heatmap_of_a_list_names_missing_words_and_skips_them(self, saved: str, tmp_path: Path) -> None:
        result = run("heatmap", saved, "--words", "a0,unicorn,b1", "--out", str(tmp_path / "h.svg"))
        assert result.exit_code == 0
        assert "has no vector for unicorn; left out" in result.stderr
        text = (tmp_path / "h.svg").read_text()
        assert ">b1<" in text
        assert "unicorn" not in text

    def test_a_built_in_list_and_a_file_are_blocks(self, saved: str, tmp_path: Path) -> None:
        (tmp_path / "mine.txt").write_text("\ufeffa0\n\n a1 \n", encoding="utf-8")
        words = ["--words", "animals", "--words", str(tmp_path / "mine.txt")]
        result = run("heatmap", saved, *words, "--out", str(tmp_path / "h.svg"), "--colors", "colorblind")
        assert result.exit_code == 0
        drawn = re.findall(r">([^<>]+)</text>", (tmp_path / "h.svg").read_text())
        assert {"animals", "horse", "wolf", "mine", "a0", "a1"} <= set(drawn)

    def test_all_words_missing_is_an_error_that_says_what_to_do(self, saved: str, tmp_path: Path) -> None:
        result = run("heatmap", saved, "--words", "unicorn", "--out", str(tmp_path / "h.png"))
        assert result.exit_code == 2
        assert "no vector for unicorn" in result.stderr
        assert "Choose words of the vocabulary" in result.stderr
        assert not (tmp_path / "h.png").exists()

    def test_an_absent_file_is_an_error(self, saved: str, tmp_path: Path) -> None:
        result = run("heatmap", saved, "--words", "absent.txt", "--out", str(tmp_path / "h.png"))
        assert result.exit_code == 2
        assert "no such file" in result.stderr

    def test_a_figure_is_not_replaced_without_force(self, saved: str, tmp_path: Path) -> None:
        (tmp_path / "h.png").write_text("mine")
        arguments = ("heatmap", saved, "--words", "a0", "--out", str(tmp_path / "h.png"))
        assert run(*arguments).exit_code == 2
        assert (tmp_path / "h.png").read_text() == "mine"
        assert run(*arguments, "--force").exit_code == 0

    @pytest.mark.parametrize(("size", "dpi", "shape"), [("5x2", "100", (500, 200)), ("127x50.8mm", "50", (250, 100))])
    def test_size_and_dpi_give_the_pixels(
        self, saved: str, tmp_path: Path, size: str, dpi: str, shape: tuple[int, int]
    ) -> None:
        out = tmp_path / "h.png"
        assert run("heatmap", saved, "--words", "a0", "--out", str(out), "--size", size, "--dpi", dpi).exit_code == 0
        header = out.read_bytes()[16:24]
        assert (int.from_bytes(header[:4]), int.from_bytes(header[4:])) == shape

    @pytest.mark.parametrize(
        ("option", "what"), [(("--size", "big"), "--size big: expected width x height"), (("--tree", "x"), "--tree x")]
    )
    def test_bad_options_are_told(self, saved: str, tmp_path: Path, option: tuple[str, str], what: str) -> None:
        result = run("tree", saved, "--words", "a0", "--out", str(tmp_path / "t.png"), *option)
        assert result.exit_code == 2
        assert what in result.stderr

    def test_an_unknown_suffix_is_told_before_any_work(self, tmp_path: Path) -> None:
        result = run("heatmap", "absent", "--words", "a0", "--out", str(tmp_path / "h.gif"))
        assert result.exit_code == 2
        assert ".png, .svg or .pdf" in result.stderr

    def test_tree_draws_a_run(self, tmp_path: Path) -> None:
        vectors = planted(3)
        forest = Forest.complete(1, (3, 2))
        store.write_vectors(tmp_path / "run", Vectors(vectors.words, vectors.dense, forest=forest))
        arguments = ("tree", str(tmp_path / "run"), "--words", "a0,b0", "--tree", "all", "--labels", "2")
        assert run(*arguments, "--out", str(tmp_path / "t.svg")).exit_code == 0
        assert ">a0<" in (tmp_path / "t.svg").read_text()

    def test_map_of_the_default_groups(self, saved: str, tmp_path: Path) -> None:
        result = run("map", saved, "--out", str(tmp_path / "m.svg"), "--runs", "1", "--title", "mine")
        assert result.exit_code == 0
        assert {">good<", ">bad<", ">mine<"} <= set(re.findall(r">[^<>]+<", (tmp_path / "m.svg").read_text()))

    def test_map_of_nearest_words(self, saved: str, tmp_path: Path) -> None:
        arguments = ("map", saved, "--nearest", "3", "--out", str(tmp_path / "m.svg"), "--runs", "1", "--json")
        result = run(*arguments)
        assert result.exit_code == 0
        assert '"stage": "map"' in result.stderr
        drawn = set(re.findall(r">([ab]\d|good|bad|horse|wolf)<", (tmp_path / "m.svg").read_text()))
        assert {"good", "bad", "a0"} <= drawn
        assert len(drawn) == 6

    def test_curve_of_a_run_without_history_is_an_error(self, tmp_path: Path) -> None:
        vectors = planted(3)
        store.write_vectors(tmp_path / "run", Vectors(vectors.words, vectors.dense, forest=Forest.flat(10)))
        result = run("curve", str(tmp_path / "run"), "--out", str(tmp_path / "c.png"))
        assert result.exit_code == 2
        assert "run: expected a history" in result.stderr


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
