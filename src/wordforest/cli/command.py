"""What all commands share: the app, options from the table or a file, and errors in one or two lines."""

from __future__ import annotations

import errno
import inspect
import io
import os
import shlex
import sys
import tomllib
import traceback
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from wordforest.errors import ClusterError, DownloadError, FullDiskError, InputError, MissingExtraError
from wordforest.options import FLAG, OPTIONS, PRESETS, SHORT_HELP, WORDS, Option, check_known, taken_by
from wordforest.runtime.progress import Terminated, listening

UsageError: Any = typer.BadParameter.__base__  # of Typer or of Click, as the version has it
# In the order of the work.
COMMANDS = (
    *("train", "count", "encode", "topics", "documents", "inspect", "path", "neighbors", "analogy", "concordance"),
    *("compare", "draw", "explore"),
    *("evaluate", "baseline", "convert", "export", "reproduce", "data", "demo"),
)
_FULL = "Free some room on the disk, or choose another one; what was there before is as it was."


class _InOrder(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 Click's
        return [*COMMANDS]


app = typer.Typer(cls=_InOrder, add_completion=False, pretty_exceptions_enable=False)


def group(name: str, help: str) -> typer.Typer:  # noqa: A002 Typer's
    """Return a new group of commands under one name."""
    made = typer.Typer(help=help, no_args_is_help=True)
    app.add_typer(made, name=name)
    return made


def argument(metavar: str, help: str | None = None, **more: Any) -> Any:  # noqa: A002 Typer's
    """Return an argument that has to be given."""
    return typer.Argument(..., metavar=metavar, help=help, **more)


def option(default: Any, help: str, *flags: str, **more: Any) -> Any:  # noqa: A002 Typer's
    """Return an option of one command alone."""
    return typer.Option(default, *flags, help=help, **more)


_CORPUS = "Text files, tables, folders, globs or URLs, plain or compressed; - is standard input."
CORPUS = argument("CORPUS", _CORPUS)
CORPUS_OR_SLICES = typer.Argument(None, metavar="CORPUS", help=_CORPUS)
VECTORS = argument("VECTORS", "A run folder, or a file of vectors.")
STOP_WORDS = option(None, "File of words, one a line, that should name no node.", "--stop-words", metavar="FILE")


def command(where: typer.Typer = app, name: str | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add a command whose parameters without a default are rows of the table.

    ``**options`` stands for all other rows that list the command among their takers: those that were typed or are in
    the file of ``--settings`` are passed on, checked; the short help shows a few of them. Every command has --verbose.
    """

    def add(function: Callable[..., None]) -> Callable[..., None]:
        parameters = inspect.signature(function, eval_str=True).parameters.values()
        own = [one for one in parameters if one.default is not one.empty]
        named = [one.name for one in parameters if one not in own and one.kind is not one.VAR_KEYWORD]
        is_long = any(one.kind is one.VAR_KEYWORD for one in parameters)
        rows = taken_by(function.__name__) if is_long else [OPTIONS[one] for one in (*named, "verbose")]

        def run(**typed: Any) -> None:
            with _errors_explained(typed.pop("verbose")):
                mine = {one.name: typed.pop(one.name) for one in own}
                given = _given(typed, rows, function.__name__)
                with _told_again({**mine, **given}, {row.name for row in rows}):
                    function(**mine, **{**{one: OPTIONS[one].default for one in named}, **given})
                sys.stdout.flush()

        made = [_parameter(row, function.__name__ if is_long else None) for row in rows]
        parts = [*(one.replace(kind=one.KEYWORD_ONLY) for one in own), *made, *(_helps() if is_long else ())]
        run.__signature__ = inspect.Signature(parts)  # type: ignore[attr-defined]
        run.__doc__ = function.__doc__
        where.command(name or function.__name__, add_help_option=not is_long)(run)
        return function

    return add


def _parameter(row: Option, command: str | None) -> inspect.Parameter:
    """Return a row of the table as Typer takes it: None where nothing is typed, so that the file of settings counts."""
    spelled = "--" + row.name.replace("_", "-")
    can_be_off = row.default is True or any(row.name in preset.settings for preset in PRESETS.values())
    flags = row.flags or (f"{spelled}/--no-{spelled[2:]}" if row.kind is FLAG and can_be_off else spelled)
    shown = typer.Option(
        None,
        flags,
        metavar=row.kind.metavar,
        help=row.help_for(command or ""),
        rich_help_panel=row.panel if command else None,
        hidden=command is not None and row.name not in SHORT_HELP,
    )
    return inspect.Parameter(row.name, inspect.Parameter.KEYWORD_ONLY, default=shown, annotation=row.kind.shell | None)


def _helps() -> Iterator[inspect.Parameter]:
    for name, text in (("help", "Show the main options and exit."), ("help_all", "Show all options and exit.")):
        flag = "--" + name.replace("_", "-")
        shown = typer.Option(False, flag, help=text, is_eager=True, callback=_show_help, rich_help_panel="Basics")
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=shown, annotation=bool)


def _show_help(context: typer.Context, parameter: typer.CallbackParam, asked: bool) -> None:
    if not asked:
        return
    for one in context.command.params if parameter.name == "help_all" else ():
        one.hidden = False  # type: ignore[attr-defined]
    typer.echo(context.get_help())
    raise typer.Exit


def _given(typed: dict[str, Any], rows: Sequence[Option], command: str) -> dict[str, Any]:
    """Return the options that were typed or, else, are in the file of settings."""
    given = {row.name: typed[row.name] for row in rows if typed.get(row.name) is not None}
    path = given.pop("settings", None)
    given = {**(_from_file(path, rows) if path else {}), **{name: _checked(name, v) for name, v in given.items()}}
    for row in rows:
        if row.default is ... and row.name not in given:
            what = row.help.removesuffix(" Required.")
            raise InputError(f"missing option --{row.name}: {what} Add for example --{row.name} my_{command}.")
    return given


def _from_file(path: Path, rows: Sequence[Option]) -> dict[str, Any]:
    from wordforest.store.files import read_text

    try:
        found = tomllib.loads(read_text(path))
        check_known(found, [row.name for row in rows if row.name not in ("settings", "verbose")], "option")
        return {name: _checked(name, value) for name, value in found.items()}
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not TOML: {error}. Write options as in: trees = 40") from error
    except InputError as error:
        raise InputError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from error


def _checked(name: str, value: Any) -> Any:
    if OPTIONS[name].kind is WORDS and isinstance(value, str):
        value = words_in(Path(value))
    return OPTIONS[name].check(value)


@contextmanager
def _errors_explained(verbose: bool | None) -> Iterator[None]:
    """Turn exceptions into one or two lines and an exit code.

    1 failed, 2 wrong use or bad input, 130 interrupted, 143 terminated.
    """
    try:
        yield
    except BrokenPipeError:  # the reader has left, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except (Exception, KeyboardInterrupt) as error:
        if verbose:
            traceback.print_exc()
        message, code = explain(error)
        sys.stderr.write(message + "\n")
        raise SystemExit(code) from None


@contextmanager
def _told_again(given: dict[str, Any], options: Container[str]) -> Iterator[None]:
    """Let an interrupt say how the command is run again: what has begun, or is there, would be refused without."""
    try:
        yield
    except KeyboardInterrupt as error:
        folders: Any = sys.modules.get("wordforest.store.folders")  # where it is not imported yet, nothing has begun
        out, text = given.get("out"), given.get("corpus") or given.get("docs") or ()
        flag = ""
        if "force" in options and isinstance(out, Path) and out.is_dir() and any(out.iterdir()):
            flag = "" if given.get("force") or given.get("resume") else " with --force"
            flag = (
                " with --resume, which keeps what was done"
                if "resume" in options and folders and folders.was_begun(out) and "-" not in text
                else flag
            )
        error.__notes__ = [f"Run the command again{flag}."]
        raise


def explain(error: BaseException) -> tuple[str, int]:
    """Return what to tell a person about an error, and the exit code."""
    notes = "".join(f" {note}" for note in getattr(error, "__notes__", []))
    if isinstance(error, ClusterError | DownloadError | FullDiskError):
        return f"error: {error}", 1
    if isinstance(error, InputError | MissingExtraError):
        return f"error: {error}", 2
    if isinstance(error, KeyboardInterrupt):
        came, code = ("terminated", 143) if isinstance(error, Terminated) else ("interrupted", 130)
        return f"{came}. Nothing was left half written.{notes or ' Run the command again.'}", code
    if isinstance(error, NotADirectoryError) and error.filename:
        file = next((one for one in Path(error.filename).parents if one.is_file()), error.filename)
        return f"error: {file}: expected a folder, but this is a file. Choose another path.", 2
    if isinstance(error, OSError):
        what_to_do = _FULL if error.errno in (errno.ENOSPC, errno.EDQUOT) else "Check the disk and the permissions."
        return f"error: {error}. {what_to_do}{notes}", 1
    if isinstance(error, MemoryError):
        return f"error: not enough memory ({error}). Use fewer dimensions or words, or a larger machine.{notes}", 1
    return f"error: {type(error).__name__}: {error}. Run again with --verbose to see where.{notes}", 1


@app.callback(invoke_without_command=True)
def wordforest(context: typer.Context, version: bool = option(False, "Show the version.", "--version")) -> None:
    """Word vectors whose dimensions form a forest, learned from raw text."""
    if version:
        from wordforest import __version__

        typer.echo(f"wordforest {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)


def check_target(path: Path, force: bool, *suffixes: str) -> None:
    """Refuse a name that is not in one of the suffixes, or a file that is there, before any work is done."""
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{path}: expected a name in {', '.join(suffixes)}. Choose one of them.")
    keep_existing(path, force)


def keep_existing(path: Path, force: bool) -> None:
    """Refuse to write over a file without ``--force``."""
    if path.exists() and not force:
        raise InputError(f"{path} already exists; add --force to replace it or choose another name.")


def reporter(quiet: bool, as_json: bool) -> Any:
    """Return what shows the progress of a long job."""
    from wordforest.runtime.progress import make_reporter

    return make_reporter(quiet=quiet, as_json=as_json)


def propose(report: Any, *commands: str) -> None:
    """Tell what can be done next, as commands that can be typed."""
    report.tell(
        {"next": [f"wordforest {one}" for one in commands]}, "next: wordforest " + "; wordforest ".join(commands)
    )


def propose_reading(report: Any, run: Any, out: Path) -> None:
    """Tell how a run that was written to ``out`` is read."""
    folder, is_flat = shlex.quote(str(out)), not run.forest.depth.any()
    pages = [f"explore {folder}"] if find_spec("flask") else []
    commands = [f"neighbors {folder} {shlex.quote(_example(run))}", *([] if is_flat else [f"inspect {folder}"]), *pages]
    propose(report, *commands, f"evaluate {folder}")


def _example(run: Any) -> str:
    """Return a word to try: a long one of some frequency, which is no function word, with a code."""
    words = [word for word, n in zip(run.words, run.codes.indptr[1:] - run.codes.indptr[:-1], strict=True) if n]
    some = words[len(words) // 20 :][:200] or [*run.words]
    return str(max((word for word in some if word.isalpha()), key=len, default=some[0]))


def note(notice: str) -> None:
    """Write what a person should know to standard error."""
    sys.stderr.write(f"note: {notice}\n")


def read_vectors(name: str) -> Any:
    """Return the vectors of a run folder or a file."""
    from wordforest import store

    return store.read_vectors(name, on_notice=note)


def known_words(vectors: Any, words: Sequence[str]) -> tuple[list[str], list[dict[str, Any]]]:
    """Return words as the vocabulary spells them, and those without a vector, which are named on standard error.

    It is an error if none has one.
    """
    from wordforest.vectors import UnknownWordError

    unknown = [word for word in dict.fromkeys(words) if word not in vectors]
    if {*words} == {*unknown}:
        raise UnknownWordError(unknown, vectors.lookup)
    for word in unknown:
        note(str(UnknownWordError([word], vectors.lookup)))
    known = dict.fromkeys(vectors.words[vectors.index(word)] for word in words if word not in unknown)
    return [*known], [{"unknown": word, "did_you_mean": vectors.lookup.close(word)} for word in unknown]


def node_labels(vectors: Any, k: int, stop_words: Path | None) -> Any:
    """Return up to k words for every node, none of them in the file of stop words while there are others."""
    from wordforest import reading

    return reading.label_nodes(vectors, k, stop_words=stop_words_in(stop_words))


def stop_words_in(path: Path | None) -> list[str]:
    """Return the words of the file of --stop-words; none where it is not given."""
    words = words_in(path) if path else []
    if path and not words:
        raise InputError(f"{path}: expected stop words, one a line, but there are none. Leave --stop-words out.")
    return words


def short_names(names: Sequence[str]) -> list[str]:
    """Return the last part of every path, for a title; the whole path where two would look alike."""
    last = [Path(name).resolve().name or name for name in names]
    return [name if last.count(short) > 1 else short for name, short in zip(names, last, strict=True)]


def words_in(path: Path) -> list[str]:
    """Return the words of a file, one a line."""
    from wordforest.store.files import read_text

    return [word for line in read_text(path).removeprefix("\ufeff").splitlines() if (word := line.strip())]


def main() -> None:
    """Run the command line; wrong use is explained in two lines."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed before we began
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 to the end
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without Unicode still shows the rest
    try:
        with listening(_say) as signals:
            code = app(prog_name="wordforest", standalone_mode=False)
            if code == 130 and signals.raised:  # before a command had begun, Typer took it
                raise signals.raised
        sys.exit(code)
    except UsageError as error:
        typed = error.ctx.command_path if error.ctx else "wordforest"
        message = error.format_message().replace("Value error, ", "")  # empty where the help was shown already
        sys.stderr.write(f"error: {message}\nTry: {typed} --help\n" if message else "")
        sys.exit(2)
    except (KeyboardInterrupt, typer.Abort) as error:
        message, code = explain(error.__cause__ or error)
        _say(message)
        sys.exit(code)


def _say(message: str) -> None:
    sys.stderr.write(message + "\n")
