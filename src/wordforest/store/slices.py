"""Texts in slices, inside RUN or COUNTS: words of all documents in their order, and the slice of each document.

And what `wordforest compare` found in them: ``compare.json`` of its folder.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.store.files import SLICES, read_json
from wordforest.store.tensors import read_tensors, write_tensors

_ARRAYS = ("ids", "borders", "code")
_LISTS = ("names", "documents")
COMPARISON = "compare.json"
_TABLES = {
    "nodes": "node label parent slice share low high",
    "words": "word effect p before after moved frequency gained lost count_before count_after node_before node_after "
    "contexts_before contexts_after example_before example_after",
    "vocabulary": "word slice kind before after",
    "changes": "node slice before after",
}  # the columns that are read
_AGAIN = "Make it with: wordforest compare RUN --out FOLDER"


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


def load_comparison(folder: str | Path) -> dict[str, Any]:
    """Return what `wordforest compare` wrote to a folder: slices, and tables as columns of one length."""
    path = Path(folder) / COMPARISON
    if not path.is_file():
        raise InputError(f"{folder}: expected a folder with {COMPARISON}, but there is none. {_AGAIN}")
    found = read_json(path)
    if not isinstance(found.get("slices"), list) or not isinstance(found.get("is_time"), bool):
        raise InputError(f"{path}: expected slices and is_time, but they are not there. {_AGAIN}")
    names = {*map(str, found["slices"])}
    for name, columns in _TABLES.items():
        table = found.get(name)
        if not isinstance(table, dict) or not {*columns.split()} <= {*table}:
            raise InputError(f"{path}: expected a table {name} with {', '.join(columns.split())}. {_AGAIN}")
        if len({*map(len, table.values())}) != 1 or not {*map(str, table.get("slice", ()))} <= names:
            raise InputError(f"{path}: columns of {name} differ in length, or name other slices. {_AGAIN}")
    return found
