"""Commands that make vectors or what they are made of: train, count, encode, baseline, demo."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from wordforest.cli.command import (
    CORPUS,
    CORPUS_OR_SLICES,
    argument,
    command,
    note,
    option,
    propose,
    propose_reading,
    reporter,
)
from wordforest.errors import InputError
from wordforest.options import BASELINES, PRESETS, default
from wordforest.runtime.machine import wake_device

# Of the demo.
WORDS = ("navy", "money", "farmers", "schools", "railroads", "soviet")
COUNTRIES = ("france", "spain", "mexico", "germany", "japan", "china", "russia", "cuba", "iraq", "vietnam")


@command()
def train(
    corpus: list[str] | None = CORPUS_OR_SLICES,
    *,
    quiet: bool,
    json: bool,
    **options: Any,
) -> None:
    """Learn word vectors from text, or from a counts folder."""
    corpus = corpus or []
    if options.get("device", "cpu") == "cuda" and corpus and all(map(_is_counted, corpus)):
        wake_device("cuda")  # ahead of our own imports, since its own take seconds
    from wordforest.jobs.train import train as run_train

    with reporter(quiet, json) as report:
        made = run_train(*sliced(corpus, options), report=report, **options)
        propose_reading(report, made, options["out"])
        _name_presets(report, options.get("preset", default("preset")))


def _is_counted(name: str) -> bool:
    return (Path(name) / "counts.safetensors").is_file()


def sliced(corpus: list[str], options: dict[str, Any]) -> list[Any]:
    """Return the corpus, and put slices given one by one where Python takes all slices."""
    from wordforest.text.reader import Corpus

    slices = options.pop("slice", ())
    if not slices:
        return [Corpus(corpus) if corpus else None]
    if corpus or options.get("slices"):
        raise InputError("slices are given one by one, or by a column of the corpus. Leave one of the two out.")
    options["slices"] = by_name(slices)
    return [None]


def by_name(slices: Sequence[str]) -> dict[str, Any]:
    """Return the paths of --slice NAME=PATH by their names; a name may come again, with more paths."""
    from wordforest.text.reader import Corpus

    found: dict[str, list[str]] = {}
    for name, _, path in (one.partition("=") for one in slices):
        found.setdefault(name, []).append(path)
    return {name: Corpus(paths) for name, paths in found.items()}


def _name_presets(report: Any, chosen: str) -> None:
    """Tell what each preset is for, and which one it was."""
    uses = {name: preset.help.partition(":")[0] for name, preset in PRESETS.items()}
    shown = (f"{name}{' (this one)' if name == chosen else ''}: {use}" for name, use in uses.items())
    report.tell({"preset": chosen, "presets": uses}, f"presets: {'; '.join(shown)}")


@command()
def count(
    corpus: list[str] | None = CORPUS_OR_SLICES,
    *,
    quiet: bool,
    json: bool,
    **options: Any,
) -> None:
    """Count words and pairs of words into a folder that train takes in place of text."""
    from wordforest.jobs.count import count_corpus

    with reporter(quiet, json) as report:
        count_corpus(*sliced(corpus or [], options), report=report, **options)
        propose(report, f"train {shlex.quote(str(options['out']))} --out RUN")


@command()
def encode(
    run: Path = argument("RUN", "A run folder whose dictionary is used."),
    counts: Path = argument("COUNTS", "A counts folder: its words are coded."),
    *,
    quiet: bool,
    json: bool,
    **options: Any,
) -> None:
    """Code the words of a counts folder with the dictionary of a run."""
    from wordforest.jobs.encode import encode_counts

    with reporter(quiet, json) as report:
        propose_reading(report, encode_counts(run, counts, report=report, **options), options["out"])


@command()
def baseline(
    name: str = argument("NAME", " ".join(BASELINES)),
    corpus: list[str] = CORPUS,
    *,
    quiet: bool,
    json: bool,
    **options: Any,
) -> None:
    """Learn the vectors of a competing method from the same text, by the same rules."""
    from wordforest.jobs.baseline import baseline as run_baseline
    from wordforest.text.reader import Corpus

    with reporter(quiet, json) as report:
        propose_reading(report, run_baseline(name, Corpus(corpus), report=report, **options), options["out"])


@command()
def demo(out: Path = option(Path("demo"), "Folder to write.", "--out"), *, force: bool) -> None:
    """Train on the State of the Union addresses: neighbours, scores, a heatmap, a tree, and a forest to read."""
    from wordforest import figures, store
    from wordforest.cli import terminal
    from wordforest.evaluation.datasets import demo_corpus
    from wordforest.jobs.train import train as run_train

    to_read = out / "readable"
    with reporter(quiet=False, as_json=False) as report:
        run = run_train(demo_corpus(), out=out, force=force, report=report)
        words = figures.drawable(COUNTRIES, run.vectors)
        store.write_figure(out / "heatmap.png", figures.heatmap(run.vectors, words))
        store.write_figure(out / "tree.png", figures.trees(run.vectors, words[:3]))
        readable = run_train(demo_corpus(), out=to_read, force=force, report=report, preset="readable", trees=10)
    for word in WORDS:
        if word in run.vectors:
            terminal.show_neighbors(word, run.vectors.most_similar(word, topn=6))
    _show_scores(str(out), run.vectors)
    terminal.show_forest(str(to_read), readable.vectors, 6)
    terminal.deliver(
        f"pictures: {out / 'heatmap.png'}, {out / 'tree.png'}\n"
        f"next: wordforest path {to_read} navy treaty\n"
        f"      wordforest explore {to_read}     (needs the extra explore)\n"
    )


def _show_scores(name: str, vectors: Any) -> None:
    """Print the scores of the demo, or that there is nothing to score with."""
    from wordforest import evaluation
    from wordforest.cli import terminal
    from wordforest.evaluation.datasets import cache_folder
    from wordforest.evaluation.report import tabulate

    try:
        data = evaluation.find_data(cache=cache_folder())
    except InputError as error:
        note(f"no scores: {error}")
        return
    scores = tabulate([(name, evaluation.evaluate(vectors, data))])
    terminal.show_grid("Scores (a corpus of 2 million tokens is small for these sets)", scores)
