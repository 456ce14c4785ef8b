"""The compiled half of ``nce``: examples and their gradients by segments of text, updates by rows of the tables.

Two steps, so that no number depends on who computes it. ``contrast_segment`` reads the model and writes one slot of a
batch; slots know nothing of each other. ``update_vectors`` and ``update_outputs`` change the rows of one part of a
table, and sum what the slots ask of a row in the order of the text.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.runtime.compile import kernel

Array = NDArray[Any]
Index = NDArray[Any]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_LOW = np.uint64(0xFFFFFFFF)
_30, _27, _31, _32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32)


class Model(NamedTuple):
    """Context vectors r (V, M), target vectors q (V, M), biases b (V,), weights c (2 window, M) from left to right."""

    vectors: Array
    outputs: Array
    biases: Array
    weights: Array


class Noise(NamedTuple):
    """An alias table of the noise, ``keep`` (V,) and ``alias`` (V,), and ``level`` (V,): log(k p_n(w))."""

    keep: Array
    alias: Index
    level: Array


class Batch(NamedTuple):
    """Room for S segments of at most n examples, that is of T = n + 2 window tokens; a word of -1 is an empty place.

    ``tokens`` (S, T) and ``pulls`` (S, T, M): words that are context, and the gradient of each one's vector.
    ``centres`` (S, n), ``contexts`` (S, n, M) and ``errors`` (S, n): words to predict, r_hat, sigma(delta) - 1.
    ``noise`` (S, G, k) and ``noise_errors`` (S, G, share, k): noise words of a group of examples, sigma(delta).
    ``weight_pulls`` (S, 2 window, M): gradient of the weights.
    The same without the first axis is one slot, the room of one segment.
    """

    tokens: Index
    pulls: Array
    centres: Index
    contexts: Array
    errors: Array
    noise: Index
    noise_errors: Array
    weight_pulls: Array


@kernel
def build_alias(p: Array) -> tuple[Array, Index]:
    """Return the alias table of a distribution p (V,) as Vose (1991) builds it: draw j, keep it or take its alias."""
    V = len(p)
    keep, alias = p * V, np.arange(V).astype(np.int32)
    low, high = np.empty(V, dtype=np.int32), np.empty(V, dtype=np.int32)
    n_low = n_high = 0
    for v in range(V):
        if keep[v] < 1.0:
            low[n_low] = v
            n_low += 1
        else:
            high[n_high] = v
            n_high += 1
    while n_low > 0 and n_high > 0:
        small, large = low[n_low - 1], high[n_high - 1]
        alias[small] = large
        keep[large] -= 1.0 - keep[small]
        n_low -= 1
        if keep[large] < 1.0:
            low[n_low] = large
            n_low += 1
            n_high -= 1
    for i in range(n_low):  # full but for rounding; a word of probability 0 always finds an alias above
        keep[low[i]] = 1.0
    return keep, alias


@kernel
def draw(key: np.uint64, counter: int, keep: Array, alias: Index) -> np.int64:
    """Return a word drawn from an alias table by the number ``counter`` of the stream ``key``: splitmix64."""
    z = key + np.uint64(counter) * _GOLDEN
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    z = z ^ (z >> _31)
    j = np.int64(((z >> _32) * np.uint64(len(keep))) >> _32)
    return j if np.float64(z & _LOW) < keep[j] * 4294967296.0 else np.int64(alias[j])


@kernel
def cut_text(ids: Index, size: int, slack: int) -> Index:
    """Return the borders of segments of about ``size`` tokens, moved up to ``slack`` tokens on to end a sentence."""
    n = len(ids)
    borders = np.empty(n // size + 2, dtype=np.int64)
    borders[0] = 0
    filled = 1
    for nominal in range(size, n, size):
        p = nominal
        while p < min(nominal + slack, n) and ids[p - 1] >= 0:
            p += 1
        borders[filled] = p if p < n and ids[p - 1] < 0 else nominal
        filled += 1
    borders[filled] = n
    return borders[: filled + 1]


@kernel
def count_examples(ids: Index, borders: Index) -> tuple[Index, int]:
    """Return how many words with a neighbour each segment has, and the largest id."""
    examples = np.zeros(len(borders) - 1, dtype=np.int64)
    largest = -1
    for s in range(len(examples)):
        for p in range(borders[s], borders[s + 1]):
            largest = max(largest, ids[p])
            if ids[p] >= 0 and ((p > 0 and ids[p - 1] >= 0) or (p + 1 < len(ids) and ids[p + 1] >= 0)):
                examples[s] += 1
    return examples, largest


@kernel
def contrast_segment(
    piece: Index, first: int, last: int, key: np.uint64, model: Model, noise: Noise, slot: Batch
) -> tuple[float, int]:
    """Write the examples of ``piece[first:last]`` and their gradients into a slot; return the loss and their number.

    An example is a word w with a neighbour at most a window away in its sentence: ``r_hat = sum_j c_j * r_j``,
    ``delta(w) = q_w . r_hat + b_w - log(k p_n(w))``; the loss is the sum over the examples of
    ``-log sigma(delta(w)) - sum over x of log(1 - sigma(delta(x)))`` for k noise words x of the stream ``key``.
    """
    M, T = model.vectors.shape[1], len(piece)
    share = slot.noise_errors.shape[1]
    slot.tokens[:T] = piece
    slot.tokens[T:] = -1
    slot.pulls[:T] = 0
    slot.centres[:] = -1
    slot.noise[:] = -1
    slot.weight_pulls[:] = 0
    rows = np.zeros((T, M), dtype=model.vectors.dtype)
    for t in range(T):
        if piece[t] >= 0:
            rows[t] = model.vectors[piece[t]]
    spans = np.empty((last - first, 3), dtype=np.int64)
    n = _predict(piece, first, last, rows, model.weights, spans, slot.contexts)
    for i in range(n):
        slot.centres[i] = piece[spans[i, 0]]
    slopes = np.empty((n, M), dtype=model.vectors.dtype)
    loss = 0.0
    for start in range(0, n, share):
        loss += _contrast_group(start, min(start + share, n), key, model, noise, slot, slopes)
    _spread(spans[:n], slopes, rows, model.weights, slot.pulls, slot.weight_pulls)
    return loss, n


@kernel
def _predict(piece: Index, first: int, last: int, rows: Array, weights: Array, spans: Index, contexts: Array) -> int:
    """Write r_hat of every example, (n, M), and its place and first and last neighbour, (n, 3); return n."""
    M, window = rows.shape[1], len(weights) // 2
    n = 0
    for t in range(first, last):
        low, high = t, t
        while low > max(0, t - window) and piece[low - 1] >= 0:
            low -= 1
        while high < min(len(piece) - 1, t + window) and piece[high + 1] >= 0:
            high += 1
        if piece[t] < 0 or low == high:
            continue
        spans[n, 0], spans[n, 1], spans[n, 2] = t, low, high
        out = contexts[n]
        out[:] = 0
        for u in range(low, high + 1):
            if u != t:
                c, r = weights[u - t + window - (u > t)], rows[u]
                for m in range(M):
                    out[m] += c[m] * r[m]
        n += 1
    return n


@kernel
def _contrast_group(
    start: int, end: int, key: np.uint64, model: Model, noise: Noise, slot: Batch, slopes: Array
) -> float:
    """Compare examples start .. end - 1 with noise they share; write errors and d loss / d r_hat; return the loss."""
    k, M = slot.noise.shape[1], model.outputs.shape[1]
    group = start // slot.noise_errors.shape[1]
    words, errors, real = slot.noise[group], slot.noise_errors[group], model.outputs.dtype.type
    Q = np.empty((k, M), dtype=model.outputs.dtype)
    offsets = np.empty(k, dtype=model.outputs.dtype)
    for x in range(k):
        words[x] = draw(key, group * k + x, noise.keep, noise.alias)
        Q[x] = model.outputs[words[x]]
        offsets[x] = model.biases[words[x]] - noise.level[words[x]]
    loss = 0.0
    for i in range(start, end):
        w, r_hat, error, slope = slot.centres[i], slot.contexts[i], errors[i - start], slopes[i]
        _dots(Q, r_hat, error)
        for x in range(k):
            error[x] += offsets[x]
        loss += _noise_errors(error)
        delta = _dot(model.outputs[w], r_hat) + model.biases[w] - noise.level[w]
        e = np.exp(-abs(delta))
        slot.errors[i] = -real(e if delta >= 0 else 1) / real(1 + e)
        loss += max(-delta, 0) + np.log1p(e)
        slope[:] = 0
        _add_row(slot.errors[i], model.outputs[w], slope)
        _add_rows(error, Q, slope)
    return loss


@kernel
def _noise_errors(delta: Array) -> float:
    """Put sigma(delta) in its place; return the sum of -log(1 - sigma(delta)), with one logarithm for all."""
    one = delta.dtype.type(1)
    above, product = 0.0, 1.0
    for x in range(len(delta)):
        d = delta[x]
        e = np.exp(-abs(d))  # at most 1: nothing overflows
        delta[x] = (one if d >= 0 else e) / (one + e)
        above += max(d, 0)
        product *= one + e
        if product > 1e200:
            above += np.log(product)
            product = 1.0
    loss: float = above + np.log(product)
    return loss


@kernel
def _spread(spans: Index, slopes: Array, rows: Array, weights: Array, pulls: Array, weight_pulls: Array) -> None:
    """Add d loss / d r_hat of every example to the gradients of its neighbours' vectors and of the weights."""
    M = rows.shape[1]
    window = len(weights) // 2
    for i in range(len(spans)):
        t, slope = spans[i, 0], slopes[i]
        for u in range(spans[i, 1], spans[i, 2] + 1):
            if u == t:
                continue
            j = u - t + window - (u > t)
            c, r, pull, weight_pull = weights[j], rows[u], pulls[u], weight_pulls[j]
            for m in range(M):
                pull[m] += c[m] * slope[m]
                weight_pull[m] += r[m] * slope[m]


