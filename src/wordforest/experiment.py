"""From a corpus and frozen settings to a run: the rooms put in a row."""

from __future__ import annotations

import math
import platform
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from wordforest import store
from wordforest.association import pmi, ppmi, sppmi
from wordforest.coder.forest import Forest
from wordforest.coder.online import Learned, OnlineSettings, Step, learn_online
from wordforest.coder.penalties import ForestL2
from wordforest.counts import Counts, count
from wordforest.errors import InputError
from wordforest.execution import Threads
from wordforest.progress import Event, Report, Reporter
from wordforest.store import Run
from wordforest.text import TextRules, Vocabulary
from wordforest.text.reader import Errors, find_sources, total_bytes
from wordforest.text.tokenizer import Tokenizer

Corpus = str | Path | Iterable[str | Path]
Measure = Literal["pmi", "ppmi", "sppmi"]


@dataclass(frozen=True)
class CountSettings:
    """How a corpus is counted; the defaults are the paper's."""

    window: int = 5
    min_count: int = 10
    max_vocab: int | None = None
    tokenizer: Tokenizer = "words"
    lowercase: bool = True
    numbers: bool = True
    errors: Errors = "strict"

    def __post_init__(self) -> None:
        _at_least("window", self.window, 1)
        _at_least("min_count", self.min_count, 1)
        _at_least("max_vocab", 1 if self.max_vocab is None else self.max_vocab, 1)
        _one_of("tokenizer", self.tokenizer, ("words", "whitespace"))
        _one_of("errors", self.errors, ("strict", "replace"))

    @property
    def rules(self) -> TextRules:
        """The part that concerns words."""
        return TextRules(self.tokenizer, self.lowercase, self.numbers, self.errors)


@dataclass(frozen=True)
class TrainSettings:
    """How vectors are learned from counts; the defaults are the paper's."""

    n_trees: int = 4
    branching: tuple[int, ...] = (3, 3)
    lam: float = 0.1
    measure: Measure = "pmi"
    smoothing: float = 1.0
    shift: float = 0.0
    epochs: int = 20
    tol: float = 1e-3
    seed: int = 0

    def __post_init__(self) -> None:
        _one_of("measure", self.measure, ("pmi", "ppmi", "sppmi"))
        _at_least("epochs", self.epochs, 1)
        _at_least("tol", self.tol, 0)
        _at_least("seed", self.seed, 0)
        _at_least("smoothing", self.smoothing, 0)
        _at_least("shift", self.shift, 0)
        if self.shift and self.measure != "sppmi":
            raise InputError(
                f"shift = {self.shift} has no effect on {self.measure}. Use the measure sppmi, or no shift."
            )
        ForestL2(self.forest, self.lam)

    @property
    def forest(self) -> Forest:
        """The forest over the dimensions."""
        return Forest.complete(self.n_trees, self.branching)


def train(
    corpus: Corpus,
    *,
    out: str | Path | None = None,
    force: bool = False,
    workers: int | None = None,
    report: Reporter | None = None,
    **settings: Any,
) -> Run:
    """Learn forest vectors from text (or from a counts folder) and return the run; ``out`` also writes it.

    Settings are those of ``CountSettings`` and ``TrainSettings``: ``train("corpus.txt", n_trees=40, min_count=5)``.
    """
    report = report or Reporter()
    count_settings, train_settings = _split(settings)
    executor = _threads(workers)
    with _output(out, force) as folder:
        counts, count_config = _load_or_count(_names(corpus), count_settings, executor, folder, report)
        run = _learn(counts, train_settings, count_config, executor, report)
        if folder:
            _replace(folder, force)
            store.save_run(folder, run)
            report.say(f"wrote {folder}: {len(run.words)} words, {len(run.forest)} dimensions")
    return run


def count_corpus(
    corpus: Corpus,
    out: str | Path,
    *,
    force: bool = False,
    workers: int | None = None,
    report: Reporter | None = None,
    **settings: Any,
) -> Counts:
    """Count a corpus into a folder that ``train`` takes in place of text. Settings are those of ``CountSettings``."""
    report = report or Reporter()
    _check_known(settings, [*CountSettings.__dataclass_fields__])
    count_settings = CountSettings(**settings)
    executor = _threads(workers)
    with _output(out, force) as folder:
        assert folder  # noqa: S101 out was given
        counts, config = _count(_names(corpus), count_settings, executor, folder, report)
        _replace(folder, force)
        store.save_counts(folder, counts.vocabulary.words, counts.vocabulary.counts, counts.matrix, config)
        report.say(f"wrote {folder}: {len(counts.vocabulary)} words, {counts.matrix.nnz} pairs")
    return counts


def associate(counts: Counts, settings: TrainSettings) -> sparse.csr_array:
    """Return X (V, C) for the measure chosen."""
    if settings.measure == "pmi":
        return pmi(counts, smoothing=settings.smoothing)
    if settings.measure == "ppmi":
        X = ppmi(counts, smoothing=settings.smoothing)
    else:
        X = sppmi(counts, shift=settings.shift, smoothing=settings.smoothing)
    if not X.nnz:
        raise InputError(f"no pair of words has a {settings.measure} above 0. Lower the shift, or give more text.")
    return X


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    packages = ("wordforest", "numpy", "scipy", "numba")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def _load_or_count(
    names: list[str], settings: CountSettings, executor: Threads, folder: Path | None, report: Report
) -> tuple[Counts, dict[str, Any]]:
    """Return counts and their settings: of one counts folder, else of text."""
    source = Path(names[0]) if len(names) == 1 else None
    if source is None or not store.is_counts_folder(source):
        return _count(names, settings, executor, folder, report)
    if folder and folder.resolve() == source.resolve():
        raise InputError(f"{folder}: the counts to read would be replaced. Choose another --out.")
    words, totals, matrix, config = store.load_counts(source)
    _check_counted_so(source, settings, config)
    return Counts(matrix, Vocabulary(words, totals), str(config.get("fingerprint", ""))), config


