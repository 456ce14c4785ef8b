"""The command line: each command reads its options, calls one function, and shows or writes what comes back."""

from __future__ import annotations

import io
import sys

from typer import Abort

from wordforest.cli import demo, draw, evaluate, explore, read, train  # noqa: F401 each adds its commands
from wordforest.cli.command import UsageError, app, explain
from wordforest.runtime.signals import listening, raised


def main() -> None:
    """Run the command line; wrong use is explained in two lines."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without Unicode still shows the rest
    try:
        with listening(_say):
            code = app(prog_name="wordforest", standalone_mode=False)
            if code == 130 and (error := raised()):  # before a command had begun, Typer took it
                raise error
        sys.exit(code)
    except UsageError as error:
        command = error.ctx.command_path if error.ctx else "wordforest"
        message = error.format_message()  # empty where the help was shown already
        sys.stderr.write(f"error: {message}\nTry: {command} --help\n" if message else "")
        sys.exit(2)
    except (KeyboardInterrupt, Abort) as error:
        message, code = explain(error.__cause__ or error)
        _say(message)
        sys.exit(code)


def _say(message: str) -> None:
    sys.stderr.write(message + "\n")
