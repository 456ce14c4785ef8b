"""The COUNTS folder: a vocabulary and its window counts, made once and used by many runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.store.files import read_json, write_json
from wordforest.store.names import ALL_WORDS, RESULTS
from wordforest.store.swap import replaced, settle
from wordforest.store.tensors import AnyCSR, read_csr, write_csr, write_csr_parts
from wordforest.store.vocab import read_vocab, write_vocab

Whole = tuple[Sequence[str], NDArray[np.int64], AnyCSR, dict[str, Any]]  # words, counts, window counts, settings
_LAST = "counts.safetensors"


class CountParts(Protocol):
    """Window counts (V, C) that may be larger than memory: ``parts`` yields columns and counts, rows in order."""

    @property
    def shape(self) -> tuple[int, int]:
        """Words and contexts."""
        ...

    @property
    def indptr(self) -> NDArray[np.int64]:
        """Where rows begin, (V + 1,)."""
        ...

    @property
    def dtype(self) -> Any:
        """Type of a count, of 32 or 64 bits."""
        ...

    def parts(self) -> Iterator[tuple[NDArray[np.int32], NDArray[Any]]]:
        """Yield columns and counts of some rows after those of others; may be called again."""
        ...


def is_counts_folder(path: Path) -> bool:
    """Return whether a folder holds window counts."""
    settle(path)
    return (path / _LAST).is_file()


def save_counts(
    folder: Path, words: Sequence[str], counts: NDArray[np.int64], matrix: AnyCSR, config: dict[str, Any],
    *, all_words: Whole | None = None,
) -> None:  # fmt: skip
    """Write words, their counts (V,), integer window counts (V, C) and settings in place of what a folder holds.

    ``all_words`` are counts without a least count that go with them.
    """
    with replaced(folder, RESULTS, _LAST) as staging:
        _write(staging, words, counts, matrix, config)
        if all_words is not None:
            (staging / ALL_WORDS).mkdir()
            _write(staging / ALL_WORDS, *all_words)


def _write(
    folder: Path, words: Sequence[str], counts: NDArray[np.int64], matrix: AnyCSR, config: dict[str, Any]
) -> None:
    if not np.issubdtype(matrix.dtype, np.integer):
        raise InputError(f"{folder}: window counts must be integers, but {matrix.dtype} came.")
    _check_sizes(folder, len(words), len(counts), matrix)
    if matrix.dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
        matrix = matrix.astype(np.int64)
    write_json(folder / "config.json", config)
    write_vocab(folder / "vocab.tsv", words, counts)
    write_csr(folder / _LAST, matrix)


def save_count_parts(
    folder: Path, words: Sequence[str], counts: NDArray[np.int64], parts: CountParts, config: dict[str, Any]
) -> None:
    """Write what ``save_counts`` does, a part of the window counts at a time; the disk must have room for them."""
    needed = int(parts.indptr[-1]) * (4 + np.dtype(parts.dtype).itemsize) + (64 << 20)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise InputError(
            f"{folder}: the counts need {needed >> 20} MiB on this disk, but {free >> 20} MiB are free. "
            "Free some and go on with --resume, or choose an --out on another disk."
        )
    with replaced(folder, RESULTS, _LAST) as staging:
        write_json(staging / "config.json", config)
        write_vocab(staging / "vocab.tsv", words, counts)
        write_csr_parts(staging / _LAST, parts.shape, parts.indptr, np.dtype(parts.dtype), parts.parts)


def load_counts(
    folder: Path, *, mapped: bool = False
) -> tuple[tuple[str, ...], NDArray[np.int64], AnyCSR, dict[str, Any]]:
    """Return words, their counts (V,), window counts (V, C) and settings.

    ``mapped`` leaves the window counts in their file: for counts larger than memory.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: expected a counts folder. Make one with: wordforest count CORPUS --out DIR")
    settle(folder)
    config = read_json(folder / "config.json")
    words, counts = read_vocab(folder / "vocab.tsv")
    matrix = read_csr(folder / "counts.safetensors", ("int32", "int64"), mapped=mapped)
    _check_sizes(folder, len(words), len(counts), matrix)
    return words, counts, matrix, config


def _check_sizes(folder: Path, n_words: int, n_counts: int, matrix: AnyCSR) -> None:
    if not n_words == n_counts == matrix.shape[0]:
        raise InputError(
            f"{folder}: {n_words} words, {n_counts} counts and {matrix.shape[0]} rows of window counts "
            "do not agree. Use files of one run of wordforest count."
        )
    if matrix.nnz and matrix.data.min() < 0:
        raise InputError(f"{folder}: a window count is {matrix.data.min()}, but counts start at 0. Count again.")
