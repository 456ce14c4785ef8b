"""Which words a figure shows: built-in lists, and those of a list that have vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

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
# The paper draws words associated with good, bad, man and woman but prints no list, apart from "poor" among the bad.
# These are common words that a thesaurus puts beside each, without those that it puts beside both.
GOOD = (
    "good", "great", "excellent", "fine", "nice", "superb", "wonderful", "perfect", "positive", "favorable",
    "outstanding", "brilliant", "superior", "decent", "impressive", "remarkable", "exceptional", "pleasant",
    "better", "best",
)  # fmt: skip
BAD = (
    "bad", "poor", "terrible", "awful", "horrible", "evil", "nasty", "negative", "harmful", "wrong", "worse", "worst",
    "inferior", "dreadful", "unpleasant", "adverse", "severe", "inadequate", "unfavorable", "disastrous",
)  # fmt: skip
MAN = (
    "man", "men", "boy", "boys", "he", "him", "his", "himself", "father", "son", "sons", "brother", "brothers",
    "husband", "uncle", "nephew", "king", "prince", "gentleman", "male",
)  # fmt: skip
WOMAN = (
    "woman", "women", "girl", "girls", "she", "her", "hers", "herself", "mother", "daughter", "daughters", "sister",
    "sisters", "wife", "aunt", "niece", "queen", "princess", "lady", "female",
)  # fmt: skip
# What a person may name in place of words: groups by their title.
WORD_LISTS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "animals": {"animals": ANIMALS},
    "countries": {"countries": COUNTRIES},
    "good": {"good": GOOD},
    "bad": {"bad": BAD},
    "man": {"man": MAN},
    "woman": {"woman": WOMAN},
    "good-bad": {"good": GOOD, "bad": BAD},
    "man-woman": {"man": MAN, "woman": WOMAN},
}
_LONGEST = 24  # letters of a label


def present_words(vectors: Vectors, words: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the words that have a vector and those that have none, in the order given."""
    present: list[str] = []
    missing: list[str] = []
    for word in words:
        (present if word in vectors else missing).append(word)
    return present, missing


def drawable(vectors: Vectors, words: Sequence[str]) -> list[str]:
    """Return the words that have a vector, each once; raise InputError if none has."""
    present, missing = present_words(vectors, dict.fromkeys(words))
    if present:
        return present
    what = f"found none for: {', '.join(missing[:10])}" if missing else "the list is empty"
    raise InputError(
        f"expected at least one word with a vector to draw, but {what}. "
        f"Choose among the {len(vectors)} words of the vectors."
    )


def nearest_groups(vectors: Vectors, words: Sequence[str], k: int = 20) -> dict[str, list[str]]:
    """Return a group for each word: itself and the words nearest to it by cosine, k in all where there are enough.

    A word near several of them joins only the one that it is most similar to, so the groups do not overlap.
    """
    titles = list(dict.fromkeys(words))
    found: dict[str, tuple[float, str]] = {word: (2.0, word) for word in titles}  # above any cosine: itself
    ranked = {title: vectors.most_similar(title, k=max(1, min(len(vectors) - 1, 4 * k))) for title in titles}
    for title, near in ranked.items():
        for word, cosine in near:
            if cosine > found.get(word, (0.0, ""))[0]:
                found[word] = (cosine, title)
    groups = {
        title: [word for word, _ in near if found.get(word, (0.0, ""))[1] == title] for title, near in ranked.items()
    }
    return {title: [title, *near][:k] for title, near in groups.items()}


def shortened(word: str, longest: int = _LONGEST) -> str:
    """Return a word as a label shows it: cut where it is very long, without line ends."""
    line = " ".join(word.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
