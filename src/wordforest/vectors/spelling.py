"""Words as people type them: the row of a word in any spelling that stands for it, and words that are spelled alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError

_SEARCHED = 200_000  # first rows that are searched for close spellings: the frequent words
_WITH_CAPITALS = 1000  # one word in so many may have some in a lower-cased vocabulary, such as UNK


class UnknownWordError(InputError, KeyError):
    """Words without a vector; the message offers close spellings."""

    def __init__(self, words: Sequence[str], index: WordIndex) -> None:
        super().__init__(*words)
        self.words = tuple(words)
        self._index = index

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.words, self._index)  # as it was made: processes hand errors on

    def __str__(self) -> str:
        # searched only when somebody reads the message: callers that skip unknown words stay quick
        if len(self.words) > 1:
            return f"no vector for {self.listed()}. Choose words of the vocabulary."
        near = self._index.close(self.words[0])
        is_phrase = len(str(self.words[0]).split()) > 1
        else_ = (
            "Ask for one of its words; --phrases learns phrases." if is_phrase else "Choose a word of the vocabulary."
        )
        hint = f"Did you mean {', '.join(near)}?" if near else else_
        return f"no vector for {self.words[0]!r}. {hint}"

    def listed(self) -> str:
        """Return the words with close spellings in brackets."""
        near = [", ".join(self._index.close(word)) for word in self.words]
        return ", ".join(f"{word!r} ({n}?)" if n else repr(word) for word, n in zip(self.words, near, strict=True))


class WordIndex:
    """The row of every word, also of one that is written otherwise than in the vocabulary.

    ``exact`` has the words as they are. What is not among them is read as text is: in lower case where the vocabulary
    is, with one apostrophe, composed (NFC), as ``#number#`` where there is one; spaces of a phrase are underscores.
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(words)
        self.exact: dict[str, int] = {}
        for row, word in enumerate(self.words):
            first = self.exact.setdefault(word, row)
            if first != row:
                raise InputError(f"the word {word!r} stands in rows {first} and {row}. Keep one of them.")

    @cached_property
    def is_lowercase(self) -> bool:
        """Whether lower case changes hardly any word: then no word is told from another by its case."""
        return sum(word != word.lower() for word in self.words) * _WITH_CAPITALS <= len(self.words)

    @cached_property
    def _lengths(self) -> NDArray[np.int64]:
        return np.fromiter(map(len, self.words[:_SEARCHED]), dtype=np.int64)

    @cached_property
    def _as_text(self) -> Callable[[str], str]:
        from wordforest.text.tokens import NUMBER, TextRules, normalise

        return partial(normalise, rules=TextRules(lowercase=self.is_lowercase, numbers=NUMBER in self.exact))

    def find(self, word: object) -> int | None:
        """Return the row of a word, or None if it has none in any spelling."""
        if not isinstance(word, str):
            return None
        if (row := self.exact.get(word)) is not None:
            return row
        form = self._as_text(word)
        row = self.exact.get(form)
        return self.exact.get("_".join(form.split())) if row is None else row

    def rows(self, words: Iterable[str]) -> list[int]:
        """Return the row of every word; an error names all that have none."""
        asked = list(words)
        found = [self.find(word) for word in asked]
        if None in found:
            raise UnknownWordError([word for word, row in zip(asked, found, strict=True) if row is None], self)
        return [row for row in found if row is not None]

    def close(self, word: str, k: int = 3) -> list[str]:
        """Return up to k words that are spelled much like a word: fewest edits first, then the first rows.

        One edit is allowed, from five letters on two, from ten on three.
        """
        form = str(word).lower()
        most = 1 + (len(form) > 4) + (len(form) > 9)
        near = [self.words[row] for row in np.flatnonzero(abs(self._lengths - len(form)) <= most).tolist()]
        if not near:
            return []
        edits = edit_distances(form, near if self.is_lowercase else [w.lower() for w in near], most)
        return [near[i] for i in np.argsort(edits, kind="stable")[:k] if edits[i] <= most]


def edit_distances(word: str, others: Sequence[str], most: int) -> NDArray[np.int8]:
    """Return how many letters to change, add, drop or swap with the next make a word each of the others, (n,).

    The optimal string alignment distance up to ``most``, a larger number above it. All others go through the table of
    the dynamic program at once, in a band about its diagonal; those that are too far after a few letters leave it.

    >>> edit_distances("kign", ["king", "kin", "knights"], 2).tolist()
    [1, 1, 3]
    """
    lengths = np.fromiter(map(len, others), dtype=np.intp)
    longest = max(1, int(lengths.max(initial=0)))
    letters = np.ascontiguousarray(np.array(others, dtype=f"U{longest}").view(np.uint32).reshape(-1, longest).T)
    first = np.minimum(np.arange(longest + 1), most + 1).astype(np.int8)
    above = np.repeat(first[:, None], len(others), axis=1)  # (longest + 1, n)
    twice_above, before, near = above, -1, np.arange(len(others))
    for i, letter in enumerate(map(ord, word)):
        row = np.full_like(above, most + 1)
        row[0] = min(i, most) + 1
        for j in range(max(0, i - most), min(longest, i + most + 1)):
            changed = above[j] + (letters[j] != letter)
            np.minimum(np.minimum(above[j + 1], row[j]) + 1, changed, out=row[j + 1])
            if i and j:
                swapped = (letters[j - 1] == letter) & (letters[j] == before)
                np.minimum(row[j + 1], twice_above[j - 1] + 1, out=row[j + 1], where=swapped)
        twice_above, above, before = above, row, letter
        if i == most + 1:
            stay = np.flatnonzero(np.minimum(above, twice_above).min(axis=0) <= most)
            letters, near = letters[:, stay], near[stay]
            twice_above, above = twice_above[:, stay], above[:, stay]
    found = np.full(len(others), most + 1, dtype=np.int8)
    found[near] = np.minimum(above[lengths[near], np.arange(len(near))], most + 1)
    return found


def is_marker(word: str) -> bool:
    """Say whether a row stands for no word of its own, such as ``#rare#`` and ``#number#``."""
    return len(word) > 2 and word.startswith("#") and word.endswith("#")
