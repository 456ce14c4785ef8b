"""Counts whose words are numbered anew and added up, block by block of rows, so that memory need not hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.counts.tally import CSR, Block, Tally, merged, packed
from wordforest.counts.windows import DenseRow, Int32s, Int64s, narrow, row_blocks, sum_rows
from wordforest.runtime.disk import ScratchFiles, let_go
from wordforest.runtime.machine import Executor
from wordforest.text import Vocabulary


@dataclass(frozen=True, eq=False)
class Addend:
    """Counts to add: row v goes to row ``rows[v]``, column c to ``columns[c]``, or nowhere if that is negative."""

    matrix: CSR
    rows: Int32s
    columns: Int32s


def joined(
    parts: Sequence[Addend],
    vocabulary: Vocabulary,
    fingerprint: str,
    size: tuple[int, int],
    scratch: ScratchFiles,
    executor: Executor,
) -> Tally:
    """Add up parts into counts of a vocabulary; ``size`` is the number of columns, and pairs of a word's occurrence."""
    n_columns, pairs = size
    borders = row_blocks(vocabulary.counts, pairs, n_columns)
    shards = [_renumbered(part, borders, n_columns, scratch, executor) for part in parts]
    indptr, blocks = merged(shards, borders, n_columns, scratch, executor)
    return Tally(vocabulary, fingerprint, n_columns, indptr, scratch, borders, blocks)


def move_columns(matrix: Any, columns: NDArray[np.integer[Any]], n_columns: int) -> sparse.csr_array:
    """Return counts with column c at ``columns[c]``, dropped if that is negative; what meets is added up."""
    if np.array_equal(columns, np.arange(n_columns)):
        return sparse.csr_array(matrix)
    places = columns[matrix.indices].astype(np.int32)
    kept = places >= 0
    before = np.concatenate(([0], np.cumsum(kept)))  # kept pairs in front of each pair, and of the end
    parts = (matrix.data[kept].astype(np.int64), places[kept], before[matrix.indptr])
    moved = sparse.csr_array(parts, shape=(matrix.shape[0], n_columns))
    moved.sum_duplicates()
    moved.data = narrow(moved.data)
    return moved


def _renumbered(
    part: Addend, borders: Int64s, n_columns: int, scratch: ScratchFiles, executor: Executor
) -> list[Block]:
    """Return the blocks of rows of one part."""
    matrix, n_rows = part.matrix, int(borders[-1])
    order = np.argsort(part.rows, kind="stable")  # rows of the part, by where they go
    starts = np.searchsorted(part.rows[order], np.arange(n_rows + 1))  # (rows + 1,)
    indptr = matrix.indptr.astype(np.int64)
    sizes = np.concatenate(([0], np.cumsum(np.diff(indptr)[order])))  # pairs before each of them
    csr = (indptr, matrix.indices, matrix.data)

    def gather(block: tuple[int, int]) -> Block:
        most = int(np.minimum(np.diff(sizes[starts[block[0] : block[1] + 1]]), n_columns).sum())
        total = DenseRow.of(n_columns, np.int64)
        row_sizes, columns, values = sum_rows(csr, order, starts, block, part.columns, most, total)
        let_go(matrix.indices, matrix.data)  # the next rows lie elsewhere
        return packed(scratch, (row_sizes, columns, narrow(values)))

    return list(executor.map(gather, pairwise(borders.tolist())))
