from __future__ import annotations

from collections.abc import Iterator

import pytest

from wordforest.runtime.cluster import Cluster


@pytest.fixture(scope="session", autouse=True)
def _one_thread_for_tensors() -> None:
    """Tensors are small here: threads of PyTorch would only wait for each other."""
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A Dask cluster of two processes on this machine, for all tests that need one."""
    pytest.importorskip("distributed")
    with Cluster.connect("local:2") as started:
        yield started
