"""What a word is: UTF-8 bytes to word forms, in one compiled pass over a chunk.

Two tokenisers share the pass. ``words`` takes runs of Unicode letters, marks and digits (an apostrophe between letters
or digits and a point or comma between digits stay inside), drops punctuation, and ends a sentence at a line end, at
``. ! ?`` followed by white space and a capital, and at the full stops of scripts without capitals. ``whitespace``
takes what white space separates; a line is a sentence. Other tokenisers (see segment.py) rewrite a chunk for it first.

Forms are collected as they are written; lower-casing and the like happen once per distinct form (see tokens.py),
so that Unicode costs nothing per token.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordforest.options import COMPILED
from wordforest.runtime.machine import kernel, part_of_kernel
from wordforest.runtime.prefetch import prefetch
from wordforest.text.segment import segmented

Tokenizer: TypeAlias = Any  # a name, or in Python a function of a text; settings keep either as a str
Bytes: TypeAlias = NDArray[np.uint8]
UInt64s: TypeAlias = NDArray[np.uint64]
Int64s: TypeAlias = NDArray[np.int64]
Int32s: TypeAlias = NDArray[np.int32]
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
_AHEAD = 32  # words whose keys are found before they are looked up
_LONG = np.uint64(1 << 63)


@lru_cache(maxsize=2)
def character_classes(tokenizer: str) -> Bytes:
    """Return the class of every code point, shape (0x110000,); for ``whitespace`` all but white space are letters."""
    classes = np.zeros(0x110000, dtype=np.uint8)
    category = unicodedata.category
    classes[:_LAST_LETTER] = [_BY_CATEGORY.get(category(chr(point)), OTHER) for point in range(_LAST_LETTER)]
    classes[_VARIATION_SELECTORS.start : _VARIATION_SELECTORS.stop] = JOINER
    for character, kind in _BY_CHARACTER.items():
        classes[ord(character)] = kind
    if tokenizer == "whitespace":
        classes[(classes != SPACE) & (classes != NEWLINE)] = LETTER
    return classes


@dataclass(eq=False)
class FormTable:
    """The distinct forms that one worker has met, numbered in the order of their coming."""

    n_forms: int = 0
    slots: UInt64s = field(default_factory=lambda: np.zeros((1 << 13, 2), dtype=np.uint64))
    pool: Bytes = field(default_factory=lambda: np.zeros(1 << 15, dtype=np.uint8))  # bytes of all forms
    starts: Int64s = field(default_factory=lambda: np.zeros((1 << 12) + 1, dtype=np.int64))  # in the pool

    def forms(self, first: int = 0) -> list[bytes]:
        """Return the forms from number ``first`` on."""
        borders = self.starts[first : self.n_forms + 1].tolist()
        pool = self.pool[borders[0] : borders[-1]].tobytes()
        return [pool[a - borders[0] : b - borders[0]] for a, b in pairwise(borders)]


@dataclass(frozen=True, eq=False)
class Forms:
    """The tokens of a chunk: ``ids`` number forms of the ``table``, BREAK ends a sentence."""

    ids: Int32s  # (tokens + breaks,)
    table: FormTable
    forms: list[bytes]  # those that the table has met first in this chunk


def split_forms(data: bytes, tokenizer: str, table: FormTable | None = None) -> Forms:
    """Split valid UTF-8 into word forms; forms that are new go into the table."""
    if tokenizer not in COMPILED:
        (data,), tokenizer = segmented([data], tokenizer), "whitespace"
    return number_words(data, find_words(data, tokenizer), table or FormTable())


def find_words(data: bytes, tokenizer: str) -> Int32s:
    """Return where every word of a text starts and ends in its bytes, (words + breaks, 2); a border starts at BREAK."""
    return _find_words(np.frombuffer(data, dtype=np.uint8), character_classes(tokenizer))


def number_words(data: bytes, spans: Int32s, table: FormTable) -> Forms:
    """Return the forms of words that ``find_words`` found; forms that are new go into the table."""
    first = table.n_forms
    if not len(spans):
        return Forms(np.empty(0, np.int32), table, [])
    text = np.frombuffer(data + bytes(8), dtype=np.uint8)  # words are compared by eight bytes
    ids, table.slots, table.pool, table.starts, table.n_forms = _number_forms(
        text, spans, table.slots, table.pool, table.starts, first
    )
    return Forms(ids, table, table.forms(first))


def split_documents(
    texts: Sequence[bytes], tokenizer: str, table: FormTable, *, breaks: bool = False
) -> tuple[Forms, Int64s]:
    """Split many texts at once, with or without sentence borders; return also where each text begins and ends."""
    if tokenizer not in COMPILED:
        texts, tokenizer = segmented(texts, tokenizer), "whitespace"
    data = b"\n".join((*texts, b""))  # no word goes across a line end
    spans = find_words(data, tokenizer)
    spans = spans if breaks else without_breaks(spans)
    starts = np.maximum.accumulate(spans[:, 0]) if breaks else spans[:, 0]  # a border belongs to the word before it
    ends = np.cumsum([0, *(len(text) + 1 for text in texts)])
    return number_words(data, spans, table), np.searchsorted(starts, ends)


@kernel
def without_breaks(spans: Int32s) -> Int32s:
    """Return the words alone, (words, 2); NumPy's choice by a mask takes as long as finding them did."""
    words, n = np.empty_like(spans), 0
    for start, end in spans:
        if start != BREAK:
            words[n, 0], words[n, 1] = start, end
            n += 1
    return words[:n]


