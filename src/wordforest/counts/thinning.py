"""Dropping frequent words, as word2vec does, by their place in the corpus: neither workers nor shards change it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wordforest.runtime.machine import Executor, kernel
from wordforest.text.tokens import PIECE, IdFile


def keep_probability(counts: NDArray[np.int64], subsample: float) -> NDArray[np.float64]:
    """Return how probably an occurrence of each word stays, word2vec's ``min(1, sqrt(t/f) + t/f)``, (V,).

    f is the share of the word in all tokens, above 0, and t the threshold ``subsample``.
    """
    ratio = subsample / (counts / counts.sum())
    kept: NDArray[np.float64] = np.minimum(1.0, np.sqrt(ratio) + ratio)
    return kept


def thinned(
    ids: IdFile,
    keep: NDArray[np.float64],
    seed: int,
    into: IdFile,
    executor: Executor,
    on_words: Callable[[int], None],
) -> None:
    """Drop occurrences of word w with probability ``1 - keep[w]``; sentence borders stay.

    What stays lies in another file, so that windows can be cut from it anywhere. ``on_words`` is called with the
    number of tokens just dropped.
    """
    starts = range(0, len(ids), PIECE)
    pieces = executor.map(lambda start: kept(ids.read(start, start + PIECE), start, keep, seed), starts)
    for start, stayed in zip(starts, pieces, strict=True):
        into.append(stayed)
        dropped = min(PIECE, len(ids) - start) - len(stayed)
        if dropped:  # a second report of none done would look like a second beginning
            on_words(dropped)


@kernel
def kept(ids: NDArray[np.int32], first: int, keep: NDArray[np.float64], seed: int = 0) -> NDArray[np.int32]:
    """Return those of the ids that stay; ids[i] is number ``first + i`` of the corpus."""
    stay = np.empty(len(ids), dtype=np.int32)
    n = 0
    for i in range(len(ids)):
        if ids[i] < 0 or uniform(first + i, seed) < keep[ids[i]]:
            stay[n] = ids[i]
            n += 1
    return stay[:n]


@kernel
def uniform(i: int, seed: int = 0) -> float:
    """Return number i of the splitmix64 sequence that starts from ``seed``, as a number in [0, 1) of 53 bits."""
    z = np.uint64(seed) + np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float(z >> np.uint64(11)) * 2.0**-53
