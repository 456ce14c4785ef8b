"""Kernels on a GPU in Triton: sparse products, moves of atoms, prox and value of the forest penalty.

Every sum runs in a fixed order, so the same input gives the same bits.

Long rows are cut into segments, a program each, since by Zipf's law a few rows hold much of the matrix; a second kernel
adds the segments of a row in their order.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from wordforest.coder.forest import Forest

Tensor = Any
_SEGMENT = 1024  # entries of a row that one program takes
_WIDEST = 256  # columns of a program
_LOADED = 4096  # numbers that a program loads together
_MOST_ENTRIES = 128  # entries loaded together


@triton.jit  # type: ignore[untyped-decorator]
def _sum_segments(  # type: ignore[no-untyped-def]
    begins, ends, indices, values, B, out, M, FIRST: tl.constexpr, WIDTH: tl.constexpr, ENTRIES: tl.constexpr
):
    """out[s] = sum over the entries (c, x) of segment s of x B[c], columns from FIRST on."""
    s = tl.program_id(0).to(tl.int64)
    columns = FIRST + tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
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
    with torch.cuda.device(B.device):
        for first, width, tiles in _tiles(M) if len(begins) else ():
            how = {"WIDTH": width, "ENTRIES": min(_MOST_ENTRIES, _LOADED // width), "num_warps": 4 if width > 32 else 1}
            _sum_segments[(len(begins), tiles)](begins, ends, indices, values, B, parts, M, FIRST=first, **how)
    return sum_rows(firsts, parts, out, add=add)


def _tiles(M: int) -> list[tuple[int, int, int]]:
    """Cut M columns into tiles for programs: first column, width and number of the widest, then of what is left.

    520 columns are two tiles of 256 and one of 8: a third one of 256 would load as much again for nothing.
    """
    whole, left = divmod(M, _WIDEST)
    wide = [(0, _WIDEST, whole)] if whole else []
    return [*wide, (whole * _WIDEST, triton.next_power_of_2(left), 1)] if left else wide


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


_CELLS = 1024  # numbers of a tile


@triton.jit  # type: ignore[untyped-decorator]
def _prox(  # type: ignore[no-untyped-def]
    A, out, thresholds, leaves, trees, inner, n, M, WORDS: tl.constexpr, NODES: tl.constexpr
):
    """Shrink the groups of one tree, leaves before their parents; ``trees`` holds first node, end, first inner, end."""
    v = (tl.program_id(0) * WORDS + tl.arange(0, WORDS)).to(tl.int64)
    tree = trees + 4 * tl.program_id(1)
    node = tl.load(tree) + tl.arange(0, NODES)
    mine = node < tl.load(tree + 1)
    inside = (v < n)[:, None] & mine[None, :]
    place = v[:, None] * M + node[None, :]
    a = tl.load(A + place, mask=inside, other=0.0)
    t = (tl.load(thresholds + node, mask=mine, other=0.0) * tl.load(leaves + node, mask=mine, other=0.0))[None, :]
    size = tl.abs(a)
    alive = size > t
    a = a * tl.where(alive, 1.0 - t / tl.where(alive, size, 1.0), 0.0)  # what is no number stays none
    i, last = tl.load(tree + 2), tl.load(tree + 3)
    while i < last:
        first = tl.load(inner + 2 * i)
        member = ((node >= first) & (node < tl.load(inner + 2 * i + 1)))[None, :]
        norm = tl.sqrt(tl.sum(tl.where(member, a * a, 0.0), axis=1))
        threshold = tl.load(thresholds + first)
        kept = norm > threshold
        left = tl.where(kept, 1.0 - threshold / tl.where(kept, norm, 1.0), 0.0)
        a = tl.where(member, a * left[:, None], a)
        i += 1
    tl.store(out + place, a, mask=inside)


@triton.jit  # type: ignore[untyped-decorator]
def _norms(  # type: ignore[no-untyped-def]
    A, out, weights, leaves, trees, inner, n, M, WORDS: tl.constexpr, NODES: tl.constexpr
):
    """out[tree, v] = the weighted sum of the lengths of the groups of one tree, float64."""
    v = (tl.program_id(0) * WORDS + tl.arange(0, WORDS)).to(tl.int64)
    tree = trees + 4 * tl.program_id(1)
    node = tl.load(tree) + tl.arange(0, NODES)
    mine = node < tl.load(tree + 1)
    inside = (v < n)[:, None] & mine[None, :]
    a = tl.load(A + v[:, None] * M + node[None, :], mask=inside, other=0.0).to(tl.float64)
    w = tl.load(weights + node, mask=mine, other=0.0) * tl.load(leaves + node, mask=mine, other=0.0)
    total = tl.sum(tl.abs(a) * w[None, :], axis=1)
    a = a * a
    i, last = tl.load(tree + 2), tl.load(tree + 3)
    while i < last:
        first = tl.load(inner + 2 * i)
        member = ((node >= first) & (node < tl.load(inner + 2 * i + 1)))[None, :]
        total += tl.load(weights + first) * tl.sqrt(tl.sum(tl.where(member, a, 0.0), axis=1))
        i += 1
    tl.store(out + tl.program_id(1).to(tl.int64) * n + v, total, mask=v < n)


def forest_prox(A: Tensor, forest: Forest, thresholds: Any) -> Tensor:
    """Return the prox of every row of A, shape (V, M)."""
    A = A.contiguous()
    out = torch.empty_like(A)
    _launch(_prox, A, out, forest, _per_node(thresholds, A, A.dtype))
    return out


def forest_norms(A: Tensor, forest: Forest, weights: Any) -> Tensor:
    """Return the weighted sum of the lengths of all groups of every row, shape (V,), float64."""
    out = torch.empty((len(forest.roots), len(A)), dtype=torch.float64, device=A.device)
    _launch(_norms, A.contiguous(), out, forest, _per_node(weights, A, torch.float64))
    return out.sum(0)


def _launch(kernel: Any, A: Tensor, out: Tensor, forest: Forest, per_node: Tensor) -> None:
    trees, inner, leaves, nodes = _tables(forest, per_node.dtype, A.device)
    words = max(1, _CELLS // nodes)
    if len(A):
        with torch.cuda.device(A.device):
            kernel[(triton.cdiv(len(A), words), len(trees))](
                A, out, per_node, leaves, trees, inner, len(A), A.shape[1], WORDS=words, NODES=nodes, num_warps=4
            )


@lru_cache(maxsize=32)
def _tables(forest: Forest, dtype: Any, device: Any) -> tuple[Tensor, Tensor, Tensor, int]:
    """Each tree's first node and end, and where its inner groups are; these, children first; which nodes are leaves."""
    numbers = np.arange(len(forest))
    roots = np.asarray(forest.roots)
    ends = forest.end[roots]
    leaf = forest.end == numbers + 1
    groups = [numbers[root:end][~leaf[root:end]][::-1] for root, end in zip(roots, ends, strict=True)]
    counts = np.concatenate(([0], np.cumsum([len(group) for group in groups])))
    inner = np.concatenate([np.zeros(0, dtype=np.int64), *groups]).astype(np.int64)
    trees = np.stack((roots, ends, counts[:-1], counts[1:]), 1).astype(np.int32)
    pairs = np.stack((inner, forest.end[inner]), 1).astype(np.int32)
    tables = [torch.as_tensor(part, device=device) for part in (trees, pairs)]
    nodes = triton.next_power_of_2(int((ends - roots).max()))
    return tables[0], tables[1], torch.as_tensor(leaf, device=device).to(dtype), nodes


def _per_node(values: Any, A: Tensor, dtype: Any) -> Tensor:
    if isinstance(values, float | int):  # made there, not sent
        return torch.full(A.shape[1:], values, dtype=dtype, device=A.device)
    return torch.as_tensor(values, dtype=dtype, device=A.device).expand(A.shape[1:]).contiguous()
