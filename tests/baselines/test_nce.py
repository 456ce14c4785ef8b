from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wordforest.baselines import nce, nce_kernels
from wordforest.baselines.nce import Embedding, NceSettings, NceStep, learn_nce, make_batch, make_noise, start_model
from wordforest.baselines.nce_kernels import Batch, Model, Noise
from wordforest.errors import InputError
from wordforest.runtime.threads import Threads
from wordforest.text import choose_vocabulary, read_tokens

V = 7
SMALL = NceSettings(dimensions=5, window=2, noise=3, share=4)
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


def plain_loss(model: Model, level: np.ndarray, ids: np.ndarray, noise: np.ndarray) -> float:
    """Plain definition of the NCE loss of a text; ``noise`` (examples, k) are the noise words of each example."""
    total = 0.0
    for (word, around), noise_words in zip(examples(ids, len(model.weights) // 2), noise, strict=True):
        r_hat = sum(model.weights[j] * model.vectors[v] for j, v in around.items())
        delta = model.outputs @ r_hat + model.biases - level  # (V,)
        total += np.logaddexp(0, -delta[word]) + np.logaddexp(0, delta[noise_words]).sum()
    return total


def random_model(settings: NceSettings, scale: float = 1.0, seed: int = 0) -> Model:
    rng = np.random.default_rng(seed)
    M = settings.dimensions
    shapes = (V, M), (V, M), (V,), (2 * settings.window, M)
    return Model(*(scale * rng.standard_normal(shape) for shape in shapes))


def contrast(ids: np.ndarray, model: Model, settings: NceSettings) -> tuple[float, int, Batch, Noise, np.ndarray]:
    """Run the kernel on a whole text in float64; the last thing returned is the noise of each example, (n, k)."""
    noise = make_noise(COUNTS, settings)
    noise = noise._replace(level=noise.level.astype(np.float64))
    batch = make_batch(settings, max(len(ids), 1), slots=1, dtype=np.float64)
    slot = Batch(*(room[0] for room in batch))
    loss, n = nce_kernels.contrast_segment(ids, 0, len(ids), np.uint64(99), model, noise, slot)
    return loss, n, batch, noise, np.repeat(slot.noise, settings.share, axis=0)[:n]


def gradients(batch: Batch, model: Model, parts: int = 2) -> Model:
    """Read the gradients from a first step of AdaGrad: its squares are their squares, its steps go against them."""
    stepped, squares = Model(*(t.copy() for t in model)), Model(*(np.zeros_like(t) for t in model))
    places = np.full(V, -1, dtype=np.int32)
    for part in range(parts):
        nce_kernels.update_rows(batch, part, parts, stepped, squares, places, 0.1)
    nce_kernels.step_weights(batch, stepped, squares, 0.1)
    assert (places == -1).all()
    return Model(*(np.sqrt(s) * np.sign(t - u) for s, t, u in zip(squares, model, stepped, strict=True)))


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
    loss, n, _, noise, noise_words = contrast(ids, model, settings)
    assert n == len(examples(ids, window))
    # float64, some thousand operations, in another order
    assert loss == pytest.approx(plain_loss(model, noise.level, ids, noise_words), rel=1e-12)


@pytest.mark.parametrize("share", [1, 4, 16])
def test_gradients_are_the_finite_differences_of_the_plain_loss(share):
    settings = replace(SMALL, share=share)
    model = random_model(settings)
    _, _, batch, noise, noise_words = contrast(TEXT, model, settings)
    found, h = gradients(batch, model), 1e-5
    for table, gradient in zip(model, found, strict=True):
        for place in np.ndindex(table.shape):
            kept = table[place]
            table[place] = kept + h
            above = plain_loss(model, noise.level, TEXT, noise_words)
            table[place] = kept - h
            below = plain_loss(model, noise.level, TEXT, noise_words)
            table[place] = kept
            # central differences: error h^2 = 1e-10 times third derivatives, rounding 1e-14 / h = 1e-9
            assert gradient[place] == pytest.approx((above - below) / (2 * h), abs=1e-7)


def test_large_scores_neither_overflow_nor_hide():
    model = random_model(SMALL, scale=100)
    loss, _, batch, noise, noise_words = contrast(TEXT, model, SMALL)
    assert loss == pytest.approx(plain_loss(model, noise.level, TEXT, noise_words), rel=1e-12)
    assert all(np.isfinite(g).all() for g in gradients(batch, model))


def test_many_noise_words_do_not_overflow_the_product_of_their_probabilities():
    settings = replace(SMALL, noise=2000)
    model = random_model(settings, scale=0.01)
    model.biases[:] = make_noise(COUNTS, settings).level  # delta near 0: factors near 2, and 2^2000 is no float64
    loss, _, _, noise, noise_words = contrast(TEXT, model, settings)
    assert loss == pytest.approx(plain_loss(model, noise.level, TEXT, noise_words), rel=1e-12)


def test_no_context_from_the_next_sentence():
    model = random_model(SMALL)
    alone = contrast(np.array([0, 1, 2], dtype=np.int32), model, SMALL)
    followed = contrast(np.array([0, 1, 2, -1, 3, 4], dtype=np.int32), model, SMALL)
    np.testing.assert_array_equal(alone[2].contexts[0, :3], followed[2].contexts[0, :3])
    np.testing.assert_array_equal(alone[2].pulls[0, :3].any(axis=1), True)
    assert not followed[2].pulls[0, 3].any()


def test_segments_of_a_cut_sentence_add_up_to_the_whole():
    model, settings = random_model(SMALL), SMALL
    noise = make_noise(COUNTS, settings)
    noise = noise._replace(level=noise.level.astype(np.float64))
    ids = np.array([0, 1, 2, 3, 4, 5, 0, 1, 2], dtype=np.int32)
    whole = contrast(ids, model, settings)[2].contexts[0, : len(ids)]
    parts = []
    for start, end in ((0, 4), (4, 9)):
        low, high = max(0, start - 2), min(len(ids), end + 2)
        batch = make_batch(settings, 9, slots=1, dtype=np.float64)
        slot = Batch(*(room[0] for room in batch))
        arguments = (start - low, end - low, np.uint64(1), model, noise, slot)
        _, n = nce_kernels.contrast_segment(ids[low:high].copy(), *arguments)
        parts.append(slot.contexts[:n])
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@given(sentences, st.integers(1, 9))
def test_segments_cover_the_text_and_end_at_sentences_where_one_is_near(text, size):
    ids = stream(text)
    slack = size // 4
    borders = nce_kernels.cut_text(ids, size, slack)
    assert borders[0] == 0
    assert borders[-1] == len(ids)
    assert (np.diff(borders) >= 0).all()
    assert (np.diff(borders) <= size + slack).all()
    for i, border in enumerate(borders[1:-1].tolist(), start=1):
        near = [p for p in range(i * size, min(i * size + slack + 1, len(ids))) if ids[p - 1] < 0]
        assert border == (near[0] if near else i * size)


# Noise


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=40).filter(any))
@example([5])
@example([0, 0, 3])
def test_the_alias_table_holds_the_distribution_exactly(weights):
    p = np.array(weights) / sum(weights)
    keep, alias = nce_kernels.build_alias(p)
    held = np.zeros(len(p))
    np.add.at(held, np.arange(len(p)), keep / len(p))
    np.add.at(held, alias, (1 - keep) / len(p))
    np.testing.assert_allclose(held, p, atol=1e-12)  # some forty subtractions in float64
    assert (held[p == 0] == 0).all()


