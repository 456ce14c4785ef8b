from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from tests.reference import window_counts
from wordforest.counts import Counts, WindowRules, count, harmonic_weights, keep_probability
from wordforest.counts import tally as counts_module
from wordforest.counts import windows as windows_module
from wordforest.counts.association import pmi
from wordforest.errors import InputError
from wordforest.runtime.machine import Threads
from wordforest.settings import CountSettings
from wordforest.text import RARE, read_tokens

N_WORDS = 6
id_sentences = st.lists(st.lists(st.integers(0, N_WORDS - 1), max_size=12), max_size=6)
windows = st.integers(1, 7)
word_sentences = st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=8), min_size=1, max_size=6)


def stream(sentences: list[list[int]]) -> np.ndarray:
    """Sentences as one array of ids, -1 between them."""
    return np.array([i for sentence in sentences for i in [*sentence, -1]][:-1], dtype=np.int32)


def reference(sentences: list[list[int]], window: int, n_words: int = N_WORDS) -> np.ndarray:
    dense = np.zeros((n_words, n_words), dtype=np.int64)
    for pair, n in window_counts(sentences, window).items():
        dense[pair] = n
    return dense


def write(folder: Path, sentences: list[list[str]], name: str = "corpus.txt") -> Path:
    path = folder / name
    path.write_text("\n".join(map(" ".join, sentences)))
    return path


def as_dict(counts: Counts) -> dict[tuple[str, str], int]:
    words, matrix = counts.vocabulary.words, counts.matrix.tocoo()
    pairs = zip(matrix.row.tolist(), matrix.col.tolist(), matrix.data.tolist(), strict=True)
    return {(words[v], words[c]): n for v, c, n in pairs}


def assert_same_arrays(a: sparse.csr_array, b: sparse.csr_array) -> None:
    for name in ("indptr", "indices", "data"):
        assert getattr(a, name).dtype == getattr(b, name).dtype
        assert getattr(a, name).tolist() == getattr(b, name).tolist()


def count_windows(
    ids: np.ndarray, n_words: int, window: int, *, dynamic_window: bool = False, centres: slice = slice(None)
) -> sparse.csr_array:
    """Pairs at most a window apart in all ids; rows are words at the positions ``centres``."""
    rules = WindowRules(window, dynamic_window)
    weights = rules.weights(len(ids))
    first, last, _ = centres.indices(len(ids))
    pad = np.full(len(weights), -1, dtype=np.int32)
    padded = np.concatenate((pad, ids, pad))[first : last + 2 * len(pad)]
    seen = np.bincount(ids[first:last][ids[first:last] >= 0], minlength=n_words)
    borders = windows_module.row_blocks(seen, 2 * len(weights), n_words)
    blocks = list(windows_module.count_blocks(padded, n_words, rules, weights, borders))
    return as_matrix(tuple(map(np.concatenate, zip(*blocks, strict=True))), n_words)


def as_matrix(rows: windows_module.Rows, n_columns: int) -> sparse.csr_array:
    sizes, columns, values = rows
    indptr = windows_module.narrow(np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))))
    return sparse.csr_array((values, columns, indptr), shape=(len(sizes), n_columns))


def add_counts(*parts: sparse.csr_array) -> sparse.csr_array:
    """What ``add_rows`` makes of matrices of one shape."""
    rows = [(np.diff(part.indptr).astype(np.int32), part.indices, part.data) for part in parts]
    return as_matrix(windows_module.add_rows(rows, parts[0].shape[1]), parts[0].shape[1])


def assert_canonical(matrix: sparse.csr_array) -> None:
    """Sorted columns, each once, no stored zero; worked out anew, since SciPy remembers its flags."""
    fresh = sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
    assert fresh.has_canonical_format
    assert (matrix.data > 0).all()


# ---- windows over ids


def test_windows_by_hand() -> None:
    matrix = count_windows(np.array([0, 1, 2, 0, -1, 1, 1], dtype=np.int32), 3, window=2)
    assert matrix.toarray().tolist() == [[0, 2, 2], [2, 2, 1], [2, 1, 0]]


