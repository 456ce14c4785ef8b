"""The prox is the prox: by hand, by its inequality, by SPAMS, and by an independent solver."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import dual_prox, spams_prox
from strategies import forests_with_rows, rows
from wordforest.coder.forest import Forest
from wordforest.coder.penalties import L1, ForestL2, NonNegativeL1, NoPenalty, Penalty
from wordforest.errors import InputError

steps = st.floats(1e-3, 20)
flat_penalties = st.sampled_from([L1(0.7), NonNegativeL1(0.7), NoPenalty()])


def cost(penalty: Penalty, B: np.ndarray, A: np.ndarray, step: float) -> np.ndarray:
    """What the prox minimises, for every row."""
    return ((B - A) ** 2).sum(1) / 2 + step * penalty.per_word(B)


def test_a_tree_of_two_nodes_worked_by_hand() -> None:
    # leaf: 5 -> 4; then the root's group (3, 4) has norm 5 and keeps 4/5 of itself
    B = ForestL2(Forest([-1, 0]), lam=1.0).prox(np.array([[3.0, 5.0]]), 1.0)
    np.testing.assert_allclose(B, [[2.4, 3.2]], rtol=1e-15)


def test_the_value_of_a_tree_worked_by_hand() -> None:
    # |(3, 4)| + |4| = 9
    assert ForestL2(Forest([-1, 0]), lam=2.0).per_word(np.array([[3.0, 4.0]])).tolist() == [18.0]


@given(forests_with_rows(), steps)
def test_euler_identity(case: tuple[Forest, np.ndarray], step: float) -> None:
    forest, A = case
    penalty = ForestL2(forest, 1.0)
    B = penalty.prox(A, step)
    identity = ((A - B) * B).sum(1) - step * penalty.per_word(B)
    np.testing.assert_allclose(identity, 0, atol=1e-9 * (1 + (A * A).sum()))  # rounding of a sum of squares


@given(forests_with_rows(), steps, st.integers(0, 2**32 - 1))
def test_no_probe_is_better_than_the_prox(case: tuple[Forest, np.ndarray], step: float, seed: int) -> None:
    forest, A = case
    penalty = ForestL2(forest, 1.0)
    B = penalty.prox(A, step)
    least = cost(penalty, B, A, step)
    rng = np.random.default_rng(seed)
    near = [B + scale * rng.standard_normal(B.shape) for scale in (1e-6, 1e-3, 1e-1)]
    for probe in [np.zeros_like(A), A, *near]:
        assert (least <= cost(penalty, probe, A, step) + 1e-10 * (1 + (A * A).sum())).all()


@given(rows(5), steps, flat_penalties, st.integers(0, 2**32 - 1))
def test_flat_penalties_have_their_prox(A: np.ndarray, step: float, penalty: Penalty, seed: int) -> None:
    B = penalty.prox(A, step)
    rng = np.random.default_rng(seed)
    probes = [
        np.zeros_like(A),
        np.maximum(A, 0),
        *(np.maximum(B + s * rng.standard_normal(B.shape), 0) for s in (1e-4, 0.1)),
    ]
    for probe in probes:
        assert (cost(penalty, B, A, step) <= cost(penalty, probe, A, step) + 1e-10 * (1 + (A * A).sum())).all()


@given(forests_with_rows(), steps)
def test_spams_agrees(case: tuple[Forest, np.ndarray], step: float) -> None:
    forest, A = case
    np.testing.assert_allclose(ForestL2(forest, 1.0).prox(A, step), spams_prox(A, forest, step), atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_an_independent_solver_agrees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    forest = Forest([-1, 0, 1, 1, 0, -1, 5, 6])
    a = 2 * rng.standard_normal(len(forest))
    expected = dual_prox(a, forest, 0.8)
    # the dual is solved to 1e-10 in its gradient; its minimum is flat where a group is zero
    np.testing.assert_allclose(ForestL2(forest, 1.0).prox(a[None], 0.8)[0], expected, atol=2e-5)


@given(forests_with_rows(), steps)
def test_a_zero_parent_is_never_above_a_non_zero_child(case: tuple[Forest, np.ndarray], step: float) -> None:
    forest, A = case
    B = ForestL2(forest, 1.0).prox(np.where(A == 0, 1e-3, A), step)
    for node, parent in enumerate(forest.parent):
        if parent >= 0:
            assert not ((B[:, parent] == 0) & (B[:, node] != 0)).any()


@given(rows(6), steps)
def test_single_nodes_are_the_lasso(A: np.ndarray, step: float) -> None:
    flat = ForestL2(Forest.flat(6), 0.5)
    np.testing.assert_allclose(flat.prox(A, step), L1(0.5).prox(A, step), atol=1e-12)
    np.testing.assert_allclose(flat.per_word(A), L1(0.5).per_word(A), rtol=1e-12)


def test_a_large_step_gives_exact_zeros() -> None:
    B = ForestL2(Forest.complete(2), 1.0).prox(np.random.default_rng(0).standard_normal((3, 26)), 1e6)
    assert np.count_nonzero(B) == 0


def test_step_zero_changes_nothing() -> None:
    A = np.random.default_rng(0).standard_normal((3, 26))
    np.testing.assert_array_equal(ForestL2(Forest.complete(2), 1.0).prox(A, 0.0), A)


def test_the_argument_is_left_alone() -> None:
    A = np.ones((2, 13))
    ForestL2(Forest.complete(1), 1.0).prox(A, 0.5)
    np.testing.assert_array_equal(A, 1)


def test_negative_codes_cost_infinity_without_sign() -> None:
    assert NonNegativeL1(1.0).per_word(np.array([[1.0, -1.0], [1.0, 2.0]])).tolist() == [np.inf, 3.0]


@pytest.mark.parametrize("lam", [-1.0, float("nan"), float("inf")])
def test_a_weight_that_is_no_weight_is_refused(lam: float) -> None:
    for make in (L1, NonNegativeL1, lambda value: ForestL2(Forest.flat(1), value)):
        with pytest.raises(InputError, match="lam"):
            make(lam)