@pytest.mark.parametrize("power", [1.0, 0.75, 0.0])
def test_draws_follow_the_counts_to_a_power(power):
    counts = np.array([1000, 300, 50, 0, 1])
    noise = make_noise(counts, replace(SMALL, power=power))
    n = 200_000
    drawn = np.bincount([nce_kernels.draw(np.uint64(3), i, noise.keep, noise.alias) for i in range(n)], minlength=5)
    p = np.where(counts > 0, counts**power, 0) / np.where(counts > 0, counts**power, 0).sum()
    assert drawn[3] == 0
    assert (np.abs(drawn - n * p) <= 5 * np.sqrt(n * p * (1 - p)) + 1e-9).all()  # five standard deviations
    seen = counts > 0
    np.testing.assert_allclose(noise.level[seen], np.log(SMALL.noise * p[seen]), rtol=1e-6)  # float32


def test_streams_of_noise_differ_by_seed_epoch_and_place():
    keys = {nce.stream_key(seed, epoch, start) for seed in range(5) for epoch in range(5) for start in range(100)}
    assert len(keys) == 2500


# Learning


def read(path: Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    tokens = read_tokens(path)
    vocabulary, rows = choose_vocabulary(tokens.words, tokens.counts, 1)
    return np.append(rows, np.int32(-1))[tokens.ids], np.array(vocabulary.counts), list(vocabulary.words)


@pytest.fixture(scope="module")
def learned(corpus) -> tuple[Embedding, list[str], list[NceStep]]:
    ids, counts, words = read(corpus)
    steps: list[NceStep] = []
    return learn_nce(ids, counts, NceSettings(dimensions=16), on_step=steps.append), words, steps


def test_words_of_one_list_become_neighbours(learned):
    embedding, words, _ = learned
    lists = (("cat", "dog", "horse", "cow"), ("paris", "london", "berlin", "madrid", "rome"), ("grass", "hay", "corn"))
    rng = np.random.default_rng(0)
    share = {}
    for name, vectors in (("learned", embedding.vectors), ("outputs", embedding.outputs),
                          ("random", rng.standard_normal(embedding.vectors.shape))):  # fmt: skip
        near = cosine_neighbours(vectors)
        hits = [words[near[words.index(w), 0]] in group for group in lists for w in group]
        share[name] = np.mean(hits)
    assert share["learned"] >= 0.8
    assert share["outputs"] >= 0.8
    assert share["random"] <= 0.3


def test_the_held_out_loss_falls(learned):
    history = learned[0].history
    held_out = [entry["held_out"] for entry in history]
    k = 25
    assert held_out[0] == pytest.approx(np.log(1 + k) + k * np.log(1 + 1 / k), rel=1e-5)  # s(w) = log p(w), float32
    assert [entry["epoch"] for entry in history] == [0, 0, 0, 0, 1, 2, 3]
    assert held_out[4] < 0.8 * held_out[0]
    assert held_out[-1] < held_out[4]


def test_steps_tell_how_far_learning_is(learned):
    _, _, steps = learned
    tokens = [step.tokens for step in steps]
    assert tokens == sorted(tokens)
    assert tokens[-1] == steps[-1].total
    assert all(np.isfinite([step.loss, step.held_out]).all() for step in steps)
    assert len(steps) >= 3 * 60


def test_shapes_and_types(learned):
    embedding, words, _ = learned
    assert embedding.vectors.shape == embedding.outputs.shape == (len(words), 16)
    assert embedding.biases.shape == (len(words),)
    assert embedding.weights.shape == (10, 16)
    assert all(np.isfinite(table).all() and table.dtype == np.float32
               for table in (embedding.vectors, embedding.outputs, embedding.biases, embedding.weights))  # fmt: skip


def test_same_bits_for_any_number_of_workers(large_corpus):
    ids, counts, _ = read(large_corpus)
    ids = ids[:40_000]
    runs = [learn_nce(ids, counts, replace(SMALL, epochs=1), executor=Threads(n)) for n in (1, 2, 3)]
    for run in runs[1:]:
        for name in ("vectors", "outputs", "biases", "weights"):
            assert getattr(run, name).tobytes() == getattr(runs[0], name).tobytes()
        assert run.history == runs[0].history


def test_the_seed_decides(corpus):
    ids, counts, _ = read(corpus)
    ids = ids[:5000]
    first, again, other = (learn_nce(ids, counts, replace(SMALL, seed=seed, epochs=1)).vectors for seed in (1, 1, 2))
    assert first.tobytes() == again.tobytes()
    assert not np.allclose(first, other)


def test_held_out_text_is_never_learned_from():
    held_out, training = nce._split(np.arange(1000) % 50, size=20)
    assert len(held_out) == 9  # one in a hundred of the 980 with examples
    assert not set(held_out.tolist()) & set(training.tolist())
    assert len(training) + len(held_out) == 980
    assert len(nce._split(np.ones(100_000, dtype=np.int64), size=128)[0]) == 50_000 // 128


def test_a_pass_that_diverges_is_taken_back_with_half_the_step(corpus):
    ids, counts, _ = read(corpus)
    embedding = learn_nce(ids, counts, replace(SMALL, eta=500.0, epochs=1))
    taken_back = [entry for entry in embedding.history if entry.get("taken_back")]
    assert taken_back
    assert taken_back[0]["eta"] == 250.0
    assert taken_back[0]["held_out"] == embedding.history[0]["held_out"]
    assert np.isfinite(embedding.vectors).all()


def test_a_step_that_never_works_is_an_error(corpus):
    ids, counts, _ = read(corpus)
    with pytest.raises(InputError, match=r"diverges.*smaller eta"):
        learn_nce(ids, counts, replace(SMALL, eta=1e12, epochs=1))


# Edges


def test_a_single_sentence_is_learned():
    ids = np.array([0, 1], dtype=np.int32)
    embedding = learn_nce(ids, np.array([1, 1]), SMALL)
    assert embedding.history[-1]["held_out"] < embedding.history[0]["held_out"]


def test_a_word_never_seen_keeps_its_start():
    start = start_model(COUNTS, SMALL)
    embedding = learn_nce(TEXT, COUNTS, SMALL)
    np.testing.assert_array_equal(embedding.vectors[6], start.vectors[6])
    np.testing.assert_array_equal(embedding.vectors[4], start.vectors[4])  # alone in its sentence: nobody's context
    assert not embedding.outputs[6].any()
    assert np.isfinite(embedding.biases).all()
    assert (embedding.vectors[:4] != start.vectors[:4]).all()


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
    [
        ("dimensions", 0), ("window", 0), ("noise", 0), ("share", 0), ("epochs", 0), ("batch", -1), ("epochs", 1.5),
        ("eta", 0.0), ("eta", float("nan")), ("power", -0.5), ("power", float("inf")), ("seed", -1),
    ],
)  # fmt: skip
def test_wrong_settings_are_named(name, value):
    with pytest.raises(InputError, match=f"^{name} = "):
        NceSettings(**{name: value})
