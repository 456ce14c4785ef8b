"""Where the words of a vocabulary stand in texts: the same words that were counted, with their places kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordforest.options import COMPILED
from wordforest.text.segment import token_places
from wordforest.text.tokenizer import Int64s, find_words, number_words, without_breaks
from wordforest.text.tokens import FormRows, TextRules


@dataclass(frozen=True, eq=False)
class Places:
    """The words of some texts in their order, (n,) each: the number of the text, start and end in it, and the row."""

    text: Int64s
    start: Int64s  # in characters
    end: Int64s
    row: NDArray[np.int32]  # in the vocabulary: of #rare#, or -1, where the word is not in it


class WordFinder:
    """Finds words in texts by the rules by which a vocabulary was counted."""

    def __init__(self, words: Sequence[str], rules: TextRules) -> None:
        self._rules = rules
        self._known = FormRows({word: row for row, word in enumerate(words)}, rules)

    def find(self, texts: Sequence[str]) -> Places:
        """Return the words of texts; a few megabytes at a time are quickest."""
        if self._rules.tokenizer not in COMPILED:
            return self._find_tokens(texts)
        data = "\n".join(texts).encode("utf-8", "surrogatepass")
        spans = without_breaks(find_words(data, self._rules.tokenizer))
        start, end = _in_characters(data, spans)
        first = np.cumsum([0, *(len(text) + 1 for text in texts)])
        text = np.searchsorted(first, start, side="right") - 1
        return Places(text, start - first[text], end - first[text], self._rows(data, spans))

    def _find_tokens(self, texts: Sequence[str]) -> Places:
        """Return the tokens of texts by a tokeniser that rewrites them."""
        found = [(i, *token) for i, text in enumerate(texts) for token in token_places(text, self._rules.tokenizer)]
        data = " ".join(token for _, token, _, _ in found).encode("utf-8", "surrogatepass")
        text, start, end = np.array([(i, start, end) for i, _, start, end in found], np.int64).reshape(-1, 3).T
        return Places(text, start, end, self._rows(data, without_breaks(find_words(data, "whitespace"))))

    def _rows(self, data: bytes, spans: NDArray[np.int32]) -> NDArray[np.int32]:
        forms = number_words(data, spans, self._known.table)
        return self._known.of(forms)[forms.ids]


def _in_characters(data: bytes, spans: NDArray[np.int32]) -> tuple[Int64s, Int64s]:
    """Return starts and ends (n,) that are counted in bytes of UTF-8 as counted in characters."""
    if data.isascii():
        return spans[:, 0].astype(np.int64), spans[:, 1].astype(np.int64)
    begins = (np.frombuffer(data, np.uint8) & 0xC0) != 0x80  # a character, rather than going on with one
    before = np.concatenate(([0], np.cumsum(begins)))
    return before[spans[:, 0]], before[spans[:, 1]]
