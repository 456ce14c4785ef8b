"""From a corpus and frozen settings to a run of the forest coder: the rooms put in a row."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from dataclasses import replace as changed
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from wordforest import store
from wordforest.coder import kernels
from wordforest.coder.encode import check_learning_fits
from wordforest.coder.entries import EntryState, OnPass, learn_from_entries
from wordforest.coder.entries_device import learn_from_entries_on
from wordforest.coder.forest import Forest
from wordforest.coder.kernels.stream import place_rows
from wordforest.coder.online import Learned, OnlineSettings, OnStep, State, Step, learn_online
from wordforest.coder.penalties import with_lam
from wordforest.coder.shape import in_order
from wordforest.coder.spectral import SpectralStart
from wordforest.coder.tune import lam_for_training
from wordforest.coder.weighted import WeightedState
from wordforest.counts import Counts
from wordforest.counts.association import Allocate
from wordforest.errors import InputError
from wordforest.jobs.checkpoint import history_row
from wordforest.jobs.cluster import codes_in_file, refuse_on_cluster, rows_on_cluster
from wordforest.jobs.count import Corpus, associate, names_of
from wordforest.jobs.job import Job, as_codes, learning, starting, versions
from wordforest.jobs.reuse import counts_for
from wordforest.jobs.weighted import learn_with_weights, pair_weights
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.progress import Event, Reporter
from wordforest.runtime.scratch import arrays_in
from wordforest.runtime.signals import step_by_step
from wordforest.runtime.threads import Threads
from wordforest.settings import CountSettings, TrainSettings, split_settings
from wordforest.store import Run
from wordforest.text import Vocabulary


def train(
    corpus: Corpus,
    *,
    out: str | Path | None = None,
    force: bool = False,
    resume: bool = False,
    workers: int | None = None,
    memory: int | None = None,
    cluster: str | Cluster | None = None,
    report: Reporter | None = None,
    **settings: Any,
) -> Run:
    """Learn forest vectors from text (or from a counts folder) and return the run; ``out`` also writes it.

    Settings are those of ``CountSettings`` and ``TrainSettings``: ``train("corpus.txt", trees=40, min_count=5)``.
    Counts of text stay in ``out/counts``, where further runs into ``out`` or beside it find them. ``resume`` goes on
    with a run that was broken off in ``out``, to the same bits as an unbroken one. ``memory`` is a ceiling in bytes for
    counting, three quarters of what the machine has if left out; where the entries of the learner entries would take
    more than half of it, they lie in unnamed files in ``out``. ``cluster`` is the address of a Dask scheduler,
    ``local:N``, or a ``Cluster``; the result has the same bits.
    """
    count_settings, train_settings = split_settings(settings)
    if cluster is not None:
        refuse_on_cluster(train_settings)
        if out is None:
            raise InputError("learning on a cluster needs a folder that all workers see. Give --out, or out=.")
    kernels.check_device(train_settings.device)
    if train_settings.learner == "online":
        check_learning_fits(1, 1, len(train_settings.forest))  # before hours of counting
    names = names_of(corpus)
    with Job(out, force=force, resume=resume, workers=workers, cluster=cluster, memory=memory, report=report) as job:
        if job.folder and job.is_complete(store.is_run_folder, asdict(train_settings), (None, "auto")):
            return store.load_run(job.folder)
        job.begin({"corpus": names, **asdict(count_settings), **asdict(train_settings)})
        if isinstance(job.executor, Cluster):
            return _train_on_cluster(job, names, count_settings, train_settings, job.executor)
        by_entries = train_settings.learner == "entries"
        allocate = arrays_in(job.folder, job.memory // 2) if by_entries else np.empty
        counted = counts_for(job, names, count_settings, mapped=by_entries)
        counts, count_config = counted.counts, counted.config
        vocabulary, X = counts.vocabulary, _association(counts, train_settings, allocate)
        weights = pair_weights(X, counts, str(train_settings.weights), count_config)
        del counts, counted  # X takes their place in memory
        learn = _learner(train_settings, weights, vocabulary, allocate)
        run = _learn(job, X, vocabulary, train_settings, count_config, partial(learn, executor=job.executor))
        job.save_run(run)
    return run


def _train_on_cluster(
    job: Job, names: list[str], count_settings: CountSettings, settings: TrainSettings, cluster: Cluster
) -> Run:
    """Learn as ``train`` does, with X in the memory of workers. Counts and codes are on storage that they all see."""
    counted = counts_for(job, names, count_settings)
    assert job.folder  # noqa: S101 a cluster needs one
    assert counted.folder  # noqa: S101 and so do its counts
    vocabulary = counted.counts.vocabulary
    X = rows_on_cluster(counted.folder, settings, cluster, job.folder, job.report)
    learn = partial(_online, counts=vocabulary.counts, executor=cluster)
    codes = store.checkpoint_folder(job.folder) / "codes.safetensors"
    run = _learn(job, X, vocabulary, settings, counted.config, learn, partial(codes_in_file, codes))
    job.save_run(run, codes)
    return run


def _association(counts: Counts, settings: TrainSettings, allocate: Allocate) -> sparse.csr_array:
    return associate(counts, settings.measure, settings.smoothing, settings.shift, allocate)


def _learner(
    settings: TrainSettings, weights: Any, vocabulary: Vocabulary, allocate: Allocate
) -> Callable[..., tuple[Learned, Forest, dict[str, Any]]]:
    """Return the learner that the settings ask for."""
    if settings.learner == "entries":
        return partial(_entries, allocate=allocate, weights=weights)
    return (
        partial(learn_with_weights, weights=weights)
        if settings.is_weighted
        else partial(_online, counts=vocabulary.counts)
    )


_ARRAYS: dict[type, tuple[str, ...]] = {
    State: ("D", "A", "AA", "XA", "losses"),
    EntryState: ("D", "A", "eta", "word_squares", "context_squares"),
    WeightedState: ("D", "A", "word_curvatures", "context_curvatures"),
}


def _begun(job: Job, settings: TrainSettings, text: str) -> tuple[Any, list[dict[str, Any]]]:
    """Return the state that an earlier try has left, if any, and its history."""
    found = job.checkpoint.load(text)
    if found is None:
        return None, []
    parts: dict[str, Any] = dict(found[0])
    steps = [Step(**{name: row[name] for name in Step.__dataclass_fields__}) for row in found[1]]
    if settings.learner == "entries":
        return EntryState(**{**parts, "eta": float(parts["eta"][0])}, history=steps), found[1]
    return (WeightedState if settings.is_weighted else State)(**parts, history=steps), found[1]


def _learn(
    job: Job,
    X: Any,
    vocabulary: Vocabulary,
    settings: TrainSettings,
    count_config: dict[str, Any],
    learn: Callable[..., tuple[Learned, Forest, dict[str, Any]]],
    as_sparse: Callable[..., sparse.csr_array] = as_codes,
) -> Run:
    report = job.report
    report(Event("learn", 0, None, "words"))
    if isinstance(X, sparse.csr_array):
        X.data = X.data.astype(settings.dtype, copy=False)
    begun, history = _begun(job, settings, str(count_config.get("fingerprint", "")))
    started = time.monotonic() - (history[-1]["seconds"] if history else 0)

    def on_step(step: Step, state: State | EntryState | WeightedState) -> None:
        history.append(history_row(step, time.monotonic() - started))
        report(learning(step, X.shape[0]))
        if not step.last:
            arrays = {name: getattr(state, name) for name in _ARRAYS[type(state)]}
            job.checkpoint.save({n: np.atleast_1d(a) if n == "eta" else a for n, a in arrays.items()}, history)

    with step_by_step():
        learned, forest, found = learn(X, settings, begun, report, on_step)
    for notice in learned.notices:
        report.say(f"warning: {notice}")
    codes = as_sparse(learned.A, unit=settings.unit)
    return _as_run(vocabulary, (codes, learned.D), forest, {**count_config, **asdict(settings), **found}, history)


def _online(
    X: Any, settings: TrainSettings, begun: Any, report: Reporter, on_step: OnStep,
    *, executor: Threads | Cluster, counts: Any,
) -> tuple[Learned, Forest, dict[str, Any]]:  # fmt: skip
    start, forest = None, settings.forest
    if settings.start and (begun is None or settings.grow):
        report.say(f"starting from {settings.begins_with}")
        begin = settings.start
        if isinstance(begin, SpectralStart):
            begin = changed(begin, on_step=starting(report, X.shape[0]))
        first = begin(X, forest, nonnegative=settings.nonnegative, seed=settings.seed, executor=executor)
        start, forest = first.D, first.forest
    penalty = settings.penalty_over(forest)
    if settings.lam == "auto":
        lam = lam_for_training(
            X, penalty, len(forest), settings.density, settings.seed, executor, nonnegative=settings.nonnegative
        )
        penalty = with_lam(penalty, lam)
        report.say(f"lam = {lam:.4g}, chosen for about {settings.density:.0%} non-zeros")
    weights = (counts / counts.mean()) ** settings.word_power if settings.word_power else None
    learned = learn_online(
        X if settings.device == "cpu" else place_rows(X, settings.device, len(forest)), penalty, len(forest),
        OnlineSettings(
            epochs=settings.epochs or 1, tol=settings.tol or 0.0, seed=settings.seed,
            nonnegative=settings.nonnegative, revive=settings.init != "nested", precision=settings.precision,
        ),
        start=start, weights=weights, resume=begun, executor=executor, on_step=on_step,
    )  # fmt: skip
    learned = changed(learned, D=kernels.on_host(learned.D), A=kernels.on_host(learned.A))
    if learned.revived:
        report.say(f"note: {learned.revived} times a dimension that no word used started anew from a badly coded word.")
    reached = np.count_nonzero(learned.A) / learned.A.size
    if settings.lam == "auto" and not 0.75 < reached / settings.density < 1.25:
        report.say(
            f"warning: {reached:.1%} non-zeros came out. Give --lam by hand, near {penalty.lam:.4g}, to get closer."
        )
    if settings.init == "nested":
        forest, A, D = in_order(forest, learned.A, learned.D, prune=settings.grow)
        learned = changed(learned, A=A, D=D)
    return learned, forest, {"lam": penalty.lam, "gap": learned.gap}


def _entries(
    X: sparse.csr_array, settings: TrainSettings, begun: Any, report: Reporter, on_step: OnPass,
    *, executor: Threads, allocate: Allocate, weights: Any,
) -> tuple[Learned, Forest, dict[str, Any]]:  # fmt: skip
    weights = np.broadcast_to(np.float32(1), X.nnz) if weights is None else weights
    learn = partial(learn_from_entries, allocate=allocate)
    if settings.device != "cpu":
        learn = partial(learn_from_entries_on, settings.device)
    learned = learn(
        X, settings.penalty, len(settings.forest), settings.entries,
        weights=weights, resume=begun, executor=executor, on_step=on_step,
    )  # fmt: skip
    learned = changed(learned, D=kernels.on_host(learned.D), A=kernels.on_host(learned.A))
    seen = learned.history[-1].words_seen
    report(Event("learn", seen, seen, "words"))
    return learned, settings.forest, {"eta": learned.eta}


def _as_run(
    vocabulary: Vocabulary,
    learned: tuple[sparse.csr_array, Any],
    forest: Forest,
    config: dict[str, Any],
    history: list[dict[str, Any]],
) -> Run:
    codes, D = learned
    full = {**config, "versions": versions()}
    return Run(vocabulary.words, vocabulary.counts, codes, D.astype(np.float32, copy=False), forest, full, history)
