"""A small sweep from its file to its report, by real processes; broken off and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.reproduce.small import Said
from wordforest.errors import InputError
from wordforest.reproduce import reproduce

SMALL = """
title = "A small sweep"
halves = true

[count]
min_count = 5

[[sweep]]
lam = [0, 0.1, 3]
structure = ["tree", "flat", "permuted"]
passes = [1, 3]
size = [13]

[[sweep]]
structure = ["tree"]
passes = [1]
size = [13]
share = [0.5]
"""
N_CELLS = 2 + 2 * 3 * 2 + 1


@dataclass(frozen=True)
class Made:
    path: Path
    out: Path
    said: Said
    records: list[dict[str, Any]]
    markdown: str


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, corpus: Path, data: Path) -> Made:
    folder = tmp_path_factory.mktemp("sweep")
    path, out, said = folder / "small.toml", folder / "out", Said()
    path.write_text(SMALL)
    reproduce(path, out, corpus=[str(corpus)], data=data, report=said, workers=2)
    return Made(path, out, said, lines(out), (out / "REPORT.md").read_text(encoding="utf-8"))


def test_every_cell_has_a_line_with_facts_and_scores(made):
    assert len(made.records) == N_CELLS
    for record in made.records:
        assert set(record["scores"]) == {"raw", "flat_norms"}
        assert set(record["scores"]["raw"]) == {"all", "development", "test"}
        assert 0 < record["error"] <= 1
        assert record["objective"] == pytest.approx(record["loss"] + record["penalty"])
    assert json.loads((made.out / "results.json").read_text())["cells"]
    assert f"{N_CELLS} cells, 0 of them known" in made.said.lines


def test_the_report_compares_at_equal_density_error_and_bits(made):
    for heading in (
        "## M = 13, raw rows",
        "### At equal share of non-zeros",
        "### At equal reconstruction error",
        "### At equal bits a word",
        "### The gap of the paper",
        "## M = 13, raw rows, every 2th line",
        "## Where tree and flat differ",
    ):
        assert heading in made.markdown.splitlines()
    assert f"{N_CELLS} cells of {N_CELLS}" in made.markdown


def test_every_second_line_is_counted(made, corpus):
    text = (made.out / "every-2" / "text.txt").read_text()
    assert text.splitlines() == corpus.read_text().splitlines()[::2]


def test_nothing_but_results_is_left(made):
    assert {path.name for path in made.out.iterdir()} == {
        *("REPORT.md", "results.json", "results.jsonl", "counts", "every-2")
    }


def test_cells_of_another_text_are_made_again_and_a_task_that_fails_is_named(made, data, tmp_path, corpus):
    text, path, out, said = tmp_path / "other.txt", tmp_path / "one.toml", tmp_path / "out", Said()
    text.write_text("".join(corpus.read_text().splitlines(keepends=True)[:2000]))
    out.mkdir()
    (out / "results.jsonl").write_text("".join(json.dumps(one) + "\n" for one in made.records))
    path.write_text("halves = true\n[count]\nmin_count = 5\n[[sweep]]\npasses = [1]\nsize = [13, 1300000]\n")
    with pytest.raises(InputError, match="1 tasks or cells failed"):
        reproduce(path, out, corpus=[str(text)], data=data, report=said, workers=1)
    assert "2 cells, 0 of them known" in said.lines
    assert [record["size"] for record in lines(out)] == [13] * (N_CELLS + 1)
    assert "**failed**: ForestError: trees = 100000" in (out / "REPORT.md").read_text()


def test_a_killed_sweep_leaves_no_process_and_resumes_to_the_same_cells(made, corpus, data, tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-m", "wordforest", "reproduce", str(made.path), "--out", str(out), "--workers", "1"]
    process = subprocess.Popen(
        [*command, "--corpus", str(corpus), "--data", str(data)], stderr=subprocess.DEVNULL, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while not ((out / "results.jsonl").is_file() and lines(out)) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=30)
    while _lives(process.pid) and time.monotonic() < deadline + 30:  # its learners and judges are the rest of the group
        time.sleep(0.05)
    assert not _lives(process.pid)
    known = lines(out)
    with (out / "results.jsonl").open("a") as file:
        file.write('{"lam": 0.1, "struc')  # a line that was broken off
    said = Said()
    reproduce(made.path, out, corpus=[str(corpus)], data=data, report=said, workers=1)
    assert f"{N_CELLS} cells, {len(known)} of them known" in said.lines
    assert lines(out)[: len(known)] == known
    assert sorted(map(_without_time, lines(out))) == sorted(map(_without_time, made.records))


def _lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def _without_time(record: dict[str, Any]) -> str:
    return json.dumps({name: value for name, value in record.items() if name != "seconds"})
