"""From a corpus and frozen settings to a run of the forest coder: the rooms put in a row."""

from __future__ import annotations

import json
import os
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
from wordforest.association import Allocate
from wordforest.coder import kernels
from wordforest.coder.entries import EntryState, OnPass, learn_from_entries
from wordforest.coder.forest import Forest
from wordforest.coder.online import (
    Learned,
    OnlineSettings,
    OnStep,
    State,
    Step,
    check_learning_fits,
    learn_online,
)
from wordforest.coder.penalties import with_lam
from wordforest.coder.shape import in_order
from wordforest.coder.tune import lam_for_training
from wordforest.counts import Counts
from wordforest.execution import Threads
from wordforest.experiment.counting import Corpus, associate, load_or_count, names_of, threads, versions
from wordforest.experiment.output import as_codes, learning, output, replace
from wordforest.interrupts import step_by_step
from wordforest.progress import Event, Reporter
from wordforest.resume import Checkpoint, check_complete, history_row
from wordforest.settings import TrainSettings, split_settings
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
    report: Reporter | None = None,
    **settings: Any,
) -> Run:
    """Learn forest vectors from text (or from a counts folder) and return the run; ``out`` also writes it.

    Settings are those of ``CountSettings`` and ``TrainSettings``: ``train("corpus.txt", n_trees=40, min_count=5)``.
    ``resume`` goes on with a run that was broken off in ``out``, to the same bits as an unbroken one. ``memory`` is a
    ceiling in bytes, three quarters of what the machine has if left out: where the entries of the learner entries would
    take more than half of it, they lie in unnamed files in ``out``.
    """
    report = report or Reporter()
    count_settings, train_settings = split_settings(settings)
    kernels.check_device(train_settings.device)
    if train_settings.learner == "online":
        check_learning_fits(1, 1, len(train_settings.forest))  # before hours of counting
    executor = threads(workers)
    names = names_of(corpus)
    if resume and out is not None and store.is_run_folder(Path(out)) and not store.has_checkpoint(Path(out)):
        run = store.load_run(Path(out))
        check_complete(Path(out), json.loads(json.dumps(asdict(train_settings))), run.config)
        store.remove_checkpoint(Path(out))
        report.say(f"{out} is complete already")
        return run
    with output(out, force or resume, fresh=not resume) as folder:
        begun = {"corpus": names, **asdict(count_settings), **asdict(train_settings)}
        checkpoint = Checkpoint(folder, json.loads(json.dumps(begun)), resume=resume)
        by_entries = train_settings.learner == "entries"
        allocate = store.arrays_in(folder, (memory or _three_quarters()) // 2) if by_entries else np.empty
        counts, count_config = checkpoint.counts(mapped=by_entries) or load_or_count(
            names, count_settings, executor, folder, report, mapped=by_entries
        )
        if not store.is_counts_folder(Path(names[0])):
            checkpoint.keep_counts(counts, count_config)
        vocabulary, X = counts.vocabulary, _association(counts, train_settings, allocate)
        del counts  # X takes their place in memory
        learn = partial(_entries, allocate=allocate) if by_entries else partial(_online, counts=vocabulary.counts)
        run = _learn(X, vocabulary, train_settings, count_config, partial(learn, executor=executor), report, checkpoint)
        if folder:
            replace(folder, force or resume)
            store.save_run(folder, run)
            checkpoint.remove()
            report.say(f"wrote {folder}: {len(run.words)} words, {len(run.forest)} dimensions")
    return run


def _association(counts: Counts, settings: TrainSettings, allocate: Allocate) -> sparse.csr_array:
    return associate(counts, settings.measure, settings.smoothing, settings.shift, allocate)


def _three_quarters() -> int:
    """Return three quarters of the memory of this machine, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 4


def _learn(
    X: sparse.csr_array,
    vocabulary: Vocabulary,
    settings: TrainSettings,
    count_config: dict[str, Any],
    learn: Callable[..., tuple[Learned, Forest, dict[str, Any]]],
    report: Reporter,
    checkpoint: Checkpoint,
) -> Run:
    report(Event("learn", 0, None, "words"))
    X.data = X.data.astype(settings.dtype, copy=False)
    kind = State if settings.learner == "online" else EntryState
    begun, history = checkpoint.learning(kind, str(count_config.get("fingerprint", "")))
    started = time.monotonic() - (history[-1]["seconds"] if history else 0)

    def on_step(step: Step, state: State | EntryState) -> None:
        history.append(history_row(step, time.monotonic() - started))
        report(learning(step, X.shape[0]))
        if not step.last:
            checkpoint.keep_learning(state, history)

    with step_by_step():
        learned, forest, found = learn(X, settings, begun, report, on_step)
    for notice in learned.notices:
        report.say(f"warning: {notice}")
    return _as_run(vocabulary, learned, forest, {**count_config, **asdict(settings), **found}, history)


def _online(
    X: sparse.csr_array, settings: TrainSettings, begun: Any, report: Reporter, on_step: OnStep,
    *, executor: Threads, counts: Any,
) -> tuple[Learned, Forest, dict[str, Any]]:  # fmt: skip
    start, forest = None, settings.forest
    if settings.start and (begun is None or settings.grow):
        report.say("starting from clusters of words" if settings.init == "nested" else "starting from words")
        first = settings.start(X, forest, nonnegative=settings.nonnegative, seed=settings.seed, executor=executor)
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
        X if settings.device == "cpu" else kernels.DeviceRows.put(X, settings.device), penalty, len(forest),
        OnlineSettings(
            epochs=settings.epochs or 1, tol=settings.tol or 0.0, seed=settings.seed,
            nonnegative=settings.nonnegative, revive=settings.init != "nested",
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
    *, executor: Threads, allocate: Allocate,
) -> tuple[Learned, Forest, dict[str, Any]]:  # fmt: skip
    weights = np.broadcast_to(np.float32(1), X.nnz) if settings.weights == "none" else None
    learned = learn_from_entries(
        X, settings.penalty, len(settings.forest), settings.entries,
        weights=weights, resume=begun, executor=executor, on_step=on_step, allocate=allocate,
    )  # fmt: skip
    seen = learned.history[-1].words_seen
    report(Event("learn", seen, seen, "words"))
    return learned, settings.forest, {"eta": learned.eta}


def _as_run(
    vocabulary: Vocabulary,
    learned: Learned,
    forest: Forest,
    config: dict[str, Any],
    history: list[dict[str, Any]],
) -> Run:
    codes = as_codes(learned.A.astype(np.float32, copy=False))
    full = {**config, "versions": versions()}
    D = learned.D.astype(np.float32, copy=False)
    return Run(vocabulary.words, vocabulary.counts, codes, D, forest, full, history)
