"""Keyword in context: where a word, or the words of a node, stand in documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.reading.labels import node_words
from wordforest.text.documents import Document, read_documents
from wordforest.text.places import Places, WordFinder
from wordforest.text.tokens import RARE, TextRules
from wordforest.vectors import UnknownWordError, Vectors

Sort = Literal["document", "left", "right", "strength"]
_BATCH = 1 << 22  # characters that are searched at once
_WHITE = re.compile(r"\s+")


@dataclass(frozen=True)
class ContextLine:
    """An occurrence: the document and its number, what stands left and right of the keyword, and the word it is."""

    document: str
    row: int
    start: int  # of the keyword, in characters of the text
    word: str
    left: str
    keyword: str
    right: str


@dataclass(frozen=True)
class Concordance:
    """Some occurrences of ``words``, and how many there are, in how many of the documents."""

    words: tuple[str, ...]
    lines: tuple[ContextLine, ...]
    n_found: int
    n_with: int
    n_documents: int


@dataclass(frozen=True, eq=False)
class _Wanted:
    """What is looked for: words one after the other, or any word of a node, by its strength (V,)."""

    words: tuple[str, ...]
    phrase: tuple[int, ...] = ()
    strength: NDArray[np.float64] | None = None

    def hits(self, places: Places) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return the places where it begins, and how strong it is there."""
        if self.strength is not None:
            found = np.append(self.strength, 0.0)[places.row]  # -1, no word at all, comes last
            return np.flatnonzero(found), found[found > 0]
        starts = np.arange(max(len(places.row) - len(self.phrase) + 1, 0))
        for i, row in enumerate(self.phrase):
            here = starts + i
            starts = starts[(places.row[here] == row) & (places.text[here] == places.text[starts])]
        return starts, np.ones(len(starts))


def concordance(
    documents: Any,
    vectors: Vectors,
    query: str | int,
    *,
    rules: TextRules | None = None,
    k: int | None = 20,
    width: int = 40,
    sort: Sort = "document",
    seed: int | None = None,
    words: int = 20,
) -> Concordance:
    """Return k occurrences of a word or phrase, or of the ``words`` that say most of a node (a number) in documents.

    Documents are whatever ``read_documents`` takes: a list of texts or of token lists, a column of a table, a path. The
    first ones are taken; with a ``seed`` some at random; with ``sort="strength"`` those of a node's strongest words;
    None takes all. Words are found by the ``rules`` of the run, so exactly those that it counted. ``width`` is how many
    characters stand left and right of the keyword; white space becomes one space.

    Examples:
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["ship", "sea", "cake"], [[1, 0], [1, 0], [0, 1]])
        >>> found = wf.concordance(["A ship at sea.", "A cake."], vectors, "sea", width=10)
        >>> [(line.left, line.keyword, line.right) for line in found.lines]
        [('A ship at ', 'sea', '.')]
        >>> found.n_found, found.n_documents
        (1, 2)
    """
    for name, value in (("k", 1 if k is None else k), ("width", width), ("words", words)):
        if value < 1:
            raise InputError(f"{name} = {value}, but it must be at least 1.")
    rules = rules or TextRules()
    finder, of_tokens = (WordFinder(vectors.words, one) for one in (rules, replace(rules, tokenizer="whitespace")))
    wanted = _of_node(vectors, query, words) if not isinstance(query, str) else _of_text(vectors, query, finder)
    random = None if seed is None else np.random.default_rng(seed)
    kept: list[tuple[float, int, ContextLine]] = []  # how late it comes, its number, and the line
    n_found = n_with = n_documents = 0
    for batch in _batches(read_documents(documents)):
        own = finder if isinstance(batch[0].text, str) else of_tokens
        places = own.find([document.joined for document in batch])
        hits, strength = wanted.hits(places)
        rank = np.zeros(len(hits)) if random is None else random.random(len(hits))
        rank -= strength if sort == "strength" else 0
        for i in np.argsort(rank, kind="stable")[:k].tolist():
            t, last = int(places.text[hits[i]]), int(hits[i]) + max(len(wanted.phrase) - 1, 0)
            row, span = int(places.row[hits[i]]), (int(places.start[hits[i]]), int(places.end[last]))
            word = wanted.words[0] if wanted.phrase else vectors.words[row]
            kept.append((float(rank[i]), n_found + i, _line(batch[t], n_documents + t, word, span, width)))
        kept = sorted(kept, key=lambda one: one[:2])[:k]
        n_found += len(hits)
        n_with += len(np.unique(places.text[hits]))
        n_documents += len(batch)
    return Concordance(wanted.words, tuple(_sorted(kept, sort)), n_found, n_with, n_documents)


def _of_text(vectors: Vectors, query: str, finder: WordFinder) -> _Wanted:
    if (row := vectors.lookup.find(query)) is not None:  # also a marker, or a phrase that is one word
        return _Wanted((vectors.words[row],), (row,))
    places = finder.find([query])
    words = tuple(query[a:b] for a, b in zip(places.start, places.end, strict=True))
    rows = tuple(places.row.tolist())
    if not words:
        raise UnknownWordError([query], vectors.lookup)
    for word, row in zip(words, rows, strict=True):
        if row < 0 or vectors.words[row] == RARE:
            raise UnknownWordError([word], vectors.lookup)
    return _Wanted((" ".join(vectors.words[row] for row in rows),), rows)


def _of_node(vectors: Vectors, node: int, k: int) -> _Wanted:
    found = node_words(vectors, node, k)
    strength = np.zeros(len(vectors))
    strength[[vectors.index(word) for word, _ in found]] = [score for _, score in found]
    return _Wanted(tuple(word for word, _ in found), strength=strength)


def _batches(documents: Iterator[Document]) -> Iterator[list[Document]]:
    """Yield documents some megabytes at a time, texts and lists of tokens apart."""
    for _, alike in groupby(documents, lambda document: isinstance(document.text, str)):
        batch, size = list[Document](), 0
        for document in alike:
            batch.append(document)
            size += len(document.joined)
            if size > _BATCH:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch


def _line(document: Document, row: int, word: str, span: tuple[int, int], width: int) -> ContextLine:
    text, (start, end) = document.joined, span
    reach = 4 * width  # white space takes some of it
    left = _WHITE.sub(" ", text[max(start - reach, 0) : start])[-width:]
    right = _WHITE.sub(" ", text[end : end + reach])[:width]
    return ContextLine(document.id, row, start, word, left, _WHITE.sub(" ", text[start:end]), right)


def _sorted(kept: list[tuple[float, int, ContextLine]], sort: Sort) -> list[ContextLine]:
    lines = [line for _, _, line in kept]
    if sort == "strength":
        return lines
    lines.sort(key=lambda line: (line.row, line.start))
    if sort == "left":
        lines.sort(key=lambda line: line.left.casefold().split()[::-1])
    elif sort == "right":
        lines.sort(key=lambda line: line.right.casefold().split())
    return lines
