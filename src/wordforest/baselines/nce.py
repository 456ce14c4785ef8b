"""NCE: the log-bilinear model of Mnih and Teh (2012), both sides of context, by noise-contrastive estimation.

A word w is predicted from the words around it, each position j with weights of its own, all products elementwise::

    r_hat = sum_j c_j * r_j          s(w) = q_w . r_hat + b_w          p(w | context) = exp s(w)

The normalising constant stays at 1. Learning sets a word of the text apart from k words of noise, drawn from p_n(w)
proportional to count^power: with ``delta(w) = s(w) - log(k p_n(w))`` it minimises, summed over the text::

    -log sigma(delta(w)) - sum over noise x of log(1 - sigma(delta(x)))

The last column of ``outputs`` is ``b_w - log(k p_n(w))``, so that ``delta(w) = [q, b'] . [r_hat, 1]``. The gradients of
a mini-batch of segments of text are computed with the model as it stood, and AdaGrad takes one step for each row that
they touch. Segments, noise and order come from one seed, so the bits do not depend on the workers.

The vector of a word is the sum of its r and its q, both tables of the same norm, learned from text whose frequent words
are thinned out: r alone, from all the text, scores far lower (docs/baselines.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from wordforest.baselines import nce_kernels as kernels
from wordforest.baselines.language_model import (
    Array,
    LearnedVectors,
    LearningSettings,
    Report,
    count_words,
    diverged,
    held_out_start,
)
from wordforest.baselines.nce_kernels import Gradients, Model
from wordforest.counts.windows import keep_probability, kept
from wordforest.errors import InputError
from wordforest.options import default
from wordforest.runtime.machine import Executor, Threads
from wordforest.runtime.progress import Event

_SEGMENTS = 16  # segments of a batch, from all over the text: neighbouring sentences repeat each other
_PARTS = 16  # of the rows of a table; workers beyond these have nothing to do
_STEPS = 64  # at least so many steps in a pass over a text that is not tiny
_SHORTEST = 16  # tokens of a segment
_TINY_TEXT = 1000  # tokens: shorter ones are held out and learned from at once
_SPREAD = 0.1  # context vectors start uniform between minus and plus this
_PIECE = 1 << 22  # ids thinned at a time
_DIVERGED = 3.0  # times the loss at the start


@dataclass(frozen=True)
class NceSettings(LearningSettings):
    """How to learn. ``share`` neighbouring examples are compared with the same noise words; 1 is the paper's way."""

    dimensions: int = default("dimensions")
    window: int = default("window")  # to each side, within the sentence
    noise: int = default("noise")  # k, noise words for each word of the text
    power: float = default("power")  # noise is drawn from count^power
    share: int = 4
    subsample: float = default("subsample", "nce")  # drop frequent words first, as word2vec does; 0 keeps all
    epochs: int = default("epochs", "nce")
    eta: float = default("eta", "nce")  # AdaGrad's step at the start; it falls linearly to nothing
    batch: int = 2048  # tokens of a step, fewer on short texts
    seed: int = default("seed")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.power < 0:
            raise InputError(f"power = {self.power}, but it must be at least 0: 1 is the text's own frequencies.")


def learn_nce(
    ids: Array,
    counts: Array,
    settings: NceSettings | None = None,
    *,
    executor: Executor | None = None,
    report: Report | None = None,
) -> LearnedVectors:
    """Learn vectors of V words: see ``learn_model``, whose r + q they are, q scaled to the norm of all r."""
    model, history = learn_model(ids, counts, settings, executor=executor, report=report)
    R, Q = model.vectors, model.outputs[:, :-1]
    size = np.linalg.norm(Q)
    return LearnedVectors(R + Q * (np.linalg.norm(R) / size) if size else R, history)


def learn_model(
    ids: Array,
    counts: Array,
    settings: NceSettings | None = None,
    *,
    executor: Executor | None = None,
    report: Report | None = None,
) -> tuple[Model, list[dict[str, Any]]]:
    """Learn from a text of word ids, where a negative id ends a sentence; return the model and the history.

    ``counts`` (V,) says how often each word occurs; a word that never does keeps the vector it starts from. ``report``
    is called after every step. The workers of ``executor`` must share memory, as threads do. An entry of the history
    has ``epoch`` (0 before learning), ``tokens``, ``loss`` in the epoch and ``held_out``, the loss of held-out text.
    """
    ids, counts, settings = np.asarray(ids), np.asarray(counts), settings or NceSettings()
    count_words(ids, counts)
    if not _has_neighbours(ids):
        raise InputError("no sentence has two words, but a word is predicted from its neighbours. Give running text.")
    if settings.subsample:
        ids, counts = _thinned(ids, counts, settings)
    learner = _Learner(ids, counts, settings, executor or Threads())
    for epoch in range(1, settings.epochs + 1):
        learner.learn(epoch, report)
    return learner.model, learner.history


def start_model(counts: Array, p_noise: Array, settings: NceSettings) -> Model:
    """Return the model before learning: q = 0 and b = log p(w), so that it predicts each word by its frequency."""
    rng = np.random.default_rng(settings.seed)
    V, M, n = len(counts), settings.dimensions, 2 * settings.window
    vectors = rng.random((V, M), dtype=np.float32) * np.float32(2 * _SPREAD) - np.float32(_SPREAD)
    outputs = np.zeros((V, M + 1), dtype=np.float32)
    outputs[:, M] = np.log(np.maximum(counts, 1) / counts.sum()) - np.log(settings.noise * p_noise)
    return Model(vectors, outputs, np.full((n, M), 1 / n, dtype=np.float32))