@part_of_kernel
def _width(lead: int) -> int:
    if lead < 0x80:
        return 1
    if lead < 0xE0:
        return 2
    return 3 if lead < 0xF0 else 4


@part_of_kernel
def _class_at(text: Bytes, i: int, classes: Bytes) -> int:
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


@part_of_kernel
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
def _word_end(text: Bytes, start: int, classes: Bytes) -> int:
    i, before, numeric = start, OTHER, True
    while True:
        while i < len(text) and text[i] < 0x80 and LETTER <= classes[text[i]] <= UPPER:  # what most bytes are
            before, numeric = LETTER, False
            i += 1
        kind = _class_at(text, i, classes)
        after = NEWLINE
        if kind in (APOSTROPHE, POINT, COMMA):
            after = _class_at(text, i + _width(text[i]), classes)
        if i >= len(text) or not _goes_on(kind, before, after, numeric):
            return i
        numeric = numeric and kind != LETTER and kind != UPPER
        before = kind
        i += _width(text[i])


@part_of_kernel
def _eight(text: Bytes, i: int) -> np.uint64:
    """Return the eight bytes from i on; compiled, this is one load."""
    packed = np.uint64(0)
    for k in range(8):
        packed |= np.uint64(text[np.uint64(i + k)]) << np.uint64(8 * k)
    return packed


@part_of_kernel
def _some(text: Bytes, i: int, n: int) -> np.uint64:
    """Return the first n < 8 bytes from i on."""
    return _eight(text, i) & ((np.uint64(1) << np.uint64(8 * n)) - np.uint64(1))


@part_of_kernel
def _same(text: Bytes, a: int, pool: Bytes, b: int, length: int) -> bool:
    k = 0
    while k + 8 <= length and _eight(text, a + k) == _eight(pool, b + k):
        k += 8
    return length - k < 8 and _some(text, a + k, length - k) == _some(pool, b + k, length - k)


