"""Every measured figure of README, docs and paper is that of the results file it names: see benchmarks/figures.py."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from torture.table import RESULTS, TABLES, report

HOME = Path(__file__).resolve().parents[2]
TOOL = runpy.run_path(str(HOME / "benchmarks" / "figures.py"))
REPORTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(TOOL["REPORTS"].glob("*.md"))}
LISTED = tomllib.loads((HOME / "benchmarks" / "reports.toml").read_text(encoding="utf-8"))


def known_commits() -> set[str]:
    """Return all commits by their first seven letters; none where there is no history, or only a part of it."""

    def said(*arguments: str) -> list[str]:
        return subprocess.run(["git", "-C", str(HOME), *arguments], capture_output=True, text=True).stdout.split()

    if not shutil.which("git") or said("rev-parse", "--is-shallow-repository") != ["false"]:
        return set()
    return {commit[:7] for commit in said("log", "--all", "--format=%h", "--abbrev=7")}


RECORDS = {
    "docs/decisions.md",  # dated history: what was measured when a thing was decided
    "docs/paper.md",  # the paper's values, not ours
}
STUDIES = {  # made once, to choose by or to tell of, and not made anew; no other may join them
    "additive-forest",
    "best-chosen",
    "best-sparser",
    "cosines",
    "rebuild",
}
COMMITS = known_commits()
PAGES = {str(path.relative_to(HOME)): path for path in TOOL["pages"]()}


def problems(text: str) -> list[str]:
    return [problem.partition(": ")[2] for problem in TOOL["look_at"](text).problems]


@pytest.mark.parametrize("page", sorted(PAGES.keys() - RECORDS))
def test_figures_are_those_of_their_files(page: str) -> None:
    found = TOOL["look_at"](PAGES[page].read_text(encoding="utf-8")).problems
    assert found == [], "make figures writes figures anew; benchmarks/figures.py says how one is tied"


@pytest.mark.parametrize("name", REPORTS)
class TestResultsFiles:
    """Each says what made it, and its JSON is its Markdown."""

    def test_json_has_the_figures_of_the_tables(self, name: str) -> None:
        path = TOOL["REPORTS"] / f"{name}.json"
        assert path.read_text(encoding="utf-8") == TOOL["as_json"](TOOL["results_of"](REPORTS[name])) + "\n"

    def test_it_is_stamped(self, name: str) -> None:
        stamped = json.loads((TOOL["REPORTS"] / f"{name}.json").read_text(encoding="utf-8"))
        assert all(stamped[fact] for fact in ("title", "command", "machine", "figures"))
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", stamped["date"])
        assert re.fullmatch(r"[0-9a-f]{7,}", stamped["commit"])  # not that of files nobody has
        assert stamped["commit"][:7] in COMMITS or not COMMITS

    def test_it_has_no_path_of_a_machine(self, name: str) -> None:
        assert not re.search(r"(?<![\w.])/(?:tmp|home|work|root|Users)/", REPORTS[name])


def test_every_results_file_can_be_made_anew_but_those_of_studies() -> None:
    assert REPORTS.keys() - LISTED.keys() == STUDIES | {f"torture-{part}" for part in TABLES}
    assert all("transcribed" in TOOL["results_of"](REPORTS[name]) for name in STUDIES)


def test_every_results_file_is_named_by_a_page() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in PAGES.values())
    assert {name for name in REPORTS if f"<!--{name}:" not in pages and f"reports/{name}.md" not in pages} == set()


@pytest.mark.parametrize("part", TABLES)
def test_results_of_the_torture_suite_are_what_it_wrote_down(part: str) -> None:
    found = json.loads((RESULTS / f"{part}.json").read_text(encoding="utf-8"))
    assert report(part, found) == REPORTS[f"torture-{part}"]


def test_what_makes_reports_is_there() -> None:
    commands = [entry["command"] for name, entry in LISTED.items() if name != "make"]
    files = [file for command in commands for file in re.findall(r"[\w/]+\.(?:py|toml)", command)]
    measured = [path for name, entry in LISTED.items() if name != "make" for path in entry.get("measures", [])]
    assert len(files) >= len(commands)
    assert [path for path in files + measured if not (HOME / path).exists()] == []


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two results files: fast (with a heading) and plain."""
    made = {
        "fast": {"M = 52": {"ours": {"seconds": [14.54, 15.6, 14.0], "share": 1234.5}, "lam = 0.1": {"seconds": 9}}},
        "plain": {"read": 0.25, "others": 300, "fine": 3.2e-12},
    }
    files: dict[str, Any] = {name: {"figures": figures} for name, figures in made.items()}
    monkeypatch.setitem(TOOL["values_of"].__globals__, "results", files.__getitem__)


