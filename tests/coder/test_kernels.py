"""One contract for every kernel: all writings return what the plain one returns."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tests.strategies import forests_with_rows, weighted_forests_with_rows
from wordforest.coder import kernels
from wordforest.coder.forest import Forest
from wordforest.coder.kernels import arrays, plain

TOLERANCE = {np.float64: 1e-12, np.float32: 1e-5}


def as_numpy(array: Any) -> Any:
    return array


def as_torch(array: Any) -> Any:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    return torch.from_numpy(np.ascontiguousarray(array))


def as_cuda(array: Any) -> Any:
    return as_torch(array).cuda()


def has_card() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


CARD = [pytest.mark.gpu, pytest.mark.skipif(not has_card(), reason="no CUDA card here")]
WRITINGS = [
    pytest.param(kernels, as_numpy, id="compiled"),
    pytest.param(arrays, as_numpy, id="arrays-numpy"),
    pytest.param(arrays, as_torch, id="arrays-torch"),
    pytest.param(kernels, as_torch, id="dispatched-torch"),
    pytest.param(arrays, as_cuda, id="arrays-card", marks=CARD),
    pytest.param(kernels, as_cuda, id="dispatched-card", marks=CARD),
]
DTYPES = [np.float64, np.float32]
every_writing = pytest.mark.parametrize(("writing", "to"), WRITINGS)
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


PROXES = ["forest_prox", "forest_max_prox"]
NORMS = ["forest_norms", "forest_max_norms"]


@every_writing
@every_dtype
@pytest.mark.parametrize("name", PROXES)
@given(case=weighted_forests_with_rows())
def test_proxes_with_a_threshold_for_each_node(
    writing: ModuleType, to: Any, dtype: Any, name: str, case: tuple[Forest, np.ndarray, np.ndarray]
) -> None:
    forest, A, thresholds = case
    A = A.astype(dtype)
    expected = getattr(plain, name)(A.astype(np.float64), forest, thresholds)
    close(getattr(writing, name)(to(A), forest, thresholds), expected, dtype)


@every_writing
@every_dtype
@pytest.mark.parametrize("name", PROXES)
@given(case=forests_with_rows(), threshold=st.floats(0, 5))
def test_proxes_with_one_threshold_for_all_nodes(
    writing: ModuleType, to: Any, dtype: Any, name: str, case: tuple[Forest, np.ndarray], threshold: float
) -> None:
    forest, A = case
    A = A.astype(dtype)
    expected = getattr(plain, name)(A.astype(np.float64), forest, threshold)
    close(getattr(writing, name)(to(A), forest, threshold), expected, dtype)


@every_writing
@pytest.mark.parametrize("name", PROXES)
@pytest.mark.parametrize("n_rows", [0, 1, 63, 64, 65, 201])  # around the tiles of the compiled writing
def test_proxes_of_any_number_of_rows(writing: ModuleType, to: Any, name: str, n_rows: int) -> None:
    A = np.random.default_rng(1).standard_normal((n_rows, 52))
    forest, thresholds = Forest.complete(4), np.linspace(0.1, 0.5, 52)
    close(getattr(writing, name)(to(A), forest, thresholds), getattr(plain, name)(A, forest, thresholds), np.float64)


@every_writing
@pytest.mark.parametrize("name", PROXES)
def test_proxes_do_not_hide_a_value_that_is_no_number(writing: ModuleType, to: Any, name: str) -> None:
    forest = Forest.complete(1)
    for i in range(len(forest)):
        A = np.ones((1, len(forest)))
        A[0, i] = np.nan
        assert np.isnan(kernels.on_host(getattr(writing, name)(to(A), forest, 0.1))[0, i])


def test_the_bits_of_a_row_do_not_depend_on_the_rows_around_it() -> None:
    A = np.random.default_rng(2).standard_normal((150, 52)).astype(np.float32)
    forest = Forest.complete(4)
    alone = [kernels.forest_prox(A[i : i + 1], forest, 0.3) for i in range(len(A))]
    np.testing.assert_array_equal(kernels.forest_prox(A, forest, 0.3), np.concatenate(alone))


@every_writing
@every_dtype
@pytest.mark.parametrize("name", NORMS)
@given(case=weighted_forests_with_rows())
def test_norms(
    writing: ModuleType, to: Any, dtype: Any, name: str, case: tuple[Forest, np.ndarray, np.ndarray]
) -> None:
    forest, A, weights = case
    A = A.astype(dtype)
    close(getattr(writing, name)(to(A), forest, weights), getattr(plain, name)(A, forest, weights), np.float64)


@every_writing
@every_dtype
def test_times_dictionary(writing: ModuleType, to: Any, dtype: Any) -> None:
    p, rows = problem(dtype), np.array([3, 5, 39, 0])
    close(
        writing.times_dictionary(to(p["X"]), to(rows), to(p["D"])), plain.times_dictionary(p["X"], rows, p["D"]), dtype
    )


@every_dtype
def test_times_dictionary_of_a_sparse_matrix(dtype: Any) -> None:
    p, rows = problem(dtype), np.array([3, 5, 39, 0])
    close(kernels.times_dictionary(sparse.csr_array(p["X"]), rows, p["D"]), p["X"][rows] @ p["D"], dtype)


@every_writing
@every_dtype
def test_add_times_codes(writing: ModuleType, to: Any, dtype: Any) -> None:
    p, rows = problem(dtype), np.array([3, 5, 39, 0])
    expected, actual = np.ones((30, 39), dtype), to(np.ones((30, 39), dtype))
    for contexts in ((0, 11), (11, 30)):
        plain.add_times_codes(p["X"], rows, p["A"][rows], contexts, expected)
        writing.add_times_codes(to(p["X"]), to(rows), to(p["A"][rows]), contexts, actual)
    close(actual, expected, dtype)


@every_dtype
def test_add_times_codes_of_a_sparse_matrix(dtype: Any) -> None:
    p, rows = problem(dtype), np.array([3, 5, 39, 0])
    actual = np.ones((30, 39), dtype)
    for contexts in ((0, 11), (11, 30)):
        kernels.add_times_codes(sparse.csr_array(p["X"]), rows, p["A"][rows], contexts, actual)
    close(actual, 1 + p["X"][rows].T @ p["A"][rows], dtype)


def test_sparse_products_do_not_depend_on_where_contexts_are_cut() -> None:
    p, rows = problem(np.float32), np.arange(40)
    X = sparse.csr_array(p["X"])
    whole, parts = np.zeros((30, 39), np.float32), np.zeros((30, 39), np.float32)
    kernels.add_times_codes(X, rows, p["A"], (0, 30), whole)
    for contexts in ((0, 1), (1, 17), (17, 30)):
        kernels.add_times_codes(X, rows, p["A"], contexts, parts)
    np.testing.assert_array_equal(parts, whole)