@part_of_kernel
def _mixed(h: np.uint64) -> np.uint64:
    """Spread 64 bits over 64 bits, one to one."""
    h = (h ^ (h >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return h ^ (h >> np.uint64(29))


@part_of_kernel
def _key(text: Bytes, start: int, end: int) -> np.uint64:
    """Return the bytes of a form of up to seven, else a hash above all of those. Text has no byte 0."""
    if end - start < 8:
        return _some(text, start, end - start)
    h, k = np.uint64(0), start
    while k + 8 <= end:
        h = _mixed(h ^ _eight(text, k))
        k += 8
    return _mixed(h ^ _some(text, k, end - k)) | _LONG


@part_of_kernel
def _find_slot(
    slots: UInt64s, pool: Bytes, starts: Int64s, text: Bytes, key: np.uint64, start: int, length: int
) -> np.uint64:
    """Return the slot of a form, or the free one that it may have. A slot is its key, and its number + 1."""
    mask = np.uint64(len(slots) - 1)
    slot = _mixed(key) & mask
    while slots[slot, 1] != 0:
        if slots[slot, 0] == key:
            if key < _LONG:
                break
            form = slots[slot, 1] - np.uint64(1)
            begin = starts[form]
            if starts[form + np.uint64(1)] - begin == length and _same(text, start, pool, begin, length):
                break
        slot = (slot + np.uint64(1)) & mask
    return slot


@kernel
def _with_room(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return the array, or one twice as long that begins like it, if it is too short."""
    while len(array) < size:
        array = np.concatenate((array, np.zeros_like(array)))
    return array


@kernel
def _doubled(slots: UInt64s) -> UInt64s:
    bigger = np.zeros((2 * len(slots), 2), dtype=np.uint64)
    mask = np.uint64(len(bigger) - 1)
    for old in range(len(slots)):
        if slots[old, 1] == 0:
            continue
        slot = _mixed(slots[old, 0]) & mask
        while bigger[slot, 1] != 0:
            slot = (slot + np.uint64(1)) & mask
        bigger[slot, 0], bigger[slot, 1] = slots[old, 0], slots[old, 1]
    return bigger


@part_of_kernel
def _end_sentence(spans: Int32s, n: int) -> int:
    if n > 0 and spans[n - 1, 0] == BREAK:  # at n = 0 the sentence may have begun in the chunk before
        return n
    spans[n, 0] = BREAK
    return n + 1


@kernel
def _find_words(text: Bytes, classes: Bytes) -> Int32s:
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


@part_of_kernel
def _keys_ahead(text: Bytes, spans: Int32s, t: int, coming: UInt64s, slots: UInt64s) -> None:
    """Find the keys of the next words, so that their slots are on their way when they are needed."""
    for k in range(t, min(t + _AHEAD, len(spans))):
        if spans[k, 0] != BREAK:
            coming[k - t] = _key(text, spans[k, 0], spans[k, 1])
            prefetch(slots, np.int64(2) * np.int64(_mixed(coming[k - t]) & np.uint64(len(slots) - 1)))


@kernel
def _number_forms(
    text: Bytes, spans: Int32s, slots: UInt64s, pool: Bytes, starts: Int64s, n_forms: int
) -> tuple[Int32s, UInt64s, Bytes, Int64s, int]:
    """Number the forms of a text, new ones after the ``n_forms`` known. Returns ids (tokens,) and the grown table."""
    ids = np.empty(len(spans), dtype=np.int32)
    coming = np.empty(_AHEAD, dtype=np.uint64)
    for t in range(len(spans)):
        if t % _AHEAD == 0:
            _keys_ahead(text, spans, t, coming, slots)
        start, end = spans[t, 0], spans[t, 1]
        if start == BREAK:
            ids[t] = BREAK
            continue
        key = coming[t % _AHEAD]
        slot = _find_slot(slots, pool, starts, text, key, start, end - start)
        if slots[slot, 1] == 0:
            slots[slot, 0], slots[slot, 1] = key, np.uint64(n_forms + 1)
            starts, pool = _with_room(starts, n_forms + 2), _with_room(pool, starts[n_forms] + end - start + 8)
            for at in range(end - start):  # a slice would compile an error message, too, for two seconds
                pool[starts[n_forms] + at] = text[start + at]
            starts[n_forms + 1] = starts[n_forms] + end - start
            n_forms += 1
            ids[t] = n_forms - 1
            if 2 * n_forms == len(slots):
                slots = _doubled(slots)
            continue
        ids[t] = np.int32(slots[slot, 1]) - np.int32(1)
    return ids, slots, pool, starts, n_forms
