"""Codes along a path of weights: denser and denser, and the same as from a cold start."""

from typing import Any

import numpy as np
import pytest

from wordforest.coder.certificate import lam_max
from wordforest.coder.coding import Codes, Gram, admm, fista
from wordforest.coder.forest import Forest
from wordforest.coder.lam import lam_for_density, lam_path
from wordforest.coder.penalties import L1, ForestL2, NonNegativeL1, NoPenalty, Penalty, with_lam
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
def test_a_path_runs_in_equal_ratios_from_the_largest_lam_down(penalty: Penalty) -> None:
    XD, gram = problem()
    lams = [point.lam for point in lam_path(XD, gram, penalty, n=5, smallest=1e-2)]
    np.testing.assert_allclose(lams, lam_max(XD, penalty) * 10.0 ** np.array([0, -0.5, -1, -1.5, -2]), rtol=1e-12)


@every_penalty
def test_codes_become_denser_along_the_path(penalty: Penalty) -> None:
    XD, gram = problem()
    densities = [point.density for point in lam_path(XD, gram, penalty, n=12)]
    assert densities[0] == 0
    assert densities[-1] > 0.3
    assert (np.diff(densities) > -0.01).all()  # a single code may leave again


@every_penalty
@pytest.mark.parametrize("solver", [admm, fista])
def test_a_warm_start_ends_where_a_cold_one_does(penalty: Penalty, solver: Any) -> None:
    XD, gram = problem()
    for point in lam_path(XD, gram, penalty, n=6, smallest=1e-2, solver=solver, tol=1e-10, max_iter=20_000)[1:]:
        cold = fista(XD, gram, with_lam(penalty, point.lam), tol=1e-10, max_iter=20_000).A
        np.testing.assert_allclose(point.A, cold, atol=1e-6)


def test_every_point_starts_from_the_one_before() -> None:
    XD, gram = problem()
    starts: list[np.ndarray] = []

    def recorded(XD: Any, gram: Gram, penalty: Penalty, *, start: Any = None, tol: float, max_iter: int) -> Codes:
        starts.append(start)
        return admm(XD, gram, penalty, start=start, tol=tol, max_iter=max_iter)

    points = lam_path(XD, gram, L1(1.0), n=4, smallest=0.01, solver=recorded)
    assert len(starts[-1]) == len(XD)  # no word is zero at the end
    np.testing.assert_array_equal(starts[-1], points[-2].A)


def test_words_with_zero_codes_do_not_hold_up_the_others() -> None:
    XD, gram = problem()
    XD[:50] *= 0.1
    points = lam_path(XD, gram, ForestL2(FOREST, 1.0), n=5, smallest=0.2, max_iter=5000)
    assert all((point.A[:50] == 0).all(1).any() for point in points)
    assert max(point.n_iter for point in points) < 1000


@every_penalty
@pytest.mark.parametrize("density", [0.05, 0.3, 0.45])
def test_the_wanted_density_is_found(penalty: Penalty, density: float) -> None:
    XD, gram = problem()
    lam = lam_for_density(XD, gram, penalty, density)
    A = fista(XD, gram, with_lam(penalty, lam), tol=1e-9, max_iter=20_000).A
    assert np.count_nonzero(A) / A.size == pytest.approx(density, abs=0.015)  # 0.01, and codes that are not settled


def test_no_density_is_the_largest_lam() -> None:
    XD, gram = problem()
    assert lam_for_density(XD, gram, L1(1.0), 0.0) == lam_max(XD, L1(1.0))


def test_the_closest_lam_is_returned_where_the_density_cannot_be_reached() -> None:
    XD, gram = problem()
    penalty = NonNegativeL1(1.0)
    lam = lam_for_density(XD, gram, penalty, 1.0)
    densest = max(point.density for point in lam_path(XD, gram, penalty, smallest=1e-6))
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


@pytest.mark.parametrize("options", [{"n": 0}, {"smallest": 0.0}, {"smallest": 1.0}])
def test_a_path_that_is_none_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="n >= 1 and 0 < smallest < 1"):
        lam_path(*problem(), L1(1.0), **options)


@pytest.mark.parametrize(("scale", "penalty"), [(0.0, L1(1.0)), (1.0, NoPenalty())])
def test_words_without_a_largest_lam_are_refused(scale: float, penalty: Penalty) -> None:
    XD, gram = problem()
    with pytest.raises(InputError, match="a path needs a positive finite one"):
        lam_path(scale * XD, gram, penalty)


def test_tensors_in_tensors_out() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    XD, gram = problem()
    penalty = ForestL2(FOREST, 1.0)
    points = lam_path(torch.from_numpy(XD), Gram(torch.from_numpy(gram.DD)), penalty, n=3, tol=1e-9, max_iter=5000)
    expected = lam_path(XD, gram, penalty, n=3, tol=1e-9, max_iter=5000)
    assert points[-1].density == expected[-1].density
    np.testing.assert_allclose(points[-1].A.numpy(), expected[-1].A, atol=1e-6)
