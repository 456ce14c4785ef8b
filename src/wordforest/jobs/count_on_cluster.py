"""Counting on a cluster: workers read the text themselves; the client holds words and one block of counts.

The first pass finds the words, and their counts are merged as a tree. The second counts pairs by groups of rows: what
spans of text found is added up as a tree, and a text whose ids all fit into every worker is not cut into spans at all.
All are integers, so sums are those of one machine.
For the second pass the text is read again, unless it is small beside the memory of the workers.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.rows.shards import equal_ranges
from wordforest.counts.thinning import keep_probability, kept
from wordforest.counts.windows import Rows, WindowRules, add_rows, count_blocks, row_blocks
from wordforest.errors import InputError
from wordforest.runtime.cluster import Cluster, Sized
from wordforest.settings import CountSettings
from wordforest.text import RARE, TextRules, Vocabulary, choose_words
from wordforest.text.reader import total_bytes
from wordforest.text.spans import Span, SpanTokens, cut_spans, read_span

_SLICE = 1 << 22  # pairs that travel at a time: Dask cuts what is above 64 MiB, and copies it
_FAN_IN = 8  # parts that one task merges
_KEPT_SHARE = 8  # tokens of a span stay with a worker as long as the text is this many times smaller than all memory
_MOST_IDS = 1 << 26  # that a task counts at a time
_BYTES_PER_ID = 64  # of memory that a worker should have to count them all
Text: TypeAlias = "SpanTokens | tuple[Span, TextRules]"
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class SpanWords(Sized):
    """The words of a part of the text and how often they occur."""

    words: list[str]
    counts: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Plan:
    """All that counting the pairs of a span needs beside its text."""

    windows: WindowRules
    vocabulary: Vocabulary
    borders: NDArray[np.int64]  # of blocks of rows


@dataclass(frozen=True, eq=False)
class ClusterTally:
    """Window counts in the memory of workers, by groups of rows."""

    vocabulary: Vocabulary
    fingerprint: str
    cluster: Cluster
    shape: tuple[int, int]
    indptr: NDArray[np.int64]
    dtype: Any
    groups: list[Any] = field(repr=False)  # handles
    rows: list[tuple[int, int]]  # of each group

    def parts(self) -> Iterator[tuple[NDArray[np.int32], NDArray[Any]]]:
        """Yield columns and counts of one group after the other, some pairs at a time."""
        sizes = [int(self.indptr[last] - self.indptr[first]) for first, last in self.rows]
        slices = deque(
            self.cluster.submit(_slice_of, group, start, near=group)
            for group, n in zip(self.groups, sizes, strict=True)
            for start in range(0, n, _SLICE)
        )
        while slices:
            yield self.cluster.get(slices.popleft())


def tally_on_cluster(
    sources: list[str], settings: CountSettings, cluster: Cluster, on_progress: Progress
) -> ClusterTally:
    """Count a corpus on a cluster; ``on_progress`` hears what ``tally_corpus`` would say."""
    texts = _texts(cut_spans(sources), settings.rules, cluster, total_bytes(sources))
    words, starts, fingerprint = _find_words(texts, cluster, on_progress)
    vocabulary, _ = choose_words(words.words, words.counts, settings.words)
    n_tokens = int(words.counts.sum())
    del words
    on_progress("count", 0, n_tokens)
    tally = _count_pairs(
        texts, starts, vocabulary, fingerprint, settings, cluster, partial(on_progress, "count"), n_tokens
    )
    on_progress("count", n_tokens, n_tokens)
    return tally


def _texts(spans: list[Span], rules: TextRules, cluster: Cluster, size: int | None) -> list[Any]:
    """Return what gives the tokens of each span: workers keep them where there is room, else they read again."""
    memory = cluster.least_memory()
    fits = memory is None or (size is not None and size * _KEPT_SHARE < memory * cluster.n_workers)
    return cluster.spread(read_span, [(span, rules) for span in spans]) if fits else [(span, rules) for span in spans]


def _find_words(texts: list[Any], cluster: Cluster, on_progress: Progress) -> tuple[SpanWords, list[int], str]:
    """Return the words of all spans, the number of ids before each span, and a hash of the text."""
    tasks = [cluster.submit(_words_of, text) for text in texts]
    facts: list[Any] = [None] * len(texts)
    tokens = size = 0
    for i, found in cluster.each([cluster.submit(_facts_of, task) for task in tasks]):
        facts[i] = found
        tokens, size = tokens + found[0], size + found[1]
        on_progress("read", tokens, size)
    if not tokens:
        raise InputError("the corpus holds no words. Check the path and the --tokenizer.")
    words = cluster.get(_tree(cluster, _merge_words, [cluster.submit(_only_words, task) for task in tasks]))
    starts = np.concatenate(([0], np.cumsum([n_ids for _, _, n_ids, _ in facts]))).tolist()
    digests = [digest for *_, digest in facts]
    joined = "spans-" + hashlib.sha256("".join(digests).encode()).hexdigest()
    return words, starts, digests[0] if len(digests) == 1 else joined


def _count_pairs(
    texts: list[Any], starts: list[int], vocabulary: Vocabulary, fingerprint: str,
    settings: CountSettings, cluster: Cluster, on_tokens: Callable[[int, int], None], n_tokens: int,
) -> ClusterTally:  # fmt: skip
    """Have pairs counted by groups of rows: each at once where every worker has room for all ids, else span by span."""
    windows = settings.windows
    V, C = len(vocabulary), windows.columns(len(vocabulary))
    plan = Plan(windows, vocabulary, row_blocks(vocabulary.counts, 2 * min(windows.window, starts[-1]), C))
    memory, done = cluster.least_memory(), 0

    def on_counted(n: int) -> None:
        nonlocal done
        done += n
        on_tokens(min(done, n_tokens - 1), n_tokens)

    at_once = starts[-1] <= _MOST_IDS and (memory is None or starts[-1] * _BYTES_PER_ID < memory)
    groups = (_count_at_once if at_once else _count_spans)(texts, starts, plan, cluster, on_counted)
    shapes: list[Any] = [None] * len(groups)
    for g, found in cluster.each([cluster.submit(_shape_of, group) for group in groups]):
        shapes[g] = found
    indptr = np.concatenate(([0], np.cumsum(np.concatenate([sizes for sizes, _ in shapes]), dtype=np.int64)))
    rows = list(pairwise(np.cumsum([0, *(len(sizes) for sizes, _ in shapes)]).tolist()))
    dtype = np.dtype(f"i{max(width for _, width in shapes)}")
    return ClusterTally(vocabulary, fingerprint, cluster, (V, C), indptr, dtype, groups, rows)


def _count_at_once(
    texts: list[Any], _: list[int], plan: Plan, cluster: Cluster, on_counted: Callable[[int], None]
) -> list[Any]:
    """Send all ids to every worker, which counts its groups of rows to the end: nothing is left to be added up."""
    counts, borders = plan.vocabulary.counts, plan.borders
    seen = np.add.reduceat(counts, borders[:-1])  # occurrences of the words of every block
    cuts = equal_ranges(seen + 1, cluster.n_workers)
    shared = cluster.submit(_same, plan)  # not put: what is lost can be made again from tasks alone
    ids = [cluster.submit(_numbers_of, text, shared) for text in texts]
    groups = cluster.spread(_rows_at_once, [(ids, shared, cut) for cut in cuts])
    for g, _ in cluster.each([cluster.submit(_shape_of, group) for group in groups]):
        on_counted(int(seen[slice(*cuts[g])].sum()))
    return groups


def _count_spans(
    texts: list[Any], starts: list[int], plan: Plan, cluster: Cluster, on_counted: Callable[[int], None]
) -> list[Any]:
    """Have every worker count all rows in some spans, then add them up by groups of rows."""
    shared = cluster.submit(_same, plan)
    spans = _together(starts, cluster.n_workers)
    tasks = cluster.spread(_pairs_of, [(texts[a:b], starts[a], shared) for a, b in spans])
    pairs = np.zeros(len(plan.borders) - 1, dtype=np.int64)
    for _, (n, found) in cluster.each([cluster.submit(_sizes_of, task, near=task) for task in tasks]):
        pairs += found
        on_counted(n)
    cuts = equal_ranges(pairs + 1, cluster.n_parts)  # groups of blocks that take about equally long to add up
    pieces = [[cluster.submit(_group_of, task, *cut, near=task) for task in tasks] for cut in cuts]
    n_columns = plan.windows.columns(len(plan.vocabulary))
    return [_tree(cluster, partial(_merge_rows, n_columns), own) for own in pieces]


def _together(starts: list[int], n: int) -> list[tuple[int, int]]:
    """Put small spans together, so that there are about n to count: the fewer there are, the less is added up."""
    return equal_ranges(np.diff(starts).astype(np.int64) + 1, max(n, -(-starts[-1] // _MOST_IDS)))


def _tree(cluster: Cluster, merge: Callable[[list[Any]], Any], handles: list[Any]) -> Any:
    """Merge values on the cluster, some at a time."""
    while len(handles) > 1:
        cuts = equal_ranges(np.ones(len(handles), dtype=np.int64), -(-len(handles) // _FAN_IN))
        handles = [cluster.submit(merge, handles[a:b]) for a, b in cuts]
    return handles[0]


def _same(plan: Plan) -> Plan:
    return plan


def _tokens(text: Text) -> SpanTokens:
    return text if isinstance(text, SpanTokens) else read_span(*text)


def _words_of(text: Text) -> tuple[SpanWords, tuple[int, int, int, str]]:
    """Return the words of a span, and: tokens, bytes, ids, hash."""
    tokens = _tokens(text)
    facts = (int(tokens.counts.sum()), tokens.n_bytes, len(tokens.ids), tokens.digest)
    return SpanWords(tokens.words, tokens.counts), facts


def _facts_of(found: tuple[SpanWords, tuple[int, int, int, str]]) -> tuple[int, int, int, str]:
    return found[1]


def _only_words(found: tuple[SpanWords, tuple[int, int, int, str]]) -> SpanWords:
    return found[0]


def _merge_words(parts: list[SpanWords]) -> SpanWords:
    index: dict[str, int] = {}
    places = [np.array([index.setdefault(word, len(index)) for word in part.words], dtype=np.int64) for part in parts]
    counts = np.zeros(len(index), dtype=np.int64)
    for part, place in zip(parts, places, strict=True):
        counts[place] += part.counts
    return SpanWords([*index], counts)


def _numbers_of(text: Text, plan: Plan) -> NDArray[np.int32]:
    """Return the rows of the words of a span, one after the other."""
    return _rows_of(_tokens(text), plan.vocabulary)


def _rows_at_once(numbers: list[NDArray[np.int32]], plan: Plan, blocks: tuple[int, int]) -> Rows:
    """Count the pairs of some blocks of rows in the whole text."""
    return _joined(_count_blocks(np.concatenate(numbers), 0, plan, *blocks))


def _pairs_of(texts: list[Text], start: int, plan: Plan) -> tuple[int, list[Rows]]:
    """Count the pairs of some spans; return their tokens, and columns and counts by blocks of rows.

    ``start`` is how many ids come before them in the corpus: by its place there a token is dropped, or not.
    """
    rows = np.concatenate([_numbers_of(text, plan) for text in texts])
    return int(np.count_nonzero(rows >= 0)), _count_blocks(rows, start, plan, 0, len(plan.borders) - 1)


def _count_blocks(rows: NDArray[np.int32], start: int, plan: Plan, first: int, last: int) -> list[Rows]:
    vocabulary, windows = plan.vocabulary, plan.windows
    if windows.subsample:
        rows = kept(rows, start, keep_probability(vocabulary.counts, windows.subsample), windows.subsample_seed)
    weights = windows.weights(max(len(rows), 1))
    pad = np.full(len(weights), -1, dtype=np.int32)
    padded = np.concatenate((pad, rows, pad))
    return list(count_blocks(padded, len(vocabulary), windows, weights, plan.borders[first : last + 1]))


def _rows_of(tokens: SpanTokens, vocabulary: Vocabulary) -> NDArray[np.int32]:
    rare = vocabulary.index.get(RARE, -1)
    lookup = np.array([*(vocabulary.index.get(word, rare) for word in tokens.words), -1], dtype=np.int32)
    return lookup[tokens.ids]


def _joined(blocks: list[Rows]) -> Rows:
    sizes, columns, values = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return sizes, columns, values


def _sizes_of(counted: tuple[int, list[Rows]]) -> tuple[int, NDArray[np.int64]]:
    """Return the tokens, and the pairs of every block of rows."""
    return counted[0], np.array([len(columns) for _, columns, _ in counted[1]])


def _group_of(counted: tuple[int, list[Rows]], first: int, last: int) -> Rows:
    return _joined(counted[1][first:last])


def _merge_rows(n_columns: int, parts: list[Rows]) -> Rows:
    return parts[0] if len(parts) == 1 else add_rows(parts, n_columns)


def _slice_of(rows: Rows, start: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return columns and counts of a group from a pair on, at most so many that they travel in one piece."""
    _, columns, values = rows
    return columns[start : start + _SLICE], values[start : start + _SLICE]


def _shape_of(rows: Rows) -> tuple[NDArray[np.int32], int]:
    """Return the sizes of the rows of a group, and how many bytes a count takes."""
    return rows[0], rows[2].itemsize
