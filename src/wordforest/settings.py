"""Frozen settings of counting and training, checked when they are made. The defaults are the paper's."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from wordforest.coder.entries import EntrySettings, Sampling, Schedule
from wordforest.coder.forest import Forest
from wordforest.coder.kernels import Precision, check_precision
from wordforest.coder.losses import Loss, weighing
from wordforest.coder.penalties import ForestL2, depth_weights
from wordforest.coder.spectral import SpectralStart
from wordforest.coder.start import NestedStart, RowStart, Start
from wordforest.counts.windows import WindowRules
from wordforest.errors import InputError
from wordforest.text import TextRules, WordRules
from wordforest.text.reader import Errors
from wordforest.text.tokenizer import Tokenizer

Measure = Literal["pmi", "ppmi", "sppmi"]
_DEFAULTS: dict[str, dict[str, Any]] = {
    "online": {"epochs": 100, "tol": 5e-3, "weights": "none", "zeros": 1.0},
    "weighted": {"epochs": 30, "tol": 2e-3},
    "entries": {"epochs": 10, "tol": 1e-3, "weights": "abs", "zeros": 0.0},
}
PRESETS: dict[str, dict[str, Any]] = {
    "paper": {},
    "readable": {
        "measure": "ppmi", "trees": 20, "lam": 0.8, "depth_weights": (0.5, 0.8, 1.0), "nonnegative": True,
        "init": "nested", "word_power": 0.2,
    },
    "best": {
        "dynamic_window": True, "subsample": 1e-4, "mark_sides": True, "weights": "count:0.6", "zeros": 0.15,
        "init": "spectral", "spectrum": 0.4, "unit": True,
    },
}  # fmt: skip
_LARGEST_POWER = 2
_ONLINE_ONLY = ("nonnegative", "init", "grow", "word_power", "precision", "spectrum")
_PLAIN_ONLY = ("grow", "word_power", "precision")
_ENTRIES_ONLY = ("eta", "tau", "schedule", "sampling", "lazy")


@dataclass(frozen=True)
class CountSettings:
    """How a corpus is counted; the defaults are the paper's."""

    window: int = 5
    min_count: int = 10
    max_vocab: int | None = None
    dynamic_window: bool = False  # pairs at distance d weigh 1/d
    subsample: float = 0.0  # word2vec's threshold for dropping frequent words; 0 keeps all
    subsample_seed: int = 0  # which of their occurrences are dropped
    keep_words: tuple[str, ...] = ()  # kept even if they are rare
    max_contexts: int | None = None  # the most frequent words are contexts; pairs with others are not counted
    mark_sides: bool = False  # left and right neighbours are contexts of their own
    tokenizer: Tokenizer = "words"
    lowercase: bool = True
    numbers: bool = True
    errors: Errors = "strict"

    def __post_init__(self) -> None:
        at_least("window", self.window, 1)
        at_least("min_count", self.min_count, 1)
        at_least("max_vocab", 1 if self.max_vocab is None else self.max_vocab, 1)
        at_least("max_contexts", 1 if self.max_contexts is None else self.max_contexts, 1)
        object.__setattr__(self, "keep_words", tuple(self.keep_words))
        _ = self.windows
        _one_of("tokenizer", self.tokenizer, ("words", "whitespace"))
        _one_of("errors", self.errors, ("strict", "replace"))

    @property
    def windows(self) -> WindowRules:
        """The part that concerns pairs of words."""
        return WindowRules(
            self.window, self.dynamic_window, self.subsample, self.max_contexts, self.mark_sides, self.subsample_seed
        )

    @property
    def words(self) -> WordRules:
        """The part that concerns the vocabulary."""
        return WordRules(self.min_count, self.max_vocab, self.keep_words)

    @property
    def rules(self) -> TextRules:
        """The part that concerns words."""
        return TextRules(self.tokenizer, self.lowercase, self.numbers, self.errors)


@dataclass(frozen=True)
class AssociationSettings:
    """How counts become X; the defaults are the paper's."""

    measure: Measure = "pmi"
    smoothing: float = 1.0
    shift: float = 0.0

    def __post_init__(self) -> None:
        _one_of("measure", self.measure, ("pmi", "ppmi", "sppmi"))
        at_least("smoothing", self.smoothing, 0)
        at_least("shift", self.shift, 0)
        if self.shift and self.measure != "sppmi":
            raise InputError(
                f"shift = {self.shift} has no effect on {self.measure}. Use the measure sppmi, or no shift."
            )


