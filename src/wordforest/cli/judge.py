"""Commands that judge vectors: evaluate, data, reproduce."""

from __future__ import annotations

import os
import sys
from json import dumps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from wordforest.cli.base import (
    Force,
    Json,
    OutOpt,
    Quiet,
    Verbose,
    Workers,
    app,
    friendly,
    keep_existing,
    read_vectors,
    reporter,
)
from wordforest.errors import InputError


@app.command()
@friendly
def evaluate(
    vectors: Annotated[list[str], typer.Argument(metavar="VECTORS...", help="Run folders or vector files.")],
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the data. Default: WORDFOREST_DATA, else the cache, else gensim's few sets."),
    ] = None,
    tasks: Annotated[
        str | None,
        typer.Option(help="Some of similarity,analogy,completion,sentiment,meaning. Default: those with data."),
    ] = None,
    held: Annotated[
        str | None,
        typer.Option(help="meaning: text kept from training, or its counts folder; how readable is the forest?"),
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option(help="meaning: write word-intrusion questions for people here, the key beside them.")
    ] = None,
    form: Annotated[
        Literal["table", "markdown", "latex", "json"], typer.Option("--format", help="How to write the scores.")
    ] = "table",
    out: Annotated[Path | None, typer.Option(help="File to write to, in place of the terminal.")] = None,
    half: Annotated[
        Literal["development", "test"] | None, typer.Option(help="Only one of two fixed halves of all items.")
    ] = None,
    restrict: Annotated[int | None, typer.Option(help="Know and search the first N words only.")] = None,
    method: Annotated[
        Literal["offset", "product"], typer.Option(help="Analogies: offset (3CosAdd) or product (3CosMul).")
    ] = "offset",
    compare: Annotated[
        bool, typer.Option("--compare", help="Compare the first with each of the others on their common items.")
    ] = False,
    scale: Annotated[float, typer.Option(help="Raise the norm of every dimension to this power first.")] = 1.0,
    device: Annotated[Literal["cpu", "cuda"], typer.Option(help="Where analogies are answered.")] = "cpu",
    seed: Annotated[int, typer.Option(help="Seed of the intervals.")] = 0,
    force: Force = False,
    json: Json = False,
    verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:
    """Score vectors on similarity, analogies, sentence completion, sentiment and meaning, with 95 % intervals."""
    from wordforest import evaluation
    from wordforest.cli import terminal
    from wordforest.evaluation import datasets

    for path in [path for path in (out, sheet, sheet and _key_of(sheet)) if path is not None]:
        keep_existing(path, force)
    if compare and len(vectors) < 2:
        raise InputError("--compare needs at least two VECTORS: the first is compared with each of the others.")
    asked = None if tasks is None else [task.strip() for task in tasks.split(",")]
    meant = held is not None if asked is None else "meaning" in asked
    if held is None and (sheet is not None or meant):
        raise InputError("meaning is judged on text that was not trained on: give it, or its counts folder, by --held.")
    if held is not None and not meant:
        raise InputError("--held and --sheet are for the task meaning. Add it to --tasks, or leave them out.")
    only = None if asked is None else [task for task in asked if task != "meaning"]
    if only == [] and (compare or half or restrict):
        raise InputError("--compare, --half and --restrict are not for the task meaning. Leave them out.")
    found = evaluation.find_data(data, datasets.cache_folder()) if only is None or only else None
    loaded = [(name, read_vectors(name)) for name in vectors]
    loaded = [(name, model if scale == 1 else model.scaled(scale)) for name, model in loaded]
    judged = [
        (name, evaluation.judge(model, found, tasks=only, half=half, restrict=restrict,
                                method=evaluation.METHODS[method], device=device) if found else [])
        for name, model in loaded
    ]  # fmt: skip
    form = "json" if json else form
    meanings = _meanings(loaded, held, sheet, seed) if held is not None else {}
    terminal.show_judged(judged, _scores(loaded, meanings, seed), form=form, out=out, compared=compare, seed=seed)
    if form == "json" and out is None:
        for name, found in meanings.items():
            for node in found.as_objects():
                sys.stdout.write(dumps({"model": name, **node}, ensure_ascii=False) + "\n")


def _meanings(models: list[tuple[str, Any]], held: str, sheet: Path | None, seed: int) -> dict[str, Any]:
    """Return how readable each model is, all by the same words, and write questions for people about the first."""
    from wordforest import store
    from wordforest.evaluation import meaning
    from wordforest.jobs.count import held_out

    counts = held_out(held)
    text = meaning.Cooccurrence(counts.vocabulary.words, counts.vocabulary.counts, counts.matrix)
    candidates = text.candidates([model.words for _, model in models])
    if sheet is not None:
        model = models[0][1]
        asked = meaning.intrusion_sheet(model, meaning.top_words(model, candidates), seed=seed)
        store.write_text(sheet, asked.questions)
        store.write_text(_key_of(sheet), asked.key)
        sys.stderr.write(f"wrote {sheet} and {_key_of(sheet)}\n")
    return {name: meaning.judge_meaning(model, text, candidates=candidates, seed=seed) for name, model in models}


