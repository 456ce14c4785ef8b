"""Random numbers from counters, the same on every device; products of tensors, and bounds of their eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest

from tests.coder.shared import DEVICES
from wordforest.coder import kernels
from wordforest.coder.dictionary import random_columns
from wordforest.coder.kernels import arrays, on_host

torch = pytest.importorskip("torch", reason="the device is PyTorch's")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (5000, 39), (9001, 3)])
def test_a_device_draws_the_bits_of_the_processor(device: str, nonnegative: bool, shape: tuple[int, int]) -> None:
    here = random_columns(shape, 7, nonnegative=nonnegative)
    there = random_columns(shape, 7, nonnegative=nonnegative, like=torch.zeros(1, dtype=torch.float64, device=device))
    assert there.dtype == torch.float32
    np.testing.assert_array_equal(on_host(there), here)


def test_columns_are_directions_that_have_nothing_to_do_with_each_other() -> None:
    D = random_columns((4000, 50), 0).astype(float)
    np.testing.assert_allclose((D * D).sum(0), 1, rtol=1e-6)
    cosines = (D.T @ D)[np.triu_indices(50, 1)] * 4000**0.5  # about normal
    assert abs(cosines).max() < 5
    assert cosines.std() == pytest.approx(1, abs=0.1)
    values = D * 4000**0.5
    assert abs(values.mean()) < 5 / values.size**0.5
    assert (values**4).mean() == pytest.approx(2.7, abs=0.05)  # of four uniform numbers; 3 is that of normal ones
    neighbours = (values[1:] * values[:-1]).mean(), (values[:, 1:] * values[:, :-1]).mean()
    assert max(map(abs, neighbours)) < 5 / values.size**0.5


def test_another_seed_draws_others() -> None:
    assert (random_columns((100, 3), 0) != random_columns((100, 3), 1)).mean() > 0.99


def test_random_numbers_are_spread_evenly() -> None:
    drawn = torch.empty((50_000, 1))
    for key in (12345, 12346):
        assert float(arrays.fill_random(key, 0, False, drawn)[0]) == float((drawn.double() ** 2).sum())
        assert abs(float(drawn.mean())) < 5 * float(drawn.std()) / 50_000**0.5
        assert float(drawn.std()) == pytest.approx(0xFFFF / 3**0.5, rel=0.02)  # of four uniform numbers of 16 bits
    first = drawn.clone()
    arrays.fill_random(12346, 7, False, drawn)
    assert torch.equal(drawn[:-7], first[7:])  # any of them without those before
    arrays.fill_random(12345, 0, False, drawn)
    assert not torch.equal(drawn, first)


def test_directions_without_negatives_have_length_one() -> None:
    D = random_columns((50, 7), 0, nonnegative=True)
    assert D.min() > 0
    np.testing.assert_allclose(np.linalg.norm(D, axis=0), 1, atol=1e-6)


def spectrum(*eigenvalues: float) -> np.ndarray:
    """Return a symmetric matrix with these eigenvalues, and no axis in common with them."""
    turned, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((len(eigenvalues),) * 2))
    return (turned * eigenvalues) @ turned.T


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "eigenvalues",
    [(2.0,), (1.0, 1.0, 1.0), (3.0, 0.5, 2e-4), np.geomspace(7, 0.05, 60), np.full(200, 0.4), (1.0, 0.0), (0.0, 0.0)],
)
def test_no_eigenvalue_lies_outside_of_the_bounds(device: str, eigenvalues: tuple[float, ...]) -> None:
    S = torch.as_tensor(spectrum(*eigenvalues), device=device)
    low, high = kernels.extreme_eigenvalues(S, 1e-4)
    smallest, largest = min(eigenvalues), max(eigenvalues)
    spare = len(eigenvalues) ** (1 / 256)  # how far the root of a trace may be from the largest
    assert largest <= high + 1e-12 <= largest * spare + 1e-9
    assert low <= smallest + 1e-12
    if smallest > 1e-4 * largest:
        assert low >= (smallest + 1e-4 * high) / spare - 1e-4 * high - 1e-9
    exact = kernels.extreme_eigenvalues(spectrum(*eigenvalues), 1e-4)
    np.testing.assert_allclose(exact, (smallest, largest), atol=1e-12)


def test_bounds_of_what_is_no_number_are_none() -> None:
    assert np.isnan(float(arrays._largest_bound(torch.full((3, 3), float("nan"), dtype=torch.float64))))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("n", [3, 1024, 2500])
def test_products_of_tall_tensors_are_those_of_arrays(device: str, n: int) -> None:
    rng = np.random.default_rng(n)
    R, D, of_R, of_D = (rng.standard_normal(shape).astype(np.float32) for shape in ((n, 8), (n, 8), (8, 8), (8, 8)))
    on = [torch.as_tensor(part, device=device) for part in (R, D, of_R, of_D)]
    for found, expected in zip(kernels.block_products(*on[:2]), (R.T @ R, R.T @ D), strict=True):
        assert found.dtype == torch.float64
        np.testing.assert_allclose(on_host(found), expected, atol=1e-5 * n)
    found = kernels.combined(on[0], on[2], on[1], on[3])
    np.testing.assert_allclose(on_host(found), R @ of_R + D @ of_D, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_an_inverse_by_cholesky_is_the_inverse(device: str) -> None:
    S = spectrum(*np.geomspace(1, 1e-3, 40))
    np.testing.assert_allclose(on_host(kernels.inverse(torch.as_tensor(S, device=device))), np.linalg.inv(S), rtol=1e-9)
