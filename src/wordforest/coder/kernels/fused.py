"""Sparse products on a GPU in Triton. Every sum runs in a fixed order, so the same input gives the same bits.

Long rows are cut into segments, a program each, since by Zipf's law a few rows hold much of the matrix; a second kernel
adds the segments of a row in their order.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

Tensor = Any
_SEGMENT = 1024  # entries of a row that one program takes
_ENTRIES = 16  # entries loaded together
_WIDEST = 256  # columns of a program


@triton.jit  # type: ignore[untyped-decorator]
def _sum_segments(  # type: ignore[no-untyped-def]
    begins, ends, indices, values, B, out, M, WIDTH: tl.constexpr, ENTRIES: tl.constexpr
):
    """out[s] = sum over the entries (c, x) of segment s of x B[c]."""
    s = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    inside = columns < M
    first, last = tl.load(begins + s), tl.load(ends + s)
    total = tl.zeros([WIDTH], dtype=out.dtype.element_ty)
    for k in range(first, last, ENTRIES):
        entry = k + tl.arange(0, ENTRIES)
        valid = entry < last
        c = tl.load(indices + entry, mask=valid, other=0).to(tl.int64)
        x = tl.load(values + entry, mask=valid, other=0.0)
        b = tl.load(B + c[:, None] * M + columns[None, :], mask=valid[:, None] & inside[None, :], other=0.0)
        total += tl.sum(x[:, None] * b, axis=0)
    tl.store(out + s * M + columns, total, mask=inside)


@triton.jit  # type: ignore[untyped-decorator]
def _sum_rows(firsts, parts, out, M, ADD: tl.constexpr, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]
    """out[i] (+)= the segments of row i, parts[firsts[i]] and on, in their order."""
    i = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    inside = columns < M
    total = tl.zeros([WIDTH], dtype=out.dtype.element_ty)
    for s in range(tl.load(firsts + i), tl.load(firsts + i + 1)):
        total += tl.load(parts + s * M + columns, mask=inside, other=0.0)
    target = out + i * M + columns
    if ADD:
        total += tl.load(target, mask=inside, other=0.0)
    tl.store(target, total, mask=inside)


def rows_times(chosen: Tensor, csr: tuple[Tensor, Tensor, Tensor], B: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the product of chosen rows of a CSR matrix (starts, indices, values) with B, shape (len(chosen), M).

    ``out`` is added to, if it is given.
    """
    starts, indices, values = csr
    B, M, add = B.contiguous(), B.shape[1], out is not None
    out = out if add else B.new_empty((len(chosen), M))
    firsts, begins, ends, _ = cut_into_segments(starts[chosen], starts[chosen + 1])
    parts = B.new_empty((len(begins), M))
    width = min(_WIDEST, triton.next_power_of_2(M))
    tiles = triton.cdiv(M, width)
    with torch.cuda.device(B.device):
        if len(begins):
            _sum_segments[(len(begins), tiles)](
                begins, ends, indices, values, B, parts, M, WIDTH=width, ENTRIES=_ENTRIES, num_warps=4
            )
    return sum_rows(firsts, parts, out, add=add)


def sum_rows(firsts: Tensor, parts: Tensor, out: Tensor, *, add: bool = False) -> Tensor:
    """Write the sums of the segments of every row into ``out``, or add them; return it."""
    M = out.shape[1]
    width = min(_WIDEST, triton.next_power_of_2(M))
    with torch.cuda.device(out.device):
        if len(out):
            _sum_rows[(len(out), triton.cdiv(M, width))](firsts, parts, out, M, ADD=add, WIDTH=width, num_warps=4)
    return out


def cut_into_segments(first: Tensor, last: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Cut ranges of entries into segments: where those of each row begin (n + 1,); begin, end and row of each."""
    counts = (last - first + _SEGMENT - 1) // _SEGMENT
    total = torch.cumsum(counts, 0)
    firsts = torch.cat([total.new_zeros(1), total])
    row = torch.repeat_interleave(torch.arange(len(counts), device=counts.device), counts)
    begins = first[row] + (torch.arange(len(row), device=row.device) - firsts[row]) * _SEGMENT
    return firsts, begins, torch.minimum(begins + _SEGMENT, last[row]), row


_SAMPLED_ENTRIES = 8  # pairs loaded together


@triton.jit  # type: ignore[untyped-decorator]
def _sample_segments(  # type: ignore[no-untyped-def]
    begins, ends, owners, indices, excess, F, A, out, M, WIDTH: tl.constexpr, ENTRIES: tl.constexpr
):
    """out[s] = sum over the pairs (c, e) of segment s of e (f_c . a) f_c, with a the row that owns the segment."""
    s = tl.program_id(0).to(tl.int64)
    columns = tl.arange(0, WIDTH)
    inside = columns < M
    first, last = tl.load(begins + s), tl.load(ends + s)
    a = tl.load(A + tl.load(owners + s) * M + columns, mask=inside, other=0.0)
    total = tl.zeros([WIDTH], dtype=out.dtype.element_ty)
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
    firsts, *segments = cut_into_segments(starts[chosen], starts[chosen + 1])
    parts = F.new_empty((len(segments[0]), M))
    how = {"WIDTH": triton.next_power_of_2(M), "ENTRIES": _SAMPLED_ENTRIES, "num_warps": 4 if M <= 128 else 8}
    with torch.cuda.device(F.device):
        if len(parts):
            _sample_segments[(len(parts),)](*segments, indices, excess, F, A, parts, M, **how)
    return sum_rows(firsts, parts, out)


@triton.jit  # type: ignore[untyped-decorator]
def _move_atoms(AA, products, new, change, B, SIZE: tl.constexpr, WIDE: tl.constexpr):  # type: ignore[no-untyped-def]
    """One program: the sequence of ``compiled.move_atoms``, each step by all threads. Rows of ``change`` are WIDE."""
    i, j = tl.arange(0, WIDE), tl.arange(0, SIZE)
    inside = i < 2 * B
    P = tl.load(products + i[:, None] * (2 * B) + i[None, :], mask=inside[:, None] & inside[None, :], other=0.0)
    for b in range(B):
        own = tl.load(AA + b * B + b)
        used = own > 0
        before = j < b
        weights = tl.load(AA + j * B + b, mask=before, other=0.0)
        moved = tl.load(change + j[:, None] * WIDE + i[None, :], mask=before[:, None] & inside[None, :], other=0.0)
        old = tl.where(i == B + b, 1.0, 0.0).to(tl.float64)
        u = tl.where(i == b, 1.0, 0.0).to(tl.float64) - tl.sum(moved * weights[:, None], axis=0)
        u = old + u / tl.where(used, own, 1.0)
        part = tl.sum(P * u[:, None], axis=0)  # products are symmetric
        square = tl.sum(u * part, axis=0)
        length = tl.sqrt(tl.maximum(square, 1.0))
        u = tl.where(used, u / length, old)
        tl.store(new + b * (2 * B) + i, u, mask=inside)
        tl.store(change + b * WIDE + i, u - old, mask=inside)
        tl.debug_barrier()


def move_atoms(AA: Tensor, products: Tensor) -> Tensor:
    """Return the moves of a block of atoms, (B, 2 B), for AA (B, B) and inner products (2 B, 2 B), float64."""
    B = len(AA)
    size = triton.next_power_of_2(max(B, 8))
    new, change = AA.new_empty((B, 2 * B)), AA.new_empty((B, 2 * size))
    with torch.cuda.device(AA.device):
        _move_atoms[(1,)](AA.contiguous(), products.contiguous(), new, change, B, SIZE=size, WIDE=2 * size, num_warps=8)
    return new
