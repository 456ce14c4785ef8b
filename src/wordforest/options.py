"""All options of training, counting and the baselines in one table, and the presets in a second one.

A row says what an option is called, what it takes, its default, its help and who takes it. The checks, the defaults of
all settings, the commands and their help come from here, so that nothing is written twice.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from itertools import accumulate
from numbers import Integral, Real
from operator import mul
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from wordforest.errors import InputError

# Who takes an option. Training is four: the learner online, the same with weights of pairs or with additive trees, and
# the learner entries.
LEARNERS = ("online", "weighted", "additive", "entries")
FROM_COUNTS = ("pca", "sc", "nnse", "hpca")
WORD2VEC = ("cbow", "sg", "cbow-hs", "sg-hs")
BASELINES = (*FROM_COUNTS, *WORD2VEC, "nce", "rnn")
COMMANDS = {"train": LEARNERS, "count": ("count",), "encode": ("encode",), "baseline": BASELINES}
_SAID = {"weighted": "with --weights", "additive": "with --additive"}
_GROUPS = {
    **COMMANDS,
    "coding": ("online", "weighted", "additive"),
    "all": ("count", "encode", *LEARNERS, *BASELINES),
    "text": ("count", *LEARNERS, *BASELINES),
    "counts": ("count", *LEARNERS, *FROM_COUNTS),
    "association": (*LEARNERS, "pca", "sc", "nnse"),
    "word2vec": WORD2VEC,
}


class Kind(NamedTuple):
    """What a value is: in words, how one is read (ValueError where it is none), and its type on the command line."""

    expected: str
    read: Callable[[Any], Any]
    shell: Any = str
    range: str = ""  # of numbers, as in [0, 1)
    hint: str = ""  # what to do, at the end of an error
    metavar: str | None = None


@dataclass(frozen=True)
class Preset:
    """A bundle of settings under a name; ``large`` has what differs from LARGE dimensions on."""

    help: str
    settings: dict[str, Any]
    large: dict[str, Any] = field(default_factory=dict)

    def filled(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a user gave, and the preset's settings for all else."""
        small = {**self.settings, **given}
        trees, branching = (OPTIONS[name].check(small.get(name, default(name))) for name in ("trees", "branching"))
        M = trees * sum(accumulate(branching, mul, initial=1))
        return {**self.settings, **(self.large if M >= LARGE else {}), **given}


@dataclass(frozen=True)
class Option:
    """A row of the table."""

    name: str
    kind: Kind
    default: Any  # ... has to be given
    who: str  # takes it: learners, baselines, commands or groups of them
    help: str
    unset: str = ""  # what None stands for, in the help
    by: Mapping[str, Any] = field(default_factory=dict)  # the defaults of those who have their own
    flags: str = ""  # on the command line, if not --name or --name/--no-name
    panel: str = ""

    @property
    def takers(self) -> list[str]:
        """The names of all who take it."""
        return [name for word in self.who.split() for name in _GROUPS.get(word, (word,))]

    def check(self, value: Any) -> Any:
        """Return the value as it is stored; refuse one of a wrong kind or out of the range."""
        if value is None and self.default is None:
            return None
        try:
            found = self.kind.read(value)
        except InputError:
            raise
        except (TypeError, ValueError, OverflowError):
            found = None
        if found is None or not (isinstance(found, str) or _inside(found, self.kind.range)):
            expected = f"{self.kind.expected}{_in_words(self.kind.range)}"
            raise InputError(
                f"{self.name} = {value!r}, but it must be {expected}.{self.kind.hint and ' ' + self.kind.hint}"
            )
        return found

    def spell(self, value: Any) -> str:
        """Return a value as one writes it on the command line."""
        if value in (None, ...):
            return self.unset
        if isinstance(value, bool):
            return "on" if value else "off"
        return ",".join(str(part) if isinstance(part, str) else f"{part:g}" for part in _listed(value))

    def help_for(self, command: str) -> str:
        """Return the help with who of a command takes the option, and the defaults of learners and presets."""
        everybody = COMMANDS.get(command, ())
        takers = [name for name in everybody if name in self.takers]
        others = [name for name in everybody if name not in takers]
        whose = f"all but {' '.join(others)}: " if 0 < len(others) < 3 else f"{' '.join(takers)}: "
        alone = bool(others) and "online" not in takers
        text = f"{whose}{self.help[0].lower()}{self.help[1:]}" if alone else self.help
        defaults: dict[str, list[str]] = {}  # who has it, by what is written
        for name in takers or [""]:
            defaults.setdefault(self.spell(self.by.get(name, self.default)), []).append(_SAID.get(name, name))
        for name, preset in PRESETS.items() if command == "train" else ():
            if self.name in preset.settings:
                value = self.spell(preset.settings[self.name])
                if self.name in preset.large:
                    value += f" ({self.spell(preset.large[self.name])} from {LARGE} dimensions on)"
                defaults.setdefault(value, []).append(name)
        first, *rest = defaults.items()
        written = ", ".join([first[0], *(f"{' '.join(who)} {value}" for value, who in rest)])
        return text if written in ("", "off") else f"{text} Default: {written}."


