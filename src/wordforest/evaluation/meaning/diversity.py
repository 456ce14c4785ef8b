"""How much nodes repeat each other, and how many words use them."""

from __future__ import annotations

import numpy as np

from wordforest.evaluation.bootstrap import generator, interval, resampled_accuracy
from wordforest.evaluation.meaning.averages import TASK, mean_score, ratio, row_means, scores_by_depth
from wordforest.evaluation.meaning.cooccurrence import Array
from wordforest.evaluation.meaning.node_words import TopWords, node_density, used_by_word
from wordforest.evaluation.scores import Score
from wordforest.vectors import Vectors


def overlaps(tops: TopWords) -> Array:
    """Return the share of top words that two nodes have in common, |i and j| / min(|i|, |j|), (M, M).

    The diagonal and the rows and columns of empty nodes are nan.
    """
    common = (tops.membership.T @ tops.membership).toarray()
    sizes = np.diag(common)
    smaller = np.minimum.outer(sizes, sizes)
    shares = ratio(common, smaller)
    np.fill_diagonal(shares, np.nan)
    return shares


def uniqueness(tops: TopWords) -> Array:
    """Return the mean of 1 / (nodes that share the word) over the top words of every node, (M,); nan if empty.

    Over nodes of n words each its mean is the share of unique words, different words / places in all lists.
    """
    nodes_of_word = np.asarray(tops.membership.sum(axis=1), dtype=np.float64)  # (U,), at least 1
    sizes = np.asarray(tops.membership.sum(axis=0), dtype=np.float64)  # (M,)
    sums = tops.membership.T @ (1.0 / nodes_of_word)
    return ratio(sums, sizes)


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
    depth, judged = tops.forest.depth, np.isin(np.arange(len(tops)), tops.judged)
    levels = [("", np.arange(len(tops)))]
    if len(tops.depths) > 1:
        levels += [(f" depth {d}", tops.at(d)) for d in tops.depths]
    scores = scores_by_depth("density", "share", node_density(vectors), depth, seed=seed)
    for suffix, nodes in levels:
        n_judged = int(judged[nodes].sum())
        scores += [
            Score(TASK, f"judged nodes{suffix}", "share", n_judged / len(nodes), n_judged, len(nodes)),
            _coverage(f"coverage{suffix}", used_by_word(vectors, nodes) > 0, seed),
        ]
    return scores


def _coverage(name: str, used: np.ndarray[tuple[int], np.dtype[np.bool_]], seed: int) -> Score:
    if not len(used):
        return Score(TASK, name, "share", float("nan"), 0, 0)
    many = resampled_accuracy(used.astype(np.float64), generator(seed, TASK, name), 1000) / 100
    return Score(TASK, name, "share", float(used.mean()), len(used), len(used), *interval(many))
