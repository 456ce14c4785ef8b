"""benchmarks/reports.py: a results file is made by its command, stamped, and made again only for other code."""

from __future__ import annotations

import argparse
import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def tool() -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        return runpy.run_path(str(FOLDER / "reports.py"))


@pytest.fixture
def desk(tool: dict[str, Any], tmp_path: Path) -> Any:
    """A desk with a corpus, no data, and one thing to be made from the corpus."""
    (tmp_path / "text.txt").write_text("a b c")
    asked = argparse.Namespace(corpus=tmp_path / "text.txt", data=None, peers=None, work=tmp_path)
    copy = "import shutil, sys; shutil.copy(*sys.argv[1:])"
    return tool["Desk"](asked, {"copied": f"python -c '{copy}' {{corpus}} {{path}}", "more.txt": "{copied}"})


def test_a_report_has_the_stamp_and_the_figures_of_what_was_printed(tool: dict[str, Any], desk: Any) -> None:
    script = desk.work / "speed.py"
    script.write_text("import sys\nprint(sys.argv[1])\nprint('| way | seconds |\\n|---|---|\\n| ours | 2.5 |')\n")
    text = tool["made"]("speed", {"command": f"python {script} {{out}}", "includes": "all"}, desk)
    found = tool["results_of"](text)
    assert found["figures"] == {"ours": 2.5}
    assert found["includes"] == "all"
    assert all(found[fact] for fact in ("command", "commit", "date", "machine", "load"))
    assert "\nspeed\n" in text  # the folder that was printed, less its path on this machine


def test_what_a_command_needs_is_made_once(desk: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        command = desk.filled("wordforest count {copied}", "speed")
    assert command == [sys.executable, "-m", "wordforest", "count", str(desk.work / "copied")]
    assert (desk.work / "copied").read_text() == "a b c"
    assert capsys.readouterr().out.count("making") == 1


def test_what_only_a_user_can_give_is_named(tool: dict[str, Any], desk: Any) -> None:
    assert tool["why_not"]({"command": "wordforest evaluate RUN --data {data}"}, desk) == "it needs DATA=..."
    desk.given["corpus"] = None
    assert tool["why_not"]({"command": "wordforest count {more.txt}"}, desk) == "it needs CORPUS=..."
    assert tool["why_not"]({"command": "wordforest demo"}, desk) == ""


def test_a_command_that_fails_says_how_to_resume(tool: dict[str, Any]) -> None:
    with pytest.raises(SystemExit, match="it resumes"):
        tool["run"]([sys.executable, "-c", "raise SystemExit(3)"])


def test_a_finished_folder_of_reproduce_is_taken(tool: dict[str, Any], tmp_path: Path) -> None:
    facts = {"title": "T", "command": "wordforest reproduce t.toml", "commit": "abcdef1", "date": "2026-01-02"}
    (tmp_path / "results.json").write_text(json.dumps({**facts, "machine": "2 cores", "version": "1"}))
    body = "## M = 52\n\n| model | score |\n|---|---|\n| A | 0.5 [0.4, 0.6] |\n"
    (tmp_path / "REPORT.md").write_text(f"# T\n\nAbout.\n\n- `{facts['command']}`\n- 2026-01-02, a day\n- b\n\n{body}")
    text = tool["taken"](tmp_path, "t", {})
    found = tool["results_of"](text)
    assert found == {**facts, "machine": "2 cores", "figures": {"M = 52": {"A": [0.5, 0.4, 0.6]}}}
    assert "About." in text
    assert "a day" not in text


def test_a_results_file_is_fresh_until_what_it_measures_changes(
    tool: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for name in ("measured.py", "other.py"):
        (tmp_path / name).write_text("1")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Begin"]):
        subprocess.run([*git, *command], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout[:7]
    monkeypatch.setitem(tool["is_fresh"].__globals__, "HOME", tmp_path)
    path, entry = tmp_path / "r.json", {"measures": ["measured.py"], "command": "python benchmarks/one.py"}
    assert not tool["is_fresh"](path, entry)
    for found, fresh in (
        ({"commit": head}, True),
        ({"commit": head, "transcribed": "from a page"}, False),
        ({"commit": f"{head}-dirty"}, False),
        ({"commit": "0000000"}, False),  # not of this repository
    ):
        path.write_text(json.dumps(found))
        assert tool["is_fresh"](path, entry) == fresh
    path.write_text(json.dumps({"commit": head}))
    (tmp_path / "other.py").write_text("2")
    assert tool["is_fresh"](path, entry)
    (tmp_path / "measured.py").write_text("2")
    assert not tool["is_fresh"](path, entry)
