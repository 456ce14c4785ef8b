"""Token ids to sparse window counts. Counts are integers, so counts of shards add up exactly.

In a shard all positions of a word are visited one after the other, and its neighbours are counted in one dense row
that stays in cache; no hash table, no sorting of pairs. Shards go to workers. What a shard found lies in blocks of
rows, in memory or in a file; at the end the blocks of all shards are added up, one block of rows at a time. So neither
the corpus nor its counts need to fit into memory, and the result is the same for any shards, blocks and workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.counts.thinning import keep_probability, thinned
from wordforest.counts.windows import (
    INT32_MAX,
    Integers,
    Rows,
    Scratch,
    WindowRules,
    add_rows,
    count_rows,
    find_positions,
    narrow,
    row_blocks,
    vocabulary_rows,
)
from wordforest.runtime.scratch import ScratchFiles
from wordforest.runtime.threads import Executor, Threads, on_this_machine
from wordforest.text import TextRules, Tokens, Vocabulary, WordRules, choose_words, read_tokens
from wordforest.text.tokens import IdFile

CSR: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"
Block: TypeAlias = "tuple[int, int, int]"  # counts of a block of rows in a place: key, pairs, bytes of a count

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
    """Window counts that lie in a place, in memory or in a file, block by block of rows."""

    vocabulary: Vocabulary
    fingerprint: str
    n_columns: int
    indptr: NDArray[np.int64]  # (V + 1,)
    place: ScratchFiles
    borders: NDArray[np.int64]  # of the blocks of rows
    blocks: list[Block] = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Words and columns."""
        return len(self.vocabulary), self.n_columns

    @property
    def dtype(self) -> Any:
        """Type of the counts: 32 bits where they are enough."""
        return np.dtype(f"i{max((width for _, _, width in self.blocks), default=4)}")

    def parts(self) -> Iterator[tuple[NDArray[np.int32], Integers]]:
        """Yield columns and counts, rows in order."""
        for (first, last), block in zip(pairwise(self.borders), self.blocks, strict=True):
            _, columns, values = _unpacked(self.place, block, int(last - first))
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
    window: int = 5,
    min_count: int = 10,
    max_vocab: int | None = None,
    dynamic_window: bool = False,
    subsample: float = 0.0,
    max_contexts: int | None = None,
    mark_sides: bool = False,
    subsample_seed: int = 0,
    keep_words: Sequence[str] = (),
    rules: TextRules | None = None,
    executor: Executor | None = None,
    spool_folder: Path | None = None,
    memory: int | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> Counts:
    """Count the words of a corpus and the pairs of words at most ``window`` apart within a sentence.

    See ``WindowRules`` and ``WordRules``. With ``subsample`` the counts of the vocabulary are still those of the text.
    ``memory`` is a ceiling in bytes for all but the result, three quarters of the machine's if left out; what goes
    beyond lies in a file without a name in ``spool_folder``. ``on_progress`` is called with the stage ("read" or
    "count"), tokens done, and bytes read or tokens in all.
    """
    windows = WindowRules(window, dynamic_window, subsample, max_contexts, mark_sides, subsample_seed)
    place = ScratchFiles(spool_folder, memory)
    words = WordRules(min_count, max_vocab, tuple(keep_words))
    tally = tally_corpus(corpus, windows, words, rules, place, executor=executor, on_progress=on_progress)
    counts = Counts(tally.matrix(), tally.vocabulary, tally.fingerprint)
    place.close()
    return counts


