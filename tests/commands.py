"""Commands in this process: what ``wordforest ARGS`` prints and how it ends, without a second to start Python."""

from __future__ import annotations

import io
import os
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from unittest import mock

from wordforest.cli import main


def run_command(*args: object, cwd: Path | str = ".", stdin: str = "", **env: str) -> CompletedProcess[str]:
    """Run ``wordforest ARGS`` in a folder, with what it reads and changes of the environment.

    Returns what ``subprocess.run`` of a real process would: returncode, stdout, stderr. What needs a process of its
    own (signals, a terminal, kills, what an import loads) starts one instead.
    """
    typed = ["wordforest", *map(str, args)]
    # Files beneath, as the real streams have: a command may write bytes.
    given = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    encoding = env.get("PYTHONIOENCODING", "utf-8")
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True) for _ in range(2))
    environment = {name: value for name, value in os.environ.items() if name not in ("WORDFOREST_DATA", "COLUMNS")}
    with (
        mock.patch.dict(os.environ, {**environment, **env}, clear=True),
        mock.patch.multiple(sys, argv=typed, stdin=given),
        chdir(cwd),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        code = _exit_code()
    return CompletedProcess(typed, code, *(stream.buffer.getvalue().decode(encoding) for stream in (out, err)))


def _exit_code() -> int:
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0
