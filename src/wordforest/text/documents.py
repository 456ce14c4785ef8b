"""Where documents come from: tables, folders, lines of text files, and objects of Python; one at a time.

| source | a document is | its id |
|---|---|---|
| .csv .tsv .jsonl .parquet | a row | the column ``id`` where there is one, else the number of the row |
| a folder | a file (a row of a table) | its path in the folder |
| other files | a line | the number of the line |
| a list or generator of strings, of token lists, of rows as dictionaries, of spaCy documents | an item | its index |
| a column or a frame of pandas or Polars | a row | the label of its index |

Nothing is lost: a missing text is an empty document, a missing id is the number, and of ids that occur again the later
ones get a suffix, as in ``a#2``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

from wordforest.errors import InputError
from wordforest.runtime.disk import opened
from wordforest.text.reader import Errors, find_sources, lines_of, table_kind, valid_utf8
from wordforest.text.tables import (
    check_columns,
    guess_text,
    is_missing,
    joined,
    read_table,
    text_column,
    text_of,
)

Notice: TypeAlias = Callable[[str], None]
_LONGEST_ID = 1000  # characters: a table of ids is as wide as the longest
_LOOK = 1000  # rows that are looked at before the columns are known


@dataclass(frozen=True)
class Document:
    """A text, or its tokens, with a name and what else is known of it.

    Examples:
        >>> import wordforest as wf
        >>> document = wf.text.Document("1999-01", ["a", "new year"], {"year": 1999})
        >>> document.joined
        'a new_year'
    """

    id: str
    text: str | Sequence[str]
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def joined(self) -> str:
        """The text, or the tokens with spaces between; inside a token a space is written as an underscore."""
        return joined(self.text)


@dataclass(frozen=True)
class Columns:
    """Which columns of a table are read."""

    text: str | None = None
    id: str | None = None
    keep: tuple[str, ...] = ()

    def among(self, names: Sequence[str], text: str) -> Columns:
        """Return the columns to read of a table with these names; a column ``id`` is the id if none was named."""
        usual = "id" if "id" in names and text != "id" else None
        return replace(self, text=text, id=self.id or usual)

    @property
    def others(self) -> tuple[str, ...]:
        """All but the text: the id, if there is one, first."""
        return (*([self.id] if self.id else []), *self.keep)

    def document(self, number: str, row: Sequence[Any]) -> Document:
        """Return a row, text and others, as a document."""
        text, *others = row[0], *map(_valid, row[1:])
        known = others.pop(0) if self.id else None
        own = number if is_missing(known) else str(known)
        if len(own) > _LONGEST_ID:
            raise InputError(f"row {number}: its id, {self.id}, has {len(own):,} characters. Name another column.")
        return Document(own, text_of(text), dict(zip(self.keep, others, strict=True)))


def _valid(value: Any) -> Any:
    """Return a value that can be written as UTF-8: half of a surrogate pair, as JSON may have it, cannot."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def read_documents(
    source: Any,
    *,
    text: str | None = None,
    id: str | None = None,  # noqa: A002 as the option is called
    keep: Iterable[str] = (),
    errors: Errors = "strict",
    notice: Notice = lambda _: None,
) -> Iterator[Document]:
    r"""Yield documents from a file, a folder, a glob or a URL (or several paths), or from objects of Python.

    ``text`` and ``id`` name columns of tables, ``keep`` those that documents carry along. A list of strings is a list
    of texts; several names of files are for ``read_files``. ``notice`` hears which column was taken for the text, which
    files were skipped, and which ids occur twice.

    Examples:
        >>> from pathlib import Path
        >>> import wordforest as wf
        >>> [document.text for document in wf.text.read_documents(["first text", "second text"])]
        ['first text', 'second text']
        >>> _ = Path("table.csv").write_text("year,text\n1999,first text\n")
        >>> next(wf.text.read_documents("table.csv", text="text", keep=["year"])).fields
        {'year': '1999'}
    """
    columns = Columns(text, id, tuple(keep))
    if isinstance(source, str | Path):
        return read_files([source], columns, errors, notice)
    if is_frame(source):
        return _unique(_from_frame(source, columns, notice), notice)
    check_texts("documents", source)
    items = iter(source)
    first = [*islice(items, 1)]
    if first and isinstance(first[0], Path):
        return read_files([*first, *items], columns, errors, notice)
    labels = source.index if hasattr(source, "index") and not callable(source.index) else None
    return _unique(_from_items(chain(first, items), labels, columns, notice), notice)


def check_texts(name: str, source: Any) -> None:
    """Refuse what holds no texts, also where Python would iterate over keys of a mapping or numbers of bytes."""
    if isinstance(source, Mapping):
        keys = ", ".join(map(str, islice(source, 5)))
        raise InputError(f"{name}: a mapping came, with the keys {keys}. Give one of its values, or a list of them.")
    if isinstance(source, bytes | bytearray) or not isinstance(source, Iterable):
        raise InputError(f"{name} = {source!r:.80}, but it must be a path, several of them, or an iterable of texts.")


