"""Products over stored pairs on a GPU in Triton, in a fixed order of sums. Each row of F is read once for both uses."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from wordforest.coder.kernels.fused import cut_into_segments, sum_rows

Tensor = Any

_ENTRIES = 8  # pairs loaded together


@triton.jit  # type: ignore[untyped-decorator]
def _sample_segments(  # type: ignore[no-untyped-def]
    begins, ends, owners, indices, excess, F, A, out, M, WIDTH: tl.constexpr, ENTRIES: tl.constexpr
):  # fmt: skip
    """out[s] = sum over the pairs (c, e) of segment s of e (f_c . a) f_c, with a the row that owns the segment."""
    s = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, WIDTH)
    inside = columns < M
    first, last = tl.load(begins + s), tl.load(ends + s)
    a = tl.load(A + tl.load(owners + s) * M + columns, mask=inside, other=0.0)
    total = tl.zeros([WIDTH], dtype=tl.float32)
    for k in range(first, last, ENTRIES):
        entry = k + tl.arange(0, ENTRIES)
        valid = entry < last
        c = tl.load(indices + entry, mask=valid, other=0).to(tl.int64)
        e = tl.load(excess + entry, mask=valid, other=0.0)
        f = tl.load(F + c[:, None] * M + columns[None, :], mask=valid[:, None] & inside[None, :], other=0.0)
        p = tl.sum(f * a[None, :], axis=1) * e
        total += tl.sum(p[:, None] * f, axis=0)
    tl.store(out + s * M + columns, total, mask=inside)


def sampled_times(chosen: Tensor, csr: tuple[Tensor, Tensor, Tensor], F: Tensor, A: Tensor) -> Tensor:
    """Return ``sum_c e_c (f_c . a_r) f_c`` for chosen rows of a CSR matrix (starts, indices, e), (len(chosen), M)."""
    starts, indices, excess = csr
    F, A, M = F.contiguous(), A.contiguous(), F.shape[1]
    out = F.new_empty((len(chosen), M))
    firsts, begins, ends, owners = cut_into_segments(starts[chosen], starts[chosen + 1])
    parts = F.new_empty((len(begins), M))
    with torch.cuda.device(F.device):
        if len(begins):
            _sample_segments[(len(begins),)](
                begins, ends, owners, indices, excess, F, A, parts, M,
                WIDTH=triton.next_power_of_2(M), ENTRIES=_ENTRIES, num_warps=4 if M <= 128 else 8,
            )  # fmt: skip
    return sum_rows(firsts, parts, out)
