"""What a word is: UTF-8 bytes to word forms, in one compiled pass over a chunk.

Two tokenisers share the pass. ``words`` takes runs of Unicode letters, marks and digits (an apostrophe between letters
or digits and a point or comma between digits stay inside), drops punctuation, and ends a sentence at a line end, at
``. ! ?`` followed by white space and a capital, and at the full stops of scripts without capitals. ``whitespace``
takes what white space separates; a line is a sentence.

Forms are collected as they are written; lower-casing and the like happen once per distinct form (see tokens.py),
so that Unicode costs nothing per token.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wordforest.compile import kernel

Tokenizer = Literal["words", "whitespace"]
BREAK = -1  # a sentence border in a stream of ids

OTHER, SPACE, NEWLINE, LETTER, UPPER, DIGIT, JOINER, APOSTROPHE, POINT, COMMA, STOP, QUOTE, FULL_STOP = range(13)

_BY_CATEGORY = {
    **dict.fromkeys(("Ll", "Lm", "Lo"), LETTER),
    **dict.fromkeys(("Lu", "Lt"), UPPER),
    **dict.fromkeys(("Nd", "Nl", "No"), DIGIT),
    **dict.fromkeys(("Mn", "Mc", "Me"), JOINER),  # inside a word only: an emoji's variation selector is no word
    **dict.fromkeys(("Zs", "Zl", "Zp"), SPACE),
    **dict.fromkeys(("Ps", "Pe", "Pi", "Pf"), QUOTE),
}
_BY_CHARACTER = {
    **dict.fromkeys("\t\v\f\x1c\x1d\x1e\x1f\x85", SPACE),
    **dict.fromkeys("\n\r", NEWLINE),
    **dict.fromkeys("'\u2019", APOSTROPHE),
    **dict.fromkeys("\u00ad\u200c\u200d", JOINER),  # soft hyphen, zero width (non-)joiner
    **dict.fromkeys("!?\u203d\u2047\u2048\u2049", STOP),
    **dict.fromkeys("\u3002\uff01\uff0e\uff1f\uff61", FULL_STOP),  # scripts without capitals: Chinese, Japanese,
    **dict.fromkeys("\u0964\u0965\u06d4\u061f\u1362\u1367", FULL_STOP),  # Indic, Arabic, Ethiopic
    ".": POINT,
    ",": COMMA,
    '"': QUOTE,
}
_LAST_LETTER = 0x33480  # above it only private, tag and variation-selector code points
_VARIATION_SELECTORS = range(0xE0100, 0xE01F0)


@lru_cache(maxsize=1)
def character_classes() -> NDArray[np.uint8]:
    """Return the class of every code point, shape (0x110000,)."""
    classes = np.zeros(0x110000, dtype=np.uint8)
    category = unicodedata.category
    classes[:_LAST_LETTER] = [_BY_CATEGORY.get(category(chr(point)), OTHER) for point in range(_LAST_LETTER)]
    classes[_VARIATION_SELECTORS.start : _VARIATION_SELECTORS.stop] = JOINER
    for character, kind in _BY_CHARACTER.items():
        classes[ord(character)] = kind
    return classes


@dataclass(frozen=True)
class Forms:
    """The tokens of a chunk: ``ids`` index the distinct ``forms``, BREAK ends a sentence."""

    ids: NDArray[np.int32]  # (tokens + breaks,)
    counts: NDArray[np.int64]  # (forms,)
    forms: list[bytes]


def split_forms(data: bytes, tokenizer: Tokenizer) -> Forms:
    """Split valid UTF-8 into word forms."""
    if not data:
        return Forms(np.empty(0, np.int32), np.empty(0, np.int64), [])
    text = np.frombuffer(data, dtype=np.uint8)
    find = _find_words if tokenizer == "words" else _find_runs
    ids, first, counts = _number_forms(text, find(text, character_classes()))
    forms = [data[start:end] for start, end in first.tolist()]
    return Forms(ids, counts, forms)


@kernel
def _width(lead: int) -> int:
    if lead < 0x80:
        return 1
    if lead < 0xE0:
        return 2
    return 3 if lead < 0xF0 else 4


@kernel
def _class_at(text: NDArray[np.uint8], i: int, classes: NDArray[np.uint8]) -> int:
    """Class of the character that starts at byte i; a line end behind the last byte."""
    if i >= len(text):
        return NEWLINE
    lead = int(text[i])
    if lead < 0x80:
        return int(classes[lead])
    width = _width(lead)
    point = lead & (0x7F >> width)
    for k in range(1, width):
        point = (point << 6) | (int(text[i + k]) & 0x3F)
    return int(classes[point])


@kernel
def _goes_on(kind: int, before: int, after: int, numeric: bool) -> bool:
    """Say whether a character of class ``kind`` continues the word that it follows."""
    if kind in (LETTER, UPPER, DIGIT, JOINER):
        return True
    if kind == APOSTROPHE:
        return after in (LETTER, UPPER, DIGIT)
    if kind in (POINT, COMMA):
        return numeric and before == DIGIT and after == DIGIT
    return False


@kernel
def _word_end(text: NDArray[np.uint8], start: int, classes: NDArray[np.uint8]) -> int:
    i, before, numeric = start, OTHER, True
    while True:
        kind = _class_at(text, i, classes)
        after = NEWLINE
        if kind in (APOSTROPHE, POINT, COMMA):
            after = _class_at(text, i + _width(text[i]), classes)
        if i >= len(text) or not _goes_on(kind, before, after, numeric):
            return i
        numeric = numeric and kind != LETTER and kind != UPPER
        before = kind
        i += _width(text[i])


@kernel
def _run_end(text: NDArray[np.uint8], start: int, classes: NDArray[np.uint8]) -> int:
    i = start
    while i < len(text):
        kind = _class_at(text, i, classes)
        if kind in (SPACE, NEWLINE):
            break
        i += _width(text[i])
    return i


@kernel
def _same(text: NDArray[np.uint8], a: int, b: int, length: int) -> bool:
    k = 0
    while k < length and text[a + k] == text[b + k]:
        k += 1
    return k == length


@kernel
def _hash(text: NDArray[np.uint8], start: int, end: int) -> np.uint64:
    """FNV-1a, with the high bits folded in for a table whose size is a power of two."""
    h = np.uint64(14695981039346656037)
    for k in range(start, end):
        h = (h ^ np.uint64(text[k])) * np.uint64(1099511628211)
    return h ^ (h >> np.uint64(29))


@kernel
def _find_slot(
    table: NDArray[np.int32], hashes: NDArray[np.uint64], first: NDArray[np.int32],
    text: NDArray[np.uint8], h: np.uint64, start: int, end: int,
) -> int:  # fmt: skip
    mask = np.uint64(len(table) - 1)
    slot = h & mask
    while True:
        form = table[slot]
        if form < 0:
            return int(slot)
        same_size = first[form, 1] - first[form, 0] == end - start
        if hashes[form] == h and same_size and _same(text, first[form, 0], start, end - start):
            return int(slot)
        slot = (slot + np.uint64(1)) & mask


@kernel
def _doubled(table: NDArray[np.int32], hashes: NDArray[np.uint64], n_forms: int) -> NDArray[np.int32]:
    bigger = np.full(2 * len(table), -1, dtype=np.int32)
    mask = np.uint64(len(bigger) - 1)
    for form in range(n_forms):
        slot = hashes[form] & mask
        while bigger[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        bigger[slot] = form
    return bigger


@kernel
def _find_words(text: NDArray[np.uint8], classes: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return start and end of every word, shape (words + breaks, 2); a sentence border has start BREAK."""
    spans = np.empty((len(text) + 1, 2), dtype=np.int32)  # a word and a border, as in one letter a line, take two bytes
    n = 0
    stopped, spaced = False, False  # a . ! ? came, then white space
    i = 0
    while i < len(text):
        kind = _class_at(text, i, classes)
        if kind in (LETTER, UPPER, DIGIT):
            if stopped and spaced and kind == UPPER:
                n = _end_sentence(spans, n)
            spans[n, 0] = i
            i = _word_end(text, i, classes)
            spans[n, 1] = i
            n += 1
            stopped = False
            continue
        if kind in (NEWLINE, FULL_STOP):
            n = _end_sentence(spans, n)
        elif kind == SPACE:
            spaced = True
        elif kind in (POINT, STOP):
            stopped, spaced = True, False
        elif kind != QUOTE and kind != APOSTROPHE:
            stopped = False
        i += _width(text[i])
    return spans[:n]


