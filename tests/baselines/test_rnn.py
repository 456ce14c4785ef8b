"""The baseline rnn: loss and perplexity against the formulas, streams that do not mix, known neighbours."""

import math
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wordforest.baselines.language_model import LearnedVectors, held_out_start
from wordforest.baselines.rnn import RnnSettings, learn_rnn
from wordforest.errors import InputError, MissingExtraError
from wordforest.runtime.progress import Event
from wordforest.text import WordRules, choose_words, read_tokens
from wordforest.vectors import Vectors

torch = pytest.importorskip("torch")
network = pytest.importorskip("wordforest.baselines.rnn_network")

SMALL = RnnSettings(dimensions=8, streams=4, steps=5, samples=6)


def text(n: int = 400, V: int = 10, seed: int = 0) -> tuple[Any, Any]:
    """Ids in which a word is mostly followed by the next row, a border about every tenth, and their counts."""
    rng = np.random.default_rng(seed)
    ids = (np.cumsum(rng.choice([1, 1, 1, 3], n)) % V).astype(np.int32)
    ids[rng.random(n) < 0.1] = -1
    return ids, np.bincount(ids[ids >= 0], minlength=V)


def net(R: int = 7, M: int = 3, seed: int = 0) -> Any:
    """A network of random float64 tables."""
    generator = torch.Generator().manual_seed(seed)
    U, W, O = (  # noqa: E741
        torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in ((R, M), (M, M), (R, M + 1))
    )
    return network.Network(*(table.requires_grad_() for table in (U, W, O)))


def chunk(R: int = 7, T: int = 6, B: int = 4, M: int = 3, seed: int = 1) -> tuple[Any, Any, Any]:
    """Inputs and outputs (T, B) and the states before them (B, M)."""
    generator = torch.Generator().manual_seed(seed)
    x, y = torch.randint(R, (2, T, B), generator=generator)
    return x, y, torch.rand(B, M, generator=generator, dtype=torch.float64)


def plain_loss(net: Any, x: Any, y: Any, h: Any, pi: dict[int, float]) -> Any:
    """The sum of -log p by the formulas, a token at a time; Z from the rows w of ``pi``, weighted with 1 / pi_w."""
    total = torch.zeros((), dtype=torch.float64)
    for b in range(x.shape[1]):
        state = h[b]
        for t in range(len(x)):
            state = torch.sigmoid(net.U[x[t, b]] + net.W @ state)
            s = net.O[:, :-1] @ state + net.O[:, -1]
            came = int(y[t, b])
            Z = s[came].exp() + sum(s[w].exp() / p for w, p in pi.items() if w != came)
            total = total + Z.log() - s[came]
    return total


def loss_of(net: Any, x: Any, y: Any, h: Any, sample: Any = None, log_pi: Any = None) -> Any:
    """The loss of a chunk; without a sample Z is exact."""
    rows = torch.arange(len(net.U)) if sample is None else sample
    log_pi = torch.zeros(len(net.U), dtype=torch.float64) if log_pi is None else log_pi
    return network.sampled_loss(net, network.hidden_states(net, x, h), y, rows, log_pi)


@pytest.mark.parametrize(
    "pi", [dict.fromkeys(range(7), 1.0), {0: 1.0, 2: 0.25, 5: 0.5}, {3: 0.1}], ids=["all rows", "three", "one"]
)
def test_loss_and_gradients_are_those_of_the_formulas(pi: dict[int, float]) -> None:
    model, (x, y, h) = net(), chunk()
    log_pi = torch.zeros(7, dtype=torch.float64)
    for w, p in pi.items():
        log_pi[w] = math.log(p)
    ours, theirs = loss_of(model, x, y, h, torch.tensor(list(pi)), log_pi), plain_loss(model, x, y, h, pi)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)  # float64, a few hundred sums
    tables = (model.U, model.W, model.O)
    for found, expected in zip(*(torch.autograd.grad(loss, tables) for loss in (ours, theirs)), strict=True):
        torch.testing.assert_close(found.to_dense(), expected, rtol=1e-12, atol=1e-12)


def test_two_chunks_read_like_one() -> None:
    model, (x, y, h) = net(), chunk()
    H = network.hidden_states(model, x, h)
    first = network.hidden_states(model, x[:2], h)
    torch.testing.assert_close(network.hidden_states(model, x[2:], first[-1]), H[2:], rtol=1e-12, atol=0)
    parts = loss_of(model, x[:2], y[:2], h) + loss_of(model, x[2:], y[2:], first[-1])
    torch.testing.assert_close(parts, loss_of(model, x, y, h), rtol=1e-12, atol=0)


