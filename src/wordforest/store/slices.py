"""Texts in slices, inside RUN or COUNTS: words of all documents in their order, and the slice of each document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.store.files import SLICES
from wordforest.store.tensors import read_tensors, write_tensors

_ARRAYS = ("ids", "borders", "code")
_LISTS = ("names", "documents")


def save_slices(folder: Path, arrays: dict[str, NDArray[Any]], lists: dict[str, Any]) -> None:
    """Write ``ids``, ``borders`` and ``code``, and ``names``, ``documents`` and ``is_time`` as JSON."""
    text = json.dumps(lists, ensure_ascii=False).encode()
    write_tensors(folder / SLICES, {**arrays, "json": np.frombuffer(text, dtype=np.uint8)})


def load_slices(folder: Path) -> dict[str, Any]:
    """Return what ``save_slices`` wrote."""
    path = folder / SLICES
    if not path.is_file():
        raise InputError(
            f"{folder} has no slices. Train with --slices COLUMN or --slice NAME=PATH, or name documents and the "
            "column of their slices: wordforest compare RUN DOCS --slices COLUMN --out FOLDER"
        )
    arrays = read_tensors(path, [*_ARRAYS, "json"])
    try:
        lists = json.loads(arrays.pop("json").tobytes())
        found = {**arrays, **{name: tuple(lists[name]) for name in _LISTS}, "is_time": bool(lists["is_time"])}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: names of slices cannot be read ({error}). Train again.") from error
    if [str(arrays[name].dtype) for name in _ARRAYS] != ["int32", "int64", "int32"]:
        raise InputError(f"{path}: expected whole numbers of 32, 64 and 32 bits. Train again.")
    return found


def has_slices(folder: Path) -> bool:
    """Return whether a folder has texts in slices."""
    return (folder / SLICES).is_file()
