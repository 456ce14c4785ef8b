"""Vectors as named arrays, in .npz or .safetensors.

``matrix`` (V, M), or ``data``, ``indices``, ``indptr`` and ``shape`` of a CSR matrix; ``parent`` (M,) where there is a
forest; ``words`` (V,) as Unicode strings in .npz, as the bytes of a JSON list in .safetensors, which knows no strings.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from wordforest.errors import InputError
from wordforest.runtime.machine import check_room
from wordforest.store.files import replace_file
from wordforest.store.folders import parse_forest
from wordforest.store.formats.common import AGAIN, VectorFile, assembled, check_words
from wordforest.store.tensors import CSR_NAMES, Tensors, checked_csr, csr_tensors, read_tensors, write_tensors
from wordforest.vectors import Vectors

_FLOATS = ("float16", "float32", "float64")


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
    if words.ndim != 1 or words.dtype.kind not in "US":
        raise InputError(f"{source.name}: expected an array words of strings, but there is {_listed(arrays)}. {AGAIN}")
    try:
        words = np.char.decode(words, "utf-8") if words.dtype.kind == "S" else words
    except UnicodeDecodeError as error:
        raise InputError(f"{source.name}: {error.object[:60]!r} among the words is not UTF-8. {AGAIN}") from error
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


def _arrays(vectors: Vectors) -> Tensors:
    matrix = vectors.matrix
    arrays = {"matrix": matrix} if isinstance(matrix, np.ndarray) else csr_tensors(matrix)
    return arrays if vectors.forest is None else {**arrays, "parent": vectors.forest.parent}


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
    return assembled(source, words[: source.limit], matrix[: source.limit], lambda row: f"row {row}", forest)


def _listed(arrays: Tensors) -> str:
    return ", ".join(f"{name} ({array.dtype}, {array.shape})" for name, array in sorted(arrays.items())) or "nothing"
