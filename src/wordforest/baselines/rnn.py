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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.baselines import rnn_network as network
from wordforest.errors import InputError, MissingExtraError
from wordforest.runtime.gpu import check_device

Array = NDArray[Any]

_HELD_OUT_SHARE = 0.01
_HELD_OUT = 50_000  # tokens at most
_PIECE = 1 << 22  # tokens that are on the device at a time
_LAST_ETA = 0.05  # the step at the end, as a share of that at the start
_REPORT_EVERY = 1.0  # seconds
_DIVERGED = 100.0  # nats a token; a vocabulary that could start there does not exist


@dataclass(frozen=True)
class RnnSettings:
    """How to learn. A chunk is ``streams`` x ``steps`` tokens, fewer on short texts, and gives one step of AdaGrad."""

    dimensions: int = 52
    epochs: int = 2
    streams: int = 64
    steps: int = 20  # positions that errors go back
    samples: int = 1024  # words that scores are normalised over, while learning
    eta: float = 0.05  # the step at the start; it falls linearly
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (
            ("dimensions", 1), ("epochs", 1), ("streams", 1), ("steps", 1), ("samples", 1), ("seed", 0)
        ):  # fmt: skip
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise InputError(f"{name} = {value!r}, but it must be a whole number of at least {least}.")
        if not (math.isfinite(self.eta) and self.eta > 0):
            raise InputError(f"eta = {self.eta}, but the step must be above 0. Leave it out if unsure.")


@dataclass(frozen=True)
class RnnStep:
    """Where learning stands: tokens read of all to read, mean loss of the last by sampling, and its exponential."""

    tokens: int
    total: int
    loss: float
    perplexity: float


@dataclass(frozen=True, eq=False)
class RnnLearned:
    """Vectors (V, M) float32, what was measured after each epoch, and the last perplexity on held-out text.

    An entry of the history has ``epoch``, ``tokens`` read so far, ``loss`` in the epoch by sampling, ``perplexity``
    on held-out text, over all words and borders.
    """

    vectors: Array
    history: list[dict[str, float]]
    perplexity: float


OnStep = Callable[[RnnStep], None]


def learn_rnn(
    ids: Array,
    counts: Array,
    settings: RnnSettings | None = None,
    *,
    device: str = "cpu",
    threads: int = 1,
    on_step: OnStep | None = None,
) -> RnnLearned:
    """Learn vectors from the text ``ids`` (n,), rows of a vocabulary with ``counts`` (V,); negative: end of a sentence.

    ``device`` is "cpu" or "cuda". ``threads`` is how many cores PyTorch uses: steps are small, so a second one gains
    little at M = 52, and two lose far more than that where other work shares the cores. The same seed gives the same
    bits for the same device and number of threads. ``on_step`` is called about every second and at every epoch's end.
    """
    settings = settings or RnnSettings()
    frequencies = _frequencies(ids, counts)  # (V + 1,)
    _check_device(device, threads)
    text = _Text(ids, len(frequencies) - 1, settings, device)
    with _as_asked(threads):
        learner = _Learner(text, frequencies, settings, device)
        history = [learner.epoch(number, on_step) for number in range(1, settings.epochs + 1)]
        vectors = learner.net.U[:-1].cpu().numpy().copy()
    return RnnLearned(vectors, history, history[-1]["perplexity"])


