"""The command that codes new words with a dictionary learned before."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wordforest.cli.base import ClusterOpt, Force, Json, OutOpt, Quiet, Verbose, Workers, app, friendly, reporter

RunArg = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder whose dictionary is used.")]
CountsArg = Annotated[Path, typer.Argument(metavar="COUNTS", help="A counts folder: its words are coded.")]


@app.command()
@friendly
def encode(
    run: RunArg, counts: CountsArg, out: OutOpt, workers: Workers = None, cluster: ClusterOpt = None,
    force: Force = False, quiet: Quiet = False, verbose: Verbose = False, json: Json = False,  # noqa: ARG001 read by friendly
) -> None:  # fmt: skip
    """Code the words of a counts folder with the dictionary of a run."""
    from wordforest.jobs.encode import encode_counts

    with reporter(quiet, json) as report:
        encode_counts(run, counts, out, force=force, workers=workers, cluster=cluster, report=report)
