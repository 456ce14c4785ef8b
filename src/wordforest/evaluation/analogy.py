"""Analogies: a is to b as c is to d, where d is the word nearest to b - a + c (3CosAdd, the rule of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.evaluation.bootstrap import Array
from wordforest.evaluation.files import bad_line, nothing_in, numbered_lines
from wordforest.evaluation.scores import Outcome, cluster_ids, numbered
from wordforest.evaluation.standard_error import Ids
from wordforest.evaluation.word_rows import rows_of
from wordforest.vectors import Vectors

_PRODUCT_CELLS = 2**21  # question words x vocabulary block, 8 MB in float32
_SCORE_CELLS = 2**18  # questions x vocabulary block, 1 MB: stays in cache while it is summed and searched

Question = tuple[str, str, str, str]


class Section(NamedTuple):
    """Questions (a, b, c, d) of one relation; names that start with ``gram`` are syntactic relations."""

    name: str
    questions: tuple[Question, ...]

    @property
    def syntactic(self) -> bool:
        """Whether the relation is one of grammar rather than of meaning."""
        return self.name.startswith("gram")


def read_questions(path: str | Path) -> list[Section]:
    """Read ``: name`` lines, each followed by its questions of four words, as in questions-words.txt."""
    sections: list[tuple[str, list[Question]]] = []
    for number, line in numbered_lines(path):
        if line.startswith(":"):
            sections.append((line[1:].strip(), []))
        elif not sections:
            raise bad_line(path, number, "a line such as ': family' before any question", line)
        elif len(words := line.split()) != 4:
            raise bad_line(path, number, "four words", line)
        else:
            sections[-1][1].append((words[0], words[1], words[2], words[3]))
    if not any(questions for _, questions in sections):
        raise nothing_in(path, "questions of four words")
    return [Section(name, tuple(questions)) for name, questions in sections]


def judge_analogies(vectors: Vectors, sections: Sequence[Section]) -> list[Outcome]:
    """Return which questions of every section are answered right, then of all syntactic and all semantic ones.

    The answer to (a, b, c) is the word w of highest cos(b, w) - cos(a, w) + cos(c, w), a, b and c excluded, the first
    row where several are equal. A question is skipped if one of its four words has no vector, as written or
    lower-cased.
    """
    known = [_known(vectors, section) for section in sections]
    asked = np.array([rows for found in known for _, _, rows in found], dtype=np.int64).reshape(-1, 4)  # (Q, 4)
    right = (find_answers(vectors, asked[:, :3]) == asked[:, 3]).astype(np.float64)
    borders = np.cumsum([len(found) for found in known])[:-1]
    hits = np.split(right, borders) if known else []
    outcomes = []
    for section, found, hit in zip(sections, known, hits, strict=True):
        keys, pairs = tuple(key for key, _, _ in found), cluster_ids([pairs_of(question) for _, question, _ in found])
        outcomes.append(_outcome(section.name, keys, hit, len(section.questions), pairs))
    kinds = [section.syntactic for section in sections]
    for name, syntactic in (("syntactic", True), ("semantic", False)):
        outcomes.append(_together(name, [o for o, kind in zip(outcomes, kinds, strict=False) if kind is syntactic]))
    return outcomes


def pairs_of(question: Question) -> tuple[str, str]:
    """Return the pairs (a, b) and (c, d) of a question, one text each, however they are written."""
    a, b, c, d = (word.lower() for word in question)
    return f"{a} {b}", f"{c} {d}"


def _known(vectors: Vectors, section: Section) -> list[tuple[str, Question, list[int]]]:
    """Return key, question and rows of a, b, c, d for every question whose words all have vectors."""
    keys = numbered(f"{section.name}: {' '.join(question)}" for question in section.questions)
    return [
        (key, question, rows)
        for key, question in zip(keys, section.questions, strict=True)
        if (rows := rows_of(vectors, question)) is not None
    ]


def _together(name: str, parts: list[Outcome]) -> Outcome:
    keys = numbered(key for part in parts for key in part.keys)  # sections may share a name
    right = np.concatenate([np.empty(0), *(part.values for part in parts)])
    pairs = np.concatenate([cluster_ids([]), *(part.clusters for part in parts)])
    return _outcome(name, tuple(keys), right, sum(part.n_total for part in parts), pairs)


def _outcome(name: str, keys: tuple[str, ...], right: Array, n_total: int, pairs: Ids) -> Outcome:
    return Outcome("analogy", name, "accuracy", keys, right, n_total, clusters=pairs)


def find_answers(vectors: Vectors, asked: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the row of highest score for every question (a, b, c), (Q, 3) -> (Q,).

    <b - a + c, w> = <b, w> - <a, w> + <c, w>, and the length of b - a + c does not change which w is nearest. So the
    few distinct question words, not the many questions, are multiplied with the vocabulary, a block of it at a time.
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
        cosines = asked_unit @ np.asarray(vectors.unit[start : start + width], dtype=np.float32).T  # (W, width)
        for first in range(0, len(asked), height):
            block = slice(first, first + height)
            a, b, c = places[block].T
            scores = cosines[b]
            scores -= cosines[a]
            scores += cosines[c]
            row, score = _best_of_block(scores, asked[block] - start)
            better = score > highest[block]
            best[block][better] = row[better] + start
            highest[block][better] = score[better]
    return best


def _best_of_block(
    scores: NDArray[np.float32], excluded: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the best column and its score for every question of a block, (q, width) -> (q,) each.

    ``excluded`` (q, 3) are columns, those outside of the block included.
    """
    question, which = np.nonzero((excluded >= 0) & (excluded < scores.shape[1]))
    scores[question, excluded[question, which]] = -np.inf
    row = scores.argmax(axis=1)
    return row, scores[np.arange(len(row)), row]
