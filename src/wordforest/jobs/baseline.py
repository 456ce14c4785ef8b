"""The competitors of the paper on the same corpus, window and vocabulary: each gives a run that all commands read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.baselines.language_model import LearningProgress
from wordforest.baselines.nce import NceSettings, learn_nce
from wordforest.baselines.rnn import RnnSettings, learn_rnn
from wordforest.baselines.sparse_coding import SparseCodingSettings
from wordforest.baselines.svd import SvdSettings, hellinger_pca, pca
from wordforest.baselines.word2vec import Word2VecSettings, learn_word2vec
from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.jobs.count import Corpus, Counted, associate, names_of
from wordforest.jobs.job import Job, as_codes, versions
from wordforest.jobs.reuse import counts_for
from wordforest.jobs.rows import Matrix, Weighting, rows_of_counts
from wordforest.jobs.sentences import Sentences, read_sentences
from wordforest.jobs.train import learn_in_job
from wordforest.options import check_known
from wordforest.runtime.gpu import check_device
from wordforest.runtime.memory import check_room
from wordforest.runtime.progress import Event, Reporter
from wordforest.runtime.threads import Threads
from wordforest.settings import AssociationSettings, CountSettings
from wordforest.store import Run

TEXT = ("min_count", "max_vocab", "keep_words", "tokenizer", "lowercase", "numbers", "errors")
COUNTING = (*CountSettings.__dataclass_fields__,)
ASSOCIATION = (*AssociationSettings.__dataclass_fields__,)


@dataclass(frozen=True)
class Method:
    """How a baseline learns: its settings, what of them its name fixes, and what it learns from."""

    settings: Any  # a frozen dataclass
    fixed: dict[str, Any] = field(default_factory=dict)
    from_counts: bool = False
    associates: bool = False  # learns from X, not from the counts themselves
    packages: tuple[str, ...] = ()
    device: bool = False  # can run on a GPU

    @property
    def own(self) -> list[str]:
        """Names of the settings that are its own."""
        fields: dict[str, Any] = self.settings.__dataclass_fields__
        return [name for name in fields if name not in self.fixed]

    @property
    def known(self) -> list[str]:
        """Names of all settings it takes."""
        shared = COUNTING if self.from_counts else TEXT
        return [*dict.fromkeys([*self.own, *(ASSOCIATION if self.associates else ()), *shared])]


_W2V, _GENSIM = Word2VecSettings, ("gensim",)
METHODS = {
    "pca": Method(SvdSettings, from_counts=True, associates=True),
    "sc": Method(SparseCodingSettings, {"nonnegative": False}, from_counts=True, associates=True, device=True),
    "nnse": Method(SparseCodingSettings, {"nonnegative": True}, from_counts=True, associates=True, device=True),
    "hpca": Method(SvdSettings, from_counts=True),
    "cbow": Method(_W2V, {"skip_gram": False, "hierarchical": False}, packages=_GENSIM),
    "sg": Method(_W2V, {"skip_gram": True, "hierarchical": False}, packages=_GENSIM),
    "cbow-hs": Method(_W2V, {"skip_gram": False, "hierarchical": True}, packages=_GENSIM),
    "sg-hs": Method(_W2V, {"skip_gram": True, "hierarchical": True}, packages=_GENSIM),
    "nce": Method(NceSettings),
    "rnn": Method(RnnSettings, packages=("torch",), device=True),
}


@dataclass(frozen=True, eq=False)
class _Result:
    matrix: NDArray[np.float32]  # (V, M)
    dictionary: NDArray[np.float32] | None = None
    history: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)


def baseline(
    name: str,
    corpus: Corpus,
    *,
    out: str | Path | None = None,
    force: bool = False,
    workers: int | None = None,
    memory: int | None = None,
    resume: bool = False,
    device: str = "cpu",
    report: Reporter | None = None,
    **settings: Any,
) -> Run:
    """Learn the vectors of a baseline and return the run; ``out`` also writes it.

    ``name`` is one of ``METHODS``: pca sc nnse hpca (from text or a counts folder), cbow sg cbow-hs sg-hs nce rnn
    (from text). Settings are those of the method and of ``CountSettings``:
    ``baseline("pca", "corpus.txt", dimensions=52)``. Those from counts keep and find them as ``train`` does, and count
    within ``memory`` bytes.
    """
    method = _method(name, device, memory)
    own, counting, association = _split(name, method, settings)
    names = names_of(corpus)
    with Job(out, force=force, resume=resume, workers=workers, memory=memory, report=report) as job:
        if method.from_counts:
            if isinstance(own, SparseCodingSettings):
                job.begin({"learner": name, "corpus": names, **asdict(own), **asdict(counting), **asdict(association)})
            counted = counts_for(job, names, counting)
            config, vocabulary = counted.config, counted.counts.vocabulary
            result = _from_counts(job, name, counted, own, association, device)
        else:
            sentences, config = read_sentences(job, names, counting)
            result = _from_sentences(name, sentences, own, job.threads, device, job.folder, job.report)
            vocabulary = sentences.vocabulary
        config = {
            **config,
            **(asdict(association) if method.associates else {}),
            **asdict(own),
            **result.facts,
            "learner": name,
            "device": device,
            "versions": versions(*method.packages),
        }
        forest = Forest.flat(result.matrix.shape[1])
        codes = as_codes(result.matrix)
        run = Run(vocabulary.words, vocabulary.counts, codes, result.dictionary, forest, config, result.history)
        job.save_run(run)
    return run


def _method(name: str, device: str, memory: int | None) -> Method:
    if name not in METHODS:
        raise InputError(f"no baseline is called {name!r}. Choose one of {', '.join(METHODS)}.")
    if device != "cpu" and not METHODS[name].device:
        raise InputError(f"{name} runs on the CPU only, but device = {device}. Leave --device out.")
    if memory is not None and not METHODS[name].from_counts:
        raise InputError(f"{name} reads text in order and counts no pairs: memory is no setting of it. Leave it out.")
    check_device(device, f"the device cuda of {name}", "baselines")
    return METHODS[name]


def _split(name: str, method: Method, settings: dict[str, Any]) -> tuple[Any, CountSettings, AssociationSettings]:
    """Give each setting to the part it belongs to; a window belongs to the method where it does not count."""
    try:
        check_known(settings, method.known)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    shared = COUNTING if method.from_counts else TEXT
    return (
        method.settings(**{k: v for k, v in settings.items() if k in method.own}, **method.fixed),
        CountSettings(**{k: v for k, v in settings.items() if k in shared and k not in method.own}),
        AssociationSettings(**{k: v for k, v in settings.items() if k in ASSOCIATION}),
    )


def _from_counts(
    job: Job, name: str, counted: Counted, own: Any, association: AssociationSettings, device: str
) -> _Result:
    if isinstance(own, SparseCodingSettings):
        matrix = Matrix(association, Weighting(), own.dimensions, device=device)
        rows, _ = rows_of_counts(job, counted, matrix)
        fitted, history = learn_in_job(job, rows, own.plan, counted.counts.fingerprint)
        return _Result(fitted.A, fitted.D, history, fitted.learned.facts)
    job.report(Event("learn", 0, None, "words"))
    counts = counted.counts
    hpca = name == "hpca"
    found = hellinger_pca(counts.matrix, own) if hpca else pca(associate(counts, **asdict(association)), own)
    job.report(Event("learn", len(counts.vocabulary), len(counts.vocabulary), "words"))
    return _Result(found.words, found.contexts if name == "pca" else None, [], {"values": found.values.tolist()})


def _from_sentences(
    name: str, text: Sentences, own: Any, executor: Threads, device: str, folder: Path | None, report: Reporter
) -> _Result:
    n_words, M = len(text.vocabulary), own.dimensions
    check_room(f"{M:,} dimensions for {n_words:,} words", 8.0 * M * n_words)  # vectors of words and of contexts
    learn: Callable[[Callable[..., None]], _Result]
    if name == "nce":
        learn = partial(_nce, text, own, executor)
    elif name == "rnn":
        learn = partial(_rnn, text, own, device)
    else:
        learn = partial(_word2vec, text, own, executor, folder)
    total = text.n_tokens * own.epochs

    def tell(done: float, of: float = total, **facts: float) -> None:
        report(Event("learn", done, of, "tokens", facts))

    tell(0)
    result = learn(tell)
    tell(total)
    return result


def _word2vec(
    text: Sentences, own: Word2VecSettings, executor: Threads, folder: Path | None, tell: Callable[..., None]
) -> _Result:
    total = text.n_tokens * own.epochs
    vectors = learn_word2vec(
        text.ids, len(text.vocabulary), own, workers=executor.n_workers, spool_folder=folder,
        on_progress=lambda share: tell(share * total),
    )  # fmt: skip
    return _Result(vectors, facts={"workers": executor.n_workers})


def _nce(text: Sentences, own: NceSettings, executor: Threads, tell: Callable[..., None]) -> _Result:
    def on_step(step: LearningProgress) -> None:
        tell(step.tokens, step.total, loss=step.loss)

    learned = learn_nce(text.ids, text.vocabulary.counts, own, executor=executor, on_step=on_step)
    return _Result(learned.vectors, history=learned.history)


def _rnn(text: Sentences, own: RnnSettings, device: str, tell: Callable[..., None]) -> _Result:
    def on_step(step: LearningProgress) -> None:
        tell(step.tokens, step.total, loss=step.loss)

    learned = learn_rnn(text.ids, text.vocabulary.counts, own, device=device, on_step=on_step)
    facts = {"perplexity": learned.history[-1]["perplexity"]}
    return _Result(learned.vectors, history=learned.history, facts=facts)
