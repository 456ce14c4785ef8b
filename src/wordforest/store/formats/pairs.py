"""Words in one file and their numbers, line by line, in another: SENNA, RNN-DC, HPCA, the Embedding Projector."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from wordforest.errors import InputError
from wordforest.runtime.disk import COMPRESSION, opened
from wordforest.store.files import replace_pair
from wordforest.store.formats.common import (
    AGAIN,
    BOM,
    VectorFile,
    assembled,
    check_first_word,
    check_words,
    decoded,
    fill,
    format_suffix,
)
from wordforest.store.formats.text import is_matrix, number_lines, read_matrix
from wordforest.vectors import Vectors

METADATA = "metadata.tsv"

_SENNA = "../hash/words.lst"
_BESIDE = ("words.lst", "words.txt", "vocab.txt", "vocab.lst", "vocabulary.txt", "wordlist.txt", "words", "vocab")
_WITH_COUNT = re.compile(rb"(.*\S)[ \t]+\d+")
_LINE_BREAK = re.compile(r"[\t\n\r]")


def pair_of(name: str) -> tuple[str, str] | None:
    """Return WORDS and VECTORS of a name ``WORDS+VECTORS``, or of NAME.tsv beside NAME.metadata.tsv; else None."""
    if "://" in name:
        return None
    if Path(name).exists():
        words = metadata_of(Path(name))
        return (str(words), name) if format_suffix(name) == ".tsv" and words.is_file() else None
    parts = name.split("+")
    splits = [("+".join(parts[:i]), "+".join(parts[i:])) for i in range(1, len(parts))]
    there = [pair for pair in splits if all(Path(part).is_file() for part in pair)]
    if splits and not there:
        missing = [part for part in splits[0] if not Path(part).is_file()]
        raise InputError(
            f"{name}: no such file or folder, and as WORDS+VECTORS {' and '.join(map(repr, missing))} is missing. "
            "Check the path."
        )
    return there[0] if there else None


def words_beside(vectors: str) -> str:
    """Return the file of words that by convention belongs to a file of numbers."""
    if "://" in vectors:
        raise InputError(f"{vectors}: numbers without words. Copy it and its words here and give WORDS+VECTORS.")
    path = Path(vectors)
    stem = _stem(path)
    names = [f"{stem}.{METADATA}", f"{stem}.words", f"{stem}.vocab", *_BESIDE, METADATA, _SENNA]
    found = [c for name in names for c in _plain_or_compressed(path.parent / name) if c.is_file()]
    by_suffix = list(path.parent.glob("*.words"))
    found += by_suffix if len(by_suffix) == 1 else []
    others = [candidate for candidate in found if candidate.resolve() != path.resolve()]
    if not others:
        raise InputError(
            f"{vectors}: its first lines are numbers without a word, so a file of words, line by line, is needed. "
            f"Looked in {path.parent} for {', '.join(names)} and one *.words. Put one there, give WORDS+VECTORS, "
            "or rename the file to *.glove if its first column holds the words."
        )
    return str(others[0])


def read_pair(source: VectorFile, words_name: str, vectors_name: str) -> Vectors:
    """Return the vectors whose words and numbers stand on equal lines of two files."""
    matrix = read_matrix(replace(source, name=vectors_name))
    raw, first = _read_words(words_name)
    is_cut = source.limit == len(matrix) < len(raw)
    if len(raw) != len(matrix) and not is_cut:
        raise InputError(
            f"{words_name} has {len(raw)} words, but {vectors_name} has {len(matrix)} lines of numbers. "
            "Line by line they must belong together: use two files of one release."
        )
    words = decoded(replace(source, name=words_name), raw[: len(matrix)], lambda row: f"line {row + first}")
    return assembled(replace(source, name=vectors_name), words, matrix, lambda row: f"line {row + 1}")


def metadata_of(target: Path) -> Path:
    """Return the place of the words that belong to NAME.tsv: NAME.metadata.tsv."""
    compression = target.suffix if target.suffix.lower() in COMPRESSION else ""
    return target.with_name(f"{_stem(target)}.{METADATA}{compression}")


def write_projector(target: Path, vectors: Vectors) -> None:
    """Write NAME.metadata.tsv with the words and NAME.tsv with the numbers, as the Embedding Projector loads them."""
    check_words(target, vectors, _LINE_BREAK)
    check_first_word(target, vectors)
    words = metadata_of(target)
    with replace_pair(words, target) as (first, second):
        fill(first, words, (f"{word}\n".encode() for word in vectors.words))
        fill(second, target, number_lines(vectors, "\t"))


def _read_words(name: str) -> tuple[list[bytes], int]:
    """Return the words of a file and the line of the first: one a line, perhaps each with its count."""
    with opened(name) as handle:
        lines = [line.rstrip(b"\r\n") for line in handle.read().removeprefix(BOM).split(b"\n")]
    while lines and not lines[-1]:
        lines.pop()
    is_metadata = METADATA in Path(name).name.lower()
    first = 1
    if is_metadata and lines and b"\t" in lines[0]:  # several columns have names on the first line, one has none
        lines, first = [line.partition(b"\t")[0] for line in lines[1:]], 2
    elif not is_metadata:
        if lines and len(lines[0].split()) > 2 and is_matrix(b"\n".join(lines)):
            raise InputError(
                f"{name}: expected a word on each line, but numbers came. Give WORDS+VECTORS in this order."
            )
        lines = _without_counts([line.strip(b" \t") for line in lines])
    if b"" in lines or not lines:
        raise InputError(
            f"{name}, line {first + (lines.index(b'') if lines else 0)}: expected a word, but none came. {AGAIN}"
        )
    return lines, first


def _without_counts(lines: Sequence[bytes]) -> list[bytes]:
    """Drop the counts where every line ends with one."""
    matches = [_WITH_COUNT.fullmatch(line) for line in lines]
    return [match[1] for match in matches if match] if all(matches) else list(lines)


def _stem(path: Path) -> str:
    if path.suffix.lower() in COMPRESSION:
        path = path.with_suffix("")
    return path.stem


def _plain_or_compressed(path: Path) -> list[Path]:
    return [path, *(path.with_name(path.name + suffix) for suffix in COMPRESSION)]
