"""Bad input by table: every case of torture/bad_input.py ends as docs/messages.md says."""

from __future__ import annotations

from pathlib import Path

import pytest

from torture.bad_input import CASES, Case, make_desk, run_case, shown
from torture.table import bad_input_rows
from wordforest.cli.command import app

HOME = Path(__file__).resolve().parents[2]
ROWS = bad_input_rows((HOME / "docs" / "messages.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    desk = tmp_path_factory.mktemp("bad") / "desk"
    make_desk(desk)
    return desk


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_wrong_is_reported_as_documented(desk: Path, case: Case) -> None:
    ended, left = run_case(case, desk)
    assert (ended.returncode, ended.stdout) == (2, "")
    error = ended.stderr[ended.stderr.find("error: ") :]
    assert error.startswith("error: "), ended.stderr
    assert len(error.splitlines()) <= 2
    assert left == [*case.keeps]
    assert shown(ended.stderr) == ROWS[case.name]


def test_the_table_has_the_cases_and_no_others() -> None:
    assert list(ROWS) == [case.name for case in CASES]


def test_every_command_is_in_the_table() -> None:
    import typer.main

    tried = {case.line.split()[0] for case in CASES}
    assert {*typer.main.get_command(app).commands} - tried - {"demo"} == set()


ODD = {
    "repeated words": ("inspect odd.txt", b"3 2\na 1 0\nb 0 1\na 5 5\n", "1 rows of repeated words are left out"),
    "Latin-1": ("inspect odd.txt", b"2 2\nna\xefve 1 0\nb 0 1\n", "all words are read as Latin-1"),
    "a byte order mark": ("inspect odd.txt", b"\xef\xbb\xbf2 2\na 1 0\nb 0 1\n", ""),
    "line ends of Windows": ("inspect odd.txt", b"2 2\r\na 1 0\r\nb 0 1\r\n", ""),
    "words with tabs in a binary file": ("inspect odd.bin", b"1 1\na\tb \0\0\x80?", ""),
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_odd_but_usable_is_used_with_a_note(desk: Path, name: str) -> None:
    line, content, note = ODD[name]
    ended, _ = run_case(Case("vectors", name, line, {line.split()[1]: content}), desk)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == "" if not note else ended.stderr.startswith("note: ")
    assert note in ended.stderr


@pytest.mark.parametrize("end", ["\r\n", "\r", "\x0b", "mixed"])
def test_line_ends_of_any_kind_give_the_same_counts(tmp_path: Path, end: str) -> None:
    import wordforest as wf

    lines = ["the king sees his crown", "a cat eats fish", "the dog eats meat"] * 5
    ends = ["\n", "\r\n", "\n\n", "\r\n\r\n"] if end == "mixed" else [end + "\n" if end == "\r" else end]
    (tmp_path / "plain.txt").write_text("".join(f"{line}\n" for line in lines), newline="")
    odd = "".join(line + ends[i % len(ends)] for i, line in enumerate(lines))
    (tmp_path / "odd.txt").write_text(odd, newline="")
    plain, other = (wf.count(tmp_path / name, min_count=1) for name in ("plain.txt", "odd.txt"))
    assert plain.vocabulary.words == other.vocabulary.words
    if end != "\x0b":  # a vertical tab ends no line: it is white space inside one
        assert (plain.matrix != other.matrix).nnz == 0
