"""Word vectors whose dimensions form a forest, learned from raw text by hierarchical sparse coding.

Names load on first use, so that ``import wordforest`` stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wordforest.association import pmi, ppmi, sppmi
    from wordforest.coder.encode import Gram, admm, fista
    from wordforest.coder.estimator import ForestCoder
    from wordforest.coder.forest import Forest
    from wordforest.coder.objective import objective
    from wordforest.coder.online import OnlineSettings, learn_online
    from wordforest.coder.penalties import L1, ForestL2, NonNegativeL1, NoPenalty
    from wordforest.counts import Counts, count
    from wordforest.errors import ForestError, InputError
    from wordforest.evaluation import Score, evaluate
    from wordforest.experiment import count_corpus, train
    from wordforest.store import Run, load_run, read_vectors, save_run, write_vectors
    from wordforest.text import TextRules, Vocabulary
    from wordforest.vectors import Vectors

_HOME = {
    "association": ("pmi", "ppmi", "sppmi"),
    "coder.encode": ("Gram", "admm", "fista"),
    "coder.estimator": ("ForestCoder",),
    "coder.forest": ("Forest",),
    "coder.objective": ("objective",),
    "coder.online": ("OnlineSettings", "learn_online"),
    "coder.penalties": ("ForestL2", "L1", "NoPenalty", "NonNegativeL1"),
    "counts": ("Counts", "count"),
    "errors": ("ForestError", "InputError"),
    "evaluation": ("Score", "evaluate"),
    "experiment": ("count_corpus", "train"),
    "store": ("Run", "load_run", "read_vectors", "save_run", "write_vectors"),
    "text": ("TextRules", "Vocabulary"),
    "vectors": ("Vectors",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__version__ = "0.1.0"
__all__ = [
    "L1", "Counts", "Forest", "ForestCoder", "ForestError", "ForestL2", "Gram", "InputError", "NoPenalty",
    "NonNegativeL1", "OnlineSettings", "Run", "Score", "TextRules", "Vectors", "Vocabulary", "admm", "count",
    "count_corpus", "evaluate", "fista", "learn_online", "load_run", "objective", "pmi", "ppmi", "read_vectors",
    "save_run", "sppmi", "train", "write_vectors",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'wordforest' has no attribute {name!r}")
    return getattr(import_module(f"wordforest.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
