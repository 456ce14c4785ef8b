"""Words that a page opens with, so that it shows what it does before anybody has typed: known ones, else computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.explorer.model import Model
from wordforest.reading.labels import is_grammar

_FREQUENT = 2000  # rows that words are chosen from
_PAIRS = 60  # pairs of words among which two are sought that differ alike
_ANSWERS = 10  # places in which a known answer counts as found
_LETTERS = 3  # of a word to show, where the script has capitals; words with one beginning are mostly forms of one word
_TWINS = ("king queen", "gold silver", "father mother", "river sea", "war peace", "trade commerce", "black white")
_ANALOGIES = (
    "man king woman queen",
    "france paris germany berlin",
    "good better bad worse",
    "great greater large larger",
    "nation nations country countries",
    "year years month months",
)


class Examples(NamedTuple):
    """Two words to compare, and three that ask for a fourth; none where a vocabulary has too few."""

    compare: tuple[str, ...] = ()
    analogy: tuple[str, ...] = ()


def find_examples(models: Sequence[Model]) -> Examples:
    """Return words that all models know, by what the first makes of them.

    Of a few well-known pairs of words the nearest one, if both are frequent; else frequent words that are each other's
    nearest. Of a few well-known analogies the one whose answer is found soonest; else two such pairs that differ alike.
    """
    model = models[0]
    rows = [row for row, word in enumerate(model.words[:_FREQUENT]) if _is_plain(model, row, word, models[1:])]
    if len(rows) < 2:
        return Examples()
    U = model.vectors.unit[rows]  # (n, M)
    cosines = U @ U.T
    place = {model.words[row]: i for i, row in enumerate(rows)}
    known = [(place[a], place[b]) for a, b in map(str.split, _TWINS) if a in place and b in place]
    near = max(known, key=lambda pair: float(cosines[pair]), default=None)
    pairs = _mutual(cosines, np.array(rows), [model.words[row] for row in rows])
    first = near or next(iter(pairs), (0, 1))
    words = [model.words[row] for row in rows]
    return Examples(tuple(words[i] for i in first), _analogy(models) or _parallel(U, pairs, words))


def _is_plain(model: Model, row: int, word: str, others: Sequence[Model]) -> bool:
    is_long = len(word) >= _LETTERS or word.upper() == word.lower()
    is_word = is_long and word.isalpha() and not is_grammar(word)
    return (
        is_word and bool(model.vectors.unit[row].any()) and all(word in other.vectors.key_to_index for other in others)
    )


def _mutual(cosines: NDArray[np.float32], rows: NDArray[np.intp], words: Sequence[str]) -> list[tuple[int, int]]:
    """Return pairs of words that are each other's nearest, near and frequent ones first."""
    others = cosines - 2 * np.eye(len(cosines), dtype=np.float32)
    nearest = others.argmax(axis=1).tolist()
    found = [(i, j) for i, j in enumerate(nearest) if i < j and nearest[j] == i and words[i][:4] != words[j][:4]]
    return sorted(found, key=lambda pair: -float(others[pair]) / float(np.log2(rows[pair[1]] + 500)))


def _analogy(models: Sequence[Model]) -> tuple[str, ...]:
    """Return the known analogy whose answer stands highest in the first model, where one stands among the first."""
    found: list[tuple[int, tuple[str, ...]]] = []
    for a, b, c, answer in map(str.split, _ANALOGIES):
        if all(word in model.vectors.key_to_index for model in models for word in (a, b, c, answer)):
            answers = [word for word, _ in models[0].vectors.analogy(a, b, c, topn=_ANSWERS)]
            found += [(answers.index(answer), (a, b, c))] if answer in answers else []
    return min(found, key=lambda one: one[0], default=(0, ()))[1]


def _parallel(U: NDArray[np.float32], pairs: Sequence[tuple[int, int]], words: Sequence[str]) -> tuple[str, ...]:
    """Return a, b and c of the two pairs a, b and c, d whose differences point the same way most.

    Where there are no two pairs, the first three words.
    """
    if len(pairs) < 2:
        return tuple(words[:3]) if len(words) > 2 else ()
    ways = np.array([U[j] - U[i] for i, j in pairs[:_PAIRS]])
    ways /= np.linalg.norm(ways, axis=1, keepdims=True) + 1e-9
    alike = np.abs(np.tril(ways @ ways.T, -1))
    second, first = np.unravel_index(alike.argmax(), alike.shape)
    c = pairs[second][0 if ways[first] @ ways[second] > 0 else 1]
    return (*(words[i] for i in pairs[first]), words[c])
