"""From a corpus and frozen settings to a run: the rooms put in a row."""

from __future__ import annotations

import json
import platform
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest import store
from wordforest.association import pmi, ppmi, sppmi
from wordforest.coder.online import Learned, OnlineSettings, State, Step, learn_online
from wordforest.coder.penalties import with_lam
from wordforest.coder.tune import lam_for_training
from wordforest.counts import Counts, count
from wordforest.errors import InputError
from wordforest.execution import Threads
from wordforest.progress import Event, Report, Reporter
from wordforest.resume import Checkpoint, history_row
from wordforest.settings import CountSettings, TrainSettings, at_least, check_known, split_settings
from wordforest.store import Run
from wordforest.text import Vocabulary
from wordforest.text.reader import find_sources, total_bytes

Corpus = str | Path | Iterable[str | Path]


def train(
    corpus: Corpus,
    *,
    out: str | Path | None = None,
    force: bool = False,
    resume: bool = False,
    workers: int | None = None,
    report: Reporter | None = None,
    **settings: Any,
) -> Run:
    """Learn forest vectors from text (or from a counts folder) and return the run; ``out`` also writes it.

    Settings are those of ``CountSettings`` and ``TrainSettings``: ``train("corpus.txt", n_trees=40, min_count=5)``.
    ``resume`` goes on with a run that was broken off in ``out``, to the same bits as an unbroken one.
    """
    report = report or Reporter()
    count_settings, train_settings = split_settings(settings)
    executor = _threads(workers)
    names = _names(corpus)
    if resume and out is not None and store.is_run_folder(Path(out)) and not store.has_checkpoint(Path(out)):
        report.say(f"{out} is complete already")
        return store.load_run(Path(out))
    with _output(out, force or resume) as folder:
        begun = {"corpus": names, **asdict(count_settings), **asdict(train_settings)}
        checkpoint = Checkpoint(folder, json.loads(json.dumps(begun)), resume=resume)
        counts, count_config = checkpoint.counts() or _load_or_count(names, count_settings, executor, folder, report)
        if not store.is_counts_folder(Path(names[0])):
            checkpoint.keep_counts(counts, count_config)
        vocabulary, X = counts.vocabulary, associate(counts, train_settings)
        del counts  # X takes their place in memory
        run = _learn(X, vocabulary, train_settings, count_config, executor, report, checkpoint)
        if folder:
            _replace(folder, force or resume)
            store.save_run(folder, run)
            checkpoint.remove()
            report.say(f"wrote {folder}: {len(run.words)} words, {len(run.forest)} dimensions")
    return run


def count_corpus(
    corpus: Corpus,
    out: str | Path,
    *,
    force: bool = False,
    workers: int | None = None,
    report: Reporter | None = None,
    **settings: Any,
) -> Counts:
    """Count a corpus into a folder that ``train`` takes in place of text. Settings are those of ``CountSettings``."""
    report = report or Reporter()
    check_known(settings, [*CountSettings.__dataclass_fields__])
    count_settings = CountSettings(**settings)
    executor = _threads(workers)
    with _output(out, force) as folder:
        assert folder  # noqa: S101 out was given
        counts, config = _count(_names(corpus), count_settings, executor, folder, report)
        _replace(folder, force)
        store.save_counts(folder, counts.vocabulary.words, counts.vocabulary.counts, counts.matrix, config)
        report.say(f"wrote {folder}: {len(counts.vocabulary)} words, {counts.matrix.nnz} pairs")
    return counts


def associate(counts: Counts, settings: TrainSettings) -> sparse.csr_array:
    """Return X (V, C) for the measure chosen; it may share index arrays with the counts."""
    if settings.measure == "pmi":
        return pmi(counts, smoothing=settings.smoothing, share_pattern=True)
    if settings.measure == "ppmi":
        X = ppmi(counts, smoothing=settings.smoothing)
    else:
        X = sppmi(counts, shift=settings.shift, smoothing=settings.smoothing)
    if not X.nnz:
        raise InputError(f"no pair of words has a {settings.measure} above 0. Lower the shift, or give more text.")
    return X


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    packages = ("wordforest", "numpy", "scipy", "numba")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def _load_or_count(
    names: list[str], settings: CountSettings, executor: Threads, folder: Path | None, report: Report
) -> tuple[Counts, dict[str, Any]]:
    """Return counts and their settings: of one counts folder, else of text."""
    source = Path(names[0]) if len(names) == 1 else None
    if source is None or not store.is_counts_folder(source):
        return _count(names, settings, executor, folder, report)
    if folder and folder.resolve() == source.resolve():
        raise InputError(f"{folder}: the counts to read would be replaced. Choose another --out.")
    words, totals, matrix, config = store.load_counts(source)
    _check_counted_so(source, settings, config)
    return Counts(matrix, Vocabulary(words, totals), str(config.get("fingerprint", ""))), config


