"""The paper's tables on any corpus, by one command: run what is missing, judge it, and write the report."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from wordforest import store
from wordforest.cli.demo import addresses
from wordforest.errors import InputError
from wordforest.evaluation.report import RULES
from wordforest.reproduce.document import to_html, to_markdown
from wordforest.reproduce.jobs import Done, FailedJobError, Workshop
from wordforest.reproduce.judging import Bench
from wordforest.reproduce.plan import FILE, Cell, Experiment, cells_of, read_experiment, without
from wordforest.reproduce.report import Facts, build
from wordforest.reproduce.results import Against, Row, against_reference, as_object, comparison_objects, make_row
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
    text and data are the same; a broken run goes on. A model that fails is told in the report, and the others go on.
    """
    report = report or Reporter()
    experiment = read_experiment(path, quick=quick)
    names = _corpus(experiment, corpus)
    bench = Bench(out / "judged", data, cache, experiment.tasks, experiment.halves)
    for task in bench.missing:
        report.say(f"no data for the task {task}: it is left out. See: wordforest data list")
    cells = without(cells_of(experiment), skip)
    out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    against: list[Against] = []
    with store.locked(out):
        store.remove_leftovers(out)
        workshop = Workshop(out, names, workers, report)
        for number, cell in enumerate(cells, start=1):
            report.say(f"{number} of {len(cells)}: {cell.model.name}, M = {cell.size}")
            rows.append(_row(cell, workshop, bench, path.parent, report))
            if experiment.reference:
                against = against_reference(rows, experiment.reference, against)
            _write(out, experiment, rows, against, _facts(names, quick, bench, skip))  # what is done is never lost
        report.say(f"wrote {out / 'REPORT.md'}, report.html, results.json")
    return rows


def _row(cell: Cell, workshop: Workshop, bench: Bench, home: Path, report: Reporter) -> Row:
    if cell.model.method == FILE:
        source = home / cell.model.path
        return make_row(cell, [], [bench.judge(cell.model.name, source, cell.model.scale)])
    try:
        done: list[Done] = [workshop.run(job) for job in cell.jobs]
    except FailedJobError as error:
        report.say(f"failed: {error}")
        return Row(cell, failure=workshop.shown(str(error)))
    judged = [bench.judge(job.name, one.folder, cell.model.scale) for job, one in zip(cell.jobs, done, strict=True)]
    return make_row(cell, done, judged)


def _corpus(experiment: Experiment, given: list[str] | None) -> list[str]:
    needed = any(model.method != FILE for model in experiment.models)
    names = given or list(experiment.corpus)
    if needed and not names:
        raise InputError("the experiment names no corpus. Give one with --corpus TEXT, or try it with --quick.")
    if "-" in names:
        raise InputError("every model reads the text anew, but standard input can be read once. Give a file.")
    return [str(addresses()) if name == DEMO else name for name in names]


def _facts(names: list[str], quick: bool, bench: Bench, skip: Sequence[str]) -> Facts:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    machine = f"{cores} cores, Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    shown = ", ".join(Path(name).name or name for name in names) or "none: published vectors"
    rules = tuple(f"{task}: {RULES[task]}" for task in bench.tasks)
    return Facts(shown, machine, time.strftime("%Y-%m-%d"), version("wordforest"), rules, quick, tuple(skip))


def _write(out: Path, experiment: Experiment, rows: list[Row], against: list[Against], facts: Facts) -> None:
    blocks = build(experiment, rows, against, facts)
    results: dict[str, Any] = {
        "title": experiment.title,
        "corpus": facts.corpus,
        "machine": facts.machine,
        "date": facts.date,
        "version": facts.version,
        "quick": facts.quick,
        "rows": [as_object(row) for row in rows],
        "comparisons": [item for found in against for item in comparison_objects(found)],
    }
    store.write_text(out / "REPORT.md", to_markdown(blocks))
    store.write_text(out / "report.html", to_html(experiment.title, blocks))
    store.write_json(out / "results.json", results)
