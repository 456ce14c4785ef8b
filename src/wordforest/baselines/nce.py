"""NCE: the log-bilinear model of Mnih and Teh (2012), both sides of context, by noise-contrastive estimation.

A word w is predicted from the words around it, each position j with weights of its own, all products elementwise::

    r_hat = sum_j c_j * r_j          s(w) = q_w . r_hat + b_w          p(w | context) = exp s(w)

The normalising constant stays at 1. Learning tells a word of the text from k words of noise, drawn from p_n(w)
proportional to count^power: with ``delta(w) = s(w) - log(k p_n(w))`` it minimises, summed over the text::

    -log sigma(delta(w)) - sum over noise x of log(1 - sigma(delta(x)))

The gradients of a mini-batch of segments of text are computed with the model as it stood, and AdaGrad takes one step
for each row that they touch. Segments, noise and order come from one seed, so the bits do not depend on the workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.baselines import nce_kernels as kernels
from wordforest.baselines.nce_kernels import Batch, Model, Noise
from wordforest.errors import InputError
from wordforest.runtime.threads import Executor, Threads

Array = NDArray[Any]

_SLOTS = 16  # segments of a batch, from all over the text: neighbouring sentences repeat each other
_PARTS = 16  # of the rows of a table; workers beyond these have nothing to do
_STEPS = 64  # at least so many steps in a pass over a text that is not tiny
_SHORTEST = 16  # tokens of a segment
_HELD_OUT = 50_000  # tokens held out of a long text; of a shorter one, one segment in a hundred
_LOOKS = (1 / 8, 1 / 4, 1 / 2)  # of the first pass, where the held-out loss is measured too
_SPREAD = 0.1  # context vectors start uniform between minus and plus this
_RETRIES = 10  # halvings of eta
_DIVERGED = 3.0  # times the loss at the start

_BITS = 0xFFFFFFFFFFFFFFFF


@dataclass(frozen=True)
class NceSettings:
    """How to learn. ``share`` neighbouring examples are compared with the same noise words; 1 is the paper's way."""

    dimensions: int = 52
    window: int = 5  # to each side, within the sentence
    noise: int = 25  # k, noise words for each word of the text
    power: float = 1.0  # noise is drawn from count^power
    share: int = 16
    epochs: int = 3
    eta: float = 0.3  # AdaGrad's step at the start; it falls linearly to nothing
    batch: int = 2048  # tokens of a step, fewer on short texts
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("dimensions", "window", "noise", "share", "epochs", "batch"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise InputError(f"{name} = {value!r}, but it must be a whole number of at least 1.")
        if not (np.isfinite(self.eta) and self.eta > 0):
            raise InputError(f"eta = {self.eta}, but the step must be above 0. Leave it out if unsure.")
        if not (np.isfinite(self.power) and self.power >= 0):
            raise InputError(f"power = {self.power}, but it must be at least 0: 1 is the text's own frequencies.")
        if not isinstance(self.seed, int) or self.seed < 0:
            raise InputError(f"seed = {self.seed!r}, but it must be a whole number of at least 0.")


@dataclass(frozen=True)
class NceStep:
    """Where learning stands: words read of all to read, mean loss of the last step, and of held-out text so far."""

    tokens: int
    total: int
    loss: float
    held_out: float


@dataclass(frozen=True, eq=False)
class Embedding:
    """What was learned: context vectors r (V, M), target vectors q (V, M), biases b (V,), weights c (2 window, M).

    ``vectors`` are the word vectors to use; ``outputs`` may serve too. ``history`` has a dict for each time the
    held-out loss was measured, and for each pass that was taken back because it diverged.
    """

    vectors: NDArray[np.float32]
    outputs: NDArray[np.float32]
    biases: NDArray[np.float32]
    weights: NDArray[np.float32]
    history: list[dict[str, Any]] = field(default_factory=list)


def learn_nce(
    ids: NDArray[np.int32],
    counts: NDArray[np.int64],
    settings: NceSettings | None = None,
    *,
    executor: Executor | None = None,
    on_step: Callable[[NceStep], None] | None = None,
) -> Embedding:
    """Learn vectors of V words from a text of word ids, where a negative id ends a sentence.

    ``counts`` (V,) says how often each word occurs; a word that never does keeps the vector it starts from. ``on_step``
    is called after every step. The workers of ``executor`` must share memory, as threads do.
    """
    learner = NceLearner(np.asarray(ids), np.asarray(counts), settings or NceSettings(), executor or Threads())
    return learner.learned(on_step)


def start_model(counts: Array, settings: NceSettings) -> Model:
    """Return the model before learning: q = 0 and b = log p(w), so that it predicts each word by its frequency."""
    rng = np.random.default_rng(settings.seed)
    V, M, n = len(counts), settings.dimensions, 2 * settings.window
    vectors = rng.random((V, M), dtype=np.float32) * np.float32(2 * _SPREAD) - np.float32(_SPREAD)
    biases = np.log(np.maximum(counts, 1) / counts.sum()).astype(np.float32)
    return Model(vectors, np.zeros((V, M), dtype=np.float32), biases, np.full((n, M), 1 / n, dtype=np.float32))


def make_noise(counts: Array, settings: NceSettings) -> Noise:
    """Return the alias table of count^power and log(k p_n(w)), finite for words that never occur."""
    weights = np.where(counts > 0, np.maximum(counts, 1) ** float(settings.power), 0.0)
    keep, alias = kernels.build_alias(weights / weights.sum())
    p = np.where(counts > 0, weights, 1.0) / weights.sum()
    return Noise(keep, alias, np.log(settings.noise * p).astype(np.float32))


def make_batch(settings: NceSettings, length: int, slots: int = _SLOTS, dtype: Any = np.float32) -> Batch:
    """Return an empty batch of segments of at most ``length`` tokens."""
    M, k, share, n = settings.dimensions, settings.noise, settings.share, 2 * settings.window
    groups = -(-length // share)
    return Batch(
        tokens=np.full((slots, length + n), -1, dtype=np.int32),
        pulls=np.zeros((slots, length + n, M), dtype=dtype),
        centres=np.full((slots, length), -1, dtype=np.int32),
        contexts=np.zeros((slots, length, M), dtype=dtype),
        errors=np.zeros((slots, length), dtype=dtype),
        noise=np.full((slots, groups, k), -1, dtype=np.int32),
        noise_errors=np.zeros((slots, groups, share, k), dtype=dtype),
        weight_pulls=np.zeros((slots, n, M), dtype=dtype),
    )


class _DivergedError(ArithmeticError):
    """The loss of a step is no number, or far above where it began."""


class NceLearner:
    """Takes steps; ``model`` and ``history`` are what is learned."""

    def __init__(self, ids: Array, counts: Array, settings: NceSettings, executor: Executor) -> None:
        _check(ids, counts)
        self.ids, self.settings, self.executor = ids, settings, executor
        size = max(_SHORTEST, min(settings.batch // _SLOTS, len(ids) // (_SLOTS * _STEPS)))
        self.borders = kernels.cut_text(ids, size, size // 4)
        self.examples = _count_examples(ids, self.borders, len(counts))  # (segments,)
        self.held_out, self.training = _split(self.examples, size)
        self.per_epoch = int(self.examples[self.training].sum())
        self.model = start_model(counts, settings)
        self.squares = Model(*(np.zeros_like(table) for table in self.model))
        self.noise = make_noise(counts, settings)
        self.batch = make_batch(settings, size + size // 4)
        self.places = np.full(len(counts), -1, dtype=np.int32)
        self.eta = settings.eta
        self.history: list[dict[str, Any]] = []

    def learned(self, on_step: Callable[[NceStep], None] | None) -> Embedding:
        """Take all steps and return what they led to."""
        for step in self.steps():
            if on_step:
                on_step(step)
        return Embedding(*self.model, self.history)

    def _kept(self) -> list[Any]:
        """Return copies of all tables."""
        return [table.copy() for table in (*self.model, *self.squares)]

    def steps(self) -> Iterator[NceStep]:
        """Yield after every step; a pass that diverges is taken back and done again with half the step size."""
        self._look(0, 0, self.eta)
        epoch = retries = 0
        while epoch < self.settings.epochs:
            kept = self._kept()
            try:
                yield from self._pass(epoch)
                epoch += 1
            except _DivergedError as error:
                retries += 1
                if retries > _RETRIES:
                    raise InputError(f"learning diverges, even with eta = {self.eta:g}. Give a smaller eta.") from error
                for table, copy in zip((*self.model, *self.squares), kept, strict=True):
                    table[:] = copy
                self.eta /= 2
                self._look(epoch, epoch * self.per_epoch, self.eta, taken_back=True)

    def _pass(self, epoch: int) -> Iterator[NceStep]:
        """Go once through the training text, its segments in an order of this epoch's own."""
        order = np.random.default_rng([self.settings.seed, epoch]).permutation(self.training)
        done, total = epoch * self.per_epoch, self.settings.epochs * self.per_epoch
        looks = [share * self.per_epoch for share in _LOOKS if epoch == 0]
        losses, read = 0.0, 0
        for first in range(0, len(order), _SLOTS):
            loss, n = self._contrast(order[first : first + _SLOTS], epoch + 1)
            if not loss <= _DIVERGED * self.history[0]["held_out"] * n:  # true for a loss that is no number, too
                raise _DivergedError
            eta = self.eta * (1 - done / total)
            self._update(eta)
            done, losses, read = done + n, losses + loss, read + n
            if looks and done >= looks[0]:
                looks = [look for look in looks if look > done]
                self._look(epoch, done, eta, loss=losses / read)
            yield NceStep(done, total, loss / max(n, 1), self.history[-1]["held_out"])
        self._look(epoch + 1, done, eta, loss=losses / read)

    def _contrast(self, segments: Array, stream: int) -> tuple[float, int]:
        """Compute the gradients of up to a batch of segments; return the sum of their losses and of their examples."""
        job = partial(self._contrast_slot, segments.tolist(), stream)
        losses, examples = zip(*self.executor.map(job, range(_SLOTS)), strict=True)
        return sum(losses), sum(examples)

    def _contrast_slot(self, segments: list[int], stream: int, s: int) -> tuple[float, int]:
        """Fill one slot of the batch with a segment of text and a window's margin, or empty it."""
        start, end = self.borders[segments[s] : segments[s] + 2].tolist() if s < len(segments) else (0, 0)
        low, high = (max(0, start - self.settings.window), end + self.settings.window) if end else (0, 0)
        piece = np.array(self.ids[low:high], dtype=np.int32)
        key = np.uint64(stream_key(self.settings.seed, stream, start))
        slot = Batch(*(room[s] for room in self.batch))
        return kernels.contrast_segment(piece, start - low, end - low, key, self.model, self.noise, slot)

    def _update(self, eta: float) -> None:
        """Step all that the batch touches: rows part by part, and the weights, whose scale is 1 / positions."""

        def update(part: int) -> None:
            kernels.update_rows(self.batch, part, _PARTS, self.model, self.squares, self.places, eta)

        for _ in self.executor.map(update, range(_PARTS)):
            pass
        kernels.step_weights(self.batch, self.model, self.squares, eta / len(self.model.weights))

    def _look(self, epoch: int, tokens: int, eta: float, **more: Any) -> None:
        """Measure the mean loss of the held-out text, always with the same noise, and write it down."""
        blocks = [self.held_out[first : first + _SLOTS] for first in range(0, len(self.held_out), _SLOTS)]
        losses, examples = zip(*(self._contrast(block, 0) for block in blocks), strict=True)
        self.history.append(
            {"epoch": epoch, "tokens": tokens, "eta": eta, "held_out": sum(losses) / sum(examples), **more}
        )


def stream_key(*numbers: int) -> int:
    """Return 64 bits that depend on all the numbers, the key of a stream of noise: splitmix64, chained."""
    key = 0
    for number in numbers:
        key = ((key ^ number) + 0x9E3779B97F4A7C15) & _BITS
        key = ((key ^ (key >> 30)) * 0xBF58476D1CE4E5B9) & _BITS
        key = ((key ^ (key >> 27)) * 0x94D049BB133111EB) & _BITS
        key ^= key >> 31
    return key


def _check(ids: Array, counts: Array) -> None:
    """Refuse arrays of the wrong shape or kind, before anything is read."""
    for name, array in (("ids", ids), ("counts", counts)):
        if array.ndim != 1 or not len(array) or not np.issubdtype(array.dtype, np.integer):
            raise InputError(f"{name} is {array.dtype} of shape {array.shape}, but it must be a row of integers.")
    if counts.min() < 0 or counts.max() == 0:
        raise InputError(
            f"counts go from {counts.min()} to {counts.max()}, but they must be at least 0, and some above."
        )


def _count_examples(ids: Array, borders: Array, n_words: int) -> Array:
    """Return how many words with a neighbour each segment has, (segments,); ids must name words."""
    examples, largest = kernels.count_examples(ids, borders)
    if largest >= n_words:
        raise InputError(
            f"ids has the word {largest}, but counts has {n_words} words. Give ids and counts of one text."
        )
    if not examples.any():
        raise InputError("no sentence has two words, but a word is predicted from its neighbours. Give running text.")
    return examples


def _split(examples: Array, size: int) -> tuple[Array, Array]:
    """Choose segments to hold out, spread evenly, and those to learn from; of a short text, both are all of it."""
    useful = np.flatnonzero(examples)
    n = min(_HELD_OUT // size, len(useful) // 100)
    if n == 0:
        return useful, useful
    chosen = useful[(2 * np.arange(n) + 1) * len(useful) // (2 * n)]
    return chosen, np.setdiff1d(useful, chosen)