def noise_distribution(counts: Array, power: float) -> Array:
    """Return p_n (V,), proportional to count^power; words that never occur have what one occurrence would give."""
    weights = np.maximum(counts, 1) ** float(power)
    return np.asarray(weights / weights[counts > 0].sum())


def _thinned(ids: Array, counts: Array, settings: NceSettings) -> tuple[Array, Array]:
    """Return the text without some of its frequent words, in memory, and the counts of what is left."""
    keep = keep_probability(np.maximum(counts, 1), settings.subsample)
    pieces = [kept(ids[at : at + _PIECE], at, keep, settings.seed) for at in range(0, len(ids), _PIECE)]
    left = np.concatenate(pieces)
    return (left, np.bincount(left[left >= 0], minlength=len(counts))) if _has_neighbours(left) else (ids, counts)


class _Learner:
    """Takes steps; ``model`` and ``history`` are what is learned."""

    def __init__(self, ids: Array, counts: Array, settings: NceSettings, executor: Executor) -> None:
        self.settings, self.executor = settings, executor
        start = held_out_start(ids)
        self.text, self.held_out = ids[:start], ids[start:]
        if len(ids) < _TINY_TEXT or not (_has_neighbours(self.text) and _has_neighbours(self.held_out)):
            self.text = self.held_out = ids
        self.size = max(_SHORTEST, min(settings.batch // _SEGMENTS, len(ids) // (_SEGMENTS * _STEPS)))
        p_noise = noise_distribution(counts, settings.power)
        self.drawn = np.flatnonzero(counts > 0)  # words that noise is drawn from
        self.upto = np.cumsum(p_noise[self.drawn])
        self.model = start_model(counts, p_noise, settings)
        self.squares, self.gradient = (Model(*(np.zeros_like(table) for table in self.model)) for _ in range(2))
        self.history: list[dict[str, Any]] = []
        self._measure(0, 0)

    def learn(self, epoch: int, report: Report | None) -> None:
        """Go once through the text, its segments in an order of this epoch's own, and measure."""
        rng = np.random.default_rng([self.settings.seed, epoch])
        order = rng.permutation(-(-len(self.text) // self.size)) * self.size
        total = self.settings.epochs * len(self.text)
        done, losses, examples = (epoch - 1) * len(self.text), 0.0, 0
        for first in range(0, len(order), _SEGMENTS):
            starts = order[first : first + _SEGMENTS]
            tokens, found = self._contrast(self.text, starts, rng)
            loss, n = sum(one.loss for one in found), sum(one.examples for one in found)
            if not loss <= _DIVERGED * self.history[0]["held_out"] * n:  # true for NaN, too
                raise diverged(loss / max(n, 1), done, self.settings.eta)
            self._update(tokens, found, self.settings.eta * (1 - done / total))
            done += int(np.minimum(self.size, len(self.text) - starts).sum())
            losses, examples = losses + loss, examples + n
            if report:
                report(Event("learn", done, total, "tokens", {"loss": loss / max(n, 1)}))
        self._measure(epoch, done, loss=losses / max(examples, 1))

    def _contrast(self, text: Array, starts: Array, rng: np.random.Generator) -> tuple[Array, list[Gradients]]:
        """Return the tokens (segments, T) and the gradients of up to a batch of segments."""
        tokens = cut_segments(text, starts, self.size, self.settings.window)
        groups = -(-self.size // self.settings.share)
        drawn = np.searchsorted(self.upto, rng.random((len(starts), groups, self.settings.noise)), side="right")
        noise = self.drawn[np.minimum(drawn, len(self.drawn) - 1)]

        def contrast(s: int) -> Gradients:
            return kernels.contrast(tokens[s], noise[s], self.settings.share, self.model)

        return tokens, list(self.executor.map(contrast, range(len(starts))))

    def _update(self, tokens: Array, found: list[Gradients], eta: float) -> None:
        """Step all that the batch touches: rows part by part, and the weights, whose scale is 1 / positions."""
        vectors, outputs, (weights, squares, _) = zip(self.model, self.squares, self.gradient, strict=True)
        of_vectors = tokens.reshape(-1), np.concatenate([one.vectors for one in found])
        of_outputs = np.concatenate([one.words for one in found]), np.concatenate([one.outputs for one in found])

        def update(part: int) -> None:
            kernels.update_rows(*of_vectors, part, _PARTS, *vectors, eta)
            kernels.update_rows(*of_outputs, part, _PARTS, *outputs, eta)

        for _ in self.executor.map(update, range(_PARTS)):
            pass
        gradient = np.sum([one.weights for one in found], axis=0).reshape(-1)
        kernels.step(gradient, weights.reshape(-1), squares.reshape(-1), eta / len(weights))

    def _measure(self, epoch: int, tokens: int, **more: float) -> None:
        """Append the mean loss of the held-out text, always with the same noise, to the history."""
        rng = np.random.default_rng([self.settings.seed, 0])
        starts = np.arange(0, len(self.held_out), self.size)
        loss, n = 0.0, 0
        for first in range(0, len(starts), _SEGMENTS):
            for one in self._contrast(self.held_out, starts[first : first + _SEGMENTS], rng)[1]:
                loss, n = loss + one.loss, n + one.examples
        self.history.append({"epoch": epoch, "tokens": tokens, "held_out": loss / max(n, 1), **more})


def _has_neighbours(ids: Array) -> bool:
    return bool(((ids[1:] >= 0) & (ids[:-1] >= 0)).any())


def cut_segments(text: Array, starts: Array, size: int, window: int) -> Array:
    """Return ``size`` tokens from each start on and a window on both sides, (segments, T); -1 outside the text."""
    places = starts[:, None] + np.arange(-window, size + window)
    inside = (places >= 0) & (places < len(text))
    return np.where(inside, text[np.clip(places, 0, len(text) - 1)], -1).astype(np.int64)