@kernel
def _dot(a: Array, b: Array) -> float:
    total: float = a.dtype.type(0)
    for m in range(len(a)):
        total += a[m] * b[m]
    return total


@kernel
def _dots(B: Array, a: Array, out: Array) -> None:
    """Write ``B @ a`` into ``out``, four rows at a time."""
    n = len(B) - len(B) % 4
    zero = a.dtype.type(0)
    for k in range(0, n, 4):
        b0, b1, b2, b3 = B[k], B[k + 1], B[k + 2], B[k + 3]
        s0, s1, s2, s3 = zero, zero, zero, zero
        for m in range(len(a)):
            s0 += b0[m] * a[m]
            s1 += b1[m] * a[m]
            s2 += b2[m] * a[m]
            s3 += b3[m] * a[m]
        out[k], out[k + 1], out[k + 2], out[k + 3] = s0, s1, s2, s3
    for k in range(n, len(B)):
        out[k] = _dot(B[k], a)


@kernel
def _add_row(weight: float, b: Array, out: Array) -> None:
    for m in range(len(out)):
        out[m] += weight * b[m]


@kernel
def _add_rows(weights: Array, B: Array, out: Array) -> None:
    """Add ``weights @ B`` to ``out``, shape (M,), four rows at a time."""
    n = len(weights) - len(weights) % 4
    for k in range(0, n, 4):
        w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        b0, b1, b2, b3 = B[k], B[k + 1], B[k + 2], B[k + 3]
        for m in range(len(out)):
            out[m] += (w0 * b0[m] + w1 * b1[m]) + (w2 * b2[m] + w3 * b3[m])
    for k in range(n, len(weights)):
        _add_row(weights[k], B[k], out)


