"""How readable is a forest: coherence, parent and child, intrusion, distinctness, use, stability, signs by depth."""

from wordforest.evaluation.meaning.cooccurrence import Cooccurrence
from wordforest.evaluation.meaning.readability import Meaning, judge_meaning
from wordforest.evaluation.meaning.stability import stability_scores

__all__ = ["Cooccurrence", "Meaning", "judge_meaning", "stability_scores"]
