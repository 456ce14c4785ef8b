"""The recurrent network of the baseline rnn, and how it reads; PyTorch derives the gradients, back through time.

With the rows u_w (M,) of U for the input words, W (M, M), and the rows o_w (M + 1,) of O for the words to come::

    h_t = sigmoid(u_{w_t} + W h_{t-1})                        s_t(w) = o_w . [h_t, 1]
    p(w | past) = exp s_t(w) / Z_t                            Z_t = sum over all rows w of exp s_t(w)

A word enters as a one-hot vector (Mikolov et al. 2010), so U x_t is a row of U. Learning never sums over all words: a
sample holds each row w with probability pi_w, and Z is estimated without bias by

    exp s(y)  +  sum over sampled w, not y, of exp(s(w)) / pi_w            with y the word that came.

Gradients of U and O are sparse: a step costs nothing for words that a chunk does not touch.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from wordforest.baselines.language_model import Array, Report, diverged, held_out_start
from wordforest.baselines.rnn import RnnSettings
from wordforest.runtime.progress import Event

Tensor = Any  # torch.Tensor; torch is an optional extra

_CLIP = 15.0  # the bound on every component of an error on its way back, as in Mikolov's toolkit
_U_STEP, _W_STEP = 10.0, 0.2  # times eta: errors reach U through a sigmoid, and W acts in every position at once
_FEW = 52  # units up to which steps are not cut
_CELLS = 1 << 24  # scores held at a time by the exact loss
_PIECE = 1 << 22  # tokens that are on the device at a time
_LAST_ETA = 0.05  # the step at the end, as a share of that at the start
_REPORT_EVERY = 1.0  # seconds
_DIVERGED = 100.0  # nats a token; a vocabulary that could start there does not exist


@dataclass(frozen=True, eq=False)
class Network:
    """Tables U (R, M), W (M, M) and O (R, M + 1), whose last column is the bias."""

    U: Tensor
    W: Tensor
    O: Tensor  # noqa: E741 the letter of the formula

    @classmethod
    def start(cls, frequencies: Array, dimensions: int, generator: Any, device: str = "cpu") -> Network:
        """Return a network that predicts every row by its share of ``frequencies`` (R,), whatever came before."""
        R, M = len(frequencies), dimensions
        U = 0.01 * torch.randn(R, M, generator=generator)
        W = torch.randn(M, M, generator=generator) / M**0.5
        O = torch.zeros(R, M + 1)  # noqa: E741
        O[:, M] = torch.from_numpy(np.log(frequencies / frequencies.sum()))
        return cls(*(table.to(device).requires_grad_() for table in (U, W, O)))

    def optimizer(self, eta: float) -> Any:
        """Return AdaGrad for the three tables, each with a step of its own."""
        many = min(1.0, _FEW / len(self.W))  # W and O act through sums over M units, which all move alike at first
        steps = ((self.U, _U_STEP), (self.W, _W_STEP * many), (self.O, many))
        return torch.optim.Adagrad([{"params": [table], "lr": step * eta} for table, step in steps])


def hidden_states(net: Network, x: Tensor, h: Tensor) -> Tensor:
    """Return the hidden states (T, B, M) for inputs x (T, B) after the states h (B, M)."""
    states = []
    for u in functional.embedding(x, net.U, sparse=True):
        before = u + h @ net.W.t()
        if before.requires_grad:
            before.register_hook(lambda error: error.clamp(-_CLIP, _CLIP))
        h = torch.sigmoid(before)
        states.append(h)
    return torch.stack(states)


def sampled_loss(net: Network, H: Tensor, y: Tensor, sample: Tensor, log_pi: Tensor) -> Tensor:
    """Return the sum of -log p of the words y (T, B) after the states H (T, B, M), Z estimated from a sample (S,).

    A sampled row that is y itself counts only once, as y.
    """
    y = y.reshape(-1)
    H1 = functional.pad(H.reshape(len(y), -1), (0, 1), value=1.0)  # (N, M + 1)
    O_y, O_s = (functional.embedding(rows, net.O, sparse=True) for rows in (y, sample))  # (N, M + 1), (S, M + 1)
    s_y = (H1 * O_y).sum(1)  # (N,)
    s = torch.addmm(-log_pi[sample], H1, O_s.t())  # (N, S)
    s = s.masked_fill_(sample == y[:, None], -torch.inf)
    return (torch.logaddexp(s.logsumexp(1), s_y) - s_y).sum()


def exact_loss(net: Network, ids: Tensor) -> float:
    """Return the mean of -log p(w_t | past) over ids (n,) from the second on, normalised over all rows."""
    with torch.no_grad():
        H = hidden_states(net, ids[:-1, None], torch.zeros_like(net.W[:1]))[:, 0]  # (n - 1, M)
        M = H.shape[1]
        rows = max(1, _CELLS // len(net.O))
        total = 0.0
        for states, y in zip(H.split(rows), ids[1:].split(rows), strict=True):
            s = torch.addmm(net.O[:, M], states, net.O[:, :M].t())  # (rows, R)
            total += float(functional.cross_entropy(s, y, reduction="none").double().sum())
    return total / len(H)


@dataclass(frozen=True, eq=False)
class Sampler:
    """Draws sets of different rows in which row w stands with probability pi_w; ``order`` (R,), ``ends`` (R,)."""

    order: Tensor  # rows, the most frequent first
    ends: Tensor  # running sums of pi in that order
    log_pi: Tensor  # (R,), by row
    size: int

    @classmethod
    def start(cls, pi: Array, dtype: Any, device: str = "cpu") -> Sampler:
        """Return a sampler for probabilities (R,) whose sum is a whole number."""
        order = np.argsort(-pi, kind="stable")
        order_, ends, log_pi = (torch.from_numpy(a).to(device) for a in (order, np.cumsum(pi[order]), np.log(pi)))
        return cls(order_, ends, log_pi.to(dtype), round(float(pi.sum())))

    def draw(self, start: Tensor) -> Tensor:
        """Return ``size`` rows: those at start, start + 1, ... along the running sums; 0 <= start < 1, shape (1,)."""
        start = start.clamp(max=1 - 1e-9)  # so that no sum is rounded up to the next one
        points = start + torch.arange(self.size, dtype=self.ends.dtype, device=self.ends.device)
        places = torch.searchsorted(self.ends, points, right=True)
        return self.order[places.clamp_(max=len(self.order) - 1)]


def inclusion(frequencies: Array, size: int, power: float = 0.75) -> Array:
    """Return pi_w = min(1, c frequency^power) with c such that they sum to ``size``; all 1 if there are fewer rows."""
    R = len(frequencies)
    if size >= R:
        return np.ones(R)
    weights = frequencies.astype(np.float64) ** power
    falling = np.sort(weights)[::-1]
    rest = np.cumsum(falling[::-1])[::-1]  # of all from k on
    c = (size - np.arange(size)) / rest[:size]  # if the first k have probability 1
    k = int(np.argmax(c * falling[:size] <= 1))
    return np.asarray(np.minimum(1.0, c[k] * weights))


class Text:
    """The text as inputs and outputs of streams, read in pieces, and its held-out end."""

    def __init__(self, ids: Array, border: int, streams: int, steps: int, device: str) -> None:
        self.border, self.device, self.steps = border, device, steps
        start = held_out_start(ids)
        self.held_out = self._rows(ids[start:])  # (n_held_out,)
        n = start - 1  # pairs of neighbours
        self.streams = max(1, min(streams, n // steps))
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
        rows = np.where(ids < 0, self.border, ids).astype(np.int64, order="C")
        return torch.from_numpy(rows).to(self.device)


class Learner:
    """Reads the text; ``net`` is what it has learned so far."""

    def __init__(self, text: Text, frequencies: Array, settings: RnnSettings, device: str) -> None:
        self.text, self.settings, self.device = text, settings, device
        self.generator = torch.Generator().manual_seed(settings.seed)  # on the CPU, so that devices start alike
        self.net = Network.start(frequencies, settings.dimensions, self.generator, device)
        self.optimizer = self.net.optimizer(settings.eta)
        self.steps = [group["lr"] for group in self.optimizer.param_groups]
        pi = inclusion(frequencies, settings.samples)
        self.sampler = Sampler.start(pi, self.net.U.dtype, device)
        self.tokens, self.total = 0, settings.epochs * len(text)

    def learn(self, epoch: int, report: Report | None) -> dict[str, float]:
        """Read the text once and measure; return an entry of the history."""
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
                if report:
                    report(Event("learn", self.tokens, self.total, "tokens", {"loss": mean}))
                reported, n_recent = time.monotonic(), 0
                recent.zero_()
        perplexity = math.exp(self._checked(exact_loss(self.net, self.text.held_out)))
        return {"epoch": epoch, "tokens": self.tokens, "loss": whole / len(self.text), "perplexity": perplexity}

    def _step(self, x: Tensor, y: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        """Learn from a chunk; return the last states and the sum of its losses."""
        start = torch.rand(1, generator=self.generator, dtype=torch.float64).to(self.device)
        H = hidden_states(self.net, x, h)
        loss = sampled_loss(self.net, H, y, self.sampler.draw(start), self.sampler.log_pi)
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


@contextmanager
def one_thread_of_torch() -> Iterator[None]:
    """Set PyTorch to one thread and to trust its own sparse gradients, and back at the end."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.sparse.check_sparse_tensor_invariants(enable=False):
            yield
    finally:
        torch.set_num_threads(before)
