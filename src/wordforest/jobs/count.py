"""From a corpus to counts and to X, for all that learns from counts.

A text is counted once for many runs: counts lie in the run that made them, and runs beside it find them there, by what
they are made of: the SHA-256 of the files, every setting of counting, and the versions that say what a word is. So text
that has changed, or other settings, never meet old counts.

Text can be added to counts, exactly, if those of all words are kept: pairs of a word that has become ``#rare#`` cannot
be told apart again. So a folder that text may be added to has a folder ``all`` inside, counted without a least count.
Its words are pooled into ``#rare#`` only at the end, by their counts in all the text: a word that crosses the least
count later has all its pairs, from the first text on.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from wordforest import store
from wordforest.counts import Counts, Tally, tally_corpus
from wordforest.counts.association import ONE_THREAD, Allocate, pmi, ppmi
from wordforest.counts.tally import add_counts
from wordforest.errors import InputError
from wordforest.jobs.count_on_cluster import ClusterTally, tally_on_cluster
from wordforest.jobs.job import Job, plain, versions
from wordforest.options import COMPILED, PythonTokenizer, check_known
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.disk import ScratchFiles
from wordforest.runtime.machine import Executor
from wordforest.runtime.progress import Event, Report, Reporter
from wordforest.settings import AssociationSettings, CountSettings
from wordforest.store.files import ALL_WORDS
from wordforest.store.folders import save_counts
from wordforest.text import TextRules, Vocabulary, choose_words
from wordforest.text.corpus import as_corpus
from wordforest.text.phrases import Phrase
from wordforest.text.reader import Corpus, content_hash, tell_columns, total_bytes
from wordforest.text.scripts import warn
from wordforest.text.segment import packages_of

_HELD_OUT = CountSettings(window=10, min_count=1)
_NUMERIC = ("numpy", "scipy", "numba")  # whose versions do not decide what a word is
_CONTENT = "content"  # of the files counted, in the config of counts that a run has made
_SHAPING = (
    "window",
    "dynamic_window",
    "mark_sides",
    "tokenizer",
    "lowercase",
    "numbers",
    "phrases",
)  # what can be added to
_NEW = "new"  # folder inside a checkpoint: counts of all words of the text to add


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
    corpus: Any,
    out: str | Path,
    *,
    slices: Any = None,
    bins: int | str | None = None,
    extendable: bool = False,
    add: str | Path | None = None,
    phrases_of: str | Path | None = None,
    force: bool = False,
    resume: bool = False,
    workers: int | None = None,
    memory: int | str | None = None,
    cluster: str | Cluster | None = None,
    report: Reporter | bool | None = None,
    **settings: Any,
) -> Counts:
    """Count a corpus into a folder that ``train`` takes in place of text; return the counts, ``matrix`` (V, C).

    Settings are those of ``count``, and of text: ``tokenizer``, ``lowercase``, ``numbers``.

    Args:
        corpus: As ``count`` takes it.
        out: The folder.
        extendable: Counts can be added to later.
        add: A folder of extendable counts whose text is counted, too.
        phrases_of: A run or counts whose phrases are joined, instead of those that this text would have.
        force: Overwrite the counts that ``out`` holds.
        resume: Resume counting that was broken off in ``out``, to the same bits as if it had not been.
        workers: Threads; all cores if None. The bits are the same.
        memory: Ceiling for counting in bytes or as ``"8G"``, three quarters of the machine's if None; what goes beyond
            lies in files in ``out`` meanwhile, and counts that would take more than half of it are returned mapped
            from their file.
        cluster: Address of a Dask scheduler, ``local:N``, or a ``Cluster``; its workers read the text, and what is
            returned stays in its file. Workers that die cost no more than their share; a scheduler that dies costs all.
        report: Hears how far it is; False is silent.
        **settings: Such as ``window``, ``min_count``, ``tokenizer``.

    Examples:
        >>> import wordforest as wf
        >>> text = ["the cat eats fish", "the dog eats meat"] * 50
        >>> wf.count_corpus(text, "counts", min_count=2, report=False)
        Counts(6 words x 6 contexts, 22 pairs)
        >>> wf.train("counts", trees=2, report=False).vectors.n_dimensions
        26
    """
    check_known(settings, [*CountSettings.__dataclass_fields__])
    sliced = sliced_documents(corpus, slices, bins)
    corpus = corpus if sliced is None else sliced.corpus
    names, asked = as_read(corpus, CountSettings(**settings))
    extended, add = extendable or add is not None, None if add is None else Path(add)
    known = known_phrases(phrases_of)
    if phrases_of is not None and not known:
        raise InputError(f"{phrases_of} has no phrases. Leave --phrases-of out, or name what was made with --phrases.")
    if known and add is not None:
        raise InputError(f"text is added with the phrases of {add}, if it has any. Leave --phrases-of out.")
    asked = replace(asked, phrases=asked.phrases or bool(known))
    if sliced is not None and add is not None:
        raise InputError("slices of the text before are not known. Count all the text again, with its slices.")
    if extended and cluster is not None:
        raise InputError("--extendable and --add count on one machine. Leave out --cluster.")
    given: Any = {"force": force, "resume": resume, "workers": workers, "cluster": cluster, "memory": memory}
    with Job(out, **given, report=report, is_result=store.is_counts_folder) as job:
        before = corpus_before(add, asked) if extended else []
        is_complete = job.is_complete({"corpus": [*before, *names], **asdict(asked)})
        if is_complete and known and known_phrases(out) != known:
            raise InputError(
                f"{out} is complete, but with other phrases. Use --force to begin again, or another --out."
            )
        if not is_complete and resume and "-" in names:
            raise InputError("standard input cannot be read again to resume. Give a file, or leave --resume out.")
        if extended and not is_complete:
            extend_into(job, names, asked, add, known)
        elif not is_complete:
            count_into(job, names, asked, known=known)
        counts = load_counts(Path(out), kept(job), checked=is_complete).counts
        if sliced is not None:
            _keep_slices(job, sliced, counts.vocabulary, asked)
        if not is_complete:
            job.end(words=len(counts.vocabulary), pairs=counts.matrix.nnz)
    return counts


def sliced_documents(corpus: Any, slices: Any, bins: int | str | None, purpose: str = "count") -> Any:
    """Return documents in slices, where they are asked for; else there must be a corpus."""
    if slices is None:
        if corpus is None:
            raise InputError(f"there is nothing to {purpose}. Give a corpus, or slices: --slice NAME=PATH.")
        if bins is not None:
            raise InputError("bins are of slices. Name them: --slices COLUMN.")
        return None
    from wordforest.jobs.slices import Sliced

    return Sliced(corpus, slices, bins)


def _keep_slices(job: Job, sliced: Any, vocabulary: Vocabulary, asked: CountSettings) -> None:
    from wordforest.jobs.slices import keep_slices, read_beside

    assert job.folder  # noqa: S101 counts lie there
    keep_slices(job.folder, read_beside(job, sliced, vocabulary, asked.rules))


def known_phrases(folder: str | Path | None) -> tuple[Phrase, ...]:
    """Return the phrases of a run or counts; none of no folder."""
    if folder is None:
        return ()
    folder = Path(folder)
    if not (store.is_run_folder(folder) or store.is_counts_folder(folder)):
        raise InputError(f"{folder}: expected a run or counts folder, whose phrases to join. Check the path.")
    return TextRules.of(store.read_config(folder)).known_phrases


def _asked_phrases(known: tuple[Phrase, ...]) -> dict[str, str]:
    """Return what a checkpoint says of phrases that were given: a try is resumed with the same ones alone."""
    return {"phrases_of": hashlib.sha256(repr(known).encode()).hexdigest()} if known else {}


def count_into(
    job: Job,
    names: Corpus,
    settings: CountSettings,
    facts: Callable[[], dict[str, Any]] = dict,
    known: tuple[Phrase, ...] = (),
) -> None:
    """Count text into the folder of a job, with ``known`` phrases joined.

    ``facts`` of the text are asked for at the beginning, where a try is resumed only if they are as they were, and at
    the end, when they are written beside the settings.
    """
    assert job.folder  # noqa: S101 without one counts stay in memory
    resumable = not isinstance(job.executor, Cluster) and "-" not in names
    job.begin({"corpus": names, **asdict(settings), **facts(), **_asked_phrases(known)}, resumable=resumable)
    with closing(ScratchFiles(store.checkpoint_folder(job.folder), job.memory, named=True)) as place:
        tally = _tally(job, names, settings, place, known)
        _save(job.folder, tally, count_config(names, settings, tally) | facts())
    job.checkpoint.remove()


def count_in_memory(job: Job, names: Corpus, settings: CountSettings) -> Counted:
    """Return the counts of text that are written nowhere."""
    with closing(ScratchFiles(None, job.memory)) as place:
        tally = _tally(job, names, settings, place)
        assert isinstance(tally, Tally)  # noqa: S101 a cluster needs a folder
        counts = Counts(tally.matrix(), tally.vocabulary, tally.fingerprint)
    return Counted(counts, count_config(names, settings, tally))


def _tally(
    job: Job, names: Corpus, settings: CountSettings, place: ScratchFiles, known: tuple[Phrase, ...] = ()
) -> Tally | ClusterTally:
    """Count pairs, on one machine into a place, on a cluster into the memory of its workers."""
    rules = replace(settings.rules, known_phrases=known)
    sources = sources_of(names, settings, job.report.say)
    on_progress = reading(total_bytes(sources), job.report)
    if isinstance(job.executor, Cluster):
        if names.file:
            raise InputError("texts of Python cannot be read by the workers of a cluster. Write them to a file.")
        tally: Tally | ClusterTally = tally_on_cluster(
            sources, settings, rules, job.executor, on_progress, notice_of(job)
        )
    else:
        tally = tally_corpus(
            Corpus(sources),
            settings.windows,
            settings.words,
            rules,
            place,
            executor=job.executor,
            on_progress=on_progress,
            notice=notice_of(job),
        )
    if settings.phrases and not known:
        tell_phrases(job, tally.vocabulary)
    return tally


def tell_phrases(job: Job, vocabulary: Vocabulary) -> None:
    """Say how many phrases were found, with the most frequent."""
    n, some = len(vocabulary.phrases), ", ".join(one.word for one in vocabulary.phrases[:5])
    job.report.say(f"{n} phrases, such as {some}" if n else "no words go together often enough to be a phrase")


def notice_of(job: Job) -> Callable[[str], None]:
    """Return what tells a person something: the report of a job, or a warning of Python where nobody listens to it."""
    return warn if type(job.report) is Reporter else lambda notice: job.report.say(f"warning: {notice}")


def load_counts(folder: Path, most: float = np.inf, *, checked: bool = True) -> Counted:
    """Return the counts of a folder, left in their file if they would take more than ``most`` bytes.

    What was just written, or is for workers to look at, need not be ``checked`` here.
    """
    path = folder / "counts.safetensors"
    mapped = path.is_file() and path.stat().st_size > most
    words, totals, matrix, config = store.read_counts(folder, mapped=mapped, checked=checked)
    vocabulary = Vocabulary(words, totals, TextRules.of(config).known_phrases)
    return Counted(Counts(matrix, vocabulary, str(config.get("fingerprint", ""))), config, folder)


def kept(job: Job) -> int:
    """Return how many bytes of counts a job takes into memory; those for a cluster stay in their file."""
    return 0 if isinstance(job.executor, Cluster) else job.memory // 2


def held_out(source: str | Path) -> Counts:
    """Return the window counts of text that was kept from training: of a counts folder, else of text, counted here.

    Text is counted with all its words and ten words on each side: what matters is which words meet.
    """
    if store.is_counts_folder(Path(source)):
        return load_counts(Path(source)).counts
    return count_in_memory(Job(None), *as_read(source, _HELD_OUT)).counts


def associate(
    counts: Counts,
    settings: AssociationSettings,
    allocate: Allocate = np.empty,
    executor: Executor = ONE_THREAD,
) -> sparse.csr_array:
    """Return X (V, C) for the measure chosen, without spelling; it may share index arrays with the counts.

    Those of mapped counts are copied, unless ``allocate`` may put X into files, too: a learner goes through them often.
    """
    smoothing, measure = settings.smoothing, settings.measure
    if measure == "pmi":
        share = counts.matrix.indices.flags.writeable or allocate is not np.empty
        return pmi(counts, smoothing=smoothing, share_pattern=share, allocate=allocate, executor=executor)
    X = ppmi(counts, shift=settings.shift, smoothing=smoothing, allocate=allocate, executor=executor)
    check_any(X.nnz, measure)
    return X


def check_any(n_pairs: int, measure: str) -> None:
    """Refuse an X without a pair."""
    if not n_pairs:
        raise InputError(f"no pair of words has a {measure} above 0. Lower the shift, or give more text.")


def count_config(names: list[str], settings: CountSettings, tally: Tally | ClusterTally) -> dict[str, Any]:
    """Return what a counts folder says of itself."""
    own = {"corpus": names, "fingerprint": tally.fingerprint, "versions": _versions(settings)}
    return {**asdict(settings), **own, "known_phrases": tally.vocabulary.phrases}


def _versions(settings: CountSettings) -> dict[str, str]:
    """Return the versions that counts depend on, with those of packages that split words."""
    return versions(*(() if settings.tokenizer in COMPILED else packages_of(settings.tokenizer)))


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


def as_read(corpus: Any, settings: CountSettings) -> tuple[Corpus, CountSettings]:
    """Return a corpus and how it is read: lists of tokens are split as they are."""
    names = corpus if isinstance(corpus, Corpus) else as_corpus(corpus, settings.text)
    return names, replace(settings, tokenizer="whitespace") if names.tokenised else settings


def sources_of(names: Corpus, settings: CountSettings, notice: Callable[[str], None] = lambda _: None) -> list[str]:
    """Return the files that names stand for; vectors, and folders that wordforest has written, are no text."""
    store.refuse_results(names)
    sources = names.sources(notice)
    if not names.file:
        tell_columns(sources, settings.text, settings.errors, notice)
    return sources


def look_at(names: Corpus, settings: CountSettings) -> None:
    """Refuse a corpus that is not there, before what takes long."""
    if not is_counted(names):
        sources_of(names, settings)


def counted_as(names: Corpus, counting: CountSettings) -> dict[str, Any]:
    """Return the corpus and settings that results say they were counted with: those of a counts folder, or these."""
    if not is_counted(names):
        return {"corpus": names, **asdict(counting)}
    config = store.read_config(Path(names[0]))
    return {name: config[name] for name in ("corpus", *asdict(counting)) if name in config}


def is_counted(names: Corpus) -> bool:
    """Whether a corpus is one folder of counts."""
    return len(names) == 1 and store.is_counts_folder(Path(names[0]))


def counts_for(job: Job, names: Corpus, settings: CountSettings, *, mapped: bool = False) -> Counted:
    """Return the counts that a job learns from: those of one counts folder, else of text, which is counted once.

    Text is counted into ``counts`` inside the folder of the job, unless this folder or one beside it has its counts
    already; without a folder it is counted in memory. ``mapped`` leaves counts in their file, where large ones, and
    those for a cluster, stay anyway.
    """
    most, on_cluster = 0 if mapped else kept(job), isinstance(job.executor, Cluster)
    if is_counted(names):
        source = Path(names[0])
        if job.folder and job.folder.resolve() == source.resolve():
            raise InputError(f"{job.folder}: the counts to read would be replaced. Choose another --out.")
        found = load_counts(source, most, checked=not on_cluster)
        _check_counted_so(source, settings, found.config)
    elif job.folder is None:
        found = count_in_memory(job, names, settings)
    else:
        found = load_counts(_counted(job, names, settings, job.folder / store.COUNTS), most, checked=not on_cluster)
        found = replace(found, config={**found.config, "corpus": names})
    return replace(found, config={name: value for name, value in found.config.items() if name != _CONTENT})


def _counted(job: Job, names: Corpus, settings: CountSettings, own: Path) -> Path:
    """Return the folder that has the counts of text: one that had them before, else ``own``, counted into now."""
    sources = sources_of(names, settings)
    before, content = _stamps(sources), content_hash(sources)
    made_of = {**asdict(settings), _CONTENT: content, **({} if content else {"corpus": names})}
    beside = own.parent.resolve().parent
    places = [own, beside / store.COUNTS, *sorted(beside.glob(f"*/{store.COUNTS}"))]
    if content is None or isinstance(settings.tokenizer, PythonTokenizer):
        # text that cannot be looked at twice, or a function: only a run that is resumed may trust its own counts
        places = [own] if job.resume else []
    for place in places:
        if _is_made_of(place, plain(made_of), _versions(settings)):
            job.report.say(f"{place}: counts of this text and these settings, so it is not counted again")
            return place
    if store.is_counts_folder(own) and _CONTENT not in store.read_json(own / "config.json"):
        raise InputError(f"{own}: these counts, which no run has made, would be replaced. Choose another --out.")
    with job.inside(own) as part:
        count_into(part, names, settings, lambda: {_CONTENT: content if _unchanged(sources, before) else None})
    return own


def _is_made_of(folder: Path, made_of: dict[str, Any], now: dict[str, str]) -> bool:
    """Return whether a folder has whole counts of this text, by these settings and versions."""
    if not store.is_counts_folder(folder) or store.has_checkpoint(folder):
        return False
    try:
        config = store.read_json(folder / "config.json")
    except InputError:  # damaged, or another run is just removing it
        return False
    same_versions = all(config.get("versions", {}).get(name) == now[name] for name in now if name not in _NUMERIC)
    return same_versions and all(name in config and config[name] == value for name, value in made_of.items())


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


def corpus_before(add: Path | None, asked: CountSettings) -> list[str]:
    """Return the corpus of counts that text is to be added to, after checking that it can be."""
    if asked.subsample:
        raise InputError("subsample depends on all the text, so none can be added later. Leave one of the two out.")
    if add is None:
        return []
    if not store.is_counts_folder(add / ALL_WORDS):
        raise InputError(
            f"{add}: text can be added only to counts made with --extendable: the pairs of rare words are needed, "
            "which other counts do not have. Count all the text again, with --extendable."
        )
    config = store.read_json(add / ALL_WORDS / "config.json")
    for name in _SHAPING:
        if config.get(name) != getattr(asked, name):
            raise InputError(
                f"{name} = {getattr(asked, name)}, but {add} was counted with {name} = {config.get(name)}. "
                "Use the same settings to add to it."
            )
    return list(config["corpus"])


def extend_into(
    job: Job, names: Corpus, asked: CountSettings, add: Path | None, known: tuple[Phrase, ...] = ()
) -> None:
    """Count text, add it to the counts of ``add``, and write counts of all words and, pooled, of the vocabulary."""
    assert job.folder  # noqa: S101 counts go there
    if add is not None and job.folder.resolve() == add.resolve():
        raise InputError(f"{job.folder}: the counts to add to would be replaced. Choose another --out.")
    known = known_phrases(add / ALL_WORDS) if add else known
    job.begin({"corpus": names, "add": add and str(add), **asdict(asked), **_asked_phrases(known)})
    checkpoint = store.checkpoint_folder(job.folder)
    everything = replace(asked, min_count=1, max_vocab=None, keep_words=(), max_contexts=None)
    if not store.is_counts_folder(checkpoint / _NEW) or store.has_checkpoint(checkpoint / _NEW):
        with job.inside(checkpoint / _NEW) as part:
            count_into(part, names, everything, known=known)
    parts = [load_counts(checkpoint / _NEW, 0, checked=False).counts]
    if add is not None:
        parts.insert(0, load_counts(add / ALL_WORDS, job.memory // 2).counts)
    corpus = [*corpus_before(add, asked), *names]
    with closing(ScratchFiles(checkpoint, job.memory)) as scratch:
        whole, all_words = _joined(parts, everything, scratch, job), checkpoint / ALL_WORDS
        _save(all_words, whole, count_config(corpus, everything, whole))
        counts = pooled(load_counts(all_words, 0, checked=False).counts, asked, scratch, job)
        _save(job.folder, counts, count_config(corpus, asked, counts), all_words)


def _joined(parts: list[Counts], everything: CountSettings, scratch: ScratchFiles, job: Job) -> Tally:
    """Add up counts of all words of several corpora."""
    totals = Counter[str]()
    for part in parts:
        totals.update(dict(zip(part.vocabulary.words, part.vocabulary.counts.tolist(), strict=True)))
    words = sorted(totals, key=lambda word: (-totals[word], word))
    vocabulary = Vocabulary(words, [totals[word] for word in words], parts[0].vocabulary.phrases)
    rows = [np.array([vocabulary.index[word] for word in part.vocabulary.words], dtype=np.int32) for part in parts]
    prints = [part.fingerprint for part in parts]
    fingerprint = prints[0] if len(prints) == 1 else hashlib.sha256(" ".join(prints).encode()).hexdigest()
    tally = Tally(vocabulary, fingerprint, everything.windows, scratch)
    return add_counts(tally, zip((part.matrix for part in parts), rows, strict=True), job.executor)


def pooled(whole: Counts, settings: CountSettings, scratch: ScratchFiles, job: Job) -> Tally:
    """Return the counts of the vocabulary that the settings choose from counts of all words."""
    own = whole.vocabulary
    vocabulary, rows = choose_words(list(own.words), own.counts, settings.words, phrases=own.phrases)
    tally = Tally(vocabulary, whole.fingerprint, settings.windows, scratch)
    return add_counts(tally, [(whole.matrix, rows)], job.executor)


def _save(folder: Path, tally: Tally | ClusterTally, config: dict[str, Any], all_words: Path | None = None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    save_counts(folder, tally.vocabulary.words, tally.vocabulary.counts, tally, config, all_words=all_words)
