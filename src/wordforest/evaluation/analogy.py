"""Analogies: a is to b as c is to d, where d is the word nearest to b - a + c."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.evaluation.lookup import numbered_lines, rows_of
from wordforest.evaluation.score import Score
from wordforest.vectors import Vectors

_PRODUCT_CELLS = 2**21  # question words x vocabulary block, 8 MB in float32
_SCORE_CELLS = 2**18  # questions x vocabulary block, 1 MB: stays in cache while it is summed and searched

Question = tuple[str, str, str, str]


@dataclass(frozen=True)
class Section:
    """Questions (a, b, c, d) of one relation; names that start with ``gram`` are syntactic relations."""

    name: str
    questions: tuple[Question, ...]

    @property
    def syntactic(self) -> bool:
        """Tell whether the relation is one of grammar rather than of meaning."""
        return self.name.startswith("gram")


def read_questions(path: str | Path) -> list[Section]:
    """Read ``: name`` lines, each followed by its questions of four words, as in questions-words.txt."""
    sections: list[tuple[str, list[Question]]] = []
    for number, line in numbered_lines(path):
        if line.startswith(":"):
            sections.append((line[1:].strip(), []))
        elif not sections:
            raise InputError(
                f"{path}, line {number}: expected ': section' before any question, found {line[:60]!r}. "
                "Add a line such as ': family' above it."
            )
        else:
            sections[-1][1].append(_question(path, number, line))
    if not any(questions for _, questions in sections):
        raise InputError(f"{path}: expected questions of four words, found none. Check the path.")
    return [Section(name, tuple(questions)) for name, questions in sections]


def evaluate_analogies(vectors: Vectors, sections: Sequence[Section]) -> list[Score]:
    """Return the accuracy in percent of every section, then of all syntactic and all semantic questions.

    The answer to (a, b, c) is the word of highest cosine with b - a + c over unit vectors, a, b and c
    excluded, the first row where several are equal. A question is skipped if one of its four words has no
    vector, as written or lower-cased.
    """
    known = [_known(vectors, section) for section in sections]
    asked = np.concatenate([np.empty((0, 4), np.int64), *known])  # (Q, 4)
    right = _answers(vectors, asked[:, :3]) == asked[:, 3]
    borders = np.cumsum([len(rows) for rows in known])[:-1]
    hits = np.split(right, borders) if known else []
    scores = [_score(s.name, [h], len(s.questions)) for s, h in zip(sections, hits, strict=True)]
    for name, syntactic in (("syntactic", True), ("semantic", False)):
        chosen = [(s, h) for s, h in zip(sections, hits, strict=True) if s.syntactic is syntactic]
        scores.append(_score(name, [h for _, h in chosen], sum(len(s.questions) for s, _ in chosen)))
    return scores


def _question(path: str | Path, number: int, line: str) -> Question:
    words = line.split()
    if len(words) != 4:
        raise InputError(
            f"{path}, line {number}: expected four words, found {len(words)}: {line[:60]!r}. "
            "Correct or delete the line."
        )
    return words[0], words[1], words[2], words[3]


def _known(vectors: Vectors, section: Section) -> NDArray[np.int64]:
    """Return the rows of a, b, c, d of every question whose words all have vectors, (q, 4)."""
    rows = [found for question in section.questions if (found := rows_of(vectors, question)) is not None]
    return np.array(rows, dtype=np.int64).reshape(-1, 4)


def _score(name: str, hits: list[NDArray[np.bool_]], n_total: int) -> Score:
    n_scored = sum(len(h) for h in hits)
    n_right = sum(int(h.sum()) for h in hits)
    value = 100 * n_right / n_scored if n_scored else math.nan
    return Score("analogy", name, "accuracy", value, n_scored, n_total)


def _answers(vectors: Vectors, asked: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row nearest to b - a + c for every question (a, b, c), (Q, 3) -> (Q,).

    <b - a + c, w> = <b, w> - <a, w> + <c, w>, so the few distinct question words, not the many questions,
    are multiplied with the vocabulary. The length of b - a + c does not change which w is nearest.
    """
    words, places = np.unique(asked, return_inverse=True)
    places = places.reshape(asked.shape)  # (Q, 3) into words
    best = np.zeros(len(asked), dtype=np.int64)
    highest = np.full(len(asked), -np.inf, dtype=np.float32)
    if not len(asked):
        return best
    asked_unit = np.asarray(vectors.unit[words], dtype=np.float32)  # (W, M)
    width = max(1, _PRODUCT_CELLS // len(words))
    height = max(1, _SCORE_CELLS // width)
    for start in range(0, len(vectors), width):
        unit = np.asarray(vectors.unit[start : start + width], dtype=np.float32)
        products = asked_unit @ unit.T  # (W, width)
        for first in range(0, len(asked), height):
            block = slice(first, first + height)
            row, score = _best_of_block(products, places[block], asked[block] - start)
            better = score > highest[block]
            best[block][better] = row[better] + start
            highest[block][better] = score[better]
    return best


def _best_of_block(
    products: NDArray[np.float32], places: NDArray[np.int64], excluded: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the best column and its score for every question of a block, (q,) each.

    ``places`` (q, 3) points into the rows of ``products``; ``excluded`` (q, 3) are columns, those outside
    of the block included.
    """
    a, b, c = places.T
    scores = products[b]
    scores -= products[a]
    scores += products[c]  # (q, width)
    question, which = np.nonzero((excluded >= 0) & (excluded < scores.shape[1]))
    scores[question, excluded[question, which]] = -np.inf
    row = scores.argmax(axis=1)
    return row, scores[np.arange(len(row)), row]
