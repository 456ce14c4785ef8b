"""Which words a figure shows: built-in lists, and those of a list that have vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wordforest.errors import InputError
from wordforest.vectors import Vectors

ANIMALS = ("animal", "animals", "horse", "elephant", "dog", "cat", "bird", "fish", "lion", "wolf")
COUNTRIES = (
    "country",
    "countries",
    "france",
    "germany",
    "spain",
    "italy",
    "russia",
    "china",
    "japan",
    "mexico",
)


def present_words(vectors: Vectors, words: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the words that have a vector and those that have none, in the order given."""
    present: list[str] = []
    missing: list[str] = []
    for word in words:
        (present if word in vectors else missing).append(word)
    return present, missing


def drawable(vectors: Vectors, words: Sequence[str]) -> list[str]:
    """Return the words that have a vector; raise InputError if none has."""
    present, missing = present_words(vectors, words)
    if present:
        return present
    what = f"found none for: {', '.join(missing[:10])}" if missing else "the list is empty"
    raise InputError(
        f"expected at least one word with a vector to draw, but {what}. "
        f"Choose among the {len(vectors)} words of the vectors."
    )
