"""The COUNTS folder: a vocabulary and its window counts, made once and used by many runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.errors import InputError
from wordforest.runtime.scratch import check_disk
from wordforest.store.files import read_json, write_json
from wordforest.store.layout import ALL_WORDS, RESULTS
from wordforest.store.tensors import AnyCSR, read_csr, slices, write_csr, write_csr_parts
from wordforest.store.transaction import replaced, settle
from wordforest.store.vocab import read_vocab, write_vocab

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
    folder: Path,
    words: Sequence[str],
    counts: NDArray[np.int64],
    matrix: AnyCSR | CountParts,
    config: dict[str, Any],
    *,
    all_words: Path | None = None,
) -> None:
    """Write words, their counts (V,), integer window counts (V, C) and settings in place of what a folder holds.

    ``all_words`` is a folder of counts without a least count, on the same disk, which moves inside.
    """
    if sparse.issparse(matrix):
        _check_sizes(folder, len(words), len(counts), matrix)
        _check_counts(folder, matrix)
    with replaced(folder, RESULTS, _LAST) as staging:
        write_json(staging / "config.json", config)
        write_vocab(staging / "vocab.tsv", words, counts)
        if sparse.issparse(matrix):
            write_csr(staging / _LAST, matrix if matrix.dtype.itemsize >= 4 else matrix.astype(np.int64))
        else:
            check_disk(folder, int(matrix.indptr[-1]) * (4 + np.dtype(matrix.dtype).itemsize), "writing the counts")
            write_csr_parts(staging / _LAST, matrix.shape, matrix.indptr, np.dtype(matrix.dtype), matrix.parts())
        if all_words is not None:
            all_words.rename(staging / ALL_WORDS)


def read_counts(
    folder: Path, *, mapped: bool = False, checked: bool = True
) -> tuple[tuple[str, ...], NDArray[np.int64], AnyCSR, dict[str, Any]]:
    """Return words, their counts (V,), window counts (V, C) and settings.

    ``mapped`` leaves the window counts in their file: for counts larger than memory. Counts that were just written, or
    that others look at, need not be ``checked`` pair by pair.
    """
    if not folder.is_dir():
        raise InputError(f"{folder}: expected a counts folder. Make one with: wordforest count CORPUS --out DIR")
    settle(folder)
    config = read_json(folder / "config.json")
    words, counts = read_vocab(folder / "vocab.tsv")
    matrix = read_csr(folder / "counts.safetensors", ("int32", "int64"), mapped=mapped, checked=checked)
    _check_sizes(folder, len(words), len(counts), matrix)
    if checked:
        _check_counts(folder, matrix)
    return words, counts, matrix, config


def _check_sizes(folder: Path, n_words: int, n_counts: int, matrix: AnyCSR) -> None:
    if not n_words == n_counts == matrix.shape[0]:
        raise InputError(
            f"{folder}: {n_words} words, {n_counts} counts and {matrix.shape[0]} rows of window counts "
            "do not agree. Use files of one run of wordforest count."
        )


def _check_counts(folder: Path, matrix: AnyCSR) -> None:
    if not np.issubdtype(matrix.dtype, np.integer):
        raise InputError(f"{folder}: window counts must be integers, but {matrix.dtype} came. Count again.")
    least = min((int(part.min()) for part in slices(matrix.data)), default=0)
    if least < 0:
        raise InputError(f"{folder}: a window count is {least}, but counts start at 0. Count again.")
