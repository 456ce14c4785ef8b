"""Codes of new words with a dictionary learned before: counts of any text, seen as the run would have seen it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
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
from wordforest.counts.windows import narrow
from wordforest.errors import InputError
from wordforest.execution import Threads
from wordforest.experiment.counting import associate, load_counts, threads, versions
from wordforest.experiment.output import as_codes, output, replace, unit_rows
from wordforest.experiment.weighted import pair_weights
from wordforest.progress import Event, Reporter
from wordforest.settings import AssociationSettings, CountSettings, TrainSettings
from wordforest.store import Run
from wordforest.text import RARE

_SHAPING = ("window", "dynamic_window", "subsample", "mark_sides", "lowercase", "numbers")  # what a pair is


def encode_counts(
    run: str | Path,
    counts: str | Path,
    out: str | Path | None = None,
    *,
    force: bool = False,
    workers: int | None = None,
    report: Reporter | None = None,
) -> Run:
    """Return the codes of all words of a counts folder with the dictionary of a run; ``out`` also writes them.

    Association, penalty and forest are the run's. Contexts are matched by name; those that the run does not know count
    as ``#rare#``, as they would have in its own text, or not at all where it has no such context. X comes from the new
    counts alone. What comes back has no dictionary: its rows would not be named by its words.
    """
    report, executor = report or Reporter(), threads(workers)
    learned, (new, config) = store.load_run(Path(run)), load_counts(Path(counts))
    penalty = _penalty(Path(run), learned)
    _check_alike(Path(counts), config, learned.config)
    with output(out, force) as folder:
        for source in (run, counts):
            if folder and folder.resolve() == Path(source).resolve():
                raise InputError(f"{folder}: what is read would be replaced. Choose another --out.")
        matched, lost = match_contexts(new, learned)
        if lost:
            report.say(
                f"note: {lost} contexts are unknown to {run}: they count as {RARE}, if that is one of its contexts"
            )
        report(Event("encode", 0, None, "words"))
        dtype = str(learned.config.get("dtype", "float32"))
        X = associate(matched, **_of(AssociationSettings, learned.config))
        X.data = X.data.astype(dtype, copy=False)
        A, gap = _codes(X, learned, matched, penalty, executor)
        V = len(new.vocabulary)
        report(Event("encode", V, V, "words"))
        counted = {name: config.get(name) for name in (*asdict(CountSettings()), "corpus", "fingerprint")}
        full = {
            **learned.config, **counted, "gap": None if np.isnan(gap) else gap, "dictionary_of": str(run),
            "dictionary_fingerprint": learned.config.get("fingerprint"), "versions": versions(),
        }  # fmt: skip
        A = A.astype(np.float32, copy=False)
        codes = as_codes(unit_rows(A) if learned.config.get("unit") else A)
        encoded = Run(new.vocabulary.words, new.vocabulary.counts, codes, None, learned.forest, full)
        if folder:
            replace(folder, force)
            store.save_run(folder, encoded)
            report.say(f"wrote {folder}: {V} words, {len(learned.forest)} dimensions")
    return encoded


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
    sides = 2 if run.config.get("mark_sides") else 1
    D = run.dictionary
    n_old, n_new = (0 if D is None else len(D)) // sides, new.matrix.shape[1] // sides
    place = {word: column for column, word in enumerate(run.words[:n_old])}
    pool = place.get(RARE, -1)
    column = np.array([place.get(word, -1) for word in new.vocabulary.words[:n_new]], dtype=np.int32)
    lost = int(np.count_nonzero(column < 0))
    if lost == n_new:
        raise InputError("no context of the counts is known to the run. Count text in the language of the run.")
    column[column < 0] = pool
    lookup = np.concatenate([np.where(column < 0, -1, column + side * n_old) for side in range(sides)])
    return Counts(_moved(new.matrix, lookup, n_old * sides), new.vocabulary, new.fingerprint), lost


def _moved(matrix: Any, lookup: NDArray[np.int64], n_columns: int) -> sparse.csr_array:
    """Return counts with column c at ``lookup[c]``, dropped if negative; what meets is added up."""
    if np.array_equal(lookup, np.arange(n_columns)):
        return sparse.csr_array(matrix)
    columns = lookup[matrix.indices].astype(np.int32)
    kept = columns >= 0
    before = np.concatenate(([0], np.cumsum(kept)))  # kept pairs in front of each pair, and of the end
    parts = (matrix.data[kept].astype(np.int64), columns[kept], before[matrix.indptr])
    moved = sparse.csr_array(parts, shape=(matrix.shape[0], n_columns))
    moved.sum_duplicates()
    moved.data = narrow(moved.data)
    return moved


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
