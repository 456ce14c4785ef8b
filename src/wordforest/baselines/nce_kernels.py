"""The inner loops of ``nce.py``: examples of a segment of text against noise, and steps on the rows that they touch.

Gradients first, all with the model as it stood: each segment has a slot of its own to write to. Then each part of the
rows adds up what all slots hold for it, in the order of the slots. So any number of workers gives the same bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.runtime.machine import kernel

Array = NDArray[Any]
Index = NDArray[Any]


class Model(NamedTuple):
    """Context vectors r (V, M), target vectors with their bias [q, b] (V, M + 1), weights c (2 window, M)."""

    vectors: Array
    outputs: Array
    weights: Array


class Slots(NamedTuple):
    """Gradients of S segments of n examples, that is of T = n + 2 window tokens; a word of -1 is an empty place.

    ``vectors`` (S, T, M): of the vector of each token. ``words`` (S, n + G k) and ``outputs`` (S, n + G k, M + 1): the
    words to predict, then the noise, and the gradient of each one's target vector. ``weights`` (S, 2 window, M).
    """

    vectors: Array
    words: Index
    outputs: Array
    weights: Array


@kernel
def contrast(tokens: Index, noise: Index, share: int, model: Model, slot: Slots) -> tuple[float, int]:
    """Write the gradients of a segment, T tokens with a window's margin, into its slot; return its loss and examples.

    An example is a word w with a neighbour at most a window away in its sentence: ``h = [sum_j c_j * r_j, 1]`` and
    ``delta(w) = [q_w, b_w] . h``. The loss is the sum over the examples of ``log(1 + exp(-delta(w)))`` and of
    ``log(1 + exp(delta(x)))`` for k noise words x; ``share`` neighbouring examples have the same, a row of (G, k).
    """
    k, n_most = noise.shape[1], len(slot.words) - noise.size
    M, real = model.vectors.shape[1], model.vectors.dtype
    slot.vectors[:] = 0
    slot.weights[:] = 0
    slot.words[:] = -1
    H, spans = np.ones((n_most, M + 1), dtype=real), np.empty((n_most, 3), dtype=np.int64)
    n = _predict(tokens, model, H, spans)
    slopes = np.empty((n, M + 1), dtype=real)  # d loss / d h
    loss = 0.0
    for start in range(0, n, share):
        end, group = min(start + share, n), start // share
        Q = model.outputs[noise[group]]  # (k, M + 1)
        errors = np.dot(H[start:end], Q.T)  # (examples, k)
        loss += _sigmoids(errors.reshape(-1))
        slopes[start:end] = np.dot(errors, Q)
        first = n_most + group * k
        slot.words[first : first + k] = noise[group]
        slot.outputs[first : first + k] = np.dot(errors.T, H[start:end])
    slot.words[:n] = tokens[spans[:n, 0]]
    Q = model.outputs[slot.words[:n]]  # (n, M + 1), of the words themselves
    missing = -np.sum(Q * H[:n], axis=1)
    loss += _sigmoids(missing)  # which makes them sigma(-delta(w))
    slot.outputs[:n] = -missing.reshape(-1, 1) * H[:n]
    slopes -= missing.reshape(-1, 1) * Q
    _spread(tokens, spans[:n], slopes, model, slot)
    return loss, n


@kernel
def _predict(tokens: Index, model: Model, H: Array, spans: Index) -> int:
    """Write h of every example, (n, M + 1), and its place and first and last neighbour, (n, 3); return n."""
    M, window = model.vectors.shape[1], len(model.weights) // 2
    n = 0
    for t in range(window, len(tokens) - window):
        low, high = t, t
        while low > t - window and tokens[low - 1] >= 0:
            low -= 1
        while high < t + window and tokens[high + 1] >= 0:
            high += 1
        if tokens[t] < 0 or low == high:
            continue
        spans[n, 0], spans[n, 1], spans[n, 2] = t, low, high
        h = H[n]
        h[:M] = 0
        for u in range(low, high + 1):
            if u != t:
                c, r = model.weights[u - t + window - (u > t)], model.vectors[tokens[u]]
                for m in range(M):
                    h[m] += c[m] * r[m]
        n += 1
    return n


@kernel
def _spread(tokens: Index, spans: Index, slopes: Array, model: Model, slot: Slots) -> None:
    """Add d loss / d h of every example to the gradients of its neighbours' vectors and of the weights."""
    M, window = model.vectors.shape[1], len(model.weights) // 2
    for i in range(len(spans)):
        t, slope = spans[i, 0], slopes[i]
        for u in range(spans[i, 1], spans[i, 2] + 1):
            if u != t:
                j = u - t + window - (u > t)
                c, r = model.weights[j], model.vectors[tokens[u]]
                to_vector, to_weight = slot.vectors[u], slot.weights[j]
                for m in range(M):
                    to_vector[m] += c[m] * slope[m]
                    to_weight[m] += r[m] * slope[m]


@kernel
def _sigmoids(delta: Array) -> float:
    """Put sigma(delta) in the place of delta, (n,); return the sum of log(1 + exp(delta))."""
    one = delta.dtype.type(1)
    total = 0.0
    for x in range(len(delta)):
        d = delta[x]
        e = np.exp(-abs(d))  # at most 1: nothing overflows
        delta[x] = (one if d >= 0 else e) / (one + e)
        total += max(d, 0) + np.log1p(e)
    return total


@kernel
def update_rows(
    words: Index, pulls: Array, part: int, parts: int, table: Array, squares: Array, gradient: Array, eta: float
) -> None:
    """Step the rows v of a table with ``v % parts == part`` by AdaGrad, once for all that ``pulls`` (n, M) holds for v.

    ``squares`` (V, M) are the sums of the squares of all gradients; ``gradient`` (V, M) is 0, before and after.
    """
    for i in range(len(words)):
        if words[i] >= 0 and words[i] % parts == part:
            total, pull = gradient[words[i]], pulls[i]
            for m in range(len(total)):
                total[m] += pull[m]
    for i in range(len(words)):  # a word that comes again has a gradient of 0 then, and stays where it is
        if words[i] >= 0 and words[i] % parts == part:
            step(gradient[words[i]], table[words[i]], squares[words[i]], eta)


@kernel
def step(gradient: Array, values: Array, squares: Array, eta: float) -> None:
    """AdaGrad: ``squares += g^2; values -= eta g / sqrt(squares)``; the gradient becomes 0 again."""
    tiny, rate = values.dtype.type(1e-20), values.dtype.type(eta)  # a value whose gradient was always 0 stays
    for m in range(len(values)):
        squares[m] += gradient[m] * gradient[m]
        values[m] -= rate * gradient[m] / np.sqrt(squares[m] + tiny)
        gradient[m] = 0
