"""The command line in this process, as most tests run it, is the command line as users have it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import run_command


@pytest.mark.parametrize("line", ["--version", "inspect missing", "count - --out counts --min-count 1 --quiet"])
def test_it_prints_and_ends_as_a_process_does(tmp_path: Path, line: str) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    command = [sys.executable, "-m", "wordforest", *line.split()]
    text = "a café\n" * 9
    process = subprocess.run(command, cwd=there, input=text, capture_output=True, encoding="utf-8", timeout=60)
    ours = run_command(*line.split(), cwd=here, stdin=text)
    assert (ours.returncode, ours.stdout, ours.stderr) == (process.returncode, process.stdout, process.stderr)
    assert [path.name for path in here.rglob("*")] == [path.name for path in there.rglob("*")]


def test_it_leaves_streams_arguments_and_environment_as_they_were(tmp_path: Path) -> None:
    before = (sys.argv, sys.stdin, sys.stdout, sys.stderr, {**os.environ}, Path.cwd())
    run_command("inspect", "missing", cwd=tmp_path, WORDFOREST_CACHE="elsewhere")
    assert (sys.argv, sys.stdin, sys.stdout, sys.stderr, {**os.environ}, Path.cwd()) == before
