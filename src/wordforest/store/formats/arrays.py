"""Vectors as named arrays, in .npz or .safetensors, or as a Parquet table.

``matrix`` (V, M), or ``data``, ``indices``, ``indptr`` and ``shape`` of a CSR matrix; ``parent`` (M,) where there is a
forest; ``nodes.use`` and the like (M,), what is known of nodes; ``labels``, the bytes of a labels.tsv, where they have
names; ``words`` (V,) as Unicode strings in .npz, as the bytes of a JSON list in .safetensors, which knows no strings. A
table has columns ``word`` (string) and ``vector`` (M float32 values), and the rest in its metadata.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError, MissingExtraError
from wordforest.runtime.machine import check_room
from wordforest.store.files import replace_file
from wordforest.store.folders import labels_as_text, parse_forest, parse_labels
from wordforest.store.formats.common import AGAIN, Place, VectorFile, assembled, check_words
from wordforest.store.tensors import CSR_NAMES, Tensors, checked_csr, csr_tensors, read_tensors, write_tensors
from wordforest.vectors import Vectors

_FLOATS = ("float16", "float32", "float64")
_PARENT, _LABELS, _NODES = b"wordforest.parent", b"wordforest.labels", b"wordforest.nodes"


def write_npz(target: Path, vectors: Vectors) -> None:
    """Write an .npz file of NumPy, without pickle."""
    check_words(target, vectors, None)
    for row, word in enumerate(vectors.words):
        if word.endswith("\0"):  # arrays of strings are padded with it
            raise InputError(f"{target}: word {row}, {word!r}, ends with NUL, which .npz drops. Rename the word.")
    arrays: dict[str, Any] = {"words": np.array(vectors.words, dtype=np.str_), **_arrays(vectors)}
    with replace_file(target) as temporary, temporary.open("wb") as handle:
        np.savez(handle, **arrays)


def write_safetensors(target: Path, vectors: Vectors) -> None:
    """Write a .safetensors file."""
    check_words(target, vectors, None)
    words = json.dumps(vectors.words, ensure_ascii=False).encode("utf-8")
    write_tensors(target, {"words": np.frombuffer(words, np.uint8), **_arrays(vectors)})


def read_npz(source: VectorFile) -> Vectors:
    """Return the vectors of an .npz file; nothing in it is unpickled, and no size is believed unseen."""
    try:
        with zipfile.ZipFile(source.name) as archive:
            check_room(f"{source.name}: unpacking it", sum(entry.file_size for entry in archive.infolist()))
        with np.load(source.name, allow_pickle=False) as archive:
            arrays = {name: np.asarray(archive[name]) for name in archive.files}
    except InputError:
        raise
    except Exception as error:  # of zipfile, zlib, NumPy, and the tokenizer of Python that reads NumPy's headers
        raise InputError(f"{source.name}: not a usable .npz file ({error}). {AGAIN}") from error
    words = arrays.get("words", np.empty(0))
    if words.ndim != 1 or words.dtype.kind != "U":
        raise InputError(f"{source.name}: expected an array words of strings, but there is {_listed(arrays)}. {AGAIN}")
    return _vectors(source, arrays, words.tolist())


def read_safetensors(source: VectorFile) -> Vectors:
    """Return the vectors of a .safetensors file; words are the bytes of a JSON list."""
    arrays = read_tensors(Path(source.name))
    if "words" not in arrays:
        raise InputError(
            f"{source.name}: expected a tensor words, but there is {_listed(arrays)}. Give a file that wordforest "
            "convert wrote; for a file of a run folder give the folder."
        )
    try:
        words = json.loads(arrays["words"].tobytes().decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source.name}: words must be a JSON list ({error}). {AGAIN}") from error
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InputError(f"{source.name}: words must be a JSON list of strings. {AGAIN}")
    return _vectors(source, arrays, words)


def write_parquet(target: Path, vectors: Vectors) -> None:
    """Write a table with a row for every word."""
    pa, pq = pyarrow_library()
    check_words(target, vectors, None)
    values = pa.FixedSizeListArray.from_arrays(pa.array(vectors.dense.ravel()), vectors.n_dimensions)
    table = pa.table({"word": pa.array(vectors.words, pa.string()), "vector": values})
    facts: dict[bytes, str] = {}
    if vectors.forest is not None:
        facts[_PARENT] = json.dumps(vectors.forest.parent.tolist())
    if vectors.nodes:
        facts[_NODES] = json.dumps({name: values.tolist() for name, values in vectors.nodes.items()})
    if vectors.notes:
        facts[_LABELS] = labels_as_text(vectors.notes)
    table = table.replace_schema_metadata(facts)
    with replace_file(target) as temporary:
        pq.write_table(table, str(temporary))


def read_parquet(source: VectorFile) -> Vectors:
    """Return the vectors of a table with the columns ``word`` and ``vector``."""
    pa, pq = pyarrow_library()
    try:
        table = pq.ParquetFile(source.name).read().combine_chunks()
        table.validate(full=True)
        facts = table.schema.metadata or {}
        parent = np.array(json.loads(facts[_PARENT])) if _PARENT in facts else None
        nodes = json.loads(facts.get(_NODES, b"{}"))
    except (OSError, ValueError, RecursionError, pa.ArrowException) as error:
        raise InputError(f"{source.name}: not a usable Parquet file ({error}). {AGAIN}") from error
    _check_columns(source.name, pa, table)
    arrays = {"matrix": _matrix(source.name, table.column("vector"))}
    arrays |= {f"nodes.{name}": np.array(values, dtype=np.float64) for name, values in nodes.items()}
    if parent is not None:
        arrays["parent"] = parent
    if _LABELS in facts:
        arrays["labels"] = np.frombuffer(facts[_LABELS], np.uint8)
    return _vectors(source, arrays, table.column("word").to_pylist())


def pyarrow_library() -> tuple[Any, Any]:
    """Return the two modules that know Parquet."""
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


def _matrix(name: str, column: Any) -> NDArray[Any]:
    """Return lists of equal length as a matrix (V, M)."""
    lists = column.combine_chunks()
    sizes = np.asarray(lists.value_lengths())
    other = np.flatnonzero(sizes != sizes[0])
    if len(other) or sizes[0] < 1:
        row = int(other[0]) if len(other) else 0
        raise InputError(f"{name}, row {row}: expected {max(int(sizes[0]), 1)} numbers, but {sizes[row]} came. {AGAIN}")
    values = lists.flatten().to_numpy(zero_copy_only=False)  # an empty cell becomes NaN, which is reported
    return np.asarray(values).reshape(len(sizes), int(sizes[0]))


def _arrays(vectors: Vectors) -> Tensors:
    matrix = vectors.matrix
    arrays: Tensors = {"matrix": matrix} if isinstance(matrix, np.ndarray) else csr_tensors(matrix)
    if vectors.forest is not None:
        arrays["parent"] = vectors.forest.parent
    arrays |= {f"nodes.{name}": values for name, values in vectors.nodes.items()}
    if vectors.notes:
        arrays["labels"] = np.frombuffer(labels_as_text(vectors.notes).encode("utf-8"), np.uint8)
    return arrays


def _vectors(source: VectorFile, arrays: Tensors, words: list[str]) -> Vectors:
    if "matrix" not in arrays and not {*CSR_NAMES} <= {*arrays}:
        raise InputError(
            f"{source.name}: expected words and matrix, or words and {', '.join(CSR_NAMES)}, but there is "
            f"{_listed(arrays)}. Give a file that wordforest convert wrote."
        )
    matrix = arrays["matrix"] if "matrix" in arrays else checked_csr(source.name, arrays, _FLOATS)
    if matrix.ndim != 2 or matrix.dtype.name not in _FLOATS:
        raise InputError(
            f"{source.name}: the matrix must hold floats, a row a word, but {matrix.dtype} of shape {matrix.shape} "
            f"came. {AGAIN}"
        )
    if len(words) != matrix.shape[0]:
        raise InputError(f"{source.name}: {len(words)} words and {matrix.shape[0]} rows do not agree. {AGAIN}")
    with np.errstate(over="ignore"):  # too large for float32: reported with its word
        matrix = matrix.astype(np.float32, copy=False)
    forest = parse_forest(source.name, arrays["parent"].tolist()) if "parent" in arrays else None
    labels = arrays["labels"].tobytes().decode("utf-8", "replace") if "labels" in arrays else ""
    named = parse_labels(f"{source.name}: labels", labels, matrix.shape[1])
    nodes = {name.removeprefix("nodes."): values for name, values in arrays.items() if name.startswith("nodes.")}
    return assembled(source, words[: source.limit], matrix[: source.limit], Place("row", 0), forest, named, nodes)


def _listed(arrays: Tensors) -> str:
    return ", ".join(f"{name} ({array.dtype}, {array.shape})" for name, array in sorted(arrays.items())) or "nothing"
