"""Do the top words of a node, and those of parent and child, stand together in held-out text?"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from wordforest.evaluation.bootstrap import Array, interval
from wordforest.evaluation.meaning import averages
from wordforest.evaluation.meaning.averages import TASK, ratio
from wordforest.evaluation.meaning.cooccurrence import CSR, Cooccurrence
from wordforest.evaluation.meaning.node_words import TopWords
from wordforest.evaluation.scores import Score


class Affinity(NamedTuple):
    """Mean NPMI of the pairs of different words, one of node i and one of node j, (M, M); nan at empty nodes.

    ``npmi`` has -1 for words never seen together. In ``positive`` these and all pairs that are rarer than chance
    count 0: only there is a ratio of two means sure to mean something. On the diagonal stands the coherence of a
    node. ``random`` is the mean NPMI of two different words drawn from all top words: what a node would have whose
    words were dealt out at random.
    """

    npmi: Array
    positive: Array
    random: float


class Family(NamedTuple):
    """Of every node the affinity with its parent, and the mean affinity with unrelated nodes: judged nodes of the
    parent's depth in other trees. (M, 2) each: NPMI and positive NPMI; nan at roots and where one of these is empty.
    """

    related: Array
    unrelated: Array


def affinity(tops: TopWords, held: Cooccurrence) -> Affinity:
    """Return how much the top words of every two nodes stand together: P'SP over pairs, P (U, M), S (U, U)."""
    lifted = held.lifted([tops.candidates[place] for place in tops.pool])
    positive = lifted.copy()
    positive.data = np.maximum(positive.data - 1.0, 0.0)
    slots = np.asarray(tops.membership.sum(axis=1), dtype=np.float64)  # (U,)
    n_pairs = float(slots.sum() ** 2 - slots @ slots)
    random = float(slots @ (lifted @ slots)) / n_pairs - 1.0 if n_pairs else math.nan
    return Affinity(_means(tops.membership, lifted) - 1.0, _means(tops.membership, positive), random)


def families(tops: TopWords, found: Affinity) -> Family:
    """Return the affinity of every child with its parent and with unrelated nodes of its parent's depth."""
    parent, depth = tops.forest.parent, tops.forest.depth
    other_trees = tops.trees[None] != tops.trees[:, None]  # (M, M)
    strangers = other_trees & (depth[None] == depth[parent][:, None]) & np.isin(np.arange(len(tops)), tops.judged)
    measures = (found.npmi, found.positive)
    related = np.stack([values[np.arange(len(tops)), parent] for values in measures], axis=1)
    unrelated = np.stack([averages.row_means(values, strangers) for values in measures], axis=1)
    unknown = (parent < 0) | np.isnan(related).any(axis=1) | np.isnan(unrelated).any(axis=1)
    related[unknown] = unrelated[unknown] = np.nan
    return Family(related, unrelated)


def coherence_scores(tops: TopWords, found: Affinity, *, seed: int = 0) -> list[Score]:
    """Return the mean coherence of all nodes and of those of each depth, and what random words would have."""
    return [
        *averages.scores_by_depth("coherence", "npmi", np.diag(found.npmi), tops.forest, seed=seed),
        averages.mean_score("coherence", "positive npmi", np.diag(found.positive), seed=seed),
        Score(TASK, "random words", "npmi", found.random, len(tops.judged), len(tops)),
    ]


def family_scores(tops: TopWords, family: Family, *, seed: int = 0) -> list[Score]:
    """Return parent-child and unrelated NPMI, their difference and their ratio, overall and by the child's depth.

    Intervals come from resamples of whole trees, as siblings share a parent. The ratio is that of positive NPMI:
    with -1 for pairs never seen, the mean of unrelated nodes is below 0, and twice of that would be less, not more.
    """
    scores = []
    every = np.concatenate(family, axis=1)  # (M, 4): NPMI, positive; the same of unrelated
    for suffix, nodes in averages.levels(tops.forest):
        n_children = int((tops.forest.parent[nodes] >= 0).sum())
        chosen = nodes & ~np.isnan(every[:, 0])
        if not n_children:
            continue
        values = every[chosen]
        many = averages.resampled_means(f"family{suffix}", values, tops.trees[chosen], seed)  # (B, 4)
        mean = values.mean(axis=0) if len(values) else np.full(4, np.nan)
        for name, metric, found, resampled in (
            ("parent-child", "npmi", mean[0], many[:, 0]),
            ("unrelated", "npmi", mean[2], many[:, 2]),
            ("parent-child - unrelated", "npmi", mean[0] - mean[2], many[:, 0] - many[:, 2]),
            ("parent-child / unrelated", "ratio", ratio(mean[1], mean[3]), ratio(many[:, 1], many[:, 3])),
        ):
            scores.append(
                Score(TASK, name + suffix, metric, float(found), len(values), n_children, *interval(resampled))
            )
    return scores


def _means(membership: CSR, values: CSR) -> Array:
    """Return the means of values over pairs of different words of two nodes, (U, M), (U, U) -> (M, M)."""
    sums = (membership.T @ values @ membership).toarray()
    sizes = np.asarray(membership.sum(axis=0), dtype=np.float64)
    pairs = np.outer(sizes, sizes) - (membership.T @ membership).toarray()
    return ratio(sums, pairs)
