"""The torture suite in its short form; the long one is ``make torture``. Every row of it must be without a loss."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="kills and looks at processes as Linux has them"),
]
HOME = Path(__file__).resolve().parents[2]


def tortured(scratch: Path, *parts: str) -> list[dict[str, Any]]:
    """Run parts in a process of their own, which may fork and be loaded with the shim; return the rows."""
    path = os.pathsep.join([str(HOME / "src"), str(HOME), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "torture", *parts, "--short", "--scratch", str(scratch)]
    ended = subprocess.run(
        command, capture_output=True, encoding="utf-8", timeout=300, env={**os.environ, "PYTHONPATH": path}
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    return [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]


def test_kills_and_faults_lose_nothing(tmp_path: Path) -> None:
    rows = tortured(tmp_path, "kills", "faults")
    killed = {row["command"]: row["killed"] for row in rows if "killed" in row}
    assert {"count", "train online", "train entries", "convert to a file"} <= {*killed}
    assert all(killed.values()) or not shutil.which("cc")  # without a compiler some end before they are killed
    assert {"SIGINT", "SIGTERM", "two writers", "folder without rights"} <= {row.get("fault") for row in rows}
    assert all(row["losses"] == 0 for row in rows)


def test_load_leaves_memory_as_it_was(tmp_path: Path) -> None:
    pytest.importorskip("flask")
    rows = tortured(tmp_path, "load")
    assert rows[0]["requests"] > 100
    assert all(row["errors"] == 0 for row in rows)