def _scores(models: list[tuple[str, Any]], meanings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return the scores of every model, the first with how much all of them find the same."""
    from wordforest.evaluation import meaning

    scores = {name: found.scores for name, found in meanings.items()}
    if scores and len(models) > 1:
        first = models[0][0]
        scores[first] = scores[first] + meaning.stability_scores([model for _, model in models], seed=seed)
    return scores


def _key_of(sheet: Path) -> Path:
    return sheet.with_name(f"{sheet.stem}.key{sheet.suffix}")


data_app = typer.Typer(help="The sets that vectors are judged with: list, fetch or check them.", no_args_is_help=True)
app.add_typer(data_app, name="data")

FolderOpt = Annotated[
    Path | None, typer.Option("--data", help="Folder of the data. Default: WORDFOREST_DATA, else the cache.")
]


@data_app.command("list")
@friendly
def list_data(
    data: FolderOpt = None, json: Json = False, verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:  # fmt: skip
    """Show every set, what it is, under which terms, and whether it is here."""
    from wordforest.cli import terminal
    from wordforest.evaluation import datasets

    states = datasets.check(_data_folder(data))
    terminal.show_datasets(list(datasets.DATASETS.values()), states, as_json=json)


@data_app.command("fetch")
@friendly
def fetch_data(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="wordsim analogy msr_scc sst2")],
    data: FolderOpt = None,
    mirror: Annotated[
        str | None, typer.Option(help="A folder or URL that holds the same files, as in msr_scc/testing_data.csv.")
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 read by friendly
    json: Json = False,
) -> None:
    """Download sets into the data folder; every file is checked by its SHA-256."""
    from wordforest.evaluation import datasets

    folder = _data_folder(data)
    with reporter(quiet, json) as report:
        paths = datasets.fetch(
            names, folder=folder, mirror=mirror,
            on_file=lambda file, fetched: report.say(f"{file.path}: {'fetched' if fetched else 'here already'}"),
        )  # fmt: skip
        report.say(f"{len(paths)} files are in {folder}")


@data_app.command("check")
@friendly
def check_data(
    data: FolderOpt = None, json: Json = False, verbose: Verbose = False,  # noqa: ARG001 read by friendly
) -> None:  # fmt: skip
    """Compare every file with its SHA-256; exit code 1 if one is missing or different."""
    from wordforest.cli import terminal
    from wordforest.evaluation import datasets

    folder = _data_folder(data)
    states = datasets.check(folder)
    terminal.show_file_states(folder, states, as_json=json)
    if any(status.state != "present" for status in states):
        raise SystemExit(1)


@app.command()
@friendly
def reproduce(
    experiment: Annotated[Path, typer.Argument(metavar="EXPERIMENT.toml", help="As in experiments/table1.toml.")],
    out: OutOpt,
    corpus: Annotated[
        list[str] | None, typer.Option(help="Text to train on, in place of that of the file; may be repeated.")
    ] = None,
    data: FolderOpt = None,
    quick: Annotated[bool, typer.Option("--quick", help="The demo corpus and a small profile: minutes.")] = False,
    skip: Annotated[
        list[str] | None, typer.Option(help="Leave a model out, as RNN or RNN@520; may be repeated.")
    ] = None,
    workers: Workers = None,
    quiet: Quiet = False,
    verbose: Verbose = False,  # noqa: ARG001 read by friendly
    json: Json = False,
) -> None:
    """Train, judge and compare all models of an experiment; run again, it does only what is missing or has changed."""
    from wordforest.evaluation import datasets
    from wordforest.reproduce import reproduce as run

    with reporter(quiet, json) as report:
        rows = run(
            experiment, out, corpus=corpus, data=data, cache=datasets.cache_folder(), quick=quick,
            skip=skip or (), workers=workers, report=report,
        )  # fmt: skip
    if failed := [row.cell.model.name for row in rows if row.failure]:
        sys.stderr.write(f"error: {', '.join(failed)} failed; {out / 'REPORT.md'} says why and holds the others.\n")
        raise SystemExit(1)


def _data_folder(data: Path | None) -> Path:
    from wordforest.evaluation import datasets

    named = os.environ.get("WORDFOREST_DATA")
    return data or (Path(named) if named else datasets.cache_folder())
