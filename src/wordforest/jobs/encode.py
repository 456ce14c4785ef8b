"""Codes of new words with a dictionary learned before: counts of any text, seen as the run would have seen it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest import store
from wordforest.coder.encode import encode
from wordforest.coder.losses import Loss
from wordforest.coder.penalties import L1, NonNegativeL1, Penalty
from wordforest.coder.weighted import encode_weighted
from wordforest.counts import Counts
from wordforest.counts.joining import move_columns
from wordforest.errors import InputError
from wordforest.jobs import cluster as clustered
from wordforest.jobs.count import associate, load_counts
from wordforest.jobs.job import Job, as_codes, versions
from wordforest.jobs.weighted import pair_weights
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.progress import Event, Reporter
from wordforest.runtime.threads import Threads
from wordforest.settings import AssociationSettings, CountSettings, TrainSettings
from wordforest.store import Run
from wordforest.store.tensors import map_csr
from wordforest.text import RARE, Vocabulary

_SHAPING = ("window", "dynamic_window", "subsample", "mark_sides", "lowercase", "numbers")  # what a pair is


@dataclass(frozen=True, eq=False)
class _Encoded:
    """Codes of the words of a counts folder, (V, M), with the file that they lie in where workers wrote one."""

    vocabulary: Vocabulary
    config: dict[str, Any]  # of the counts
    codes: sparse.csr_array
    gap: float
    file: Path | None = None


def encode_counts(
    run: str | Path,
    counts: str | Path,
    out: str | Path | None = None,
    *,
    force: bool = False,
    workers: int | None = None,
    cluster: str | Cluster | None = None,
    report: Reporter | None = None,
) -> Run:
    """Return the codes of all words of a counts folder with the dictionary of a run; ``out`` also writes them.

    Association, penalty and forest are the run's. Contexts are matched by name; those that the run does not know count
    as ``#rare#``, as they would have in its own text, or not at all where it has no such context. X comes from the new
    counts alone. What comes back has no dictionary: its rows would not be named by its words. ``cluster`` is the
    address of a Dask scheduler, ``local:N``, or a ``Cluster``, whose workers see ``counts`` and ``out``.
    """
    learned = store.load_run(Path(run))
    penalty = _penalty(Path(run), learned)
    if cluster is not None:
        _refuse_on_cluster(Path(run), learned, out)
    with Job(out, force=force, workers=workers, cluster=cluster, report=report) as job:
        for source in (run, counts):
            if job.folder and job.folder.resolve() == Path(source).resolve():
                raise InputError(f"{job.folder}: what is read would be replaced. Choose another --out.")
        with store.workplace(job.folder) if job.folder and cluster is not None else nullcontext(Path()) as place:
            if isinstance(job.executor, Cluster):
                found = _on_cluster(Path(run), Path(counts), learned, penalty, job.executor, place, job.report)
            else:
                found = _here(Path(run), Path(counts), learned, penalty, job.executor, job.report)
            V = len(found.vocabulary)
            job.report(Event("encode", V, V, "words"))
            encoded = _as_run(str(run), learned, found)
            job.save_run(encoded, found.file)
    return encoded


def _here(run: Path, counts: Path, learned: Run, penalty: Penalty, executor: Threads, report: Reporter) -> _Encoded:
    loaded = load_counts(counts)
    new, config = loaded.counts, loaded.config
    _check_alike(counts, config, learned.config)
    matched, lost = match_contexts(new, learned)
    _tell_lost(run, lost, report)
    dtype = str(learned.config.get("dtype", "float32"))
    X = associate(matched, **_of(AssociationSettings, learned.config))
    X.data = X.data.astype(dtype, copy=False)
    A, gap = _codes(X, learned, matched, penalty, executor)
    return _Encoded(new.vocabulary, config, as_codes(A, unit=bool(learned.config.get("unit"))), gap)


def _on_cluster(
    run: Path, counts: Path, learned: Run, penalty: Penalty, cluster: Cluster, place: Path, report: Reporter
) -> _Encoded:
    loaded = load_counts(counts, 0, checked=False)
    vocabulary, config = loaded.counts.vocabulary, loaded.config
    _check_alike(counts, config, learned.config)
    columns, lost = _columns(vocabulary, learned, loaded.counts.matrix.shape[1])
    _tell_lost(run, lost, report)
    assert learned.dictionary is not None  # noqa: S101 or there would be no penalty
    D = learned.dictionary.astype(str(learned.config.get("dtype", "float32")))
    done = 0

    def on_words(n: int) -> None:
        nonlocal done
        done += n
        report(Event("encode", done, len(vocabulary), "words"))

    codes, file = clustered.encode_counts(
        counts, D, penalty, AssociationSettings(**_of(AssociationSettings, learned.config)), cluster, place,
        moves=clustered.Moves(columns, len(D)), unit=bool(learned.config.get("unit")), on_words=on_words,
    )  # fmt: skip
    return _Encoded(vocabulary, config, map_csr(file), codes.gap, file)


def _as_run(run: str, learned: Run, found: _Encoded) -> Run:
    counted = {name: found.config.get(name) for name in (*asdict(CountSettings()), "corpus", "fingerprint")}
    full = {
        **learned.config, **counted, "gap": None if np.isnan(found.gap) else found.gap, "dictionary_of": run,
        "dictionary_fingerprint": learned.config.get("fingerprint"), "versions": versions(),
    }  # fmt: skip
    return Run(found.vocabulary.words, found.vocabulary.counts, found.codes, None, learned.forest, full)


def _tell_lost(run: Path, lost: int, report: Reporter) -> None:
    if lost:
        report.say(f"note: {lost} contexts are unknown to {run}: they count as {RARE}, if that is one of its contexts")
    report(Event("encode", 0, None, "words"))


def _refuse_on_cluster(run: Path, learned: Run, out: str | Path | None) -> None:
    if out is None:
        raise InputError("coding on a cluster needs a folder that all workers see. Give --out, or out=.")
    if learned.config["learner"] == "online" and TrainSettings(**_of(TrainSettings, learned.config)).is_weighted:
        raise InputError(f"{run} was learned with weights; on a cluster all pairs count alike. Leave out --cluster.")


def _codes(
    X: sparse.csr_array, run: Run, counts: Counts, penalty: Penalty, executor: Threads
) -> tuple[NDArray[Any], float]:
    """Return the codes of the rows of X under the loss of a run, and their gap, NaN where pairs have weights."""
    assert run.dictionary is not None  # noqa: S101 or there would be no penalty
    D, kind, zeros = run.dictionary.astype(X.dtype), run.config.get("weights", "none"), run.config.get("zeros", 1.0)
    if run.config["learner"] != "online" or (kind == "none" and zeros == 1):
        codes = encode(X, D, penalty, executor=executor)
        return np.asarray(codes.A), codes.gap
    loss = Loss(pair_weights(X, counts, kind, run.config), zeros)
    return np.asarray(encode_weighted(X, loss, D, penalty, executor=executor)), float("nan")


def match_contexts(new: Counts, run: Run) -> tuple[Counts, int]:
    """Return the counts with the contexts of a run for columns, (V, C of the run), and how many it did not know."""
    columns, lost = _columns(new.vocabulary, run, new.matrix.shape[1])
    n = 0 if run.dictionary is None else len(run.dictionary)
    return Counts(move_columns(new.matrix, columns, n), new.vocabulary, new.fingerprint), lost


def _columns(vocabulary: Vocabulary, run: Run, n_columns: int) -> tuple[NDArray[np.int64], int]:
    """Return where every column of counts is among the contexts of a run, or -1, and how many it does not know."""
    sides = 2 if run.config.get("mark_sides") else 1
    n_old, n_new = (0 if run.dictionary is None else len(run.dictionary)) // sides, n_columns // sides
    place = {word: column for column, word in enumerate(run.words[:n_old])}
    pool = place.get(RARE, -1)
    column = np.array([place.get(word, -1) for word in vocabulary.words[:n_new]], dtype=np.int64)
    lost = int(np.count_nonzero(column < 0))
    if lost == n_new:
        raise InputError("no context of the counts is known to the run. Count text in the language of the run.")
    column[column < 0] = pool
    return np.concatenate([np.where(column < 0, -1, column + side * n_old) for side in range(sides)]), lost


def _penalty(folder: Path, run: Run) -> Penalty:
    """Return the penalty that the codes of a run were made with."""
    learner = run.config.get("learner")
    if run.dictionary is None or learner not in ("online", "sc", "nnse"):
        has = "no dictionary" if run.dictionary is None else f"a dictionary of {learner}"
        raise InputError(
            f"{folder} has {has}, but new words can be coded only with one of train (learner online), or of the "
            "baselines sc and nnse. Choose another run."
        )
    if learner != "online":
        return (L1 if learner == "sc" else NonNegativeL1)(run.config["lam"])
    return TrainSettings(**_of(TrainSettings, run.config)).penalty_over(run.forest)


def _check_alike(counts: Path, config: Mapping[str, Any], learned: Mapping[str, Any]) -> None:
    for name in _SHAPING:
        if config.get(name) != learned.get(name):
            raise InputError(
                f"{name} = {config.get(name)} in {counts}, but the run was made with {name} = {learned.get(name)}, so "
                "their pairs are not alike. Count the text with the settings of the run."
            )


def _of(settings: Any, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a config belongs to these settings; JSON has lists where they have tuples."""
    known = {name: config[name] for name in settings.__dataclass_fields__ if name in config}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in known.items()}
