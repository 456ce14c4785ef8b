"""Counting on a cluster: workers read the text themselves; the client holds words and one block of counts.

The first pass finds the words, and their counts are merged as a tree. The second counts pairs by groups of rows: what
spans of text found is added up as a tree, and a text whose ids all fit into every worker is not cut into spans at all.
All are integers, so sums are those of one machine.
For the second pass the text is read again, unless it is small beside the memory of the workers.
"""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.rows.base import equal_ranges
from wordforest.counts.phrases import LEAST, LEVELS, NEIGHBOURS, choose_phrases
from wordforest.counts.windows import Rows, WindowRules, add_rows, count_blocks, keep_probability, kept, row_blocks
from wordforest.errors import InputError
from wordforest.runtime.cluster import Cluster
from wordforest.settings import CountSettings
from wordforest.text import RARE, TextRules, Vocabulary, choose_words
from wordforest.text.phrases import Phrase
from wordforest.text.reader import total_bytes
from wordforest.text.spans import Span, SpanTokens, cut_spans, read_span
from wordforest.text.tokens import tell_clauses

_SLICE = 1 << 22  # pairs that travel at a time: Dask cuts what is above 64 MiB, and copies it
_FAN_IN = 8  # parts that one task merges
_KEPT_SHARE = 8  # tokens of a span stay with a worker as long as the text is this many times smaller than all memory
_MOST_IDS = 1 << 26  # that a task counts at a time
_BYTES_PER_ID = 64  # of memory that a worker should have to count them all
Text: TypeAlias = "SpanTokens | tuple[Span, TextRules]"
Blocks: TypeAlias = "tuple[int, list[Rows]]"  # tokens counted, and their pairs by blocks of rows
Progress = Callable[[str, int, int], None]


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
    shape: tuple[int, int]
    indptr: NDArray[np.int64]
    dtype: Any
    cluster: Cluster
    groups: list[tuple[Any, int]] = field(repr=False)  # handles, and how many pairs each has

    def parts(self) -> Iterator[tuple[NDArray[np.int32], NDArray[Any]]]:
        """Yield columns and counts of one group after the other, some pairs at a time."""
        slices = deque(
            self.cluster.submit(_slice_of, group, start, near=group)
            for group, n in self.groups
            for start in range(0, n, _SLICE)
        )
        while slices:
            yield self.cluster.get(slices.popleft())


def tally_on_cluster(
    sources: list[str],
    settings: CountSettings,
    rules: TextRules,
    cluster: Cluster,
    on_progress: Progress,
    notice: Callable[[str], None],
) -> ClusterTally:
    """Count a corpus on a cluster; ``on_progress`` and ``notice`` hear what ``tally_corpus`` would say."""
    if settings.phrases and not rules.known_phrases:
        rules = replace(rules, known_phrases=_find_phrases(sources, settings, rules, cluster))
    texts = _texts(cut_spans(sources), rules, cluster, total_bytes(sources))
    words, starts, fingerprint = _find_words(texts, cluster, on_progress)
    n_tokens, n_counted = words.total(), 0
    counts = np.array([*words.values()], dtype=np.int64)
    tell_clauses([*words], counts, rules, notice)
    vocabulary, _ = choose_words([*words], counts, settings.words, phrases=rules.known_phrases)
    del words

    def on_counted(n: int) -> None:
        nonlocal n_counted
        n_counted += n
        on_progress("count", n_counted, n_tokens)

    on_counted(0)
    windows, n_columns = settings.windows, settings.windows.columns(len(vocabulary))
    borders = row_blocks(vocabulary.counts, 2 * min(windows.window, starts[-1]), n_columns)
    groups = _count_pairs(texts, starts, Plan(windows, vocabulary, borders), cluster, on_counted)
    shapes = cluster.collect([cluster.submit(_shape_of, group) for group in groups])
    on_counted(n_tokens - n_counted)
    indptr = np.concatenate(([0], np.cumsum(np.concatenate([sizes for sizes, _ in shapes]), dtype=np.int64)))
    sized = [(group, int(sizes.sum())) for group, (sizes, _) in zip(groups, shapes, strict=True)]
    dtype = np.dtype(f"i{max(width for _, width in shapes)}")
    return ClusterTally(vocabulary, fingerprint, (len(vocabulary), n_columns), indptr, dtype, cluster, sized)


