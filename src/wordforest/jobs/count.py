"""From a corpus to counts and to X, for all that learns from counts."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from wordforest import store
from wordforest.counts import Counts, Tally, count, tally_corpus
from wordforest.counts.association import Allocate, pmi, sppmi
from wordforest.errors import InputError
from wordforest.jobs.checkpoint import begin_or_go_on, check_complete
from wordforest.jobs.job import output, replace
from wordforest.options import OPTIONS, check_known
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.memory import three_quarters
from wordforest.runtime.progress import Event, Report, Reporter
from wordforest.runtime.scratch import Place
from wordforest.runtime.threads import Threads
from wordforest.settings import CountSettings
from wordforest.store.counts import save_count_parts
from wordforest.store.tensors import map_csr
from wordforest.text import Vocabulary
from wordforest.text.reader import find_sources, total_bytes

Corpus = str | Path | Iterable[str | Path]
_HELD_OUT_WINDOW = 10
_COUNTING = (
    "window", "min_count", "max_vocab", "dynamic_window", "subsample", "subsample_seed", "keep_words",
    "max_contexts", "mark_sides",
)  # fmt: skip


def count_corpus(
    corpus: Corpus,
    out: str | Path,
    *,
    force: bool = False,
    resume: bool = False,
    workers: int | None = None,
    memory: int | None = None,
    cluster: str | Cluster | None = None,
    report: Reporter | None = None,
    **settings: Any,
) -> Counts:
    """Count a corpus into a folder that ``train`` takes in place of text. Settings are those of ``CountSettings``.

    ``memory`` is a ceiling in bytes for counting, three quarters of the machine's if left out; what goes beyond lies in
    files in ``out`` meanwhile, and counts that would take more than half of it are returned mapped from their file.
    ``resume`` goes on with counting that was broken off in ``out``, to the same bits as if it had not been.
    ``cluster`` is the address of a Dask scheduler, ``local:N``, or a ``Cluster``; its workers read the text.
    """
    report = report or Reporter()
    check_known(settings, [*CountSettings.__dataclass_fields__])
    count_settings = CountSettings(**settings)
    if cluster is not None:
        from wordforest.jobs.count_on_cluster import count_corpus_on_cluster

        return count_corpus_on_cluster(
            names_of(corpus), count_settings, cluster, Path(out), force=force, resume=resume, workers=workers,
            report=report,
        )  # fmt: skip
    executor, names = threads(workers), names_of(corpus)
    if resume and store.is_counts_folder(Path(out)) and not store.has_checkpoint(Path(out)):
        counts, config = load_counts(Path(out), mapped=True)
        check_complete(Path(out), json.loads(json.dumps({"corpus": names, **asdict(count_settings)})), config)
        store.remove_checkpoint(Path(out))
        report.say(f"{out} is complete already")
        return counts
    check_readable_again(names, resume)
    with output(out, force or resume) as folder:
        assert folder  # noqa: S101 out was given
        counts, _ = count_into(
            folder, names, count_settings, executor, report, memory=memory, force=force, resume=resume
        )
        report.say(f"wrote {folder}: {len(counts.vocabulary)} words, {counts.matrix.nnz} pairs")
    return taken(counts, memory)


def count_into(
    folder: Path, names: list[str], settings: CountSettings, executor: Threads, report: Report,
    *, memory: int | None, force: bool, resume: bool, facts: Callable[[], dict[str, Any]] = dict,
) -> tuple[Counts, dict[str, Any]]:  # fmt: skip
    """Count text into a folder and return the counts, mapped from it.

    ``facts`` of the text are asked for at the beginning, where a try is gone on with only if they are as they were, and
    at the end, when they are written beside the settings, which are returned, too.
    """
    begun = json.loads(json.dumps({"corpus": names, **asdict(settings), **facts()}))
    begin_or_go_on(folder, begun, resume=resume)
    place = Place(store.checkpoint_folder(folder), memory, named=True)
    tally, config = _tally(names, settings, executor, place, folder, report)
    try:
        config |= facts()
    except InputError:
        place.close()
        store.remove_checkpoint(folder)
        raise
    replace(folder, force or resume)
    save_count_parts(folder, tally.vocabulary.words, tally.vocabulary.counts, tally, config)
    place.close()
    store.remove_checkpoint(folder)
    return Counts(map_csr(folder / "counts.safetensors"), tally.vocabulary, tally.fingerprint), config


def taken(counts: Counts, memory: int | None) -> Counts:
    """Return mapped counts in memory, if they take at most half of what there may be."""
    mapped = counts.matrix
    if mapped.data.nbytes + mapped.indices.nbytes > (memory or three_quarters()) // 2:
        return counts
    matrix = sparse.csr_array(mapped.shape, dtype=mapped.dtype)
    matrix.data, matrix.indices, matrix.indptr = mapped.data.copy(), mapped.indices.copy(), mapped.indptr
    matrix.has_canonical_format = True
    return Counts(matrix, counts.vocabulary, counts.fingerprint)


def is_large(folder: Path, memory: int | None) -> bool:
    """Return whether the counts of a folder would take more than half of what there may be: a reason to map them."""
    return (folder / "counts.safetensors").stat().st_size > (memory or three_quarters()) // 2


def check_readable_again(names: list[str], resume: bool) -> None:
    """Refuse to go on with standard input."""
    if resume and "-" in names:
        raise InputError("standard input cannot be read again to go on with. Give a file, or leave --resume out.")


def _tally(
    names: list[str], settings: CountSettings, executor: Threads, place: Place, folder: Path, report: Report
) -> tuple[Tally, dict[str, Any]]:
    """Count into a place. Bad input leaves nothing there; what a full disk or a signal breaks off stays to go on."""
    try:
        sources = find_sources(names)
        tally = tally_corpus(
            sources, settings.windows, settings.words, settings.rules, place,
            executor=executor, on_progress=reading(total_bytes(sources), report),
        )  # fmt: skip
    except InputError:
        place.close()
        if not place.full:
            store.remove_checkpoint(folder)
        raise
    except BaseException:
        place.close()
        raise
    return tally, count_config(names, settings, tally.fingerprint)


def held_out(source: str | Path, *, workers: int | None = None, report: Reporter | None = None) -> Counts:
    """Return the window counts of text that was kept from training: of a counts folder, else of text, counted here.

    Text is counted with all its words and ten words on each side: what matters is which words meet.
    """
    settings = CountSettings(window=_HELD_OUT_WINDOW, min_count=1)
    if store.is_counts_folder(Path(source)):
        return load_counts(Path(source))[0]
    return count_names(names_of(source), settings, threads(workers), None, report or Reporter())[0]


def associate(
    counts: Counts, measure: str = "pmi", smoothing: float = 1.0, shift: float = 0.0, allocate: Allocate = np.empty
) -> sparse.csr_array:
    """Return X (V, C) for the measure chosen; it may share index arrays with the counts.

    Those of mapped counts are copied, unless ``allocate`` may put X into files, too: a learner goes through them often.
    """
    if measure == "pmi":
        share = counts.matrix.indices.flags.writeable or allocate is not np.empty
        return pmi(counts, smoothing=smoothing, share_pattern=share, allocate=allocate)
    X = sppmi(counts, shift=shift if measure == "sppmi" else 0.0, smoothing=smoothing, allocate=allocate)
    if not X.nnz:
        raise InputError(f"no pair of words has a {measure} above 0. Lower the shift, or give more text.")
    return X


def versions(*more: str) -> dict[str, str]:
    """Return the versions that a result depends on; ``more`` names packages beyond the usual ones."""
    packages = ("wordforest", "numpy", "scipy", "numba", *more)
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def load_counts(folder: Path, *, mapped: bool = False) -> tuple[Counts, dict[str, Any]]:
    """Return the counts of a folder, left in their file if ``mapped``, and their settings."""
    words, totals, matrix, config = store.load_counts(folder, mapped=mapped)
    return Counts(matrix, Vocabulary(words, totals), str(config.get("fingerprint", ""))), config


def count_names(
    names: list[str], settings: CountSettings, executor: Threads, folder: Path | None, report: Report,
    *, memory: int | None = None,
) -> tuple[Counts, dict[str, Any]]:  # fmt: skip
    """Return the counts of text and their settings."""
    sources = find_sources(names)
    on_progress = reading(total_bytes(sources), report)
    counts = count(
        sources, **{name: getattr(settings, name) for name in _COUNTING},
        rules=settings.rules, executor=executor, spool_folder=folder, memory=memory, on_progress=on_progress,
    )  # fmt: skip
    return counts, count_config(names, settings, counts.fingerprint)


def count_config(names: list[str], settings: CountSettings, fingerprint: str) -> dict[str, Any]:
    """Return what a counts folder says of itself."""
    return {**asdict(settings), "corpus": names, "fingerprint": fingerprint, "versions": versions()}


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


def names_of(corpus: Corpus) -> list[str]:
    """Return the names that make up a corpus."""
    return [str(corpus)] if isinstance(corpus, str | Path) else [str(name) for name in corpus]


def threads(workers: int | None) -> Threads:
    """Return that many workers; all cores if none are asked for."""
    OPTIONS["workers"].check(workers)
    return Threads(workers)
