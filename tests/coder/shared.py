"""What the tests of the coder share: devices, and a few matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from wordforest.coder.rows import Rows
from wordforest.coder.rows.cluster import ClusterRows, HeldRows
from wordforest.coder.rows.device import DenseDeviceRows, DeviceRows
from wordforest.coder.rows.host import HostRows
from wordforest.coder.rows.streamed import StreamedRows


def has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


WITH_TORCH = [pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")]
ON_GPU = [pytest.mark.gpu, pytest.mark.skipif(not has_gpu(), reason="no CUDA GPU here")]
DEVICES = ["cpu", pytest.param("cuda", marks=ON_GPU)]


def uneven_matrix(dtype: Any = np.float64, rows: int = 900) -> sparse.csr_array:
    """Rows of very unequal length, one without entries, one longer than a segment of the kernels."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((rows, 1300), density=0.04, rng=rng, format="lil", dtype=dtype)
    X[3], X[5] = 0, rng.standard_normal(1300)
    return sparse.csr_array(X.tocsr())


def low_rank_matrix(V: int = 300, C: int = 200, seed: int = 0, dtype: Any = np.float32) -> sparse.csr_array:
    """A sparse matrix with a few strong directions, some rows and one column empty."""
    rng = np.random.default_rng(seed)
    low_rank = rng.standard_normal((V, 8)) @ rng.standard_normal((8, C)) / 2
    X = np.where(rng.random((V, C)) < 0.15, low_rank + 0.3 * rng.standard_normal((V, C)), 0)
    X[::50] = 0
    X[:, 7] = 0
    return sparse.csr_array(X.astype(dtype))


def tensor(X: sparse.csr_array, device: str) -> Any:
    import torch

    return torch.tensor(X.toarray(), device=device)


@dataclass(frozen=True)
class Home:
    """Where X may live: ``put`` takes a CSR matrix, and threads or a cluster; ``dense`` ones store all pairs."""

    put: Callable[[sparse.csr_array, Any], Rows]
    dense: bool = False
    shares: str = ""  # what does the work there: threads, or a cluster; nothing where a device does it alone


def on_device(device: str) -> dict[str, Home]:
    """X on a device. A StreamedRows has room for a thousand entries at a time, so that X travels in several blocks."""
    return {
        "tensor": Home(lambda X, _: DenseDeviceRows(tensor(X, device)), dense=True),
        "device": Home(lambda X, _: DeviceRows.put(X, device)),
        "streamed": Home(lambda X, _: StreamedRows(X, device, 1)),
    }


ON_HOST = {
    "csr": Home(HostRows, shares="threads"),
    "array": Home(lambda X, threads: HostRows(X.toarray(), threads), dense=True, shares="threads"),
}
ON_CLUSTER = {
    "cluster-csr": Home(lambda X, cluster: ClusterRows(HeldRows(X), cluster), shares="cluster"),
    "cluster-array": Home(lambda X, cluster: ClusterRows(HeldRows(X.toarray()), cluster), dense=True, shares="cluster"),
}
HOMES: dict[str, Home] = {
    **ON_HOST,
    **on_device("cpu"),
    **{f"{name}-cuda": home for name, home in on_device("cuda").items()},
    **ON_CLUSTER,
}


def marks_of(name: str) -> list[Any]:
    """What a test of a home needs."""
    if name.endswith("cuda"):
        return ON_GPU
    if name in ON_CLUSTER:
        # Dask's sockets are closed by nobody
        unclosed = "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
        return [pytest.mark.cluster, *map(pytest.mark.filterwarnings, unclosed)]
    return WITH_TORCH if name in on_device("cpu") else []


WITHOUT_CLUSTER = [
    pytest.param(home, id=name, marks=marks_of(name)) for name, home in HOMES.items() if name not in ON_CLUSTER
]
