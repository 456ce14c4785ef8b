"""``nce`` on PyTorch tensors: the same segments and noise as ``nce_kernels.py``, a whole batch in array operations.

S segments of at most n words lie side by side with a window w of words to each side, T = n + 2 w; what is no word, or
no example, has a place all the same and a gradient of zero. Sums over the rows that share a word run in a fixed order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wordforest.baselines.nce import Array, Embedding, NceLearner, NceSettings, stream_key
from wordforest.baselines.nce_kernels import Model, Noise
from wordforest.baselines.rnn_network import by_row
from wordforest.coder.kernels.counter import below, stream_bits
from wordforest.runtime.threads import Executor

Tensor = Any

_TINY = 1e-20  # beside sums of squares, as in nce_kernels.py


@dataclass(frozen=True, eq=False)
class Gradients:
    """The sum of the losses, and its gradient: (rows, values) of tables whose rows are words, all of the weights."""

    loss: Tensor
    vectors: tuple[Tensor, Tensor]
    outputs: tuple[Tensor, Tensor]  # the last column is that of the biases
    weights: Tensor


class DeviceLearner(NceLearner):
    """Takes steps on a device."""

    def __init__(self, device: str, ids: Array, counts: Array, settings: NceSettings, executor: Executor) -> None:
        import torch

        super().__init__(ids, counts, settings, executor)
        self.device = device
        self.model: Any = Model(*(torch.as_tensor(table).to(device) for table in self.model))
        self.squares: Any = Model(*(torch.zeros_like(table) for table in self.model))
        self.noise: Any = Noise(*(torch.as_tensor(table).to(device) for table in self.noise))
        self.length = self.batch.centres.shape[1]  # words of a segment at most
        self.gradients: Gradients | None = None

    def learned(self, on_step: Any) -> Embedding:
        """Take all steps and return what they led to, as NumPy arrays."""
        import torch

        with torch.no_grad():
            found = super().learned(on_step)
        tables: list[Any] = [found.vectors, found.outputs, found.biases, found.weights]
        vectors, outputs, biases, weights = (table.cpu().numpy() for table in tables)
        return Embedding(vectors, outputs, biases, weights, found.history)

    def _kept(self) -> list[Any]:
        return [table.clone() for table in (*self.model, *self.squares)]

    def _contrast(self, segments: Array, stream: int) -> tuple[float, int]:
        """Compute the gradients of up to a batch of segments; return the sum of their losses and of their examples."""
        import torch

        w = self.settings.window
        tokens = np.full((len(segments), self.length + 2 * w), -1, dtype=np.int64)
        keys = np.empty(len(segments), dtype=np.uint64)
        inside = np.zeros(len(segments), dtype=np.int64)
        for s, segment in enumerate(segments.tolist()):
            start, end = self.borders[segment : segment + 2].tolist()
            low = max(0, start - w)
            piece = self.ids[low : end + w]
            tokens[s, w - (start - low) : w - (start - low) + len(piece)] = piece
            keys[s], inside[s] = stream_key(self.settings.seed, stream, start), end - start
        there = [torch.as_tensor(part).to(self.device) for part in (tokens, keys.view(np.int64), inside)]
        self.gradients = contrast(self.model, self.noise, self.settings, *there)
        return float(self.gradients.loss), int(self.examples[segments].sum())

    def _update(self, eta: float) -> None:
        """Step all that the batch touches, and the weights, whose scale is 1 / positions."""
        if self.gradients is None:
            raise AssertionError("a step needs a batch")
        model, squares, found = self.model, self.squares, self.gradients
        rows, values = found.outputs
        _step(model.vectors, squares.vectors, *found.vectors, eta)
        _step(model.outputs, squares.outputs, rows, values[:, :-1], eta)
        _step(model.biases, squares.biases, rows, values[:, -1], eta)
        _step(model.weights, squares.weights, slice(None), found.weights, eta / len(model.weights))


def contrast(model: Any, noise: Any, settings: NceSettings, tokens: Tensor, keys: Tensor, inside: Tensor) -> Gradients:
    """Return the loss of segments and its gradient.

    ``tokens`` (S, T) are words, below 0 where there is none; ``keys`` (S,) are those of the streams of noise;
    ``inside`` (S,) says how many places of a segment, from the window on, are its own.
    """
    import torch

    w, M = settings.window, settings.dimensions
    positions = torch.cat([model.weights[:w], model.weights[:1] * 0, model.weights[w:]])  # (2 w + 1, M), 0 for itself
    known = _neighbours(tokens, w)  # (S, n, 2 w + 1)
    n = known.shape[1]
    centres = tokens[:, w : w + n]
    is_example = (centres >= 0) & (known.sum(2) > 0) & (torch.arange(n, device=tokens.device) < inside[:, None])
    known = (known & is_example[:, :, None]).to(model.vectors.dtype)
    rows = model.vectors[tokens.clamp(min=0)]  # (S, T, M)
    around = rows.unfold(1, 2 * w + 1, 1) * known[:, :, None]  # (S, n, M, 2 w + 1)
    contexts = (around * positions.T).sum(3)  # r_hat, (S, n, M)
    loss, slopes, outputs = _contrasted(model, noise, settings, (centres, is_example, contexts), keys)
    weights = (around * slopes[..., None]).sum((0, 1)).T  # (2 w + 1, M)
    pad = torch.nn.functional.pad
    seen = pad(slopes, (0, 0, 2 * w, 2 * w)).unfold(1, 2 * w + 1, 1).flip(3)  # slope of place u - j, (S, T, M, 2 w + 1)
    by = pad(known, (0, 0, 2 * w, 2 * w)).unfold(1, 2 * w + 1, 1).flip(3).diagonal(dim1=2, dim2=3)  # (S, T, 2 w + 1)
    pulls = (seen * by[:, :, None] * positions.T).sum(3)
    vectors = by_row(tokens.clamp(min=0).reshape(-1), pulls.reshape(-1, M))
    return Gradients(loss, vectors, outputs, torch.cat([weights[:w], weights[w + 1 :]]))


def _neighbours(tokens: Tensor, w: int) -> Tensor:
    """Say for every place of a segment which words around it are of its sentence, (S, n, 2 w + 1), not itself."""
    import torch

    word = (tokens >= 0).unfold(1, 2 * w + 1, 1)  # (S, n, 2 w + 1)
    right = word[:, :, w + 1 :].long().cumprod(2)
    left = word[:, :, :w].flip(2).long().cumprod(2).flip(2)
    return torch.cat([left, right[:, :, :1] * 0, right], 2).bool()


def _contrasted(
    model: Any, noise: Any, settings: NceSettings, examples: tuple[Tensor, Tensor, Tensor], keys: Tensor
) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
    """Compare words with noise; return the loss, d loss / d r_hat (S, n, M), and rows and gradients of outputs."""
    import torch

    centres, is_example, contexts = examples
    S, n, M = contexts.shape
    k, share = settings.noise, settings.share
    groups = -(-n // share)
    rank = is_example.cumsum(1) - 1  # of an example among those of its segment
    first = contexts.new_zeros((S, groups * share), dtype=torch.int64)
    place = torch.where(is_example, rank, groups * share - 1)  # what is none goes last, and counts for nothing
    first.scatter_reduce_(1, place, torch.arange(n, device=keys.device).expand(S, n), "amax")
    real = torch.arange(groups * share, device=keys.device) < is_example.sum(1, keepdim=True)
    index = first[:, :, None].expand(S, groups * share, M)
    R = contexts.gather(1, index) * real[:, :, None]  # (S, G share, M), examples side by side
    w = centres.gather(1, first).clamp(min=0)
    delta = (model.outputs[w] * R).sum(2) + model.biases[w] - noise.level[w]
    x = _drawn(noise, keys, groups * k)  # (S, G k)
    Q = model.outputs[x].view(S, groups, k, M)
    grouped = R.view(S, groups, share, M)
    offsets = (model.biases[x] - noise.level[x]).view(S, groups, 1, k)
    noisy = grouped @ Q.transpose(2, 3) + offsets  # (S, G, share, k)
    mask = real.view(S, groups, share, 1)
    softplus = torch.nn.functional.softplus
    loss = (softplus(-delta) * real).double().sum() + (softplus(noisy) * mask).double().sum()
    error, errors = (torch.sigmoid(delta) - 1) * real, torch.sigmoid(noisy) * mask
    slopes = error[:, :, None] * model.outputs[w] + (errors @ Q).view(S, groups * share, M)
    back = torch.where(is_example[:, :, None], slopes.gather(1, rank.clamp(min=0)[:, :, None].expand(S, n, M)), 0.0)
    of_words = torch.cat([error[:, :, None] * R, error[:, :, None]], 2).view(-1, M + 1)
    of_noise = torch.cat([errors.transpose(2, 3) @ grouped, errors.sum(2)[..., None]], 3).view(-1, M + 1)
    outputs = by_row(torch.cat([w.reshape(-1), x.reshape(-1)]), torch.cat([of_words, of_noise]))
    return loss, back, outputs


def _drawn(noise: Any, keys: Tensor, n: int) -> Tensor:
    """Return n words of noise for each stream, (S, n), as ``nce_kernels.draw`` does."""
    import torch

    bits = stream_bits(keys[:, None], torch.arange(n, device=keys.device))
    j = below(bits, torch.full_like(bits, len(noise.keep)))
    return torch.where((bits & 0xFFFFFFFF).double() < noise.keep[j] * 4294967296.0, j, noise.alias[j].long())


def _step(table: Tensor, squares: Tensor, rows: Any, values: Tensor, eta: float) -> None:
    """AdaGrad on some rows, in place."""
    sums = squares[rows] + values * values
    squares[rows] = sums
    table[rows] -= eta * values / (sums + _TINY).sqrt()
