"""A weight of the penalty for a wanted density of the codes."""

from functools import partial

import numpy as np
import pytest

from wordforest.coder.certificate import lam_max
from wordforest.coder.coding import Gram, admm, fista, pursuit
from wordforest.coder.density import lam_for_density
from wordforest.coder.forest import Forest
from wordforest.coder.kernels import density
from wordforest.coder.penalties import L1, ForestL2, MostActive, NonNegativeL1, NoPenalty, Penalty, with_lam
from wordforest.errors import InputError

FOREST = Forest.complete(2)
every_penalty = pytest.mark.parametrize(
    "penalty",
    [ForestL2(FOREST, 1.0), ForestL2(FOREST, 1.0, nonnegative=True), L1(1.0)],
    ids=["l2", "l2-nonnegative", "l1"],
)


def problem(seed: int = 0) -> tuple[np.ndarray, Gram]:
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((60, 26))
    D /= np.linalg.norm(D, axis=0)
    X = rng.standard_normal((100, 26)) @ D.T + 0.3 * rng.standard_normal((100, 60))
    return X @ D, Gram(D.T @ D)


@every_penalty
@pytest.mark.parametrize("wanted", [0.05, 0.3, 0.45])
def test_the_wanted_density_is_found(penalty: Penalty, wanted: float) -> None:
    XD, gram = problem()
    lam = lam_for_density(XD, gram, penalty, wanted)
    A = fista(XD, gram, with_lam(penalty, lam), tol=1e-9, max_iter=20_000).A
    assert np.count_nonzero(A) / A.size == pytest.approx(wanted, abs=0.015)  # 0.01, and codes that are not settled


def test_no_density_is_the_largest_lam() -> None:
    XD, gram = problem()
    assert lam_for_density(XD, gram, L1(1.0), 0.0) == lam_max(XD, L1(1.0))


def test_the_closest_lam_is_returned_where_the_density_cannot_be_reached() -> None:
    XD, gram = problem()
    penalty = NonNegativeL1(1.0)
    lam = lam_for_density(XD, gram, penalty, 1.0)
    densest = density(fista(XD, gram, with_lam(penalty, 1e-6 * lam_max(XD, penalty)), tol=1e-9, max_iter=20_000).A)
    A = admm(XD, gram, with_lam(penalty, lam), tol=1e-6, max_iter=2000).A
    assert densest < 0.9
    assert np.count_nonzero(A) / A.size == pytest.approx(densest, abs=0.01)


@pytest.mark.parametrize(("density", "expected"), [(0.4, 1 / 3), (0.6, 2 / 3)])
def test_of_two_lams_around_a_jump_the_closer_one_is_returned(density: float, expected: float) -> None:
    XD, gram = np.array([[3.0, 2.0, 1.0]]), Gram(np.eye(3))  # the code is XD shrunk by lam / 2
    lam = lam_for_density(XD, gram, L1(1.0), density)
    assert np.mean(XD - lam / 2 > 0) == pytest.approx(expected)


@pytest.mark.parametrize("density", [-0.1, 1.1, float("nan")])
def test_a_share_that_is_none_is_refused(density: float) -> None:
    with pytest.raises(InputError, match="density"):
        lam_for_density(*problem(), L1(1.0), density)


@pytest.mark.parametrize(("scale", "penalty"), [(0.0, L1(1.0)), (1.0, NoPenalty())])
def test_words_without_a_largest_lam_are_refused(scale: float, penalty: Penalty) -> None:
    XD, gram = problem()
    with pytest.raises(InputError, match="a positive finite one is needed"):
        lam_for_density(scale * XD, gram, penalty, 0.3)


def test_words_may_be_tensors() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    XD, gram = problem()
    penalty = ForestL2(FOREST, 1.0)
    found = lam_for_density(torch.from_numpy(XD), Gram(torch.from_numpy(gram.DD)), penalty, 0.3)
    assert found == pytest.approx(lam_for_density(XD, gram, penalty, 0.3), rel=1e-9)


def on_at(XD: np.ndarray, gram: Gram, price: float) -> float:
    return density(pursuit(XD, gram, MostActive(FOREST, 26, price=price)).A)


@pytest.mark.parametrize("near", [0.0, 0.01, 0.3, 100.0])
@pytest.mark.parametrize("wanted", [0.05, 0.3])
def test_a_price_is_found_from_wherever_the_search_starts(wanted: float, near: float) -> None:
    XD, gram = problem()
    price = lam_for_density(XD, gram, MostActive(FOREST, 26), wanted, near=near)
    assert on_at(XD, gram, price) == pytest.approx(wanted, rel=0.01)


def test_a_price_near_the_last_one_takes_fewer_trials() -> None:
    XD, gram = problem()
    price = lam_for_density(XD, gram, MostActive(FOREST, 26), 0.3)
    trials = dict.fromkeys((0.0, 1.05 * price), 0)

    def counted(near: float, codes: np.ndarray) -> float:
        trials[near] += 1
        return density(codes)

    for near in trials:
        lam_for_density(XD, gram, MostActive(FOREST, 26), 0.3, near=near, density_of=partial(counted, near))
    assert trials[1.05 * price] < trials[0.0]


def test_where_fewer_nodes_than_wanted_can_be_on_more_of_them_do_not_pay() -> None:
    XD, gram = problem()
    price = lam_for_density(XD, gram, MostActive(FOREST, 5), 0.5)  # at most 5 of 26
    codes = pursuit(XD, gram, MostActive(FOREST, 5, price=price)).A
    assert ((codes != 0).sum(axis=1) == 5).all()


def test_rows_of_zeros_and_atoms_of_zeros_have_no_price() -> None:
    XD, gram = problem()
    assert lam_for_density(0 * XD, gram, MostActive(FOREST, 26), 0.3) == 0
    assert lam_for_density(0 * XD, Gram(0 * gram.DD), MostActive(FOREST, 26), 0.3) == 0
    assert lam_for_density(0 * XD, gram, MostActive(FOREST, 26), 0.3, near=2.0) == 2  # what was found before
    XD[::2] = 0
    assert on_at(XD, gram, lam_for_density(XD, gram, MostActive(FOREST, 26), 0.2)) == pytest.approx(0.2, rel=0.01)


def test_rows_that_are_all_equal_have_the_closest_price() -> None:
    XD, gram = np.repeat([[3.0, 2.0, 1.0]], 5, axis=0), Gram(np.eye(3))
    bound = MostActive(Forest.flat(3), 3)
    assert 4 <= lam_for_density(XD, gram, bound, 0.4) < 9  # one of three is on; two are further from 0.4
