"""RNN: the recurrent language model of Mikolov et al. (2010), an Elman network that predicts the next word.

The text is cut into parallel streams that the network reads side by side, its states carried on from chunk to chunk;
errors go back through the ``steps`` positions of a chunk. The border of a sentence is a token of its own, the row
after the last word. Scores are normalised over a sample of words, drawn anew for each chunk, which replaces the
classes of words of Mikolov et al. (2011); perplexity is measured on held-out text over all words. The vectors of the
words are the rows of U, with which they enter the network.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from wordforest.baselines.language_model import Array, LearnedVectors, LearningSettings, Report, count_words
from wordforest.errors import InputError, MissingExtraError
from wordforest.options import default
from wordforest.runtime.machine import check_device


@dataclass(frozen=True)
class RnnSettings(LearningSettings):
    """How to learn. A chunk is ``streams`` x ``steps`` tokens, fewer on short texts, and gives one step of AdaGrad."""

    dimensions: int = default("dimensions")
    epochs: int = default("epochs", "rnn")
    streams: int = 64
    steps: int = 20  # positions that errors go back
    samples: int = 1024  # words that scores are normalised over, while learning
    eta: float = default("eta", "rnn")  # the step at the start; it falls linearly
    seed: int = default("seed")


def learn_rnn(
    ids: Array,
    counts: Array,
    settings: RnnSettings | None = None,
    *,
    device: str = "cpu",
    report: Report | None = None,
) -> LearnedVectors:
    """Learn vectors from the text ``ids`` (n,), rows of a vocabulary with ``counts`` (V,); negative: end of a sentence.

    ``device`` is "cpu" or "cuda". PyTorch uses one core: steps are small, so a second one gains little at M = 52, and
    two lose far more than that where other work shares the cores. The same seed gives the same bits on a device.
    ``report`` is called about every second and at every epoch's end. An entry of the history has ``epoch``, ``tokens``
    read so far, ``loss`` in the epoch by sampling, and ``perplexity`` on held-out text, over all words and borders.
    """
    settings = settings or RnnSettings()
    n_words = count_words(ids, counts)
    if n_words < 3 or len(ids) < 5:
        raise InputError(f"the text has {n_words} words: too few to learn from. Give more text.")
    try:
        import torch  # noqa: F401 the CPU needs it, too

        from wordforest.baselines import rnn_network
    except ImportError as error:
        raise MissingExtraError("the baseline rnn", "baselines") from error
    check_device(device, "the baseline rnn", "baselines")
    borders = (len(ids) - n_words) / n_words * counts.sum()  # counts may be those of a longer text
    frequencies = np.maximum(np.append(counts, borders), 1).astype(np.float64)  # (V + 1,), the border last
    text = rnn_network.Text(ids, len(counts), settings.streams, settings.steps, device)
    with rnn_network.one_thread_of_torch():
        learner = rnn_network.Learner(text, frequencies, settings, device)
        history = [learner.learn(epoch, report) for epoch in range(1, settings.epochs + 1)]
        return LearnedVectors(learner.net.U[:-1].detach().cpu().numpy().copy(), history)
