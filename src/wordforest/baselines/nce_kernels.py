"""The inner loops of ``nce.py``: examples of a segment of text against noise, and steps on the rows that they touch.

Gradients first, all with the model as it stood, each segment by itself. Then each part of the rows adds up what all
segments hold for it, in their order. So any number of workers gives the same bits.
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


class Gradients(NamedTuple):
    """What a segment of T tokens gives: its loss, its number n of examples, and gradients.

    ``vectors`` (T, M): of the vector of each token. ``weights`` (2 window, M). ``words`` (n + G k,): the words to
    predict, then the noise, and ``outputs`` (n + G k, M + 1) the gradient of each one's target vector.
    """

    loss: float
    examples: int
    vectors: Array
    weights: Array
    words: Index
    outputs: Array


@kernel
def contrast(tokens: Index, noise: Index, share: int, model: Model) -> Gradients:
    """Return the gradients of a segment, T tokens with a window's margin.

    An example is a word w with a neighbour at most a window away in its sentence: ``h = [sum_j c_j * r_j, 1]`` and
    ``delta(w) = [q_w, b_w] . h``. The loss is the sum over the examples of ``log(1 + exp(-delta(w)))`` and of
    ``log(1 + exp(delta(x)))`` for k noise words x; ``share`` neighbouring examples have the same, a row of (G, k).
    """
    H, spans = _predict(tokens, model)
    (n, width), k = H.shape, noise.shape[1]
    groups = -(-n // share)
    words = np.empty(n + groups * k, dtype=noise.dtype)
    outputs, slopes = np.empty((len(words), width), dtype=H.dtype), np.empty_like(H)  # slopes: d loss / d h
    Q, missing = np.empty((k, width), dtype=H.dtype), np.empty(n, dtype=H.dtype)
    loss = 0.0
    for group in range(groups):
        start, end, first = group * share, min((group + 1) * share, n), n + group * k
        for x in range(k):
            words[first + x] = noise[group, x]
            _copy(model.outputs[noise[group, x]], Q[x])
        errors = np.dot(H[start:end], Q.T)  # (examples, k)
        loss += _sigmoids(errors.reshape(-1))
        np.dot(errors, Q, slopes[start:end])
        np.dot(errors.T, H[start:end], outputs[first : first + k])
    for i in range(n):
        words[i] = tokens[spans[i, 0]]
        missing[i] = -_product(model.outputs[words[i]], H[i])
    loss += _sigmoids(missing)  # which makes them sigma(-delta(w))
    for i in range(n):
        q, h = model.outputs[words[i]], H[i]
        for m in range(width):
            outputs[i, m] = -missing[i] * h[m]
            slopes[i, m] -= missing[i] * q[m]
    vectors, weights = _spread(tokens, spans, slopes, model)
    return Gradients(loss, n, vectors, weights, words, outputs)


@kernel
def _predict(tokens: Index, model: Model) -> tuple[Array, Index]:
    """Return h of every example, (n, M + 1), and its place and first and last neighbour, (n, 3)."""
    M, window = model.vectors.shape[1], len(model.weights) // 2
    H = np.ones((len(tokens), M + 1), dtype=model.vectors.dtype)
    spans = np.empty((len(tokens), 3), dtype=np.int64)
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
    return H[:n], spans[:n]


@kernel
def _spread(tokens: Index, spans: Index, slopes: Array, model: Model) -> tuple[Array, Array]:
    """Return the gradients of the tokens' vectors (T, M) and of the weights, from d loss / d h of every example."""
    M, window = model.vectors.shape[1], len(model.weights) // 2
    vectors = np.zeros((len(tokens), M), dtype=slopes.dtype)
    weights = np.zeros_like(model.weights)
    for i in range(len(spans)):
        t, slope = spans[i, 0], slopes[i]
        for u in range(spans[i, 1], spans[i, 2] + 1):
            if u != t:
                j = u - t + window - (u > t)
                c, r = model.weights[j], model.vectors[tokens[u]]
                to_vector, to_weight = vectors[u], weights[j]
                for m in range(M):
                    to_vector[m] += c[m] * slope[m]
                    to_weight[m] += r[m] * slope[m]
    return vectors, weights


@kernel
def _copy(row: Array, out: Array) -> None:
    """Copy a row; ``out[:] = row`` would compile an error message, too."""
    for m in range(len(out)):
        out[m] = row[m]


@kernel
def _product(a: Array, b: Array) -> float:
    total: float = a.dtype.type(0)
    for m in range(len(a)):
        total += a[m] * b[m]
    return total


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
