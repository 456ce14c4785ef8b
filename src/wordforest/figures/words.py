"""Which words a figure shows: built-in lists, and those of a list that have vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from wordforest.errors import InputError
from wordforest.vectors import Vectors

# The paper draws words associated with good, bad, man and woman but prints no list, apart from "poor" among the bad.
# These are common words that a thesaurus puts beside each, without those that it puts beside both.
_LISTS = {
    "animals": "animal animals horse elephant dog cat bird fish lion wolf",
    "countries": "country countries france germany spain italy russia china japan mexico",
    "good": "good great excellent fine nice superb wonderful perfect positive favorable outstanding brilliant superior "
    "decent impressive remarkable exceptional pleasant better best",
    "bad": "bad poor terrible awful horrible evil nasty negative harmful wrong worse worst inferior dreadful "
    "unpleasant adverse severe inadequate unfavorable disastrous",
    "man": "man men boy boys he him his himself father son sons brother brothers husband uncle nephew king prince "
    "gentleman male",
    "woman": "woman women girl girls she her hers herself mother daughter daughters sister sisters wife aunt niece "
    "queen princess lady female",
}
WORD_LISTS: Mapping[str, Mapping[str, Sequence[str]]] = {
    name: {title: tuple(_LISTS[title].split()) for title in name.split("-")}
    for name in (*_LISTS, "good-bad", "man-woman")
}
"""What a person may name in place of words: groups by their title."""

_LONGEST = 24  # letters of a label


def drawable(words: Iterable[str], *models: Vectors) -> list[str]:
    """Return the words that have a vector in all models, each once; raise InputError if none has.

    Examples:
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["sea", "ship"], [[1, 0], [1, 1]])
        >>> wf.figures.drawable(["ship", "cake", "ship"], vectors)
        ['ship']
    """
    asked = list(dict.fromkeys(words))
    found = [word for word in asked if all(word in vectors for vectors in models)]
    if not found:
        what = f"found none for: {', '.join(asked[:10])}" if asked else "the list is empty"
        raise InputError(
            f"expected at least one word with a vector to draw, but {what}. Choose words of the vocabulary: "
            "wordforest neighbors VECTORS WORD suggests close spellings."
        )
    return found


def check_labels(labels: Sequence[Sequence[str]] | None, n_nodes: int) -> None:
    """Refuse labels of another forest."""
    if labels is not None and len(labels) != n_nodes:
        raise InputError(
            f"expected labels for each of the {n_nodes} nodes, but {len(labels)} came. "
            "Give an empty list to a node without a label."
        )


def shortened(word: str, longest: int = _LONGEST) -> str:
    """Return a word as a label shows it: cut where it is very long, without line ends."""
    line = " ".join(word.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
