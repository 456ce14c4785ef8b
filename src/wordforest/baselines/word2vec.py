"""CBOW and skip-gram, with negative sampling or hierarchical softmax: gensim's Word2Vec on our tokens.

gensim gets a file of row numbers, a sentence a line, so that its words are exactly ours: the same text rules, the same
``#rare#`` and ``#number#``, the same vocabulary. Several of its threads share one matrix without locks: only with one
worker does the same seed give the same bits.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError, MissingExtraError
from wordforest.options import Checked, default

_CHUNK = 1 << 20  # ids written at a time
_SEEDS = 2**32  # gensim hands its seed to NumPy's old generator


@dataclass(frozen=True)
class Word2VecSettings(Checked):
    """gensim's own defaults, but for the window of the paper, which is the same five."""

    dimensions: int = default("dimensions")
    skip_gram: bool = True
    hierarchical: bool = False  # a Huffman tree in place of negative samples
    window: int = default("window")
    negative: int = default("negative")
    subsample: float = default("subsample", "sg")
    eta: float = default("eta", "sg")
    epochs: int = default("epochs", "sg")
    seed: int = default("seed")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.seed >= _SEEDS:
            raise InputError(f"seed = {self.seed}, but gensim takes seeds below {_SEEDS}.")


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

    ``ids`` are rows of the vocabulary, negative at sentence borders. ``on_progress`` gets the share done after every
    epoch, up to 1.
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
        from gensim.models.callbacks import CallbackAny2Vec
    except ImportError as error:
        raise MissingExtraError("the baselines cbow and sg", "gensim") from error

    class Progress(CallbackAny2Vec):  # type: ignore[misc]
        done = 0

        def on_epoch_end(self, _model: Any) -> None:
            self.done += 1
            on_progress(self.done / settings.epochs)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gensim warns of sentences shorter than its batches
        return Word2Vec(
            corpus_file=str(path),
            vector_size=settings.dimensions,
            sg=int(settings.skip_gram),
            hs=int(settings.hierarchical),
            negative=0 if settings.hierarchical else settings.negative,
            window=settings.window,
            sample=settings.subsample,
            alpha=settings.eta,
            min_count=1,
            epochs=settings.epochs,
            seed=settings.seed,
            workers=workers,
            callbacks=[Progress()],
        )


def _write_sentences(path: Path, ids: NDArray[np.int32], n_words: int) -> None:
    """Write row numbers with spaces between and a line for each sentence."""
    text = [*map(str, range(n_words)), "\n"]  # a border, -1, finds the last
    with path.open("w", encoding="ascii") as handle:
        for start in range(0, len(ids), _CHUNK):
            chunk = np.maximum(ids[start : start + _CHUNK], -1).tolist()
            handle.write(" ".join(map(text.__getitem__, chunk)))
            handle.write(" ")
        handle.write("\n")
