"""From a corpus to counts and to X, for all that learns from counts."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from wordforest import store
from wordforest.association import Allocate, pmi, sppmi
from wordforest.counts import Counts, count
from wordforest.errors import InputError
from wordforest.execution import Threads
from wordforest.experiment.output import output, replace
from wordforest.progress import Event, Report, Reporter
from wordforest.settings import CountSettings, at_least, check_known
from wordforest.text import Vocabulary
from wordforest.text.reader import find_sources, total_bytes

Corpus = str | Path | Iterable[str | Path]
_HELD_OUT_WINDOW = 10


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
    check_known(settings, [*CountSettings.__dataclass_fields__])
    count_settings = CountSettings(**settings)
    executor = threads(workers)
    with output(out, force) as folder:
        assert folder  # noqa: S101 out was given
        counts, config = _count(names_of(corpus), count_settings, executor, folder, report)
        replace(folder, force)
        store.save_counts(folder, counts.vocabulary.words, counts.vocabulary.counts, counts.matrix, config)
        report.say(f"wrote {folder}: {len(counts.vocabulary)} words, {counts.matrix.nnz} pairs")
    return counts


def held_out(source: str | Path, *, workers: int | None = None, report: Reporter | None = None) -> Counts:
    """Return the window counts of text that was kept from training: of a counts folder, else of text, counted here.

    Text is counted with all its words and ten words on each side: what matters is which words meet.
    """
    settings = CountSettings(window=_HELD_OUT_WINDOW, min_count=1)
    if store.is_counts_folder(Path(source)):
        words, totals, matrix, config = store.load_counts(Path(source))
        return Counts(matrix, Vocabulary(words, totals), str(config.get("fingerprint", "")))
    return _count(names_of(source), settings, threads(workers), None, report or Reporter())[0]


def associate(
    counts: Counts, measure: str = "pmi", smoothing: float = 1.0, shift: float = 0.0, allocate: Allocate = np.empty
) -> sparse.csr_array:
    """Return X (V, C) for the measure chosen; it may share index arrays with the counts."""
    if measure == "pmi":
        return pmi(counts, smoothing=smoothing, share_pattern=True, allocate=allocate)
    X = sppmi(counts, shift=shift if measure == "sppmi" else 0.0, smoothing=smoothing, allocate=allocate)
    if not X.nnz:
        raise InputError(f"no pair of words has a {measure} above 0. Lower the shift, or give more text.")
    return X


def versions(*more: str) -> dict[str, str]:
    """Return the versions that a result depends on; ``more`` names packages beyond the usual ones."""
    packages = ("wordforest", "numpy", "scipy", "numba", *more)
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def load_or_count(
    names: list[str], settings: CountSettings, executor: Threads, folder: Path | None, report: Report,
    *, mapped: bool = False,
) -> tuple[Counts, dict[str, Any]]:  # fmt: skip
    """Return counts and their settings: of one counts folder, left in its file if ``mapped``, else of text."""
    source = Path(names[0]) if len(names) == 1 else None
    if source is None or not store.is_counts_folder(source):
        return _count(names, settings, executor, folder, report)
    if folder and folder.resolve() == source.resolve():
        raise InputError(f"{folder}: the counts to read would be replaced. Choose another --out.")
    words, totals, matrix, config = store.load_counts(source, mapped=mapped)
    _check_counted_so(source, settings, config)
    return Counts(matrix, Vocabulary(words, totals), str(config.get("fingerprint", ""))), config


def _count(
    names: list[str], settings: CountSettings, executor: Threads, folder: Path | None, report: Report
) -> tuple[Counts, dict[str, Any]]:
    sources = find_sources(names)
    on_progress = reading(total_bytes(sources), report)
    counts = count(
        sources, window=settings.window, min_count=settings.min_count, max_vocab=settings.max_vocab,
        dynamic_window=settings.dynamic_window, subsample=settings.subsample,
        rules=settings.rules, executor=executor, spool_folder=folder, on_progress=on_progress,
    )  # fmt: skip
    return counts, {
        **asdict(settings), "corpus": names, "fingerprint": counts.fingerprint, "versions": versions(),
    }  # fmt: skip


def reading(size: int | None, report: Report) -> Callable[[str, int, int], None]:
    """Return what turns progress of ``count`` or ``read_tokens`` into events; ``size`` is that of all text in bytes."""

    def on_progress(stage: str, tokens: int, of: int) -> None:
        if stage == "read":  # its end is known only when counting begins
            report(Event("read", tokens, tokens / min(of / size, 0.999) if size and of else None, "tokens"))
            return
        if tokens == 0:
            report(Event("read", of, of, "tokens"))
        report(Event("count", tokens, of, "tokens"))

    report(Event("read", 0, None, "tokens"))
    return on_progress


def _check_counted_so(folder: Path, settings: CountSettings, config: dict[str, Any]) -> None:
    """Refuse a setting that counts made earlier cannot follow; a default asks for nothing."""
    for name, value in asdict(settings).items():
        default = CountSettings.__dataclass_fields__[name].default
        counted = config.get(name, default)
        if value not in (counted, default):
            raise InputError(
                f"{name} = {value}, but {folder} was counted with {name} = {counted}. "
                "Count again, or leave the setting out."
            )


def names_of(corpus: Corpus) -> list[str]:
    """Return the names that make up a corpus."""
    return [str(corpus)] if isinstance(corpus, str | Path) else [str(name) for name in corpus]


def threads(workers: int | None) -> Threads:
    """Return that many workers; all cores if none are asked for."""
    at_least("workers", 1 if workers is None else workers, 1)
    return Threads(workers)
