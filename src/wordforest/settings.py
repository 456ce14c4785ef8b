"""Frozen settings of counting and training, checked when they are made. Defaults and ranges are those of the table."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from wordforest.coder.entries import EntrySettings, Sampling, Schedule
from wordforest.coder.forest import Forest
from wordforest.coder.kernels import Precision, check_precision
from wordforest.coder.losses import weighing
from wordforest.coder.penalties import ForestL2, depth_weights
from wordforest.coder.spectral import SpectralStart
from wordforest.coder.start import NestedStart, RowStart, Start
from wordforest.counts.windows import WindowRules
from wordforest.errors import InputError
from wordforest.options import OPTIONS, PRESETS, check_known, default
from wordforest.text import TextRules, WordRules
from wordforest.text.reader import Errors
from wordforest.text.tokenizer import Tokenizer

Measure = Literal["pmi", "ppmi", "sppmi"]


@dataclass(frozen=True)
class _Checked:
    def __post_init__(self) -> None:
        for name in (one.name for one in fields(self)):
            object.__setattr__(self, name, OPTIONS[name].check(getattr(self, name)))


@dataclass(frozen=True)
class CountSettings(_Checked):
    """How a corpus is counted; the defaults are the paper's."""

    window: int = default("window")
    min_count: int = default("min_count")
    max_vocab: int | None = default("max_vocab")
    dynamic_window: bool = default("dynamic_window")
    subsample: float = default("subsample")
    subsample_seed: int = default("subsample_seed")
    keep_words: tuple[str, ...] = default("keep_words")
    max_contexts: int | None = default("max_contexts")
    mark_sides: bool = default("mark_sides")
    tokenizer: Tokenizer = default("tokenizer")
    lowercase: bool = default("lowercase")
    numbers: bool = default("numbers")
    errors: Errors = default("errors")

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.windows

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
class AssociationSettings(_Checked):
    """How counts become X; the defaults are the paper's."""

    measure: Measure = default("measure")
    smoothing: float = default("smoothing")
    shift: float = default("shift")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shift and self.measure != "sppmi":
            raise InputError(
                f"shift = {self.shift} has no effect on {self.measure}. Use the measure sppmi, or no shift."
            )


@dataclass(frozen=True)
class TrainSettings(AssociationSettings):
    """How vectors are learned from counts; the defaults are the paper's, None is that of the learner."""

    trees: int = default("trees")
    branching: tuple[int, ...] = default("branching")
    lam: float | Literal["auto"] = default("lam")
    density: float = default("density")
    depth_weights: tuple[float, ...] | None = default("depth_weights")
    nonnegative: bool = default("nonnegative")
    init: Literal["random", "rows", "nested", "spectral"] = default("init")
    spectrum: float = default("spectrum")
    grow: bool = default("grow")
    word_power: float = default("word_power")
    epochs: int | None = None
    tol: float | None = None
    dtype: Literal["float32", "float64"] = default("dtype")
    device: Literal["cpu", "cuda"] = default("device")
    precision: Precision = default("precision")
    seed: int = default("seed")
    learner: Literal["online", "entries"] = default("learner")
    weights: str | None = None
    zeros: float | None = None
    unit: bool = default("unit")
    eta: float | None = default("eta")
    tau: float = default("tau")
    schedule: Schedule = default("schedule")
    sampling: Sampling = default("sampling")
    lazy: int = default("lazy")

    def __post_init__(self) -> None:
        for name in ("weights", "zeros", "epochs", "tol"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, default(name, self.kind))
        super().__post_init__()
        weighing(str(self.weights))
        check_precision(self.precision, card=self.device == "cuda", single=self.dtype == "float32")
        self._refuse_what_others_take()
        if self.kind == "entries" and (self.lam == "auto" or self.dtype != "float32"):
            raise InputError("the learner entries needs a number for lam, and float32. Or use the learner online.")
        if self.lazy > 1 and self.device == "cuda":
            raise InputError(f"lazy = {self.lazy} saves time on the processor alone. Leave it, or device cuda, out.")
        if self.kind == "weighted" and self.lam == "auto":
            raise InputError("lam = auto is found for pairs that all count alike. Give a number beside weights.")
        if self.init == "spectral" and self.nonnegative:
            raise InputError("a spectral start has negative values. Use init random, rows or nested.")
        if self.grow and self.init != "nested":
            raise InputError(f"grow needs nested clusters, but init = {self.init}. Use init nested, or a preset.")
        _ = self.penalty

    @property
    def kind(self) -> str:
        """Who learns, one of LEARNERS: online, weighted (online with weights of pairs) or entries."""
        if self.learner == "entries":
            return "entries"
        return "online" if self.weights in (None, "none") and self.zeros in (None, 1) else "weighted"

    @property
    def is_weighted(self) -> bool:
        """Whether pairs count differently in the learner online."""
        return self.kind == "weighted"

    def _refuse_what_others_take(self) -> None:
        for name in (one.name for one in fields(self)):
            takers = OPTIONS[name].takers
            if self.kind not in takers and getattr(self, name) != default(name):
                learner = "online" if "online" in takers else "entries"
                plain = " without weights and zeros" if learner == self.learner else ""
                raise InputError(
                    f"{name} = {getattr(self, name)} is for the learner {learner}{plain} alone. "
                    f"Use it, or leave {name} out."
                )

    @property
    def entries(self) -> EntrySettings:
        """What the learner over entries needs."""
        return EntrySettings(
            epochs=self.epochs or 1,
            eta=self.eta,
            schedule=self.schedule,
            tau=self.tau,
            sampling=self.sampling,
            zeros=self.zeros or 0.0,
            lazy=self.lazy,
            tol=self.tol or 0.0,
            seed=self.seed,
        )

    @property
    def forest(self) -> Forest:
        """The forest over the dimensions."""
        return Forest.complete(self.trees, self.branching)

    @property
    def start(self) -> Start | None:
        """What chooses the first dictionary; None is the learner's own random one."""
        starts: dict[str, Start] = {
            "rows": RowStart(),
            "nested": NestedStart(grow=self.grow),
            "spectral": SpectralStart(self.spectrum),
        }
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
        lam = 1.0 if isinstance(self.lam, str) else self.lam
        if not self.depth_weights:
            return ForestL2(forest, lam, nonnegative=self.nonnegative)
        by_depth = [*self.depth_weights, *[self.depth_weights[-1]] * int(forest.depth.max())]
        return ForestL2(forest, lam, depth_weights(forest, by_depth), self.nonnegative)


def split_settings(settings: dict[str, Any]) -> tuple[CountSettings, TrainSettings]:
    """Give each setting to the part it belongs to; refuse what belongs to none.

    ``preset`` names a bundle of settings, one of PRESETS; what is given beside it goes before it.
    """
    preset = OPTIONS["preset"].check(settings.get("preset", default("preset")))
    if PRESETS[preset].settings and settings.get("learner") == "entries":
        raise InputError(f"the preset {preset} needs the learner online. Leave the learner or the preset out.")
    settings = {**PRESETS[preset].settings, **{name: value for name, value in settings.items() if name != "preset"}}
    counting, training = ({one.name for one in fields(part)} for part in (CountSettings, TrainSettings))
    check_known(settings, ["preset", *(name for name in OPTIONS if name in counting | training)])
    return (
        CountSettings(**{name: value for name, value in settings.items() if name in counting}),
        TrainSettings(**{name: value for name, value in settings.items() if name in training}),
    )
