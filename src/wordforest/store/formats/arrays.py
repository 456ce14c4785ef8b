"""Vectors as named arrays, in .npz or .safetensors.

``matrix`` (V, M), or ``data``, ``indices``, ``indptr`` and ``shape`` of a CSR matrix; ``parent`` (M,) where there is a
forest; ``words`` (V,) as Unicode strings in .npz, as the bytes of a JSON list in .safetensors, which knows no strings.
"""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.runtime.memory import check_room
from wordforest.store.files import replace_file
from wordforest.store.formats.source import AGAIN, Source, assembled, check_words
from wordforest.store.tensors import Tensors, write_tensors
from wordforest.vectors import CSR, Vectors

_CSR_NAMES = ("data", "indices", "indptr", "shape")


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


def read_npz(source: Source) -> Vectors:
    """Return the vectors of an .npz file; nothing in it is unpickled, and no size is believed unseen."""
    try:
        with zipfile.ZipFile(source.name) as archive:
            check_room(f"{source.name}: unpacking it", sum(entry.file_size for entry in archive.infolist()))
            for entry in archive.infolist():
                _check_size(source.name, archive, entry)
        with np.load(source.name, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except InputError:
        raise
    except Exception as error:  # of zipfile, zlib, NumPy, and the tokenizer of Python that reads NumPy's headers
        raise InputError(f"{source.name}: not a usable .npz file ({error}). {AGAIN}") from error
    return _vectors(source, arrays, _strings(source.name, arrays.get("words")))


def read_safetensors(source: Source) -> Vectors:
    """Return the vectors of a .safetensors file; words are the bytes of a JSON list, as a tensor or as metadata."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(source.name, framework="numpy", backend="pread") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 not a dict
            text = (file.metadata() or {}).get("words")
    except (SafetensorError, OSError, TypeError, AttributeError) as error:
        raise InputError(f"{source.name}: not a usable safetensors file ({error}). {AGAIN}") from error
    return _vectors(source, arrays, _json_words(source.name, arrays.get("words"), text))


def _arrays(vectors: Vectors) -> Tensors:
    if isinstance(vectors.matrix, np.ndarray):
        arrays: Tensors = {"matrix": vectors.matrix}
    else:
        A = vectors.matrix
        arrays = {"data": A.data, "indices": A.indices, "indptr": A.indptr, "shape": np.array(A.shape, np.int64)}
    if vectors.forest is not None:
        arrays["parent"] = vectors.forest.parent
    return arrays


def _vectors(source: Source, arrays: Tensors, words: list[str]) -> Vectors:
    matrix = _csr(source.name, arrays) if "matrix" not in arrays else arrays["matrix"]
    if matrix.ndim != 2 or not np.issubdtype(matrix.dtype, np.floating):
        raise InputError(
            f"{source.name}: the matrix must hold floats, a row a word, but {matrix.dtype} of shape {matrix.shape} "
            f"came. {AGAIN}"
        )
    if len(words) != matrix.shape[0]:
        raise InputError(f"{source.name}: {len(words)} words and {matrix.shape[0]} rows do not agree. {AGAIN}")
    with np.errstate(over="ignore"):  # too large for float32: reported with its word
        matrix = matrix.astype(np.float32, copy=False)
    forest = _forest(source.name, arrays["parent"], matrix.shape[1]) if "parent" in arrays else None
    return assembled(source, words[: source.limit], matrix[: source.limit], lambda row: f"row {row}", forest)


def _csr(name: str, arrays: Tensors) -> CSR:
    missing = [key for key in _CSR_NAMES if key not in arrays]
    if missing:
        raise InputError(
            f"{name}: expected words and matrix, or words and {', '.join(_CSR_NAMES)}, but there is "
            f"{', '.join(sorted(arrays)) or 'nothing'}. Give a file that wordforest convert wrote."
        )
    data, indices, indptr, shape = (arrays[key] for key in _CSR_NAMES)
    if any(part.ndim != 1 or not np.issubdtype(part.dtype, np.integer) for part in (indices, indptr, shape)):
        raise InputError(f"{name}: indices, indptr and shape must be lists of whole numbers. {AGAIN}")
    if len(indptr) and (indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any()):  # SciPy looks only where nnz > 0
        raise InputError(f"{name}: not a CSR matrix: indptr must start at 0 and never fall. {AGAIN}")
    try:
        rows, columns = shape.tolist()
        matrix: CSR = sparse.csr_array((data, indices, indptr), shape=(rows, columns))
        matrix.check_format(full_check=True)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{name}: not a CSR matrix ({error}). {AGAIN}") from error
    return matrix


def _forest(name: str, parent: NDArray[Any], n_dimensions: int) -> Forest:
    if parent.shape != (n_dimensions,) or not np.issubdtype(parent.dtype, np.integer):
        raise InputError(
            f"{name}: parent must hold a whole number for each of {n_dimensions} dimensions, "
            f"but {parent.dtype} of shape {parent.shape} came. {AGAIN}"
        )
    try:
        return Forest(parent.tolist())
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def _strings(name: str, words: NDArray[Any] | None) -> list[str]:
    """Return the words of an array of strings, or of bytes in UTF-8."""
    if words is None or words.ndim != 1 or words.dtype.kind not in "US":
        raise InputError(f"{name}: expected an array words of strings, but {_described(words)} came. {AGAIN}")
    try:
        return [word if isinstance(word, str) else word.decode("utf-8") for word in words.tolist()]
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: {error.object[:60]!r} among the words is not UTF-8. {AGAIN}") from error


def _json_words(name: str, tensor: NDArray[Any] | None, text: str | None) -> list[str]:
    if tensor is None and text is None:
        raise InputError(
            f"{name}: expected a tensor words, but there is none. Give a file that wordforest convert wrote; "
            "for a file of a run folder give the folder."
        )
    try:
        words = json.loads(text or "" if tensor is None else tensor.tobytes().decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: words must be a JSON list ({error}). {AGAIN}") from error
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InputError(f"{name}: words must be a JSON list of strings. {AGAIN}")
    return words


def _check_size(name: str, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    """Refuse an array that promises more than its entry holds, before memory is asked for."""
    if not entry.filename.endswith(".npy"):
        raise InputError(f"{name}: {entry.filename!r} inside is no array. Give a file that wordforest convert wrote.")
    with archive.open(entry) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)
    if math.prod(shape) * dtype.itemsize > entry.file_size:
        raise InputError(f"{name}: {entry.filename} promises shape {shape}, but holds {entry.file_size} bytes. {AGAIN}")


def _described(array: NDArray[Any] | None) -> str:
    return "none" if array is None else f"{array.dtype} of shape {array.shape}"