@dataclass(frozen=True)
class TrainSettings:
    """How vectors are learned from counts; the defaults are the paper's."""

    trees: int = 4
    branching: tuple[int, ...] = (3, 3)
    lam: float | Literal["auto"] = 0.1  # auto: chosen so that about ``density`` of all codes are not zero
    density: float = 0.5
    depth_weights: tuple[float, ...] | None = None  # of the penalty, roots first; the last goes for all below
    measure: Measure = "pmi"
    smoothing: float = 1.0
    shift: float = 0.0
    nonnegative: bool = False  # codes and dictionary
    init: Literal["random", "rows", "nested", "spectral"] = "random"  # where the dictionary begins
    spectrum: float = 0.5  # spectral: power of the singular values in the codes; 1 as in PCA, 0 all alike
    grow: bool = False  # nested: the shape of the trees is found, trees and the number of nodes are kept to
    word_power: float = 0.0  # a word counts like its frequency to this power
    epochs: int | None = None  # passes at most: 100 online, 10 over entries
    tol: float | None = None  # share of the objective that a pass must gain: 5e-3 online, 1e-3 over entries
    dtype: Literal["float32", "float64"] = "float32"
    device: Literal["cpu", "cuda"] = "cpu"
    precision: Precision = "float32"  # of dense products on a card; the last pass is float32
    seed: int = 0
    learner: Literal["online", "entries"] = "online"
    weights: str | None = None  # of stored pairs: none, abs, count:P, glove:X,P; none online, abs over entries
    zeros: float | None = None  # weight of pairs that are not stored: 1 online, 0 over entries
    unit: bool = False  # vectors are divided by their lengths at the end; zeros stay zeros
    # the rest is for entries alone
    eta: float | None = None  # step size; searched if left out
    tau: float = 0.01
    schedule: Schedule = "linear"
    sampling: Sampling = "proportional"
    lazy: int = 1

    def __post_init__(self) -> None:
        _one_of("learner", self.learner, ("online", "entries"))
        plain = self.weights in (None, "none") and self.zeros in (None, 1)
        kinds = (self.learner,) if plain or self.learner == "entries" else ("weighted", self.learner)
        for name, value in (pair for kind in kinds for pair in _DEFAULTS[kind].items()):
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
        self._check_learner()
        AssociationSettings(self.measure, self.smoothing, self.shift)
        _one_of("dtype", self.dtype, ("float32", "float64"))
        _one_of("device", self.device, ("cpu", "cuda"))
        check_precision(self.precision, card=self.device == "cuda", single=self.dtype == "float32")
        at_least("epochs", self.epochs or 0, 1)
        at_least("tol", self.tol or 0, 0)
        at_least("seed", self.seed, 0)
        at_least("word_power", self.word_power, 0)
        if self.word_power > _LARGEST_POWER:
            raise InputError(f"word_power = {self.word_power}, but above {_LARGEST_POWER} a few words would be all.")
        _one_of("init", self.init, ("random", "rows", "nested", "spectral"))
        if self.init == "spectral" and self.nonnegative:
            raise InputError("a spectral start has negative values. Use init random, rows or nested.")
        _ = self.start
        if self.grow and self.init != "nested":
            raise InputError(f"grow needs nested clusters, but init = {self.init}. Use init nested, or a preset.")
        if not 0 < self.density < 1:
            raise InputError(f"density = {self.density}, but a share of non-zeros lies between 0 and 1.")
        _ = self.penalty

    def _check_learner(self) -> None:
        weighing(str(self.weights))
        Loss(zeros=self.zeros or 0.0)
        if self.learner == "entries":
            _ = self.entries
            self._refuse(_ONLINE_ONLY, "online")
            if self.lam == "auto" or self.dtype != "float32":
                raise InputError("the learner entries needs a number for lam, and float32. Or use the learner online.")
            if self.device == "cuda" and self.lazy > 1:
                raise InputError(
                    f"lazy = {self.lazy} saves time on the processor alone. Leave it, or device cuda, out."
                )
            return
        self._refuse(_ENTRIES_ONLY, "entries")
        if self.is_weighted:
            self._refuse(_PLAIN_ONLY, "online without --weights and --zeros")
            if self.lam == "auto":
                raise InputError("lam = auto is found for pairs that all count alike. Give a number beside weights.")

    def _refuse(self, names: tuple[str, ...], learner: str) -> None:
        """Refuse settings that another learner alone knows, unless they are as if left out."""
        for name in names:
            default = _DEFAULTS[self.learner].get(name, self.__dataclass_fields__[name].default)
            if getattr(self, name) != default:
                raise InputError(
                    f"{name} = {getattr(self, name)} is for the learner {learner} alone. Use it, or leave {name} out."
                )

    @property
    def is_weighted(self) -> bool:
        """Whether pairs count differently in the learner online."""
        return self.learner == "online" and (self.weights != "none" or self.zeros != 1)

    @property
    def entries(self) -> EntrySettings:
        """What the learner over entries needs."""
        return EntrySettings(
            epochs=self.epochs or 1, eta=self.eta, schedule=self.schedule, tau=self.tau, sampling=self.sampling,
            zeros=self.zeros or 0.0, lazy=self.lazy, tol=self.tol or 0.0, seed=self.seed,
        )  # fmt: skip

    @property
    def forest(self) -> Forest:
        """The forest over the dimensions."""
        return Forest.complete(self.trees, self.branching)

    @property
    def start(self) -> Start | None:
        """What chooses the first dictionary; None is the learner's own random one."""
        starts: dict[str, Start] = {
            "rows": RowStart(), "nested": NestedStart(grow=self.grow), "spectral": SpectralStart(self.spectrum),
        }  # fmt: skip
        return starts.get(self.init)

    @property
    def begins_with(self) -> str:
        """What the first dictionary is made of, in words."""
        words = {"rows": "words", "nested": "clusters of words", "spectral": "the best factors without a penalty"}
        return words.get(self.init, "random directions")

    @property
    def penalty(self) -> ForestL2:
        """The penalty over the forest asked for."""
        return self.penalty_over(self.forest)

    def penalty_over(self, forest: Forest) -> ForestL2:
        """Return the penalty over a forest; where lam is to be found, with a lam to start from."""
        if isinstance(self.lam, str):
            _one_of("lam", self.lam, ("auto",))
        lam = 1.0 if isinstance(self.lam, str) else self.lam
        if not self.depth_weights:
            return ForestL2(forest, lam, nonnegative=self.nonnegative)
        by_depth = [*self.depth_weights, *[self.depth_weights[-1]] * int(forest.depth.max())]
        return ForestL2(forest, lam, depth_weights(forest, by_depth), self.nonnegative)


