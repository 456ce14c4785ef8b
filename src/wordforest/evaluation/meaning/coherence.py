"""Do the top words of a node, and those of parent and child, stand together in held-out text?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.forest import Forest
from wordforest.evaluation.bootstrap import interval
from wordforest.evaluation.meaning.averages import TASK, mean_score, ratio, resampled_means, row_means, scores_by_depth
from wordforest.evaluation.meaning.cooccurrence import CSR, Array, Cooccurrence, Places
from wordforest.evaluation.meaning.node_words import TopWords
from wordforest.evaluation.scores import Score


@dataclass(frozen=True, eq=False)
class Affinity:
    """Mean NPMI of the pairs of different words, one of node i and one of node j, (M, M); nan at empty nodes.

    ``npmi`` has -1 for words never seen together. In ``positive`` these and all pairs that are rarer than chance
    count 0: only there is a ratio of two means sure to mean something. On the diagonal stands the coherence of a
    node. ``random`` is the mean NPMI of two different words drawn from all top words: what a node would have whose
    words were dealt out at random.
    """

    npmi: Array
    positive: Array
    random: float


@dataclass(frozen=True, eq=False)
class Family:
    """For each of C nodes that have a parent: its affinity with it, and its mean affinity with unrelated nodes.

    ``related`` and ``unrelated`` are (C, 2): NPMI and positive NPMI. Unrelated to a child are all judged nodes of
    its parent's depth in other trees. Values are nan where the child, its parent, or all of those are empty.
    """

    child: Places
    related: Array
    unrelated: Array


def affinity(tops: TopWords, held: Cooccurrence) -> Affinity:
    """Return how much the top words of every two nodes stand together: P'SP over pairs, P (U, M), S (U, U)."""
    lifted = held.lifted(tops.pool_words)
    positive = lifted.copy()
    positive.data = np.maximum(positive.data - 1.0, 0.0)
    slots = np.asarray(tops.membership.sum(axis=1), dtype=np.float64)  # (U,)
    n_pairs = float(slots.sum() ** 2 - slots @ slots)
    random = float(slots @ (lifted @ slots)) / n_pairs - 1.0 if n_pairs else math.nan
    return Affinity(_means(tops.membership, lifted) - 1.0, _means(tops.membership, positive), random)


def families(tops: TopWords, found: Affinity) -> Family:
    """Return the affinity of every child with its parent and with unrelated nodes of its parent's depth."""
    forest = tops.forest
    tree = trees(forest)
    child = np.flatnonzero(forest.parent >= 0).astype(np.int64)
    parent = forest.parent[child]
    judged = np.zeros(len(tops), dtype=bool)
    judged[tops.judged] = True
    same_depth = forest.depth[None] == forest.depth[parent][:, None]  # (C, M)
    other = same_depth & (tree[None] != tree[child][:, None]) & judged[None]
    measures = (found.npmi, found.positive)
    related = np.stack([values[child, parent] for values in measures], axis=1)  # (C, 2)
    unrelated = np.stack([row_means(values[child], other) for values in measures], axis=1)
    unknown = np.isnan(related).any(axis=1) | np.isnan(unrelated).any(axis=1)
    related[unknown] = unrelated[unknown] = np.nan
    return Family(child, related, unrelated)


def trees(forest: Forest) -> NDArray[np.int64]:
    """Return the number of the tree of every node, (M,)."""
    return np.asarray(np.searchsorted(forest.roots, np.arange(len(forest)), side="right") - 1, dtype=np.int64)


def coherence_scores(tops: TopWords, found: Affinity, *, seed: int = 0) -> list[Score]:
    """Return the mean coherence of all nodes and of those of each depth, and what random words would have."""
    return [
        *scores_by_depth("coherence", "npmi", np.diag(found.npmi), tops.forest.depth, seed=seed),
        mean_score("coherence", "positive npmi", np.diag(found.positive), seed=seed),
        Score(TASK, "random words", "npmi", found.random, len(tops.judged), len(tops)),
    ]


def family_scores(tops: TopWords, family: Family, *, seed: int = 0) -> list[Score]:
    """Return parent-child and unrelated NPMI, their difference and their ratio, overall and by the child's depth.

    Intervals come from resamples of whole trees, as siblings share a parent. The ratio is that of positive NPMI:
    with -1 for pairs never seen, the mean of unrelated nodes is below 0, and twice of that would be less, not more.
    """
    if not len(family.child):
        return []
    depth = tops.forest.depth[family.child]
    scores = _family_scores("", tops, family, np.ones(len(depth), dtype=bool), seed)
    if len(tops.depths) > 2:
        for d in tops.depths[1:]:
            scores += _family_scores(f" depth {d}", tops, family, depth == d, seed)
    return scores


def _family_scores(suffix: str, tops: TopWords, family: Family, chosen: NDArray[np.bool_], seed: int) -> list[Score]:
    related, unrelated = family.related[chosen], family.unrelated[chosen]
    groups = trees(tops.forest)[family.child[chosen]]
    valued = ~np.isnan(related[:, 0])
    values = np.concatenate([related, unrelated], axis=1)[valued]  # (n, 4): NPMI, positive; the same of unrelated
    n_total = len(related)
    if not len(values):
        names = ("parent-child", "unrelated", "parent-child - unrelated")
        return [Score(TASK, name + suffix, "npmi", math.nan, 0, n_total) for name in names]
    many = resampled_means(f"family{suffix}", values, groups[valued], seed)  # (B, 4)
    mean = values.mean(axis=0)

    def score(name: str, metric: str, value: float, resampled: Array) -> Score:
        return Score(TASK, name + suffix, metric, value, len(values), n_total, *interval(resampled))

    return [
        score("parent-child", "npmi", float(mean[0]), many[:, 0]),
        score("unrelated", "npmi", float(mean[2]), many[:, 2]),
        score("parent-child - unrelated", "npmi", float(mean[0] - mean[2]), many[:, 0] - many[:, 2]),
        score("parent-child / unrelated", "ratio", float(ratio(mean[1], mean[3])), ratio(many[:, 1], many[:, 3])),
    ]


def _means(membership: CSR, values: CSR) -> Array:
    """Return the means of values over pairs of different words of two nodes, (U, M), (U, U) -> (M, M)."""
    sums = (membership.T @ values @ membership).toarray()
    sizes = np.asarray(membership.sum(axis=0), dtype=np.float64)
    pairs = np.outer(sizes, sizes) - (membership.T @ membership).toarray()
    return ratio(sums, pairs)