def _count(
    names: list[str], settings: CountSettings, executor: Threads, folder: Path | None, report: Report
) -> tuple[Counts, dict[str, Any]]:
    sources = find_sources(names)
    size = total_bytes(sources)

    def on_progress(stage: str, tokens: int, of: int) -> None:
        if stage == "read":  # its end is known only when counting begins
            report(Event("read", tokens, tokens / min(of / size, 0.999) if size and of else None, "tokens"))
            return
        if tokens == 0:
            report(Event("read", of, of, "tokens"))
        report(Event("count", tokens, of, "tokens"))

    report(Event("read", 0, None, "tokens"))
    counts = count(
        sources, window=settings.window, min_count=settings.min_count, max_vocab=settings.max_vocab,
        rules=settings.rules, executor=executor, spool_folder=folder, on_progress=on_progress,
    )  # fmt: skip
    return counts, {
        **asdict(settings), "corpus": names, "fingerprint": counts.fingerprint, "versions": versions(),
    }  # fmt: skip


def _check_counted_so(folder: Path, settings: CountSettings, config: dict[str, Any]) -> None:
    """Refuse a setting that counts made earlier cannot follow; a default asks for nothing."""
    for name, value in asdict(settings).items():
        counted = config.get(name, value)
        if value not in (counted, CountSettings.__dataclass_fields__[name].default):
            raise InputError(
                f"{name} = {value}, but {folder} was counted with {name} = {counted}. "
                "Count again, or leave the setting out."
            )


def _learn(
    counts: Counts, settings: TrainSettings, count_config: dict[str, Any], executor: Threads, report: Report
) -> Run:
    X = associate(counts, settings)
    report(Event("learn", 0, None, "words"))
    started = time.monotonic()
    history: list[dict[str, Any]] = []

    def on_step(step: Step) -> None:
        history.append({"seconds": round(time.monotonic() - started, 3), **asdict(step)})
        report(_learning(step, X.shape[0]))

    learned = learn_online(
        X, ForestL2(settings.forest, settings.lam), len(settings.forest),
        OnlineSettings(epochs=settings.epochs, tol=settings.tol, seed=settings.seed),
        executor=executor, on_step=on_step,
    )  # fmt: skip
    return _as_run(counts, learned, settings, count_config, history)


def _as_run(
    counts: Counts,
    learned: Learned,
    settings: TrainSettings,
    config: dict[str, Any],
    history: list[dict[str, Any]],
) -> Run:
    codes = sparse.csr_array(learned.A.astype(np.float32, copy=False))
    full = {**config, **asdict(settings), "learner": "online", "versions": versions()}
    words = counts.vocabulary.words
    return Run(words, counts.vocabulary.counts, codes, learned.D, settings.forest, full, history)


def _learning(step: Step, n_words: int) -> Event:
    total = -(-step.words_seen // n_words) * n_words + n_words  # this pass and the last, exact one
    total = step.words_seen if step.last else total
    return Event("learn", step.words_seen, total, "words", {"objective": step.objective, "density": step.density})


def _names(corpus: Corpus) -> list[str]:
    return [str(corpus)] if isinstance(corpus, str | Path) else [str(name) for name in corpus]


@contextmanager
def _output(out: str | Path | None, force: bool) -> Iterator[Path | None]:
    """Yield a folder that may be written to. What it holds stays until there is something to replace it.

    Folders made here go away again if nothing comes of them.
    """
    if out is None:
        yield None
        return
    folder = Path(out)
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    if not (force and folder.is_dir()):
        store.prepare_folder(folder, force=force)
    try:
        tempfile.TemporaryFile(dir=folder).close()  # a folder without rights fails now, not after hours
        yield folder
    except BaseException:
        with suppress(OSError):  # not empty
            for path in made:
                path.rmdir()
        raise


def _replace(folder: Path, force: bool) -> None:
    if force:
        store.prepare_folder(folder, force=True)


def _threads(workers: int | None) -> Threads:
    _at_least("workers", 1 if workers is None else workers, 1)
    return Threads(workers)


def _split(settings: dict[str, Any]) -> tuple[CountSettings, TrainSettings]:
    counting, training = CountSettings.__dataclass_fields__, TrainSettings.__dataclass_fields__
    _check_known(settings, [*counting, *training])
    return (
        CountSettings(**{name: value for name, value in settings.items() if name in counting}),
        TrainSettings(**{name: value for name, value in settings.items() if name in training}),
    )


def _check_known(settings: dict[str, Any], known: list[str]) -> None:
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise InputError(f"unknown setting {', '.join(unknown)}. Settings are: {', '.join(known)}.")


def _at_least(name: str, value: float, least: float) -> None:
    if not least <= value < math.inf:
        raise InputError(f"{name} = {value}, but it must be a finite number, at least {least}.")


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(f"{name} = {value!r}, but it must be one of {', '.join(allowed)}.")
