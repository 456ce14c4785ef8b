"""The paper's tables on any corpus, by one command: run what is missing, score it, and write the report."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from wordforest import store
from wordforest.errors import InputError
from wordforest.evaluation.datasets import demo_corpus
from wordforest.reproduce.commands import FailedJobError, JobRunner
from wordforest.reproduce.plan import FILE, Experiment, Trial, read_experiment, trials_of
from wordforest.reproduce.report import Facts, build, to_html, to_markdown
from wordforest.reproduce.results import Against, Row, against_reference, as_object, make_row
from wordforest.reproduce.scoring import Scorer
from wordforest.runtime.progress import Reporter

DEMO = "demo"  # a corpus by this name is the State of the Union addresses

__all__ = ["Experiment", "Row", "read_experiment", "reproduce"]


def reproduce(
    path: Path,
    out: Path,
    *,
    corpus: list[str] | None = None,
    data: Path | None = None,
    cache: Path | None = None,
    quick: bool = False,
    skip: Sequence[str] = (),
    workers: int | None = None,
    report: Reporter | None = None,
) -> list[Row]:
    """Make the tables of an experiment file in ``out``: REPORT.md, report.html, results.json.

    ``skip`` names models to leave out, as NAME or NAME@SIZE. What ``out`` holds already is used again where settings,
    text and data are the same; a broken run is resumed. A model that fails is named in the report, and the others run.
    """
    report = report or Reporter()
    experiment = read_experiment(path, quick=quick)
    names = _corpus(experiment, corpus)
    scorer = Scorer(out / "judged", data, cache, experiment.tasks, experiment.halves)
    for task in scorer.missing:
        report.say(f"no data for the task {task}: it is left out. See: wordforest data list")
    trials = trials_of(experiment, skip)
    out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    against: list[Against] = []
    with store.locked(out):
        store.remove_leftovers(out)
        runner = JobRunner(out, names, workers, report)
        for number, trial in enumerate(trials, start=1):
            report.say(f"{number} of {len(trials)}: {trial.model.name}, M = {trial.size}")
            rows.append(_row(trial, runner, scorer, path.parent))
            if experiment.reference:
                against = against_reference(rows, experiment.reference, against)
            _write(out, experiment, rows, against, _facts(names, quick, skip))  # what is done is never lost
        report.say(f"wrote {out / 'REPORT.md'}, report.html, results.json")
    return rows


def _row(trial: Trial, runner: JobRunner, scorer: Scorer, home: Path) -> Row:
    model = trial.model
    if model.method == FILE:
        return make_row(trial, [], [scorer.score(model.name, home / model.path, model.scale)])
    try:
        jobs = [runner.run(job) for job in trial.jobs]
    except FailedJobError as error:
        runner.report.say(f"failed: {error}")
        return Row(trial, failure=runner.shown(str(error)))
    names = [job.name for job in trial.jobs]
    scored = [scorer.score(name, job.folder, model.scale) for name, job in zip(names, jobs, strict=True)]
    return make_row(trial, jobs, scored)


def _corpus(experiment: Experiment, given: list[str] | None) -> list[str]:
    needed = any(model.method != FILE for model in experiment.models)
    names = given or list(experiment.corpus)
    if needed and not names:
        raise InputError("the experiment names no corpus. Give one with --corpus TEXT, or try it with --quick.")
    if "-" in names:
        raise InputError("every model reads the text anew, but standard input can be read once. Give a file.")
    return [str(demo_corpus()) if name == DEMO else name for name in names]


def _facts(names: list[str], quick: bool, skip: Sequence[str]) -> Facts:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    machine = f"{cores} cores, Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    shown = ", ".join(Path(name).name or name for name in names) or "none: published vectors"
    return Facts(shown, machine, time.strftime("%Y-%m-%d"), version("wordforest"), quick, tuple(skip))


def _write(out: Path, experiment: Experiment, rows: list[Row], against: list[Against], facts: Facts) -> None:
    blocks = build(experiment, rows, against, facts)
    kept = {name: value for name, value in asdict(facts).items() if name != "skipped"}
    results: dict[str, Any] = {
        "title": experiment.title,
        **kept,
        "rows": [as_object(row) for row in rows],
        "comparisons": [item for found in against for item in found.as_objects()],
    }
    store.write_text(out / "REPORT.md", to_markdown(blocks))
    store.write_text(out / "report.html", to_html(experiment.title, blocks))
    store.write_json(out / "results.json", results)
