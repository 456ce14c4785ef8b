"""From a corpus to counts and to X, for all that learns from counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from wordforest import store
from wordforest.counts import Counts, Tally, tally_corpus
from wordforest.counts.association import Allocate, pmi, sppmi
from wordforest.errors import InputError
from wordforest.jobs.count_on_cluster import ClusterTally, tally_on_cluster
from wordforest.jobs.job import Job, versions
from wordforest.options import check_known, default
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.progress import Event, Report, Reporter
from wordforest.runtime.scratch import ScratchFiles
from wordforest.settings import CountSettings
from wordforest.store.folders import save_counts
from wordforest.text import Vocabulary
from wordforest.text.reader import find_sources, total_bytes

Corpus = str | Path | Iterable[str | Path]
_HELD_OUT = CountSettings(window=10, min_count=1)


@dataclass(frozen=True, eq=False)
class Counted:
    """Counts, the settings that they were made with, and the folder they lie in, if there is one."""

    counts: Counts
    config: dict[str, Any]
    folder: Path | None = None

    @property
    def vocabulary(self) -> Vocabulary:
        """The words."""
        return self.counts.vocabulary


def count_corpus(
    corpus: Corpus,
    out: str | Path,
    *,
    extendable: bool = False,
    add: str | Path | None = None,
    force: bool = False,
    resume: bool = False,
    workers: int | None = None,
    memory: int | None = None,
    cluster: str | Cluster | None = None,
    report: Reporter | None = None,
    **settings: Any,
) -> Counts:
    """Count a corpus into a folder that ``train`` takes in place of text. Settings are those of ``CountSettings``.

    ``extendable`` counts can be added to later: ``add`` names such a folder, whose text is counted, too.
    ``memory`` is a ceiling in bytes for counting, three quarters of the machine's if left out; what goes beyond lies in
    files in ``out`` meanwhile, and counts that would take more than half of it are returned mapped from their file.
    ``resume`` resumes counting that was broken off in ``out``, to the same bits as if it had not been.
    ``cluster`` is the address of a Dask scheduler, ``local:N``, or a ``Cluster``; its workers read the text, and what
    is returned stays in its file. Workers that die cost no more than their share; a scheduler that dies costs all.
    """
    from wordforest.jobs.extend import corpus_before, extend_into

    check_known(settings, [*CountSettings.__dataclass_fields__])
    asked, names = CountSettings(**settings), names_of(corpus)
    extended, add = extendable or add is not None, None if add is None else Path(add)
    if extended and cluster is not None:
        raise InputError("--extendable and --add count on one machine. Leave out --cluster.")
    with Job(out, force=force, resume=resume, workers=workers, cluster=cluster, memory=memory, report=report) as job:
        before = corpus_before(add, asked) if extended else []
        is_complete = job.is_complete(store.is_counts_folder, {"corpus": [*before, *names], **asdict(asked)})
        if not is_complete and resume and "-" in names:
            raise InputError("standard input cannot be read again to resume. Give a file, or leave --resume out.")
        if extended and not is_complete:
            extend_into(job, names, asked, add)
        elif not is_complete:
            count_into(job, names, asked)
        counts = load_counts(Path(out), kept(job), checked=is_complete).counts
        if not is_complete:
            job.end(f"{len(counts.vocabulary)} words, {counts.matrix.nnz} pairs")
    return counts


def count_into(job: Job, names: list[str], settings: CountSettings, facts: Callable[[], dict[str, Any]] = dict) -> None:
    """Count text into the folder of a job.

    ``facts`` of the text are asked for at the beginning, where a try is resumed only if they are as they were, and at
    the end, when they are written beside the settings.
    """
    assert job.folder  # noqa: S101 without one counts stay in memory
    resumable = not isinstance(job.executor, Cluster) and "-" not in names
    job.begin({"corpus": names, **asdict(settings), **facts()}, resumable=resumable)
    with closing(ScratchFiles(store.checkpoint_folder(job.folder), job.memory, named=True)) as place:
        tally = _tally(job, names, settings, place)
        config = count_config(names, settings, tally.fingerprint) | facts()
        save_counts(job.folder, tally.vocabulary.words, tally.vocabulary.counts, tally, config)
    job.checkpoint.remove()


def count_in_memory(job: Job, names: list[str], settings: CountSettings) -> Counted:
    """Return the counts of text that are written nowhere."""
    with closing(ScratchFiles(None, job.memory)) as place:
        tally = _tally(job, names, settings, place)
        assert isinstance(tally, Tally)  # noqa: S101 a cluster needs a folder
        counts = Counts(tally.matrix(), tally.vocabulary, tally.fingerprint)
    return Counted(counts, count_config(names, settings, tally.fingerprint))


def _tally(job: Job, names: list[str], settings: CountSettings, place: ScratchFiles) -> Tally | ClusterTally:
    """Count pairs, on one machine into a place, on a cluster into the memory of its workers."""
    sources = find_sources(names)
    on_progress = reading(total_bytes(sources), job.report)
    if isinstance(job.executor, Cluster):
        return tally_on_cluster(sources, settings, job.executor, on_progress)
    return tally_corpus(
        sources,
        settings.windows,
        settings.words,
        settings.rules,
        place,
        executor=job.executor,
        on_progress=on_progress,
    )


def load_counts(folder: Path, most: float = np.inf, *, checked: bool = True) -> Counted:
    """Return the counts of a folder, left in their file if they would take more than ``most`` bytes.

    What was just written, or is for workers to look at, need not be ``checked`` here.
    """
    path = folder / "counts.safetensors"
    mapped = path.is_file() and path.stat().st_size > most
    words, totals, matrix, config = store.read_counts(folder, mapped=mapped, checked=checked)
    return Counted(Counts(matrix, Vocabulary(words, totals), str(config.get("fingerprint", ""))), config, folder)


def kept(job: Job) -> int:
    """Return how many bytes of counts a job takes into memory; those for a cluster stay in their file."""
    return 0 if isinstance(job.executor, Cluster) else job.memory // 2


def check_readable_again(names: list[str], resume: bool) -> None:
    """Refuse to resume from standard input."""
    if resume and "-" in names:
        raise InputError("standard input cannot be read again to resume. Give a file, or leave --resume out.")


def held_out(source: str | Path) -> Counts:
    """Return the window counts of text that was kept from training: of a counts folder, else of text, counted here.

    Text is counted with all its words and ten words on each side: what matters is which words meet.
    """
    if store.is_counts_folder(Path(source)):
        return load_counts(Path(source)).counts
    return count_in_memory(Job(None), names_of(source), _HELD_OUT).counts


def associate(
    counts: Counts,
    measure: str = default("measure"),
    smoothing: float = default("smoothing"),
    shift: float = default("shift"),
    allocate: Allocate = np.empty,
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
