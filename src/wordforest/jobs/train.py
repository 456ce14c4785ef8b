"""From a corpus and frozen settings to a run of the forest coder: the rooms put in a row."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest import store
from wordforest.coder.clusters import keys_of
from wordforest.coder.fit import Fitted, Plan, fit, start_named
from wordforest.coder.forest import Forest
from wordforest.coder.learn import State, Step, check_learning_fits, progress_of
from wordforest.coder.rows import Rows
from wordforest.coder.rows.base import Loss
from wordforest.coder.stability import node_stability
from wordforest.errors import InputError
from wordforest.jobs.count import as_read, counted_as, counts_for, is_counted, look_at, sliced_documents
from wordforest.jobs.job import Job, history_row, versions
from wordforest.jobs.rows import Matrix, as_codes, at_once, rows_of_counts, spelled
from wordforest.options import default
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.disk import arrays_in
from wordforest.runtime.machine import wake_device
from wordforest.runtime.progress import Event, Reporter, step_by_step
from wordforest.settings import CountSettings, TrainSettings, split_settings
from wordforest.store import Run
from wordforest.text import TextRules, Vocabulary
from wordforest.text.reader import Corpus


def train(
    corpus: Any = None,
    *,
    slices: Any = None,
    bins: int | str | None = None,
    out: str | Path | None = None,
    force: bool = False,
    resume: bool = False,
    workers: int | None = None,
    memory: int | str | None = None,
    cluster: str | Cluster | None = None,
    report: Reporter | bool | None = None,
    **settings: Any,
) -> Run:
    """Learn forest vectors from text (or from a counts folder) and return the run; ``out`` also writes it.

    The run has codes (V, M), a dictionary (C, M), the forest of M nodes and ``vectors``. Settings are those of the
    command: ``train("corpus.txt", trees=40, min_count=5)``.

    Args:
        corpus: A path (or several), texts, lists of tokens, or a frame or column of texts; or a counts folder.
        out: A folder for the run. Counts of text stay in ``out/counts``, where further runs into ``out`` or beside it
            find them.
        force: Overwrite the run that ``out`` holds.
        resume: Continue a run that was broken off in ``out``, to the same bits as an unbroken one.
        workers: Threads; all cores if None. The bits are the same.
        memory: Ceiling for counting in bytes or as ``"8G"``, three quarters of what the machine has if None; where the
            entries of the learner entries would take more than half of it, they lie in unnamed files in ``out``.
        cluster: Address of a Dask scheduler, ``local:N``, or a ``Cluster``; the result has the same bits.
        report: Hears how far it is; False is silent.
        **settings: Such as ``trees``, ``branching``, ``lam``, ``window``, ``min_count``, ``preset``; see the commands
            ``count`` and ``train``.

    Examples:
        >>> import wordforest as wf
        >>> text = ["the cat eats fish", "the dog eats meat", "a train goes to rome"] * 50
        >>> run = wf.train(text, trees=2, branching=(2,), min_count=2, report=False)
        >>> run
        Run(11 words, Forest(6 nodes, 2 trees, depth 2))
        >>> run.vectors.n_dimensions
        6
    """
    counting, own = split_settings(settings)
    forest = own.forest
    sliced = sliced_documents(corpus, slices, bins, "learn from")
    if sliced is not None and out is None:
        raise InputError("slices are kept in the folder of the run. Give out=, or slices to wf.compare.")
    corpus = corpus if sliced is None else sliced.corpus
    if cluster is not None:
        _check_cluster(own, out)
    check_learning_fits(len(forest))  # before hours of counting
    names, counting = as_read(corpus, counting)
    with Job(out, force=force, resume=resume, workers=workers, cluster=cluster, memory=memory, report=report) as job:
        if job.folder and job.is_complete({**counted_as(names, counting), **asdict(own)}, (None, "auto")):
            run = store.load_run(job.folder)
            if sliced is not None and not store.has_slices(job.folder):  # it was broken off at the very end
                vocabulary = Vocabulary(run.words, run.counts, TextRules.of(run.config).known_phrases)
                _keep_slices(job, names, _read_slices(job, names, sliced, vocabulary, counting))
            return run
        job.begin({"corpus": names, **asdict(counting), **asdict(own)})
        awake = _woken(names, counting, own.device)
        counted = counts_for(job, names, counting, mapped=own.learner == "entries")
        vocabulary, config = counted.counts.vocabulary, counted.config
        slices_read = _read_slices(job, names, sliced, vocabulary, counting)
        spelling, ngrams = spelled(vocabulary.words, own)
        matrix = replace(_matrix(job, own, len(forest), spelling), awake=awake)
        rows, loss = rows_of_counts(job, counted, matrix)
        del counted  # X takes the place of the counts in memory
        plan = _plan(own, forest, loss, rows, vocabulary, matrix)
        fitted, history = learn_in_job(job, rows, plan, str(config.get("fingerprint", "")))
        nodes = _nodes(job, rows, plan, fitted, own)
        found = {"lam": fitted.penalty.lam, "density": own.wanted_density, **fitted.learned.facts}
        found["preset"] = settings.get("preset", default("preset"))  # what its settings are stands beside it
        config = {**config, **asdict(own), **found, "versions": versions()}
        codes, file = _sparse(job, fitted, unit=own.unit)
        D = fitted.D.astype(np.float32, copy=False)
        words, numbers, forest = vocabulary.words, vocabulary.counts, fitted.forest
        run = Run(words, numbers, codes, D, forest, config, history, nodes=nodes, ngrams=ngrams)
        job.save_run(run, file)
        _keep_slices(job, names, slices_read)
    return run


def _read_slices(job: Job, names: Corpus, sliced: Any, vocabulary: Vocabulary, counting: CountSettings) -> Any:
    """Return the words of every slice, where they are asked for: mistakes are told before hours of learning."""
    if sliced is None:
        return None
    if is_counted(names):
        raise InputError(
            "slices are read with the text. Count it so: wordforest count CORPUS --slices COLUMN --out COUNTS"
        )
    from wordforest.jobs.slices import read_beside

    return read_beside(job, sliced, vocabulary, counting.rules)


def _keep_slices(job: Job, names: Corpus, slices: Any) -> None:
    """Keep the words of every slice beside the run, or those that its counts came with."""
    if job.folder is None or (slices is None and not is_counted(names)):
        return
    from wordforest.jobs.slices import keep_slices, take_slices

    if slices is None:
        take_slices(Path(names[0]), job.folder)
    else:
        keep_slices(job.folder, slices)


def _woken(names: Corpus, counting: CountSettings, device: str) -> Callable[[], None]:
    """Return what waits until a device can be used; where there is text to count, it can be used already.

    What is wrong with the corpus is told before PyTorch is imported, which takes seconds, and what is wrong with the
    device before text is counted, which takes minutes.
    """
    if device == "cpu":
        return at_once
    look_at(names, counting)
    awake = wake_device(device)
    if not is_counted(names):
        awake()
    return awake


def _check_cluster(settings: TrainSettings, out: str | Path | None) -> None:
    """Refuse what one machine alone can do."""
    if settings.learner != "online" or settings.device != "cpu":
        raise InputError(
            f"learner = {settings.learner} and device = {settings.device}, but a cluster learns online, on processors. "
            "Leave out --learner and --device, or --cluster."
        )
    if out is None:
        raise InputError("learning on a cluster needs a folder that all workers see. Give --out, or out=.")


def _matrix(job: Job, settings: TrainSettings, n_components: int, spelling: sparse.csr_array | None) -> Matrix:
    return Matrix(
        settings,
        n_components,
        str(settings.weights),
        float(settings.zeros or 0),
        settings.dtype,
        settings.device,
        spelling=spelling,
        allocate=arrays_in(job.folder, job.memory // 2) if settings.learner == "entries" else np.empty,
    )


def _nodes(job: Job, rows: Rows, plan: Plan, fitted: Fitted, settings: TrainSettings) -> dict[str, NDArray[Any]]:
    """Return what is known of the nodes of an additive forest, (M,) each: the share of words that use it, stability."""
    if not settings.additive:
        return {}
    nodes = {"use": np.round(np.count_nonzero(fitted.A, axis=0) / len(fitted.A), 6)}
    if settings.stability:
        job.report.say("learning again from either half of the words, to see how stable every node is")
        nodes["stability"] = np.round(node_stability(rows, plan, fitted), 4)
    return nodes


def _plan(
    settings: TrainSettings, forest: Forest, loss: Loss, rows: Rows, vocabulary: Vocabulary, matrix: Matrix
) -> Plan:
    own = {"entries": ("eta", "tau", "sampling"), "additive": ()}.get(settings.kind, ("tol_of",))
    if settings.learner == "entries" and loss.weights is None:
        loss = Loss(np.broadcast_to(rows.like.dtype.type(1), rows.pairs().nnz), loss.zeros)  # None would be |x|
    return Plan(
        forest,
        settings.penalty_over,
        settings.learner,
        auto_lam=settings.lam == "auto",
        density=settings.wanted_density,
        start=start_named(settings.init, grow=settings.grow, spectrum=settings.spectrum),
        nonnegative=settings.nonnegative,
        loss=loss,
        word_weights=(vocabulary.counts / vocabulary.counts.mean()) ** settings.word_power
        if settings.word_power
        else None,
        seed=settings.seed,
        settings={name: getattr(settings, name) for name in ("epochs", "tol", *own)},
        allocate=matrix.allocate,
        additive=settings.additive,
        keys=keys_of(vocabulary.words) if settings.additive else None,
    )


def learn_in_job(
    job: Job, rows: Rows, plan: Plan, text: str = "", unit: str = "words"
) -> tuple[Fitted, list[dict[str, Any]]]:
    """Fit a plan with the progress, the checkpoint and the messages of a job; return also the history as written.

    ``text`` is the fingerprint of what is learned from, ``unit`` what the rows are.
    """
    report, n_words, begun_with = job.report, rows.shape[0], 0
    report(Event("learn", 0, None, unit))
    begun = job.checkpoint.load(text)
    history: list[dict[str, Any]] = begun[1] if begun else []
    started = time.monotonic() - (history[-1]["seconds"] if history else 0)
    steps = [Step(**{name: row[name] for name in Step.__dataclass_fields__}) for row in history]

    def on_step(step: Step, state: State) -> None:
        history.append(history_row(step, time.monotonic() - started))
        report(progress_of(step, n_words, unit))
        if not step.last:
            job.checkpoint.save(state.arrays, history)

    def on_start(n: int) -> None:
        nonlocal begun_with
        begun_with += n
        report(Event("start", begun_with, None, unit))

    with step_by_step():
        resume = State(dict(begun[0]), steps) if begun else None
        fitted = fit(rows, plan, resume=resume, on_step=on_step, on_start=on_start, say=report.say)
    for notice in fitted.learned.notices:
        report.say(f"warning: {notice}")
    for note in fitted.notes:
        report.say(note)
    if not (end := fitted.learned.history[-1]).last:  # the last step has reported the end
        report(Event("learn", end.words_seen, end.words_seen, unit))
    return fitted, history


def _sparse(job: Job, fitted: Fitted, *, unit: bool) -> tuple[sparse.csr_array, Path | None]:
    """Return the codes as a sparse matrix, in a file where they come from a cluster: they may be beyond memory."""
    if job.folder and isinstance(job.executor, Cluster):
        file = store.checkpoint_folder(job.folder) / "codes.safetensors"
        return as_codes(fitted.A, unit=unit, file=file), file
    return as_codes(fitted.A, unit=unit, executor=job.executor), None