def _count(
    names: list[str], settings: CountSettings, executor: Threads, folder: Path | None, report: Report
) -> tuple[Counts, dict[str, Any]]:
    sources = find_sources(names)
    size = total_bytes(sources)

    def on_progress(stage: str, tokens: int, of: int) -> None:
        if stage == "read":  # its end is known only when counting begins
            report(Event("read", tokens, tokens / min(of / size, 0.999) if size and of else None, "tokens"))
            return
        if tokens == 0:
            report(Event("read", of, of, "tokens"))
        report(Event("count", tokens, of, "tokens"))

    report(Event("read", 0, None, "tokens"))
    counts = count(
        sources, window=settings.window, min_count=settings.min_count, max_vocab=settings.max_vocab,
        rules=settings.rules, executor=executor, spool_folder=folder, on_progress=on_progress,
    )  # fmt: skip
    return counts, {
        **asdict(settings), "corpus": names, "fingerprint": counts.fingerprint, "versions": versions(),
    }  # fmt: skip


def _check_counted_so(folder: Path, settings: CountSettings, config: dict[str, Any]) -> None:
    """Refuse a setting that counts made earlier cannot follow; a default asks for nothing."""
    for name, value in asdict(settings).items():
        counted = config.get(name, value)
        if value not in (counted, CountSettings.__dataclass_fields__[name].default):
            raise InputError(
                f"{name} = {value}, but {folder} was counted with {name} = {counted}. "
                "Count again, or leave the setting out."
            )


def _learn(
    X: sparse.csr_array,
    vocabulary: Vocabulary,
    settings: TrainSettings,
    count_config: dict[str, Any],
    executor: Threads,
    report: Reporter,
    checkpoint: Checkpoint,
) -> Run:
    report(Event("learn", 0, None, "words"))
    X.data = X.data.astype(settings.dtype, copy=False)
    begun, history = checkpoint.learning()
    started = time.monotonic() - (history[-1]["seconds"] if history else 0)

    def on_step(step: Step, state: State) -> None:
        history.append(history_row(step, time.monotonic() - started))
        report(_learning(step, X.shape[0]))
        if not step.last:
            checkpoint.keep_learning(state, history)

    penalty = settings.penalty
    if settings.lam == "auto":
        lam = lam_for_training(X, penalty, len(settings.forest), settings.density, settings.seed, executor)
        penalty = with_lam(penalty, lam)
        report.say(f"lam = {lam:.4g} for about {settings.density:.0%} non-zeros")
    learned = learn_online(
        X, penalty, len(settings.forest),
        OnlineSettings(epochs=settings.epochs, tol=settings.tol, seed=settings.seed),
        resume=begun, executor=executor, on_step=on_step,
    )  # fmt: skip
    if learned.revived:
        report.say(f"note: {learned.revived} times a dimension that no word used started anew from a badly coded word.")
    for notice in learned.notices:
        report.say(f"warning: {notice}")
    config = {**count_config, **asdict(settings), "lam": penalty.lam}
    return _as_run(vocabulary, learned, settings, config, history)


def _as_run(
    vocabulary: Vocabulary,
    learned: Learned,
    settings: TrainSettings,
    config: dict[str, Any],
    history: list[dict[str, Any]],
) -> Run:
    codes = _sparse(learned.A.astype(np.float32, copy=False))
    full = {**config, "learner": "online", "gap": learned.gap, "versions": versions()}
    D = learned.D.astype(np.float32, copy=False)
    return Run(vocabulary.words, vocabulary.counts, codes, D, settings.forest, full, history)


def _sparse(A: NDArray[np.float32]) -> sparse.csr_array:
    """Return codes as CSR; SciPy's own way needs four times the memory of A in between."""
    used = A != 0
    indptr = np.concatenate(([0], np.cumsum(np.count_nonzero(used, axis=1))))
    indices = np.broadcast_to(np.arange(A.shape[1], dtype=np.int32), A.shape)[used]
    return sparse.csr_array((A[used], indices, indptr), shape=A.shape)


def _learning(step: Step, n_words: int) -> Event:
    total = -(-step.words_seen // n_words) * n_words + n_words  # this pass and the last, exact one
    total = step.words_seen if step.last else total
    return Event("learn", step.words_seen, total, "words", {"objective": step.objective, "density": step.nonzeros})


def _names(corpus: Corpus) -> list[str]:
    return [str(corpus)] if isinstance(corpus, str | Path) else [str(name) for name in corpus]


@contextmanager
def _output(out: str | Path | None, force: bool) -> Iterator[Path | None]:
    """Yield a folder that may be written to. What it holds stays until there is something to replace it.

    Folders made here go away again if nothing comes of them.
    """
    if out is None:
        yield None
        return
    folder = Path(out)
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    if not (force and folder.is_dir()):
        store.prepare_folder(folder, force=force)
    try:
        tempfile.TemporaryFile(dir=folder).close()  # a folder without rights fails now, not after hours
        yield folder
    except BaseException:
        store.drop_empty_checkpoint(folder)
        with suppress(OSError):  # not empty
            for path in made:
                path.rmdir()
        raise


def _replace(folder: Path, force: bool) -> None:
    if force:
        store.remove_results(folder)


def _threads(workers: int | None) -> Threads:
    at_least("workers", 1 if workers is None else workers, 1)
    return Threads(workers)