def test_a_stream_is_not_seen_by_the_others() -> None:
    model, (x, _, h) = net(), chunk()
    changed = x.clone()
    changed[:, 1] = (changed[:, 1] + 1) % 7
    before, after = network.hidden_states(model, x, h), network.hidden_states(model, changed, h)
    others = [0, 2, 3]
    torch.testing.assert_close(after[:, others], before[:, others], rtol=0, atol=0)
    assert (after[:, 1] != before[:, 1]).all()


def test_the_loss_of_samples_has_the_exact_z_in_the_mean() -> None:
    model, (x, y, h) = net(R=30), chunk(R=30, T=1, B=1)
    pi = network.inclusion(np.arange(1.0, 31.0), 5)
    sampler = network.Sampler.start(pi, torch.float64)
    starts = (torch.arange(1000, dtype=torch.float64) + 0.5) / 1000
    Z = [math.exp(loss_of(model, x, y, h, sampler.draw(u[None]), sampler.log_pi).item()) for u in starts]
    assert np.mean(Z) == pytest.approx(
        math.exp(loss_of(model, x, y, h).item()), rel=1e-2
    )  # 1,000 starts, not the integral


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=60), st.integers(1, 70), st.floats(0, 1, exclude_max=True))
@example([1, 1, 1], 3, 0.9999999999999999)
def test_a_sample_has_different_rows_as_many_as_asked(frequencies: list[int], size: int, start: float) -> None:
    pi = network.inclusion(np.array(frequencies), size)
    assert pi.sum() == pytest.approx(min(size, len(frequencies)))
    assert ((pi > 0) & (pi <= 1)).all()
    sample = network.Sampler.start(pi, torch.float32).draw(torch.tensor([start], dtype=torch.float64)).tolist()
    assert len(set(sample)) == len(sample) == min(size, len(frequencies))
    assert set(np.flatnonzero(pi > 1 - 1e-12)) <= set(sample)


def test_the_exact_loss_is_that_of_the_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "_CELLS", 30)  # blocks of 4 tokens
    model = net()
    ids = torch.randint(7, (12,), generator=torch.Generator().manual_seed(2))
    state, losses = np.zeros(3), []
    U, W, O = (table.detach().numpy() for table in (model.U, model.W, model.O))  # noqa: E741
    for now, later in pairwise(ids.tolist()):
        state = 1 / (1 + np.exp(-(U[now] + W @ state)))
        s = O @ np.append(state, 1.0)
        losses.append(np.log(np.exp(s).sum()) - s[later])
    assert network.exact_loss(model, ids) == pytest.approx(np.mean(losses), rel=1e-12)


def test_a_step_changes_touched_rows_alone() -> None:
    model, (x, y, h) = net(R=50), chunk(R=7)
    before = [table.detach().clone() for table in (model.U, model.O)]
    sample = torch.tensor([8, 9])
    optimizer = model.optimizer(0.1)
    with torch.sparse.check_sparse_tensor_invariants(enable=False):
        loss_of(model, x, y, h, sample).backward()
        optimizer.step()
    touched = ({*x.ravel().tolist()}, {*y.ravel().tolist(), 8, 9})
    for table, old, rows in zip((model.U, model.O), before, touched, strict=True):
        assert set(torch.nonzero((table != old).any(1))[:, 0].tolist()) == rows


def test_a_wide_network_moves_its_scores_no_faster() -> None:
    steps = []
    for M in (52, 104):
        model, (x, y, h) = net(M=M), chunk(M=M)
        before = model.O.detach().clone()
        optimizer = model.optimizer(0.1)
        with torch.sparse.check_sparse_tensor_invariants(enable=False):
            loss_of(model, x, y, h).backward()
            optimizer.step()
        steps.append(float((model.O - before).detach().abs().sum(1).median()))  # the most a score can change
    assert steps[1] == pytest.approx(steps[0], rel=0.05)  # M + 1 columns


def test_errors_are_clipped() -> None:
    model, (x, y, h) = net(), chunk(T=1)
    with torch.no_grad():
        model.O.mul_(1e6)
    (gradient,) = torch.autograd.grad(loss_of(model, x, y, h), (model.W,))
    assert gradient.abs().max() <= network._CLIP * x.shape[1]


