"""The baseline nce: loss and gradients against the plain definition, the noise, learning, bits, bad input."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wordforest.baselines import nce, nce_kernels
from wordforest.baselines.language_model import LearnedVectors
from wordforest.baselines.nce import NceSettings, cut_segments, learn_model, learn_nce, noise_distribution, start_model
from wordforest.baselines.nce_kernels import Gradients, Model
from wordforest.errors import InputError
from wordforest.runtime.machine import Threads
from wordforest.runtime.progress import Event
from wordforest.text import WordRules, choose_words, read_tokens

V = 7
SMALL = NceSettings(dimensions=5, window=2, noise=3, share=4, subsample=0.0)
TEXT = np.array([0, 1, 2, 3, -1, 4, -1, 5, 1, 1, 0, 2, 3, -1, 2, 0], dtype=np.int32)
COUNTS = np.bincount(TEXT[TEXT >= 0], minlength=V)  # word 6 never occurs

sentences = st.lists(st.lists(st.integers(0, V - 1), min_size=1, max_size=12), min_size=1, max_size=6)


def stream(sentences: list[list[int]]) -> np.ndarray:
    """Sentences as one array of ids, -1 between them."""
    return np.array([i for sentence in sentences for i in [*sentence, -1]][:-1], dtype=np.int32)


def examples(ids: np.ndarray, window: int) -> list[tuple[int, dict[int, int]]]:
    """Plain definition: every word with neighbours, as (word, {position among the weights: neighbour})."""
    found = []
    for t, word in enumerate(ids.tolist()):
        around = {}
        for side in (-1, 1):
            for distance in range(1, window + 1):
                u = t + side * distance
                if not 0 <= u < len(ids) or ids[u] < 0:
                    break
                around[window - distance if side < 0 else window + distance - 1] = int(ids[u])
        if word >= 0 and around:
            found.append((word, around))
    return found


def plain_loss(model: Model, ids: np.ndarray, noise: np.ndarray) -> float:
    """Plain definition of the NCE loss of a text; ``noise`` (examples, k) are the noise words of each example."""
    total = 0.0
    for (word, around), noise_words in zip(examples(ids, len(model.weights) // 2), noise, strict=True):
        r_hat = sum(model.weights[j] * model.vectors[v] for j, v in around.items())
        delta = model.outputs @ np.append(r_hat, 1.0)  # (V,)
        total += np.logaddexp(0, -delta[word]) + np.logaddexp(0, delta[noise_words]).sum()
    return total


def random_model(settings: NceSettings, scale: float = 1.0, seed: int = 0) -> Model:
    rng = np.random.default_rng(seed)
    M = settings.dimensions
    shapes = (V, M), (V, M + 1), (2 * settings.window, M)
    return Model(*(scale * rng.standard_normal(shape) for shape in shapes))


def contrast(ids: np.ndarray, model: Model, settings: NceSettings) -> tuple[Gradients, np.ndarray, np.ndarray]:
    """Run the kernel on a whole text in float64: what it gives, the tokens (T,), the noise of each example (n, k)."""
    groups = -(-len(ids) // settings.share)
    noise = np.random.default_rng(9).integers(0, V, (groups, settings.noise))
    (tokens,) = cut_segments(ids, np.array([0]), len(ids), settings.window)
    found = nce_kernels.contrast(tokens, noise, settings.share, model)
    return found, tokens, np.repeat(noise, settings.share, axis=0)[: found.examples]


def gradients(found: Gradients, tokens: np.ndarray, model: Model) -> Model:
    """Add up the gradients of a segment by row."""
    sums = Model(*(np.zeros_like(table) for table in model))
    for table, words, pulls in ((sums.vectors, tokens, found.vectors), (sums.outputs, found.words, found.outputs)):
        np.add.at(table, words[words >= 0], pulls[words >= 0])
    sums.weights[:] = found.weights
    return sums


def cosine_neighbours(vectors: np.ndarray) -> np.ndarray:
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = unit @ unit.T
    np.fill_diagonal(cosine, -2)
    return np.argsort(-cosine, axis=1)


# The model and its gradient


@given(sentences, st.integers(1, 4), st.sampled_from([1, 3, 16]))
@example([[0, 1], [2], [3, 4, 5]], 5, 1)
def test_the_kernel_computes_the_plain_loss(text, window, share):
    ids, settings = stream(text), replace(SMALL, window=window, share=share)
    model = random_model(settings)
    found, _, noise = contrast(ids, model, settings)
    assert found.examples == len(examples(ids, window))
    # float64, some thousand operations, in another order
    assert found.loss == pytest.approx(plain_loss(model, ids, noise), rel=1e-12)


@pytest.mark.parametrize("share", [1, 4, 16])
def test_gradients_are_the_finite_differences_of_the_plain_loss(share):
    settings = replace(SMALL, share=share)
    model = random_model(settings)
    found, tokens, noise = contrast(TEXT, model, settings)
    h = 1e-5
    for table, gradient in zip(model, gradients(found, tokens, model), strict=True):
        for place in np.ndindex(table.shape):
            kept = table[place]
            table[place] = kept + h
            above = plain_loss(model, TEXT, noise)
            table[place] = kept - h
            below = plain_loss(model, TEXT, noise)
            table[place] = kept
            # central differences: error h^2 = 1e-10 times third derivatives, rounding 1e-14 / h = 1e-9
            assert gradient[place] == pytest.approx((above - below) / (2 * h), abs=1e-7)


def test_large_scores_neither_overflow_nor_hide():
    model = random_model(SMALL, scale=100)
    found, tokens, noise = contrast(TEXT, model, SMALL)
    assert found.loss == pytest.approx(plain_loss(model, TEXT, noise), rel=1e-12)
    assert all(np.isfinite(g).all() for g in gradients(found, tokens, model))


def test_rows_step_by_adagrad_once_for_all_their_gradients():
    rng = np.random.default_rng(0)
    words, pulls = np.array([3, 0, -1, 3, 1]), rng.standard_normal((5, 4))
    table, squares, gradient = rng.standard_normal((6, 4)), np.zeros((6, 4)), np.zeros((6, 4))
    before = table.copy()
    for part in range(2):
        nce_kernels.update_rows(words, pulls, part, 2, table, squares, gradient, 0.1)
    sums = np.zeros((6, 4))
    np.add.at(sums, words[words >= 0], pulls[words >= 0])
    np.testing.assert_allclose(squares, sums**2, rtol=1e-12)  # float64
    np.testing.assert_allclose(table, before - 0.1 * np.sign(sums), rtol=1e-12)  # the first step of AdaGrad
    assert not gradient.any()


@given(sentences, st.integers(1, 9), st.integers(1, 4))
def test_segments_predict_every_word_of_the_text_once_with_its_whole_window(text, size, window):
    ids = stream(text)
    tokens = cut_segments(ids, np.arange(0, len(ids), size), size, window)
    np.testing.assert_array_equal(tokens[:, window:-window].ravel()[: len(ids)], ids)
    for place in range(len(ids)):
        around = [int(ids[u]) if 0 <= u < len(ids) else -1 for u in range(place - window, place + window + 1)]
        assert tokens[place // size, place % size : place % size + 2 * window + 1].tolist() == around


# Noise


@pytest.mark.parametrize("power", [1.0, 0.75, 0.0])
def test_noise_follows_the_counts_to_a_power(power):
    counts = np.array([1000, 300, 50, 0, 1])
    p = noise_distribution(counts, power)
    seen = counts > 0
    np.testing.assert_allclose(p[seen], counts[seen] ** power / (counts[seen] ** power).sum(), rtol=1e-12)
    assert p[3] > 0  # its logarithm is finite


def test_words_that_never_occur_are_no_noise():
    learner = nce._Learner(TEXT, COUNTS, replace(SMALL, noise=200), Threads(1))
    _, (found,) = learner._contrast(TEXT, np.array([0]), np.random.default_rng(0))
    assert set(found.words[found.examples :].tolist()) == {0, 1, 2, 3, 4, 5}


# Learning


def read(path: Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    tokens = read_tokens(path)
    vocabulary, rows = choose_words(tokens.words, tokens.counts, WordRules(1))
    return np.append(rows, np.int32(-1))[tokens.ids[:]], np.array(vocabulary.counts), list(vocabulary.words)


@pytest.fixture(scope="module")
def learned(corpus) -> tuple[LearnedVectors, list[str], list[Event]]:
    ids, counts, words = read(corpus)
    steps: list[Event] = []
    settings = NceSettings(dimensions=16, subsample=0.0)  # forty words: all are frequent
    return learn_nce(ids, counts, settings, report=steps.append), words, steps


def test_words_of_one_list_become_neighbours(learned):
    found, words, _ = learned
    lists = (("cat", "dog", "horse", "cow"), ("paris", "london", "berlin", "madrid", "rome"), ("grass", "hay", "corn"))
    rng = np.random.default_rng(0)
    share = {}
    for name, vectors in (("learned", found.vectors), ("random", rng.standard_normal(found.vectors.shape))):
        near = cosine_neighbours(vectors)
        hits = [words[near[words.index(w), 0]] in group for group in lists for w in group]
        share[name] = np.mean(hits)
    assert share["learned"] >= 0.8
    assert share["random"] <= 0.3


def test_the_held_out_loss_falls(learned):
    history = learned[0].history
    held_out = [entry["held_out"] for entry in history]
    k = 25
    assert held_out[0] == pytest.approx(np.log(1 + k) + k * np.log(1 + 1 / k), rel=1e-5)  # s(w) = log p(w), float32
    assert [entry["epoch"] for entry in history] == [0, 1, 2, 3, 4, 5]
    assert held_out[1] < 0.8 * held_out[0]
    assert held_out[-1] < held_out[1]


def test_progress_ends_at_the_total(learned):
    _, _, steps = learned
    tokens = [step.done for step in steps]
    assert tokens == sorted(tokens)
    assert tokens[-1] == steps[-1].total
    assert all(np.isfinite(step.facts["loss"]) for step in steps)
    assert len(steps) >= 5 * 60


def test_shapes_and_types(learned):
    found, words, _ = learned
    assert found.vectors.shape == (len(words), 16)
    assert found.vectors.dtype == np.float32
    assert np.isfinite(found.vectors).all()


def test_a_vector_is_the_sum_of_context_and_target_vector_both_tables_of_the_same_norm():
    found = learn_nce(TEXT, COUNTS, SMALL).vectors
    model, _ = learn_model(TEXT, COUNTS, SMALL)
    R, Q = model.vectors, model.outputs[:, :-1]
    np.testing.assert_allclose(np.linalg.norm(found - R), np.linalg.norm(R), rtol=1e-5)  # float32
    np.testing.assert_allclose(found - R, Q * (np.linalg.norm(R) / np.linalg.norm(Q)), atol=1e-6)


def test_without_target_vectors_the_context_vectors_are_all():
    still = replace(SMALL, eta=1e-30)  # float32 does not move by so little
    np.testing.assert_array_equal(learn_nce(TEXT, COUNTS, still).vectors, learn_model(TEXT, COUNTS, still)[0].vectors)


def test_frequent_words_are_thinned_out_and_borders_stay(large_corpus):
    ids, counts, _ = read(large_corpus)
    left, left_counts = nce._thinned(ids, counts, NceSettings(subsample=1e-4))
    assert len(left) < 0.9 * len(ids)
    assert (left < 0).sum() == (ids < 0).sum()
    np.testing.assert_array_equal(left_counts, np.bincount(left[left >= 0], minlength=len(counts)))
    rare = counts / counts.sum() <= 1e-4
    np.testing.assert_array_equal(left_counts[rare], counts[rare])
    learned = [learn_nce(ids[:9000], counts, replace(SMALL, epochs=1, subsample=t)).vectors for t in (0.0, 1e-4)]
    assert not np.allclose(*learned)


def test_a_text_of_frequent_words_alone_stays_whole():
    np.testing.assert_array_equal(nce._thinned(TEXT, COUNTS, NceSettings(subsample=1e-12))[0], TEXT)


def test_same_bits_for_any_number_of_workers(large_corpus):
    ids, counts, _ = read(large_corpus)
    runs = [learn_nce(ids[:10_000], counts, replace(SMALL, epochs=1), executor=Threads(n)) for n in (1, 2, 3)]
    for run in runs[1:]:
        assert run.vectors.tobytes() == runs[0].vectors.tobytes()
        assert run.history == runs[0].history


def test_the_seed_decides(corpus):
    ids, counts, _ = read(corpus)
    ids = ids[:5000]
    first, again, other = (learn_nce(ids, counts, replace(SMALL, seed=seed, epochs=1)).vectors for seed in (1, 1, 2))
    assert first.tobytes() == again.tobytes()
    assert not np.allclose(first, other)


def test_held_out_text_is_never_learned_from(corpus):
    ids, counts, _ = read(corpus)
    learner = nce._Learner(ids, counts, SMALL, Threads(1))
    np.testing.assert_array_equal(np.concatenate([learner.text, learner.held_out]), ids)
    assert len(ids) / 200 < len(learner.held_out) < len(ids) / 50  # about one in a hundred


@pytest.mark.parametrize("eta", [500.0, 1e12])
def test_a_step_that_is_too_large_is_said(corpus, eta):
    ids, counts, _ = read(corpus)
    with pytest.raises(InputError, match=r"diverged.*too large"):
        learn_nce(ids[:5000], counts, replace(SMALL, eta=eta, epochs=1))


# Edges


def test_a_single_sentence_is_learned():
    ids = np.array([0, 1], dtype=np.int32)
    found = learn_nce(ids, np.array([1, 1]), SMALL)
    assert found.history[-1]["held_out"] < found.history[0]["held_out"]


def test_a_word_never_seen_keeps_its_start():
    start = start_model(COUNTS, noise_distribution(COUNTS, 1.0), SMALL)
    vectors = learn_nce(TEXT, COUNTS, SMALL).vectors
    np.testing.assert_array_equal(vectors[6], start.vectors[6])
    assert (vectors[:6] != start.vectors[:6]).all()


def test_the_arrays_handed_in_may_be_read_only_and_stay_as_they_are(tmp_path):
    np.save(tmp_path / "ids.npy", TEXT)
    ids = np.load(tmp_path / "ids.npy", mmap_mode="r")
    counts = COUNTS.copy()
    counts.flags.writeable = False
    mapped, plain = learn_nce(ids, counts, SMALL), learn_nce(TEXT, COUNTS, SMALL)
    assert mapped.vectors.tobytes() == plain.vectors.tobytes()


@pytest.mark.parametrize(
    ("ids", "counts", "message"),
    [
        ([0, 1, 5], [1, 1], "word 5, but counts has 2 words"),
        ([0, -1, 1], [1, 1], "no sentence has two words"),
        ([-1, -1], [1, 1], "no sentence has two words"),
        ([], [1], "ids is .* of shape"),
        ([0.5, 1.0], [1, 1], "ids is float64"),
        ([[0, 1]], [1, 1], "ids is .* of shape"),
        ([0, 1], [0, 0], "counts go from 0 to 0"),
        ([0, 1], [3, -1], "counts go from -1 to 3"),
    ],
)
def test_wrong_input_is_named(ids, counts, message):
    with pytest.raises(InputError, match=message):
        learn_nce(np.array(ids), np.array(counts), SMALL)


@pytest.mark.parametrize(
    ("name", "value"),
    [("dimensions", 0), ("share", 0), ("batch", -1), ("epochs", 1.5), ("eta", math.nan), ("power", -0.5)],
)
def test_wrong_settings_are_named(name, value):
    with pytest.raises(InputError, match=f"^{name} = "):
        NceSettings(**{name: value})
