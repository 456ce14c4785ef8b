from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from reference import window_counts
from wordforest import counts as counts_module
from wordforest.counts import Counts, add_counts, count, count_windows
from wordforest.errors import InputError
from wordforest.execution import Threads
from wordforest.text import RARE

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


def assert_canonical(matrix: sparse.csr_array) -> None:
    """Sorted columns, each once, no stored zero; worked out anew, since SciPy remembers its flags."""
    fresh = sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape)
    assert fresh.has_canonical_format
    assert (matrix.data > 0).all()


# ---- windows over ids


def test_windows_by_hand() -> None:
    matrix = count_windows(np.array([0, 1, 2, 0, -1, 1, 1], dtype=np.int32), 3, window=2)
    assert matrix.toarray().tolist() == [[0, 2, 2], [2, 2, 1], [2, 1, 0]]


@given(id_sentences, windows, st.sampled_from([1, 2, 64]))
@settings(deadline=None)
def test_counts_equal_the_slow_reference(sentences: list[list[int]], window: int, n_blocks: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counts_module, "_BLOCKS", n_blocks)  # with one block all words share a dense row
        matrix = count_windows(stream(sentences), N_WORDS, window, executor=Threads(1))
    assert matrix.toarray().tolist() == reference(sentences, window).tolist()


@given(id_sentences, windows)
@settings(deadline=None)
def test_counts_are_symmetric_and_canonical(sentences: list[list[int]], window: int) -> None:
    matrix = count_windows(stream(sentences), N_WORDS, window, executor=Threads(1))
    assert_canonical(matrix)
    assert_same_arrays(matrix, matrix.T.tocsr())


@given(id_sentences, windows, st.lists(st.integers(0, 80), max_size=4))
@settings(deadline=None)
def test_counts_of_adjoining_slices_add_up(sentences: list[list[int]], window: int, cuts: list[int]) -> None:
    ids = stream(sentences)
    borders = [0, *sorted(min(cut, len(ids)) for cut in cuts), len(ids)]
    total = sparse.csr_array((N_WORDS, N_WORDS), dtype=np.int32)
    for start, end in pairwise(borders):
        total = add_counts(total, count_windows(ids, N_WORDS, window, centres=slice(start, end), executor=Threads(1)))
    assert_canonical(total)
    assert_same_arrays(total, count_windows(ids, N_WORDS, window))


def test_any_number_of_workers_gives_the_same_arrays() -> None:
    rng = np.random.default_rng(0)
    ids = np.minimum(rng.zipf(1.3, 20_000) - 2, 3000).astype(np.int32)  # many frequent, some rare, -1 between
    one = count_windows(ids, 3001, 5, executor=Threads(1))
    assert_canonical(one)
    for n_workers in (2, 5):
        assert_same_arrays(one, count_windows(ids, 3001, 5, executor=Threads(n_workers)))


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


def test_progress_adds_up_to_the_centres() -> None:
    seen: list[int] = []
    count_windows(np.array([0, 1, -1, 2, 2, 0], dtype=np.int32), 3, 2, on_words=seen.append)
    assert sum(seen) == 5


def test_the_ids_are_not_changed() -> None:
    ids = np.array([0, 1, -1, 2, 2, 0], dtype=np.int32)
    before = ids.copy()
    count_windows(ids, 3, 2)
    assert ids.tolist() == before.tolist()


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
    whole = count(path, window=window, min_count=1, executor=Threads(1))
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
    with pytest.raises(InputError, match=rf"window = {window}, but it must be at least 1"):
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
