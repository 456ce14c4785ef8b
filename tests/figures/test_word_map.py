"""Words on a plane, a map for each model, the best of several runs of t-SNE."""

from __future__ import annotations

import numpy as np
import pytest
from openTSNE.affinity import PerplexityBasedNN

from tests.figures.drawn import (
    groups_of,
    planted,
    written,
)
from wordforest.errors import InputError
from wordforest.figures import (
    PRINT,
    project,
    word_map,
)
from wordforest.figures.word_map import turned


def test_groups_have_their_colour_and_mark() -> None:
    vectors = planted(3)
    figure = word_map({"model": vectors}, groups_of(vectors), runs=1)
    dots = [line for line in figure.axes[0].lines if line.get_marker() in ("o", "^")]
    assert [len(line.get_xdata()) for line in dots] == [3, 3]
    assert {text.get_text(): text.get_color() for text in figure.axes[0].texts}["b1"] == dots[1].get_color()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a", "b"]


def test_two_models_stand_side_by_side_with_the_same_words() -> None:
    one, two = planted(4), planted(3, seed=1)
    figure = word_map({"one": one, "two": two}, groups_of(one), runs=1)
    left, right = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["one", "two"]
    assert left.get_position().x1 < right.get_position().x0
    assert sorted(written(figure)) == sorted(two.words)


def test_the_error_is_written_below() -> None:
    vectors = planted(3)
    figure = word_map({"model": vectors}, groups_of(vectors), runs=2, seed=3)
    error = project(vectors.unit, runs=2, seed=3).error
    assert figure.axes[0].get_xlabel() == f"KL divergence {error:.3f}, lowest of 2 runs"


def test_labels_stay_inside_the_frame() -> None:
    vectors = planted(8)
    figure = word_map({"model": vectors}, groups_of(vectors), runs=1, style=PRINT)
    figure.canvas.draw()
    frame = figure.axes[0].get_window_extent()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in boxes)


@pytest.mark.parametrize("n", [1, 2])
def test_a_map_of_few_words(n: int) -> None:
    vectors = planted(3)
    assert len(written(word_map({"model": vectors}, {"": vectors.words[:n]}, runs=1))) == n


def test_the_first_group_stands_on_the_left() -> None:
    places = np.array([[3.0, 0.1], [4, 0], [0, 0], [0.5, 0.2]])
    assert turned(places, np.array([True, True, False, False]))[:2, 0].max() < 0


def test_progress_counts_the_runs_of_all_models() -> None:
    vectors, told = planted(2), []
    models = {"one": vectors, "two": vectors}
    word_map(models, groups_of(vectors), runs=2, on_run=lambda done, total: told.append((done, total)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_no_shared_word_is_an_input_error() -> None:
    with pytest.raises(InputError, match="found none for: unicorn"):
        word_map({"model": planted(2)}, {"group": ["unicorn"]})


def test_too_many_groups_are_an_input_error() -> None:
    vectors = planted(5)
    with pytest.raises(InputError, match="at most 8 groups"):
        word_map({"model": vectors}, {word: [word] for word in vectors.words})


def test_the_run_with_the_lowest_error_is_kept() -> None:
    X = np.random.default_rng(1).standard_normal((15, 8))  # no structure: runs end in different places
    errors = [project(X, runs=runs, seed=2).error for runs in (1, 4)]
    assert errors[0] > errors[1]


def test_the_error_is_the_divergence_of_the_points() -> None:
    X = np.random.default_rng(4).standard_normal((30, 5))
    found = project(X, runs=1)
    P = PerplexityBasedNN(X, perplexity=29 / 3, method="exact").P.toarray()
    Q = 1 / (1 + ((found.points[:, None] - found.points) ** 2).sum(axis=2))
    np.fill_diagonal(Q, 0)
    used = P > 0
    exact = (P[used] * np.log(P[used] * Q.sum() / Q[used])).sum()
    assert found.error == pytest.approx(exact, rel=1e-9)  # both add some 900 terms in float64


def test_same_seed_same_places() -> None:
    X = planted().unit
    np.testing.assert_array_equal(project(X, runs=2, seed=6).points, project(X, runs=2, seed=6).points)


def test_other_seed_other_places() -> None:
    X = planted().unit
    assert (project(X, runs=1, seed=6).points != project(X, runs=1, seed=7).points).any()


def test_planted_groups_are_apart() -> None:
    vectors = planted()
    places = turned(project(vectors.unit, runs=2).points, np.arange(24) < 12)
    assert places[:12, 0].max() < places[12:, 0].min()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8])
def test_few_words_do_not_fall_into_one_point(n: int) -> None:
    places = project(np.random.default_rng(8).standard_normal((n, 6)), runs=2).points
    distance = np.linalg.norm(places[:, None] - places, axis=2) + 9 * np.eye(n)
    assert places.shape == (n, 2)
    assert distance.min() > 1e-3


def test_equal_vectors_give_finite_places() -> None:
    assert np.isfinite(project(np.ones((9, 3)), runs=1).points).all()


def test_every_run_is_told() -> None:
    told: list[bool] = []
    project(planted(3).unit, runs=2, on_run=lambda: told.append(True))
    assert len(told) == 2


def test_no_run_is_an_input_error() -> None:
    with pytest.raises(InputError, match="runs = 0"):
        project(np.ones((5, 2)), runs=0)
