"""How readable is a forest: coherence, parent and child, intrusion, distinctness, use, stability, signs by depth.

All numbers in one call, as scores for tables and node by node for JSON.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wordforest.evaluation.bootstrap import Array
from wordforest.evaluation.meaning.averages import TASK, scores_by_depth
from wordforest.evaluation.meaning.coherence import affinity, coherence_scores, families, family_scores
from wordforest.evaluation.meaning.cooccurrence import Cooccurrence
from wordforest.evaluation.meaning.intrusion import ask, by_node, chance, closeness, found_intruders
from wordforest.evaluation.meaning.node_words import TopWords, top_words
from wordforest.evaluation.meaning.stability import stability_scores
from wordforest.evaluation.meaning.use import distinct_scores, hierarchy_scores, uniqueness, use_scores
from wordforest.evaluation.scores import Score
from wordforest.vectors import Vectors

__all__ = ["Cooccurrence", "Meaning", "judge_meaning", "stability_scores"]

_NEIGHBOURS = 10


@dataclass(frozen=True, eq=False)
class Meaning:
    """What ``judge_meaning`` found: scores for the tables, the top words, and numbers of every node, (M,) each.

    ``coherence`` is the mean NPMI of a node's top words, ``with_parent`` that with its parent's, ``unrelated`` that
    with nodes of the parent's depth in other trees; ``intrusion`` the share of intruders found; ``unique`` how much
    its top words are its own; ``density`` the share of all words that use it. nan where a node, or what is needed,
    is empty.
    """

    scores: list[Score]
    tops: TopWords
    numbers: dict[str, Array]

    def score(self, name: str, metric: str | None = None) -> Score | None:
        """Return the score of a set by name (and metric), or None where there is none."""
        found = (s for s in self.scores if s.set == name and metric in (None, s.metric))
        return next(found, None)

    def as_objects(self) -> list[dict[str, Any]]:
        """Return one object for JSON for every node; nan becomes None, as JSON has no nan."""
        forest, side = self.tops.forest, self.tops.side
        return [
            {
                "node": node,
                "parent": int(forest.parent[node]),
                "depth": int(forest.depth[node]),
                "side": int(side[node]),  # -1 where the top words are those of the most negative coefficients
                "words": self.tops.words(node),
                **{name: None if math.isnan(of[node]) else float(of[node]) for name, of in self.numbers.items()},
            }
            for node in range(len(self.tops))
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
    forest are judged as roots alone. ``seed`` is that of intruders and intervals.
    """
    if candidates is None:
        candidates = held_out.candidates([vectors.words])
    tops = top_words(vectors, candidates, n)
    found = affinity(tops, held_out)
    family = families(tops, found)
    questions = ask(tops, seed=seed)
    intrusion = by_node(questions, found_intruders(closeness(questions, tops, held_out)), len(tops))
    scores = [
        *coherence_scores(tops, found, seed=seed),
        *family_scores(tops, family, seed=seed),
        *scores_by_depth("intrusion", "accuracy", intrusion, tops.forest, seed=seed),
        Score(TASK, "intrusion, guessed", "accuracy", chance(questions), len(np.unique(questions.node)), len(tops)),
        *distinct_scores(tops, seed=seed),
        *use_scores(vectors, tops, seed=seed),
    ]
    if tops.forest.depth.any() and len(candidates) > _NEIGHBOURS:
        scores += hierarchy_scores(vectors, candidates, k=_NEIGHBOURS, seed=seed)
    numbers = {
        "coherence": np.diag(found.npmi),
        "with_parent": family.related[:, 0],
        "unrelated": family.unrelated[:, 0],
        "intrusion": intrusion,
        "unique": uniqueness(tops),
        "density": vectors.uses() / len(vectors),
    }
    return Meaning(scores, tops, numbers)
