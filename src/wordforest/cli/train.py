"""Commands that make vectors or what they are made of: train, count, encode, baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wordforest.cli.command import CORPUS, argument, command, reporter
from wordforest.options import BASELINES


@command()
def train(corpus: list[str] = CORPUS, *, quiet: bool, json: bool, **options: Any) -> None:
    """Learn word vectors from text, or from a counts folder."""
    from wordforest.jobs.train import train as run_train

    with reporter(quiet, json) as report:
        run_train(corpus, report=report, **options)


@command()
def count(corpus: list[str] = CORPUS, *, quiet: bool, json: bool, **options: Any) -> None:
    """Count words and pairs of words into a folder that train takes in place of text."""
    from wordforest.jobs.count import count_corpus

    with reporter(quiet, json) as report:
        count_corpus(corpus, report=report, **options)


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
        encode_counts(run, counts, report=report, **options)


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

    with reporter(quiet, json) as report:
        run_baseline(name, corpus, report=report, **options)
