"""Token ids to sparse window counts. Counts are integers, so counts of shards add up exactly.

In a shard all positions of a word are visited one after the other, and its neighbours are counted in one dense row
that stays in cache; no hash table, no sorting of pairs. Shards go to workers. What a shard found lies in blocks of
rows, in memory or in a file; at the end the blocks of all shards are added up, one block of rows at a time. So neither
the corpus nor its counts need to fit into memory, and the result is the same for any shards, blocks and workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.counts.windows import (
    Int32s,
    Int64s,
    Integers,
    Rows,
    WindowRules,
    add_rows,
    count_blocks,
    keep_probability,
    kept,
    narrow,
    row_blocks,
    vocabulary_rows,
)
from wordforest.options import default
from wordforest.runtime.disk import ScratchFiles
from wordforest.runtime.machine import Executor, on_this_machine
from wordforest.text import TextRules, Vocabulary, WordRules, choose_words, read_tokens
from wordforest.text.tokens import PIECE, IdFile

CSR: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"
Block: TypeAlias = "tuple[int, int, int]"  # counts of a block of rows in scratch files: key, pairs, bytes of a count

SHARD_TOKENS = 1 << 25  # at most
_LEAST_SHARD = 1 << 16  # tokens
_MERGED_PAIRS = 1 << 22  # that are added up at a time


@dataclass(frozen=True, eq=False)
class Counts:
    """How often word v (row) and context c (column) stand within a window: ``matrix`` is (V, C) CSR of integers.

    With a dynamic window a pair at distance d counts ``harmonic_weights(window)[d - 1]`` times.
    """

    matrix: CSR
    vocabulary: Vocabulary
    fingerprint: str = ""  # SHA-256 of the corpus


@dataclass(frozen=True, eq=False)
class Tally:
    """Window counts that lie in memory or in scratch files, block by block of rows."""

    vocabulary: Vocabulary
    fingerprint: str
    n_columns: int
    indptr: Int64s  # (V + 1,)
    scratch: ScratchFiles
    borders: Int64s  # of the blocks of rows
    blocks: list[Block] = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Words and columns."""
        return len(self.vocabulary), self.n_columns

    @property
    def dtype(self) -> Any:
        """Type of the counts: 32 bits where they are enough."""
        return np.dtype(f"i{max((width for _, _, width in self.blocks), default=4)}")

    def parts(self) -> Iterator[tuple[Int32s, Integers]]:
        """Yield columns and counts, rows in order."""
        for (first, last), block in zip(pairwise(self.borders), self.blocks, strict=True):
            _, columns, values = _unpacked(self.scratch, block, int(last - first))
            yield columns, values.astype(self.dtype, copy=False)

    def matrix(self) -> CSR:
        """Return all counts in memory."""
        nnz = int(self.indptr[-1])
        columns, values = np.empty(nnz, dtype=np.int32), np.empty(nnz, dtype=self.dtype)
        done = 0
        for column, value in self.parts():
            columns[done : done + len(column)] = column
            values[done : done + len(column)] = value
            done += len(column)
        return sparse.csr_array((values, columns, narrow(self.indptr)), shape=self.shape)


