"""The best of several runs of t-SNE."""

from __future__ import annotations

import numpy as np
import pytest
from openTSNE.affinity import PerplexityBasedNN

from tests.figures.drawn import (
    planted,
)
from wordforest.errors import InputError
from wordforest.figures import (
    project,
)
from wordforest.figures.word_map import turned


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


def test_progress_counts_the_runs() -> None:
    told: list[tuple[int, int]] = []
    project(planted(3).unit, runs=2, on_run=lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]


def test_no_run_is_an_input_error() -> None:
    with pytest.raises(InputError, match="runs = 0"):
        project(np.ones((5, 2)), runs=0)
