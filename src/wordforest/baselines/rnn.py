"""RNN: the recurrent language model of Mikolov et al. (2010), an Elman network that predicts the next word.

The text is cut into parallel streams that the network reads side by side, its states carried on from chunk to chunk;
errors go back through the ``steps`` positions of a chunk. The border of a sentence is a token of its own, the row
after the last word. Scores are normalised over a sample of words, drawn anew for each chunk, which replaces the
classes of words of Mikolov et al. (2011); perplexity is measured on held-out text over all words. The vectors of the
words are the rows of U, with which they enter the network.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.baselines.checks import check_settings, count_words
from wordforest.baselines.language_model import (
    LearnedVectors,
    LearningProgress,
    OnProgress,
    diverged,
    held_out_start,
)
from wordforest.errors import InputError, MissingExtraError
from wordforest.options import default
from wordforest.runtime.machine import check_device

Array = NDArray[Any]
Tensor = Any  # torch.Tensor; torch is an optional extra

_PIECE = 1 << 22  # tokens that are on the device at a time
_LAST_ETA = 0.05  # the step at the end, as a share of that at the start
_REPORT_EVERY = 1.0  # seconds
_DIVERGED = 100.0  # nats a token; a vocabulary that could start there does not exist


@dataclass(frozen=True)
class RnnSettings:
    """How to learn. A chunk is ``streams`` x ``steps`` tokens, fewer on short texts, and gives one step of AdaGrad."""

    dimensions: int = default("dimensions")
    epochs: int = default("epochs", "rnn")
    streams: int = 64
    steps: int = 20  # positions that errors go back
    samples: int = 1024  # words that scores are normalised over, while learning
    eta: float = default("eta", "rnn")  # the step at the start; it falls linearly
    seed: int = default("seed")

    def __post_init__(self) -> None:
        check_settings(self)


def learn_rnn(
    ids: Array,
    counts: Array,
    settings: RnnSettings | None = None,
    *,
    device: str = "cpu",
    threads: int = 1,
    on_step: OnProgress | None = None,
) -> LearnedVectors:
    """Learn vectors from the text ``ids`` (n,), rows of a vocabulary with ``counts`` (V,); negative: end of a sentence.

    ``device`` is "cpu" or "cuda". ``threads`` is how many cores PyTorch uses: steps are small, so a second one gains
    little at M = 52, and two lose far more than that where other work shares the cores. The same seed gives the same
    bits for the same device and number of threads. ``on_step`` is called about every second and at every epoch's end.
    An entry of the history has ``epoch``, ``tokens`` read so far, ``loss`` in the epoch by sampling, and ``perplexity``
    on held-out text, over all words and borders.
    """
    settings = settings or RnnSettings()
    frequencies = _frequencies(ids, counts)  # (V + 1,)
    _check_device(device, threads)
    text = _Text(ids, len(frequencies) - 1, settings, device)
    with _threads_of_torch(threads):
        learner = _Learner(text, frequencies, settings, device)
        history = [learner.learn(epoch, on_step) for epoch in range(1, settings.epochs + 1)]
        vectors = learner.net.U[:-1].detach().cpu().numpy().copy()
    return LearnedVectors(vectors, history)


class _Text:
    """The text as inputs and outputs of streams, read in pieces, and its held-out end."""

    def __init__(self, ids: Array, border: int, settings: RnnSettings, device: str) -> None:
        self.border, self.device, self.steps = border, device, settings.steps
        start = held_out_start(ids)
        self.held_out = self._rows(ids[start:])  # (n_held_out,)
        n = start - 1  # pairs of neighbours
        self.streams = max(1, min(settings.streams, n // settings.steps))
        self.length = n // self.streams
        self.inputs = ids[: self.streams * self.length].reshape(self.streams, self.length)
        self.outputs = ids[1 : self.streams * self.length + 1].reshape(self.streams, self.length)

    def __len__(self) -> int:
        return self.streams * self.length

    def chunks(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield inputs and outputs (steps, streams), in order; the last chunk may be shorter."""
        width = max(1, _PIECE // (self.streams * self.steps)) * self.steps
        for first in range(0, self.length, width):
            piece = slice(first, first + width)
            x, y = self._rows(self.inputs[:, piece].T), self._rows(self.outputs[:, piece].T)
            yield from zip(x.split(self.steps), y.split(self.steps), strict=True)

    def _rows(self, ids: Array) -> Tensor:
        """Return ids as a tensor on the device, a border as the row after the last word."""
        import torch

        rows = np.where(ids < 0, self.border, ids).astype(np.int64, order="C")
        return torch.from_numpy(rows).to(self.device)


class _Learner:
    """Reads the text; ``net`` is what it has learned so far."""

    def __init__(self, text: _Text, frequencies: Array, settings: RnnSettings, device: str) -> None:
        import torch

        from wordforest.baselines import rnn_network

        self.text, self.settings, self.device = text, settings, device
        self.generator = torch.Generator().manual_seed(settings.seed)  # on the CPU, so that devices start alike
        self.network = rnn_network
        self.net = rnn_network.Network.start(frequencies, settings.dimensions, self.generator, device)
        self.optimizer = self.net.optimizer(settings.eta)
        self.steps = [group["lr"] for group in self.optimizer.param_groups]
        pi = rnn_network.inclusion(frequencies, settings.samples)
        self.sampler = rnn_network.Sampler.start(pi, self.net.U.dtype, device)
        self.tokens, self.total = 0, settings.epochs * len(text)

    def learn(self, epoch: int, on_step: OnProgress | None) -> dict[str, float]:
        """Read the text once and measure; return an entry of the history."""
        import torch

        reported = time.monotonic()
        whole, recent, n_recent = 0.0, torch.zeros((), device=self.device), 0
        h = torch.zeros(self.text.streams, self.settings.dimensions, device=self.device)
        for x, y in self.text.chunks():
            h, loss = self._step(x, y, h)
            recent += loss
            n_recent += y.numel()
            if time.monotonic() - reported > _REPORT_EVERY or self.tokens == epoch * len(self.text):
                whole += float(recent)
                mean = self._checked(float(recent) / n_recent)
                if on_step:
                    on_step(LearningProgress(self.tokens, self.total, mean))
                reported, n_recent = time.monotonic(), 0
                recent.zero_()
        perplexity = math.exp(self._checked(self.network.exact_loss(self.net, self.text.held_out)))
        return {"epoch": epoch, "tokens": self.tokens, "loss": whole / len(self.text), "perplexity": perplexity}

    def _step(self, x: Tensor, y: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        """Learn from a chunk; return the last states and the sum of its losses."""
        import torch

        start = torch.rand(1, generator=self.generator, dtype=torch.float64).to(self.device)
        H = self.network.hidden_states(self.net, x, h)
        loss = self.network.sampled_loss(self.net, H, y, self.sampler.draw(start), self.sampler.log_pi)
        self.optimizer.zero_grad()
        loss.backward()
        left = 1 - (1 - _LAST_ETA) * self.tokens / self.total
        for group, step in zip(self.optimizer.param_groups, self.steps, strict=True):
            group["lr"] = step * left
        self.optimizer.step()
        self.tokens += y.numel()
        return H[-1].detach(), loss.detach()

    def _checked(self, loss: float) -> float:
        if not loss < _DIVERGED:
            raise diverged(loss, self.tokens, self.settings.eta)
        return loss


def _frequencies(ids: Array, counts: Array) -> Array:
    """Return how often each word and, after them, the border comes, at least 1 (V + 1,); refuse what cannot be read."""
    n_words = count_words(ids, counts)
    if n_words < 3 or len(ids) < 5:
        raise InputError(f"the text has {n_words} words: too few to learn from. Give more text.")
    borders = (len(ids) - n_words) / n_words * counts.sum()  # counts may be those of a longer text
    return np.asarray(np.maximum(np.append(counts, borders), 1), dtype=np.float64)


def _check_device(device: str, threads: int) -> None:
    """Refuse a device that is not there, and a number of threads that cannot be."""
    try:
        import torch  # noqa: F401 the CPU needs it, too
    except ImportError as error:
        raise MissingExtraError("the baseline rnn", "baselines") from error
    check_device(device, "the baseline rnn", "baselines")
    if threads < 1:
        raise InputError(f"threads = {threads}, but it must be at least 1.")


@contextmanager
def _threads_of_torch(threads: int) -> Iterator[None]:
    """Set PyTorch to ``threads`` threads and to trust its own sparse gradients, and back at the end."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.sparse.check_sparse_tensor_invariants(enable=False):
            yield
    finally:
        torch.set_num_threads(before)
