"""X from counts on a GPU, all pairs at once: what ``rows.py`` makes in memory, part by part."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from wordforest.coder import kernels
from wordforest.coder.losses import discount, weighing
from wordforest.coder.rows.base import Loss
from wordforest.coder.rows.device import DeviceCSR, DeviceRows, put_csr
from wordforest.coder.rows.streamed import room_on
from wordforest.counts.association import log_margins, positive
from wordforest.jobs.count import check_any
from wordforest.jobs.rows import Matrix

Tensor = Any

_PAIR_BYTES = 96  # that a pair takes at most while X is made: counts, rows, values, what is left of them, and sorting


def fits(counts: sparse.csr_array, matrix: Matrix) -> bool:
    """Say whether X can be made on the device."""
    shape = counts.shape[0], matrix.n_columns(counts)
    room = room_on(matrix.device, shape, np.dtype(matrix.dtype).itemsize, matrix.n_components)
    return bool(counts.nnz * _PAIR_BYTES <= room)


def device_rows(counts: sparse.csr_array, matrix: Matrix, unit: int) -> tuple[DeviceRows, Loss]:
    """Return X (V, C) and the loss over its pairs; ``unit`` is what a pair at distance one is counted as."""
    import torch

    own, least = weighing(matrix.weights), matrix.least
    starts, columns, n = put_csr(positive(counts, share_pattern=True), matrix.device).parts
    lengths = starts[1:] - starts[:-1]
    row = torch.repeat_interleave(torch.arange(len(lengths), device=n.device), lengths, output_size=len(n))
    n_v, n_c = (
        torch.bincount(place, n.double(), minlength=size).cpu().numpy()  # whole numbers: exact in any order
        for place, size in zip((row, columns), counts.shape, strict=True)
    )
    n = n.float()
    log_v, log_c = (kernels.placed(logs, n) for logs in log_margins(n_v, n_c, matrix.association.smoothing))
    x = n.log() - log_v[row] - log_c[columns]
    kept = torch.ones_like(x, dtype=torch.bool) if least is None else x > least
    x = x if least is None else x - least
    seen = n / unit
    if own.threshold is not None:
        factors = (kernels.placed(discount(sums, own.threshold), n) for sums in (n_v, n_c))
        seen = seen * next(factors)[row] * next(factors)[columns]
    if own.least is not None:
        kept &= seen >= own.least
    if not bool(kept.all()):
        starts = torch.cat([starts[:1], torch.cumsum(kept, 0)])[starts]
        x, seen, columns = x[kept], seen[kept], columns[kept]
    check_any(len(x), matrix.association.measure)
    weights = own(x, seen, float(seen.sum(dtype=torch.float64)) / max(1, len(seen)))
    X = DeviceCSR(starts, columns, x)
    if (S := matrix.spelling) is not None:
        others = put_csr(S, matrix.device)
        ones = others.values * 0 + 1 if own.of_counts else others.values.abs()
        weights = weights if weights is None else _beside(X, others, weights, ones)
        indices = _beside(X, others, columns, others.indices + counts.shape[1])
        X = DeviceCSR(starts + others.starts, indices, _beside(X, others, x, others.values))
    X = DeviceCSR(X.starts, X.indices, X.values.to(getattr(torch, matrix.dtype)))
    return DeviceRows(X, X.transposed(matrix.n_columns(counts))), Loss(weights, matrix.zeros)


def _beside(X: DeviceCSR, S: DeviceCSR, of_X: Tensor, of_S: Tensor) -> Tensor:
    """Return what the pairs of two matrices have, row by row, those of X first."""
    import torch

    out = of_X.new_empty(len(of_X) + len(of_S))
    for values, own, before in ((of_X, X, S.starts[:-1]), (of_S, S, X.starts[1:])):
        lengths = own.starts[1:] - own.starts[:-1]
        places = torch.arange(len(values), device=values.device)
        places += torch.repeat_interleave(before, lengths, output_size=len(values))
        out[places] = values.to(out.dtype)
    return out
