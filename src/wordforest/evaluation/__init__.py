"""How good are vectors: similarity, analogies, completion, sentiment; one suite, intervals, comparisons, reports."""

from wordforest.evaluation.datasets import TASKS, Data, find_data
from wordforest.evaluation.scores import Comparison, Outcome, Score, compare, corrected, scores_of
from wordforest.evaluation.suite import evaluate, judge

__all__ = [
    "TASKS",
    "Comparison",
    "Data",
    "Outcome",
    "Score",
    "compare",
    "corrected",
    "evaluate",
    "find_data",
    "judge",
    "scores_of",
]
