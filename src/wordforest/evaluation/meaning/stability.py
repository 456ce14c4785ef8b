"""Do other seeds find the same nodes? Nodes of two runs are matched one to one by what words use them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from wordforest.coder.forest import matched_nodes
from wordforest.errors import InputError
from wordforest.evaluation.bootstrap import Array
from wordforest.evaluation.meaning.averages import mean_score
from wordforest.evaluation.meaning.cooccurrence import Places
from wordforest.evaluation.meaning.node_words import top_words
from wordforest.evaluation.scores import Score
from wordforest.vectors import Vectors


class Match(NamedTuple):
    """Node ``first[i]`` of one run and node ``second[i]`` of another belong together, (m,) each, m = min(M1, M2).

    ``cosine`` (m,) is that of their columns over the common words, without its sign where vectors have signs.
    ``overlap`` (m,) is the share of top words they have in common. ``parents`` (m,) is 1 where their parents are
    matched to each other too, 0 where not, nan where the first is a root.
    """

    first: Places
    second: Places
    cosine: Array
    overlap: Array
    parents: Array


def match_nodes(first: Vectors, second: Vectors, *, candidates: Sequence[str] | None = None, n: int = 10) -> Match:
    """Return the one-to-one match of nodes with the largest sum of cosines (Hungarian method).

    Columns are compared over the words both know; top words are the n strongest of ``candidates``, without which
    they are the strongest of the common words. A node that no word uses has cosine 0 with all. A node of one depth
    may match one of another: that its parent then does not is what ``parents`` says.
    """
    common = [word for word in first.words if word in second.key_to_index]
    if not common:
        raise InputError("the two runs have no word in common. Compare runs over the same text.")
    rows = [[vectors.index(word) for word in common] for vectors in (first, second)]
    i, j, cosine = matched_nodes(first.matrix[rows[0]], second.matrix[rows[1]])
    tops = [top_words(vectors, common if candidates is None else candidates, n) for vectors in (first, second)]
    overlap = [_overlap(tops[0].places[a], tops[1].places[b]) for a, b in zip(i, j, strict=True)]
    partner = np.full(first.n_dimensions, -1)
    partner[i] = j
    above, theirs = tops[0].forest.parent[i], tops[1].forest.parent[j]
    together = (theirs >= 0) & (partner[above] == theirs)
    parents = np.where(above >= 0, together.astype(np.float64), np.nan)
    return Match(i, j, cosine, np.array(overlap), parents)


def stability_scores(
    runs: Sequence[Vectors], *, candidates: Sequence[str] | None = None, n: int = 10, seed: int = 0
) -> list[Score]:
    """Return cosine, overlap of top words and matching parents of matched nodes, means over all pairs of runs.

    Intervals come from resamples of the nodes of the first run of each pair, drawn with all its matches.
    """
    if len(runs) < 2:
        raise InputError(f"{len(runs)} run came, but stability needs at least 2: learn again with another seed.")
    matches = [match_nodes(a, b, candidates=candidates, n=n) for a, b in combinations(runs, 2)]
    pairs = combinations(range(len(runs)), 2)
    groups = np.concatenate([a * 10**6 + m.first for (a, _), m in zip(pairs, matches, strict=True)])
    cosine, overlap, parents = (np.concatenate(found) for found in list(zip(*matches, strict=True))[2:])
    has_parent = ~np.isnan(parents)
    scores = [
        mean_score("stability", "cosine", cosine, groups=groups, seed=seed),
        mean_score("stability of top words", "share", overlap, groups=groups, seed=seed),
    ]
    if has_parent.any():
        name = "stability of parents"
        scores.append(mean_score(name, "share", parents[has_parent], groups=groups[has_parent], seed=seed))
    return scores


def _overlap(a: Places, b: Places) -> float:
    """Return |a and b| / max(|a|, |b|); 0 where both are empty."""
    return len(np.intersect1d(a, b)) / max(len(a), len(b), 1)
