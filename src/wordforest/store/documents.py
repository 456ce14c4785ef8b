"""A documents FOLDER: shares of nodes in documents, tables about documents, nodes, groups and times, and the texts.

``shares.npz`` comes last: a folder that has it is complete. Texts are lines of JSON in ``texts.jsonl.zst``, packed in
many frames, so that one can be read without the others; ``shares.npz`` says where frames begin.
"""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.runtime.disk import opened, zstd_library
from wordforest.runtime.machine import Threads
from wordforest.store.files import read_json, replace_file, replaced, settle, write_json
from wordforest.store.formats.arrays import pyarrow_library
from wordforest.store.tensors import CSR_NAMES, checked_csr, write_sparse
from wordforest.vectors import CSR

Table: TypeAlias = Mapping[str, Sequence[Any]]  # columns of one length; cells are numbers, text, lists of text, or None
SHARES, TEXTS = "shares.npz", "texts.jsonl.zst"
_TABLES = ("documents", "nodes", "by_group", "over_time")
_KNOWN = (SHARES, TEXTS, "config.json", *(f"{name}.{form}" for name in _TABLES for form in ("csv", "parquet")))
_FRAME = 1 << 17  # bytes of text, or one document, that are packed together
_WHOLE = (
    "node",
    "parent",
    "depth",
    "documents",
    "n",
)  # columns, with a number behind the name or without, that hold whole numbers
_DECIMAL = ("share", "stability", "low", "high", "difference", "p", "q")
_AGAIN = "Make it with: wordforest documents RUN DOCS --out FOLDER"


