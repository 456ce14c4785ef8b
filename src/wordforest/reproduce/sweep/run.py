"""A sweep from its file to its report: counts, the cells that are not known yet, and what all of them say.

Every cell is a line of results.jsonl as soon as it is scored. A cell that stands there, made from the same text with
the same data, is not made again: a sweep that was broken off goes on.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from wordforest import store
from wordforest.reproduce.commands import FailedJobError, JobRunner
from wordforest.reproduce.plan import Experiment
from wordforest.reproduce.results import Scorer
from wordforest.reproduce.sweep.plan import Cell, Source, cell_in, cells_of, tasks_of
from wordforest.reproduce.sweep.processes import Setup, run_tasks
from wordforest.reproduce.sweep.report import as_report
from wordforest.runtime.machine import available_cores, check_device, shared_gpu
from wordforest.runtime.progress import Event
from wordforest.text.reader import find_sources, read_chunks

RESULTS = "results.jsonl"
Record = dict[str, Any]


def run_sweeps(experiment: Experiment, runner: JobRunner, scorer: Scorer, facts: dict[str, Any]) -> None:
    """Make all cells of an experiment that its folder does not hold, then REPORT.md and results.json.

    ``facts`` say what was run where, as those of other experiments.
    """
    check_device(runner.device)
    began = time.monotonic()
    out, report, cells = runner.folder, runner.report, cells_of(experiment.sweeps)
    counts = {source: _counts(runner, experiment, source) for source in dict.fromkeys(c.source for c in cells)}
    made_by = {source: _made_by(folder, scorer) for source, folder in counts.items()}
    read = {cell: record for cell, record in _read(out / RESULTS) if record["made_by"] == made_by.get(cell.source)}
    known = {cell: read[cell] for cell in cells if cell in read}
    n_known = len(known)
    failures: list[Record] = []
    report.say(f"{len(cells)} cells, {n_known} of them known")
    try:
        with (
            store.workplace(out) as scratch,
            (out / RESULTS).open("a", encoding="utf-8") as lines,
            shared_gpu(runner.device if experiment.processes > 1 else "cpu") as is_shared,
        ):
            setup = _setup(experiment, runner, scorer, counts, scratch, shared=is_shared)
            with closing(run_tasks(setup, tasks_of(cells, known))) as found:
                for record in found:
                    cell = cell_in(record)
                    if "failure" in record:
                        failures.append(record)
                        report.say(f"failed: {cell}: {record['failure']}")
                        continue
                    known[cell] = {**record, "made_by": made_by[cell.source]}
                    lines.write(json.dumps(known[cell]) + "\n")
                    lines.flush()
                    report(Event("sweep", len(known), len(cells), "cells"))
    finally:
        records = [known[cell] for cell in cells if cell in known]
        facts = {**facts, "cells made": len(records) - n_known, "seconds": round(time.monotonic() - began)}
        store.write_text(out / "REPORT.md", as_report(experiment, records, facts, failures))
        store.write_json(out / "results.json", {"title": experiment.title, **facts, "cells": records})
    report.say(f"wrote {out / 'REPORT.md'}, results.json, {RESULTS}")
    if failures:
        raise FailedJobError(f"{len(failures)} tasks or cells failed; {out / 'REPORT.md'} says why.")


def _setup(
    experiment: Experiment,
    runner: JobRunner,
    scorer: Scorer,
    counts: dict[Source, Path],
    scratch: Path,
    *,
    shared: bool,
) -> Setup:
    """Share the cores out: as many score, and give way to those who learn, since scoring takes longer than a GPU.

    A GPU that processes cannot share has one learner: more would take it in turns, and wait for each other.
    """
    cores = runner.workers or available_cores()
    learners = 1 if runner.device == "cuda" and not shared else max(1, min(experiment.processes, cores // 2))
    return Setup(
        counts,
        scorer.data,
        tuple(scorer.tasks),
        experiment.halves,
        scratch,
        runner.device,
        n_learners=learners,
        n_scorers=cores,
        threads=max(1, cores // 2 // learners),
    )


def _read(path: Path) -> Iterable[tuple[Cell, Record]]:
    """Yield what is known; a last line that was broken off is not."""
    if not path.is_file():
        return
    whole = path.read_bytes()
    if not whole.endswith(b"\n"):
        path.write_bytes(whole := whole[: whole.rfind(b"\n") + 1])
    for line in whole.splitlines():
        record = json.loads(line)
        yield cell_in(record), record


def _counts(runner: JobRunner, experiment: Experiment, source: Source) -> Path:
    """Return the folder of counts of a source, made now if it is not there."""
    options = experiment.count | ({"max_vocab": source.max_vocab} if source.max_vocab else {})
    if source.share < 1:
        every = round(1 / source.share)
        folder = runner.folder / f"every-{every}"
        text = _sampled(folder / "text.txt", runner, every)
        runner = JobRunner(folder, [str(text)], runner.workers, runner.report)
    return runner.count(options).folder


def _sampled(path: Path, runner: JobRunner, every: int) -> Path:
    """Write every k-th line of the text, if that was not done."""
    made_by, note = {"corpus": runner.fingerprint}, path.with_suffix(".json")
    if not (note.is_file() and store.read_json(note) == made_by):
        path.parent.mkdir(parents=True, exist_ok=True)
        with store.replace_file(path) as staged, staged.open("wb") as file:
            first = 0  # of the next chunk, the line to take
            for chunk in read_chunks(find_sources(runner.corpus)):
                lines = chunk.data.splitlines(keepends=True)
                file.writelines(lines[first::every])
                first = (first - len(lines)) % every
        store.write_json(note, made_by)
    return path


def _made_by(folder: Path, scorer: Scorer) -> str:
    """Return a text that changes with the text counted, how it was counted, and the data of the tasks."""
    settings = {name: value for name, value in store.read_config(folder).items() if name not in ("corpus", "versions")}
    return hashlib.sha256(json.dumps([settings, scorer.key, scorer.tasks], sort_keys=True).encode()).hexdigest()[:16]
