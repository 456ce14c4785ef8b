"""The kernels as whole-array operations on PyTorch tensors, on any device."""

from __future__ import annotations

import sys
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from wordforest.coder.forest import Forest
from wordforest.coder.kernels.pursuit import EVEN, NOTHING, RIDGE, STILL, SWEEPS

Tensor = Any
PerNode = Any  # one number for all nodes, or an array of shape (M,)


class _Level(NamedTuple):
    """The nodes of a depth, once columns are in order of depth."""

    nodes: slice
    parents: Tensor  # (n,), place of each one's parent among the nodes of the depth above
    sums: Tensor  # (n, nodes above), the 0/1 matrix that sums children into parents


def forest_prox(A: Tensor, forest: Forest, thresholds: PerNode) -> Tensor:
    """Prox of the l2 forest penalty for every row of A, shape (V, M), one level of the forest after the other.

    Going up, the squared norm of a node's group is known from its children's, shrunk; going down, a node's factor is
    its own times its parent's.
    """
    torch = sys.modules["torch"]
    order, back, levels = _by_depth(forest, A.dtype, A.device)
    t, tiny = _per_node(thresholds, A)[order], torch.finfo(A.dtype).tiny
    B, below = A[:, order], 0.0
    factors: list[Tensor] = []  # roots first
    for nodes, _, sums in reversed(levels):
        size = (B[:, nodes] ** 2 + below).sqrt_().clamp_min_(tiny)
        left = (1 - t[nodes] / size).clamp_min_(0)
        below = size.mul_(left).square_() @ sums
        factors.insert(0, left)
    for depth, level in enumerate(levels[1:]):
        factors[depth + 1] *= factors[depth][:, level.parents]
    return B.mul_(torch.cat(factors, 1))[:, back]


def forest_norms(A: Tensor, forest: Forest, weights: PerNode) -> Tensor:
    """Weighted sum of the l2 norms of all groups of every row, shape (V,), float64."""
    A = A.double()
    order, _, levels = _by_depth(forest, A.dtype, A.device)
    w, B = _per_node(weights, A)[order], A[:, order].square_()
    total, below = 0.0, 0.0
    for nodes, _, sums in reversed(levels):
        squares = B[:, nodes] + below
        total, below = total + squares.sqrt() @ w[nodes], squares @ sums
    return total


def pursue(XD: Tensor, DD: Tensor, forest: Forest, most: int, nonnegative: bool, price: float) -> Tensor:
    """Return codes (b, M) with at most ``most`` nodes on: see ``kernels.pursue``. All rows take a step at a time."""
    torch = sys.modules["torch"]
    X, products, none = XD.double(), DD.double(), torch.zeros_like(XD, dtype=torch.bool)
    parent = torch.as_tensor(np.where(forest.parent < 0, len(forest), forest.parent), device=XD.device).long()
    levels = [
        torch.as_tensor(np.flatnonzero(forest.depth == d), device=XD.device) for d in range(forest.depth.max() + 1)
    ]
    on, barred, tried, A = none.clone(), none.clone(), none.clone(), torch.zeros_like(X)
    live, first, explained = torch.ones_like(on[:, 0]), torch.zeros_like(X[:, 0]), torch.zeros_like(X[:, 0])
    while bool(live.any()):
        slope = X - A @ products
        gain, missing = _promises(slope, products.diagonal(), on, barred, parent, levels, nonnegative)
        room = most - on.sum(1, keepdim=True)
        usable = ~on & ~tried & (missing <= room) & ((slope > 0) if nonnegative else True) & (products.diagonal() > 0)
        rates = torch.where(usable, gain / missing.clamp_min(1), -1.0)
        rate = rates.amax(1)
        best = (rates * (1 + EVEN) >= rate[:, None]).int().argmax(1)  # the first of those that are as good
        live = live & (rate > NOTHING * first) & (rate > price)
        first = torch.maximum(first, rate)
        before, node = (on, barred, A), torch.where(live, best, len(forest))
        for _ in levels:
            on = on | (torch.arange(len(forest), device=XD.device) == node[:, None])
            node = torch.cat((parent, parent.new_tensor([len(forest)])))[node]
        A = _refitted(X, products, on, nonnegative, A)
        for _ in levels if nonnegative else ():
            empty = on & (A <= 0) & ~_with_children_on(on, parent)
            on, barred = on & ~empty, barred | empty
        if price > 0:
            now = (A * (2 * X - A @ products)).sum(1)
            worth = now - explained > price * (on.sum(1) - before[0].sum(1))
            back = (live & ~worth)[:, None]
            on, barred, A = (torch.where(back, *both) for both in zip(before, (on, barred, A), strict=True))
            tried = tried & ~(live & worth)[:, None]
            tried |= back & (torch.arange(len(forest), device=XD.device) == best[:, None])
            explained = torch.where(live & worth, now, explained)
    return A.to(XD.dtype)