def is_frame(source: Any) -> bool:
    """Say whether an object is a data frame, of pandas or Polars."""
    return hasattr(type(source), "columns") and hasattr(source, "head")  # its type: a lazy frame would look for them


def read_files(
    names: Sequence[str | Path], columns: Columns, errors: Errors = "strict", notice: Notice = lambda _: None
) -> Iterator[Document]:
    """Yield the documents of files, folders, globs and URLs."""

    def found() -> Iterator[Document]:
        found = [(name, find_sources(name, notice)) for name in names]
        places = [(Path(name) if Path(name).is_dir() else None, sources) for name, sources in found]
        several = sum(len(sources) for _, sources in places) > 1
        tables = [source for _, sources in places for source in sources if table_kind(source)]
        if not tables:
            _refuse_columns(str(names[0]), replace(columns, text=None, id=None))
        for table in tables[1:]:  # of the last, too, before the first is read
            text, own = text_column(table, columns.text, errors)
            check_columns(table, columns.among(own, text).others, own)
        for folder, sources in places:
            for source in sources:
                name = str(Path(source).relative_to(folder)) if folder else source
                yield from _from_file(source, name, columns, errors, notice, whole=folder is not None, several=several)

    return _unique(found(), notice)


def _from_file(
    source: str, name: str, columns: Columns, errors: Errors, notice: Notice, *, whole: bool, several: bool
) -> Iterator[Document]:
    before = f"{name}:" if several else ""
    if table_kind(source):
        text, names = text_column(source, columns.text, errors)
        if columns.text is None:
            notice(f"{source}: the column {text!r} is read as the text")
        own = columns.among(names, text)
        for number, row in enumerate(read_table(source, text, own.others, errors), 1):
            yield own.document(f"{before}{number}", row)
        return
    if not whole:
        _refuse_columns(source, columns)
    with _stream(source) as stream:
        if whole:
            text = valid_utf8(stream.read(), source, 1, errors).decode("utf-8-sig")
            yield Document(name, text, dict.fromkeys(columns.keep))
            return
        for number, line in enumerate(lines_of(stream, source, errors), 1):
            yield Document(f"{before}{number}", line.rstrip("\r\n"))


def _refuse_columns(source: str, columns: Columns) -> None:
    for name in filter(None, (columns.text, *columns.others)):
        raise InputError(f"{source}: it has no columns, but {name!r} was asked for. Leave it out, or give a table.")


def _stream(source: str) -> AbstractContextManager[Any]:
    return nullcontext(sys.stdin.buffer) if source == "-" else opened(source)


def _from_items(items: Iterator[Any], labels: Any, columns: Columns, notice: Notice) -> Iterator[Document]:
    first = [*islice(items, _LOOK)]
    items = chain(first, items)
    numbered = zip(items, labels, strict=True) if labels is not None else ((item, n) for n, item in enumerate(items))
    if first and isinstance(first[0], Mapping):
        own = _columns_of([row for row in first if isinstance(row, Mapping)], columns, notice)
        for row, number in numbered:
            yield own.document(str(number), [row.get(name) for name in (own.text, *own.others)])
        return
    _refuse_columns("a list of texts", columns)
    for item, number in numbered:
        yield item if isinstance(item, Document) else Document(str(number), text_of(item))


def _from_frame(frame: Any, columns: Columns, notice: Notice) -> Iterator[Document]:
    frame = frame.collect() if hasattr(frame, "collect") else frame
    by_name = {str(name): frame[name] for name in frame.columns}
    first = islice(zip(*by_name.values(), strict=True), _LOOK)
    own = _columns_of([dict(zip(by_name, row, strict=True)) for row in first], columns, notice, [*by_name])
    labels = getattr(frame, "index", None)
    values = zip(*(by_name[str(name)] for name in (own.text, *own.others)), strict=True)
    for number, row in enumerate(values) if labels is None else zip(labels, values, strict=True):
        yield own.document(str(number), row)


def _columns_of(
    rows: Sequence[Mapping[str, Any]], columns: Columns, notice: Notice, names: Sequence[str] | None = None
) -> Columns:
    names = names or [*dict.fromkeys(name for row in rows for name in row)]
    text = columns.text or guess_text("the table", rows, names)
    if columns.text is None:
        notice(f"the column {text!r} is read as the text")
    own = columns.among(names, text)
    check_columns("the table", [text, *own.others], names)
    return own


def _unique(documents: Iterator[Document], notice: Notice) -> Iterator[Document]:
    """Give ids that occur again a suffix."""
    times: dict[str, int] = {}
    told = False
    for document in documents:
        own = document.id
        while own in times:
            times[document.id] += 1
            own = f"{document.id}#{times[document.id]}"
        times[own] = 1
        if own != document.id and not told:
            notice(f"the id {document.id!r} occurs again: it becomes {own!r}, and others likewise")
            told = True
        yield document if own == document.id else replace(document, id=own)
