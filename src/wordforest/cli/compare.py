"""The command that compares slices of text on one forest."""

from __future__ import annotations

import json as library
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import typer

from wordforest.cli.command import argument, command, option, propose, reporter
from wordforest.cli.train import by_name
from wordforest.errors import InputError

_DOCS = typer.Argument(None, metavar="DOCS", help="Documents in slices; left out, those that the run was trained with.")
_BETWEEN = "Slices to compare, as in 1990,2000; left out: each against all others."


@command()
def compare(
    run: Path = argument("RUN", "A run folder."),
    docs: list[str] | None = _DOCS,
    by: Literal["slice"] = option("slice", "What is compared."),
    slices: str | None = option(None, "Column that says which slice a text belongs to, or folder.", metavar="COLUMN"),
    text: str | None = option(None, "Column of a table that holds the text.", metavar="COLUMN"),
    bins: str | None = option(None, "Slices that are times in bins: a number, or decade, year, month, day."),
    between: str | None = option(None, _BETWEEN, metavar="NAMES"),
    level: float = option(0.05, "Share of false discoveries to live with.", min=0.0, max=1.0),
    permutations: int = option(1000, "Of the documents of a word, at most.", min=100),
    out: Path | None = option(None, "Folder for tables, compare.json and a figure.", "--out"),
    form: Literal["table", "json"] = option("table", "What is printed.", "--format"),
    k: int = option(12, "Rows of each table that are printed.", "-k", min=1),
    *,
    slice: tuple[str, ...],  # noqa: A002 as it is typed
    seed: int,
    workers: int | None,
    force: bool,
    quiet: bool,
    json: bool,
) -> None:
    """Compare slices of text on one forest: nodes, words that moved, words that came and went."""
    from wordforest.cli.terminal import show_comparison
    from wordforest.jobs.slices import compare as run_compare
    from wordforest.text.reader import Corpus

    del by
    if slice and (docs or slices):
        raise InputError("slices are given one by one, or by a column of documents. Leave one of the two out.")
    with reporter(quiet, json) as report:
        found = run_compare(
            run,
            Corpus(docs) if docs else None,
            slices=by_name(slice) if slice else slices,
            text=text,
            bins=int(bins) if bins and bins.isdigit() else bins,
            between=[name.strip() for name in between.split(",")] if between else None,
            level=level,
            permutations=permutations,
            seed=seed,
            out=out,
            force=force,
            workers=workers,
            report=report,
        )
        if out is not None:
            _draw(out, found)
            if find_spec("flask"):
                propose(report, f"explore {shlex.quote(str(run))} --compare {shlex.quote(str(out))}")
    if form == "json" or json:
        sys.stdout.write(library.dumps(found.as_object(), ensure_ascii=False) + "\n")
    else:
        show_comparison(found, k)


def _draw(out: Path, found: Any) -> None:
    """Draw the figure of a comparison where matplotlib is installed."""
    if find_spec("matplotlib"):
        from wordforest import figures, store

        store.write_figure(out / "compare.png", figures.compared(found))