def count(
    corpus: str | Path | Iterable[str | Path],
    *,
    window: int = default("window"),
    min_count: int = default("min_count"),
    max_vocab: int | None = default("max_vocab"),
    dynamic_window: bool = default("dynamic_window"),
    subsample: float = default("subsample"),
    max_contexts: int | None = default("max_contexts"),
    mark_sides: bool = default("mark_sides"),
    subsample_seed: int = default("subsample_seed"),
    keep_words: Sequence[str] = default("keep_words"),
    rules: TextRules | None = None,
    executor: Executor | None = None,
    scratch_folder: Path | None = None,
    memory: int | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> Counts:
    """Count the words of a corpus and the pairs of words at most ``window`` apart within a sentence.

    See ``WindowRules`` and ``WordRules``. With ``subsample`` the counts of the vocabulary are still those of the text.
    ``memory`` is a ceiling in bytes for all but the result, three quarters of the machine's if left out; what goes
    beyond lies in a file without a name in ``scratch_folder``. ``on_progress`` is called with the stage ("read" or
    "count"), tokens done, and bytes read or tokens in all.
    """
    windows = WindowRules(window, dynamic_window, subsample, max_contexts, mark_sides, subsample_seed)
    words = WordRules(min_count, max_vocab, tuple(keep_words))
    with closing(ScratchFiles(scratch_folder, memory)) as scratch:
        tally = tally_corpus(corpus, windows, words, rules, scratch, executor=executor, on_progress=on_progress)
        return Counts(tally.matrix(), tally.vocabulary, tally.fingerprint)


def tally_corpus(
    corpus: str | Path | Iterable[str | Path],
    windows: WindowRules,
    words: WordRules,
    rules: TextRules | None,
    scratch: ScratchFiles,
    *,
    executor: Executor | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> Tally:
    """Count a corpus as ``count`` does, and leave the counts in scratch files; named ones may hold a try to resume."""
    report = on_progress or (lambda *_: None)
    executor = on_this_machine(executor, "counting into memory")
    tokens = read_tokens(
        corpus, rules, executor=executor, scratch=scratch, on_progress=lambda done, size: report("read", done, size)
    )
    vocabulary, rows = choose_words(tokens.words, tokens.counts, words)
    counted = 0

    def on_words(n_tokens: int) -> None:
        nonlocal counted
        counted += n_tokens
        report("count", counted, tokens.n_tokens)

    on_words(0)
    ids, n_columns = tokens.file, windows.columns(len(vocabulary))
    if windows.subsample:
        scratch.cut("thinned.bin", 0)
        keep = keep_probability(vocabulary.counts, windows.subsample)[rows]
        ids = IdFile(scratch, "thinned.bin")
        _thin(tokens.file, keep, windows.subsample_seed, ids, executor, on_words)
    borders = row_blocks(vocabulary.counts, 2 * min(windows.window, len(ids)), n_columns)
    shards = _Shards(ids, np.append(rows, np.int32(-1)), windows, borders, scratch).tally(executor, on_words)
    indptr, blocks = merged(shards, borders, n_columns, scratch, executor)
    return Tally(vocabulary, tokens.fingerprint, n_columns, indptr, scratch, borders, blocks)


def _thin(
    ids: IdFile,
    keep: NDArray[np.float64],
    seed: int,
    into: IdFile,
    executor: Executor,
    on_words: Callable[[int], None],
) -> None:
    """Write the ids that stay into another file, so that windows can be cut from it anywhere.

    ``on_words`` is called with the number of tokens just dropped.
    """
    starts = range(0, len(ids), PIECE)
    pieces = executor.map(lambda start: kept(ids.read(start, start + PIECE), start, keep, seed), starts)
    for start, stayed in zip(starts, pieces, strict=True):
        into.append(stayed)
        dropped = min(PIECE, len(ids) - start) - len(stayed)
        if dropped:  # a second report of none done would look like a second beginning
            on_words(dropped)


@dataclass(frozen=True, eq=False)
class _Shards:
    """Ids to count shard by shard, as large as memory allows; ``lookup`` has the row of every id."""

    ids: IdFile
    lookup: Int32s
    windows: WindowRules
    borders: Int64s
    scratch: ScratchFiles

    def tally(self, executor: Executor, on_words: Callable[[int], None]) -> list[list[Block]]:
        """Return the blocks of every shard; resume where a try broke off."""
        notes, scratch = self.scratch.notes(), self.scratch
        size = next((note["shards"] for note in notes if "shards" in note), 0)
        if not size:
            # ids as they come, renumbered and by position take 12 bytes a token; several shards a worker share the work
            fits, fair = scratch.memory // (4 * 12 * executor.n_workers), -(-len(self.ids) // (2 * executor.n_workers))
            size = min(max(fits, _LEAST_SHARD), SHARD_TOKENS, max(fair, _LEAST_SHARD))
            scratch.note({"shards": size})
        known: dict[int, list[Block]] = {note["shard"]: note["blocks"] for note in notes if "shard" in note}

        def tally(start: int) -> tuple[int, list[Block], int]:
            if start in known:
                return start, known[start], 0
            return start, *self._tally_shard(start, start + size)

        shards = []
        for start, blocks, n_tokens in executor.map(tally, range(0, len(self.ids), size)):
            shards.append(blocks)
            if start not in known and all(key >= 0 for key, *_ in blocks):
                scratch.note({"shard": start, "blocks": blocks})
            on_words(n_tokens)
        return shards

    def _tally_shard(self, start: int, stop: int) -> tuple[list[Block], int]:
        """Count around ids[start:stop]; return the blocks of rows, and how many tokens were counted."""
        weights = self.windows.weights(len(self.ids))
        margin, stop = len(weights), min(stop, len(self.ids))
        low, high = max(0, start - margin), min(len(self.ids), stop + margin)
        rows = vocabulary_rows(self.ids.read(low, high), self.lookup, low - start + margin, stop + margin - high)
        found = count_blocks(rows, int(self.borders[-1]), self.windows, weights, self.borders)
        blocks = [packed(self.scratch, block) for block in found]
        return blocks, int(np.count_nonzero(rows[margin : margin + stop - start] >= 0))


def merged(
    shards: list[list[Block]], borders: Int64s, n_columns: int, scratch: ScratchFiles, executor: Executor
) -> tuple[Int64s, list[Block]]:
    """Add up the blocks of all shards; return where rows begin, and the blocks of the sum."""

    def merge(number: int) -> tuple[Int32s, Block]:
        n_rows = int(borders[number + 1] - borders[number])
        blocks = [shard[number] for shard in shards]
        waiting = [_unpacked(scratch, blocks[0], n_rows)]
        if len(blocks) == 1:
            return waiting[0][0], blocks[0]
        for block in blocks[1:]:
            waiting.append(_unpacked(scratch, block, n_rows))
            if sum(len(columns) for _, columns, _ in waiting) > _MERGED_PAIRS:
                waiting = [add_rows(waiting, n_columns)]
        total = add_rows(waiting, n_columns)
        for key, *_ in blocks:
            scratch.drop(key)
        return total[0], packed(scratch, total)

    merged = list(executor.map(merge, range(len(borders) - 1)))
    sizes = np.concatenate([sizes for sizes, _ in merged])
    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))), [block for _, block in merged]


def packed(scratch: ScratchFiles, rows: Rows) -> Block:
    """Keep the counts of a block of rows."""
    sizes, columns, values = rows
    part = np.concatenate([array.view(np.uint8) for array in (sizes, columns, values)])
    return scratch.put(part), len(columns), values.itemsize


def _unpacked(scratch: ScratchFiles, block: Block, n_rows: int) -> Rows:
    key, n, width = block
    part = scratch.get(key, 4 * n_rows + (4 + width) * n)
    numbers, values = part[: 4 * (n_rows + n)].view(np.int32), part[4 * (n_rows + n) :]
    return numbers[:n_rows], numbers[n_rows:], values.view(f"i{width}")
