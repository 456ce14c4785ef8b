"""From a corpus and frozen settings to a run of the forest coder: the rooms put in a row."""

from __future__ import annotations

import json
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
from wordforest.jobs.checkpoint import Checkpoint, check_complete, history_row
from wordforest.jobs.cluster import codes_in_file, counted, refuse_on_cluster, rows_on_cluster, workers_of
from wordforest.jobs.count import Corpus, associate, names_of, threads, versions
from wordforest.jobs.count_on_cluster import counts_for_run
from wordforest.jobs.job import as_codes, learning, output, replace, starting
from wordforest.jobs.reuse import counts_of, given_counts
from wordforest.jobs.weighted import learn_with_weights, pair_weights
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.memory import three_quarters
from wordforest.runtime.progress import Event, Reporter
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
    report = report or Reporter()
    count_settings, train_settings = split_settings(settings)
    if cluster is not None:
        return _train_on_cluster(
            names_of(corpus), count_settings, train_settings, cluster, out, force=force, resume=resume,
            workers=workers, report=report,
        )  # fmt: skip
    kernels.check_device(train_settings.device)
    if train_settings.learner == "online":
        check_learning_fits(1, 1, len(train_settings.forest))  # before hours of counting
    executor = threads(workers)
    names = names_of(corpus)
    if resume and out is not None and (done := _complete(out, train_settings, report)):
        return done
    with output(out, force or resume, fresh=not resume) as folder:
        begun = {"corpus": names, **asdict(count_settings), **asdict(train_settings)}
        checkpoint = Checkpoint(folder, json.loads(json.dumps(begun)), resume=resume)
        by_entries = train_settings.learner == "entries"
        allocate = store.arrays_in(folder, (memory or three_quarters()) // 2) if by_entries else np.empty
        counts, count_config = counts_of(
            names, count_settings, executor, folder, report, memory=memory, resume=resume, mapped=by_entries
        )
        vocabulary, X = counts.vocabulary, _association(counts, train_settings, allocate)
        weights = pair_weights(X, counts, str(train_settings.weights), count_config)
        del counts  # X takes their place in memory
        learn = _learner(train_settings, weights, vocabulary, allocate)
        run = _learn(X, vocabulary, train_settings, count_config, partial(learn, executor=executor), report, checkpoint)
        if folder:
            replace(folder, force or resume)
            store.save_run(folder, run)
            checkpoint.remove()
            report.say(f"wrote {folder}: {len(run.words)} words, {len(run.forest)} dimensions")
    return run


def _train_on_cluster(
    names: list[str], count_settings: CountSettings, settings: TrainSettings, cluster: str | Cluster,
    out: str | Path | None, *, force: bool, resume: bool, workers: int | None, report: Reporter,
) -> Run:  # fmt: skip
    """Learn as ``train`` does, with X in the memory of workers. Counts and codes are on storage that they all see."""
    refuse_on_cluster(settings)
    if out is None:
        raise InputError("learning on a cluster needs a folder that all workers see. Give --out, or out=.")
    check_learning_fits(1, 1, len(settings.forest))
    if resume and (done := _complete(out, settings, report)):
        return done
    with workers_of(cluster, workers, report) as executor, output(out, force or resume, fresh=not resume) as folder:
        assert folder  # noqa: S101 out was given
        assert isinstance(executor, Cluster)  # noqa: S101 and so was the cluster
        begun = {"corpus": names, **asdict(count_settings), **asdict(settings)}
        checkpoint = Checkpoint(folder, json.loads(json.dumps(begun)), resume=resume)
        source = counts_for_run(names, count_settings, executor, folder, report, resume=resume)
        vocabulary, count_config = counted(source)
        count_config |= {} if given_counts(names, folder) else {"corpus": names}
        X = rows_on_cluster(source, settings, executor, folder, report)
        learn = partial(_online, counts=vocabulary.counts, executor=executor)
        codes = store.checkpoint_folder(folder) / "codes.safetensors"
        run = _learn(X, vocabulary, settings, count_config, learn, report, checkpoint, partial(codes_in_file, codes))
        replace(folder, force or resume)
        store.save_run(folder, run, codes)
        checkpoint.remove()
        report.say(f"wrote {folder}: {len(run.words)} words, {len(run.forest)} dimensions")
    return run


def _complete(out: str | Path, settings: TrainSettings, report: Reporter) -> Run | None:
    """Return the run of a folder, if nothing is left to do there."""
    folder = Path(out)
    if not store.is_run_folder(folder) or store.has_checkpoint(folder):
        return None
    run = store.load_run(folder)
    check_complete(folder, json.loads(json.dumps(asdict(settings))), run.config, (None, "auto"))
    store.remove_checkpoint(folder)
    report.say(f"{out} is complete already")
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


def _state_of(settings: TrainSettings) -> type[State] | type[EntryState] | type[WeightedState]:
    """Return the kind of state that the learner of the settings leaves."""
    if settings.learner == "entries":
        return EntryState
    return WeightedState if settings.is_weighted else State


def _learn(
    X: Any,
    vocabulary: Vocabulary,
    settings: TrainSettings,
    count_config: dict[str, Any],
    learn: Callable[..., tuple[Learned, Forest, dict[str, Any]]],
    report: Reporter,
    checkpoint: Checkpoint,
    as_sparse: Callable[..., sparse.csr_array] = as_codes,
) -> Run:
    report(Event("learn", 0, None, "words"))
    if isinstance(X, sparse.csr_array):
        X.data = X.data.astype(settings.dtype, copy=False)
    begun, history = checkpoint.learning(_state_of(settings), str(count_config.get("fingerprint", "")))
    started = time.monotonic() - (history[-1]["seconds"] if history else 0)

    def on_step(step: Step, state: State | EntryState | WeightedState) -> None:
        history.append(history_row(step, time.monotonic() - started))
        report(learning(step, X.shape[0]))
        if not step.last:
            checkpoint.keep_learning(state, history)

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
