"""Matrices in safetensors files: dense ones, and CSR as ``data``, ``indices``, ``indptr``, ``shape``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.errors import InputError
from wordforest.store.files import replace_file

Tensors: TypeAlias = dict[str, NDArray[Any]]
AnyCSR: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"

_CSR_NAMES = ("data", "indices", "indptr", "shape")


def write_tensors(path: Path, tensors: Tensors, metadata: dict[str, str] | None = None) -> None:
    """Write named arrays, and strings beside them."""
    from safetensors.numpy import save_file

    with replace_file(path) as temporary:
        save_file({name: np.ascontiguousarray(array) for name, array in tensors.items()}, temporary, metadata)


def read_metadata(path: Path) -> dict[str, str]:
    """Return the strings beside the arrays of a file."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        return dict(file.metadata() or {})


def read_tensors(path: Path, names: Sequence[str]) -> Tensors:
    """Return the named arrays of a file."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise InputError(f"{path}: the file is missing. Choose a complete folder, or make this one again.")
    try:
        with safe_open(path, framework="numpy") as file:
            found = set(file.keys())
            missing = [name for name in names if name not in found]
            if missing:
                raise InputError(
                    f"{path}: expected the tensors {', '.join(names)}, but {', '.join(missing)} is missing. "
                    "Make the folder again."
                )
            return {name: file.get_tensor(name) for name in names}
    except (SafetensorError, OSError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: not a usable safetensors file ({error}). Make the folder again.") from error


def write_csr(path: Path, matrix: AnyCSR) -> None:
    """Write a CSR matrix with sorted indices; equal positions are added up."""
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    tensors = {
        "data": matrix.data,
        "indices": matrix.indices.astype(np.int32, copy=False),
        "indptr": matrix.indptr.astype(np.int64, copy=False),
        "shape": np.array(matrix.shape, dtype=np.int64),
    }
    write_tensors(path, tensors)


def read_csr(path: Path, dtypes: Sequence[str]) -> AnyCSR:
    """Return the CSR matrix of a file, its values of one of ``dtypes``, after checking that it is one."""
    tensors = read_tensors(path, _CSR_NAMES)
    allowed = {"data": dtypes, "indices": ("int32",), "indptr": ("int64",), "shape": ("int64",)}
    for name, array in tensors.items():
        if array.ndim != 1 or array.dtype.name not in allowed[name]:
            raise InputError(
                f"{path}: {name} must be a list of {' or '.join(allowed[name])}, "
                f"but {array.dtype} of shape {array.shape} came. Make the folder again."
            )
    problem = _csr_problem(**tensors)
    if problem:
        raise InputError(f"{path}: {problem}. Make the folder again.")
    rows, columns = map(int, tensors["shape"])
    parts = (tensors["data"], tensors["indices"], _narrow(tensors["indptr"]))
    matrix: AnyCSR = sparse.csr_array(parts, shape=(rows, columns))
    if not matrix.has_canonical_format:
        raise InputError(f"{path}: the indices of a row must ascend without repeats. Make the folder again.")
    return matrix


def _csr_problem(
    data: NDArray[Any], indices: NDArray[np.int32], indptr: NDArray[np.int64], shape: NDArray[np.int64]
) -> str | None:
    if len(shape) != 2 or shape.min() < 0:
        return f"shape must be two sizes, but it is {shape.tolist()}"
    if len(indptr) != shape[0] + 1:
        return f"indptr must have {shape[0] + 1} entries for {shape[0]} rows, but it has {len(indptr)}"
    if indptr[0] != 0 or np.any(indptr[1:] < indptr[:-1]):
        return "indptr must start at 0 and never fall"
    if not indptr[-1] == len(data) == len(indices):
        return f"indptr ends at {indptr[-1]}, but there are {len(data)} values and {len(indices)} indices"
    if len(indices) and not 0 <= indices.min() <= indices.max() < shape[1]:
        return f"indices run from {indices.min()} to {indices.max()}, but must lie in 0 to {shape[1] - 1}"
    return None


def _narrow(indptr: NDArray[np.int64]) -> NDArray[Any]:
    """Return int32 where it suffices: SciPy keeps indices and indptr in one type and would widen both."""
    return indptr.astype(np.int32) if indptr[-1] <= np.iinfo(np.int32).max else indptr