@kernel
def _find_runs(text: NDArray[np.uint8], classes: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return start and end of everything between white space, as in ``_find_words``."""
    spans = np.empty((len(text) + 1, 2), dtype=np.int32)
    n = 0
    i = 0
    while i < len(text):
        kind = _class_at(text, i, classes)
        if kind == NEWLINE:
            n = _end_sentence(spans, n)
        elif kind != SPACE:
            spans[n, 0] = i
            i = _run_end(text, i, classes)
            spans[n, 1] = i
            n += 1
            continue
        i += _width(text[i])
    return spans[:n]


@kernel
def _end_sentence(spans: NDArray[np.int32], n: int) -> int:
    if n > 0 and spans[n - 1, 0] == BREAK:  # at n = 0 the sentence may have begun in the chunk before
        return n
    spans[n, 0] = BREAK
    return n + 1


@kernel
def _number_forms(
    text: NDArray[np.uint8], spans: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Number the distinct forms by first occurrence: ids (tokens,), their first spans (forms, 2), their counts."""
    ids = np.empty(len(spans), dtype=np.int32)
    capacity, n_forms = 1 << 14, 0
    table = np.full(2 * capacity, -1, dtype=np.int32)
    hashes = np.empty(capacity, dtype=np.uint64)
    first = np.empty((capacity, 2), dtype=np.int32)
    counts = np.zeros(capacity, dtype=np.int64)
    for t in range(len(spans)):
        start, end = spans[t, 0], spans[t, 1]
        if start == BREAK:
            ids[t] = BREAK
            continue
        if n_forms == capacity:
            table = _doubled(table, hashes, n_forms)
            hashes = np.concatenate((hashes, np.empty_like(hashes)))
            first = np.concatenate((first, np.empty_like(first)))
            counts = np.concatenate((counts, np.zeros_like(counts)))
            capacity *= 2
        h = _hash(text, start, end)
        slot = _find_slot(table, hashes, first, text, h, start, end)
        form = table[slot]
        if form < 0:
            form = np.int32(n_forms)
            table[slot] = form
            hashes[form] = h
            first[form, 0], first[form, 1] = start, end
            n_forms += 1
        counts[form] += 1
        ids[t] = form
    return ids, first[:n_forms].copy(), counts[:n_forms].copy()