def _find_phrases(
    sources: list[str], settings: CountSettings, rules: TextRules, cluster: Cluster
) -> tuple[Phrase, ...]:
    """Return the phrases of a corpus, level by level; the text is read anew for each."""
    least = max(LEAST, settings.min_count)
    neighbours = CountSettings(NEIGHBOURS.window, least, mark_sides=NEIGHBOURS.mark_sides)
    found: tuple[Phrase, ...] = ()
    for level in range(LEVELS):
        rules = replace(rules, known_phrases=found)
        try:
            tally = tally_on_cluster(sources, neighbours, rules, cluster, lambda *_: None, lambda _: None)
        except InputError:  # no word is frequent enough; or the text is bad, as counting it will say
            break
        new = choose_phrases(tally, level, least)
        found += new
        if not new:
            break
    return found


def _texts(spans: list[Span], rules: TextRules, cluster: Cluster, size: int | None) -> list[Any]:
    """Return what gives the tokens of each span: workers keep them where there is room, else they read again."""
    memory = cluster.least_memory()
    fits = memory is None or (size is not None and size * _KEPT_SHARE < memory * cluster.n_workers)
    return cluster.spread(read_span, [(span, rules) for span in spans]) if fits else [(span, rules) for span in spans]


def _find_words(texts: list[Any], cluster: Cluster, on_progress: Progress) -> tuple[Counter[str], list[int], str]:
    """Return the words of all spans, the number of ids before each span, and a hash of the text."""
    tasks = [cluster.submit(_words_of, text) for text in texts]
    facts: list[Any] = [None] * len(texts)
    tokens = size = 0
    for i, found in cluster.each([cluster.submit(itemgetter(1), task) for task in tasks]):
        facts[i] = found
        tokens, size = tokens + found[0], size + found[1]
        on_progress("read", tokens, size)
    if not tokens:
        raise InputError("the corpus holds no words. Check the path and the --tokenizer.")
    words = cluster.get(_tree(cluster, _merge_words, [cluster.submit(itemgetter(0), task) for task in tasks]))
    starts = np.concatenate(([0], np.cumsum([n_ids for _, _, n_ids, _ in facts]))).tolist()
    digests = [digest for *_, digest in facts]
    joined = "spans-" + hashlib.sha256("".join(digests).encode()).hexdigest()
    return words, starts, digests[0] if len(digests) == 1 else joined


