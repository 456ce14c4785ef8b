"""Text in pieces that workers read by themselves: a file, or a range of its bytes from line to line.

No window and no word goes across a line end, so spans can be counted apart, and what they found adds up to the whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.runtime.cluster import Sized
from wordforest.runtime.disk import opened
from wordforest.text.reader import Chunk, chunks_of, is_plain, read_chunks
from wordforest.text.tokenizer import FormTable, split_forms
from wordforest.text.tokens import TextRules, WordIds, join_ids

_SPANS = 16
_LEAST = 16 << 20  # bytes of a span: words of many small ones take longer to merge than to read
_MOST = 256 << 20


@dataclass(frozen=True)
class Span:
    """A file or URL, or of a plain file the lines that begin in a range of its bytes."""

    source: str
    start: int = 0
    stop: int | None = None  # None: to the end


@dataclass(frozen=True, eq=False)
class SpanTokens(Sized):
    """The words of a span as they came, how often each occurs, and all as ids, BREAK between sentences."""

    words: list[str]
    counts: NDArray[np.int64]
    ids: NDArray[np.int32]
    digest: str
    n_bytes: int


def cut_spans(sources: Sequence[str]) -> list[Span]:
    """Cut plain text into spans of a 16th of it, as far as they are neither small nor large; others are one each.

    Never by the workers, so that the fingerprint does not depend on them.
    """
    if "-" in sources:
        raise InputError("standard input cannot be read by the workers of a cluster. Give files or URLs.")
    paths = [Path(source) for source in sources]
    lengths = [path.stat().st_size if is_plain(path) else 0 for path in paths]
    size = min(max(-(-sum(lengths) // _SPANS), _LEAST), _MOST)
    spans = []
    for path, source, length in zip(paths, sources, lengths, strict=True):
        whole = Span(str(path.resolve()) if path.is_file() else source)
        parts = [Span(whole.source, start, min(start + size, length)) for start in range(0, length, size)]
        spans += parts if length > size else [whole]
    return spans


def read_span(span: Span, rules: TextRules) -> SpanTokens:
    """Read the words of a span; the ids are those that the whole corpus has there, but for their numbering."""
    table, words, digest = FormTable(), WordIds(rules), hashlib.sha256()
    parts, n_bytes = [np.empty(0, dtype=np.int32)], 0
    for chunk in _chunks(span, rules):
        digest.update(chunk.data)
        n_bytes += len(chunk.data)
        parts.append(words.take(split_forms(chunk.data, rules.tokenizer, table), last=chunk.last))
    known, ids = [*words.index], np.concatenate(parts)
    counts = words.counts[: len(known)].copy()
    if rules.known_phrases:
        pieces: list[NDArray[np.int32]] = []
        known, counts = join_ids(known, ids, rules.known_phrases, pieces.append)
        ids = np.concatenate(pieces) if pieces else ids
    return SpanTokens(known, counts, ids, digest.hexdigest(), n_bytes)


def _chunks(span: Span, rules: TextRules) -> Iterator[Chunk]:
    if span.stop is None:
        yield from read_chunks([span.source], rules.errors, text=rules.text)
        return
    with opened(span.source) as stream:
        stream.seek(max(span.start - 1, 0))
        if span.start:
            stream.readline()  # ends the line that began before
        begin = stream.tell()
        data = stream.read(max(span.stop - begin, 0))
        if data and not data.endswith(b"\n"):
            data += stream.readline()
    where = f"{span.source}, bytes {span.start} to {span.stop}"
    yield from chunks_of(BytesIO(data), where, rules.errors, begins=span.start == 0)
