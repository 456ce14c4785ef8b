"""Tables of texts: CSV, TSV, JSON Lines and Parquet, plain or compressed, read row by row and by the columns asked for.

Where no column is named as the text, the one that looks like text is taken; where that is none or several, it is an
error that lists them.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, BinaryIO

from wordforest.errors import InputError, MissingExtraError
from wordforest.runtime.disk import opened
from wordforest.text.reader import Errors, lines_of, table_kind

_LOOK = 1000  # rows that are looked at before the columns are known
_BATCH = 4096  # rows of Parquet at a time
_LONGEST_FIELD = (1 << 31) - 1
Row = Mapping[str, Any]


def read_table(
    source: str, text: str, others: Sequence[str] = (), errors: Errors = "strict"
) -> Iterator[tuple[Any, ...]]:
    """Yield the text and the ``others`` of every row as they are; None where a row has no such field."""
    wanted = [text, *others]
    with opened(source) as stream:
        names, rows = _READERS[table_kind(source)](stream, source, wanted, errors)
        first = list(islice(rows, _LOOK))
        check_columns(source, wanted, names or _names(first))
        for row in chain(first, rows):
            yield tuple(map(row.get, wanted))


def text_column(source: str, text: str | None, errors: Errors = "strict") -> tuple[str, list[str]]:
    """Return which column of a table is its text, and all its columns."""
    with opened(source) as stream:
        names, rows = _READERS[table_kind(source)](stream, source, None, errors)
        first = list(islice(rows, _LOOK))
    names = names or _names(first)
    text = text or guess_text(source, first, names)
    check_columns(source, [text], names)
    return text, names


def check_columns(source: str, wanted: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a column that a table does not have."""
    for name in wanted:
        if name not in names:
            raise InputError(f"{source}: there is no column {name!r}. Its columns are: {', '.join(names)}.")


def guess_text(source: str, rows: Sequence[Row], names: Sequence[str]) -> str:
    """Return the one column that looks like text: most of its values are several words.

    A column called text goes before others, and the only column of strings is the text in any case.
    """
    strings = {name: _strings(rows, name) for name in names}
    several = [name for name, values in strings.items() if 2 * sum(map(is_text, values)) > len(values)]
    named = [name for name in several if name.lower() == "text"]
    worded = [name for name, values in strings.items() if any(any(map(str.isalpha, value)) for value in values)]
    for found in (named, several, worded):
        if len(found) == 1:
            return found[0]
    what = f"{len(several)} columns look like text" if several else "no column looks like text"
    raise InputError(
        f"{source}: {what}, so the one to read has to be named. Add --text COLUMN. Its columns are: {', '.join(names)}."
    )


def text_of(value: Any) -> str | Sequence[str]:
    """Return a value as a text or as tokens: a missing one is empty, a spaCy document its words."""
    if isinstance(value, str):
        return value
    if isinstance(value, Iterable):
        return [token if isinstance(token, str) else _word(token) for token in value if not _is_mark(token)]
    return "" if is_missing(value) else str(value)


def joined(text: str | Sequence[str]) -> str:
    """Return a text, or tokens with spaces between; inside a token a space is written as an underscore."""
    if isinstance(text, str):
        return text
    found = " ".join(text)
    spaced = len(found.split()) > len(text)
    return " ".join("_".join(token.split()) for token in text) if spaced else found


def _word(token: Any) -> str:
    found = getattr(token, "text", token)
    if not isinstance(found, str):
        raise InputError(f"a token is {token!r:.80}, but it must be a string. Give texts, or lists of strings.")
    return found


def _is_mark(token: Any) -> bool:
    """Say whether a token of spaCy is punctuation or white space."""
    return bool(getattr(token, "is_punct", False) or getattr(token, "is_space", False))


def is_missing(value: Any) -> bool:
    """Say whether a cell of a table is empty: None, NaN, NaT, NA, or text without a letter."""
    if value is None or type(value).__name__ == "NAType":
        return True
    return not value.strip() if isinstance(value, str) else bool(value != value)


def _names(rows: Sequence[Row]) -> list[str]:
    return [*dict.fromkeys(name for row in rows for name in row)]


def _strings(rows: Sequence[Row], name: str) -> list[str]:
    return [value for row in rows if isinstance(value := row.get(name), str) and value.strip()]


def is_text(value: str) -> bool:
    """Say whether a value is several words, or a run of letters as scripts without spaces have them."""
    n_words = sum(any(map(str.isalpha, part)) for part in value.split())
    return n_words > 1 or (not value.isascii() and len(value) > 8)


def _read_csv(stream: BinaryIO, source: str, _: list[str] | None, errors: Errors) -> tuple[list[str], Iterator[Row]]:
    csv.field_size_limit(_LONGEST_FIELD)
    lines = lines_of(stream, source, errors)
    first = next(lines, "")
    separator = "\t" if table_kind(source) == ".tsv" else max(",;\t", key=first.count)
    reader = csv.reader(chain([first], lines), delimiter=separator)
    names = next(reader, [])
    if len({*names}) < len(names):
        raise InputError(f"{source}: line 1: two columns have one name: {', '.join(names)}. Rename one of them.")

    def rows() -> Iterator[Row]:
        try:
            for row in filter(None, reader):
                if len(row) > len(names):
                    raise InputError(
                        f"{source}: line {reader.line_num}: found {len(row)} fields, but the first line names "
                        f"{len(names)} columns. Put quotes around fields with {separator!r} inside."
                    )
                yield dict(zip(names, row, strict=False))
        except csv.Error as error:
            raise InputError(f"{source}: line {reader.line_num}: not CSV ({error}). Write it again.") from error

    return names, rows()


def _read_jsonl(stream: BinaryIO, source: str, _: list[str] | None, errors: Errors) -> tuple[list[str], Iterator[Row]]:
    def rows() -> Iterator[Row]:
        for number, line in enumerate(lines_of(stream, source, errors), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InputError(f"{source}: line {number}: not JSON ({error}). Write an object a line.") from error
            if not isinstance(row, dict):
                raise InputError(f"{source}: line {number}: expected an object, as in {{'text': '...'}}.")
            yield row

    return [], rows()


def _read_parquet(
    stream: BinaryIO, source: str, columns: list[str] | None, _: Errors
) -> tuple[list[str], Iterator[Row]]:
    try:
        import pyarrow
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise MissingExtraError("Parquet", "parquet") from error
    try:
        file = ParquetFile(stream)
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise InputError(f"{source}: not a usable Parquet file ({error}). Write it again.") from error
    names = list(file.schema_arrow.names)
    check_columns(source, columns or [], names)

    def rows() -> Iterator[Row]:
        try:
            for batch in file.iter_batches(_BATCH, columns=columns):
                yield from batch.to_pylist()
        except (OSError, ValueError, pyarrow.ArrowException) as error:
            raise InputError(f"{source}: cannot be read to its end ({error}). Write it again.") from error

    return names, rows()


_READERS = {".csv": _read_csv, ".tsv": _read_csv, ".jsonl": _read_jsonl, ".parquet": _read_parquet}