@pytest.mark.usefixtures("results")
class TestTies:
    """What is tied is compared, what is measured and not tied is found."""

    @pytest.mark.parametrize(
        ("shown", "anew"),
        [
            ("16.1 s<!--fast:M = 52.ours.seconds-->", "14.5 s"),
            ("16 s<!--fast:M = 52.ours.seconds-->", "15 s"),
            ("1 (2.0, 3.00)<!--fast:M = 52.ours.seconds.*-->", "15 (15.6, 14.00)"),
            ("1 and 2.00<!--plain:others; read-->", "300 and 0.25"),
            ("7 times<!--plain:others / fast:M = 52-->", None),
            ("2 times<!--plain:others / read-->", "1,200 times"),
            ("+2.0<!--plain:others - read-->", "+299.8"),
            ("9.9<!--fast:M = 52.ours.seconds.2-->", "14.0"),
            ("1<!--fast:M = 52.lam = 0.1.seconds-->", "9"),
            ("1,000<!--fast:M = 52.ours.share-->", "1,234"),
            ("1.0e-9<!--plain:fine-->", "3.2e-12"),
        ],
    )
    def test_a_figure_is_written_as_it_stands(self, shown: str, anew: str | None) -> None:
        page = TOOL["look_at"](f"It took {shown}, all told.")
        assert page.problems
        if anew:
            assert TOOL["_COMMENT"].sub("", page.text) == f"It took {anew}, all told."
            assert problems(page.text) == []

    def test_a_table_is_compared_by_the_names_of_rows_and_columns(self) -> None:
        text = (
            "<!--fast:M = 52-->\n| model | M<!--given--> | seconds | both<!--seconds; share--> |\n|---|---|---|---|\n"
            "| **ours** | 52.0 | 14.5 (15.6) | 14.5 / 1,234 |\n| the other<!--plain:others--> | 5.2 | 300 | |\n"
        )
        assert problems(text) == []
        assert problems(text.replace("(15.6)", "(15.7)")) == ["15.7, but its results file has 15.6"]
        assert problems(text.replace("**ours**", "theirs"))[0] == "no 'theirs' among 'lam = 0.1', 'ours'"
        assert problems(text.replace("| seconds", "| minutes"))[0] == "no 'minutes' among 'seconds', 'share'"
        assert "more numbers than its file" in problems(text.replace("(15.6)", "(15.6, 14.0, 1.0)"))[0]

    @pytest.mark.parametrize(
        "text",
        [
            "1 s<!--given--> and 2 s",
            "in 14 s",
            "0.58 in similarity",
            "8x",
            "twice 3 %",
            "| a | seconds |\n|---|---|\n| b | 9 |\n",
            "took 5 minutes",
        ],
    )
    def test_a_measured_figure_without_a_file_is_found(self, text: str) -> None:
        assert "tied to no results file" in problems(text + "\n")[0]

    @pytest.mark.parametrize(
        "text",
        [
            "lam = 0.1, `14 s`, 95 % intervals, Python 3.11, in the 1990s, version 0.17.4, M = 52 and 62,110 words",
            "in 14 s<!--given-->",
            "<!--given-->\n| lam | 0.5 |\n|---|---|\n| a | 9 s |\n",
            "As code:\n\n    took 14 s\n\n    0.5\n\n```text\n0.6 s\n```\n",
        ],
    )
    def test_what_is_not_measured_is_left_alone(self, text: str) -> None:
        assert problems(text) == []

    def test_a_key_that_is_not_there_is_named(self) -> None:
        assert "no 'write' among" in problems("3 s<!--plain:write-->")[0]
        assert "a row, not a number" in problems("3 s<!--fast:M = 52.ours-->")[0]


def test_figures_of_tables_have_the_names_of_heading_row_and_column() -> None:
    text = (
        "# T\n\n| a | b |\n|---|---|\n| x | 1,000 s |\n| y | - |\n\n## Part\n\n| s | n | v | w |\n|---|---|---|---|\n"
    )
    text += "| p | 1 | 0.5 ±0.1 | |\n| p | 2 | **3e-4** | -1 |\n\n### More\n\n| a | b |\n|---|---|\n| x | 2 |\n"
    text += "\n## Last\n\n| a | b |\n|---|---|\n| x | 3 |\n"
    parts = {"p, 1": {"v": [0.5, 0.1]}, "p, 2": {"v": 3e-4, "w": -1}, "More": {"x": 2}}
    assert TOOL["figures_of"](text) == {"x": 1000, "Part": parts, "Last": {"x": 3}}
