"""CBOW and skip-gram, with negative sampling or hierarchical softmax: gensim's Word2Vec on our tokens.

gensim gets a file of row numbers, a sentence a line, so that its words are exactly ours: the same text rules, the same
``#rare#`` and ``#number#``, the same vocabulary. Several of its threads share one matrix without locks: only with one
worker does the same seed give the same bits.
"""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError, MissingExtraError

_CHUNK = 1 << 20  # ids written at a time
_SEEDS = 2**32  # gensim hands its seed to NumPy's old generator


@dataclass(frozen=True)
class Word2VecSettings:
    """gensim's own defaults, but for the window of the paper, which is the same five."""

    dimensions: int = 52
    skip_gram: bool = True
    hierarchical: bool = False  # a Huffman tree in place of negative samples
    window: int = 5
    negative: int = 5
    subsample: float = 1e-3
    eta: float = 0.025
    epochs: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("dimensions", 1), ("window", 1), ("negative", 1), ("epochs", 1), ("seed", 0)):
            if getattr(self, name) < least:
                raise InputError(f"{name} = {getattr(self, name)}, but it must be at least {least}.")
        if self.seed >= _SEEDS:
            raise InputError(f"seed = {self.seed}, but gensim takes seeds below {_SEEDS}.")
        if not 0 < self.eta < np.inf:
            raise InputError(f"eta = {self.eta}, but a step size is a positive number, as in 0.025.")
        if not 0 <= self.subsample < 1:
            raise InputError(f"subsample = {self.subsample}, but it must lie between 0 (off) and 1, as in 1e-3.")


def learn_word2vec(
    ids: NDArray[np.int32],
    n_words: int,
    settings: Word2VecSettings,
    *,
    workers: int = 1,
    spool_folder: Path | None = None,
    on_progress: Callable[[float], None] | None = None,
) -> NDArray[np.float32]:
    """Return the input vectors (V, M) of words 0 .. n_words - 1; a word that never occurs gets zeros.

    ``ids`` are rows of the vocabulary, negative at sentence borders. ``on_progress`` gets the share done, 0 to 1.
    """
    with tempfile.TemporaryDirectory(dir=spool_folder) as folder:
        path = Path(folder) / "sentences.txt"
        _write_sentences(path, ids, n_words)
        model = _train(path, settings, workers, on_progress or (lambda _: None))
    vectors = np.zeros((n_words, settings.dimensions), dtype=np.float32)
    rows = np.array([int(word) for word in model.wv.index_to_key], dtype=np.int64)
    vectors[rows] = model.wv.vectors
    return vectors


def _train(path: Path, settings: Word2VecSettings, workers: int, on_progress: Callable[[float], None]) -> Any:
    try:
        from gensim.models import Word2Vec
    except ImportError as error:
        raise MissingExtraError("the baselines cbow and sg", "baselines") from error
    with _progress_of_log(settings.epochs, on_progress), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gensim warns of sentences shorter than its batches
        model = Word2Vec(
            corpus_file=str(path), vector_size=settings.dimensions, sg=int(settings.skip_gram),
            hs=int(settings.hierarchical), negative=0 if settings.hierarchical else settings.negative,
            window=settings.window, sample=settings.subsample, alpha=settings.eta, min_count=1,
            epochs=settings.epochs, seed=settings.seed, workers=workers,
        )  # fmt: skip
    on_progress(1.0)
    return model


def _write_sentences(path: Path, ids: NDArray[np.int32], n_words: int) -> None:
    """Write row numbers with spaces between and a line for each sentence."""
    text = [*map(str, range(n_words)), "\n"]  # a border, -1, finds the last
    with path.open("w", encoding="ascii") as handle:
        for start in range(0, len(ids), _CHUNK):
            chunk = np.maximum(ids[start : start + _CHUNK], -1).tolist()
            handle.write(" ".join(map(text.__getitem__, chunk)))
            handle.write(" ")
        handle.write("\n")


class _Listener(logging.Handler):
    """Hears "EPOCH e - PROGRESS: at p% examples" and tells the share of all epochs."""

    def __init__(self, epochs: int, on_progress: Callable[[float], None]) -> None:
        super().__init__(logging.INFO)
        self._epochs, self._on_progress = epochs, on_progress

    def emit(self, record: logging.LogRecord) -> None:
        args = record.args
        if "PROGRESS" in str(record.msg) and str(record.msg).startswith("EPOCH") and isinstance(args, tuple):
            epoch, percent = (float(value) for value in args[:2] if isinstance(value, int | float))
            self._on_progress(min((epoch + percent / 100) / self._epochs, 1.0))


@contextmanager
def _progress_of_log(epochs: int, on_progress: Callable[[float], None]) -> Iterator[None]:
    """Turn gensim's log of its progress, its only sign of life within an epoch, into calls; nothing is printed."""
    logger = logging.getLogger("gensim.models.word2vec")
    before = logger.level, logger.propagate
    listener = _Listener(epochs, on_progress)
    logger.addHandler(listener)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(listener)
        logger.level, logger.propagate = before
