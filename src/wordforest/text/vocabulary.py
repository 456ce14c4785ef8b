"""Which words are kept, and in which order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordforest.errors import InputError
from wordforest.options import Checked, default

RARE = "#rare#"
NUMBER = "#number#"


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words in row order (most frequent first, ties in code point order) with their counts, shape (V,)."""

    words: tuple[str, ...]
    counts: NDArray[np.int64]

    def __init__(self, words: Iterable[str], counts: ArrayLike) -> None:
        frozen = np.array(counts, dtype=np.int64)
        frozen.setflags(write=False)
        object.__setattr__(self, "words", tuple(words))
        object.__setattr__(self, "counts", frozen)
        if len(self.words) != len(frozen):
            raise InputError(f"{len(self.words)} words but {len(frozen)} counts. Give one count for each word.")

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    @cached_property
    def index(self) -> dict[str, int]:
        """Row of every word."""
        return {word: row for row, word in enumerate(self.words)}


@dataclass(frozen=True)
class WordRules(Checked):
    """Which words are kept. The defaults are the paper's."""

    min_count: int = default("min_count")
    max_vocab: int | None = default("max_vocab")
    keep_words: tuple[str, ...] = default("keep_words")  # kept if they occur at all, before all others


def choose_words(words: list[str], counts: NDArray[np.int64], rules: WordRules) -> tuple[Vocabulary, NDArray[np.int32]]:
    """Keep words by the rules; all others become ``#rare#``.

    Returns the vocabulary and, for each of the ``words`` given, its row in it, shape (len(words),).
    The words of a list come first: the most frequent of the others fill up the places left by ``max_vocab``.
    """
    listed = frozenset(rules.keep_words) - {RARE}
    enough = [i for i in np.flatnonzero(counts >= rules.min_count).tolist() if words[i] != RARE]
    if listed:
        enough = sorted({*enough, *(i for i, word in enumerate(words) if word in listed and counts[i])})
    order = sorted(enough, key=lambda i: (-counts[i], words[i]))
    if rules.max_vocab is not None and len(order) > rules.max_vocab:
        first = [i for i in order if words[i] in listed]
        others = [i for i in order if words[i] not in listed]
        chosen = {*first, *others[: max(rules.max_vocab - len(first), 0)]}
        order = [i for i in order if i in chosen]
    if not order:
        raise InputError(
            f"no word occurs {rules.min_count} times or more (the most frequent of {len(words)} words occurs "
            f"{max(counts, default=0)} times). Give more text or a smaller --min-count."
        )
    return _with_rare(words, counts, order)


def _with_rare(words: list[str], counts: NDArray[np.int64], kept: list[int]) -> tuple[Vocabulary, NDArray[np.int32]]:
    """Put what is not kept into one word at its place in the order."""
    n_rare = int(counts.sum() - counts[kept].sum())
    names, sizes = [words[i] for i in kept], [int(counts[i]) for i in kept]
    place = sum(size > n_rare or (size == n_rare and name < RARE) for name, size in zip(names, sizes, strict=True))
    if n_rare:
        names.insert(place, RARE)
        sizes.insert(place, n_rare)
    rows = np.full(len(words), place, dtype=np.int32)
    rows[kept] = [rank + (n_rare > 0 and rank >= place) for rank in range(len(kept))]
    return Vocabulary(names, sizes), rows
