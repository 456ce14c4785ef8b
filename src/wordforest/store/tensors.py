"""Matrices in safetensors files: dense ones, and CSR as ``data``, ``indices``, ``indptr``, ``shape``."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.errors import InputError
from wordforest.runtime.disk import let_go
from wordforest.store.files import replace_file

Tensors: TypeAlias = dict[str, NDArray[Any]]
AnyCSR: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"

Parts: TypeAlias = Iterator[tuple[NDArray[np.int32], NDArray[Any]]]  # columns and values, rows in order

CSR_NAMES = ("data", "indices", "indptr", "shape")
_SLICE = 1 << 20
_DTYPES = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8"}  # that are mapped


def write_tensors(path: Path, tensors: Tensors, metadata: dict[str, str] | None = None) -> None:
    """Write named arrays, and strings beside them."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    with replace_file(path) as temporary:
        try:
            save_file({name: np.ascontiguousarray(array) for name, array in tensors.items()}, temporary, metadata)
        except SafetensorError as error:
            if not (found := re.search(r"\(os error (\d+)\)", str(error))):
                raise
            raise OSError(int(found[1]), os.strerror(int(found[1])), str(path)) from error


def read_metadata(path: Path) -> dict[str, str]:
    """Return the strings beside the arrays of a file."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy", backend="pread") as file:
        return dict(file.metadata() or {})


def read_tensors(path: Path, names: Sequence[str] | None = None) -> Tensors:
    """Return the named arrays of a file, or all."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise InputError(f"{path}: the file is missing. Choose a complete folder, or make this one again.")
    try:
        with safe_open(path, framework="numpy", backend="pread") as file:  # a mapped file that shrinks is a crash
            found = list(file.keys())
            _check_named(path, names or (), found)
            return {name: file.get_tensor(name) for name in (found if names is None else names)}
    except (SafetensorError, OSError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not a usable safetensors file ({error}). Make it again.") from error


def map_tensors(path: Path, names: Sequence[str]) -> Tensors:
    """Return the named arrays of a file as read-only windows into it, so that they may be larger than memory."""
    read_tensors(path, [])  # checks the header against the file
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    _check_named(path, names, header)
    arrays = {}
    for name in names:
        dtype, (begin, end) = header[name]["dtype"], header[name]["data_offsets"]
        if dtype not in _DTYPES:
            raise InputError(f"{path}: {name} is of type {dtype}, but only {', '.join(_DTYPES)} can be mapped.")
        flat: NDArray[Any] = np.empty(0, _DTYPES[dtype])
        if end > begin:
            flat = np.asarray(np.memmap(path, _DTYPES[dtype], "r", 8 + length + begin, (end - begin) // flat.itemsize))
        arrays[name] = flat.reshape(header[name]["shape"])
    return arrays


def _check_named(path: Path, names: Sequence[str], found: Iterable[str]) -> None:
    missing = sorted({*names} - {*found}, key=names.index)
    if missing:
        raise InputError(
            f"{path}: expected the tensors {', '.join(names)}, but {', '.join(missing)} is missing. "
            "Make the folder again."
        )


def write_sparse(path: Path, matrix: AnyCSR, **beside: Any) -> None:
    """Write a matrix as SciPy's load_npz reads it, and arrays beside it, such as the names of its rows."""
    arrays: dict[str, Any] = {**csr_tensors(matrix), **beside, "format": b"csr", "_is_array": True}
    with replace_file(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)


def write_csr(path: Path, matrix: AnyCSR) -> None:
    """Write a CSR matrix with sorted indices; equal positions are added up."""
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    write_tensors(path, csr_tensors(matrix))


def csr_tensors(matrix: AnyCSR) -> Tensors:
    """Return the arrays by which a CSR matrix is stored."""
    return {
        "data": matrix.data,
        "indices": matrix.indices.astype(np.int32, copy=False),
        "indptr": matrix.indptr.astype(np.int64, copy=False),
        "shape": np.array(matrix.shape, dtype=np.int64),
    }


def write_csr_parts(
    path: Path, shape: tuple[int, int], indptr: NDArray[np.int64], dtype: np.dtype[Any], parts: Parts
) -> None:
    """Write the file that ``write_csr`` would, of a matrix whose columns and values come part by part."""
    small = {"indptr": indptr.astype(np.int64, copy=False), "shape": np.array(shape, dtype=np.int64)}
    nnz = int(indptr[-1])
    sizes = {"data": (nnz, dtype), "indices": (nnz, np.dtype(np.int32))}
    sizes |= {name: (len(array), array.dtype) for name, array in small.items()}
    names = sorted(sizes, key=lambda name: (-sizes[name][1].itemsize, name))  # as safetensors has them
    header, place, end = {}, {}, 0  # place: where the next of each goes
    for name in names:
        length, kind = sizes[name]
        place[name] = begin = end
        end += length * kind.itemsize
        letter = "F" if kind.kind == "f" else "I"
        header[name] = {"dtype": f"{letter}{8 * kind.itemsize}", "shape": [length], "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with replace_file(path) as temporary, temporary.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        start = file.tell()
        file.truncate(start + end)
        named = ({"indices": columns, "data": values.astype(dtype, copy=False)} for columns, values in parts)
        for name, array in chain.from_iterable(arrays.items() for arrays in chain([small], named)):
            file.seek(start + place[name])
            place[name] += file.write(np.ascontiguousarray(array).data)


def map_csr(path: Path) -> AnyCSR:
    """Return the CSR matrix of a file that was just written, left in the file and not looked at."""
    return _csr(map_tensors(path, CSR_NAMES))


def read_csr(path: Path, dtypes: Sequence[str], *, mapped: bool = False, checked: bool = True) -> AnyCSR:
    """Return the CSR matrix of a file, its values of one of ``dtypes``, after checking that it is one, if ``checked``.

    ``mapped`` leaves values and indices in the file, read-only: they take no memory that the system cannot take back.
    """
    tensors = (map_tensors if mapped else read_tensors)(path, CSR_NAMES)
    matrix = checked_csr(path, tensors, dtypes) if checked else _csr(tensors)
    return matrix if mapped else sparse.csr_array(matrix)  # which gives indices and indptr one type


def checked_csr(where: Path | str, tensors: Tensors, dtypes: Sequence[str]) -> AnyCSR:
    """Return the CSR matrix that some arrays make up; an error says ``where`` they come from."""
    tensors = {name: tensors[name] for name in CSR_NAMES}
    for name, array in tensors.items():
        allowed = dtypes if name == "data" else ("int32", "int64")
        if array.ndim != 1 or array.dtype.name not in allowed:
            raise InputError(
                f"{where}: {name} must be a list of {' or '.join(allowed)}, "
                f"but {array.dtype} of shape {array.shape} came. Make it again."
            )
    problem = _csr_problem(**tensors)
    if problem:
        raise InputError(f"{where}: {problem}. Make it again.")
    return _csr(tensors)


def _csr(tensors: Tensors) -> AnyCSR:
    rows, columns = map(int, tensors["shape"])
    matrix: AnyCSR = sparse.csr_array((rows, columns), dtype=tensors["data"].dtype)
    matrix.data, matrix.indices, matrix.indptr = tensors["data"], tensors["indices"], _narrow(tensors["indptr"])
    matrix.has_canonical_format = True
    return matrix


def _csr_problem(data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: NDArray[Any]) -> str | None:
    if len(shape) != 2 or shape.min() < 0:
        return f"shape must be two sizes, but it is {shape.tolist()}"
    if len(indptr) != int(shape[0]) + 1:
        return f"indptr must have {shape[0] + 1} entries for {shape[0]} rows, but it has {len(indptr)}"
    if indptr[0] != 0 or np.any(indptr[1:] < indptr[:-1]):
        return "indptr must start at 0 and never fall"
    if not indptr[-1] == len(data) == len(indices):
        return f"indptr ends at {indptr[-1]}, but there are {len(data)} values and {len(indices)} indices"
    low = min((int(part.min()) for part in slices(indices)), default=0)
    high = max((int(part.max()) for part in slices(indices)), default=0)
    if len(indices) and not 0 <= low <= high < shape[1]:
        return f"indices run from {low} to {high}, but must lie in 0 to {shape[1] - 1}"
    return None if _ascending(indices, indptr) else "the indices of a row must ascend without repeats"


def slices(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield an array piece by piece; one that is mapped from a file stays out of memory."""
    for start in range(0, len(array), _SLICE):
        yield array[start : start + _SLICE]
        let_go(array)


def _ascending(indices: NDArray[np.int32], indptr: NDArray[np.int64]) -> bool:
    """Return whether indices fall, or stay, at the starts of rows alone; looks at a slice at a time."""
    for start in range(0, len(indices), _SLICE):
        part = indices[start : start + _SLICE + 1]
        falls = np.flatnonzero(part[1:] <= part[:-1]) + (start + 1)
        if not np.array_equal(indptr[np.searchsorted(indptr, falls)], falls):
            return False
        let_go(indices)
    return True


def _narrow(indptr: NDArray[np.int64]) -> NDArray[Any]:
    """Return int32 where it suffices: SciPy keeps indices and indptr in one type and would widen both."""
    return indptr.astype(np.int32) if indptr[-1] <= np.iinfo(np.int32).max else indptr
