"""``vocab.tsv``: a word, a tab and its count on each line, in row order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.store.files import read_text, write_text

_LARGEST = np.iinfo(np.int64).max


def write_vocab(path: Path, words: Sequence[str], counts: NDArray[np.int64]) -> None:
    """Write the words and their counts (V,)."""
    if len(set(words)) != len(words):
        raise InputError(f"{path}: {len(words) - len(set(words))} words are repeated. Keep one row of each.")
    for row, word in enumerate(words):
        if "\t" in word or "\n" in word:
            raise InputError(f"{path}: word {row}, {word!r}, holds a tab or a line break. Rename the word.")
    write_text(path, "".join(f"{word}\t{count}\n" for word, count in zip(words, counts.tolist(), strict=True)))


def read_vocab(path: Path) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the words and their counts (V,)."""
    lines = read_text(path).split("\n")
    if lines[-1]:
        raise InputError(f"{path}, line {len(lines)}: the line end is missing, so the file is cut. Make it again.")
    first_line: dict[str, int] = {}
    counts = np.zeros(len(lines) - 1, dtype=np.int64)
    for i, line in enumerate(lines[:-1]):
        word, tab, count = line.partition("\t")
        digits = count.removesuffix("\r")
        if not (tab and digits.isascii() and digits.isdigit() and len(digits) < 20 and int(digits) <= _LARGEST):
            raise InputError(
                f"{path}, line {i + 1}: expected a word, a tab and a count, but {line[:80]!r} came. "
                "Repair the line, or make the file again."
            )
        if (first := first_line.setdefault(word, i + 1)) != i + 1:
            raise InputError(f"{path}, line {i + 1}: {word!r} stands on line {first} already. Keep one of them.")
        counts[i] = int(digits)
    return tuple(first_line), counts