@given(id_sentences, windows, st.sampled_from([1, 7, 1 << 20]))
@settings(deadline=None)
def test_counts_equal_the_slow_reference(sentences: list[list[int]], window: int, n_pairs: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows_module, "BLOCK_PAIRS", n_pairs)  # in one block all words share a dense row
        matrix = count_windows(stream(sentences), N_WORDS, window)
    assert matrix.toarray().tolist() == reference(sentences, window).tolist()


@given(id_sentences, windows)
@settings(deadline=None)
def test_counts_are_symmetric_and_canonical(sentences: list[list[int]], window: int) -> None:
    matrix = count_windows(stream(sentences), N_WORDS, window)
    assert_canonical(matrix)
    assert_same_arrays(matrix, matrix.T.tocsr())


@given(id_sentences, windows, st.lists(st.integers(0, 80), max_size=4))
@settings(deadline=None)
def test_counts_of_adjoining_slices_add_up(sentences: list[list[int]], window: int, cuts: list[int]) -> None:
    ids = stream(sentences)
    borders = [0, *sorted(min(cut, len(ids)) for cut in cuts), len(ids)]
    total = sparse.csr_array((N_WORDS, N_WORDS), dtype=np.int32)
    for start, end in pairwise(borders):
        total = add_counts(total, count_windows(ids, N_WORDS, window, centres=slice(start, end)))
    assert_canonical(total)
    assert_same_arrays(total, count_windows(ids, N_WORDS, window))


def test_a_larger_stream_equals_the_sum_of_shifted_pairs() -> None:
    rng = np.random.default_rng(1)
    ids = np.minimum(rng.zipf(1.3, 20_000) - 1, 3000).astype(np.int32)  # one sentence
    pairs = [(ids[:-d], ids[d:]) for d in (1, 2, 3)]
    one_sided = sum(sparse.coo_array((np.ones(len(a), int), (a, b)), shape=(3001, 3001)).tocsr() for a, b in pairs)
    assert (count_windows(ids, 3001, 3) != one_sided + one_sided.T).nnz == 0


def test_a_long_row_outgrows_the_first_buffers() -> None:
    n = 150_000  # one word beside 150,000 others: two doublings of 2^16
    ids = np.zeros(2 * n, dtype=np.int32)
    ids[1::2] = np.arange(1, n + 1)
    matrix = count_windows(ids, n + 1, 1)
    assert_canonical(matrix)
    assert matrix.indptr[1] == n
    assert matrix.data[:n].tolist() == [2] * (n - 1) + [1]


def test_words_that_never_occur_have_empty_rows() -> None:
    matrix = count_windows(np.array([3, 5], dtype=np.int32), 100, 1)
    assert np.flatnonzero(np.diff(matrix.indptr)).tolist() == [3, 5]


def test_only_borders_give_an_empty_matrix() -> None:
    assert count_windows(np.full(4, -1, dtype=np.int32), 3, 2).nnz == 0


def test_the_ids_are_not_changed() -> None:
    ids = np.array([0, 1, -1, 2, 2, 0], dtype=np.int32)
    before = ids.copy()
    count_windows(ids, 3, 2)
    assert ids.tolist() == before.tolist()


def test_a_window_wider_than_memory_means_the_whole_sentence() -> None:
    ids = np.array([0, 1, -1, 2, 2, 0], dtype=np.int32)
    assert_same_arrays(count_windows(ids, 3, 10**15), count_windows(ids, 3, 3))


# ---- dynamic windows


def harmonic_reference(sentences: list[list[Any]], window: int) -> Counter[tuple[Any, Any]]:
    """Sums of 1/distance over all pairs, exact, times the least common multiple of all distances."""
    pairs: Counter[tuple[Any, Any]] = Counter()
    for sentence in sentences:
        for i, word in enumerate(sentence):
            for j, context in enumerate(sentence):
                if i != j and abs(i - j) <= window:
                    pairs[word, context] += Fraction(math.lcm(*range(1, window + 1)), abs(i - j))
    return pairs


