"""Any matrix becomes Rows, and only here does anyone look at its type."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from wordforest.coder.rows import Rows, as_rows, place_rows
from wordforest.coder.rows.device import DenseDeviceRows
from wordforest.coder.rows.host import HostRows, as_floats
from wordforest.errors import InputError
from wordforest.runtime.cluster import Cluster

EYE = np.eye(4, 3)


def test_rows_stay_what_they_are() -> None:
    rows = HostRows(EYE)
    assert as_rows(rows) is rows
    assert place_rows(rows, "cuda", 13) is rows


def test_tensors_stay_tensors() -> None:
    torch = pytest.importorskip("torch")
    rows = as_rows(torch.tensor(EYE))
    assert isinstance(rows, DenseDeviceRows)
    assert rows.dtype == np.float64


def test_whole_numbers_become_floats_and_floats_stay() -> None:
    assert as_floats(EYE.astype(np.int32)).dtype == np.float64
    single = EYE.astype(np.float32)
    assert as_floats(single) is single


def test_repeated_and_unsorted_entries_are_put_right_in_a_copy() -> None:
    messy = sparse.csr_array((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    mended = as_floats(messy)
    assert mended.indices.tolist() == [0, 2]
    assert mended.data.tolist() == [2.0, 4.0]
    assert messy.indices.tolist() == [2, 0, 2]


@pytest.mark.parametrize("X", [EYE[0], EYE[None], EYE.astype(complex), EYE.astype(str)], ids=["1", "3", "i", "s"])
def test_what_is_no_matrix_of_numbers_is_refused(X: np.ndarray) -> None:
    with pytest.raises(InputError, match="a matrix of numbers is needed"):
        as_rows(X)


def test_a_gpu_beside_a_cluster_is_refused() -> None:
    cluster = Cluster(SimpleNamespace(scheduler=SimpleNamespace(address="tcp://127.0.0.1:8786")))
    with pytest.raises(InputError, match="a cluster computes on processors"):
        place_rows(EYE, "cuda", 13, cluster)


def test_a_matrix_may_be_any_home() -> None:
    assert all(isinstance(as_rows(X), Rows) for X in (EYE, sparse.csr_array(EYE), sparse.coo_array(EYE)))
