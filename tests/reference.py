"""Slow implementations of the text and count rules, by definition; the fast ones are compared with them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

_BY_CHARACTER = {
    **dict.fromkeys("\n\r", "N"),
    **dict.fromkeys("'’", "A"),
    **dict.fromkeys("\u00ad\u200c\u200d", "J"),
    **dict.fromkeys("!?\u203d\u2047\u2048\u2049", "S"),
    **dict.fromkeys("。．！？｡।॥۔؟።፧", "F"),
    ".": "P",
    ",": "C",
    '"': "Q",
}
_BY_CATEGORY = {"Lu": "U", "Lt": "U", "Ps": "Q", "Pe": "Q", "Pi": "Q", "Pf": "Q"}
_BY_MAJOR = {"L": "L", "N": "D", "M": "J"}

# Letters, digits and what joins them; points and commas only between digits before the first letter.
_WORD = re.compile(r"(?=[LUD])(?:D(?:[DJ]|A(?=[LUD])|(?<=D)[PC](?=D))*)?(?:[LUDJ]|A(?=[LUD]))*")
_NUMBER = re.compile(r"D+([PC]D+)*")
_STOP_THEN_SPACE = re.compile(r"[PS][QA]* [QA ]*$")


def character_class(character: str) -> str:
    """One letter for the role of a character in the rules."""
    if character in _BY_CHARACTER:
        return _BY_CHARACTER[character]
    if character.isspace():
        return " "
    category = unicodedata.category(character)
    return _BY_CATEGORY.get(category) or _BY_MAJOR.get(category[0], "o")


def normal_word(form: str, lowercase: bool = True, numbers: bool = True) -> str:
    form = form.replace("’", "'").replace("\u00ad", "") or form
    if numbers and _NUMBER.fullmatch("".join(map(character_class, re.sub("^[-+−]", "", form)))):
        return "#number#"
    return unicodedata.normalize("NFC", form.lower() if lowercase else form)


def sentences_of_words(text: str) -> list[list[str]]:
    """Split with the rules of the ``words`` tokeniser."""
    classes = "".join(map(character_class, text))
    sentences: list[list[str]] = [[]]
    end = 0
    for word in _WORD.finditer(classes):
        gap = classes[end : word.start()]
        new = bool(re.search("[NF]", gap)) or (word[0][0] == "U" and bool(_STOP_THEN_SPACE.search(gap)))
        if new:
            sentences.append([])
        sentences[-1].append(normal_word(text[word.start() : word.end()]))
        end = word.end()
    return [sentence for sentence in sentences if sentence]


def sentences_of_runs(text: str) -> list[list[str]]:
    """Split with the rules of the ``whitespace`` tokeniser."""
    lines = [[normal_word(run) for run in line.split()] for line in re.split("[\n\r]", text)]
    return [line for line in lines if line]


def window_counts(sentences: list[list[int]], window: int) -> Counter[tuple[int, int]]:
    """Count the pairs of words at most ``window`` apart within a sentence."""
    pairs: Counter[tuple[int, int]] = Counter()
    for sentence in sentences:
        for i, word in enumerate(sentence):
            for j, context in enumerate(sentence):
                if i != j and abs(i - j) <= window:
                    pairs[word, context] += 1
    return pairs