@pytest.mark.parametrize(
    ("window", "weights"), [(1, [1]), (2, [2, 1]), (3, [6, 3, 2]), (4, [12, 6, 4, 3]), (5, [60, 30, 20, 15, 12])]
)
def test_harmonic_weights_by_hand(window: int, weights: list[int]) -> None:
    assert harmonic_weights(window).tolist() == weights


@pytest.mark.parametrize("window", range(1, 17))
def test_harmonic_weights_are_the_smallest_integers_in_proportion_to_1_over_distance(window: int) -> None:
    weights = harmonic_weights(window).tolist()
    assert len({weight * d for d, weight in enumerate(weights, 1)}) == 1
    assert math.gcd(*weights) == 1


def test_the_widest_dynamic_window_leaves_room_for_a_million_million_tokens() -> None:
    assert 2 * sum(harmonic_weights(16).tolist()) * 10**12 < 2**63


def test_dynamic_windows_by_hand() -> None:
    ids = np.array([0, 1, 2, 0, -1, 1, 1], dtype=np.int32)  # 2 beside each other, 1 with a word between
    matrix = count_windows(ids, 3, 2, dynamic_window=True)
    assert matrix.toarray().tolist() == [[0, 3, 3], [3, 4, 2], [3, 2, 0]]


@given(id_sentences, st.integers(1, 16), st.sampled_from([1, 7, 1 << 20]))
@settings(deadline=None)
def test_dynamic_counts_equal_the_slow_reference(sentences: list[list[int]], window: int, n_pairs: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows_module, "BLOCK_PAIRS", n_pairs)
        matrix = count_windows(stream(sentences), N_WORDS, window, dynamic_window=True)
    assert_canonical(matrix)
    pairs = harmonic_reference(sentences, window)
    assert matrix.toarray().tolist() == [[pairs[v, c] for c in range(N_WORDS)] for v in range(N_WORDS)]


def test_a_dynamic_window_of_one_is_a_plain_one() -> None:
    ids = np.random.default_rng(2).integers(-1, 50, 2000).astype(np.int32)
    assert_same_arrays(count_windows(ids, 50, 1, dynamic_window=True), count_windows(ids, 50, 1))


def test_dynamic_counts_past_32_bits_are_exact() -> None:
    n, weights = 5000, harmonic_weights(16).tolist()
    matrix = count_windows(np.zeros(n, dtype=np.int32), 2, 16, dynamic_window=True)
    expected = sum(2 * (n - d) * weight for d, weight in enumerate(weights, 1))
    assert expected > 2**31
    assert matrix.dtype == np.int64
    assert matrix.toarray().tolist() == [[expected, 0], [0, 0]]


def test_a_block_past_32_bits_leaves_other_blocks_right() -> None:
    ids = np.concatenate((np.zeros(5000), np.arange(1, 1000), [1])).astype(np.int32)
    matrix = count_windows(ids, 1000, 16, dynamic_window=True)
    weights = harmonic_weights(16)
    assert matrix[[999], :].toarray()[0, 999 - 16 : 999].tolist() == weights[::-1].tolist()
    assert matrix[1, 999] == weights[0]


def test_sums_that_might_outgrow_32_bits_but_do_not_come_in_32() -> None:
    ids = np.random.default_rng(3).integers(1, 101, 1000).astype(np.int32)
    ids[::2] = 0  # 500 times
    weights = harmonic_weights(16)
    matrix = count_windows(ids, 101, 16, dynamic_window=True)
    assert 2 * int(weights.sum()) * 500 > 2**31 > matrix.data.max()
    assert matrix.dtype == np.int32
    expected = np.zeros((101, 101), dtype=np.int64)
    for d, weight in enumerate(weights, 1):
        np.add.at(expected, (ids[:-d], ids[d:]), weight)
    assert matrix.toarray().tolist() == (expected + expected.T).tolist()


def test_the_common_factor_cancels_in_pmi() -> None:
    rng = np.random.default_rng(4)
    sentences = rng.integers(0, N_WORDS, (50, 9)).tolist()
    matrix = count_windows(stream(sentences), N_WORDS, 5, dynamic_window=True)
    plain = np.zeros((N_WORDS, N_WORDS))
    for pair, n in harmonic_reference(sentences, 5).items():
        plain[pair] = n / 60  # sums of 1/d
    expected = np.log(plain * plain.sum() / np.outer(plain.sum(axis=1), plain.sum(axis=0)))
    np.testing.assert_allclose(pmi(matrix).toarray(), expected, atol=2e-6)  # float32: logarithms up to 10


