"""How much nodes repeat each other, and how many words use them."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordforest.evaluation.bootstrap import N_RESAMPLES, Array, generator, interval, resampled_accuracy
from wordforest.evaluation.meaning.averages import TASK, levels, mean_score, ratio, row_means, scores_by_depth
from wordforest.evaluation.meaning.node_words import TopWords
from wordforest.evaluation.scores import Score
from wordforest.vectors import Vectors


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
