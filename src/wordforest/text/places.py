"""Where the words of a vocabulary stand in texts: the same words that were counted, with their places kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordforest.options import COMPILED
from wordforest.text.segment import token_places
from wordforest.text.tokenizer import BREAK, Int32s, Int64s, find_words, number_words
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
        spans = find_words(data, self._rules.tokenizer)
        begin, last, row = self._words(data, spans)
        start, end = _in_characters(data, np.stack((spans[begin, 0], spans[last, 1]), axis=1))
        first = np.cumsum([0, *(len(text) + 1 for text in texts)])
        text = np.searchsorted(first, start, side="right") - 1
        return Places(text, start - first[text], end - first[text], row)

    def _find_tokens(self, texts: Sequence[str]) -> Places:
        """Return the words of texts by a tokeniser that rewrites them."""
        places: list[tuple[int, int, int]] = []
        sentences = []
        for i, text in enumerate(texts):
            for sentence in token_places(text, self._rules.tokenizer):
                sentences.append(" ".join(token for token, _, _ in sentence))
                places += [(i, start, end) for _, start, end in sentence]
        data = "\n".join(sentences).encode("utf-8", "surrogatepass")
        spans = find_words(data, "whitespace")
        begin, last, row = self._words(data, spans)
        token = np.cumsum(spans[:, 0] != BREAK) - 1  # the number of each among those that are not borders
        of_text, start, end = np.array(places, dtype=np.int64).reshape(-1, 3).T
        return Places(of_text[token[begin]], start[token[begin]], end[token[last]], row)

    def _words(self, data: bytes, spans: Int32s) -> tuple[Int64s, Int64s, Int32s]:
        """Return the first and the last span of every word, and its row; several are those of a phrase."""
        rows, first = self._known.joined(number_words(data, spans, self._known.table))
        last = np.append(first, len(spans))[1:] - 1
        words = spans[first, 0] != BREAK
        return first[words], last[words], rows[words]


def _in_characters(data: bytes, spans: NDArray[np.int32]) -> tuple[Int64s, Int64s]:
    """Return starts and ends (n,) that are counted in bytes of UTF-8 as counted in characters."""
    if data.isascii():
        return spans[:, 0].astype(np.int64), spans[:, 1].astype(np.int64)
    begins = (np.frombuffer(data, np.uint8) & 0xC0) != 0x80  # a character, rather than going on with one
    before = np.concatenate(([0], np.cumsum(begins)))
    return before[spans[:, 0]], before[spans[:, 1]]