def tally_corpus(
    corpus: str | Path | Iterable[str | Path],
    windows: WindowRules,
    words: WordRules,
    rules: TextRules | None,
    place: ScratchFiles,
    *,
    executor: Executor | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> Tally:
    """Count a corpus as ``count`` does, and leave the counts in a place; a named one may hold a try to go on with."""
    report = on_progress or (lambda *_: None)
    executor = on_this_machine(executor, "counting into memory")
    tokens = read_tokens(
        corpus, rules, executor=executor, place=place, on_progress=lambda done, size: report("read", done, size)
    )
    vocabulary, rows = choose_words(tokens.words, tokens.counts, words)
    counted = 0

    def on_words(n_tokens: int) -> None:
        nonlocal counted
        counted += n_tokens
        report("count", counted, tokens.n_tokens)

    on_words(0)
    ids = _ids(tokens, vocabulary, rows, windows, place, executor, on_words)
    borders = row_blocks(vocabulary.counts, 2 * min(windows.window, len(ids)), windows.columns(len(vocabulary)))
    shards = _tally_shards(ids, np.append(rows, np.int32(-1)), windows, borders, place, executor, on_words)
    indptr, blocks = merged(shards, borders, windows.columns(len(vocabulary)), place, executor)
    return Tally(vocabulary, tokens.fingerprint, windows.columns(len(vocabulary)), indptr, place, borders, blocks)


def count_windows(
    ids: NDArray[np.int32],
    n_words: int,
    window: int,
    *,
    dynamic_window: bool = False,
    centres: slice = slice(None),
    executor: Executor | None = None,
    on_words: Callable[[int], None] | None = None,
) -> CSR:
    """Return the (n_words, n_words) counts of pairs at most ``window`` apart; negative ids end a sentence.

    Rows are words at the positions ``centres``, columns their neighbours anywhere, so the counts of adjoining slices
    add up to the counts of the whole. With ``dynamic_window`` a pair at distance d counts as in ``harmonic_weights``.
    ``on_words`` is called with the number of centres just done.
    """
    weights = WindowRules(window, dynamic_window).weights(len(ids))
    pad = np.full(len(weights), -1, dtype=np.int32)
    padded = np.concatenate((pad, ids, pad))
    first, last, _ = centres.indices(len(ids))
    starts, positions = find_positions(padded, first + len(pad), last + len(pad), n_words)
    blocks = [(int(a), int(b)) for a, b in pairwise(row_blocks(np.diff(starts), 2 * len(weights), n_words))]

    def count_block(block: tuple[int, int]) -> Rows:
        return count_rows(padded, positions, starts, block, weights, (n_words, 0), Scratch(n_words))

    found = []
    for (a, b), rows in zip(blocks, (executor or Threads()).map(count_block, blocks), strict=True):
        found.append(rows)
        if on_words:
            on_words(int(starts[b] - starts[a]))
    sizes, columns, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
    indptr = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    return sparse.csr_array((values, columns, narrow(indptr)), shape=(n_words, n_words))


def add_counts(a: CSR, b: CSR) -> CSR:
    """Add the counts of two shards, in 64 bits if 32 do not hold them."""
    if int(a.data.max(initial=0)) + int(b.data.max(initial=0)) > INT32_MAX:
        a = a.astype(np.int64)
    total: CSR = a + b
    total.data = narrow(total.data)  # the type, too, must not depend on the shards
    return total


def _ids(
    tokens: Tokens, vocabulary: Vocabulary, rows: NDArray[np.int32], windows: WindowRules,
    place: ScratchFiles, executor: Executor, on_words: Callable[[int], None],
) -> IdFile:  # fmt: skip
    """Return the ids to count, after dropping some if asked to."""
    if not windows.subsample:
        return tokens.file
    keep = keep_probability(vocabulary.counts, windows.subsample)[rows]
    if place.named:
        place.cut("thinned.bin", 0)
    return thinned(tokens.file, keep, windows.subsample_seed, IdFile(place, "thinned.bin"), executor, on_words)


def _tally_shards(
    ids: IdFile, lookup: NDArray[np.int32], windows: WindowRules, borders: NDArray[np.int64],
    place: ScratchFiles, executor: Executor, on_words: Callable[[int], None],
) -> list[list[Block]]:  # fmt: skip
    """Count shard by shard, as large as memory allows, and return the blocks of each; go on where a try broke off."""
    notes = place.notes()
    size = next((note["shards"] for note in notes if "shards" in note), 0)
    if not size:
        # ids as they come, renumbered and by position take 12 bytes a token; several shards a worker share the work
        fits = place.memory // (4 * 12 * executor.n_workers)
        size = min(max(fits, _LEAST_SHARD), SHARD_TOKENS, max(-(-len(ids) // (2 * executor.n_workers)), _LEAST_SHARD))
        place.note({"shards": size})
    known: dict[int, list[Block]] = {note["shard"]: note["blocks"] for note in notes if "shard" in note}

    def tally(start: int) -> tuple[int, list[Block], int]:
        if start in known:
            return start, known[start], 0
        return start, *_tally_shard(ids, start, start + size, lookup, windows, borders, place)

    shards = []
    for start, blocks, n_tokens in executor.map(tally, range(0, len(ids), size)):
        shards.append(blocks)
        if start not in known and all(key >= 0 for key, *_ in blocks):
            place.note({"shard": start, "blocks": blocks})
        on_words(n_tokens)
    return shards


def _tally_shard(
    ids: IdFile, start: int, stop: int, lookup: NDArray[np.int32], windows: WindowRules,
    borders: NDArray[np.int64], place: ScratchFiles,
) -> tuple[list[Block], int]:  # fmt: skip
    """Count around ids[start:stop]; return the blocks of rows, and how many tokens were counted."""
    n_words, weights = int(borders[-1]), windows.weights(len(ids))
    margin, stop = len(weights), min(stop, len(ids))
    low, high = max(0, start - margin), min(len(ids), stop + margin)
    rows = vocabulary_rows(ids.read(low, high), lookup, low - start + margin, stop + margin - high)
    starts, positions = find_positions(rows, margin, margin + stop - start, n_words)
    n_contexts, n_columns = windows.contexts(n_words), windows.columns(n_words)
    sides, scratch = (n_contexts, n_columns - n_contexts), Scratch(n_columns)
    blocks = []
    for block in pairwise(borders.tolist()):
        blocks.append(packed(place, count_rows(rows, positions, starts, block, weights, sides, scratch)))
    return blocks, int(starts[-1])


def merged(
    shards: list[list[Block]], borders: NDArray[np.int64], n_columns: int, place: ScratchFiles, executor: Executor
) -> tuple[NDArray[np.int64], list[Block]]:
    """Add up the blocks of all shards; return where rows begin, and the blocks of the sum."""

    def merge(number: int) -> tuple[NDArray[np.int32], Block]:
        n_rows, scratch = int(borders[number + 1] - borders[number]), Scratch(n_columns)
        blocks = [shard[number] for shard in shards]
        waiting = [_unpacked(place, blocks[0], n_rows)]
        if len(blocks) == 1:
            return waiting[0][0], blocks[0]
        for block in blocks[1:]:
            waiting.append(_unpacked(place, block, n_rows))
            if sum(len(columns) for _, columns, _ in waiting) > _MERGED_PAIRS:
                waiting = [add_rows(waiting, scratch)]
        total = add_rows(waiting, scratch)
        for key, *_ in blocks:
            place.drop(key)
        return total[0], packed(place, total)

    merged = list(executor.map(merge, range(len(borders) - 1)))
    sizes = np.concatenate([sizes for sizes, _ in merged])
    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))), [block for _, block in merged]


def packed(place: ScratchFiles, rows: Rows) -> Block:
    """Keep the counts of a block of rows in a place."""
    sizes, columns, values = rows
    part = np.concatenate([array.view(np.uint8) for array in (sizes, columns, values)])
    return place.put(part), len(columns), values.itemsize


def _unpacked(place: ScratchFiles, block: Block, n_rows: int) -> Rows:
    key, n, width = block
    part = place.get(key, 4 * n_rows + (4 + width) * n)
    numbers, values = part[: 4 * (n_rows + n)].view(np.int32), part[4 * (n_rows + n) :]
    return numbers[:n_rows], numbers[n_rows:], values.view(f"i{width}")