def test_states_are_carried_from_chunk_to_chunk_and_begin_anew_with_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    states: list[tuple[Any, Any]] = []
    real = network.hidden_states

    def watched(net: Any, x: Any, h: Any) -> Any:
        found = real(net, x, h)
        if found.requires_grad:  # learning, not measuring
            states.append((h, found[-1]))
        return found

    monkeypatch.setattr(network, "hidden_states", watched)
    learn_rnn(*text(), SMALL)
    per_epoch = len(states) // SMALL.epochs
    assert per_epoch > 10
    for number, (before, _) in enumerate(states):
        expected = torch.zeros_like(before) if number % per_epoch == 0 else states[number - 1][1]
        assert torch.equal(before, expected)


@given(st.integers(5, 60), st.integers(1, 9), st.integers(1, 9), st.integers(0, 5))
def test_streams_hold_neighbours_of_the_text_in_order(n: int, streams: int, steps: int, seed: int) -> None:
    ids = np.arange(n, dtype=np.int32)
    ids[np.random.default_rng(seed).random(n) < 0.2] = -1
    made = network.Text(ids, n, streams, steps, "cpu")
    chunks = list(made.chunks())
    x, y = (torch.cat(part).T.reshape(-1).numpy() for part in zip(*chunks, strict=True))  # a stream after another
    rows = np.where(ids < 0, n, ids)
    np.testing.assert_array_equal(x, rows[: len(x)])
    np.testing.assert_array_equal(y, rows[1 : len(x) + 1])
    start = held_out_start(ids)
    np.testing.assert_array_equal(made.held_out.numpy(), rows[start:])
    assert start - made.streams <= len(x) + 1 <= start  # nothing held out is learned, next to nothing left out
    assert len(x) == len(made)
    assert all(x.shape == (steps, made.streams) for x, _ in chunks[:-1])


def test_held_out_text_begins_after_a_border() -> None:
    ids = np.zeros(10_000, np.int32)
    ids[::7] = -1
    start = held_out_start(ids)
    assert ids[start - 1] == -1
    assert 100 <= len(ids) - start < 107


def test_pieces_do_not_change_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    made = network.Text(text(5000)[0], 10, SMALL.streams, SMALL.steps, "cpu")
    whole = list(made.chunks())
    monkeypatch.setattr("wordforest.baselines.rnn_network._PIECE", 100)
    for (x, y), (x_, y_) in zip(made.chunks(), whole, strict=True):
        assert torch.equal(x, x_)
        assert torch.equal(y, y_)


@pytest.fixture(scope="module")
def learned(corpus: Path) -> tuple[Vectors, LearnedVectors, list[Event], Any, Any]:
    tokens = read_tokens(corpus)
    vocabulary, rows = choose_words(tokens.words, tokens.counts, WordRules())
    ids = np.append(rows, np.int32(-1))[tokens.ids[:]]
    steps: list[Event] = []
    settings = RnnSettings(dimensions=13, epochs=6, streams=16, steps=10)
    found = learn_rnn(ids, vocabulary.counts, settings, report=steps.append)
    return Vectors(vocabulary.words, found.vectors), found, steps, ids, vocabulary.counts


def test_perplexity_falls_from_epoch_to_epoch_far_below_that_of_frequencies(learned: Any) -> None:
    _, found, _, ids, counts = learned
    shares = np.append(counts, np.count_nonzero(ids < 0)) / len(ids)
    unigram = math.exp(-(shares * np.log(shares)).sum())
    perplexities = [entry["perplexity"] for entry in found.history]
    assert all(later < now for now, later in pairwise(perplexities[:4]))
    assert perplexities[-1] < unigram / 5
    assert perplexities[-1] < 3  # the grammar's own: about 1.95 a token


@pytest.mark.parametrize("kind", [("cat", "dog", "horse", "cow"), ("eats", "finds", "likes"), ("goes", "runs")])
def test_words_of_one_list_are_neighbours(learned: Any, kind: tuple[str, ...]) -> None:
    vectors = learned[0]
    for word in kind:
        nearest = {near for near, _ in vectors.most_similar(word, topn=len(kind) - 1)}
        assert nearest == set(kind) - {word}  # by chance: one of thousands of sets