class _Text:
    """The text as inputs and outputs of streams, read in pieces, and its held-out end."""

    def __init__(self, ids: Array, border: int, settings: RnnSettings, device: str) -> None:
        self.border, self.device, self.steps = border, device, settings.steps
        start = _held_out_start(ids)
        self.held_out = self._rows(ids[start:])  # (n_held_out,)
        n = start - 1  # pairs of neighbours
        self.streams = max(1, min(settings.streams, n // settings.steps))
        self.length = n // self.streams
        self.inputs = ids[: self.streams * self.length].reshape(self.streams, self.length)
        self.outputs = ids[1 : self.streams * self.length + 1].reshape(self.streams, self.length)

    def __len__(self) -> int:
        return self.streams * self.length

    def chunks(self) -> Iterator[tuple[Any, Any]]:
        """Yield inputs and outputs (steps, streams), in order; the last chunk may be shorter."""
        width = max(1, _PIECE // (self.streams * self.steps)) * self.steps
        for first in range(0, self.length, width):
            piece = slice(first, first + width)
            x, y = self._rows(self.inputs[:, piece].T), self._rows(self.outputs[:, piece].T)
            yield from zip(x.split(self.steps), y.split(self.steps), strict=True)

    def _rows(self, ids: Array) -> Any:
        """Return ids as a tensor on the device, a border as the row after the last word."""
        import torch

        rows = np.where(ids < 0, self.border, ids).astype(np.int64, order="C")
        return torch.from_numpy(rows).to(self.device)


class _Learner:
    """Reads the text; ``net`` is what it has learned so far."""

    def __init__(self, text: _Text, frequencies: Array, settings: RnnSettings, device: str) -> None:
        import torch

        self.text, self.settings, self.device = text, settings, device
        self.generator = torch.Generator().manual_seed(settings.seed)  # on the CPU, so that devices start alike
        self.net = network.Network.start(frequencies, settings.dimensions, self.generator, device)
        pi = network.inclusion(frequencies, settings.samples)
        self.sampler = network.Sampler.start(pi, self.net.U.dtype, device)
        self.tokens, self.total = 0, settings.epochs * len(text)

    def epoch(self, number: int, on_step: OnStep | None) -> dict[str, float]:
        """Read the text once and measure; return an entry of the history."""
        import torch

        told = time.monotonic()
        whole, recent, n_recent = 0.0, torch.zeros((), device=self.device), 0
        h = torch.zeros(self.text.streams, self.settings.dimensions, device=self.device)
        for x, y in self.text.chunks():
            h, loss = self._step(x, y, h)
            recent += loss
            n_recent += y.numel()
            if time.monotonic() - told > _REPORT_EVERY or self.tokens == number * len(self.text):
                whole += float(recent)
                self._tell(float(recent) / n_recent, on_step)
                told, n_recent = time.monotonic(), 0
                recent.zero_()
        perplexity = self._perplexity(network.exact_loss(self.net, self.text.held_out))
        return {"epoch": number, "tokens": self.tokens, "loss": whole / len(self.text), "perplexity": perplexity}

    def _step(self, x: Any, y: Any, h: Any) -> tuple[Any, Any]:
        """Learn from a chunk; return the last states and the sum of its losses."""
        import torch

        start = torch.rand(1, generator=self.generator, dtype=torch.float64).to(self.device)
        sample = self.sampler.draw(start)
        gradient, h = network.gradients(self.net, x, y, h, sample, self.sampler.log_pi)
        eta = self.settings.eta * (1 - (1 - _LAST_ETA) * self.tokens / self.total)
        network.move(self.net, gradient, eta)
        self.tokens += y.numel()
        return h, gradient.loss

    def _tell(self, loss: float, on_step: OnStep | None) -> None:
        perplexity = self._perplexity(loss)
        if on_step:
            on_step(RnnStep(self.tokens, self.total, loss, perplexity))

    def _perplexity(self, loss: float) -> float:
        if not loss < _DIVERGED:
            raise InputError(
                f"learning diverged: the loss is {loss:.3g} after {self.tokens} tokens. "
                f"The step eta = {self.settings.eta} is too large: lower it."
            )
        return math.exp(loss)


def _frequencies(ids: Array, counts: Array) -> Array:
    """Return how often each word and, after them, the border comes, at least 1 (V + 1,); refuse what cannot be read."""
    if ids.ndim != 1 or not np.issubdtype(ids.dtype, np.signedinteger):
        raise InputError(f"expected ids of shape (n,) and type int32, but {ids.dtype} of shape {ids.shape} came.")
    if counts.ndim != 1 or len(counts) < 1 or not (np.isfinite(counts).all() and (counts >= 0).all()):
        raise InputError(
            f"expected the counts of at least one word, all at least 0, but an array of shape {counts.shape} came."
        )
    n_borders, highest = 0, -1
    for first in range(0, len(ids), _PIECE):
        piece = ids[first : first + _PIECE]
        n_borders += int(np.count_nonzero(piece < 0))
        highest = max(highest, int(piece.max()))
    if highest >= len(counts):
        raise InputError(
            f"ids hold the row {highest}, but counts has {len(counts)} rows. Use the ids and counts of one vocabulary."
        )
    if len(ids) - n_borders < 3 or len(ids) < 5:
        raise InputError(f"the text has {len(ids) - n_borders} words: too few to learn from. Give more text.")
    borders = n_borders / (len(ids) - n_borders) * counts.sum()  # counts may be those of a longer text
    return np.asarray(np.maximum(np.append(counts, borders), 1), dtype=np.float64)


def _held_out_start(ids: Array) -> int:
    """Return where the held-out end begins: after the border of a sentence if one is near."""
    n = len(ids)
    size = min(_HELD_OUT, max(2, round(_HELD_OUT_SHARE * n)))
    before = ids[max(2, n - 2 * size) : n - size]
    borders = np.flatnonzero(before < 0)
    return n - size - (len(before) - 1 - int(borders[-1]) if len(borders) else 0)


def _check_device(device: str, threads: int) -> None:
    """Refuse a device that is not there, and a number of threads that cannot be."""
    try:
        import torch  # noqa: F401 the CPU's way needs it, too
    except ImportError as error:
        raise MissingExtraError("the baseline rnn", "baselines") from error
    check_device(device, "the baseline rnn", "baselines")
    if threads < 1:
        raise InputError(f"threads = {threads}, but it must be at least 1.")


@contextmanager
def _as_asked(threads: int) -> Iterator[None]:
    """Set PyTorch to ``threads`` threads and to no gradients of its own, and back at the end."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_num_threads(before)