def _promises(
    slope: Tensor, diagonal: Tensor, on: Tensor, barred: Tensor, parent: Tensor, levels: list[Tensor], positive: bool
) -> tuple[Tensor, Tensor]:
    """Return what each node and all above it that are off would gain, and how many these are, (b, M) each."""
    useful = (slope > 0) if positive else (slope == slope)
    own = (slope * slope / diagonal.clamp_min(sys.float_info.min)).where(useful & (diagonal > 0), slope * 0)
    gain, missing = slope.new_zeros(len(slope), len(parent) + 1), slope.new_zeros(len(slope), len(parent) + 1)
    for nodes in levels:
        off = ~on[:, nodes]
        above = parent[nodes]
        gain[:, nodes] = (gain[:, above] + own[:, nodes]) * off
        missing[:, nodes] = (missing[:, above] + 1 + barred[:, nodes] * len(parent)) * off
    return gain[:, :-1], missing[:, :-1]


def _with_children_on(on: Tensor, parent: Tensor) -> Tensor:
    """Say which nodes have a child that is on, (b, M)."""
    counts = on.new_zeros(len(on), on.shape[1] + 1, dtype=sys.modules["torch"].int32)
    counts.index_add_(1, parent, on.int())
    return counts[:, :-1] > 0


def _refitted(X: Tensor, products: Tensor, on: Tensor, nonnegative: bool, A: Tensor) -> Tensor:
    """Return the best coefficients of the nodes that are on, (b, M); ``A`` is where sweeps start."""
    torch = sys.modules["torch"]
    M, most = on.shape[1], max(1, int(on.sum(1).max()))
    places = torch.where(on, torch.arange(M, device=on.device), M).topk(most, largest=False, sorted=True).values
    used, chosen = places < M, places.clamp_max(M - 1)
    G = products[chosen[:, :, None], chosen[:, None, :]] * (used[:, :, None] & used[:, None, :])  # (b, most, most)
    diagonal = torch.where(used, G.diagonal(dim1=1, dim2=2) * (1 + RIDGE), 1.0)
    G.diagonal(dim1=1, dim2=2).copy_(diagonal)
    target = X.gather(1, chosen) * used
    if nonnegative:
        code = A.gather(1, chosen) * used
        for _ in range(SWEEPS):
            before = code.clone()
            for r in range(most):
                code[:, r] = (code[:, r] + (target[:, r] - (G[:, r] * code).sum(1)) / diagonal[:, r]).clamp_min(0)
            if bool(((code - before).abs().amax(1) <= STILL * code.amax(1)).all()):
                break
    else:
        code = torch.linalg.solve(G, target)
    return torch.zeros_like(X).scatter_add_(1, chosen, code * used)


@lru_cache(maxsize=32)
def _by_depth(forest: Forest, dtype: Any, device: Any) -> tuple[Tensor, Tensor, list[_Level]]:
    """Return the nodes in order of depth, their places in it, and the levels, roots first."""
    torch = sys.modules["torch"]
    order = np.argsort(forest.depth, kind="stable")
    back = np.argsort(order)
    ends = np.searchsorted(forest.depth[order], np.arange(int(forest.depth.max()) + 2)).tolist()
    levels = []
    for depth, (first, last) in enumerate(pairwise(ends)):
        above = ends[depth - 1] if depth else 0
        parents = back[forest.parent[order[first:last]]] - above if depth else np.zeros(0, dtype=np.int64)
        sums = np.zeros((last - first, first - above))
        sums[np.arange(len(parents)), parents] = 1
        tables = (torch.as_tensor(parents, device=device), torch.as_tensor(sums, dtype=dtype, device=device))
        levels.append(_Level(slice(first, last), *tables))
    return torch.as_tensor(order, device=device), torch.as_tensor(back, device=device), levels


