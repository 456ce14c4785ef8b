"""Tokenisers beside the compiled two: jieba, spaCy, a regular expression, or a function of Python.

Each rewrites text, line by line, to tokens with white space between, and the compiled ``whitespace`` goes on from
there; so lower case, numbers, workers, documents and places are those of any text. They are Python, which runs on one
core at a time whatever the number of workers; processes of a cluster have a core each.
"""

from __future__ import annotations

import logging
import re
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from wordforest.errors import InputError, MissingExtraError
from wordforest.options import PythonTokenizer
from wordforest.text.tables import joined, text_of

Split = Callable[[str], list[list[str]]]  # a line to its sentences
_LINE_END = re.compile("[\r\n]+")
_STOPS = frozenset(".!?‽⁇⁈⁉。！．？｡।॥۔؟።፧")  # end a sentence where they are a token
_WORD = re.compile(r"\S+")
_LANGUAGE = re.compile("[a-z]{2,3}")
_one_at_a_time = threading.RLock()  # few of these tokenisers promise to be safe in threads, and Python is no quicker


def segmented(texts: Sequence[bytes], tokenizer: str) -> list[bytes]:
    """Return texts rewritten for the compiled tokeniser ``whitespace``."""
    split = splitter(tokenizer)
    return [_rewritten(text, split) for text in texts]


def _rewritten(text: bytes, split: Split) -> bytes:
    lines = _LINE_END.split(text.decode("utf-8", "surrogatepass"))
    with _one_at_a_time:
        sentences = [joined(sentence) for line in lines for sentence in split(line)]
    last = "\n" if text.endswith((b"\n", b"\r")) else ""  # or the next chunk would go on with the sentence
    return ("\n".join(sentences) + last).encode("utf-8", "surrogatepass")


def token_places(text: str, tokenizer: str) -> Iterator[list[tuple[str, int, int]]]:
    """Yield the sentences of a text: tokens as ``segmented`` writes them, with starts and ends in characters.

    A token that does not stand in the text as it is, such as a lemma, has the place of the word that comes next there.
    """
    split, at = splitter(tokenizer), 0
    for line in _LINE_END.split(text):
        with _one_at_a_time:
            sentences = split(line)
        at = text.index(line, at)
        end = at + len(line)
        for sentence in sentences:
            places = []
            for token in sentence:
                start, stop = _place(text, token, at, end)
                places.append(("_".join(token.split()), start, stop))
                at = stop
            yield places
        at = end


def _place(text: str, token: str, at: int, end: int) -> tuple[int, int]:
    start = text.find(token, at, end)
    if start >= 0:
        return start, start + len(token)
    word = _WORD.search(text, at, end)
    return word.span() if word else (at, at)


def splitter(tokenizer: str) -> Split:
    """Return the function that splits a line into tokens, none of them white space alone."""
    if isinstance(tokenizer, PythonTokenizer):
        if tokenizer.function is None:
            raise InputError(
                f"tokenizer = {tokenizer}: a function of Python is kept by its name alone, and never loaded from a "
                "folder. Pass it again in Python, as in tokenizer=my_function."
            )
        return partial(_checked, tokenizer, tokenizer.function)
    with _one_at_a_time:  # or several workers load the same model
        return _known(tokenizer)


def _checked(name: str, split: Callable[[str], Any], line: str) -> list[list[str]]:
    """Return what a function of Python makes of a line, if it is tokens."""
    if not line.strip():
        return []
    found = split(line)
    if isinstance(found, str | bytes) or not isinstance(found, Iterable):
        raise InputError(
            f"tokenizer = {name} returned {found!r:.60} for {line!r:.60}, but it must return a list of strings."
        )
    return [[token for token in text_of(found) if token.strip()]]


@lru_cache(maxsize=8)
def _known(tokenizer: str) -> Split:
    kind, _, value = tokenizer.partition(":")
    if kind == "regex":
        return partial(_matches, re.compile(value))
    return partial(_sentences, _jieba() if kind == "jieba" else _spacy(value))


def _matches(pattern: re.Pattern[str], line: str) -> list[list[str]]:
    return [[match[0] for match in pattern.finditer(line) if match[0].strip()]]


def _sentences(split: Callable[[str], Iterable[str]], line: str) -> list[list[str]]:
    """Return the tokens of sentences, which end at a full stop; what has no letter or digit is dropped."""
    sentences: list[list[str]] = [[]]
    for token in split(line):
        if token.isalnum() or any(map(str.isalnum, token)):
            sentences[-1].append(token)
        elif token in _STOPS:
            sentences.append([])
    return sentences


def _jieba() -> Callable[[str], Iterable[str]]:
    try:
        with warnings.catch_warnings():  # of packages that it looks for
            warnings.simplefilter("ignore")
            import jieba
    except ImportError as error:
        raise MissingExtraError("the tokenizer jieba", "chinese") from error
    jieba.setLogLevel(logging.WARNING)
    jieba.initialize()
    cut: Callable[[str], Iterable[str]] = jieba.cut
    return cut


def _spacy(name: str) -> Callable[[str], Iterable[str]]:
    """Return the tokeniser of a language, of an installed model or of the folder of one; nothing else of it runs."""
    try:
        import spacy
    except ImportError as error:
        raise MissingExtraError(f"the tokenizer spacy:{name}", "spacy") from error
    is_language = _LANGUAGE.fullmatch(name) and not (Path(name) / "meta.json").exists()
    try:
        with warnings.catch_warnings():  # a model of another version still splits words
            warnings.simplefilter("ignore")
            nlp = spacy.blank(name) if is_language else spacy.load(name)
    except (ImportError, OSError, ValueError, TypeError, AttributeError) as error:  # the last two: another package
        raise InputError(
            f"tokenizer = spacy:{name} cannot be loaded ({' '.join(str(error).split())}). Give a language such as "
            "spacy:de, an installed model, or the folder of one."
        ) from error
    return lambda line: (token.text for token in nlp.tokenizer(line))


def packages_of(tokenizer: str) -> tuple[str, ...]:
    """Return the installed packages, beside this one, that decide what a word is."""
    kind, _, model = tokenizer.partition(":")
    named = {"jieba": ("jieba",), "spacy": ("spacy", model)}.get(kind, ())
    return tuple(filter(_is_installed, named))


def _is_installed(package: str) -> bool:
    try:
        return bool(version(package))
    except (PackageNotFoundError, ValueError):
        return False
