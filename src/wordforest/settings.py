"""Frozen settings of counting and training, checked when they are made. Defaults and ranges are those of the table."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any, Literal

from wordforest.coder.forest import Forest
from wordforest.coder.losses import weighing
from wordforest.coder.penalties import NonNegativeL1, Penalty, forest_penalty
from wordforest.counts.windows import WindowRules
from wordforest.errors import InputError
from wordforest.options import LEARNERS, OPTIONS, PRESETS, Checked, check_known, default, usual_density
from wordforest.text import TextRules, WordRules
from wordforest.text.reader import Errors
from wordforest.text.tokenizer import Tokenizer

Measure = Literal["pmi", "ppmi", "sppmi"]


@dataclass(frozen=True)
class CountSettings(Checked):
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
    phrases: bool = default("phrases")
    errors: Errors = default("errors")
    text: str | None = default("text")

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
        return WordRules(self.min_count, self.max_vocab, self.keep_words, self.phrases)

    @property
    def rules(self) -> TextRules:
        """The part that concerns words."""
        return TextRules(self.tokenizer, self.lowercase, self.numbers, self.errors, self.text)


@dataclass(frozen=True)
class AssociationSettings(Checked):
    """How counts become X; the defaults are the paper's."""

    measure: Measure = default("measure")
    smoothing: float = default("smoothing")
    shift: float = default("shift")
    spelling: float = default("spelling")

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
    density: float | None = default("density")
    depth_weights: tuple[float, ...] | None = default("depth_weights")
    nonnegative: bool = default("nonnegative")
    init: Literal["random", "rows", "nested", "spectral"] = default("init")
    spectrum: float = default("spectrum")
    grow: bool = default("grow")
    additive: bool = default("additive")
    stability: bool = default("stability")
    word_power: float = default("word_power")
    epochs: int | None = None
    tol: float | None = None
    tol_of: Literal["objective", "penalty"] = default("tol_of")
    dtype: Literal["float32", "float64"] = default("dtype")
    device: Literal["cpu", "cuda"] = default("device")
    seed: int = default("seed")
    learner: Literal["online", "entries"] = default("learner")
    weights: str | None = None
    zeros: float | None = None
    unit: bool = default("unit")
    eta: float | None = default("eta")
    tau: float | None = default("tau")
    sampling: Literal["proportional", "uniform"] = default("sampling")

    fewest_epochs = 0

    def __post_init__(self) -> None:
        for name in ("weights", "zeros", "epochs", "tol"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, default(name, self.kind))
        super().__post_init__()
        if not self.epochs and self.kind in ("additive", "entries"):
            raise InputError(f"epochs = 0, but the learner {self.kind} learns in passes. Give 1 or more.")
        if self.weights != "none":
            weighing(str(self.weights))
        self._refuse_what_others_take()
        if self.kind == "entries" and self.lam == "auto":
            raise InputError("the learner entries needs a number for lam. Give one, or use the learner online.")
        if self.init == "spectral" and self.nonnegative:
            raise InputError("a spectral start has negative values. Use init random, rows or nested.")
        if self.grow and self.init != "nested":
            raise InputError(
                f"grow needs nested clusters, but init = {self.init}. Use init nested, or the preset readable."
            )
        if self.density is not None and self.lam != "auto":
            raise InputError(
                f"density = {self.density} has no effect on lam = {self.lam}. Use lam auto, or leave density out."
            )
        if self.spectrum != default("spectrum") and self.init != "spectral":
            raise InputError(f"spectrum = {self.spectrum} has no effect on init = {self.init}. Use init spectral.")
        _ = self.penalty_over(self.forest)

    @property
    def kind(self) -> str:
        """Who learns, one of LEARNERS: online, weighted (online with weights of pairs), additive or entries."""
        if self.learner == "entries":
            return "entries"
        if self.additive:
            return "additive"
        return "online" if self.weights in (None, "none") and self.zeros in (None, 1) else "weighted"

    def _refuse_what_others_take(self) -> None:
        for name in (one.name for one in fields(self)):
            takers = OPTIONS[name].takers
            if self.kind not in takers and getattr(self, name) != default(name):
                raise InputError(f"{name} = {getattr(self, name)} {self._what_to_do(name, takers)}")

    def _what_to_do(self, name: str, takers: Collection[str]) -> str:
        """Return why an option has no place here, and how to go on."""
        learners = [one for one in LEARNERS if one in takers]
        if self.kind == "entries" or learners == ["entries"]:
            learner = "entries" if learners == ["entries"] else "online"
            return f"is for the learner {learner} alone. Use it, or leave {name} out."
        if self.kind == "online":
            return f"needs additive = True, as in the preset readable. Set it, or leave {name} out."
        weighed = {"weights": self.weights, "zeros": self.zeros}
        own = [f"{one} = {value}" for one, value in weighed.items() if value not in ("none", 1)]
        return f"does not go with {'additive = True' if self.additive else ' and '.join(own)}. Leave one of them out."

    @property
    def forest(self) -> Forest:
        """The forest over the dimensions."""
        return Forest.complete(self.trees, self.branching)

    @property
    def wanted_density(self) -> float:
        """The share of non-zeros that ``lam="auto"`` aims at."""
        usual = usual_density(self.additive, len(self.forest), len(self.branching) + 1)
        return usual if self.density is None else self.density

    def penalty_over(self, forest: Forest) -> Penalty:
        """Return the penalty over a forest; where lam is to be found, with a lam to start from."""
        lam = 1.0 if isinstance(self.lam, str) else self.lam
        if self.additive:
            return NonNegativeL1(lam)
        return forest_penalty(forest, lam, self.depth_weights, nonnegative=self.nonnegative)


def split_settings(settings: dict[str, Any]) -> tuple[CountSettings, TrainSettings]:
    """Give each setting to the part it belongs to; refuse what belongs to none.

    ``preset`` names a bundle of settings, one of PRESETS; what is given beside it goes before it.
    """
    preset = OPTIONS["preset"].check(settings.get("preset", default("preset")))
    if PRESETS[preset].settings and settings.get("learner") == "entries":
        raise InputError(f"the preset {preset} needs the learner online. Leave the learner or the preset out.")
    settings = PRESETS[preset].filled({name: value for name, value in settings.items() if name != "preset"})
    counting, training = ({one.name for one in fields(part)} for part in (CountSettings, TrainSettings))
    check_known(settings, ["preset", *(name for name in OPTIONS if name in counting | training)])
    return (
        CountSettings(**{name: value for name, value in settings.items() if name in counting}),
        TrainSettings(**{name: value for name, value in settings.items() if name in training}),
    )
