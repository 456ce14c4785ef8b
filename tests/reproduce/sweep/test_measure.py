"""Facts of codes against their definitions, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.coder.shared import low_rank_matrix
from wordforest.coder.forest import Forest
from wordforest.coder.penalties import ForestL2
from wordforest.coder.rows import as_rows
from wordforest.reproduce.sweep.measure import likeness, measured, zeros_of

CHAIN = Forest([-1, 0])  # a root and its child


def entropy(p: float) -> float:
    return -p * np.log2(p) - (1 - p) * np.log2(1 - p)


def test_error_and_penalty_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    X, penalty = low_rank_matrix(50, 30, dtype=np.float64), ForestL2(Forest.complete(1, (2,)), 0.7)
    D, A = rng.standard_normal((30, 3)), rng.standard_normal((50, 3)) * (rng.random((50, 3)) < 0.5)
    facts = measured(as_rows(X), D, A, penalty, penalty.forest)
    loss, omega = float(np.square(X.toarray() - A @ D.T).sum()), float(penalty.per_word(A).sum())
    assert facts["loss"] == pytest.approx(loss)
    assert facts["objective"] == pytest.approx(loss + omega)
    assert facts["penalty_share"] == pytest.approx(omega / (loss + omega))
    assert facts["error"] == pytest.approx(loss / np.square(X.data).sum())


def test_zeros_by_depth_and_children_without_their_parent():
    A = np.array([[1.0, 1], [2, 0], [0, 3], [0, 0]])
    facts = zeros_of(A, CHAIN)
    assert facts["density"] == 0.5
    assert facts["density_by_depth"] == [0.5, 0.5]
    assert facts["orphans"] == 0.5


def test_bits_of_a_tree_are_counted_given_the_parent():
    A = np.array([[1.0, 1], [2, 0], [1, 0], [0, 0]])  # the child is on in 1 of 3 where its parent is, else never
    facts = zeros_of(A, CHAIN)
    values = 8 * 4 / 4
    assert facts["bits_given_parent"] == pytest.approx(values + entropy(3 / 4) + 3 / 4 * entropy(1 / 3))
    assert facts["bits_alone"] == pytest.approx(values + entropy(3 / 4) + entropy(1 / 4))


def test_codes_without_zeros_take_no_bits_for_what_is_on():
    facts = zeros_of(np.ones((5, 2)), CHAIN)
    assert facts["bits_alone"] == facts["bits_given_parent"] == 16


def test_all_zero_codes_have_no_orphans():
    assert zeros_of(np.zeros((5, 2)), CHAIN)["orphans"] == 0


def test_likeness_is_the_median_of_the_correlations_without_their_signs():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((100, 3))
    B = np.column_stack([-2 * A[:, 0] + 5, A[:, 1] + rng.standard_normal(100), np.zeros(100)])
    assert likeness(A, B) == pytest.approx(abs(np.corrcoef(A[:, 1], B[:, 1])[0, 1]))
    assert likeness(A[:, :1], B[:, :1]) == pytest.approx(1)
