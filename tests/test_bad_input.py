"""Bad input by table: every case of torture/bad_input.py ends as docs/reliability.md says."""

from __future__ import annotations

from pathlib import Path

import pytest

from torture.bad_input import CASES, Case, make_desk, shown, told
from torture.table import bad_input_rows
from wordforest.cli import app

HOME = Path(__file__).resolve().parent.parent
ROWS = bad_input_rows((HOME / "docs" / "reliability.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    desk = tmp_path_factory.mktemp("bad") / "desk"
    make_desk(desk)
    return desk


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_wrong_is_told_as_documented(desk: Path, case: Case) -> None:
    code, message, left = told(case, desk)
    assert code == 2
    error = message[message.find("error: ") :]
    assert error.startswith("error: "), message
    assert len(error.splitlines()) <= 2
    assert left == [*case.keeps]
    assert shown(message) == ROWS[case.name]


def test_the_table_has_the_cases_and_no_others() -> None:
    assert list(ROWS) == [case.name for case in CASES]


def test_every_command_is_in_the_table() -> None:
    import typer.main

    tried = {case.line.split()[0] for case in CASES}
    assert {*typer.main.get_command(app).commands} - tried - {"demo"} == set()
