"""Whether words are words: text in a script without spaces, split at spaces, gives clauses, and nobody would say so."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_LEAST_SHARE = 0.1  # of all tokens that are of such a script
_LEAST = 20  # of them: a handful says nothing


class _Script(NamedTuple):
    letters: str  # in a character class
    most: int  # letters that half of the words have at most, where text is segmented: of Chinese 2, of Thai 4
    what_to_do: str


_OWN = "give a function that segments it as tokenizer= in Python"
_SCRIPTS = {  # the first that a word has a letter of
    "Japanese": _Script("\u3041-\u30ff", 4, "use --tokenizer spacy:ja"),
    "Chinese": _Script("\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff", 4, "use --tokenizer jieba"),
    "Thai": _Script("\u0e01-\u0e7f", 6, "use --tokenizer spacy:th"),
    "Lao": _Script("\u0e81-\u0eff", 6, _OWN),
    "Khmer": _Script("\u1780-\u17ff", 6, _OWN),
    "Burmese": _Script("\u1000-\u109f", 4, _OWN),
}
_ANY = re.compile(f"[{''.join(script.letters for script in _SCRIPTS.values())}]")
_ONE = re.compile("|".join(f"(?P<{name}>[{script.letters}])" for name, script in _SCRIPTS.items()))


def warn(notice: str) -> None:
    """Say what a person should know, where there is no report to say it to."""
    warnings.warn(notice, UserWarning, stacklevel=3)


def unsegmented(words: Sequence[str], counts: NDArray[np.int64]) -> str:
    """Return a notice where the words of a script without spaces are too long for words, else nothing.

    The words are those of a text before rare ones are pooled: clauses are rare, and what is left would look like words.
    """
    found = [i for i, word in enumerate(words) if not word.isascii() and _ANY.search(word)]
    times = counts[found]
    if times.sum() < max(_LEAST, _LEAST_SHARE * counts.sum()):
        return ""
    names = [_script(words[i]) for i in found]
    of_script = Counter[str]()
    for name, n in zip(names, times.tolist(), strict=True):
        of_script[name] += n
    script = _SCRIPTS[name := of_script.most_common(1)[0][0]]
    lengths = np.array([_letters(words[i]) for i in found])
    median = _median(lengths, times)
    if median <= script.most:
        return ""
    long = [i for i, n in zip(found, lengths, strict=True) if n >= median]
    first, second, *_ = [*sorted(long, key=lambda i: -counts[i]), long[-1]]
    return (
        f"half of the words in {name} letters have {median:.0f} or more, such as {words[first]!r:.40} and "
        f"{words[second]!r:.40}: {name} has no space between words, so these are clauses. To have words, "
        rf"{script.what_to_do}; to have single letters, use --tokenizer 'regex:\w'."
    )


def _script(word: str) -> str:
    kinds = {match.lastgroup for match in _ONE.finditer(word)}
    return next(name for name in _SCRIPTS if name in kinds)


def _letters(word: str) -> int:
    """Return the number of letters of these scripts, without marks above, below and beside them."""
    return sum(not unicodedata.category(letter).startswith("M") for letter in _ANY.findall(word))


def _median(values: NDArray[np.int64], times: NDArray[np.int64]) -> float:
    order = np.argsort(values, kind="stable")
    return float(values[order][np.searchsorted(np.cumsum(times[order]), times.sum() / 2)])
