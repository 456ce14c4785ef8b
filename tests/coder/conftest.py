from __future__ import annotations

import pytest


@pytest.fixture(scope="session", autouse=True)
def _one_thread_for_tensors() -> None:
    """Tensors are small here: threads of PyTorch would only wait for each other."""
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(1)
