"""Word vectors whose dimensions form a forest, learned from raw text by hierarchical sparse coding.

Names load on first use, so that ``import wordforest`` stays quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wordforest.coder.certificate import lam_max
    from wordforest.coder.coding import encode
    from wordforest.coder.entries import EntrySettings, learn_from_entries
    from wordforest.coder.estimator import ForestCoder
    from wordforest.coder.forest import Forest
    from wordforest.coder.losses import Loss, weighing
    from wordforest.coder.objective import objective
    from wordforest.coder.online import OnlineSettings, learn_online
    from wordforest.coder.path import lam_for_density, lam_path
    from wordforest.coder.penalties import L1, ForestL2, NonNegativeL1, NoPenalty, depth_weights
    from wordforest.coder.solvers import Gram, admm, fista
    from wordforest.coder.starts import SpectralStart
    from wordforest.coder.weighted import WeightedSettings, encode_weighted, learn_weighted
    from wordforest.counts import Counts, count
    from wordforest.counts.association import pmi, ppmi, sppmi
    from wordforest.errors import ForestError, InputError
    from wordforest.evaluation import Comparison, Score, compare, evaluate, judge
    from wordforest.jobs.baseline import baseline
    from wordforest.jobs.count import count_corpus
    from wordforest.jobs.encode import encode_counts
    from wordforest.jobs.train import train
    from wordforest.runtime.cluster import Cluster
    from wordforest.store import Run, load_run, read_vectors, save_run, write_vectors
    from wordforest.text import TextRules, Vocabulary
    from wordforest.vectors import Vectors

_HOME = {
    "counts.association": ("pmi", "ppmi", "sppmi"),
    "coder.certificate": ("lam_max",),
    "coder.coding": ("encode",),
    "coder.solvers": ("Gram", "admm", "fista"),
    "coder.entries": ("EntrySettings", "learn_from_entries"),
    "coder.estimator": ("ForestCoder",),
    "coder.forest": ("Forest",),
    "coder.objective": ("objective",),
    "coder.losses": ("Loss", "weighing"),
    "coder.online": ("OnlineSettings", "learn_online"),
    "coder.path": ("lam_for_density", "lam_path"),
    "coder.starts": ("SpectralStart",),
    "coder.weighted": ("WeightedSettings", "encode_weighted", "learn_weighted"),
    "coder.penalties": ("ForestL2", "L1", "NoPenalty", "NonNegativeL1", "depth_weights"),
    "counts": ("Counts", "count"),
    "errors": ("ForestError", "InputError"),
    "runtime.cluster": ("Cluster",),
    "evaluation": ("Comparison", "Score", "compare", "evaluate", "judge"),
    "jobs.baseline": ("baseline",),
    "jobs.count": ("count_corpus",),
    "jobs.encode": ("encode_counts",),
    "jobs.train": ("train",),
    "store": ("Run", "load_run", "read_vectors", "save_run", "write_vectors"),
    "text": ("TextRules", "Vocabulary"),
    "vectors": ("Vectors",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__version__ = "0.1.0"
__all__ = [
    "L1",
    "Cluster",
    "Comparison",
    "Counts",
    "EntrySettings",
    "Forest",
    "ForestCoder",
    "ForestError",
    "ForestL2",
    "Gram",
    "InputError",
    "Loss",
    "NoPenalty",
    "NonNegativeL1",
    "OnlineSettings",
    "Run",
    "Score",
    "SpectralStart",
    "TextRules",
    "Vectors",
    "Vocabulary",
    "WeightedSettings",
    "admm",
    "baseline",
    "compare",
    "count",
    "count_corpus",
    "depth_weights",
    "encode",
    "encode_counts",
    "encode_weighted",
    "evaluate",
    "fista",
    "judge",
    "lam_for_density",
    "lam_max",
    "lam_path",
    "learn_from_entries",
    "learn_online",
    "learn_weighted",
    "load_run",
    "objective",
    "pmi",
    "ppmi",
    "read_vectors",
    "save_run",
    "sppmi",
    "train",
    "weighing",
    "write_vectors",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'wordforest' has no attribute {name!r}")
    return getattr(import_module(f"wordforest.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
