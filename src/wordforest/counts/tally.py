"""Token ids to sparse window counts. Counts are integers, so counts of shards add up exactly.

In a shard all positions of a word are visited one after the other, and its neighbours are counted in one dense row
that stays in cache; no hash table, no sorting of pairs. Shards go to workers. What a shard found lies in blocks of
rows, in memory or in a file; at the end the blocks of all shards are added up, one block of rows at a time. So neither
the corpus nor its counts need to fit into memory, and the result is the same for any shards, blocks and workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.counts.phrases import LEAST, LEVELS, NEIGHBOURS, choose_phrases
from wordforest.counts.windows import (
    DenseRow,
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
    sum_rows,
)
from wordforest.errors import InputError
from wordforest.options import OPTIONS, default
from wordforest.runtime.disk import ScratchFiles, let_go
from wordforest.runtime.machine import Executor, Threads
from wordforest.text import TextRules, Vocabulary, WordRules, choose_words, read_tokens
from wordforest.text.phrases import Phrase
from wordforest.text.scripts import warn
from wordforest.text.tokens import PIECE, IdFile, Tokens, joined_tokens

CSR: TypeAlias = "sparse.csr_array[Any, tuple[int, int]]"
Block: TypeAlias = "tuple[int, int, int]"  # counts of a block of rows in scratch files: key, pairs, bytes of a count

SHARD_TOKENS = 1 << 25  # at most
_LEAST_SHARD = 1 << 16  # tokens
_MERGED_PAIRS = 1 << 22  # that are added up at a time


@dataclass(frozen=True, eq=False, repr=False)
class Counts:
    """How often word v (row) and context c (column) stand within a window: ``matrix`` is (V, C) CSR of integers.

    Row v is word v of the ``vocabulary``; ``fingerprint`` is the SHA-256 of the corpus. With a dynamic window of size L
    a pair at distance d counts ``lcm(1 .. L) / d`` times.

    Examples:
        >>> import wordforest as wf
        >>> counts = wf.count(["a b a", "a b"], window=1, min_count=1)
        >>> counts.vocabulary.words
        ('a', 'b')
        >>> counts.matrix.toarray()
        array([[0, 3],
               [3, 0]], dtype=int32)
    """

    matrix: CSR
    vocabulary: Vocabulary
    fingerprint: str = ""

    def __repr__(self) -> str:
        V, C = self.matrix.shape
        return f"Counts({V} words x {C} contexts, {self.matrix.nnz} pairs)"


@dataclass(eq=False)
class Tally:
    """Window counts that lie in memory or in scratch files, block by block of rows."""

    vocabulary: Vocabulary
    fingerprint: str
    windows: WindowRules
    scratch: ScratchFiles = field(repr=False)
    shape: tuple[int, int] = field(init=False)  # words and columns
    borders: Int64s = field(init=False, repr=False)  # of the blocks of rows
    indptr: Int64s = field(init=False, repr=False)  # (V + 1,)
    blocks: list[Block] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n_words = len(self.vocabulary)
        self.shape = n_words, self.windows.columns(n_words)
        self.borders = row_blocks(self.vocabulary.counts, 2 * self.windows.window, self.shape[1])

    @property
    def dtype(self) -> Any:
        """Type of the counts: 32 bits where they are enough."""
        return np.dtype(f"i{max((width for _, _, width in self.blocks), default=4)}")

    def parts(self) -> Iterator[tuple[Int32s, Integers]]:
        """Yield columns and counts, rows in order."""
        for (first, last), block in zip(pairwise(self.borders), self.blocks, strict=True):
            _, columns, values = _unpacked(self.scratch, block, int(last - first))
            yield columns, values.astype(self.dtype, copy=False)

    def merge(self, shards: list[list[Block]], executor: Executor) -> Tally:
        """Add up the blocks of all shards; that is the tally."""

        def merge(number: int) -> tuple[Int32s, Block]:
            n_rows = int(self.borders[number + 1] - self.borders[number])
            blocks = [shard[number] for shard in shards]
            waiting = [_unpacked(self.scratch, blocks[0], n_rows)]
            if len(blocks) == 1:
                return waiting[0][0], blocks[0]
            for block in blocks[1:]:
                waiting.append(_unpacked(self.scratch, block, n_rows))
                if sum(len(columns) for _, columns, _ in waiting) > _MERGED_PAIRS:
                    waiting = [add_rows(waiting, self.shape[1])]
            total = add_rows(waiting, self.shape[1])
            for key, *_ in blocks:
                self.scratch.drop(key)
            return total[0], _packed(self.scratch, total)

        merged = list(executor.map(merge, range(len(self.borders) - 1)))
        sizes = np.concatenate([sizes for sizes, _ in merged])
        self.indptr = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        self.blocks = [block for _, block in merged]
        return self

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
    corpus: Any,
    *,
    text: str | None = default("text"),
    window: int = default("window"),
    min_count: int = default("min_count"),
    max_vocab: int | None = default("max_vocab"),
    dynamic_window: bool = default("dynamic_window"),
    subsample: float = default("subsample"),
    max_contexts: int | None = default("max_contexts"),
    mark_sides: bool = default("mark_sides"),
    subsample_seed: int = default("subsample_seed"),
    keep_words: Sequence[str] = default("keep_words"),
    phrases: bool = default("phrases"),
    rules: TextRules | None = None,
    executor: Executor | None = None,
    scratch_folder: str | Path | None = None,
    memory: int | str | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
) -> Counts:
    """Count the words of a corpus and the pairs of words at most ``window`` apart within a sentence.

    What comes back has ``matrix`` (V, C) and ``vocabulary``. With ``subsample`` the counts of the vocabulary are still
    those of the text.

    Args:
        corpus: A path (or several), texts, lists of tokens, or a frame or column of texts.
        text: The column of tables and frames.
        window: Words are a pair up to this distance.
        min_count: Rarer words become ``#rare#``.
        max_vocab: Words that are kept at most.
        dynamic_window: A pair at distance d counts in proportion to 1/d.
        subsample: Drop frequent words before windows are made, as word2vec does; 0 keeps all.
        max_contexts: Columns at most; pairs with rarer words are not counted.
        mark_sides: Left neighbours are columns 0 to C - 1, right ones C to 2 C - 1.
        subsample_seed: Which occurrences are dropped.
        keep_words: Words that are kept if they occur at all.
        phrases: Find phrases first, and join them.
        rules: How text becomes words, a ``wordforest.text.TextRules``.
        executor: Where it is counted: ``Threads`` on all cores if None.
        scratch_folder: Where what is beyond ``memory`` lies, in a file without a name.
        memory: Ceiling in bytes, or as 8G, for all but the result; three quarters of the machine's if None.
        on_progress: Called with the stage ("read" or "count"), tokens done, and bytes read or tokens in all.

    Examples:
        >>> import wordforest as wf
        >>> wf.count(["the cat eats", "the dog eats"], window=2, min_count=2)
        Counts(3 words x 3 contexts, 6 pairs)
    """
    windows = WindowRules(window, dynamic_window, subsample, max_contexts, mark_sides, subsample_seed)
    words = WordRules(min_count, max_vocab, tuple(keep_words), phrases)
    rules = rules or TextRules()
    rules = replace(rules, text=text or rules.text)
    most: int | None = OPTIONS["memory"].check(memory)
    with closing(ScratchFiles(scratch_folder, most)) as scratch:
        tally = tally_corpus(corpus, windows, words, rules, scratch, executor=executor, on_progress=on_progress)
        return Counts(tally.matrix(), tally.vocabulary, tally.fingerprint)


def tally_corpus(
    corpus: Any,
    windows: WindowRules,
    words: WordRules,
    rules: TextRules | None,
    scratch: ScratchFiles,
    *,
    executor: Executor | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
    notice: Callable[[str], None] = warn,
) -> Tally:
    """Count a corpus as ``count`` does, and leave the counts in scratch files; named ones may hold a try to resume."""
    report = on_progress or (lambda *_: None)
    executor = executor or Threads()
    if not isinstance(executor, Threads):
        raise InputError("counting into memory needs one machine. Use Threads, or leave the executor out.")
    tokens = read_tokens(
        corpus,
        rules,
        executor=executor,
        scratch=scratch,
        on_progress=lambda done, size: report("read", done, size),
        notice=notice,
    )
    tokens, phrases = with_phrases(tokens, words, rules or TextRules(), scratch, executor)
    vocabulary, rows = choose_words(tokens.words, tokens.counts, words, phrases=phrases)
    counted = 0

    def on_words(n_tokens: int) -> None:
        nonlocal counted
        counted += n_tokens
        report("count", counted, tokens.n_tokens)

    on_words(0)
    tally, ids = Tally(vocabulary, tokens.fingerprint, windows, scratch), tokens.ids
    if windows.subsample:
        scratch.cut("thinned.bin", 0)
        keep = keep_probability(vocabulary.counts, windows.subsample)[rows]
        ids = IdFile(scratch, "thinned.bin")  # windows can be cut from it anywhere
        for stayed, n_dropped in _thinned(tokens.ids, keep, windows.subsample_seed, executor):
            ids.append(stayed)
            if n_dropped:  # a second report of none done would look like a second beginning
                on_words(n_dropped)
    return tally.merge(_count_shards(ids, np.append(rows, np.int32(-1)), tally, executor, on_words), executor)


def with_phrases(
    tokens: Tokens, words: WordRules, rules: TextRules, scratch: ScratchFiles, executor: Executor
) -> tuple[Tokens, tuple[Phrase, ...]]:
    """Return a corpus with phrases joined, those that are known or, where the rules ask for them, that are found."""
    if rules.known_phrases:
        return joined_tokens(tokens, rules.known_phrases, scratch, "joined.bin"), rules.known_phrases
    found: tuple[Phrase, ...] = ()
    for level in range(LEVELS if words.phrases else 0):
        new = _find_phrases(tokens, level, max(LEAST, words.min_count), scratch, executor)
        if not new:
            break
        tokens, found = joined_tokens(tokens, new, scratch, f"joined{level}.bin"), found + new
    return tokens, found


def _find_phrases(
    tokens: Tokens, level: int, least: int, scratch: ScratchFiles, executor: Executor
) -> tuple[Phrase, ...]:
    """Count neighbours, and return which are phrases."""
    if tokens.counts.max(initial=0) < least:
        return ()
    vocabulary, rows = choose_words(tokens.words, tokens.counts, WordRules(least))
    with closing(scratch.apart()) as own:
        tally, lookup = Tally(vocabulary, "", NEIGHBOURS, own), np.append(rows, np.int32(-1))
        tally.merge(_count_shards(tokens.ids, lookup, tally, executor, lambda _: None), executor)
        return choose_phrases(tally, level, least)


def add_counts(tally: Tally, parts: Iterable[tuple[CSR, Int32s]], executor: Executor) -> Tally:
    """Add up window counts, each with the rows of the tally that its words go to, block by block of rows."""
    n_contexts, shards = tally.windows.contexts(len(tally.vocabulary)), []
    for matrix, rows in parts:
        columns = np.where(rows < n_contexts, rows, -1)
        if tally.windows.mark_sides:
            columns = np.concatenate((columns, np.where(columns < 0, -1, columns + n_contexts)))
        shards.append(_renumbered(tally, matrix, rows, columns.astype(np.int32), executor))
    return tally.merge(shards, executor)


def _renumbered(tally: Tally, matrix: CSR, rows: Int32s, columns: Int32s, executor: Executor) -> list[Block]:
    """Return blocks of rows of counts whose row v goes to ``rows[v]``, column c to ``columns[c]``, if that is any."""
    n_rows, n_columns = tally.shape
    order = np.argsort(rows, kind="stable")  # rows of the matrix, by where they go
    starts = np.searchsorted(rows[order], np.arange(n_rows + 1))  # (rows + 1,)
    indptr = matrix.indptr.astype(np.int64)
    sizes = np.concatenate(([0], np.cumsum(np.diff(indptr)[order])))  # pairs before each of them
    csr = (indptr, matrix.indices, matrix.data)

    def gather(block: tuple[int, int]) -> Block:
        most = int(np.minimum(np.diff(sizes[starts[block[0] : block[1] + 1]]), n_columns).sum())
        found = sum_rows(csr, order, starts, block, columns, most, DenseRow.of(n_columns, np.int64))
        let_go(matrix.indices, matrix.data)  # the next rows lie elsewhere
        return _packed(tally.scratch, (found[0], found[1], narrow(found[2])))

    return list(executor.map(gather, pairwise(tally.borders.tolist())))


def _thinned(ids: IdFile, keep: NDArray[np.float64], seed: int, executor: Executor) -> Iterator[tuple[Int32s, int]]:
    """Yield the ids that stay, piece by piece, and how many of each were dropped."""

    def thin(start: int) -> tuple[Int32s, int]:
        piece = ids[start : start + PIECE]
        stayed = kept(piece, start, keep, seed)
        return stayed, len(piece) - len(stayed)

    return executor.map(thin, range(0, len(ids), PIECE))


def _count_shards(
    ids: IdFile, lookup: Int32s, tally: Tally, executor: Executor, on_words: Callable[[int], None]
) -> list[list[Block]]:
    """Count ids shard by shard, as large as memory allows; resume where a try broke off.

    ``lookup`` has the row of every id, and last that of a border. Returns the blocks of every shard.
    """
    scratch, notes = tally.scratch, tally.scratch.notes()
    size = next((note["shards"] for note in notes if "shards" in note), 0)
    if not size:
        # ids as they come, renumbered and by position take 12 bytes a token; several shards a worker share the work
        fits, fair = scratch.memory // (4 * 12 * executor.n_workers), -(-len(ids) // (2 * executor.n_workers))
        size = min(max(fits, _LEAST_SHARD), SHARD_TOKENS, max(fair, _LEAST_SHARD))
        scratch.note({"shards": size})
    known: dict[int, list[Block]] = {note["shard"]: note["blocks"] for note in notes if "shard" in note}

    def counted(start: int) -> tuple[int, list[Block], int]:
        if start in known:
            return start, known[start], 0
        return start, *_count_shard(start, min(start + size, len(ids)), ids, lookup, tally)

    shards = []
    for start, blocks, n_tokens in executor.map(counted, range(0, len(ids), size)):
        shards.append(blocks)
        if start not in known and all(key >= 0 for key, *_ in blocks):
            scratch.note({"shard": start, "blocks": blocks})
        on_words(n_tokens)
    return shards


def _count_shard(start: int, stop: int, ids: IdFile, lookup: Int32s, tally: Tally) -> tuple[list[Block], int]:
    """Count around ids[start:stop]; return the blocks of rows, and how many tokens were counted."""
    weights = tally.windows.weights(len(ids))
    margin = len(weights)
    low, high = max(0, start - margin), min(len(ids), stop + margin)
    borders = (low - start + margin, stop + margin - high)  # before the first id and behind the last
    rows = np.pad(lookup[ids[low:high]], borders, constant_values=-1)
    found = count_blocks(rows, tally.shape[0], tally.windows, weights, tally.borders)
    blocks = [_packed(tally.scratch, block) for block in found]
    return blocks, int(np.count_nonzero(rows[margin : margin + stop - start] >= 0))


def _packed(scratch: ScratchFiles, rows: Rows) -> Block:
    """Keep the counts of a block of rows."""
    sizes, columns, values = rows
    part = np.concatenate([array.view(np.uint8) for array in (sizes, columns, values)])
    return scratch.put(part), len(columns), values.itemsize


def _unpacked(scratch: ScratchFiles, block: Block, n_rows: int) -> Rows:
    key, n, width = block
    part = scratch.get(key, 4 * n_rows + (4 + width) * n)
    numbers, values = part[: 4 * (n_rows + n)].view(np.int32), part[4 * (n_rows + n) :]
    return numbers[:n_rows], numbers[n_rows:], values.view(f"i{width}")
