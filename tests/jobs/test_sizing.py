"""The table of sizes in docs/cluster.md: its formulas against draws, and against a simulated cluster."""

from __future__ import annotations

import heapq
from pathlib import Path

import numpy as np
import pytest

from wordforest.jobs import sizing
from wordforest.jobs.sizing import expected_pairs, size_of


def zipf(n_words: int) -> np.ndarray:
    p = 1 / (np.arange(1, n_words + 1) + sizing._OFFSET)
    return p / p.sum()


def test_expected_pairs_are_those_of_drawn_ones() -> None:
    rng, p = np.random.default_rng(0), zipf(5000)
    n_tokens, window = 100_000, 5
    v, c = (rng.choice(5000, size=2 * window * n_tokens, p=p) for _ in range(2))
    drawn = len(np.unique(v * 5000 + c))
    assert expected_pairs(n_tokens, 5000, window, clump=1.0) == pytest.approx(drawn, rel=0.02)  # bins of ranks


@pytest.mark.parametrize(("n_tokens", "n_words"), [(1e9, 300_000), (1e12, 2_000_000)])
def test_expected_pairs_at_scale_are_those_of_a_sample(n_tokens: float, n_words: int) -> None:
    rng, p = np.random.default_rng(0), zipf(n_words)
    v, c = (
        np.exp(rng.uniform(0, np.log(n_words + 1), 2_000_000)).astype(int) for _ in range(2)
    )  # frequent ones more often
    v, c = np.clip(v, 1, n_words), np.clip(c, 1, n_words)
    drawn = np.diff(np.log(np.arange(1, n_words + 2))) / np.log(n_words + 1)  # probability of each rank
    met = -np.expm1(-sizing._CLUMP * 10 * n_tokens * p[v - 1] * p[c - 1])
    sampled = float((met / (drawn[v - 1] * drawn[c - 1])).mean())
    assert expected_pairs(n_tokens, n_words) == pytest.approx(sampled, rel=0.02)  # the sample's own error


@pytest.mark.parametrize(("n_tokens", "n_words", "counted"), [(26e6, 62_110, 33.8e6), (65e6, 100_790, 67e6)])
def test_expected_pairs_are_near_those_of_wikipedia(n_tokens: float, n_words: int, counted: float) -> None:
    assert expected_pairs(n_tokens, n_words) == pytest.approx(counted, rel=0.15)


def broadcast(start: float, size: float, workers: int, bandwidth: float) -> list[float]:
    """Return when each worker has what the client sends: whoever has it passes it on, one after the other."""
    seconds = size / bandwidth
    arrived = [start + seconds]
    free = [start + seconds]
    while len(arrived) < workers:
        sender = heapq.heappop(free)
        arrived.append(sender + seconds)
        for _ in range(2):
            heapq.heappush(free, sender + seconds)
    return arrived


def simulated_step(n_words: int, M: int, workers: int, pairs: float, bandwidth: float, seed: int) -> float:
    """Play one step: tasks of uneven length, two on each worker, links that carry one thing at a time."""
    rng = np.random.default_rng(seed)
    size = size_of(0, n_words, M, workers, bandwidth=bandwidth, pairs=pairs)
    rows = -(-n_words // 8) * (M * 4 + 8)
    now = rows / bandwidth  # old codes leave the client
    shares = rng.dirichlet(np.full(2 * workers, 400.0)) * workers
    ready = []
    for i, got in enumerate(broadcast(now, n_words * M * 4 + 8 * M * M, workers, bandwidth)):
        ready.append(got + shares[2 * i] * size.parts["code"] + shares[2 * i + 1] * size.parts["code"])
    for finished in sorted(ready):  # results come in through the client's link
        now = max(now, finished) + (rows + size.to_client - n_words * M * 4 - rows) / workers / bandwidth
    done = [got + rng.normal(1, 0.03) * size.parts["add"] for got in broadcast(now, rows, workers, bandwidth)]
    for finished in sorted(done):
        now = max(now, finished) + n_words * M * 4 / workers / bandwidth
    return now + size.parts["move D"]


@pytest.mark.parametrize(
    ("n_tokens", "n_words", "M", "workers"),
    [(26e6, 62_110, 52, 2), (1e9, 300_000, 52, 16), (1e10, 600_000, 520, 32), (1e12, 2_000_000, 52, 256),
     (1e12, 2_000_000, 520, 256)],
)  # fmt: skip
def test_a_step_takes_as_long_as_in_a_simulation(n_tokens: float, n_words: int, M: int, workers: int) -> None:
    size = size_of(n_tokens, n_words, M, workers)
    played = [simulated_step(n_words, M, workers, size.pairs, 1.25e9, seed) for seed in range(3)]
    assert size.step == pytest.approx(np.mean(played), rel=0.25)  # parts of a step overlap, and shares differ


def test_the_table_of_the_documentation_is_computed() -> None:
    text = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text(encoding="utf-8")
    for line in sizing.table():
        assert line in text
