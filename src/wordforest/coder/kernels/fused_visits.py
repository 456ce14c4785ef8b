"""The visits of the entry learner on a GPU, in Triton: a program for each block of a round, which goes through its
visits one after the other. No program sees another's words or contexts, so the same input gives the same bits.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from wordforest.coder.kernels.entries import Rule, Visited
from wordforest.coder.kernels.visits import Shape, Visits

Tensor = Any

_SEGMENT = 1024  # pairs that one program sums
_TILE = 4096  # numbers of rows of D that it holds at a time


@triton.jit  # type: ignore[untyped-decorator]
def _visit_blocks(  # type: ignore[no-untyped-def]
    words,
    contexts,
    values,
    keeps,
    masses,
    starts,
    A,
    D,
    word_rates,
    context_rates,
    word_pull,
    context_pull,
    weights,
    inner,
    sane,
    M,
    limit,
    TREES: tl.constexpr,
    NODES: tl.constexpr,
    N: tl.constexpr,
    INNER: tl.constexpr,
    BY_MASS: tl.constexpr,
    PULLED: tl.constexpr,
    NONNEGATIVE: tl.constexpr,
):
    """Visit the entries of one block. A code lies as trees x nodes, (TREES, NODES), both padded; a tree has N nodes."""
    b = tl.program_id(0)
    tree, node = tl.arange(0, TREES), tl.arange(0, NODES)
    place = tree[:, None] * N + node[None, :]
    inside = (node < N)[None, :] & (tree * N < M)[:, None]
    weight = tl.load(weights + place, mask=inside, other=0.0)
    leaf = tl.zeros([NODES], dtype=tl.float32) + 1.0
    for i in tl.static_range(INNER):
        leaf = tl.where(node == tl.load(inner + 2 * i), 0.0, leaf)
    k, last = tl.load(starts + b), tl.load(starts + b + 1)
    while k < last:
        v, c = tl.load(words + k).to(tl.int64), tl.load(contexts + k).to(tl.int64)
        value, keep, mass = tl.load(values + k), tl.load(keeps + k), 1.0
        if BY_MASS:
            mass = tl.load(masses + k)
        of_d, of_a = D + c * M + place, A + v * M + place
        d = tl.load(of_d, mask=inside, other=0.0)
        a = tl.load(of_a, mask=inside, other=0.0)
        error = value - keep * tl.sum(tl.sum(d * a, axis=1), axis=0)
        ok = tl.abs(error) <= limit  # false for NaN, too
        step = 2.0 * tl.load(context_rates + 2 * c)
        step = step * mass
        d = (1.0 - step * tl.load(context_rates + 2 * c + 1)) * d + step * error * a
        if PULLED:
            d -= step * tl.load(context_pull + c * M + place, mask=inside, other=0.0)
        tl.store(of_d, d, mask=inside)
        error = value - keep * tl.sum(tl.sum(d * a, axis=1), axis=0)
        pace = 2.0 * tl.load(word_rates + 2 * v)
        pace = pace * mass
        a += pace * error * d
        if PULLED:
            a -= pace * tl.load(word_pull + v * M + place, mask=inside, other=0.0)
        if NONNEGATIVE:
            a = tl.maximum(a, 0.0)
        threshold = 0.5 * pace * tl.load(word_rates + 2 * v + 1)
        t = threshold * weight * leaf[None, :]
        a = a - tl.minimum(tl.maximum(a, -t), t)
        for i in tl.static_range(INNER):
            first = tl.load(inner + 2 * i)
            member = ((node >= first) & (node < tl.load(inner + 2 * i + 1)))[None, :]
            size = tl.sqrt(tl.sum(tl.where(member, a * a, 0.0), axis=1))
            t_i = threshold * tl.load(weights + tree * N + first, mask=tree * N < M, other=0.0)
            alive = size > t_i
            left = tl.where(alive, 1.0 - t_i / tl.where(alive, size, 1.0), 0.0)
            a = tl.where(member, a * left[:, None], a)
        tl.store(of_a, a, mask=inside)
        if not ok:
            tl.store(sane + b, 0)
        k = tl.where(ok, k + 1, last)
        tl.debug_barrier()  # the next visit may read what other threads of this program have written


@triton.jit  # type: ignore[untyped-decorator]
def _sum_pairs(  # type: ignore[no-untyped-def]
    words,
    contexts,
    values,
    weights,
    A,
    D,
    out,
    n,
    zeros,
    M,
    SEGMENT: tl.constexpr,
    PAIRS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    """out[s] = sum over the pairs of segment s of w (x - d.a)^2 - W (d.a)^2, float64."""
    s = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, WIDTH)
    total = tl.zeros([PAIRS], dtype=tl.float64)
    for k in range(0, SEGMENT, PAIRS):
        pair = s * SEGMENT + k + tl.arange(0, PAIRS)
        valid = pair < n
        v = tl.load(words + pair, mask=valid, other=0).to(tl.int64)
        c = tl.load(contexts + pair, mask=valid, other=0).to(tl.int64)
        inside = valid[:, None] & (column < M)[None, :]
        a = tl.load(A + v[:, None] * M + column[None, :], mask=inside, other=0.0)
        d = tl.load(D + c[:, None] * M + column[None, :], mask=inside, other=0.0)
        p = tl.sum(a.to(tl.float64) * d.to(tl.float64), axis=1)
        x = tl.load(values + pair, mask=valid, other=0.0).to(tl.float64)
        w = tl.load(weights + pair, mask=valid, other=0.0).to(tl.float64)
        total += w * (x - p) * (x - p) - tl.load(zeros) * p * p  # an invalid pair has w = p = 0
    tl.store(out + s, tl.sum(total, axis=0))


def visit_blocks(visits: Visits, words: Visited, contexts: Visited, shape: Shape, rule: Rule) -> Tensor:
    """Make the visits of a round, see ``visits.py``; all trees of the forest are alike."""
    A, D = words.vectors, contexts.vectors
    if shape.tree is None or not (A.is_contiguous() and D.is_contiguous()):
        raise AssertionError("rows must lie side by side, and trees be alike")
    n, inner = shape.tree
    trees, nodes = triton.next_power_of_2(A.shape[1] // n), triton.next_power_of_2(n)
    blocks = len(visits.starts) - 1
    sane = torch.ones(blocks, dtype=torch.int32, device=A.device)
    masses = visits.values if visits.masses is None else visits.masses
    weights = torch.as_tensor(np.asarray(shape.weights, dtype=np.float32), device=A.device)
    with _on(A):
        _visit_blocks[(blocks,)](
            visits.words,
            visits.contexts,
            visits.values,
            visits.keeps,
            masses,
            visits.starts,
            A,
            D,
            words.rates,
            contexts.rates,
            words.pull,
            contexts.pull,
            weights,
            torch.as_tensor(inner, device=A.device),
            sane,
            A.shape[1],
            rule.limit,
            TREES=trees,
            NODES=nodes,
            N=n,
            INNER=len(inner),
            BY_MASS=visits.masses is not None,
            PULLED=len(words.pull) > 0,
            NONNEGATIVE=shape.nonnegative,
            num_warps=1 if trees * nodes <= 256 else 2 if trees * nodes <= 512 else 4,
            num_stages=1,
        )
    return sane.bool().all()


def weighted_squares(pairs: tuple[Tensor, Tensor, Tensor, Tensor], zeros: float, A: Tensor, D: Tensor) -> float:
    """Return the loss of pairs, see ``visits.py``."""
    n = len(pairs[0])
    width = triton.next_power_of_2(A.shape[1])
    segments = triton.cdiv(n, _SEGMENT)
    out = torch.zeros(segments, dtype=torch.float64, device=A.device)
    if segments:
        with _on(A):
            _sum_pairs[(segments,)](
                *pairs,
                A,
                D,
                out,
                n,
                out.new_tensor([zeros]),
                A.shape[1],
                SEGMENT=_SEGMENT,
                PAIRS=max(1, min(64, _TILE // width)),
                WIDTH=width,
                num_warps=4,
            )
    return float(out.sum())


def _on(tensor: Tensor) -> AbstractContextManager[object]:
    """Launch where a tensor is."""
    context: AbstractContextManager[object] = torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext()
    return context
