"""Codes of new words with a dictionary learned before: counts of any text, seen as the run would have seen it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest import store
from wordforest.coder.additive import encode_additive
from wordforest.coder.coding import encode
from wordforest.coder.kernels import on_host
from wordforest.coder.penalties import L1, NonNegativeL1, Penalty, forest_penalty
from wordforest.coder.rows import Rows
from wordforest.coder.rows.base import Loss
from wordforest.coder.weighted import encode_weighted
from wordforest.counts.spelling import spell_as
from wordforest.errors import InputError
from wordforest.jobs.count import load_counts
from wordforest.jobs.job import Job, versions
from wordforest.jobs.rows import Matrix, as_codes, rows_of_counts
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.machine import check_device
from wordforest.runtime.progress import Event, Reporter
from wordforest.settings import AssociationSettings, CountSettings
from wordforest.store import Run
from wordforest.text import RARE, TextRules, Vocabulary

_SHAPING = ("window", "dynamic_window", "subsample", "mark_sides", "lowercase", "numbers")  # what a pair is


def encode_counts(
    run: str | Path,
    counts: str | Path,
    out: str | Path | None = None,
    *,
    force: bool = False,
    workers: int | None = None,
    cluster: str | Cluster | None = None,
    device: str = "cpu",
    report: Reporter | bool | None = None,
) -> Run:
    """Return the codes (V, M) of all words of a counts folder with the dictionary of a run; ``out`` also writes them.

    Association, weights, penalty and forest are the run's. Contexts are matched by name; those that the run does not
    know count as ``#rare#``, as they would have in its own text, or not at all where it has no such context. X comes
    from the new counts alone, and from the spelling of the words where the run has n-grams. What comes back has no
    dictionary: its rows would not be named by its words. ``cluster`` is the address of a Dask scheduler, ``local:N``,
    or a ``Cluster``, whose workers see ``counts`` and ``out``.

    Examples:
        >>> import wordforest as wf
        >>> text, more = ["the cat eats fish", "the dog eats meat"], ["the horse eats grass"]
        >>> _ = wf.train(text, trees=2, min_count=1, out="run", report=False)
        >>> _ = wf.count_corpus(more, "counts", min_count=1, report=False)
        >>> "horse" in wf.encode_counts("run", "counts", report=False).vectors
        True
    """
    learned = store.load_run(Path(run))
    penalty = penalty_of(Path(run), learned)
    if cluster is not None and out is None:
        raise InputError("coding on a cluster needs a folder that all workers see. Give --out, or out=.")
    with Job(out, force=force, workers=workers, cluster=cluster, report=report) as job:
        for source in (run, counts):
            if job.folder and job.folder.resolve() == Path(source).resolve():
                raise InputError(f"{job.folder}: what is read would be replaced. Choose another --out.")
        on_cluster = isinstance(job.executor, Cluster)
        counted = load_counts(Path(counts), 0 if on_cluster else np.inf, checked=not on_cluster)
        _check_alike(Path(counts), counted.config, learned.config)
        _check_phrases(Path(counts), Path(run), counted.config, learned.config)
        check_device(device)
        vocabulary, n_columns = counted.counts.vocabulary, counted.counts.matrix.shape[1]
        moves, lost = _moves(vocabulary, learned, n_columns)
        if lost:
            job.report.say(
                f"note: {lost} contexts are unknown to {run}: they count as {RARE}, if that is one of its contexts"
            )
        job.report(Event("encode", 0, None, "words"))
        rows, loss = rows_of_counts(job, counted, _matrix(learned, moves, device, vocabulary.words))
        A, gap = codes_of(rows, loss, learned, penalty)
        job.report(Event("encode", len(vocabulary), len(vocabulary), "words"))
        unit = bool(learned.config.get("unit"))
        config = _config(str(run), learned, counted.config, gap)
        with store.workplace(job.folder) if job.folder and on_cluster else nullcontext(Path()) as place:
            file = place / "codes.safetensors" if on_cluster else None
            codes = as_codes(A, unit=unit, file=file)
            words, numbers = vocabulary.words, vocabulary.counts
            encoded = Run(
                words, numbers, codes, None, learned.forest, config, labels=learned.labels, nodes=learned.nodes
            )
            job.save_run(encoded, file)
    return encoded


def _matrix(run: Run, moves: sparse.csr_array | None, device: str, words: tuple[str, ...]) -> Matrix:
    """Return what X was for a run."""
    config = run.config
    weights, zeros = "none", 1.0
    if config["learner"] == "online":
        weights, zeros = str(config.get("weights", "none")), float(config.get("zeros", 1.0))
    known = {name: config[name] for name in AssociationSettings.__dataclass_fields__ if name in config}
    dtype = str(config.get("dtype", "float32"))
    settings = AssociationSettings(**known)
    spelling = spell_as(words, run.ngrams, run.words, settings.spelling) if run.ngrams else None
    return Matrix(settings, len(run.forest), weights, zeros, dtype, device, moves, spelling)


def codes_of(rows: Rows, loss: Loss, run: Run, penalty: Penalty) -> tuple[NDArray[Any], float]:
    """Return the codes of all rows under the loss of a run, and their gap, NaN where pairs have weights."""
    assert run.dictionary is not None  # noqa: S101 or there would be no penalty
    D = run.dictionary.astype(rows.dtype)
    if not loss.is_plain:
        return np.asarray(on_host(encode_weighted(rows, loss, D, penalty))), float("nan")
    if run.config.get("additive"):
        codes = encode_additive(rows, D, run.forest, penalty.lam)
    else:
        codes = encode(rows, D, penalty)
    return np.asarray(on_host(codes.A)), codes.gap


def _config(run: str, learned: Run, counted: Mapping[str, Any], gap: float) -> dict[str, Any]:
    own = {name: counted.get(name) for name in (*asdict(CountSettings()), "corpus", "fingerprint")}
    return {
        **learned.config,
        **own,
        "gap": None if np.isnan(gap) else gap,
        "dictionary_of": run,
        "dictionary_fingerprint": learned.config.get("fingerprint"),
        "versions": versions(),
    }


def _moves(vocabulary: Vocabulary, run: Run, n_columns: int) -> tuple[sparse.csr_array | None, int]:
    """Return what counts are multiplied by to have the contexts of a run, and how many it lacks; None if none move."""
    assert run.dictionary is not None  # noqa: S101 or there would be no penalty
    sides = 2 if run.config.get("mark_sides") else 1
    n_old, n_new = (len(run.dictionary) - len(run.ngrams)) // sides, n_columns // sides
    place = {word: column for column, word in enumerate(run.words[:n_old])}
    column = np.array([place.get(word, -1) for word in vocabulary.words[:n_new]], dtype=np.int64)
    lost = int(np.count_nonzero(column < 0))
    if lost == n_new:
        raise InputError("no context of the counts is known to the run. Count text in the language of the run.")
    if np.array_equal(column, np.arange(n_old)):
        return None, 0
    column[column < 0] = place.get(RARE, -1)
    known = np.flatnonzero(column >= 0)
    moves = sparse.csr_array((np.ones(len(known), np.int64), (known, column[known])), shape=(n_new, n_old))
    return sparse.csr_array(sparse.block_diag([moves] * sides)), lost


def penalty_of(folder: Path, run: Run) -> Penalty:
    """Return the penalty that the codes of a run were made with."""
    learner, config = run.config.get("learner"), run.config
    if run.dictionary is None or learner not in ("online", "sc", "nnse"):
        has = "no dictionary" if run.dictionary is None else f"a dictionary of {learner}"
        if run.space:
            raise InputError(
                f"{folder} was learned from documents, which counts of words are not. New documents are placed on it "
                "with: wordforest documents RUN DOCS --out FOLDER"
            )
        raise InputError(
            f"{folder} has {has}, but new words can be coded only with one of train (learner online), or of the "
            "baselines sc and nnse. Choose another run."
        )
    if learner != "online":
        return (L1 if learner == "sc" else NonNegativeL1)(config["lam"])
    if config.get("additive"):
        return NonNegativeL1(config["lam"])
    return forest_penalty(run.forest, config["lam"], config.get("depth_weights"), nonnegative=config["nonnegative"])


def _check_phrases(counts: Path, run: Path, config: Mapping[str, Any], learned: Mapping[str, Any]) -> None:
    """Refuse counts whose phrases are not those of the run."""
    own, others = ({one[:3] for one in TextRules.of(one).known_phrases} for one in (learned, config))
    if own != others:
        what_to_do = f"with --phrases-of {run}" if own else "without --phrases"
        raise InputError(f"{counts} has other phrases than {run}, so their words differ. Count the text {what_to_do}.")


def _check_alike(counts: Path, config: Mapping[str, Any], learned: Mapping[str, Any]) -> None:
    for name in _SHAPING:
        if config.get(name) != learned.get(name):
            raise InputError(
                f"{name} = {config.get(name)} in {counts}, but the run was made with {name} = {learned.get(name)}, so "
                "their pairs are not alike. Count the text with the settings of the run."
            )