# ---- adding


def test_sums_that_need_64_bits_get_them() -> None:
    big = sparse.csr_array(np.array([[2**31 - 1, 0], [0, 1]], dtype=np.int32))
    total = add_counts(big, big)
    assert total.dtype == np.int64
    assert total.toarray().tolist() == [[2**32 - 2, 0], [0, 2]]


def test_sums_that_fit_stay_in_32_bits() -> None:
    a = sparse.csr_array(np.array([[2**31 - 2]], dtype=np.int32))
    b = sparse.csr_array(np.array([[1]], dtype=np.int32))
    assert add_counts(a, b).dtype == np.int32
    assert add_counts(a, b).toarray().tolist() == [[2**31 - 1]]


def test_sums_whose_parts_are_large_in_different_places_stay_in_32_bits() -> None:
    a, b = (sparse.csr_array(np.array([row], dtype=np.int32)) for row in ([2**31 - 1, 1], [0, 2**31 - 2]))
    total = add_counts(a, b)
    assert (total.dtype, total.toarray().tolist()) == (np.int32, [[2**31 - 1, 2**31 - 1]])


def test_adding_leaves_both_alone() -> None:
    a, b = (sparse.csr_array(np.array([[2**31 - 1, n]], dtype=np.int32)) for n in (0, 3))
    add_counts(a, b)
    assert (a.dtype, a.toarray().tolist(), b.toarray().tolist()) == (np.int32, [[2**31 - 1, 0]], [[2**31 - 1, 3]])


# ---- a corpus


def test_a_corpus_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("The cat sat. The dog sat\nThe zebra")
    counts = count(path, window=1, min_count=2)
    assert dict(zip(counts.vocabulary.words, counts.vocabulary.counts.tolist(), strict=True)) == {
        RARE: 3,
        "the": 3,
        "sat": 2,
    }
    assert counts.vocabulary.words == (RARE, "the", "sat")
    assert counts.matrix.toarray().tolist() == [[0, 3, 2], [3, 0, 0], [2, 0, 0]]


def corpus_reference(sentences: list[list[str]], window: int) -> dict[tuple[str, str], int]:
    names = "abcdef"
    pairs = window_counts([[names.index(word) for word in sentence] for sentence in sentences], window)
    return {(names[v], names[c]): n for (v, c), n in pairs.items()}


@given(word_sentences, windows, st.integers(1, 20), st.integers(1, 3))
@example([["a"], ["b"]], 2, 1, 1)
@settings(deadline=None)
def test_any_shard_size_and_workers_give_the_reference(
    tmp_path_factory: pytest.TempPathFactory, sentences: list[list[str]], window: int, shard: int, n_workers: int
) -> None:
    path = write(tmp_path_factory.mktemp("shards"), sentences)
    whole = count(path, window=window, min_count=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts_module, "SHARD_TOKENS", shard)
        parts = count(path, window=window, min_count=1, executor=Threads(n_workers))
    assert as_dict(whole) == corpus_reference(sentences, window)
    assert_canonical(parts.matrix)
    assert_same_arrays(whole.matrix, parts.matrix)


@given(word_sentences, word_sentences, windows)
@settings(deadline=None, max_examples=50)
def test_counts_of_two_corpora_add_up_to_the_joined(
    tmp_path_factory: pytest.TempPathFactory, first: list[list[str]], second: list[list[str]], window: int
) -> None:
    every = [[word] for word in "abcdef"]  # one sentence each, so that both have all words and no pair more
    folder = tmp_path_factory.mktemp("joined")
    paths = [write(folder, every + part, f"{i}.txt") for i, part in enumerate((first, second))]
    a, b, joined = (count(corpus, window=window, min_count=1) for corpus in (paths[0], paths[1], paths))
    order_a, order_b = ([part.vocabulary.index[w] for w in joined.vocabulary.words] for part in (a, b))
    total = add_counts(a.matrix[order_a][:, order_a], b.matrix[order_b][:, order_b])
    assert total.toarray().tolist() == joined.matrix.toarray().tolist()
    sums = a.vocabulary.counts[order_a] + b.vocabulary.counts[order_b]
    assert sums.tolist() == joined.vocabulary.counts.tolist()