def _count_pairs(
    texts: list[Any], starts: list[int], plan: Plan, cluster: Cluster, on_counted: Callable[[int], None]
) -> list[Any]:
    """Have pairs counted; return handles of groups of rows.

    Where every worker has room for all ids, each counts some rows of the whole text, and nothing is left to be added
    up. Else each counts all rows of some spans, the fewer the better.
    """
    memory, n_blocks = cluster.least_memory(), len(plan.borders) - 1
    shared = cluster.submit(copy, plan)  # not put: what is lost can be made again from tasks alone
    at_once = starts[-1] <= _MOST_IDS and (memory is None or starts[-1] * _BYTES_PER_ID < memory)
    if at_once:
        cuts = equal_ranges(np.add.reduceat(plan.vocabulary.counts, plan.borders[:-1]) + 1, cluster.n_workers)
        ids = [cluster.submit(_rows_of, text, shared) for text in texts]
        tasks = cluster.spread(_count_blocks, [(ids, 0, shared, cut) for cut in cuts])
    else:
        n = max(cluster.n_workers, -(-starts[-1] // _MOST_IDS))
        spans = equal_ranges(np.diff(starts).astype(np.int64) + 1, n)
        tasks = cluster.spread(_count_blocks, [(texts[a:b], starts[a], shared, (0, n_blocks)) for a, b in spans])
    sizes: list[Any] = []
    for _, (n_tokens, found) in cluster.each([cluster.submit(_sizes_of, task, near=task) for task in tasks]):
        sizes.append(found)
        on_counted(n_tokens)
    if at_once:
        return [cluster.submit(_group_of, task, near=task) for task in tasks]
    cuts = equal_ranges(np.sum(sizes, axis=0) + 1, cluster.n_parts)  # that take about equally long to add up
    pieces = [[cluster.submit(_group_of, task, *cut, near=task) for task in tasks] for cut in cuts]
    n_columns = plan.windows.columns(len(plan.vocabulary))
    return [_tree(cluster, partial(_merge_rows, n_columns), own) for own in pieces]


def _tree(cluster: Cluster, merge: Callable[[list[Any]], Any], handles: list[Any]) -> Any:
    """Merge values on the cluster, some at a time."""
    while len(handles) > 1:
        cuts = equal_ranges(np.ones(len(handles), dtype=np.int64), -(-len(handles) // _FAN_IN))
        handles = [cluster.submit(merge, handles[a:b]) for a, b in cuts]
    return handles[0]


def _tokens(text: Text) -> SpanTokens:
    return text if isinstance(text, SpanTokens) else read_span(*text)


def _words_of(text: Text) -> tuple[Counter[str], tuple[int, int, int, str]]:
    """Return the words of a span, and: tokens, bytes, ids, hash."""
    tokens = _tokens(text)
    words = Counter(dict(zip(tokens.words, tokens.counts.tolist(), strict=True)))
    return words, (words.total(), tokens.n_bytes, len(tokens.ids), tokens.digest)


def _merge_words(parts: list[Counter[str]]) -> Counter[str]:
    total = Counter[str]()
    for part in parts:
        total.update(part)
    return total


def _rows_of(text: Text | NDArray[np.int32], plan: Plan) -> NDArray[np.int32]:
    """Return the rows of the words of a span, one after the other; rows stay as they are."""
    if isinstance(text, np.ndarray):
        return text
    tokens, index = _tokens(text), plan.vocabulary.index
    rare = index.get(RARE, -1)
    return np.array([*(index.get(word, rare) for word in tokens.words), -1], dtype=np.int32)[tokens.ids]


def _count_blocks(texts: list[Any], start: int, plan: Plan, blocks: tuple[int, int]) -> Blocks:
    """Count the pairs of some spans in a range of blocks of rows.

    ``start`` is how many ids come before them in the corpus: by its place there a token is dropped, or not.
    """
    rows = np.concatenate([_rows_of(text, plan) for text in texts])
    vocabulary, windows = plan.vocabulary, plan.windows
    if windows.subsample:
        rows = kept(rows, start, keep_probability(vocabulary.counts, windows.subsample), windows.subsample_seed)
    weights, borders = windows.weights(max(len(rows), 1)), plan.borders[blocks[0] : blocks[1] + 1]
    pad = np.full(len(weights), -1, dtype=np.int32)
    padded = np.concatenate((pad, rows, pad))
    n_tokens = np.count_nonzero((rows >= borders[0]) & (rows < borders[-1]))
    return int(n_tokens), list(count_blocks(padded, len(vocabulary), windows, weights, borders))


def _sizes_of(counted: Blocks) -> tuple[int, NDArray[np.int64]]:
    """Return the tokens, and the pairs of every block of rows."""
    return counted[0], np.array([len(columns) for _, columns, _ in counted[1]])


def _group_of(counted: Blocks, first: int = 0, last: int | None = None) -> Rows:
    """Return some blocks of rows as one."""
    sizes, columns, values = (np.concatenate(parts) for parts in zip(*counted[1][first:last], strict=True))
    return sizes, columns, values


def _merge_rows(n_columns: int, parts: list[Rows]) -> Rows:
    return parts[0] if len(parts) == 1 else add_rows(parts, n_columns)


def _slice_of(rows: Rows, start: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return columns and counts of a group from a pair on, at most so many that they travel in one piece."""
    _, columns, values = rows
    return columns[start : start + _SLICE], values[start : start + _SLICE]


def _shape_of(rows: Rows) -> tuple[NDArray[np.int32], int]:
    """Return the sizes of the rows of a group, and how many bytes a count takes."""
    return rows[0], rows[2].itemsize
