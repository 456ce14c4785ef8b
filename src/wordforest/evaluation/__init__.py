"""How good are vectors: word similarity, analogies, and the suite that runs what data there is."""

from wordforest.evaluation.analogy import Section, evaluate_analogies, read_questions
from wordforest.evaluation.report import as_lines, as_table
from wordforest.evaluation.score import Score, plain_mean, weighted_mean
from wordforest.evaluation.similarity import Pair, evaluate_similarity, read_pairs
from wordforest.evaluation.suite import TEN_SETS, evaluate

__all__ = [
    "TEN_SETS",
    "Pair",
    "Score",
    "Section",
    "as_lines",
    "as_table",
    "evaluate",
    "evaluate_analogies",
    "evaluate_similarity",
    "plain_mean",
    "read_pairs",
    "read_questions",
    "weighted_mean",
]
