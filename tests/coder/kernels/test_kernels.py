"""One contract for every kernel: all implementations return what the plain one returns."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tests.coder import plain
from tests.coder.shared import ON_GPU
from tests.strategies import forests_with_rows, weighted_forests_with_rows
from wordforest.coder import kernels
from wordforest.coder.forest import Forest

TOLERANCE = {np.float64: 1e-12, np.float32: 1e-5}


def as_numpy(array: Any) -> Any:
    return array


def as_torch(array: Any) -> Any:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    return torch.from_numpy(np.ascontiguousarray(array))


def as_cuda(array: Any) -> Any:
    return as_torch(array).cuda()


IMPLEMENTATIONS = [
    pytest.param(as_numpy, id="compiled"),
    pytest.param(as_torch, id="torch"),
    pytest.param(as_cuda, id="gpu", marks=ON_GPU),
]
DTYPES = [np.float64, np.float32]
every_implementation = pytest.mark.parametrize("to", IMPLEMENTATIONS)
every_dtype = pytest.mark.parametrize("dtype", DTYPES)


def close(actual: Any, expected: np.ndarray, dtype: Any) -> None:
    scale = max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(kernels.on_host(actual), expected, atol=TOLERANCE[dtype] * scale, rtol=0)


def problem(dtype: Any, seed: int = 0) -> dict[str, Any]:
    """A sparse matrix with empty rows and columns, a dictionary, codes and their statistics."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((40, 30), density=0.2, rng=rng, dtype=np.float64).toarray()
    X[5], X[:, 7] = 0, 0
    D, A = rng.standard_normal((30, 39)), rng.standard_normal((40, 39))
    A[:, 3] = 0  # an atom nobody uses
    parts = {"X": X, "D": D / np.linalg.norm(D, axis=0), "A": A}
    return {name: part.astype(dtype) for name, part in parts.items()}


@every_implementation
@every_dtype
@given(case=weighted_forests_with_rows())
def test_proxes_with_a_threshold_for_each_node(
    to: Any, dtype: Any, case: tuple[Forest, np.ndarray, np.ndarray]
) -> None:
    forest, A, thresholds = case
    A = A.astype(dtype)
    expected = plain.forest_prox(A.astype(np.float64), forest, thresholds)
    close(kernels.forest_prox(to(A), forest, thresholds), expected, dtype)


@every_implementation
@every_dtype
@given(case=forests_with_rows(), threshold=st.floats(0, 5))
def test_proxes_with_one_threshold_for_all_nodes(
    to: Any, dtype: Any, case: tuple[Forest, np.ndarray], threshold: float
) -> None:
    forest, A = case
    A = A.astype(dtype)
    expected = plain.forest_prox(A.astype(np.float64), forest, threshold)
    close(kernels.forest_prox(to(A), forest, threshold), expected, dtype)


@every_implementation
@pytest.mark.parametrize("n_rows", [0, 1, 63, 64, 65, 201])  # around the tiles of the compiled implementation
def test_proxes_of_any_number_of_rows(to: Any, n_rows: int) -> None:
    A = np.random.default_rng(1).standard_normal((n_rows, 52))
    forest, thresholds = Forest.complete(4), np.linspace(0.1, 0.5, 52)
    close(kernels.forest_prox(to(A), forest, thresholds), plain.forest_prox(A, forest, thresholds), np.float64)


@every_implementation
def test_proxes_do_not_hide_a_value_that_is_no_number(to: Any) -> None:
    forest = Forest.complete(1)
    for i in range(len(forest)):
        A = np.ones((1, len(forest)))
        A[0, i] = np.nan
        assert np.isnan(kernels.on_host(kernels.forest_prox(to(A), forest, 0.1))[0, i])


def test_the_bits_of_a_row_do_not_depend_on_the_rows_around_it() -> None:
    A = np.random.default_rng(2).standard_normal((150, 52)).astype(np.float32)
    forest = Forest.complete(4)
    alone = [kernels.forest_prox(A[i : i + 1], forest, 0.3) for i in range(len(A))]
    np.testing.assert_array_equal(kernels.forest_prox(A, forest, 0.3), np.concatenate(alone))


@every_implementation
@every_dtype
@given(case=weighted_forests_with_rows())
def test_norms(to: Any, dtype: Any, case: tuple[Forest, np.ndarray, np.ndarray]) -> None:
    forest, A, weights = case
    A = A.astype(dtype)
    close(kernels.forest_norms(to(A), forest, weights), plain.forest_norms(A, forest, weights), np.float64)


@every_implementation
@pytest.mark.parametrize("n_atoms", [1, 8, 52, 64])
def test_atoms_move_one_after_the_other(to: Any, n_atoms: int) -> None:
    rng = np.random.default_rng(n_atoms)
    B, codes = n_atoms, rng.standard_normal((40, n_atoms))
    codes[:, B // 2] = 0  # an atom that no word uses stays
    parts = rng.standard_normal((300, 2 * B)) / 20  # R and the old atoms, of which some leave the unit ball
    AA, products = codes.T @ codes, parts.T @ parts
    R, D = parts[:, :B], parts[:, B:]
    expected = D.copy()
    for b in range(B):
        if AA[b, b] > 0:
            aimed = D[:, b] + (R[:, b] - (expected - D)[:, :b] @ AA[:b, b]) / AA[b, b]
            expected[:, b] = aimed / max(1, np.linalg.norm(aimed))
    new = kernels.on_host(kernels.move_atoms(to(AA), to(products)))  # (B, 2 B)
    np.testing.assert_allclose(parts @ new.T, expected, atol=1e-12)
