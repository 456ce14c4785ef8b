"""The competitors of the paper on the same corpus, window and vocabulary: each gives a run that all commands read."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest import store
from wordforest.baselines.nce import NceSettings, learn_nce
from wordforest.baselines.rnn import RnnSettings, learn_rnn
from wordforest.baselines.sparse_coding import SparseCodingSettings
from wordforest.baselines.svd import SvdSettings, hellinger_pca, pca
from wordforest.baselines.word2vec import Word2VecSettings, learn_word2vec
from wordforest.coder.forest import Forest
from wordforest.counts.tally import with_phrases
from wordforest.errors import InputError
from wordforest.jobs.count import (
    Counted,
    as_read,
    associate,
    counted_as,
    counts_for,
    look_at,
    notice_of,
    reading,
    sources_of,
    tell_phrases,
)
from wordforest.jobs.job import Job, versions
from wordforest.jobs.rows import Matrix, as_codes, rows_of_counts, spelled, with_spelling
from wordforest.jobs.train import learn_in_job
from wordforest.options import FROM_COUNTS, OPTIONS, check_known
from wordforest.runtime.disk import ScratchFiles
from wordforest.runtime.machine import check_device, check_room
from wordforest.runtime.progress import Event, Reporter
from wordforest.settings import AssociationSettings, CountSettings
from wordforest.store import Run
from wordforest.text import Vocabulary, choose_words, read_tokens
from wordforest.text.reader import Corpus, total_bytes

_PIECE = 1 << 22  # ids renumbered at a time


@dataclass(frozen=True, eq=False)
class Sentences:
    """``ids`` are rows of the vocabulary, on disk, -1 between sentences; ``config`` is how they were read."""

    ids: NDArray[np.int32]
    vocabulary: Vocabulary
    config: dict[str, Any]

    @property
    def n_tokens(self) -> int:
        """Number of tokens, sentence borders not counted."""
        return int(self.vocabulary.counts.sum())


@dataclass(frozen=True, eq=False)
class _Result:
    matrix: NDArray[np.float32]  # (V, M)
    dictionary: NDArray[np.float32] | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Method:
    """How a baseline learns: a function of a job, counts or sentences, its own settings, and what X is to be."""

    learn: Callable[[Job, Any, Any, Matrix], _Result]
    settings: Any  # a frozen dataclass
    fixed: dict[str, Any] = field(default_factory=dict)  # settings that its name stands for
    packages: tuple[str, ...] = ()


def baseline(
    name: str,
    corpus: Any,
    *,
    out: str | Path | None = None,
    force: bool = False,
    workers: int | None = None,
    memory: int | str | None = None,
    resume: bool = False,
    device: str = "cpu",
    report: Reporter | bool | None = None,
    **settings: Any,
) -> Run:
    """Learn the vectors of a baseline and return the run; ``out`` also writes it.

    ``name`` is one of pca sc nnse hpca (from text or a counts folder), cbow sg cbow-hs sg-hs nce rnn (from text).
    Settings are those of the method and of ``count``. Those from counts keep and find them as ``train`` does, and count
    within ``memory`` bytes. ``workers``, ``resume`` and ``report`` are those of ``train``.

    Examples:
        >>> import wordforest as wf
        >>> text = ["the cat eats fish", "the dog eats meat", "a train goes to rome"] * 50
        >>> run = wf.baseline("pca", text, dimensions=3, min_count=2, report=False)
        >>> run.vectors
        Vectors(11 words, 3 dimensions, forest=Forest(3 nodes, 3 trees, depth 1))
    """
    _check(name, device, memory)
    method = METHODS[name]
    own, counting, association = _split(name, settings)
    asked = {"learner": name, **asdict(own), **(asdict(association) if name in OPTIONS["measure"].takers else {})}
    names, counting = as_read(corpus, counting)
    with Job(out, force=force, resume=resume, workers=workers, memory=memory, report=report) as job:
        if job.folder and job.is_complete({**counted_as(names, counting), **asked}):
            return store.load_run(job.folder)
        job.begin({"corpus": names, **asdict(counting), **asked})
        if device != "cpu":
            look_at(names, counting)
            check_device(device, f"the device cuda of {name}", "baselines")
        read = counts_for if name in FROM_COUNTS else read_sentences
        source: Counted | Sentences = read(job, names, counting)
        vocabulary, V, M = source.vocabulary, len(source.vocabulary), own.dimensions
        check_room(f"{M:,} dimensions for {V:,} words", 8.0 * M * V)  # vectors of words and of contexts
        total, unit = (source.n_tokens * own.epochs, "tokens") if isinstance(source, Sentences) else (V, "words")
        job.report(Event("learn", 0, None, unit))
        spelling, ngrams = spelled(vocabulary.words, association)
        result = method.learn(job, source, own, Matrix(association, M, device=device, spelling=spelling))
        job.report(Event("learn", total, total, unit))
        config = {**source.config, **asked, **result.facts, "device": device, "versions": versions(*method.packages)}
        forest, codes = Forest.flat(result.matrix.shape[1]), as_codes(result.matrix)
        D, history = result.dictionary, result.history
        run = Run(vocabulary.words, vocabulary.counts, codes, D, forest, config, history, ngrams=ngrams)
        job.save_run(run)
    return run


def _check(name: str, device: str, memory: int | str | None) -> None:
    if name not in METHODS:
        raise InputError(f"no baseline is called {name!r}. Choose one of {', '.join(METHODS)}.")
    if device != "cpu" and name not in OPTIONS["device"].takers:
        raise InputError(f"{name} runs on the CPU only, but device = {device}. Leave --device out.")
    if memory is not None and name not in OPTIONS["memory"].takers:
        raise InputError(f"{name} reads text in order and counts no pairs: memory is no setting of it. Leave it out.")


def _split(name: str, settings: dict[str, Any]) -> tuple[Any, CountSettings, AssociationSettings]:
    """Give each setting to the part it belongs to; a window belongs to the method where it does not count."""
    method = METHODS[name]
    own = [one.name for one in fields(method.settings) if one.name not in method.fixed]
    counting, association = (
        [one.name for one in fields(part) if name in OPTIONS[one.name].takers and one.name not in own]
        for part in (CountSettings, AssociationSettings)
    )
    try:
        check_known(settings, [*own, *association, *counting])
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    return (
        method.settings(**{k: v for k, v in settings.items() if k in own}, **method.fixed),
        CountSettings(**{k: v for k, v in settings.items() if k in counting}),
        AssociationSettings(**{k: v for k, v in settings.items() if k in association}),
    )


def read_sentences(job: Job, names: Corpus, settings: CountSettings) -> Sentences:
    """Return the text as rows of its vocabulary."""
    if len(names) == 1 and store.is_counts_folder(Path(names[0])):
        raise InputError(f"{names[0]}: this baseline reads sentences, but counts have none. Give the text itself.")
    sources = sources_of(names, settings, job.report.say)
    on_progress = reading(total_bytes(sources), job.report)
    tokens = read_tokens(
        Corpus(sources),
        settings.rules,
        executor=job.executor,
        scratch_folder=job.folder,
        on_progress=lambda *at: on_progress("read", *at),
        notice=notice_of(job),
    )
    job.report(Event("read", tokens.n_tokens, tokens.n_tokens, "tokens"))
    place = ScratchFiles(job.folder, job.memory)
    tokens, phrases = with_phrases(tokens, settings.words, settings.rules, place, job.executor)
    vocabulary, rows = choose_words(tokens.words, tokens.counts, settings.words, phrases=phrases)
    if settings.phrases:
        tell_phrases(job, vocabulary)
    lookup = np.append(rows, np.int32(-1))  # a sentence border, -1, finds the last
    with tempfile.TemporaryFile(dir=job.folder) as spool:  # the ids mapped from it outlive the handle
        for start in range(0, len(tokens.ids), _PIECE):
            spool.write(lookup[tokens.ids[start : start + _PIECE]].tobytes())
        spool.flush()
        ids = np.memmap(spool, dtype=np.int32, mode="r")
    rules = {**asdict(settings.words), **asdict(settings.rules), "known_phrases": phrases}
    config = {**rules, "corpus": names, "fingerprint": tokens.fingerprint}
    return Sentences(ids, vocabulary, config)


def _pca(_: Job, counted: Counted, own: SvdSettings, X: Matrix) -> _Result:
    found = pca(with_spelling(associate(counted.counts, X.association), X), own)
    return _Result(found.words, found.contexts, facts={"values": found.values.tolist()})


def _hpca(_: Job, counted: Counted, own: SvdSettings, __: Matrix) -> _Result:
    found = hellinger_pca(counted.counts.matrix, own)
    return _Result(found.words, facts={"values": found.values.tolist()})


def _sparse_codes(job: Job, counted: Counted, own: SparseCodingSettings, X: Matrix) -> _Result:
    rows, _ = rows_of_counts(job, counted, X)
    fitted, history = learn_in_job(job, rows, own.plan, counted.counts.fingerprint)
    return _Result(fitted.A, fitted.D, history, fitted.learned.facts)


def _word2vec(job: Job, text: Sentences, own: Word2VecSettings, _: Matrix) -> _Result:
    total, n_workers = text.n_tokens * own.epochs, job.threads.n_workers
    vectors = learn_word2vec(
        text.ids,
        len(text.vocabulary),
        own,
        workers=n_workers,
        spool_folder=job.folder,
        on_progress=lambda share: job.report(Event("learn", share * total, total, "tokens")),
    )
    return _Result(vectors, facts={"workers": n_workers})


def _nce(job: Job, text: Sentences, own: NceSettings, _: Matrix) -> _Result:
    learned = learn_nce(text.ids, text.vocabulary.counts, own, executor=job.threads, report=job.report)
    return _Result(learned.vectors, history=learned.history)


def _rnn(job: Job, text: Sentences, own: RnnSettings, X: Matrix) -> _Result:
    learned = learn_rnn(text.ids, text.vocabulary.counts, own, device=X.device, report=job.report)
    facts = {"perplexity": learned.history[-1]["perplexity"]}
    return _Result(learned.vectors, history=learned.history, facts=facts)


_GENSIM = ("gensim",)
METHODS = {
    "pca": Method(_pca, SvdSettings),
    "sc": Method(_sparse_codes, SparseCodingSettings, {"nonnegative": False}),
    "nnse": Method(_sparse_codes, SparseCodingSettings, {"nonnegative": True}),
    "hpca": Method(_hpca, SvdSettings),
    "cbow": Method(_word2vec, Word2VecSettings, {"skip_gram": False, "hierarchical": False}, _GENSIM),
    "sg": Method(_word2vec, Word2VecSettings, {"skip_gram": True, "hierarchical": False}, _GENSIM),
    "cbow-hs": Method(_word2vec, Word2VecSettings, {"skip_gram": False, "hierarchical": True}, _GENSIM),
    "sg-hs": Method(_word2vec, Word2VecSettings, {"skip_gram": True, "hierarchical": True}, _GENSIM),
    "nce": Method(_nce, NceSettings),
    "rnn": Method(_rnn, RnnSettings, packages=("torch",)),
}