def _listed(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError
    return int(value)


def _real(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise TypeError
    return float(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _words(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        raise TypeError
    return tuple(map(_text, value))


def _lam(value: Any) -> float | str:
    return "auto" if value == "auto" else _real(float(value) if isinstance(value, str) else value)


def _size(value: Any) -> int:
    """Return bytes: a whole number, or text such as 8G or 500M."""
    if not isinstance(value, str):
        return _whole(value)
    power = "KMGT".find(value[-1:].upper()) + 1 if value else 0
    return int(float(value[:-1]) * 1024**power) if power else int(value)


def several(read: Callable[[Any], Any], from_text: Callable[[str], Any], example: str) -> Kind:
    """Return the kind of several numbers: a list of them, or text with commas between."""

    def read_all(value: Any) -> tuple[Any, ...]:
        if isinstance(value, str):
            value = [from_text(part) for part in value.split(",")] if value.strip() else ()
        return tuple(map(read, value))

    return Kind(f"numbers with commas between, as in {example}", read_all, metavar=example)


def choice(*names: str) -> Kind:
    """Return the kind of a value that is one of a few names."""

    def read(value: Any) -> str:
        return names[names.index(value)]

    return Kind(f"one of {', '.join(names)}", read, Literal[names])


COMPILED = ("words", "whitespace")


class PythonTokenizer(str):
    """A function of Python that splits text into tokens, as settings keep it: by its name.

    What was read back from a folder has the name alone, and is never looked up: data does not choose code to run.
    """

    function: Callable[[str], Any] | None = None
    BEFORE = "python:"

    @classmethod
    def of(cls, function: Callable[[str], Any]) -> PythonTokenizer:
        """Return a function with its name."""
        named = function if hasattr(function, "__qualname__") else type(function)
        module = getattr(named, "__module__", None) or "builtins"
        own = cls(f"{cls.BEFORE}{module}.{named.__qualname__}")
        own.function = function
        return own

    def __deepcopy__(self, _: Any) -> PythonTokenizer:
        return self


def _tokenizer(value: Any) -> str:
    if callable(value):
        return PythonTokenizer.of(value)
    kind, _, rest = _text(value).partition(":")
    if value in (*COMPILED, "jieba") or isinstance(value, PythonTokenizer) or (kind == "spacy" and rest):
        return str(value) if type(value) is str else value
    if value.startswith(PythonTokenizer.BEFORE):
        return PythonTokenizer(value)
    if kind != "regex" or not rest:
        raise ValueError
    try:
        re.compile(rest)
    except re.error as error:
        raise InputError(f"tokenizer = {value!r} is no regular expression ({error}). Mend the pattern.") from error
    return str(value)


def _named_paths(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not all(isinstance(one, str) and all(one.partition("=")[::2]) for one in value):
        raise ValueError
    return tuple(value)


POSITIVE = Kind("a whole number", _whole, int, "[1, inf)")
NATURAL = Kind("a whole number", _whole, int, "[0, inf)")
SEED = NATURAL._replace(range=f"[0, {1 << 63})")
NUMBER = Kind("a finite number", _real, float)
WEIGHT = NUMBER._replace(range="[0, inf)")
STEP = NUMBER._replace(range="(0, inf)")
SHARE = NUMBER._replace(range="(0, 1)")
SPECTRUM = NUMBER._replace(range="[0, 1]")
RATE = NUMBER._replace(range="[0, 1)", hint="Typical are 1e-3 to 1e-5.")
POWER = NUMBER._replace(range="[0, 2]", hint="Above 2 a few words would be all.")
LAM = Kind("auto, or a finite number", _lam, str, "[0, inf)", "The paper uses 0.1.", "NUMBER|auto")
SIZE = Kind("a size in bytes", _size, str, "[1, inf)", "Write it as 8G or 500M.", "SIZE")
FLAG = Kind("true or false", _flag, bool)
TEXT = Kind("text", _text)
COLUMN = TEXT._replace(metavar="COLUMN")
ADDRESS = TEXT._replace(metavar="ADDRESS")
WEIGHING = TEXT._replace(metavar="none|abs|count:P,T,L|glove:X,P")
_SPLITTERS = "words, whitespace, jieba, spacy:MODEL or regex:PATTERN"
TOKENIZER = Kind(f"{_SPLITTERS}, or in Python a function", _tokenizer, metavar="NAME")
PATH = Kind("the name of a file or folder", Path, Path)
NAMED_PATHS = Kind("names and paths, as in 1990s=nineties.txt", _named_paths, list[str], metavar="NAME=PATH")
WORDS = Kind("words, as in ('king', 'queen')", _words, metavar="FILE")
WHOLES = several(_whole, int, "3,3")
REALS = several(_real, float, "0.5,0.8,1")

_READ = {"measure": "ppmi", "trees": 20, "additive": True, "lam": "auto", "nonnegative": True}
_COUNTED = {"dynamic_window": True, "subsample": 1e-4, "mark_sides": True}
_PAIRS = {**_COUNTED, "spelling": 1.1, "weights": "count:0.6,1e-5,0.08", "zeros": 0.15}
LARGE = 200  # dimensions
PRESETS = {
    "paper": Preset("the method as published", {}),
    "best": Preset(
        "to score: pairs weighed by how often they were seen, and spelling",
        {**_PAIRS, "init": "spectral", "spectrum": 0.4, "epochs": 0, "unit": True},
        large={"spelling": 1.3, "zeros": 0.25},
    ),
    "readable": Preset(
        "to read, few non-zeros: a parent has all that its children have",
        {**_READ, "init": "nested", "word_power": 0.2},
    ),
}

# Those that the short help shows; --help-all shows all.
SHORT_HELP = (
    *("out", "preset", "settings", "resume", "force", "text", "window", "min_count", "tokenizer", "trees", "branching"),
    *("lam", "dimensions", "epochs", "seed", "workers", "device", "memory", "cluster"),
)
# Helps and defaults that are too long for a row.
_PRESETS = "; ".join(f"{name}: {preset.help}" for name, preset in PRESETS.items()) + "."
_TOKENIZER = "words: raw text; whitespace: tokenised, a sentence a line; jieba; spacy:MODEL or LANGUAGE; regex:PATTERN."
_WORKERS = "Threads; any number gives the same result (cbow, sg, cbow-hs, sg-hs: one that repeats itself with 1 alone)."
_ERRORS = "What to do with bytes that are not UTF-8."
_COLUMN = "Column of .csv, .tsv, .jsonl and .parquet files to read."
_SLICES = "Column that says which slice a text belongs to, or folder: that of its file; for compare."
_BINS = "Slices that are times in bins: a number of them, or decade, year, month, day."
_SUBSAMPLE = "Threshold for dropping frequent words, as 1e-4 in word2vec; 0: none."
_ADDITIVE = "A parent has what it has itself plus all that its children have; codes at or above zero."
_DENSITY = "With --lam auto: the share of non-zeros to aim at."
_STABILITY = "Say how stable every node is: learn twice more, from halves of the words."
_GROUPED = "online weighted entries ForestCoder"
_TOLS = {"weighted": 2e-3, "additive": 2e-4, "entries": 1e-3}
_LEARNER = "online: dictionary learning over all pairs; entries: the paper's Algorithm 1."
_PASSES = "Passes at most; 0: the dictionary of the start stays."
_TOL = "Stop when a pass gains less than this share of the objective."
_TOL_OF = "What --tol is a share of: the objective, or the penalty in it (lam Omega), which can be far smaller."
_INIT = "Start of the dictionary: random, words, nested clusters, rotated singular vectors."
_WEIGHTS = (
    "Weight of a stored pair: 1, |x|, (n / mean n)^P, min(1, n / X)^P; T discounts frequent words in n, L is least."
)
_SPELLING = "Character n-grams of words as more contexts, so many times log(words / words with it); 0: none."
_CLUSTER = "Dask scheduler, as in tcp://host:8786 or local:4; --workers are the threads of each process."
_EPOCHS = {"weighted": 30, "additive": 3, "entries": 10, **dict.fromkeys(WORD2VEC, 5), "nce": 5, "rnn": 2}
_SUBSAMPLES = {**dict.fromkeys(WORD2VEC, 1e-3), "nce": 1e-4}
_ETA = {**dict.fromkeys(WORD2VEC, 0.025), "nce": 0.3, "rnn": 0.05}

_PANELS: dict[str, list[Option]] = {
    "Basics": [
        Option("out", PATH, ..., "all", "Folder to write. Required."),
        Option("preset", choice(*PRESETS), "paper", "train", _PRESETS),
        Option("settings", PATH, None, "all", "TOML file of options; what is typed goes before it."),
        Option("resume", FLAG, False, "train count baseline", "Resume what was broken off, to the same bits."),
        Option("force", FLAG, False, "all", "Replace what is there."),
        Option("quiet", FLAG, False, "all", "No progress."),
        Option("json", FLAG, False, "all", "One JSON object a line."),
        Option("verbose", FLAG, False, "all", "Show the traceback of an error."),
    ],
    "Text": [
        Option("window", POSITIVE, 5, "counts word2vec nce", "Context words on each side."),
        Option("min_count", POSITIVE, 10, "text", "Rarer words become #rare#."),
        Option("max_vocab", POSITIVE, None, "text", "Keep at most this many words; others become #rare#."),
        Option("keep_words", WORDS, (), "text", "File of words, one a line, to keep even if they are rare."),
        Option("tokenizer", TOKENIZER, "words", "text", _TOKENIZER),
        Option("lowercase", FLAG, True, "text", "Lower-case all words."),
        Option("numbers", FLAG, True, "text", "Numbers become #number#.", flags="--numbers/--keep-numbers"),
        Option("phrases", FLAG, False, "text", "Join words that go together, as in new_york."),
        Option("errors", choice("strict", "replace", "skip"), "strict", "text", _ERRORS),
        Option("text", COLUMN, None, "text", _COLUMN, unset="the one that is text"),
        Option("dynamic_window", FLAG, False, "counts", "Pairs at distance d count in proportion to 1/d."),
        Option("subsample", RATE, 0.0, "counts word2vec nce", _SUBSAMPLE, by=_SUBSAMPLES),
        Option("subsample_seed", SEED, 0, "counts", "Which occurrences --subsample drops."),
        Option("max_contexts", POSITIVE, None, "counts", "Contexts are so many of the most frequent words."),
        Option("mark_sides", FLAG, False, "counts", "Left and right neighbours are contexts of their own."),
        Option("measure", choice("pmi", "ppmi", "sppmi"), "pmi", "association", "Association of word and context."),
        Option("smoothing", WEIGHT, 1.0, "association", "Power of the context counts."),
        Option("shift", WEIGHT, 0.0, "association", "Shift of sppmi."),
        Option("spelling", WEIGHT, 0.0, "association", _SPELLING),
        Option("slice", NAMED_PATHS, (), "train count", "A slice of the text, for compare; may be repeated."),
        Option("slices", COLUMN, None, "train count", _SLICES),
        Option("bins", COLUMN._replace(metavar="N|UNIT"), None, "train count", _BINS),
        Option("extendable", FLAG, False, "count", "Keep the counts of rare words, too, so that text can be added."),
        Option("phrases_of", PATH, None, "count", "Join the phrases of this run or of these counts, and no others."),
        Option("add", PATH, None, "count", "Counts made with --extendable, whose text is to be counted, too."),
    ],
    "Forest": [
        Option("trees", POSITIVE, 4, "train ForestCoder", "Trees; M = 13 x trees with the default branching."),
        Option("branching", WHOLES, (3, 3), "train ForestCoder", "Children of a node by depth; empty: none."),
        Option("additive", FLAG, False, "additive ForestCoder", _ADDITIVE),
        Option("stability", FLAG, False, "additive", _STABILITY),
        Option("grow", FLAG, False, "online additive", "Find the shape of the trees; unused nodes go."),
        Option("lam", LAM, 0.1, "train sc nnse ForestCoder", "Weight of the penalty."),
        Option("density", SHARE, None, "train ForestCoder", _DENSITY, unset="0.5; with --additive about 0.07"),
        Option("depth_weights", REALS, None, _GROUPED, "Weights of the penalty by depth.", unset="1"),
        Option("nonnegative", FLAG, False, "coding ForestCoder", "Codes and dictionary at or above zero."),
        Option("unit", FLAG, False, "train", "Divide every vector by its length."),
        Option("dimensions", POSITIVE, 52, "baseline", "M, the length of a vector."),
    ],
    "Learning": [
        Option("learner", choice("online", "entries"), "online", "train ForestCoder", _LEARNER),
        Option(
            "epochs",
            NATURAL,
            100,
            "train sc nnse word2vec nce rnn ForestCoder",
            "Passes at most; 0: the start stays.",
            by=_EPOCHS,
        ),
        Option("tol", WEIGHT, 5e-3, "train sc nnse ForestCoder", _TOL, by=_TOLS),
        Option("tol_of", choice("objective", "penalty"), "objective", "online weighted sc nnse ForestCoder", _TOL_OF),
        Option("seed", NATURAL, 0, "train baseline", "Same seed, same bits."),
        Option("init", choice("random", "rows", "nested", "spectral"), "random", "coding ForestCoder", _INIT),
        Option("spectrum", SPECTRUM, 0.5, "online weighted", "Init spectral: power of the singular values in codes."),
        Option("word_power", POWER, 0.0, "online additive", "A word counts like its frequency to this power."),
        Option("weights", WEIGHING, "none", "online weighted entries", _WEIGHTS, by={"entries": "abs"}),
        Option("zeros", WEIGHT, 1.0, _GROUPED, "Weight of pairs that are not stored; 0 in the paper's Algorithm 1."),
        Option("eta", STEP, None, "entries word2vec nce rnn", "Step size at the start.", unset="searched", by=_ETA),
        Option("tau", WEIGHT, None, "entries", "Ridge on the dictionary.", unset="atoms of mean length one"),
        Option("sampling", choice("proportional", "uniform"), "proportional", "entries", "Draw by |x|, or all alike."),
        Option("power", NUMBER, 1.0, "pca hpca nce", "Of the singular values in a vector; nce: of the noise counts."),
        Option("negative", POSITIVE, 5, "cbow sg", "Negative samples."),
        Option("noise", POSITIVE, 25, "nce", "Noise words for each word."),
    ],
    "Machine": [
        Option("workers", POSITIVE, None, "all", _WORKERS, unset="all cores"),
        Option(
            "device",
            choice("cpu", "cuda"),
            "cpu",
            "coding sc nnse rnn encode ForestCoder",
            "Where it computes.",
        ),
        Option("memory", SIZE, None, "counts", "Memory to stay within; the rest goes to files.", unset="3/4 of all"),
        Option("cluster", ADDRESS, None, "train count encode", _CLUSTER),
        Option("dtype", choice("float32", "float64"), "float32", "train", "Numbers to compute with."),
    ],
}
OPTIONS = {row.name: replace(row, panel=panel) for panel, rows in _PANELS.items() for row in rows}


def default(name: str, taker: str = "") -> Any:
    """Return the default of an option; that of a learner or baseline where it has its own."""
    row = OPTIONS[name]
    return row.by.get(taker, row.default)


def usual_density(additive: bool, n_nodes: int, n_levels: int, paths: float = 2) -> float:
    """Return the share of non-zeros that ``lam="auto"`` aims at where none is given.

    An additive forest to read has 0.069, but in a small one a word needs room for two ``paths``, or many have none.
    """
    return max(0.069, min(0.5, paths * n_levels / n_nodes)) if additive else 0.5


def taken_by(name: str) -> list[Option]:
    """Return the options of a command, a learner or a baseline, in the order of the table."""
    takers = {*COMMANDS.get(name, (name,))}
    return [row for row in OPTIONS.values() if takers & {*row.takers}]


@dataclass(frozen=True)
class Checked:
    """Settings that are checked by the table when they are made, as far as it has their names."""

    fewest_epochs: ClassVar[int] = 1  # 0 where codes can be had from a start alone

    def __post_init__(self) -> None:
        for name in (one.name for one in fields(self) if one.name in OPTIONS):
            object.__setattr__(self, name, OPTIONS[name].check(getattr(self, name)))
        if getattr(self, "epochs", self.fewest_epochs) < self.fewest_epochs:
            raise InputError("epochs = 0, but this learns in passes over the text or the words. Give 1 or more.")


def check_known(given: Iterable[str], known: Iterable[str], what: str = "setting") -> None:
    """Refuse names that are not known, and name the closest that are."""
    known = [*known]
    for name in given:
        if name not in known:
            close = get_close_matches(name, known, 1)
            did_you_mean = f" Did you mean {close[0]}?" if close else ""
            raise InputError(f"unknown {what} {name}.{did_you_mean} Known are: {', '.join(known)}.")


def _inside(value: Any, interval: str) -> bool:
    if not interval:
        return True
    low, high = map(float, interval[1:-1].split(","))
    above = value >= low if interval[0] == "[" else value > low
    return bool(above and (value <= high if interval[-1] == "]" else value < high))


def _in_words(interval: str) -> str:
    """Return an interval as it is said: [0, 1) is at least 0 and below 1."""
    if not interval:
        return ""
    low, high = interval[1:-1].split(", ")
    ends = [f"{'at least' if interval[0] == '[' else 'above'} {low}"]
    ends += [] if high == "inf" else [f"{'at most' if interval[-1] == ']' else 'below'} {high}"]
    return f", {' and '.join(ends)}"
