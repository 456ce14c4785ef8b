"""Vectors as a Parquet table: ``word`` (string) and ``vector`` (M float32 values), the forest in its metadata."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from wordforest.errors import InputError, MissingExtraError
from wordforest.store.files import replace_file
from wordforest.store.folders import parse_forest
from wordforest.store.formats.common import AGAIN, VectorFile, assembled, check_words
from wordforest.vectors import Dense, Vectors

_PARENT = b"wordforest.parent"


def write_parquet(target: Path, vectors: Vectors) -> None:
    """Write a table with a row for every word."""
    pa, pq = _pyarrow()
    check_words(target, vectors, None)
    values = pa.FixedSizeListArray.from_arrays(pa.array(vectors.dense.ravel()), vectors.n_dimensions)
    table = pa.table({"word": pa.array(vectors.words, pa.string()), "vector": values})
    if vectors.forest is not None:
        table = table.replace_schema_metadata({_PARENT: json.dumps(vectors.forest.parent.tolist())})
    with replace_file(target) as temporary:
        pq.write_table(table, str(temporary))


def read_parquet(source: VectorFile) -> Vectors:
    """Return the vectors of a table with the columns ``word`` and ``vector``."""
    pa, pq = _pyarrow()
    try:
        table = pq.ParquetFile(source.name).read().combine_chunks()
        table.validate(full=True)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{source.name}: not a usable Parquet file ({error}). {AGAIN}") from error
    _check_columns(source.name, pa, table)
    metadata = table.schema.metadata or {}
    table = table.slice(0, source.limit)
    words = table.column("word").to_pylist()
    matrix = _matrix(source.name, table.column("vector"))
    forest = None
    if _PARENT in metadata:
        parent = None
        with suppress(ValueError, RecursionError):
            parent = json.loads(metadata[_PARENT])
        forest = parse_forest(source.name, parent)
    return assembled(source, words, matrix, lambda row: f"row {row}", forest)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("Parquet", "parquet") from error
    return pyarrow, pyarrow.parquet


def _check_columns(name: str, pa: Any, table: Any) -> None:
    kinds = {field.name: field.type for field in table.schema}
    word, vector = kinds.get("word", pa.null()), kinds.get("vector", pa.null())
    is_text = pa.types.is_string(word) or pa.types.is_large_string(word)
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not (is_text and any(test(vector) for test in lists) and pa.types.is_floating(vector.value_type)):
        raise InputError(
            f"{name}: expected the columns word (string) and vector (list of floats), but there is "
            f"{', '.join(f'{key} ({kind})' for key, kind in kinds.items()) or 'nothing'}. Rename or convert them."
        )
    nulls = table.column("word").null_count + table.column("vector").null_count
    if nulls or not table.num_rows:
        raise InputError(f"{name}: {table.num_rows} rows with {nulls} empty cells. Fill or remove them.")


def _matrix(name: str, column: Any) -> Dense:
    """Return lists of equal length as a matrix (V, M)."""
    lists = column.combine_chunks()
    sizes = np.asarray(lists.value_lengths())
    other = np.flatnonzero(sizes != sizes[0])
    if len(other) or sizes[0] < 1:
        row = int(other[0]) if len(other) else 0
        raise InputError(f"{name}, row {row}: expected {max(int(sizes[0]), 1)} numbers, but {sizes[row]} came. {AGAIN}")
    values = lists.flatten().to_numpy(zero_copy_only=False)  # an empty cell becomes NaN, which is reported
    with np.errstate(over="ignore"):
        return np.asarray(values, np.float32).reshape(len(sizes), int(sizes[0]))
