"""An experiment from its file to its report, by real commands."""

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

import wordforest as wf
from tests.commands import run_command
from tests.reproduce.small import SMALL, Said
from wordforest.errors import InputError
from wordforest.evaluation.standard_error import holm
from wordforest.reproduce import commands, reproduce
from wordforest.runtime.progress import Reporter


@dataclass(frozen=True)
class Made:
    """The small experiment, run once: its file, its folder, what was said, and what the folder held then."""

    path: Path
    out: Path
    said: Said
    results: dict[str, Any]
    markdown: str

    def row(self, model: str) -> dict[str, Any]:
        return next(row for row in self.results["rows"] if row["model"] == model)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, corpus: Path, data: Path) -> Made:
    folder = tmp_path_factory.mktemp("reproduce")
    path, out, said = folder / "small.toml", folder / "out", Said()
    path.write_text(SMALL)
    reproduce(path, out, corpus=[str(corpus)], data=data, report=said)
    markdown = (out / "REPORT.md").read_text(encoding="utf-8")
    return Made(path, out, said, json.loads((out / "results.json").read_text()), markdown)


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs run in this process, where only their results count; ``made`` has processes as users have them."""

    def run(arguments: list[str], _report: Reporter) -> tuple[float, int]:
        ended = run_command(*arguments, "--quiet")
        if ended.returncode:
            raise commands.FailedJobError(ended.stderr)
        return 1.0, 1

    monkeypatch.setattr(commands, "run_command", run)


def test_counts_are_shared_and_each_job_runs_once(made):
    assert [line.split()[1] for line in made.said.commands] == ["count", "baseline", "baseline", "train"]


def test_a_second_run_does_nothing_and_reports_the_same(made, corpus, data):
    said = Said()
    reproduce(made.path, made.out, corpus=[str(corpus)], data=data, report=said)
    assert said.commands == []
    assert json.loads((made.out / "results.json").read_text()) == made.results


def test_reports_of_something_else_are_not_replaced(made, corpus, data, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "REPORT.md").write_text("mine")
    other = tmp_path / "other.toml"
    other.write_text(made.path.read_text().replace('title = "', 'title = "Another: '))
    for path, out, said in ((made.path, tmp_path / "mine", "of something else"), (other, made.out, "the report '")):
        with pytest.raises(InputError, match=said):
            reproduce(path, out, corpus=[str(corpus)], data=data)
    assert (tmp_path / "mine" / "REPORT.md").read_text() == "mine"


def test_results_hold_settings_seeds_seconds_memory_scores_and_comparisons(made):
    row = made.row("PCA")
    assert row["seeds"] == [0, 1]
    assert len(row["seconds"]) == len(row["peak_bytes"]) == 2
    assert all(seconds > 0 for seconds in row["seconds"])
    assert all(peak > 1e7 for peak in row["peak_bytes"])
    assert set(row["scores"]) == {"all", "development", "test"}
    score = next(score for score in row["scores"]["all"][0] if score["set"] == "weighted mean")
    assert score["low"] <= score["value"] <= score["high"]
    assert {tuple(item["vectors"]) for item in made.results["comparisons"]} == {
        ("FOREST", "PCA"),
        ("FOREST", "PCA, flat"),
    }


def test_results_say_what_made_them(made, corpus):
    found = {name: made.results[name] for name in ("command", "commit", "date", "machine")}
    assert found["command"] == f"wordforest reproduce experiments/small.toml --corpus {corpus.name}"
    assert all(fact in made.markdown for fact in found.values())


def test_means_are_over_seeds_with_one_interval(made):
    row = made.row("PCA")
    by_seed = [next(s for s in scores if s["set"] == "weighted mean") for scores in row["scores"]["test"]]
    mean = next(s for s in row["means"]["test"] if s["set"] == "weighted mean")
    assert mean["value"] == pytest.approx(sum(s["value"] for s in by_seed) / 2)
    assert mean["low"] <= mean["value"] <= mean["high"]


def test_comparisons_are_on_the_test_half_with_corrected_p(made):
    compared = made.results["comparisons"]
    assert {one["part"] for one in compared} == {"test"}
    assert {tuple(one["seeds"]) for one in compared} == {(1, 2)}
    tested = [one for one in compared if one["p"] is not None]
    assert [one["p_holm"] for one in tested] == pytest.approx(holm([one["p"] for one in tested]))
    test = {s["set"]: s["n_scored"] for s in made.row("FOREST")["means"]["test"]}
    assert {one["set"]: one["n_common"] for one in compared} == {one["set"]: test[one["set"]] for one in compared}
    assert "items of the test half" in made.markdown
    assert "One seed, whose chance no interval holds: FOREST, M = 13." in made.markdown


def test_scores_are_those_of_evaluate(made, data):
    row = made.row("FOREST")
    expected = {(s.task, s.set): s.value for s in wf.evaluate(wf.read_vectors(row["folders"][0]), data)}
    found = {(s["task"], s["set"]): s["value"] for s in row["scores"]["all"][0]}
    assert found == pytest.approx(expected, nan_ok=True)


def test_the_report_shows_our_value_and_the_papers(made):
    lines = made.markdown.splitlines()
    line = next(line for line in lines if line.startswith("| FOREST |"))
    assert "(0.52)" in line
    assert "(24.38)" in line
    assert "±" in next(line for line in lines if line.startswith("| PCA | – |"))  # PCA makes no codes
    assert f"| FOREST | {made.row('FOREST')['nonzeros'][0]:.1%} |" in line
    for heading in ("## M = 13", "## FOREST against the others", "## Development and test halves", "## Commands"):
        assert heading in lines


@pytest.mark.usefixtures("in_process")
def test_a_changed_model_runs_again_and_one_that_fails_stops_no_other(made, corpus, data, tmp_path):
    changed = tmp_path / "changed.toml"
    broken = '\n[[model]]\nname = "BROKEN"\nmethod = "pca"\nsizes = [13000]\n'
    changed.write_text(SMALL.replace("\n[paper.13]", broken + "[paper.13]").replace("lam = 0.05", "lam = 0.2"))
    said = Said()
    rows = reproduce(changed, made.out, corpus=[str(corpus)], data=data, report=said)
    assert [line.split()[1] for line in said.commands] == ["train", "baseline"]  # and all that is the same stays
    assert [row.trial.model.name for row in rows if row.failure] == ["BROKEN"]
    assert "dimensions were asked for" in (made.out / "REPORT.md").read_text()


def test_published_vectors(data, tmp_path):
    (tmp_path / "v.txt").write_text("cat 1 0\ndog 0.9 0.1\nhorse 0.7 0.2\nparis 0 1\nrome 0.1 1\n")
    path = tmp_path / "t.toml"
    path.write_text('[[model]]\nname = "V"\npath = "v.txt"\n[paper.any]\nV = { similarity = 0.4 }\n')
    rows = reproduce(path, tmp_path / "out", data=data)
    assert rows[0].size == 2
    assert "(0.4)" in (tmp_path / "out" / "REPORT.md").read_text()


def test_words_and_vectors_of_two_files(data, tmp_path):
    (tmp_path / "w.txt").write_text("cat\ndog\nhorse\nparis\nrome\n")
    (tmp_path / "v.txt").write_text("1 0\n0.9 0.1\n0.7 0.2\n0 1\n0.1 1\n")
    path = tmp_path / "t.toml"
    path.write_text('[[model]]\nname = "V"\npath = "w.txt+v.txt"\n')
    assert [row.size for row in reproduce(path, tmp_path / "out", data=data)] == [2]


def test_a_file_that_cannot_be_read_stops_no_other(data, tmp_path):
    (tmp_path / "v.txt").write_text("cat 1 0\ndog 0.9 0.1\nhorse 0.7 0.2\nparis 0 1\nrome 0.1 1\n")
    (tmp_path / "broken.txt").write_text("cat 1 0\ndog 0.9\n")
    path = tmp_path / "t.toml"
    path.write_text('[[model]]\nname = "B"\npath = "broken.txt"\n[[model]]\nname = "V"\npath = "v.txt"\n')
    broken, good = reproduce(path, tmp_path / "out", data=data)
    assert "line 2" in broken.failure
    assert good.scored


def test_a_file_that_is_not_there_is_left_out_and_the_report_says_where_it_comes_from(data, tmp_path):
    vectors = tmp_path / "vectors"
    vectors.mkdir()
    (vectors / "v.txt").write_text("cat 1 0\ndog 0.9 0.1\nhorse 0.7 0.2\nparis 0 1\nrome 0.1 1\n")
    path = tmp_path / "t.toml"
    absent = '[[model]]\nname = "W"\npath = "w.txt"\nsource = "the page of W"\n'
    path.write_text('[[model]]\nname = "V"\npath = "v.txt"\n' + absent)
    said, out = Said(), tmp_path / "out"
    rows = reproduce(path, out, data=data, vectors=vectors, report=said)
    assert [row.trial.model.name for row in rows] == ["V"]
    told = "W, no file w.txt (the page of W)"
    assert f"left out: {told}" in said.lines
    assert f"- left out: {told}" in (out / "REPORT.md").read_text().splitlines()
    assert json.loads((out / "results.json").read_text())["left_out"] == [told]


@pytest.mark.usefixtures("in_process")
@pytest.mark.parametrize("kill", [signal.SIGINT, signal.SIGKILL])
def test_a_killed_run_resumes_to_the_same_scores(made, corpus, data, tmp_path, kill):
    out = tmp_path / "out"
    skipped = ["PCA, flat"]
    command = [sys.executable, "-m", "wordforest", "reproduce", str(made.path), "--out", str(out)]
    command += ["--corpus", str(corpus), "--data", str(data), "--skip", *skipped]
    process = subprocess.Popen(
        command,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    )
    deadline = time.monotonic() + 60
    while not list(out.glob("runs/*/job.json")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, kill)
    assert process.wait(timeout=30) != 0
    said = Said()
    reproduce(made.path, out, corpus=[str(corpus)], data=data, skip=skipped, report=said)
    assert 0 < len(said.commands) < 4
    rows = json.loads((out / "results.json").read_text())["rows"]
    assert [(row["model"], row["scores"]) for row in rows] == [
        (name, made.row(name)["scores"]) for name in ("PCA", "FOREST")
    ]