@dataclass(frozen=True, eq=False)
class DocumentsFolder:
    """What a folder holds of n documents and M nodes: ids, shares (n, M), settings; tables and texts when asked."""

    folder: Path
    ids: list[str]
    shares: CSR
    config: dict[str, Any]
    frames: NDArray[
        np.int64
    ]  # (frames + 1, 2): where each begins in the file, and its first document; none of no texts

    @cached_property
    def documents(self) -> dict[str, list[Any]]:
        """The main path of every document: ``document``, ``depth0``, ..., ``share0``, ..."""
        return self._table("documents")

    @cached_property
    def paths(self) -> NDArray[np.int32]:
        """The main path of every document: its node at each depth, -1 where it has ended, (n, depths)."""
        columns = self._table("documents", "depth").values()
        found = [[-1 if node is None else node for node in column] for column in columns]
        return np.array(found, dtype=np.int32).reshape(len(found), len(self.ids)).T

    @cached_property
    def nodes(self) -> dict[str, list[Any]]:
        """``node``, ``parent``, ``depth``, ``label``, ``share``, ``stability``, ``typical`` (lists of ids)."""
        return self._table("nodes")

    @cached_property
    def by_group(self) -> dict[str, list[Any]]:
        """``node``, ``group``, ``share``, ``low``, ``high``; empty where no groups were asked for."""
        return self._table("by_group")

    @cached_property
    def over_time(self) -> dict[str, list[Any]]:
        """``node``, ``time``, ``share``, ``low``, ``high``; empty where no times were asked for."""
        return self._table("over_time")

    def texts(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Return some documents (id, text and fields); only the frames in which they stand are read."""
        wanted: dict[int, list[int]] = {}
        for row in sorted({*rows}):
            wanted.setdefault(int(np.searchsorted(self.frames[:, 1], row, side="right")) - 1, []).append(row)
        found: dict[int, dict[str, Any]] = {}
        for frame, some in wanted.items():
            lines = self._frame(frame)
            found |= {row: json.loads(lines[row - int(self.frames[frame, 1])]) for row in some}
        return [found[row] for row in rows]

    def _frame(self, number: int) -> list[bytes]:
        path, (start, end) = self.folder / TEXTS, self.frames[number : number + 2, 0].tolist()
        zstd = zstd_library()
        try:
            with path.open("rb") as file:
                file.seek(start)
                lines: list[bytes] = zstd.decompress(file.read(end - start)).splitlines()
        except (OSError, zstd.ZstdError) as error:
            raise InputError(f"{path}: cannot be read ({error}). {_AGAIN}") from error
        return lines

    def _table(self, name: str, start: str = "") -> dict[str, list[Any]]:
        """Return a table, or those columns whose names begin with ``start``."""
        for form, read in (("csv", _read_csv), ("parquet", _read_parquet)):
            if (path := self.folder / f"{name}.{form}").is_file():
                return read(path, start)
        return {}


def save_documents(
    folder: Path,
    *,
    ids: Sequence[str],
    shares: CSR,
    documents: Table,
    nodes: Table,
    config: dict[str, Any],
    by_group: Table | None = None,
    over_time: Table | None = None,
    texts: Iterable[Mapping[str, Any] | bytes] | None = None,
    form: Literal["csv", "parquet"] = "csv",
) -> None:
    """Write shares (n, M), tables, settings and texts in place of what a folder holds, all or nothing.

    ``texts`` are as many as ``ids``, in their order: ``id``, ``text`` and other fields; they may come one by one, and
    as lines (``as_line``).
    """
    tables = {"documents": documents, "nodes": nodes, "by_group": by_group, "over_time": over_time}
    if len(ids) != shares.shape[0]:
        raise InputError(f"{len(ids)} ids came with shares of {shares.shape[0]} documents. Give an id for each.")
    with replaced(folder, _KNOWN, SHARES) as staging:
        for name, table in tables.items():
            if table is not None:
                write_table(staging / f"{name}.{form}", table)
        write_json(staging / "config.json", config)
        frames = np.empty((0, 2), np.int64) if texts is None else _write_texts(staging / TEXTS, texts, len(ids))
        named = {"documents": np.array(ids, dtype=np.str_), "nodes": np.arange(shares.shape[1])}
        write_sparse(staging / SHARES, shares.astype(np.float32, copy=False), **named, texts=frames)


def load_documents(folder: str | Path) -> DocumentsFolder:
    """Return what a documents folder holds; tables and texts are read when they are asked for."""
    folder = Path(folder)
    if not is_documents_folder(folder):
        raise InputError(f"{folder}: expected a folder with {SHARES}, but there is none. {_AGAIN}")
    path = folder / SHARES
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in (*CSR_NAMES, "documents", "texts")}
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: cannot be read ({error}). {_AGAIN}") from error
    shares: Any = checked_csr(path, arrays, ("float32",))
    ids = arrays["documents"].tolist()
    if len(ids) != shares.shape[0]:
        raise InputError(f"{path}: {len(ids)} ids and shares of {shares.shape[0]} documents do not agree. {_AGAIN}")
    return DocumentsFolder(folder, ids, shares, read_json(folder / "config.json"), arrays["texts"])


def is_documents_folder(path: Path) -> bool:
    """Return whether a folder holds shares of documents."""
    settle(path)
    return (path / SHARES).is_file()


def read_texts(folder: str | Path) -> Iterator[dict[str, Any]]:
    """Yield all documents of a documents folder, one by one: ``id``, ``text`` and other fields."""
    path = Path(folder) / TEXTS
    if not path.is_file():
        raise InputError(f"{path}: no such file, so the folder holds no texts. Name the documents themselves.")
    with opened(str(path)) as lines:
        yield from map(json.loads, lines)


def _write_texts(path: Path, texts: Iterable[Mapping[str, Any] | bytes], n: int) -> NDArray[np.int64]:
    """Write documents in frames and return where these begin, (frames + 1, 2)."""
    frames = [(0, 0)]
    with path.open("wb") as file:
        for packed, row in Threads().map(_packed, _frames(texts)):
            file.write(packed)
            frames.append((file.tell(), row))
    if frames[-1][1] != n:
        raise InputError(f"{frames[-1][1]} texts came for {n} documents. Give one for each.")
    return np.array(frames, dtype=np.int64)


def _frames(texts: Iterable[Mapping[str, Any] | bytes]) -> Iterator[tuple[list[bytes], int]]:
    """Yield lines that are packed together, and how many documents there are up to their end."""
    frame, size, row = list[bytes](), 0, 0
    for row, record in enumerate(texts, start=1):
        frame.append(record if isinstance(record, bytes) else as_line(record))
        size += len(frame[-1])
        if size >= _FRAME:
            yield frame, row
            frame, size = [], 0
    if frame:
        yield frame, row


def _packed(frame: tuple[list[bytes], int]) -> tuple[bytes, int]:
    lines, row = frame
    return zstd_library().compress(b"".join(lines)), row


_encoded = json.JSONEncoder(ensure_ascii=False, default=str).encode


def as_line(record: Mapping[str, Any]) -> bytes:
    """Return a document as a line of JSON."""
    # json reads a half of a surrogate pair again if it is written so
    return (_encoded({**record}) + "\n").encode("utf-8", "surrogatepass")


def write_table(path: str | Path, table: Table) -> None:
    """Write columns as the suffix says, .csv or .parquet, whole or not at all."""
    path = Path(path)
    if path.suffix not in (".csv", ".parquet"):
        raise InputError(f"{path}: expected a name in .csv or .parquet. Choose one of them.")
    with replace_file(path) as temporary:
        (_write_csv if path.suffix == ".csv" else _write_parquet)(temporary, table)


def _write_csv(path: Path, table: Table) -> None:
    with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(zip(*map(_cells, table.values()), strict=True))


def _cells(column: Sequence[Any]) -> Iterable[Any]:
    return column if {*map(type, column)} <= {int, str} else map(_cell, column)


def _cell(value: Any) -> Any:
    """Return what a CSV file shows of a value: six digits of a number, nothing for none, a list as JSON."""
    if value is None or value != value:  # NaN
        return ""
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    return json.dumps([*value], ensure_ascii=False) if isinstance(value, list | tuple) else value


def _read_csv(path: Path, start: str) -> dict[str, list[Any]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.reader(file)
            places = {name: i for i, name in enumerate(next(rows)) if name.startswith(start)}
            columns: dict[str, list[Any]] = {name: [] for name in places}
            filled = [(columns[name].append, _reader(name), i) for name, i in places.items()]
            for row in rows:
                for fill, read, i in filled:
                    fill(read(row[i]))
        return columns
    except (OSError, ValueError, LookupError, StopIteration, csv.Error) as error:
        raise InputError(f"{path}: not a usable table ({error}). {_AGAIN}") from error


def _reader(name: str) -> Any:
    kind = name.rstrip("0123456789")
    if kind in _WHOLE or kind in _DECIMAL:
        number = int if kind in _WHOLE else float
        return lambda cell: number(cell) if cell else None
    return json.loads if name == "typical" else str


def _write_parquet(path: Path, table: Mapping[str, Any]) -> None:
    pa, pq = pyarrow_library()  # from_pandas: NaN is null, as it is an empty cell of CSV
    lists = {name: column if isinstance(column, np.ndarray) else [*column] for name, column in table.items()}
    pq.write_table(pa.table({name: pa.array(column, from_pandas=True) for name, column in lists.items()}), str(path))


def _read_parquet(path: Path, start: str) -> dict[str, list[Any]]:
    pa, pq = pyarrow_library()
    try:
        file = pq.ParquetFile(str(path))
        names = [name for name in file.schema_arrow.names if name.startswith(start)]
        columns: dict[str, list[Any]] = file.read(columns=names).to_pydict()
    except (OSError, ValueError, pa.ArrowException) as error:
        raise InputError(f"{path}: not a usable Parquet file ({error}). {_AGAIN}") from error
    named = ("group", "time", "document")
    return {name: [*map(str, column)] if name in named else column for name, column in columns.items()}
