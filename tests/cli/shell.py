"""Commands run in this process, and a real process for what needs one: signals, pipes, terminals, imports."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from tests.commands import run_command

WORDFOREST = [sys.executable, "-m", "wordforest"]
FAST = ("--trees", "2", "--epochs", "8", "--quiet")
RUN_FILES = {
    *("config.json", "vocab.tsv", "codes.safetensors", "dictionary.safetensors", "forest.json", "history.jsonl"),
}
RESULTS = ("codes.safetensors", "dictionary.safetensors", "vocab.tsv", "forest.json")


def environment(**changes: str) -> dict[str, str]:
    """Return the environment of a real process, without what would change its output."""
    ours = ("WORDFOREST_DATA", "COLUMNS", "PYTHONUNBUFFERED")
    plain = {name: value for name, value in os.environ.items() if name not in ours}
    return {**plain, "PYTHONWARNINGS": "error::RuntimeWarning", **changes}


def done(*args: Any, **options: Any) -> CompletedProcess[str]:
    """Run a command that succeeds."""
    result = run_command(*args, **options)
    assert result.returncode == 0, result.stderr
    return result


def refused(*args: Any) -> str:
    """Run a command that is wrong use or has bad input, and return what it says."""
    result = run_command(*args)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    return result.stderr


def trained(corpus: Any, out: Path, *options: Any, **more: Any) -> Path:
    """Train a small run and return its folder."""
    done("train", *([corpus] if isinstance(corpus, str | Path) else corpus), "--out", out, *FAST, *options, **more)
    return Path(out)


def same_results(a: Path, b: Path) -> bool:
    """Return whether two runs have the same bits."""
    return all((a / name).read_bytes() == (b / name).read_bytes() for name in RESULTS)