def test_progress_ends_at_the_total_with_finite_facts(learned: Any) -> None:
    _, found, steps, _, _ = learned
    assert steps[-1].done == steps[-1].total == found.history[-1]["tokens"]
    assert all(now.done < later.done for now, later in pairwise(steps))
    assert all(0 < step.facts["loss"] < math.inf for step in steps)


def test_vectors_are_those_of_the_words_alone(learned: Any) -> None:
    _, found, _, _, counts = learned
    assert found.vectors.shape == (len(counts), 13)
    assert found.vectors.dtype == np.float32
    assert np.isfinite(found.vectors).all()


def test_the_seed_decides_every_bit() -> None:
    ids, counts = text()
    one, same, other = (learn_rnn(ids, counts, RnnSettings(dimensions=8, samples=5, seed=s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(same.vectors, one.vectors)
    assert same.history == one.history
    assert not np.array_equal(other.vectors, one.vectors)


def test_a_memory_map_learns_the_same_and_stays_as_it_was(tmp_path: Path) -> None:
    ids, counts = text()
    np.save(tmp_path / "ids.npy", ids)
    mapped = np.load(tmp_path / "ids.npy", mmap_mode="r")
    np.testing.assert_array_equal(*(learn_rnn(given, counts, SMALL).vectors for given in (mapped, ids)))
    np.testing.assert_array_equal(mapped, text()[0])


@pytest.mark.parametrize(
    "ids",
    [[0, 1, 0, 1, 0], [0, -1, 1, -1, 0, -1], [0, 0, 0, 0, 0, 0], [1] * 30, [0, 1, -1] * 40],
    ids=["five", "words alone", "one word", "the rarer", "more"],
)
def test_tiny_texts_and_two_words_work(ids: list[int]) -> None:
    found = learn_rnn(np.array(ids, np.int32), np.array([5, 3]), RnnSettings(dimensions=3))
    assert found.vectors.shape == (2, 3)
    assert np.isfinite(found.vectors).all()
    assert 1 <= found.history[-1]["perplexity"] < 100


def test_pytorch_is_left_as_it_was() -> None:
    before, state = torch.get_num_threads(), torch.get_rng_state()
    learn_rnn(*text(), SMALL)
    assert torch.get_num_threads() == before
    assert torch.is_grad_enabled()
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(("name", "value"), [("samples", 0), ("seed", -1), ("eta", math.nan), ("dimensions", 2.5)])
def test_settings_that_cannot_be_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"{name} = {value}"):
        RnnSettings(**{name: value})


@pytest.mark.parametrize(
    ("ids", "counts", "message"),
    [
        (np.array([0, 1, 5, 0, 1, 0]), np.array([1, 1]), "word 5"),
        (np.array([0, -1, -1, -1, -1, -1]), np.array([1, 1]), "too few"),
        (np.zeros(9), np.array([1, 1]), "float64"),
        (np.zeros(9, np.int32), np.array([3, -1]), "at least 0"),
    ],
)
def test_a_text_that_cannot_be_learned_is_refused(ids: Any, counts: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        learn_rnn(ids, counts)


def test_a_device_that_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="device"):
        learn_rnn(*text(), SMALL, device="tpu")


@pytest.mark.skipif(torch.cuda.is_available(), reason="has a GPU")
def test_a_missing_gpu_is_said() -> None:
    with pytest.raises(InputError, match="no CUDA GPU"):
        learn_rnn(*text(), SMALL, device="cuda")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_learns_like_the_cores_and_repeats_its_bits() -> None:
    cpu, one, same = (learn_rnn(*text(2000), SMALL, device=device) for device in ("cpu", "cuda", "cuda"))
    np.testing.assert_array_equal(same.vectors, one.vectors)
    assert one.history[-1]["perplexity"] == pytest.approx(
        cpu.history[-1]["perplexity"], rel=1e-2
    )  # float32 sums in another order, 100 steps


def test_a_step_that_is_too_large_is_said() -> None:
    with pytest.raises(InputError, match="eta = 1e\\+30 is too large"):
        learn_rnn(*text(), RnnSettings(dimensions=4, samples=4, eta=1e30))


def test_a_missing_torch_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"baseline rnn .*'torch>="):
        learn_rnn(*text(), SMALL)


def test_the_module_needs_numpy_alone_to_be_imported() -> None:
    code = (
        "import sys; sys.modules.update(dict.fromkeys(('torch', 'numba', 'scipy', 'sklearn')));"
        "import wordforest.baselines.rnn"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
