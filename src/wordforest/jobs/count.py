"""From a corpus to counts and to X, for all that learns from counts.

A text is counted once for many runs: counts lie in the run that made them, and runs beside it find them there, by what
they are made of: the SHA-256 of the files, every setting of counting, and the versions that say what a word is. So text
that has changed, or other settings, never meet old counts. Text for a cluster is not read here: sizes and times of its
files stand for it, and only a run that is resumed takes such counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
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
from wordforest.runtime.disk import ScratchFiles
from wordforest.runtime.progress import Event, Report, Reporter
from wordforest.settings import CountSettings
from wordforest.store.folders import save_counts
from wordforest.text import Vocabulary
from wordforest.text.reader import content_hash, find_sources, total_bytes

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


_VERSIONS = ("wordforest", "python")  # which decide what a word is
_CONTENT = "content"  # of the files counted, in the config of counts that a run has made
_STAMPS = "stamps"  # size and time of the files, where a cluster has read them


def counts_for(job: Job, names: list[str], settings: CountSettings, *, mapped: bool = False) -> Counted:
    """Return the counts that a job learns from: those of one counts folder, else of text, which is counted once.

    Text is counted into ``counts`` inside the folder of the job, unless this folder or one beside it has its counts
    already; without a folder it is counted in memory. ``mapped`` leaves counts in their file, where large ones, and
    those for a cluster, stay anyway.
    """
    most, on_cluster = 0 if mapped else kept(job), isinstance(job.executor, Cluster)
    source = Path(names[0]) if len(names) == 1 else None
    if source and store.is_counts_folder(source):
        if job.folder and job.folder.resolve() == source.resolve():
            raise InputError(f"{job.folder}: the counts to read would be replaced. Choose another --out.")
        found = load_counts(source, most, checked=not on_cluster)
        _check_counted_so(source, settings, found.config)
    elif job.folder is None:
        found = count_in_memory(job, names, settings)
    else:
        found = load_counts(_counted(job, names, settings, job.folder / store.COUNTS), most, checked=not on_cluster)
        found = replace(found, config={**found.config, "corpus": names})
    config = {name: value for name, value in found.config.items() if name not in (_CONTENT, _STAMPS)}
    return replace(found, config=config)


def _counted(job: Job, names: list[str], settings: CountSettings, own: Path) -> Path:
    """Return the folder that has the counts of text: one that had them before, else ``own``, counted into now."""
    sources = find_sources(names)
    before = _stamps(sources)
    facts = _facts(job, sources, own)
    if found := next(_same(own, _made_of(names, settings, facts), is_trusted=job.resume), None):
        job.report.say(f"{found}: counts of this text and these settings, so it is not counted again")
        return found
    if store.is_counts_folder(own) and _CONTENT not in store.read_json(own / "config.json"):
        raise InputError(f"{own}: these counts, which no run has made, would be replaced. Choose another --out.")
    with job.inside(own) as part:
        count_into(part, names, settings, lambda: facts if _unchanged(sources, before) else {_CONTENT: None})
    return own


def _facts(job: Job, sources: list[str], own: Path) -> dict[str, Any]:
    """Return what tells one text from another; a run that is resumed asks for what its counts have."""
    is_read_here = not isinstance(job.executor, Cluster)
    if job.resume and store.is_counts_folder(own):
        is_read_here = _STAMPS not in store.read_json(own / "config.json")
    return {_CONTENT: content_hash(sources)} if is_read_here else {_CONTENT: None, _STAMPS: _stamps(sources)}


def _made_of(names: list[str], settings: CountSettings, facts: dict[str, Any]) -> dict[str, Any]:
    named = {} if facts[_CONTENT] else {"corpus": names}
    made_of: dict[str, Any] = json.loads(json.dumps({**asdict(settings), **facts, **named}))
    return made_of


def _same(own: Path, made_of: dict[str, Any], *, is_trusted: bool) -> Iterator[Path]:
    """Yield folders of counts that are made of the same: a run's own, then those beside it.

    Where the text cannot be looked at twice, only a run that is resumed may trust its own.
    """
    beside = own.parent.resolve().parent
    if made_of[_CONTENT] is None:
        places = [own] if is_trusted else []
    else:
        places = [own, beside / store.COUNTS, *sorted(beside.glob(f"*/{store.COUNTS}"))]
    for place in places:
        if not store.is_counts_folder(place) or store.has_checkpoint(place):
            continue
        try:
            config = store.read_json(place / "config.json")
        except InputError:  # damaged, or another run is just removing it
            continue
        same_versions = all(config.get("versions", {}).get(name) == versions()[name] for name in _VERSIONS)
        if same_versions and all(name in config and config[name] == value for name, value in made_of.items()):
            yield place


def _stamps(sources: Iterable[str]) -> list[list[int] | None]:
    """Return size and time of every file, to see whether it changes meanwhile."""
    found = [os.stat(source) if Path(source).is_file() else None for source in sources]  # noqa: PTH116
    return [stat and [stat.st_size, stat.st_mtime_ns] for stat in found]


def _unchanged(sources: list[str], before: list[list[int] | None]) -> bool:
    """Return whether files are as they were; one that lost text since it was first looked at is an error."""
    now = _stamps(sources)
    for source, was, is_now in zip(sources, before, now, strict=True):
        if was and is_now and is_now[0] < was[0]:
            raise InputError(f"{source}: it shrank from {was[0]} to {is_now[0]} bytes meanwhile. Write it again.")
    return now == before


def _check_counted_so(folder: Path, settings: CountSettings, config: dict[str, Any]) -> None:
    """Refuse a setting that counts made earlier cannot follow; a default asks for nothing."""
    for name, value in asdict(settings).items():
        default = CountSettings.__dataclass_fields__[name].default
        counted = config.get(name, default)
        counted = tuple(counted) if isinstance(counted, list) else counted
        if value not in (counted, default):
            raise InputError(
                f"{name} = {value}, by a setting or a preset, but {folder} was counted with {name} = {counted}. "
                "Count again, or ask for what was counted."
            )
