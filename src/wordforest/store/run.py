"""The RUN folder: everything a training run leaves behind."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.store.counts import COUNTS_FILES, is_counts_folder
from wordforest.store.files import (
    TEMPORARY,
    parse_object,
    read_json,
    read_text,
    to_json,
    write_json,
    write_text,
)
from wordforest.store.tensors import read_csr, read_tensors, write_csr, write_tensors
from wordforest.store.vocab import read_vocab, write_vocab
from wordforest.vectors import CSR, Vectors, first_non_finite_row

RUN_FILES = (
    "config.json",
    "vocab.tsv",
    "codes.safetensors",
    "dictionary.safetensors",
    "forest.json",
    "history.jsonl",
)
CHECKPOINT = "checkpoint"


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
    return (path / "codes.safetensors").is_file()


def save_run(folder: Path, run: Run, codes: Path | None = None) -> None:
    """Write a run, each file whole; the codes come last, so a folder that has them is complete.

    ``codes`` is a file that holds the codes already, on the same disk; it takes its place.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", run.config)
    write_vocab(folder / "vocab.tsv", run.words, run.counts)
    write_json(folder / "forest.json", {"parent": run.forest.parent.tolist()})
    write_history(folder / "history.jsonl", run.history)
    if run.dictionary is None:
        (folder / "dictionary.safetensors").unlink(missing_ok=True)
    else:
        write_tensors(folder / "dictionary.safetensors", {"D": run.dictionary.astype(np.float32, copy=False)})
    if codes is not None:
        codes.replace(folder / "codes.safetensors")
        return
    write_csr(folder / "codes.safetensors", run.codes.astype(np.float32, copy=False))


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
        "forest": _read_forest(folder / "forest.json"),
        "config": read_json(folder / "config.json"),
        "history": read_history(folder / "history.jsonl"),
    }
    try:
        return Run(words, counts, **parts)
    except InputError as error:
        raise InputError(f"{folder}: {error}") from error


def prepare_folder(folder: Path, *, force: bool) -> None:
    """Create a folder for results. One that holds anything needs ``force``, which removes our files alone."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: expected a folder, but this is a file. Choose another --out.")
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.iterdir()):
        return
    if not force:
        begun = (folder / CHECKPOINT).is_dir() and not is_run_folder(folder)
        go_on = "add --resume to go on with it, " if begun else ""
        raise InputError(f"{folder} already exists; {go_on}add --force to replace it or choose another --out.")
    remove_results(folder)
    checkpoint = folder / CHECKPOINT
    if checkpoint.is_symlink() or checkpoint.is_file():
        checkpoint.unlink()
    elif checkpoint.is_dir():
        shutil.rmtree(checkpoint)


def remove_results(folder: Path) -> None:
    """Remove what runs and counts leave in a folder, codes first, and nothing else; a checkpoint stays."""
    known = [folder / name for name in ("codes.safetensors", *RUN_FILES, *COUNTS_FILES)]
    for path in [*known, *folder.glob(TEMPORARY)]:
        if path.is_file() or path.is_symlink():
            path.unlink()


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


def _read_forest(path: Path) -> Forest:
    parent = read_json(path).get("parent")
    if not isinstance(parent, list) or any(type(p) is not int for p in parent):
        raise InputError(
            f'{path}: expected {{"parent": [-1, 0, ...]}}, one whole number a node. Make the folder again.'
        )
    try:
        return Forest(parent)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
