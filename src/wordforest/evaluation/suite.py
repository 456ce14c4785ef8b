"""All tasks for which there is data, in one call."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeVar, get_args

from wordforest.errors import InputError
from wordforest.evaluation.analogy import judge_analogies, pairs_of, read_questions
from wordforest.evaluation.completion import judge_completion, read_gaps
from wordforest.evaluation.datasets import TASKS, Data, find_data
from wordforest.evaluation.scores import Outcome, Score, scores_of
from wordforest.evaluation.sentiment import Reviews, judge_sentiment, read_reviews
from wordforest.evaluation.similarity import judge_similarity, pair_text, read_pairs
from wordforest.vectors import Vectors

Half = Literal["development", "test"]
Item = TypeVar("Item")


def evaluate(
    vectors: Vectors,
    data: str | Path | Data | None = None,
    *,
    tasks: Sequence[str] | None = None,
    half: Half | None = None,
    restrict: int | None = None,
) -> list[Score]:
    r"""Return the scores of every set of every task found, with their summaries and 95 % intervals.

    ``data`` is a folder, or what ``find_data`` returns; without it the folder named by WORDFOREST_DATA; without that
    the files that come with gensim, where it is installed. ``tasks`` names some of TASKS; without it all that have data
    are run. ``half`` keeps the items of one of two fixed halves; analogies between pairs of different halves are in
    neither. With ``restrict`` only the first so many words exist.

    Examples:
        >>> from pathlib import Path
        >>> import wordforest as wf
        >>> pairs = Path("data/wordsim/EN-MINE.txt")
        >>> pairs.parent.mkdir(parents=True)
        >>> _ = pairs.write_text("cat\tdog\t8\ncat\tcar\t2\ndog\tcar\t1\n")
        >>> vectors = wf.Vectors(["cat", "dog", "car"], [[2, 1], [2, 0], [0, 3]])
        >>> score = wf.evaluate(vectors, "data")[0]
        >>> score.set, round(score.value, 2), score.n_scored
        ('EN-MINE', 1.0, 3)
    """
    return scores_of(judge(vectors, data, tasks=tasks, half=half, restrict=restrict))


def judge(
    vectors: Vectors,
    data: str | Path | Data | None = None,
    *,
    tasks: Sequence[str] | None = None,
    half: Half | None = None,
    restrict: int | None = None,
) -> list[Outcome]:
    r"""Return what ``evaluate`` scores, item by item, so that two models can be compared; arguments as there.

    Examples:
        >>> from pathlib import Path
        >>> import wordforest as wf
        >>> pairs = Path("data/wordsim/EN-MINE.txt")
        >>> pairs.parent.mkdir(parents=True)
        >>> _ = pairs.write_text("cat\tdog\t8\ncat\tcar\t2\ndog\tcar\t1\n")
        >>> vectors = wf.Vectors(["cat", "dog", "car"], [[2, 1], [2, 0], [0, 3]])
        >>> outcome = wf.evaluation.judge(vectors, "data")[0]
        >>> outcome.values.round(2), outcome.gold
        (array([0.89, 0.45, 0.  ]), array([8., 2., 1.]))
    """
    if half is not None and half not in get_args(Half):
        raise InputError(f"half = {half!r}: expected 'development', 'test' or none. Choose one of them.")
    found = data if isinstance(data, Data) else find_data(data)
    asked = _asked(tasks)
    known = _first_words(vectors, restrict).comparable
    outcomes: list[Outcome] = []
    for task in TASKS:
        if task in asked or (not asked and task in found.files):
            outcomes += _judged(task, known, found.of(task), half)
    return outcomes


def half_of(task: str, text: str) -> Half:
    """Return the half a text belongs to, by the SHA-256 of its task and itself: the same on every machine.

    It is a pair of words, a sentence with a gap, or a review. Questions have two pairs and belong to a half if both
    do, so that no pair seen during development comes back in the test. About half of all questions have pairs of
    different halves and belong to neither. The name of the set is no part of the hash: a pair that stands in several
    (WS-353 and its two parts, MC-30 and RG-65, the two sections of capitals) is in the same half in all of them.
    """
    digest = hashlib.sha256(f"{task}\0{text}".encode()).digest()
    return "development" if digest[0] % 2 else "test"


def _asked(tasks: Sequence[str] | None) -> tuple[str, ...]:
    """Return the tasks asked for by name; none means all that have data."""
    if tasks is None:
        return ()
    names = (tasks,) if isinstance(tasks, str) else tuple(tasks)
    unknown = [name for name in names if name not in TASKS]
    if unknown or not names:
        came = ", ".join(map(repr, unknown)) or "none"
        raise InputError(f"tasks: expected some of {', '.join(TASKS)}, meaning, found {came}. Choose among these.")
    return names


def _first_words(vectors: Vectors, restrict: int | None) -> Vectors:
    if restrict is not None and restrict < 1:
        raise InputError(f"restrict = {restrict}: expected at least one word. Give a larger number, or none.")
    if restrict is None or restrict >= len(vectors):
        return vectors
    return vectors.first(restrict)


def _judged(task: str, vectors: Vectors, files: tuple[Path, ...], half: Half | None) -> list[Outcome]:
    def kept(items: Sequence[Item], *texts: Callable[[Item], str]) -> tuple[Item, ...]:
        return tuple(x for x in items if half is None or all(half_of(task, text(x)) == half for text in texts))

    if task == "similarity":
        sets = ((path.stem, read_pairs(path)) for path in files)
        return [judge_similarity(vectors, kept(pairs, lambda p: pair_text(*p[:2])), name) for name, pairs in sets]
    if task == "analogy":
        sides = (lambda q: pairs_of(q)[0], lambda q: pairs_of(q)[1])
        sections = read_questions(files[0])
        return judge_analogies(vectors, [s._replace(questions=kept(s.questions, *sides)) for s in sections])
    if task == "completion":
        return [judge_completion(vectors, kept(read_gaps(*files), lambda gap: gap.sentence))]
    train, dev, test = (read_reviews(path) for path in files)
    return [judge_sentiment(vectors, Reviews(train, dev, kept(test, lambda review: review.sentence)))]
