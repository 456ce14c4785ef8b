"""The prox is the prox: by hand, by its inequality, by SPAMS, and by an independent solver."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import dual_prox, spams_prox
from tests.strategies import forests_with_rows, rows, weighted_forests_with_rows
from wordforest.coder.forest import Forest
from wordforest.coder.penalties import (
    L1,
    ForestL2,
    MostActive,
    NonNegativeL1,
    NoPenalty,
    Penalty,
    depth_weights,
    with_lam,
)
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


def test_nodes_that_are_on_are_paid_for_with_those_above_them() -> None:
    A = np.array([[0.0, 3.0, 0.0], [1.0, 2.0, -4.0], [0.0, 0.0, 0.0]])  # a leaf, its root at zero; all; none
    assert MostActive(Forest([-1, 0, -1]), 3, price=0.5).per_word(A).tolist() == [1.0, 1.5, 0.0]


@given(case=forests_with_rows(), step=steps, price=st.floats(0.01, 5))
def test_codes_that_are_paid_for_cost_no_more_than_none(
    case: tuple[Forest, np.ndarray], step: float, price: float
) -> None:
    forest, A = case
    penalty = MostActive(forest, len(forest), price=price)
    B = penalty.prox(A, step)
    least = cost(penalty, 0 * A, A, step)
    assert (cost(penalty, B, A, step) <= least * (1 + 1e-5)).all()  # a ridge of 1e-6


@pytest.mark.parametrize("price", [-1.0, np.inf, np.nan])
def test_a_price_is_a_number_from_zero_on(price: float) -> None:
    with pytest.raises(InputError, match="what a node costs must be a finite number >= 0"):
        MostActive(Forest([-1]), 1, price=price)


Weighted = tuple[Forest, np.ndarray, np.ndarray]
Make = Callable[[Forest, np.ndarray], Penalty]
every_forest_penalty = pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda forest, w: ForestL2(forest, 1.0, w), id="l2"),
        pytest.param(lambda forest, w: ForestL2(forest, 1.0, w, nonnegative=True), id="l2-nonnegative"),
    ],
)


@every_forest_penalty
@given(case=weighted_forests_with_rows(), step=steps)
def test_euler_identity(make: Make, case: Weighted, step: float) -> None:
    forest, A, weights = case
    penalty = make(forest, weights)
    B = penalty.prox(A, step)
    identity = ((A - B) * B).sum(1) - step * penalty.per_word(B)
    np.testing.assert_allclose(identity, 0, atol=1e-9 * (1 + (A * A).sum()))  # rounding of a sum of squares


@every_forest_penalty
@given(case=weighted_forests_with_rows(), step=steps, seed=st.integers(0, 2**32 - 1))
def test_no_probe_is_better_than_the_prox(make: Make, case: Weighted, step: float, seed: int) -> None:
    forest, A, weights = case
    penalty = make(forest, weights)
    B = penalty.prox(A, step)
    least = cost(penalty, B, A, step)
    rng = np.random.default_rng(seed)
    near = [B + scale * rng.standard_normal(B.shape) for scale in (1e-6, 1e-3, 1e-1)]
    for probe in [np.zeros_like(A), A, *near]:
        for allowed in (probe, np.maximum(probe, 0)):  # where codes must not be negative, the first costs infinity
            assert (least <= cost(penalty, allowed, A, step) + 1e-10 * (1 + (A * A).sum())).all()


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


@given(case=weighted_forests_with_rows(), step=steps)
def test_spams_agrees(case: Weighted, step: float) -> None:
    forest, A, weights = case
    expected = spams_prox(A, forest, weights, step)
    np.testing.assert_allclose(ForestL2(forest, 1.0, weights).prox(A, step), expected, atol=1e-10)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_an_independent_solver_agrees(seed: int, nonnegative: bool) -> None:
    rng = np.random.default_rng(seed)
    forest = Forest([-1, 0, 1, 1, 0, -1, 5, 6])
    a, weights = 2 * rng.standard_normal(len(forest)), rng.uniform(0.5, 1.5, len(forest))
    expected = dual_prox(a, forest, 0.8 * weights, nonnegative)
    penalty = ForestL2(forest, 1.0, weights, nonnegative)
    np.testing.assert_allclose(penalty.prox(a[None], 0.8)[0], expected, atol=1e-6)  # of 5,000 steps


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


@pytest.mark.parametrize("penalty", [NonNegativeL1(1.0), ForestL2(Forest.flat(2), 1.0, nonnegative=True)], ids=repr)
def test_negative_codes_cost_infinity_where_they_are_forbidden(penalty: Penalty) -> None:
    assert penalty.per_word(np.array([[1.0, -1.0], [1.0, 2.0]])).tolist() == [np.inf, 3.0]


def test_negatives_are_cut_before_the_thresholds() -> None:
    # leaf: -4 -> 0; then the root's group (3, 0) has norm 3 and keeps 2/3. Cut last, (3, -3) would keep more than half
    B = ForestL2(Forest([-1, 0]), 1.0, nonnegative=True).prox(np.array([[3.0, -4.0]]), 1.0)
    np.testing.assert_allclose(B, [[2.0, 0.0]], rtol=1e-15)


def test_weights_of_nodes_worked_by_hand() -> None:
    # leaf: 5 - 1/2 * 2 -> 4; the root's group (3, 4) has norm 5 and loses 2 * 2; the value 2 |(3, 5)| + 1/2 * 5
    penalty = ForestL2(Forest([-1, 0]), 1.0, (2.0, 0.5))
    np.testing.assert_allclose(penalty.prox(np.array([[3.0, 5.0]]), 2.0), [[0.6, 0.8]], rtol=1e-14)
    np.testing.assert_allclose(penalty.per_word(np.array([[3.0, 5.0]])), [2 * 34**0.5 + 2.5], rtol=1e-15)


def test_weights_by_depth() -> None:
    assert depth_weights(Forest([-1, 0, 1, 0, -1]), (0.5, 0.8, 1.0)) == (0.5, 0.8, 1.0, 0.8, 0.5)


def test_the_last_weight_goes_for_all_depths_below() -> None:
    assert depth_weights(Forest([-1, 0, 1, 0, -1]), (0.5, 0.8)) == (0.5, 0.8, 0.8, 0.8, 0.5)
    assert depth_weights(Forest([-1, 0]), ()) is None


@pytest.mark.parametrize("weights", [(1.0,), (1.0, 0.0), (1.0, -1.0), (1.0, np.nan), (np.inf, 1.0), ((1.0, 1.0),)])
def test_weights_of_nodes_that_are_none_are_refused(weights: Any) -> None:
    with pytest.raises(InputError, match="weights"):
        ForestL2(Forest([-1, 0]), 1.0, weights)


def test_penalties_with_equal_weights_are_equal_and_hash_alike() -> None:
    forest = Forest([-1, 0])
    one, other = ForestL2(forest, 1.0, np.array([1.0, 2.0])), ForestL2(forest, 1.0, [1, 2])
    assert (one, hash(one)) == (other, hash(other))


def test_a_weight_changed_later_changes_no_penalty() -> None:
    weights = np.array([1.0, 2.0])
    penalty = ForestL2(Forest([-1, 0]), 1.0, weights)
    weights[0] = 100.0
    assert penalty.per_word(np.array([[3.0, 4.0]])).tolist() == [13.0]


def test_another_lam_keeps_the_rest() -> None:
    forest = Forest([-1, 0])
    assert with_lam(ForestL2(forest, 1.0, (1, 2), True), 3.0) == ForestL2(forest, 3.0, (1, 2), True)


@pytest.mark.parametrize("lam", [-1.0, float("nan"), float("inf")])
def test_a_weight_that_is_no_weight_is_refused(lam: float) -> None:
    for make in (L1, lambda value: ForestL2(Forest.flat(1), value)):
        with pytest.raises(InputError, match="lam"):
            make(lam)
