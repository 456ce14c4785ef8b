"""Greedy codes with at most so many nodes on, compiled by Numba: a row at a time, all of it in cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.runtime.machine import kernel

Array = NDArray[Any]
Index = NDArray[Any]
NOTHING = 1e-10  # share of a row's first gain below which no node is worth being on
EVEN = 1e-6  # share by which promises may differ and be one: of equal atoms the first comes on, not that of rounding
RIDGE = 1e-6  # share by which a diagonal grows, so that equal atoms have a solution
SWEEPS = 30  # over the nodes that are on, where coefficients may not be negative
STILL = 1e-5  # share of the largest coefficient: moves below it are none
LOOSE = 1e-3  # the same until all nodes are found


@kernel
def pursue(XD: Array, DD: Array, parent: Index, most: int, nonnegative: bool, price: float, A: Array) -> None:
    """Write codes with at most ``most`` nodes on into A (b, M), all zeros before. See ``kernels.pursue``."""
    M = XD.shape[1]
    flags = np.empty(M, dtype=np.bool_), np.empty(M, dtype=np.bool_), np.empty(M, dtype=np.bool_)
    chosen, code = np.empty(most, dtype=np.int64), np.zeros(most)
    kept = np.empty(most, dtype=np.int64), np.zeros(most)
    work = np.zeros((most, most)), np.zeros((most, most)), np.zeros(most), np.zeros(most)
    promised = np.empty(M), np.empty(M), np.empty(M, dtype=np.int64)
    for v in range(len(XD)):
        for flag in flags:
            flag[:] = False
        n_on = _grown(XD[v], DD, parent, nonnegative, price, flags, chosen, code, kept, work, promised)
        for m in range(n_on):
            A[v, chosen[m]] = code[m]


@kernel
def _grown(
    x: Array,
    DD: Array,
    parent: Index,
    nonnegative: bool,
    price: float,
    flags: Any,
    chosen: Index,
    code: Array,
    kept: Any,
    work: Any,
    promised: Any,
) -> int:
    """Let nodes come on until ``chosen`` has no room or none is worth its price; return how many there are."""
    slope, gain, missing = promised
    on, barred, tried = flags
    n_on, first, explained = 0, 0.0, 0.0
    _set_slope(x, DD, chosen, code, n_on, slope)
    while n_on < len(chosen):
        best = _best(slope, DD, parent, flags, len(chosen) - n_on, nonnegative, gain, missing)
        if best < 0 or gain[best] / missing[best] <= max(NOTHING * first, price):
            break
        first = max(first, gain[best] / missing[best])
        before, new, node = n_on, missing[best], best
        for m in range(before):
            kept[0][m], kept[1][m] = chosen[m], code[m]
        for place in range(n_on + new - 1, n_on - 1, -1):  # a node stands after those above it
            chosen[place], code[place], on[node] = node, 0, True
            node = parent[node]
        for _ in range(new):
            _append(x, DD, chosen, n_on, work)
            n_on += 1
        _refit(work, n_on, nonnegative, LOOSE, code)
        if nonnegative:
            n_on = _without_empty(chosen, parent, on, barred, code, n_on)
            for m in range(n_on if n_on < before + new else 0):
                _append(x, DD, chosen, m, work)
        if price > 0:
            now = _explained(work, code, n_on)
            if now - explained <= price * (n_on - before):
                _take_back(x, DD, parent, best, new, n_on, before, flags, chosen, code, kept, work)
                n_on = before
                continue
            explained = now
            tried[:] = False
        _set_slope(x, DD, chosen, code, n_on, slope)
    if nonnegative:
        _refit(work, n_on, nonnegative, STILL, code)
    return n_on


@kernel
def _explained(work: Any, code: Array, n: int) -> float:
    """Return by how much the first n nodes lower the squared error."""
    products, _, target, _ = work
    total = 0.0
    for r in range(n):
        value = 2 * target[r]
        for q in range(n):
            value -= products[r, q] * code[q]
        total += value * code[r]
    return total


@kernel
def _take_back(
    x: Array,
    DD: Array,
    parent: Index,
    node: int,
    new: int,
    n_on: int,
    before: int,
    flags: Any,
    chosen: Index,
    code: Array,
    kept: Any,
    work: Any,
) -> None:
    """Undo that a node came on with all that were off above it, and note that it was tried."""
    on, barred, tried = flags
    tried[node] = True
    for m in range(n_on):
        on[chosen[m]] = False
    for _ in range(new):
        on[node], barred[node] = False, False
        node = parent[node]
    for m in range(before):
        chosen[m], code[m] = kept[0][m], kept[1][m]
        on[chosen[m]], barred[chosen[m]] = True, False
    for m in range(before if n_on < before + new else 0):  # some had gone off
        _append(x, DD, chosen, m, work)


@kernel
def _best(
    slope: Array,
    DD: Array,
    parent: Index,
    flags: Any,
    room: int,
    nonnegative: bool,
    gain: Array,
    missing: Index,
) -> int:
    """Return the node whose way from the nodes that are on gains most for every node on it; -1 if there is none."""
    on, barred, tried = flags
    best = -1
    for i in range(len(slope)):
        above = parent[i]
        gain[i] = gain[above] if above >= 0 else 0.0
        missing[i] = missing[above] if above >= 0 else 0
        if on[i]:
            gain[i], missing[i] = 0.0, 0
            continue
        missing[i] += 1
        usable = DD[i, i] > 0 and (slope[i] > 0 or not nonnegative)
        if usable:
            gain[i] += slope[i] * slope[i] / DD[i, i]
        if barred[i]:
            missing[i] = len(slope) + 1  # neither it nor what is below it
            continue
        fits = usable and not tried[i] and missing[i] <= room
        if fits and (best < 0 or gain[i] * missing[best] > (1 + EVEN) * gain[best] * missing[i]):
            best = i
    return best


@kernel
def _append(x: Array, DD: Array, chosen: Index, m: int, work: Any) -> None:
    """Take in the m-th chosen node: its products with those before it, and their Cholesky factor."""
    products, factor, target, partial = work
    node = chosen[m]
    for r in range(m):
        products[m, r] = products[r, m] = DD[node, chosen[r]]
    products[m, m] = DD[node, node] * (1 + RIDGE)
    target[m] = x[node]
    left = products[m, m]
    for r in range(m):
        value = products[m, r]
        for q in range(r):
            value -= factor[r, q] * factor[m, q]
        factor[m, r] = value / factor[r, r]
        left -= factor[m, r] * factor[m, r]
    factor[m, m] = np.sqrt(max(left, RIDGE * products[m, m]))
    value = target[m]
    for q in range(m):
        value -= factor[m, q] * partial[q]
    partial[m] = value / factor[m, m]


@kernel
def _refit(work: Any, n: int, nonnegative: bool, still: float, code: Array) -> None:
    """Move the first n coefficients to their common minimum: at once, or by sweeps where none may be negative."""
    products, factor, target, partial = work
    if not nonnegative:
        for r in range(n - 1, -1, -1):
            value = partial[r]
            for q in range(r + 1, n):
                value -= factor[q, r] * code[q]
            code[r] = value / factor[r, r]
        return
    for _ in range(SWEEPS):
        largest, moved = 0.0, 0.0
        for r in range(n):
            value = target[r]
            for q in range(n):
                value -= products[r, q] * code[q]
            new = max(code[r] + value / products[r, r], 0.0)
            moved = max(moved, abs(new - code[r]))
            largest = max(largest, new)
            code[r] = new
        if moved <= still * largest:
            break


@kernel
def _without_empty(chosen: Index, parent: Index, on: Array, barred: Array, code: Array, n: int) -> int:
    """Take out nodes that are zero and have nothing on below them, and bar them; return how many are left."""
    m = n - 1
    while m >= 0:  # children stand after their parents
        node, used = chosen[m], code[m] > 0
        for other in range(m + 1, n):
            used = used or parent[chosen[other]] == node
        if not used:
            on[node], barred[node] = False, True
            for r in range(m, n - 1):
                chosen[r], code[r] = chosen[r + 1], code[r + 1]
            n -= 1
        m -= 1
    return n


@kernel
def _set_slope(x: Array, DD: Array, chosen: Index, code: Array, n: int, slope: Array) -> None:
    """Write what the first n chosen nodes leave of x; ``slope[:] = x`` would compile an error message, too."""
    for i in range(len(slope)):
        slope[i] = x[i]
    for m in range(n):
        if code[m] != 0:
            _less(slope, DD[chosen[m]], code[m])


@kernel
def _less(slope: Array, column: Array, coefficient: float) -> None:
    for i in range(len(slope)):
        slope[i] -= coefficient * column[i]