def _per_node(values: PerNode, like: Tensor) -> Tensor:
    """One number per node, (M,), of the type and on the device of ``like``, (V, M)."""
    if isinstance(values, float | int):  # filled there: a copy from the host would wait for all that is under way
        return like.new_full(like.shape[1:], values)
    return sys.modules["torch"].as_tensor(values, dtype=like.dtype, device=like.device).expand(like.shape[1:])


_TINY = 1e-30  # in place of nothing at all, where all eigenvalues are zero
_SQUARINGS = 8  # the root of the trace of the 256th power is within n^(1/256) of the largest eigenvalue


def extreme_eigenvalues(S: Tensor, least: float) -> tuple[float, float]:
    """Bound the eigenvalues of S (n, n): see ``kernels.extreme_eigenvalues``.

    The largest by the trace of a high power, the smallest by that of the inverse of S, moved away from zero: a dozen
    products, where finding all eigenvalues takes a GPU hundreds of steps one after the other.
    """
    torch = sys.modules["torch"]
    high = _largest_bound(S)
    shift = (least * high).clamp_min(_TINY)
    shifted = S + torch.diag_embed(shift.expand(len(S)))
    low = 1 / _largest_bound(inverse(shifted)) - shift
    smallest, largest = torch.stack((low, high)).tolist()
    return smallest, largest


def _largest_bound(S: Tensor) -> Tensor:
    """Return ``trace(S^k)^(1/k)``, k = 2^_SQUARINGS: at least the largest eigenvalue; one number, 0 for zeros."""
    power, bound = S, 1.0
    for n in range(_SQUARINGS):
        trace = power.diagonal().sum()
        bound = bound * trace**0.5**n
        power = power / trace.clamp_min(_TINY)
        power = power @ power
    return bound * power.diagonal().sum() ** 0.5**_SQUARINGS


_TALL_SLICE = 1024  # rows whose products are sums of their own


def tall_product(A: Tensor, B: Tensor) -> Tensor:
    """Return ``A'B`` (M, N) of tall matrices (n, M) and (n, N), float64.

    Slices of rows at the same time, added up in their order: as one product it would have too few sums for a GPU.
    """
    n = len(A) // _TALL_SLICE
    whole = n * _TALL_SLICE
    left, right = (part[:whole].unflatten(0, (n, _TALL_SLICE)) for part in (A, B))
    return (left.mT @ right).double().sum(0) + (A[whole:].T @ B[whole:]).double()


def inverse(S: Tensor) -> Tensor:
    """Return the inverse of S (n, n) by its Cholesky factor, without a look at whether there is one."""
    torch = sys.modules["torch"]
    return torch.cholesky_inverse(torch.linalg.cholesky_ex(S).L)


def fill_random(key: int, first: int, nonnegative: bool, out: Tensor) -> Tensor:
    """Write random whole numbers into rows of a matrix, ``first`` and on; return their squares by column, (M,), int64.

    They come from counters (splitmix64, Steele et al. 2014): any of them without those before, the same everywhere.
    ``compiled`` has the same for NumPy.
    """
    n, M = out.shape
    bits = _random_bits(key, first * M, n * M, out.device).view(n, M)
    values = sum(_shifted(bits, by) & 0xFFFF for by in (0, 16, 32, 48)) - 2 * 0xFFFF
    values = abs(values) if nonnegative else values
    out.copy_(values)
    return (values * values).sum(0)


def _random_bits(key: int, first: int, n: int, device: Any) -> Tensor:
    """Return 64 random bits for each of n counters, int64."""
    torch = sys.modules["torch"]
    golden, *mix = (number - (1 << 64) for number in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))
    signed = ((key & 0xFFFFFFFFFFFFFFFF) ^ (1 << 63)) - (1 << 63)
    z = signed + torch.arange(first, first + n, device=device) * golden
    z = (z ^ _shifted(z, 30)) * mix[0]
    z = (z ^ _shifted(z, 27)) * mix[1]
    return z ^ _shifted(z, 31)


def _shifted(z: Tensor, by: int) -> Tensor:
    """Return numbers shifted to the right as if they had no sign."""
    return (z >> by) & ((1 << (64 - by)) - 1)
