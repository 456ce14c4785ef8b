"""make checklist: what is missing is found, what needs a person says so, and what is ours to give is there."""

from __future__ import annotations

import importlib
import re
from datetime import date
from pathlib import Path
from types import ModuleType

import pytest

HOME = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def checks() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HOME / "tools"))
        return importlib.import_module("checks")


@pytest.fixture(scope="module")
def checklist(checks: ModuleType) -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(HOME / "tools"))
        return importlib.import_module("checklist")


@pytest.fixture(scope="module")
def answers(checklist: ModuleType) -> dict[tuple[str, str], tuple[str, str]]:
    """Verdict and reason by list and line."""
    return {(item.asked_by, item.what): item.answer(checklist.Repository(HOME)) for item in checklist.ITEMS}


def test_nothing_is_missing(answers: dict[tuple[str, str], tuple[str, str]]) -> None:
    missing = {line: why for line, (verdict, why) in answers.items() if verdict == "no"}
    assert missing == {}


def test_what_only_a_person_can_do_is_told(answers: dict[tuple[str, str], tuple[str, str]]) -> None:
    assert all(why for verdict, why in answers.values() if verdict == "needs a person")


def test_an_empty_folder_has_nothing(checklist: ModuleType, tmp_path: Path) -> None:
    answers = {item.what: item.answer(checklist.Repository(tmp_path)).verdict for item in checklist.ITEMS}
    assert [line for line, verdict in answers.items() if verdict == "yes"] == []
    assert sum(verdict == "no" for verdict in answers.values()) > len(answers) / 2


def test_every_line_is_asked_once(checklist: ModuleType) -> None:
    lines = [(item.asked_by, item.what) for item in checklist.ITEMS]
    assert len(set(lines)) == len(lines)
    assert {asked_by for asked_by, _ in lines} == {"pyOpenSci", "JOSS"}


@pytest.mark.parametrize(("verdict", "status"), [("yes", 0), ("needs a person", 0), ("no", 1)])
def test_only_a_no_is_a_failure(
    checklist: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    verdict: str,
    status: int,
) -> None:
    item = checklist.Item("JOSS", "paper", "a line", lambda _: checklist.Answer(verdict, "a [reason]"))
    monkeypatch.setattr(checklist, "ITEMS", [item])
    assert checklist.main([]) == status
    assert re.search(rf"JOSS +paper +a line +{verdict} +a \[reason\]", capsys.readouterr().out)
    checklist.main(["--open"])
    assert ("a line" in capsys.readouterr().out) == (verdict != "yes")


def put(home: Path, name: str, text: str) -> None:
    (home / name).parent.mkdir(parents=True, exist_ok=True)
    (home / name).write_text(text, encoding="utf-8")


class TestChecks:
    """What is wrong is named."""

    def test_a_citation_that_is_not_listed(self, checks: ModuleType, tmp_path: Path) -> None:
        put(tmp_path, "paper/paper.md", "---\ntitle: t\n---\nAs [@known2000] and @unknown2001 say; a@b.org.\n")
        put(tmp_path, "paper/paper.bib", "@misc{known2000,\n  url = {x}\n}\n@misc{unread,\n  year = {1}\n}\n")
        found = checks.paper_references(checks.Repository(tmp_path))
        expected = ["unknown2001 is cited and not listed", "unread is listed and not cited"]
        assert found == [*expected, "unread has neither doi nor url"]

    def test_what_the_authors_have_not_written(self, checks: ModuleType, tmp_path: Path) -> None:
        put(tmp_path, "paper/paper.md", "---\nauthors:\n  - name: A\n---\n# Money\nTo be\nfilled in by the authors.\n")
        repository = checks.Repository(tmp_path)
        assert checks.written("")(repository)
        assert not checks.written("Money")(repository)
        assert not checks.written("Thanks")(repository)

    def test_a_version_of_python_that_gets_no_fixes(self, checks: ModuleType, tmp_path: Path) -> None:
        put(tmp_path, "pyproject.toml", '[project]\nrequires-python = ">=3.11"\n')
        assert checks.pythons(checks.Repository(tmp_path), date(2026, 11, 1)) == []
        assert checks.pythons(checks.Repository(tmp_path), date(2027, 11, 1)) == ["Python 3.11 gets no fixes any more"]

    def test_a_licence_that_is_none(self, checks: ModuleType, tmp_path: Path) -> None:
        put(tmp_path, "pyproject.toml", '[project]\nlicense = "Mine"\n')
        assert "'Mine' of pyproject.toml is none" in checks.licence(checks.Repository(tmp_path))[0]

    def test_a_tutorial_of_which_nothing_runs(self, checks: ModuleType, tmp_path: Path) -> None:
        for name in "abc":
            put(
                tmp_path,
                f"docs/tutorials/{name}.md",
                "```python\n# not run: slow\n```\n" + "```python\n1\n```\n" * (name < "c"),
            )
        assert checks.tutorials(checks.Repository(tmp_path)) == ["c.md: nothing that runs"]

    def test_a_figure_that_no_file_has(self, checks: ModuleType, tmp_path: Path) -> None:
        put(tmp_path, "benchmarks/figures.py", (HOME / "benchmarks" / "figures.py").read_text(encoding="utf-8"))
        put(tmp_path, "README.md", "It takes 3 s.\n")
        found = checks.figures("README.md")(checks.Repository(tmp_path))
        assert found == ["README.md, line 1: tied to no results file: 3 s"]