def test_no_window_crosses_files_without_a_final_newline(tmp_path: Path) -> None:
    paths = [write(tmp_path, [["a", "b"]], "1.txt"), write(tmp_path, [["c", "d"]], "2.txt")]
    assert as_dict(count(paths, min_count=1)) == {("a", "b"): 1, ("b", "a"): 1, ("c", "d"): 1, ("d", "c"): 1}


def test_vocabulary_counts_sum_to_the_tokens(tmp_path: Path) -> None:
    path = write(tmp_path, [["a", "b", "a"], ["c", "d", "a", "b"]])
    assert count(path, min_count=2, max_vocab=1).vocabulary.counts.sum() == 7


@pytest.mark.parametrize("window", [0, -1])
def test_a_window_below_one_is_an_error(tmp_path: Path, window: int) -> None:
    with pytest.raises(InputError, match=rf"window = {window}, but it must be a whole number, at least 1"):
        count(tmp_path, window=window)


def test_too_rare_a_corpus_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no word occurs 10 times or more"):
        count(write(tmp_path, [["a", "b"]]))


def test_a_corpus_of_single_words_has_no_pairs(tmp_path: Path) -> None:
    assert count(write(tmp_path, [["a"], ["b"]]), min_count=1).matrix.nnz == 0


def test_progress_goes_through_both_stages_to_the_end(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    count(write(tmp_path, [["a", "b", "c"]]), min_count=1, on_progress=lambda *news: seen.append(news))
    assert [news[0] for news in seen] == sorted((news[0] for news in seen), reverse=True)  # read, then count
    assert seen[-1] == ("count", 3, 3)


# ---- subsampling

MASK = 2**64 - 1


def uniform(i: int) -> float:
    """Number i of splitmix64 started from 0, in Python's integers, as a share of 2^64."""
    z = (i + 1) * 0x9E3779B97F4A7C15 & MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return ((z ^ z >> 31) >> 11) / 2**53


def thinned_reference(path: Path, counts: Counts, t: float) -> list[list[str]]:
    """Sentences of what stays of a corpus, token by token; words out of the vocabulary are one rare word."""
    tokens, total = read_tokens(path), counts.vocabulary.counts.sum()
    sentences: list[list[str]] = [[]]
    for i, word_id in enumerate(tokens.ids[:].tolist()):
        if word_id < 0:
            sentences.append([])
            continue
        word = tokens.words[word_id] if tokens.words[word_id] in counts.vocabulary else RARE
        f = counts.vocabulary.counts[counts.vocabulary.index[word]] / total
        if uniform(i) < min(1, math.sqrt(t / f) + t / f):
            sentences[-1].append(word)
    return sentences


def kept(ids: np.ndarray, keep: np.ndarray, first: int = 0) -> np.ndarray:
    return windows_module.kept(ids.astype(np.int32), first, keep)


def test_the_random_numbers_are_those_of_splitmix64() -> None:
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]  # seed 0
    assert [windows_module.uniform(i) for i in range(4)] == [(number >> 11) / 2**53 for number in published]
    assert windows_module.uniform(2**40) == uniform(2**40)
    assert [windows_module.uniform(i, 1234567) for i in range(2)] == [
        (number >> 11) / 2**53
        for number in (6457827717110365317, 3203168211198807973)  # published for this seed
    ]


def test_keep_probability_by_hand() -> None:
    probability = keep_probability(np.array([75, 24, 1]), 0.03)
    assert probability.tolist() == pytest.approx([0.2 + 0.04, math.sqrt(0.125) + 0.125, 1])