@kernel
def update_rows(batch: Batch, part: int, parts: int, model: Model, squares: Model, slots: Index, eta: float) -> None:
    """Step the rows v of all tables with ``v % parts == part`` (a power of two) by AdaGrad, once for the whole batch.

    ``squares`` are the sums of squares of the gradients of all steps; ``slots`` (V,) is -1, before and after.
    """
    M = model.vectors.shape[1]
    rows = _claim(batch.tokens.reshape(-1), part, parts, slots)
    sums = np.zeros((len(rows), M), dtype=model.vectors.dtype)
    for s in range(len(batch.tokens)):
        _sum_pulls(batch.tokens[s], batch.pulls[s], part, parts, slots, sums)
    for i in range(len(rows)):
        _step(sums[i], model.vectors[rows[i]], squares.vectors[rows[i]], eta)
        slots[rows[i]] = -1
    words = np.concatenate((batch.centres.reshape(-1), batch.noise.reshape(-1)))
    rows = _claim(words, part, parts, slots)
    sums = np.zeros((len(rows), M), dtype=model.vectors.dtype)
    bias = np.zeros(len(rows), dtype=model.vectors.dtype)
    for s in range(len(batch.centres)):
        _sum_errors(batch, s, part, parts, slots, sums, bias)
    for i in range(len(rows)):
        _step(sums[i], model.outputs[rows[i]], squares.outputs[rows[i]], eta)
        _step(bias[i : i + 1], model.biases[rows[i] : rows[i] + 1], squares.biases[rows[i] : rows[i] + 1], eta)
        slots[rows[i]] = -1


