"""Made-up slices: a sea and a sky, words of either, and one word that leaves the one for the other."""

from __future__ import annotations

import numpy as np

import wordforest as wf
from wordforest.slices import Slices, read_slices
from wordforest.text import Vocabulary
from wordforest.text.documents import Document

SEA = ["harbour", "sailor", "sail", "wave", "anchor", "coast", "deck", "storm"]
SKY = ["rocket", "pilot", "orbit", "moon", "engine", "star", "launch", "cloud"]
COMMON = ["the", "of", "and", "to", "in"]
STEADY, MOVES = "boat", "ship"  # boat is at sea in both slices, ship leaves it


def document(rng: np.random.Generator, topic: list[str], word: str, n: int = 30) -> str:
    """Return a text of a topic in which a word stands four times."""
    words = [str(rng.choice(topic if rng.random() < 0.6 else COMMON)) for _ in range(n)]
    for place in rng.choice(n, 4, replace=False):
        words[place] = word
    return " ".join(words)


def documents(n: int = 80, seed: int = 0, moved: bool = True) -> tuple[list[str], list[str]]:
    """Return the documents of two slices: in the second ``ship`` is in the sky, if it has moved."""
    rng = np.random.default_rng(seed)
    words = [MOVES if i % 4 == 0 else STEADY for i in range(n)]
    old = [document(rng, SEA, word) for word in words]
    old += [document(rng, SKY, "plane") for _ in range(n // 2)]
    new = [document(rng, SKY if moved and word == MOVES else SEA, word) for word in words]
    new += [document(rng, SKY, "plane") for _ in range(n // 2)]
    return old, new


def sliced(old: list[str], new: list[str]) -> Slices:
    """Return two slices over all their words."""
    counts = wf.count([*old, *new], min_count=1)
    return slices_over(counts.vocabulary, [("old", text) for text in old] + [("new", text) for text in new])


def slices_over(vocabulary: Vocabulary, texts: list[tuple[str, str]]) -> Slices:
    return read_slices(((name, Document(str(i), text)) for i, (name, text) in enumerate(texts)), vocabulary)