def test_words_stay_as_often_as_the_formula_says() -> None:
    rng = np.random.default_rng(5)
    ids = np.minimum(rng.zipf(1.5, 400_000) - 1, 200)
    totals = np.bincount(ids, minlength=201)
    p = keep_probability(np.maximum(totals, 1), 2e-4)
    stayed = np.bincount(kept(ids, p), minlength=201)
    spread = np.sqrt(totals * p * (1 - p))
    assert (np.abs(stayed - totals * p) <= 5 * spread).all()  # 5 standard deviations; 0 where all stay
    assert min((p < 1).sum(), (p == 1).sum()) > 50  # enough words of either kind


def test_neighbours_stay_independently_of_each_other() -> None:
    n = 200_000
    stays = np.zeros(n, dtype=bool)
    stays[kept(np.arange(n), np.full(n, 0.5))] = True
    for lag in (1, 2, 3, 7):
        assert abs(np.corrcoef(stays[:-lag], stays[lag:])[0, 1]) < 5 / math.sqrt(n)  # 5 standard deviations


def test_borders_always_stay() -> None:
    assert kept(np.array([-1, 0, 0, -1, 0, -1]), np.zeros(1)).tolist() == [-1, -1, -1]


def frequent_x(folder: Path, *sentences: str) -> Path:
    """Sentences, then 10,000 x: with t = 1e-4 one in a hundred x stays, and all of a word seen once or twice."""
    return write(folder, [*(sentence.split() for sentence in sentences), ["x"] * 10_000])


def test_windows_reach_over_dropped_words(tmp_path: Path) -> None:
    path = frequent_x(tmp_path, "a x b")  # x at place 1 draws 0.43, far above 0.01
    pairs = as_dict(count(path, window=1, min_count=1, subsample=1e-4))
    assert pairs["a", "b"] == pairs["b", "a"] == 1
    assert ("a", "x") not in pairs


def test_distances_are_those_after_dropping(tmp_path: Path) -> None:
    path = frequent_x(tmp_path, "a x b")
    assert as_dict(count(path, window=2, min_count=1, subsample=1e-4, dynamic_window=True))["a", "b"] == 2
    assert as_dict(count(path, window=2, min_count=1, dynamic_window=True))["a", "b"] == 1


def test_windows_do_not_reach_over_sentences_whose_words_were_dropped(tmp_path: Path) -> None:
    pairs = as_dict(count(frequent_x(tmp_path, "a x", "x", "x b"), min_count=1, subsample=1e-4))
    assert {pair for pair in pairs if pair != ("x", "x")} == set()


def test_the_vocabulary_counts_the_whole_text(tmp_path: Path) -> None:
    path = frequent_x(tmp_path, "a x b a")
    thinned = count(path, min_count=1, subsample=1e-4)
    assert dict(zip(thinned.vocabulary.words, thinned.vocabulary.counts.tolist(), strict=True)) == {
        "x": 10_001,
        "a": 2,
        "b": 1,
    }


def test_a_corpus_of_which_nothing_stays_has_no_pairs(tmp_path: Path) -> None:
    assert count(write(tmp_path, [["a", "b"]]), min_count=1, subsample=1e-12).matrix.nnz == 0


def test_a_threshold_above_all_frequencies_drops_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, [["a", "b", "a"], ["c", "d", "a", "b"]])
    assert_same_arrays(count(path, min_count=1, subsample=0.9).matrix, count(path, min_count=1).matrix)


@given(
    word_sentences,
    windows,
    st.sampled_from([0.3, 0.05, 0.01]),
    st.booleans(),
    st.sampled_from([None, 2]),
    st.integers(1, 20),
    st.integers(1, 20),
    st.integers(1, 3),
)
@settings(deadline=None)
def test_thinned_counts_equal_the_slow_reference_for_any_shards_pieces_and_workers(
    tmp_path_factory: pytest.TempPathFactory,
    sentences: list[list[str]],
    window: int,
    t: float,
    dynamic: bool,
    max_vocab: int | None,
    shard: int,
    piece: int,
    n_workers: int,
) -> None:
    path = write(tmp_path_factory.mktemp("thinned"), sentences)
    options: dict[str, Any] = {
        "window": window,
        "min_count": 1,
        "max_vocab": max_vocab,
        "dynamic_window": dynamic,
        "subsample": t,
    }
    whole = count(path, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts_module, "SHARD_TOKENS", shard)
        patch.setattr(counts_module, "PIECE", piece)
        parts = count(path, **options, executor=Threads(n_workers))
    slow = harmonic_reference if dynamic else window_counts
    assert as_dict(whole) == slow(thinned_reference(path, whole, t), window)
    assert_canonical(parts.matrix)
    assert_same_arrays(whole.matrix, parts.matrix)


