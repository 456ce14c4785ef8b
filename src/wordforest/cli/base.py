"""What all commands share: the app, its options, and errors told in one or two lines."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal, ParamSpec

import typer

from wordforest import __version__
from wordforest.errors import ClusterError, InputError, MissingExtraError
from wordforest.runtime.signals import Terminated

P = ParamSpec("P")
UsageError: Any = typer.BadParameter.__base__  # of Typer or of Click, as the version has it
_FULL = "Free some room on the disk, or choose another one; what was there before is as it was."
app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

# Arguments and options that several commands share.
CorpusArg = Annotated[
    list[str],
    typer.Argument(
        metavar="CORPUS...", help="Text files, folders, globs or URLs, plain or compressed; - is standard input."
    ),
]
VectorsArg = Annotated[str, typer.Argument(metavar="VECTORS", help="A run folder, or a file of vectors.")]
OutOpt = Annotated[Path, typer.Option("--out", help="Folder to write.")]
Window = Annotated[int, typer.Option(help="Context words on each side.")]
MinCount = Annotated[int, typer.Option(help="Rarer words become #rare#.")]
MaxVocab = Annotated[int | None, typer.Option(help="Keep at most this many words; others become #rare#.")]
DynamicWindow = Annotated[
    bool, typer.Option("--dynamic-window", help="Pairs at distance d count in proportion to 1/d.")
]
Subsample = Annotated[
    float, typer.Option(help="Drop frequent words as word2vec does, with this threshold, as in 1e-4; 0: none.")
]
Seed = Annotated[int, typer.Option(help="Same seed, same bits.")]
TokenizerOpt = Annotated[
    Literal["words", "whitespace"],
    typer.Option(help="words: raw text; whitespace: tokenised text, a sentence a line."),
]
Lowercase = Annotated[bool, typer.Option("--lowercase/--no-lowercase", help="Lower-case all words.")]
Numbers = Annotated[bool, typer.Option("--numbers/--keep-numbers", help="Numbers become #number#.")]
ErrorsOpt = Annotated[Literal["strict", "replace"], typer.Option(help="What to do with bytes that are not UTF-8.")]
Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Threads; the result is the same for any number. Default: all cores."),
]
Memory = Annotated[
    str | None,
    typer.Option(help="Memory to stay within, as in 8G or 500M; what is larger goes to files. Default: 3/4 of all."),
]
ClusterOpt = Annotated[
    str | None,
    typer.Option(
        "--cluster", metavar="ADDRESS",
        help="Dask scheduler, as in tcp://host:8786 or local:4; --workers are then the threads of each process.",
    ),
]  # fmt: skip
Force = Annotated[bool, typer.Option("--force", help="Replace what --out holds.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Show the traceback of an error.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object a line.")]
Neighbours = Annotated[int, typer.Option("-k", min=1, help="How many words.")]


def friendly(command: Callable[P, None]) -> Callable[P, None]:
    """Turn exceptions into one or two lines and an exit code.

    1 failed, 2 wrong use or bad input, 130 interrupted, 143 terminated.
    """

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except BrokenPipeError:  # the reader has left, as head does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(1) from None
        except (Exception, KeyboardInterrupt) as error:
            if kwargs.get("verbose"):
                traceback.print_exc()
            message, code = explain(error)
            sys.stderr.write(message + "\n")
            raise SystemExit(code) from None

    return run


def explain(error: BaseException) -> tuple[str, int]:
    """Return what to tell a person about an error, and the exit code."""
    notes = "".join(f" {note}" for note in getattr(error, "__notes__", []))
    if isinstance(error, InputError | MissingExtraError):
        return f"error: {error}", 2
    if isinstance(error, ClusterError):
        return f"error: {error}", 1
    if isinstance(error, KeyboardInterrupt):
        came, code = ("terminated", 143) if isinstance(error, Terminated) else ("interrupted", 130)
        return f"{came}. Nothing was left half written.{notes or ' Run the command again.'}", code
    if isinstance(error, OSError):
        what_to_do = _FULL if error.errno in (errno.ENOSPC, errno.EDQUOT) else "Check the disk and the permissions."
        return f"error: {error}. {what_to_do}{notes}", 1
    if isinstance(error, MemoryError):
        return f"error: not enough memory ({error}). Use fewer dimensions or words, or a larger machine.{notes}", 1
    return f"error: {type(error).__name__}: {error}. Run again with --verbose to see where.{notes}", 1


@app.callback(invoke_without_command=True)
def wordforest(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False
) -> None:
    """Word vectors whose dimensions form a forest, learned from raw text."""
    if version:
        typer.echo(f"wordforest {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


def keep_existing(path: Path, force: bool) -> None:
    """Refuse to write over a file without ``--force``."""
    if path.exists() and not force:
        raise InputError(f"{path} already exists; add --force to replace it or choose another name.")


def as_bytes(text: str | None) -> int | None:
    """Return a size such as 8G or 500M in bytes."""
    if text is None:
        return None
    number, unit = text[:-1], text[-1:].upper()
    factor = {"K": 10, "M": 20, "G": 30, "T": 40}.get(unit)
    try:
        size = int(float(number) * (1 << factor)) if factor else int(text)
    except (ValueError, OverflowError):
        size = 0
    if size <= 0:
        raise InputError(f"--memory {text}: expected a size, as in 8G or 500M.")
    return size


def reporter(quiet: bool, as_json: bool) -> Any:
    """Return what shows the progress of a long job."""
    from wordforest.runtime.progress import make_reporter

    return make_reporter(quiet=quiet, as_json=as_json)


def read_vectors(name: str) -> Any:
    """Return the vectors of a run folder or a file; what a person should know goes to standard error."""
    from wordforest import store

    def on_notice(notice: str) -> None:
        sys.stderr.write(f"note: {notice}\n")

    return store.read_vectors(name, on_notice=on_notice)
