"""All numbers of meaning in one call, as scores for tables and node by node for JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from wordforest.evaluation.meaning.averages import TASK, mean_score, scores_by_depth
from wordforest.evaluation.meaning.coherence import affinity, coherence_scores, families, family_scores
from wordforest.evaluation.meaning.cooccurrence import Array, Cooccurrence
from wordforest.evaluation.meaning.diversity import distinct_scores, uniqueness, use_scores
from wordforest.evaluation.meaning.hierarchy import hierarchy_scores
from wordforest.evaluation.meaning.intrusion import (
    ask,
    by_node,
    chance,
    clues,
    found_by_npmi,
    found_by_ranker,
)
from wordforest.evaluation.meaning.node_words import TopWords, node_density, top_words
from wordforest.evaluation.scores import Score
from wordforest.vectors import Vectors

_NEIGHBOURS = 10


@dataclass(frozen=True)
class NodeMeaning:
    """One node: where it stands, its top words, and its numbers; nan where it, or what is needed, is empty.

    ``side`` is -1 where the top words are those of the most negative coefficients. ``coherence`` is the mean NPMI
    of its top words, ``with_parent`` that with its parent's, ``unrelated`` that with nodes of the parent's depth in
    other trees; ``intrusion`` the share of intruders found; ``unique`` how much its top words are its own;
    ``density`` the share of all words that use it.
    """

    node: int
    parent: int
    depth: int
    side: int
    words: tuple[str, ...]
    coherence: float
    with_parent: float
    unrelated: float
    intrusion: float
    unique: float
    density: float


@dataclass(frozen=True)
class Meaning:
    """What ``judge_meaning`` found: scores for the tables, and every node by itself."""

    scores: list[Score]
    nodes: list[NodeMeaning]

    def values(self, name: str, depth: int | None = None) -> Array:
        """Return one number of every node (of a depth), (M,): the ground of a comparison with other vectors."""
        nodes = [node for node in self.nodes if depth is None or node.depth == depth]
        return np.array([getattr(node, name) for node in nodes], dtype=np.float64)

    def score(self, name: str, metric: str | None = None) -> Score | None:
        """Return the score of a set by name (and metric), or None where there is none."""
        found = (s for s in self.scores if s.set == name and metric in (None, s.metric))
        return next(found, None)

    def as_objects(self) -> list[dict[str, Any]]:
        """Return one object for JSON for every node; nan becomes None, as JSON has no nan."""
        return [
            {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()}
            for row in map(asdict, self.nodes)
        ]


def judge_meaning(
    vectors: Vectors,
    held_out: Cooccurrence,
    *,
    n: int = 10,
    candidates: Sequence[str] | None = None,
    seed: int = 0,
) -> Meaning:
    """Judge how readable the nodes of some vectors are, by their n top words and held-out text.

    ``candidates`` are the words that may be top words; give the same to all models that are compared (from
    ``held_out.candidates`` with all their vocabularies). Without it: those of these vectors. Vectors without a
    forest are judged as roots alone. ``seed`` is that of intruders, folds and intervals.
    """
    if candidates is None:
        candidates = held_out.candidates([vectors.words])
    tops = top_words(vectors, candidates, n)
    found = affinity(tops, held_out)
    family = families(tops, found)
    questions = ask(vectors, tops, seed=seed)
    hints = clues(questions, tops, held_out)
    intrusion = by_node(questions, found_by_npmi(questions, hints), len(tops))
    ranked = by_node(questions, found_by_ranker(questions, hints, seed=seed), len(tops))
    n_asked = len(np.unique(questions.node))
    scores = [
        *coherence_scores(tops, found, seed=seed),
        *family_scores(tops, family, seed=seed),
        *scores_by_depth("intrusion", "accuracy", intrusion, tops.forest.depth, seed=seed),
        mean_score("intrusion, ranker", "accuracy", ranked, seed=seed),
        Score(TASK, "intrusion, guessed", "accuracy", chance(questions), n_asked, len(tops)),
        *distinct_scores(tops, seed=seed),
        *use_scores(vectors, tops, seed=seed),
    ]
    if len(tops.depths) > 1 and len(candidates) > _NEIGHBOURS:
        scores += hierarchy_scores(vectors, candidates, k=_NEIGHBOURS, seed=seed)
    with_parent, unrelated = (np.full(len(tops), np.nan) for _ in range(2))
    with_parent[family.child], unrelated[family.child] = family.related[:, 0], family.unrelated[:, 0]
    numbers = {
        "coherence": np.diag(found.npmi),
        "with_parent": with_parent,
        "unrelated": unrelated,
        "intrusion": intrusion,
        "unique": uniqueness(tops),
        "density": node_density(vectors),
    }
    return Meaning(scores, [_node(tops, node, numbers) for node in range(len(tops))])


def _node(tops: TopWords, node: int, numbers: dict[str, Array]) -> NodeMeaning:
    return NodeMeaning(
        node=node,
        parent=int(tops.forest.parent[node]),
        depth=int(tops.forest.depth[node]),
        side=int(tops.side[node]),
        words=tops.words(node),
        **{name: float(values[node]) for name, values in numbers.items()},
    )
