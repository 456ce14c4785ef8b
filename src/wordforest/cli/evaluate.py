"""Commands that score vectors: evaluate, reproduce, and data for the sets they are scored with."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Literal

from wordforest.cli.command import argument, command, group, keep_existing, note, option, read_vectors, reporter
from wordforest.errors import InputError

DATA = option(None, "Folder of the data. Default: WORDFOREST_DATA, else the cache.", "--data")

_FORMAT = "How to write the scores. json: one list; jsonl: an object a line, which --json is short for."


@command()
def evaluate(
    vectors: list[str] = argument("VECTORS", "Run folders or vector files."),
    data: Path | None = DATA,
    tasks: str | None = option(None, "Some of similarity,analogy,completion,sentiment,meaning. Default: with data."),
    held: str | None = option(None, "meaning: text kept from training, or its counts folder."),
    form: Literal["table", "markdown", "latex", "json", "jsonl"] = option("table", _FORMAT, "--format"),
    out: Path | None = option(None, "File to write to, in place of the terminal."),
    half: Literal["development", "test"] | None = option(None, "Only the items of one of two fixed halves."),
    restrict: int | None = option(None, "Know and search the first N words only."),
    compare: bool = option(False, "Compare the first with each of the others on their common items.", "--compare"),
    scale: float = option(1.0, "Raise the norm of every dimension to this power first."),
    *,
    seed: int,
    force: bool,
    json: bool,
) -> None:
    """Score vectors on similarity, analogies, sentence completion, sentiment and meaning, with 95 % intervals."""
    from wordforest import evaluation
    from wordforest.cli import terminal
    from wordforest.evaluation import datasets

    if out is not None:
        keep_existing(out, force)
    if compare and len(vectors) < 2:
        raise InputError("--compare needs at least two VECTORS: the first is compared with each of the others.")
    asked = None if tasks is None else [task.strip() for task in tasks.split(",")]
    meant = held is not None if asked is None else "meaning" in asked
    if held is None and meant:
        raise InputError("meaning is judged on text that was not trained on: give it, or its counts folder, by --held.")
    if held is not None and not meant:
        raise InputError("--held is for the task meaning. Add it to --tasks, or leave it out.")
    only = None if asked is None else [task for task in asked if task != "meaning"]
    if only == [] and (compare or half or restrict):
        raise InputError("--compare, --half and --restrict are not for the task meaning. Leave them out.")
    found = evaluation.find_data(data, datasets.cache_folder()) if only is None or only else None
    if found and only is None and (without := [task for task in evaluation.TASKS if task not in found.files]):
        note(f"no data for {', '.join(without)}. Name a folder with it by --data, see: wordforest data list")
    loaded = [(name, read_vectors(name)) for name in vectors]
    loaded = [(name, model if scale == 1 else model.scaled(scale)) for name, model in loaded]
    chosen: dict[str, Any] = {"tasks": only, "half": half, "restrict": restrict}
    judged = [(name, evaluation.judge(model, found, **chosen) if found else []) for name, model in loaded]
    form = "jsonl" if json else form
    meanings = _meanings(loaded, held, seed) if held is not None else {}
    nodes = [{"model": name, **node} for name, one in meanings.items() for node in one.as_objects()]
    scores = _scores(loaded, meanings, seed)
    terminal.show_judged(judged, scores, form=form, out=out, compared=compare, nodes=nodes)


def _meanings(models: list[tuple[str, Any]], held: str, seed: int) -> dict[str, Any]:
    """Return how readable each model is, all by the same words."""
    from wordforest.evaluation import meaning
    from wordforest.jobs.count import held_out

    counts = held_out(held)
    text = meaning.Cooccurrence(counts.vocabulary.words, counts.vocabulary.counts, counts.matrix)
    candidates = text.candidates([model.words for _, model in models])
    return {name: meaning.judge_meaning(model, text, candidates=candidates, seed=seed) for name, model in models}


def _scores(models: list[tuple[str, Any]], meanings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return the scores of every model, the first with how much all of them find the same."""
    from wordforest.evaluation import meaning

    scores = {name: found.scores for name, found in meanings.items()}
    if scores and len(models) > 1:
        first = models[0][0]
        scores[first] = scores[first] + meaning.stability_scores([model for _, model in models], seed=seed)
    return scores


data_app = group("data", "The sets that vectors are scored with: list, fetch or check them.")


@command(data_app, "list")
def list_data(data: Path | None = DATA, *, json: bool) -> None:
    """Show every set, what it is, under which terms, and whether it is here."""
    from wordforest.cli import terminal
    from wordforest.evaluation import datasets

    states = datasets.check(_data_folder(data))
    terminal.show_datasets(list(datasets.DATASETS.values()), states, as_json=json)


@command(data_app, "fetch")
def fetch_data(
    names: list[str] = argument("NAME", "wordsim analogy msr_scc sst2"),
    data: Path | None = DATA,
    *,
    quiet: bool,
    json: bool,
) -> None:
    """Download sets into the data folder; every file is checked by its SHA-256."""
    from wordforest.evaluation import datasets

    folder = _data_folder(data)
    with reporter(quiet, json) as report:

        def on_file(file: Any, fetched: bool) -> None:
            report.say(f"{file.path}: {'fetched' if fetched else 'here already'}")

        paths = datasets.fetch(names, folder=folder, on_file=on_file)
        report.say(f"{len(paths)} files are in {folder}")


@command(data_app, "check")
def check_data(data: Path | None = DATA, *, json: bool) -> None:
    """Compare every file with its SHA-256; exit code 1 if one is missing or different."""
    from wordforest.cli import terminal
    from wordforest.evaluation import datasets

    folder = _data_folder(data)
    states = datasets.check(folder)
    terminal.show_file_states(folder, states, as_json=json)
    if any(status.state != "present" for status in states):
        raise SystemExit(1)


@command()
def reproduce(
    experiment: Path = argument("EXPERIMENT", "A TOML file, or the name of one that comes along, as table1."),
    corpus: list[str] | None = option(None, "Text to train on, in place of that of the file; may be repeated."),
    data: Path | None = DATA,
    vectors: Path | None = option(None, "Folder of files of vectors. Default: that of EXPERIMENT."),
    quick: bool = option(False, "The demo corpus and a small profile: minutes.", "--quick"),
    skip: list[str] | None = option(None, "Leave a model out, as RNN or RNN@520; may be repeated."),
    *,
    out: Path,
    workers: int | None,
    device: str,
    quiet: bool,
    json: bool,
) -> None:
    """Train, score and compare all models of an experiment; run again, it does only what is missing or has changed."""
    from wordforest.evaluation import datasets
    from wordforest.reproduce import reproduce as run

    with reporter(quiet, json) as report:
        rows = run(
            experiment,
            out,
            corpus=corpus,
            data=data,
            cache=datasets.cache_folder(),
            vectors=vectors,
            quick=quick,
            skip=skip or (),
            workers=workers,
            device=device,
            report=report,
        )
    if failed := [row.trial.model.name for row in rows if row.failure]:
        sys.stderr.write(f"error: {', '.join(failed)} failed; {out / 'REPORT.md'} says why and holds the others.\n")
        raise SystemExit(1)


def _data_folder(data: Path | None) -> Path:
    from wordforest.evaluation import datasets

    named = os.environ.get("WORDFOREST_DATA")
    return data or (Path(named) if named else datasets.cache_folder())
