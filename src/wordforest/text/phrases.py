"""Words that are joined: new york becomes new_york, wherever its words follow each other in a sentence.

Phrases are joined level by level, on each from left to right: what one level has joined is a word of the next, so two
levels join up to four words. Which they are is found by counting (counts/phrases.py), and kept with counts and runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordforest.runtime.machine import kernel

Int32s: TypeAlias = NDArray[np.int32]
Int64s: TypeAlias = NDArray[np.int64]
PIECE = 1 << 20  # ids joined at a time


class Phrase(NamedTuple):
    """Two words that are joined, how often they stand together, and how much more often than by chance."""

    level: int
    first: str
    second: str
    times: int
    npmi: float

    @property
    def word(self) -> str:
        """What they become."""
        return f"{self.first}_{self.second}"


class _Level(NamedTuple):
    """Phrases in numbers of words: those that begin with word a are at ``starts[a]`` to ``starts[a + 1]``."""

    starts: Int64s
    seconds: Int32s
    words: Int32s


class Joiner:
    """Joins phrases in streams of ids of any kind; ``words`` are those of phrases, joined or not."""

    def __init__(self, phrases: Sequence[Phrase]) -> None:
        self.index: dict[str, int] = {}
        rows = [(one.level, *map(self._number, (one.first, one.second, one.word))) for one in phrases]
        self.words = [*self.index]
        self._levels = []
        for level in sorted({row[0] for row in rows}):
            own = np.array(sorted(row[1:] for row in rows if row[0] == level), dtype=np.int32)
            starts = np.searchsorted(own[:, 0], np.arange(len(self.words) + 1))
            self._levels.append(_Level(starts, own[:, 1].copy(), own[:, 2].copy()))

    def _number(self, word: str) -> int:
        return self.index.setdefault(word, len(self.index))

    def within(self, words: Sequence[str]) -> tuple[list[str], Int32s, Int32s]:
        """Return words with those of phrases behind them, the part of every id, the last of -1, and the id of parts."""
        index = {word: i for i, word in enumerate(words)}
        id_of = np.array([index.setdefault(word, len(index)) for word in self.words], dtype=np.int32)
        part_of = np.full(len(index) + 1, -1, dtype=np.int32)
        part_of[id_of] = np.arange(len(id_of))
        return [*index], part_of, id_of

    def join(self, parts: Int32s, ids: Int32s, id_of: Int32s) -> tuple[Int32s, Int64s]:
        """Return ids with phrases joined, and where each began.

        ``parts`` are the numbers of the words of ``ids`` in ``words``, below 0 for others and for borders; ``id_of`` is
        the id of each of ``words``.
        """
        first = np.arange(len(ids))
        for level in self._levels:
            parts, ids, first = _join(parts, ids, first, *level, id_of)
        return ids, first

    def pieces(self, ids: Any, part_of: Int32s, id_of: Int32s) -> Iterator[Int32s]:
        """Yield a long stream of ids, joined, a piece at a time; ``part_of`` has the part of every id, last of -1.

        A piece ends with a word of no phrase, so that none is cut.
        """
        rest = np.empty(0, dtype=np.int32)
        for start in range(0, len(ids), PIECE):
            rest = np.concatenate((rest, ids[start : start + PIECE]))
            others = np.flatnonzero(part_of[rest] < 0)
            cut = len(rest) if start + PIECE >= len(ids) else int(others.max(initial=-1)) + 1
            yield self.join(part_of[rest[:cut]], rest[:cut], id_of)[0]
            rest = rest[cut:]


@kernel
def _join(
    parts: Int32s, ids: Int32s, first: Int64s, starts: Int64s, seconds: Int32s, words: Int32s, id_of: Int32s
) -> tuple[Int32s, Int32s, Int64s]:
    """Join pairs from left to right; return parts, ids, and where each began."""
    new_parts, new_ids, new_first = np.empty_like(parts), np.empty_like(ids), np.empty_like(first)
    i = n = 0
    while i < len(parts):
        new_parts[n], new_ids[n], new_first[n] = parts[i], ids[i], first[i]
        if parts[i] >= 0 and i + 1 < len(parts) and parts[i + 1] >= 0:
            end = starts[parts[i] + 1]
            k = starts[parts[i]] + np.searchsorted(seconds[starts[parts[i]] : end], parts[i + 1])
            if k < end and seconds[k] == parts[i + 1]:
                new_parts[n], new_ids[n] = words[k], id_of[words[k]]
                i += 1
        i += 1
        n += 1
    return new_parts[:n], new_ids[:n], new_first[:n]
