"""How good are vectors: similarity, analogies, completion, sentiment; one suite, intervals, comparisons, reports."""

from wordforest.evaluation.analogy import METHODS, OFFSET, Method, Section, judge_analogies, product, read_questions
from wordforest.evaluation.compare import Comparison, compare
from wordforest.evaluation.completion import Gap, judge_completion, read_gaps
from wordforest.evaluation.data import TASKS, Data, find_data
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
from wordforest.evaluation.scores import TEN_SETS, Outcome, Score, scores_of
from wordforest.evaluation.sentiment import Review, Reviews, judge_sentiment, read_reviews
from wordforest.evaluation.similarity import Pair, judge_similarity, read_pairs
from wordforest.evaluation.suite import Half, evaluate, judge

__all__ = [
    "METHODS",
    "OFFSET",
    "TASKS",
    "TEN_SETS",
    "Comparison",
    "Data",
    "Gap",
    "Grid",
    "Half",
    "Method",
    "Outcome",
    "Pair",
    "Review",
    "Reviews",
    "Score",
    "Section",
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
    "judge_analogies",
    "judge_completion",
    "judge_sentiment",
    "judge_similarity",
    "product",
    "read_gaps",
    "read_pairs",
    "read_questions",
    "read_reviews",
    "scores_of",
    "tabulate",
    "tabulate_comparison",
]
