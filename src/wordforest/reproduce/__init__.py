"""The paper's tables on any corpus, by one command: run what is missing, score it, and write the report."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from wordforest import store
from wordforest.errors import InputError
from wordforest.evaluation.datasets import demo_corpus
from wordforest.reproduce.commands import JobRunner
from wordforest.reproduce.plan import FILE, Experiment, Model, Trial, experiment_file, read_experiment, trials_of
from wordforest.reproduce.report import as_report
from wordforest.reproduce.results import Row, Scorer, against_reference, as_object
from wordforest.reproduce.stamps import stamp
from wordforest.reproduce.sweep.run import run_sweeps
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
    vectors: Path | None = None,
    quick: bool = False,
    skip: Sequence[str] = (),
    workers: int | None = None,
    device: str = "cpu",
    report: Reporter | None = None,
) -> list[Row]:
    """Make the tables of an experiment file, or of one of ours by its name, in ``out``: REPORT.md and results.json.

    ``skip`` names models to leave out, as NAME or NAME@SIZE; a file of vectors that is not in the folder ``vectors``,
    that of the experiment by default, is left out, too, and the report says where it comes from. What ``out`` holds
    already is used again where settings, text and data are the same; a broken run is resumed. A model that fails is
    named in the report, and the others run. ``device`` is for the models that take one. A file of sweeps has no rows:
    its cells are in results.jsonl.
    """
    report = report or Reporter()
    path = experiment_file(path)
    experiment = read_experiment(path, quick=quick)
    names = _corpus(experiment, corpus)
    scorer = Scorer(out / "judged", data, cache, experiment.tasks, experiment.halves)
    for task in scorer.missing:
        report.say(f"no data for the task {task}: it is left out. See: wordforest data list")
    home = vectors or path.parent
    absent = {model.name: _absence(model) for model in experiment.models if not _is_there(model, home)}
    trials = trials_of(experiment, [*skip, *absent])
    if absent and not trials:
        raise InputError(f"nothing to score in {home}: {'; '.join(absent.values())}. Name their folder by --vectors.")
    left_out = [*skip, *absent.values()]
    for name in absent.values():
        report.say(f"left out: {name}")
    facts = {**_facts(path, names, corpus or (), quick, skip, device), "left_out": left_out}
    _refuse_others(out, experiment)
    out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    with store.locked(out):
        store.remove_leftovers(out)
        runner = JobRunner(out, names, workers, report, device)
        if experiment.sweeps:
            run_sweeps(experiment, runner, scorer, facts)
            return rows
        for number, trial in enumerate(trials, start=1):
            report.say(f"{number} of {len(trials)}: {trial.model.name}, M = {trial.size}")
            rows.append(_row(trial, runner, scorer, home))
            written = as_report(experiment, rows, facts, left_out)
            store.write_text(out / "REPORT.md", written)  # what is done is never lost
            store.write_json(out / "results.json", _results(experiment, rows, facts))
        report.say(f"wrote {out / 'REPORT.md'}, results.json")
    return rows


def _refuse_others(out: Path, experiment: Experiment) -> None:
    """Refuse a folder with a report of something else, which would be lost."""
    report, results = out / "REPORT.md", out / "results.json"
    title = store.read_json(results).get("title") if results.is_file() else None
    if (title or (report.is_file() and not (out / "results.jsonl").is_file())) and title != experiment.title:
        of_what = f"the report {title!r}" if title else "a REPORT.md of something else"
        raise InputError(f"{out} has {of_what}, which would be lost. Choose another --out.")


def _row(trial: Trial, runner: JobRunner, scorer: Scorer, home: Path) -> Row:
    model = trial.model
    try:
        if model.method == FILE:
            return Row(trial, scored=[scorer.score(model.name, _file(model, home), model.scale)])
        jobs = [runner.run(job) for job in trial.jobs]
    except InputError as error:  # of a job that failed, or of a file that cannot be read
        runner.report.say(f"failed: {error}")
        return Row(trial, failure=runner.shown(str(error)))
    return Row(trial, jobs, [scorer.score(job.folder.name, job.folder, model.scale) for job in jobs])


def _is_there(model: Model, home: Path) -> bool:
    return model.method != FILE or (home / model.path).is_file() or all(map(Path.is_file, _files(model, home)))


def _file(model: Model, home: Path) -> Path:
    """Return where a file of vectors is, two of them as WORDS+VECTORS."""
    single = home / model.path
    return single if single.is_file() else Path("+".join(map(str, _files(model, home))))


def _files(model: Model, home: Path) -> list[Path]:
    return [home / name for name in model.path.split("+")]


def _absence(model: Model) -> str:
    return f"{model.name}, no file {model.path}" + (f" ({model.source})" if model.source else "")


def _corpus(experiment: Experiment, given: list[str] | None) -> list[str]:
    needed = experiment.sweeps or any(model.method != FILE for model in experiment.models)
    names = given or list(experiment.corpus)
    if needed and not names:
        raise InputError("the experiment names no corpus. Give one with --corpus TEXT, or try it with --quick.")
    if "-" in names:
        raise InputError("every model reads the text anew, but standard input can be read once. Give a file.")
    return [str(demo_corpus()) if name == DEMO else name for name in names]


def _facts(
    path: Path, names: list[str], corpus: Sequence[str], quick: bool, skip: Sequence[str], device: str
) -> dict[str, Any]:
    """Return what the report says of itself; its command has no path of this machine."""
    given = [("--corpus", Path(name).name or name) for name in corpus] + [("--skip", name) for name in skip]
    given += [("--device", device)] * (device != "cpu")
    typed = ["wordforest", "reproduce", f"experiments/{path.name}", *["--quick"] * quick, *chain.from_iterable(given)]
    texts = ", ".join(Path(name).name or name for name in names) or "none: published vectors"
    return {"corpus": texts, "command": shlex.join(typed), **stamp(), "quick": quick}


def _results(experiment: Experiment, rows: list[Row], facts: dict[str, Any]) -> dict[str, Any]:
    against = against_reference(rows, experiment.reference)
    return {
        "title": experiment.title,
        **facts,
        "rows": [as_object(row) for row in rows],
        "comparisons": [item for found in against for item in found.as_objects()],
    }