def test_a_larger_corpus_gives_the_same_arrays_for_any_shards_and_workers(
    large_corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"window": 4, "dynamic_window": True, "subsample": 1e-3}
    one = count(large_corpus, **options)
    assert one.matrix.sum() < 0.9 * count(large_corpus, window=4, dynamic_window=True).matrix.sum()
    for shard, piece, n_workers in ((70_001, 10_007, 2), (30_011, 1 << 18, 5)):
        monkeypatch.setattr(counts_module, "SHARD_TOKENS", shard)
        monkeypatch.setattr(counts_module, "PIECE", piece)
        assert_same_arrays(one.matrix, count(large_corpus, **options, executor=Threads(n_workers)).matrix)


def test_64_bits_come_for_any_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, [["a"] * 5000, ["b", "c"]])
    whole = count(path, window=16, min_count=1, dynamic_window=True)
    assert whole.matrix.dtype == np.int64
    monkeypatch.setattr(counts_module, "SHARD_TOKENS", 999)  # each below 2^31
    assert_same_arrays(whole.matrix, count(path, window=16, min_count=1, dynamic_window=True).matrix)


def test_dropped_tokens_are_done(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    path = frequent_x(tmp_path, "a x b")
    count(path, min_count=1, subsample=1e-4, on_progress=lambda *news: seen.append(news))
    done = [news[1] for news in seen if news[0] == "count"]
    assert done == sorted(done)
    assert (done[0], seen[-1]) == (0, ("count", 10_003, 10_003))


def test_counting_begins_once_even_if_nothing_is_dropped(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    path = write(tmp_path, [["a", "b", "c"]])
    count(path, min_count=1, subsample=0.9, on_progress=lambda *news: seen.append(news))
    assert seen.count(("count", 0, 3)) == 1


# ---- settings


def test_another_seed_drops_other_words_and_the_same_seed_the_same(large_corpus: Path) -> None:
    a, b, c = (count(large_corpus, subsample=1e-3, subsample_seed=seed).matrix for seed in (0, 1, 1))
    assert (a != b).nnz > 0
    assert_same_arrays(b, c)
    assert a.sum() == pytest.approx(b.sum(), rel=0.01)  # as many, up to chance over 300,000 tokens
    with pytest.raises(InputError, match="subsample_seed = -1"):
        CountSettings(subsample_seed=-1)


@pytest.mark.parametrize("subsample", [-1e-3, 1.0, 1e5, math.inf, math.nan])
def test_a_threshold_out_of_range_is_an_error(tmp_path: Path, subsample: float) -> None:
    message = rf"subsample = {subsample}, but it must be .*at least 0 .*and below 1".replace("+", r"\+")
    with pytest.raises(InputError, match=message):
        CountSettings(subsample=subsample)
    with pytest.raises(InputError, match=message):
        count(tmp_path, subsample=subsample)


def test_too_wide_a_dynamic_window_is_an_error(tmp_path: Path) -> None:
    message = "window = 17, but with a dynamic window it must be at most 16"
    with pytest.raises(InputError, match=message):
        CountSettings(window=17, dynamic_window=True)
    with pytest.raises(InputError, match=message):
        count(tmp_path, window=17, dynamic_window=True)
    with pytest.raises(InputError, match=message):
        count_windows(np.zeros(3, dtype=np.int32), 1, 17, dynamic_window=True)


def test_the_widest_dynamic_window_and_wider_plain_ones_are_fine() -> None:
    assert CountSettings(window=16, dynamic_window=True).window == 16
    assert CountSettings(window=17).window == 17


def test_both_options_are_off_unless_asked_for() -> None:
    assert (CountSettings().dynamic_window, CountSettings().subsample) == (False, 0.0)