@kernel
def _sum_pulls(tokens: Index, pulls: Array, part: int, parts: int, slots: Index, sums: Array) -> None:
    """Add the gradients of the context words of a segment, (T, M), to those of their rows."""
    for t in range(len(tokens)):
        if tokens[t] >= 0 and tokens[t] & (parts - 1) == part:
            total, pull = sums[slots[tokens[t]]], pulls[t]
            for m in range(len(total)):
                total[m] += pull[m]


@kernel
def _sum_errors(batch: Batch, s: int, part: int, parts: int, slots: Index, sums: Array, bias: Array) -> None:
    """Add ``error * r_hat`` of the words to predict and of the noise of a segment to their rows, error to the bias."""
    share, k = batch.noise_errors.shape[2], batch.noise.shape[2]
    centres, contexts, errors = batch.centres[s], batch.contexts[s], batch.errors[s]
    n = 0
    while n < len(centres) and centres[n] >= 0:
        w = centres[n]
        if w & (parts - 1) == part:
            _add_row(errors[n], contexts[n], sums[slots[w]])
            bias[slots[w]] += errors[n]
        n += 1
    for start in range(0, n, share):
        words, noise_errors = batch.noise[s, start // share], batch.noise_errors[s, start // share]
        size = min(share, n - start)
        error = np.empty(size, dtype=errors.dtype)
        for x in range(k):
            if words[x] & (parts - 1) == part:
                for i in range(size):
                    error[i] = noise_errors[i, x]
                    bias[slots[words[x]]] += error[i]
                _add_rows(error, contexts[start : start + size], sums[slots[words[x]]])


@kernel
def _claim(words: Index, part: int, parts: int, slots: Index) -> Index:
    """List the words of one part, each once, in the order of the text; ``slots[v]`` (-1 before) is its place."""
    rows = np.empty(len(words), dtype=np.int32)
    n = 0
    for v in words:
        if v >= 0 and v & (parts - 1) == part and slots[v] < 0:
            slots[v] = n
            rows[n] = v
            n += 1
    return rows[:n]


@kernel
def _step(gradient: Array, values: Array, squares: Array, eta: float) -> None:
    """AdaGrad: ``squares += g^2; values -= eta g / sqrt(squares)``; a value whose gradient was always 0 stays."""
    tiny, rate = values.dtype.type(1e-20), values.dtype.type(eta)
    for m in range(len(values)):
        squares[m] += gradient[m] * gradient[m]
        values[m] -= rate * gradient[m] / np.sqrt(squares[m] + tiny)


@kernel
def step_weights(batch: Batch, model: Model, squares: Model, eta: float) -> None:
    """Step the weights of the positions by what all segments ask, in their order."""
    total = np.zeros_like(model.weights)
    for s in range(len(batch.weight_pulls)):
        total += batch.weight_pulls[s]
    for j in range(len(total)):
        _step(total[j], model.weights[j], squares.weights[j], eta)
