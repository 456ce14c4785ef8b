"""How nodes are used: whether they repeat each other, how many words use them, and what depth does to related words.

The paper remarks that of animal, horse and elephant the coefficients that differ in sign are mostly at leaves, since
upper nodes hold what is general. Here this is measured over many words and their nearest neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wordforest.evaluation.bootstrap import N_RESAMPLES, Array, generator, interval, resampled_accuracy
from wordforest.evaluation.meaning.averages import TASK, levels, mean_score, ratio, row_means, scores_by_depth
from wordforest.evaluation.meaning.cooccurrence import Places
from wordforest.evaluation.meaning.node_words import TopWords, candidate_rows
from wordforest.evaluation.scores import Score
from wordforest.evaluation.word_rows import dense_rows, unit_rows
from wordforest.vectors import Vectors, forest_of

_SAMPLE = 1000
_AMONG = 20_000  # first candidates searched for neighbours
_BLOCK = 256


def overlaps(tops: TopWords) -> Array:
    """Return the share of top words that two nodes have in common, |i and j| / min(|i|, |j|), (M, M).

    The diagonal and the rows and columns of empty nodes are nan.
    """
    common = (tops.membership.T @ tops.membership).toarray()
    sizes = np.diag(common)
    shares = ratio(common, np.minimum.outer(sizes, sizes))
    np.fill_diagonal(shares, np.nan)
    return shares


def uniqueness(tops: TopWords) -> Array:
    """Return the mean of 1 / (nodes that share the word) over the top words of every node, (M,); nan if empty.

    Over nodes of n words each its mean is the share of unique words, different words / places in all lists.
    """
    nodes_of_word = np.asarray(tops.membership.sum(axis=1), dtype=np.float64)  # (U,), at least 1
    return ratio(tops.membership.T @ (1.0 / nodes_of_word), tops.membership.sum(axis=0))


def distinct_scores(tops: TopWords, *, seed: int = 0) -> list[Score]:
    """Return the mean overlap of two nodes' top words and the share of unique words, with intervals over nodes."""
    shared = overlaps(tops)
    return [
        mean_score("overlap of nodes", "share", row_means(shared, ~np.isnan(shared)), seed=seed),
        mean_score("unique words", "share", uniqueness(tops), seed=seed),
    ]


def use_scores(vectors: Vectors, tops: TopWords, *, seed: int = 0) -> list[Score]:
    """Return, overall and by depth: judged nodes, words that use a node of that depth, share of words per node.

    ``judged nodes`` have enough top words among the candidates; ``n_scored`` of them are judged, of ``n_total``.
    ``coverage`` and ``density`` are over all words of the vectors, not over the candidates alone.
    """
    scores = scores_by_depth("density", "share", vectors.uses() / len(vectors), tops.forest, seed=seed)
    for suffix, nodes in levels(tops.forest):
        n_judged, n_nodes = int(nodes[tops.judged].sum()), int(nodes.sum())
        chosen: Any = vectors.matrix[:, nodes]
        used = np.asarray(abs(chosen).sum(axis=1)) > 0  # (V,)
        name = f"coverage{suffix}"
        many = resampled_accuracy(used.astype(np.float64), generator(seed, TASK, name), N_RESAMPLES) / 100
        scores += [
            Score(TASK, f"judged nodes{suffix}", "share", n_judged / n_nodes, n_judged, n_nodes),
            Score(TASK, name, "share", float(used.mean()), len(used), len(used), *interval(many)),
        ]
    return scores


def agreement(vectors: Vectors, candidates: Sequence[str], *, k: int = 10, seed: int = 0) -> dict[str, Array]:
    """Return how 1,000 seeded words agree with their k nearest candidates by cosine, and with k random ones.

    By name, (W, depths) each. ``signs of ..``: of the nodes of a depth that both words use, the share whose signs agree
    (1 for vectors without negatives). ``use of ..``: of the nodes that at least one of them uses, the share that both
    do. nan where there are none. Of more than 20,000 candidates the first, commonest ones are used.
    """
    candidates = candidates[:_AMONG]
    rng = generator(seed, TASK, "agreement")
    rows = candidate_rows(vectors, candidates)
    chosen = np.sort(rng.permutation(len(rows))[:_SAMPLE])  # places of the words among the candidates
    near = _nearest(unit_rows(vectors, rows), chosen, k)
    step = rng.integers(1, len(rows), size=near.shape)  # never a whole turn, so never the word itself
    far = (chosen[:, None] + step) % len(rows)
    signs = np.sign(dense_rows(vectors, rows)).astype(np.int8)  # (K, M)
    depth = forest_of(vectors).depth
    level = (depth[:, None] == np.arange(depth.max() + 1)).astype(np.float64)  # (M, depths)
    found: dict[str, Array] = {}
    for who, others in (("neighbours", near), ("random words", far)):
        same, both, either = np.zeros((3, len(chosen), level.shape[1]))
        own = signs[chosen]  # (W, M)
        for other in others.T:
            product = own * signs[other]
            same += (product > 0) @ level
            both += (product != 0) @ level
            either += ((own != 0) | (signs[other] != 0)) @ level
        found |= {f"signs of {who}": ratio(same, both), f"use of {who}": ratio(both, either)}
    return found


def hierarchy_scores(vectors: Vectors, candidates: Sequence[str], *, k: int = 10, seed: int = 0) -> list[Score]:
    """Return by depth how often neighbours, and for comparison random words, agree in sign and in use.

    The paper's remark holds where signs of neighbours agree less at leaves than above. Intervals over words.
    """
    return [
        mean_score(f"{name} depth {depth}", "share", of_depth, seed=seed)
        for name, values in sorted(agreement(vectors, candidates, k=k, seed=seed).items())
        for depth, of_depth in enumerate(values.T)
    ]


def _nearest(unit: Array, chosen: Places, k: int) -> Places:
    """Return the k rows of largest cosine with each chosen row, itself left out, (W,) -> (W, k)."""
    near = np.empty((len(chosen), k), dtype=np.int64)
    for start in range(0, len(chosen), _BLOCK):
        block = chosen[start : start + _BLOCK]
        cosine = unit[block] @ unit.T  # (b, K)
        cosine[np.arange(len(block)), block] = -np.inf
        near[start : start + _BLOCK] = np.argsort(-cosine, axis=1, kind="stable")[:, :k]
    return near
