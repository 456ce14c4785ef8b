"""Prox and value of the l2 forest penalty on a card, in Triton: a program takes a tile of words and one tree, in
preorder, so that a code is read and written once. Trees may differ; they must fit into a tile.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from wordforest.coder.forest import Forest

Tensor = Any

_CELLS = 1024  # numbers of a tile


@triton.jit  # type: ignore[untyped-decorator]
def _prox(  # type: ignore[no-untyped-def]
    A, out, thresholds, leaves, trees, inner, n, M, WORDS: tl.constexpr, NODES: tl.constexpr
):  # fmt: skip
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
):  # fmt: skip
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
        with _on(A):
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
    if isinstance(values, float):  # made there, not sent
        return torch.full(A.shape[1:], values, dtype=dtype, device=A.device)
    return torch.as_tensor(values, dtype=dtype, device=A.device).expand(A.shape[1:]).contiguous()


def _on(tensor: Tensor) -> AbstractContextManager[object]:
    """Launch where a tensor is."""
    context: AbstractContextManager[object] = torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext()
    return context
