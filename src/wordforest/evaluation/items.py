"""Items of a task: which half they are in, and under which key two models meet again."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import Literal

Half = Literal["development", "test"]


def half_of(task: str, text: str) -> Half:
    """Return the half an item belongs to, by the SHA-256 of its task and text: the same on every machine.

    The name of the set is no part of it: a pair or a question that stands in several sets (WS-353 and its two
    parts, MC-30 and RG-65, the two sections of capitals) is in the same half in all of them, so that nothing
    seen during development comes back in the test.
    """
    digest = hashlib.sha256(f"{task}\0{text}".encode()).digest()
    return "development" if digest[0] % 2 else "test"


def pair_text(first: str, second: str) -> str:
    """Return one text for a pair of words, whichever comes first and however they are written."""
    return " ".join(sorted((first.lower(), second.lower())))


def numbered(texts: Iterable[str]) -> list[str]:
    """Return a key for every text: the text itself, and with a number behind it from its second time on.

    >>> numbered(["car auto", "gem jewel", "car auto"])
    ['car auto', 'gem jewel', 'car auto (2)']
    """
    seen: Counter[str] = Counter()
    keys = []
    for text in texts:
        seen[text] += 1
        keys.append(text if seen[text] == 1 else f"{text} ({seen[text]})")
    return keys