def split_settings(settings: dict[str, Any]) -> tuple[CountSettings, TrainSettings]:
    """Give each setting to the part it belongs to; refuse what belongs to none.

    ``preset`` names a bundle of settings, one of PRESETS; what is given beside it goes before it.
    """
    preset = settings.get("preset", "paper")
    _one_of("preset", preset, tuple(PRESETS))
    if preset != "paper" and settings.get("learner") == "entries":
        raise InputError(f"the preset {preset} needs the learner online. Leave the learner or the preset out.")
    settings = {**PRESETS[preset], **{name: value for name, value in settings.items() if name != "preset"}}
    counting, training = CountSettings.__dataclass_fields__, TrainSettings.__dataclass_fields__
    check_known(settings, [*counting, *training])
    return (
        CountSettings(**{name: value for name, value in settings.items() if name in counting}),
        TrainSettings(**{name: value for name, value in settings.items() if name in training}),
    )


def check_known(settings: dict[str, Any], known: list[str]) -> None:
    """Refuse names that are no settings."""
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise InputError(f"unknown setting {', '.join(unknown)}. Settings are: {', '.join(known)}.")


def at_least(name: str, value: float, least: float) -> None:
    """Refuse a number that is too small or not finite."""
    if not least <= value < math.inf:
        raise InputError(f"{name} = {value}, but it must be a finite number, at least {least}.")


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(f"{name} = {value!r}, but it must be one of {', '.join(allowed)}.")
