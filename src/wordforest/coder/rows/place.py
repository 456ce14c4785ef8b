"""Any matrix as Rows: the only place that looks at the type of X."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordforest.coder.rows.base import Rows
from wordforest.coder.rows.host import HostRows
from wordforest.errors import InputError
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.threads import Executor


def as_rows(X: Any, executor: Executor | None = None) -> Rows:
    """Return a SciPy sparse matrix, an array or a PyTorch tensor as Rows; Rows as they are.

    Tensors stay on their device; all else becomes floats in this machine's memory, or in that of an ``executor`` that
    is a cluster.
    """
    if isinstance(X, Rows):
        return X
    if type(X).__module__.partition(".")[0] == "torch":
        from wordforest.coder.rows.device import DenseDeviceRows

        return DenseDeviceRows(X)
    X = as_floats(X)
    if isinstance(executor, Cluster):
        from wordforest.coder.rows.cluster import ClusterRows, HeldRows

        return ClusterRows(HeldRows(X), executor)
    return HostRows(X, executor)


def place_rows(X: Any, device: str, n_components: int, executor: Executor | None = None) -> Rows:
    """Return a matrix as Rows on a device: ``cpu``, or ``cuda``, to which it is streamed where it does not fit."""
    if isinstance(X, Rows) or device == "cpu":
        return as_rows(X, executor)
    if isinstance(executor, Cluster):
        raise InputError(f"device = {device}, but a cluster computes on processors. Leave out the one or the other.")
    X = as_floats(X)
    if isinstance(X, np.ndarray):
        import torch

        return as_rows(torch.as_tensor(X, device=device))
    from wordforest.coder.rows.streamed import resident_or_streamed

    return resident_or_streamed(X, device, n_components)


def as_floats(X: Any) -> Any:
    """Return X as the kernels want it: floats, dense, or CSR with sorted columns and no position stored twice."""
    if hasattr(X, "tocsr"):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InputError(
            f"X is {X.dtype} of shape {X.shape}, but a matrix of numbers is needed, a row a word. Convert it."
        )
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
