"""How readable is a forest: coherence, parent and child, intrusion, distinctness, use, stability, signs by depth."""

from wordforest.evaluation.meaning.coherence import Affinity, Family, affinity, families
from wordforest.evaluation.meaning.cooccurrence import Cooccurrence
from wordforest.evaluation.meaning.diversity import overlaps, uniqueness
from wordforest.evaluation.meaning.hierarchy import Agreement, agreement, hierarchy_scores
from wordforest.evaluation.meaning.intrusion import (
    Questions,
    Sheet,
    ask,
    by_node,
    clues,
    found_by_npmi,
    found_by_ranker,
    intrusion_sheet,
)
from wordforest.evaluation.meaning.node_words import TopWords, top_words
from wordforest.evaluation.meaning.readability import Meaning, NodeMeaning, judge_meaning
from wordforest.evaluation.meaning.stability import Match, match_nodes, stability_scores

__all__ = [
    "Affinity",
    "Agreement",
    "Cooccurrence",
    "Family",
    "Match",
    "Meaning",
    "NodeMeaning",
    "Questions",
    "Sheet",
    "TopWords",
    "affinity",
    "agreement",
    "ask",
    "by_node",
    "clues",
    "families",
    "found_by_npmi",
    "found_by_ranker",
    "hierarchy_scores",
    "intrusion_sheet",
    "judge_meaning",
    "match_nodes",
    "overlaps",
    "stability_scores",
    "top_words",
    "uniqueness",
]
