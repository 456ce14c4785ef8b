"""Sentence completion: which of five words fits the gap of a sentence best?"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wordforest.errors import InputError
from wordforest.evaluation.files import bad_line, nothing_in, read_utf8
from wordforest.evaluation.scores import Outcome, numbered
from wordforest.evaluation.word_rows import token_rows, unit_rows
from wordforest.vectors import Vectors

BLANK = "_____"

_LETTERS = "abcde"
_DECIMALS = 12  # averages closer than this differ by rounding alone, and must tie
_WORD = re.compile(r"\d+(?:[.,]\d+)*(?![^\W_])|[^\W_]+(?:'[^\W_]+)*")  # numbers; words with apostrophes inside


class Gap(NamedTuple):
    """A sentence with one blank, its five candidates, and which of them is right (from 0)."""

    sentence: str
    candidates: tuple[str, ...]
    answer: int


def read_gaps(questions: str | Path, answers: str | Path) -> list[Gap]:
    """Read ``id,question,a),b),c),d),e)`` and ``id,answer`` from the two files of the MSR challenge."""
    letters: dict[str, int] = {}
    for number, fields in _rows(answers, 2):
        letter = fields[1].strip().lower()
        if letter not in _LETTERS or len(letter) != 1:
            raise bad_line(answers, number, "an answer from a to e", fields[1])
        if fields[0] in letters:
            raise bad_line(answers, number, "every id once", fields[0])
        letters[fields[0]] = _LETTERS.index(letter)
    gaps: dict[str, Gap] = {}
    for number, (key, sentence, *candidates) in _rows(questions, 2 + len(_LETTERS)):
        if sentence.count(BLANK) != 1:
            raise bad_line(questions, number, f"one blank {BLANK} in the sentence", sentence)
        if key in gaps or key not in letters:
            wanted = "every id once" if key in gaps else f"an id that {answers} has an answer for"
            raise bad_line(questions, number, wanted, key)
        gaps[key] = Gap(sentence.strip(), tuple(word.strip() for word in candidates), letters[key])
    if not gaps:
        raise nothing_in(questions, "questions below the first line")
    return list(gaps.values())


def judge_completion(vectors: Vectors, gaps: Sequence[Gap], name: str = "MSR") -> Outcome:
    """Return which gaps are filled right: by the candidate of highest average cosine to all other words.

    For candidate w and the words c_1 .. c_n of the sentence, repeated ones included: 1/n sum_i cos(w, c_i).
    Words without a vector are left out of the average. A gap is skipped if one of its candidates has no vector
    or none of the words has. Of equal candidates the first is taken.
    """
    keys, right = [], []
    for key, gap in zip(numbered(gap.sentence for gap in gaps), gaps, strict=True):
        candidates = [row for word in gap.candidates if (row := _candidate_row(vectors, word)) is not None]
        others = token_rows(vectors, words_of(gap.sentence))
        if len(candidates) == len(gap.candidates) and others:
            keys.append(key)
            right.append(_choice(vectors, candidates, others) == gap.answer)
    return Outcome("completion", name, "accuracy", tuple(keys), np.array(right, dtype=np.float64), len(gaps))


def words_of(sentence: str) -> list[str]:
    """Return the words and numbers of a sentence, apostrophes inside them kept, all else dropped.

    >>> words_of("It's _____ o'clock, the worn-out clerk said.")
    ["It's", "o'clock", 'the', 'worn', 'out', 'clerk', 'said']
    """
    return _WORD.findall(sentence.replace("\u2019", "'"))


def _candidate_row(vectors: Vectors, candidate: str) -> int | None:
    """Return the row of a candidate as written, hyphens and all, else of the one word in it, else None."""
    words = words_of(candidate)
    forms = [candidate, *words] if len(words) == 1 else [candidate]
    return next(iter(token_rows(vectors, forms)), None)


def _choice(vectors: Vectors, candidates: list[int], others: list[int]) -> int:
    """Return the place of the candidate with the highest mean cosine; the mean of the unit vectors gives it."""
    context = unit_rows(vectors, np.array(others)).mean(axis=0)  # (M,)
    averages = np.einsum("ij,j->i", unit_rows(vectors, np.array(candidates)), context)  # (5,)
    return int(averages.round(_DECIMALS).argmax())


def _rows(path: str | Path, n_fields: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, fields) of every row below the first line, which must start with id."""
    reader = csv.reader(io.StringIO(read_utf8(path), newline=""), strict=True)
    try:
        for place, fields in enumerate(row for row in reader if row):
            if len(fields) != n_fields or not all(field.strip() for field in fields):
                raise bad_line(path, reader.line_num, f"{n_fields} fields, none empty", ",".join(fields))
            if place == 0 and fields[0].strip().lower() != "id":
                raise bad_line(path, reader.line_num, "a first line that starts with id", fields[0])
            if place:
                yield reader.line_num, [fields[0].strip(), *fields[1:]]
    except csv.Error as error:
        raise InputError(
            f"{path}, line {reader.line_num}: expected comma-separated fields, found: {error}. Correct the line."
        ) from error
