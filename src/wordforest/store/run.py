"""The RUN folder: everything a training run leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.store.counts import is_counts_folder
from wordforest.store.files import (
    parse_object,
    read_json,
    read_text,
    to_json,
    write_json,
    write_text,
)
from wordforest.store.layout import CHECKPOINT, COUNTS, RESULTS
from wordforest.store.tensors import read_csr, read_tensors, write_csr, write_tensors
from wordforest.store.transaction import replaced, settle
from wordforest.store.vocab import read_vocab, write_vocab
from wordforest.vectors import CSR, Vectors, first_non_finite_row

_LAST = "codes.safetensors"


@dataclass(frozen=True, eq=False)
class Run:
    """Words with their counts (V,), codes A (V, M), dictionary D (C, M) if any, forest, config, history."""

    words: tuple[str, ...]
    counts: NDArray[np.int64]
    codes: CSR
    dictionary: NDArray[np.float32] | None
    forest: Forest
    config: dict[str, Any] = field(default_factory=dict)
    history: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        rows, columns = self.codes.shape
        if not len(self.words) == len(self.counts) == rows:
            raise InputError(
                f"{len(self.words)} words, {len(self.counts)} counts and {rows} rows of codes do not agree. "
                "Use the parts of one run."
            )
        if len(self.forest) != columns:
            raise InputError(
                f"the forest has {len(self.forest)} nodes, but the codes have {columns} columns. "
                "Use the parts of one run."
            )
        if self.dictionary is not None and (self.dictionary.ndim != 2 or self.dictionary.shape[1] != columns):
            raise InputError(
                f"the dictionary has shape {self.dictionary.shape}, but (contexts, {columns}) is needed. "
                "Use the parts of one run."
            )
        if (row := first_non_finite_row(self.codes)) is not None:
            raise InputError(f"the code of {self.words[row]!r} holds NaN or infinity. Train again.")
        if self.dictionary is not None and first_non_finite_row(self.dictionary) is not None:
            raise InputError("the dictionary holds NaN or infinity. Train again.")

    @cached_property
    def vectors(self) -> Vectors:
        """The codes as word vectors."""
        return Vectors(self.words, self.codes, forest=self.forest)


def is_run_folder(path: Path) -> bool:
    """Return whether a folder holds codes."""
    settle(path)
    return (path / _LAST).is_file()


def save_run(folder: Path, run: Run, codes: Path | None = None) -> None:
    """Write a run in place of the results that a folder holds; codes come last: a folder that has them is complete.

    ``codes`` is a file that holds the codes already, on the same disk; it takes its place.
    """
    with replaced(folder, RESULTS, _LAST) as staging:
        write_json(staging / "config.json", run.config)
        write_vocab(staging / "vocab.tsv", run.words, run.counts)
        write_json(staging / "forest.json", {"parent": run.forest.parent.tolist()})
        write_history(staging / "history.jsonl", run.history)
        if run.dictionary is not None:
            write_tensors(staging / "dictionary.safetensors", {"D": run.dictionary.astype(np.float32, copy=False)})
        if codes is None:
            write_csr(staging / _LAST, run.codes.astype(np.float32, copy=False))
        else:
            codes.rename(staging / _LAST)


def load_run(folder: Path) -> Run:
    """Return the run that a folder holds, after checking that its files agree."""
    if not is_run_folder(folder):
        kind = "a counts folder" if is_counts_folder(folder) else "none"
        raise InputError(
            f"{folder}: expected a run folder with codes.safetensors, but this is {kind}. "
            "Make one with: wordforest train CORPUS --out RUN"
        )
    words, counts = read_vocab(folder / "vocab.tsv")
    parts: dict[str, Any] = {
        "codes": read_csr(folder / "codes.safetensors", ("float32",)),
        "dictionary": _read_dictionary(folder / "dictionary.safetensors"),
        "forest": parse_forest(folder / "forest.json", read_json(folder / "forest.json").get("parent")),
        "config": read_json(folder / "config.json"),
        "history": read_history(folder / "history.jsonl"),
    }
    try:
        return Run(words, counts, **parts)
    except InputError as error:
        raise InputError(f"{folder}: {error}") from error


def check_free(folder: Path, *, force: bool) -> None:
    """Refuse a folder for results that holds anything, unless ``force``."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: expected a folder, but this is a file. Choose another --out.")
    if not force and folder.exists() and any(folder.iterdir()):
        begun = any((folder / name).is_dir() for name in (CHECKPOINT, COUNTS)) and not is_run_folder(folder)
        hint = "add --resume to resume it, " if begun else ""
        raise InputError(f"{folder} already exists; {hint}add --force to replace it or choose another --out.")


def write_history(path: Path, history: list[dict[str, Any]]) -> None:
    """Write one JSON object a line."""
    write_text(path, "".join(to_json(step, path) + "\n" for step in history))


def read_history(path: Path) -> list[dict[str, Any]]:
    """Return the steps of a history, one JSON object a line."""
    lines = read_text(path).removesuffix("\n").split("\n")
    return [parse_object(text, path, line) for line, text in enumerate(lines, start=1) if text or len(lines) > 1]


def _read_dictionary(path: Path) -> NDArray[np.float32] | None:
    if not path.exists():
        return None
    D = read_tensors(path, ["D"])["D"]
    if D.dtype != np.float32 or D.ndim != 2:
        raise InputError(
            f"{path}: D must be a float32 matrix, but {D.dtype} of shape {D.shape} came. Make the folder again."
        )
    return D


def parse_forest(where: Path | str, parent: object) -> Forest:
    """Return the forest of a list of parents; an error says ``where`` it comes from."""
    if not isinstance(parent, list) or any(type(p) is not int for p in parent):
        raise InputError(f"{where}: expected parents [-1, 0, ...], one whole number a node. Make it again.")
    try:
        return Forest(parent)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
