"""How good are vectors: similarity, analogies, completion, sentiment; one suite, intervals, comparisons, reports."""

from wordforest.evaluation.analogy import METHODS
from wordforest.evaluation.datasets import TASKS, Data, find_data
from wordforest.evaluation.report import (
    Grid,
    as_latex,
    as_markdown,
    as_objects,
    as_table,
    as_text,
    comparison_as_objects,
    tabulate,
    tabulate_comparison,
)
from wordforest.evaluation.scores import Comparison, Outcome, Score, compare, scores_of
from wordforest.evaluation.suite import evaluate, judge

__all__ = [
    "METHODS",
    "TASKS",
    "Comparison",
    "Data",
    "Grid",
    "Outcome",
    "Score",
    "as_latex",
    "as_markdown",
    "as_objects",
    "as_table",
    "as_text",
    "compare",
    "comparison_as_objects",
    "evaluate",
    "find_data",
    "judge",
    "scores_of",
    "tabulate",
    "tabulate_comparison",
]
