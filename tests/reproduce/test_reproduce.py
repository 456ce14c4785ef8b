"""Experiments: what a file means, that only what is missing runs, and what the report says."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.commands import run_command
from wordforest.errors import InputError
from wordforest.reproduce import jobs, reproduce
from wordforest.reproduce.chart import Dot, dots
from wordforest.reproduce.document import Code, Heading, Items, Paragraph, Pictures, Table, to_html, to_markdown
from wordforest.reproduce.plan import cells_of, read_experiment, without
from wordforest.runtime.progress import Reporter

HOME = Path(__file__).resolve().parents[2]
EXPERIMENTS = sorted((HOME / "experiments").glob("*.toml"))

SMALL = """
title = "A small table"
reference = "FOREST"
halves = true

[count]
min_count = 5

[[model]]
name = "PCA"
method = "pca"
sizes = [13]
seeds = [0, 1]

[[model]]
name = "PCA, flat"
method = "pca"
sizes = [13]
seeds = [0, 1]
scale = 0.0

[[model]]
name = "FOREST"
method = "forest"
sizes = [13]
options = { lam = 0.05 }

[paper.13]
FOREST = { similarity = 0.52, syntactic = 24.38 }

[quick]
corpus = "demo"
sizes = [13]
[quick.options]
forest = { epochs = 1 }
"""


class Said(Reporter):
    """Remembers what was said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, message: str) -> None:
        self.lines.append(message)

    @property
    def commands(self) -> list[str]:
        return [line for line in self.lines if line.startswith("wordforest ")]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs and questions about the words of the made-up corpus."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "wordsim").mkdir()
    (folder / "analogy").mkdir()
    animals, cities = ("cat", "dog", "horse", "cow"), ("paris", "london", "berlin", "madrid", "rome")
    inside = [(a, b, 8 + len(a) % 3) for group in (animals, cities) for a in group for b in group if a < b]
    across = [(a, b, 1 + len(b) % 3) for a in animals for b in cities]
    lines = [f"{a}\t{b}\t{score}\n" for a, b, score in inside + across]
    (folder / "wordsim" / "EN-MC-30.txt").write_text("".join(lines))
    questions = ": family\nman king woman queen\nking man queen woman\n: gram1-x\nhis he her she\nhe his she her\n"
    (folder / "analogy" / "questions-words.txt").write_text(questions)
    return folder


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


class TestPlan:
    @pytest.mark.parametrize("path", EXPERIMENTS, ids=lambda path: path.stem)
    @pytest.mark.parametrize("quick", [False, True])
    def test_every_experiment_of_the_repository_reads(self, path, quick):
        experiment = read_experiment(path, quick=quick)
        assert cells_of(experiment)
        named = {name for by_model in experiment.paper.values() for name in by_model}
        assert named <= {model.name for model in read_experiment(path).models}

    def test_cells_come_by_size_and_a_job_for_each_seed(self, experiment):
        cells = cells_of(read_experiment(experiment))
        assert [(cell.model.name, cell.size, len(cell.jobs)) for cell in cells] == [
            ("PCA", 13, 2), ("PCA, flat", 13, 2), ("FOREST", 13, 1),
        ]  # fmt: skip

    def test_scale_shares_the_job_and_options_do_not(self, experiment):
        pca, flat, forest = cells_of(read_experiment(experiment))
        assert pca.jobs == flat.jobs
        assert forest.jobs[0].name != cells_of(read_experiment(experiment, quick=True))[2].jobs[0].name

    def test_models_can_be_left_out_by_name_and_size(self, experiment):
        cells = cells_of(read_experiment(experiment))
        assert [cell.model.name for cell in without(cells, ["PCA", "FOREST@13"])] == ["PCA, flat"]
        with pytest.raises(InputError, match="--skip PCA@52: no such model"):
            without(cells, ["PCA@52"])

    def test_quick_changes_corpus_seeds_and_options(self, experiment):
        quick = read_experiment(experiment, quick=True)
        assert quick.corpus == ("demo",)
        assert quick.models[0].seeds == (0,)
        assert quick.models[2].options == {"lam": 0.05, "epochs": 1}

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("[[model]]\nmethod = 'pca'\ncolour = 1", "number 1: unknown key 'colour'"),
            ("[[model]]\nmethod = 'forest'\nsizes = [50]", "no multiple of 13"),
            ("[[model]]\nmethod = 'file'", "path belong together"),
            ("tasks = ['parsing']\n[[model]]\nmethod = 'pca'", "no task is called 'parsing'"),
            ("reference = 'X'\n[[model]]\nmethod = 'pca'", "none of the models"),
            ("[[model]]\nmethod = 'pca'\noptions = { power = [1] }", "options.power"),
            ("title = 3\n[[model]]\nmethod = 'pca'", "expected str"),
        ],
    )
    def test_a_bad_file_names_itself_and_what_is_wrong(self, tmp_path, text, message):
        path = tmp_path / "bad.toml"
        path.write_text(text)
        with pytest.raises(InputError, match=message) as caught:
            read_experiment(path)
        assert str(path) in str(caught.value)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, corpus: Path, data: Path) -> tuple[Path, Path, Said]:
    """The experiment, run once: its file, its folder, and what was said."""
    folder = tmp_path_factory.mktemp("reproduce")
    (folder / "small.toml").write_text(SMALL)
    said = Said()
    reproduce(folder / "small.toml", folder / "out", corpus=[str(corpus)], data=data, report=said)
    return folder / "small.toml", folder / "out", said


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs run in this process, where only their results count; ``made`` has processes as users have them."""

    def run(arguments: list[str], report: Reporter) -> tuple[float, int]:
        ended = run_command(*arguments, "--quiet")
        if ended.returncode:
            raise jobs.FailedJobError(ended.stderr)
        return 1.0, 1

    monkeypatch.setattr(jobs, "run_command", run)


class TestReproduce:
    def test_counts_are_shared_and_each_job_runs_once(self, made):
        _, _, said = made
        kinds = [line.split()[1] for line in said.commands]
        assert kinds == ["count", "baseline", "baseline", "train"]

    def test_a_second_run_does_nothing_and_reports_the_same(self, made, corpus, data):
        path, out, _ = made
        before = (out / "results.json").read_text()
        said = Said()
        reproduce(path, out, corpus=[str(corpus)], data=data, report=said)
        assert said.commands == []
        assert (out / "results.json").read_text() == before

    @pytest.mark.usefixtures("in_process")
    def test_only_what_changed_runs_again(self, made, corpus, data, tmp_path):
        path, out, _ = made
        changed = tmp_path / "changed.toml"
        changed.write_text(SMALL.replace("lam = 0.05", "lam = 0.2"))
        said = Said()
        reproduce(changed, out, corpus=[str(corpus)], data=data, report=said)
        assert [line.split()[1] for line in said.commands] == ["train"]
        reproduce(path, out, corpus=[str(corpus)], data=data)  # the others are not disturbed

    @pytest.mark.usefixtures("in_process")
    def test_another_text_runs_all_again(self, made, corpus, data, tmp_path):
        path = made[0]
        other = tmp_path / "other.txt"
        other.write_text(corpus.read_text() + "The cat eats hay in the barn.\n")
        said = Said()
        reproduce(path, tmp_path / "out", corpus=[str(other)], data=data, report=said)
        other.write_text(corpus.read_text() + "The cow eats hay in the yard.\n")
        again = Said()
        reproduce(path, tmp_path / "out", corpus=[str(other)], data=data, report=again)
        assert again.commands == said.commands
        assert len(again.commands) == 4

    def test_results_hold_settings_seeds_seconds_memory_scores_and_comparisons(self, made):
        results = json.loads((made[1] / "results.json").read_text())
        row = next(row for row in results["rows"] if row["model"] == "PCA")
        assert row["seeds"] == [0, 1]
        assert len(row["seconds"]) == len(row["peak_bytes"]) == 2
        assert all(seconds > 0 for seconds in row["seconds"])
        assert all(peak > 1e7 for peak in row["peak_bytes"])
        assert set(row["scores"]) == {"all", "development", "test"}
        score = next(score for score in row["scores"]["all"][0] if score["set"] == "weighted mean")
        assert score["low"] <= score["value"] <= score["high"]
        assert {item["second_model"] for item in results["comparisons"]} == {"PCA", "PCA, flat"}

    def test_scores_are_those_of_evaluate(self, made, data):
        import wordforest as wf

        results = json.loads((made[1] / "results.json").read_text())
        row = next(row for row in results["rows"] if row["model"] == "FOREST")
        folder = row["folders"][0]
        expected = {(s.task, s.set): s.value for s in wf.evaluate(wf.read_vectors(folder), data)}
        found = {(s["task"], s["set"]): s["value"] for s in row["scores"]["all"][0]}
        assert found == pytest.approx(expected, nan_ok=True)

    def test_the_report_shows_our_value_and_the_papers(self, made):
        text = (made[1] / "REPORT.md").read_text()
        line = next(line for line in text.splitlines() if line.startswith("| FOREST |"))
        assert "(0.52)" in line
        assert "(24.38)" in line
        assert "±" in next(line for line in text.splitlines() if line.startswith("| PCA |"))
        for heading in ("## M = 13", "## FOREST against the others", "## Development and test halves", "## Commands"):
            assert heading in text

    def test_the_page_is_well_formed_and_needs_nothing_else(self, made):
        page = (made[1] / "report.html").read_text()
        body = page[page.index("<body>") : page.index("</html>")]
        ElementTree.fromstring(body.replace("<svg ", '<svg xmlns="" '))
        assert "http" not in page.replace("http-equiv", "")
        assert "<svg" in page

    @pytest.mark.usefixtures("in_process")
    def test_a_model_that_fails_is_reported_and_the_others_still_run(self, corpus, data, tmp_path):
        path = tmp_path / "bad.toml"
        path.write_text(SMALL.replace("sizes = [13]\nseeds = [0, 1]\n\n", "sizes = [13000]\n\n", 1))
        rows = reproduce(path, tmp_path / "out", corpus=[str(corpus)], data=data)
        failed = [row.cell.model.name for row in rows if row.failure]
        assert failed == ["PCA"]
        assert "dimensions were asked for" in (tmp_path / "out" / "REPORT.md").read_text()

    def test_published_vectors(self, data, tmp_path):
        (tmp_path / "v.txt").write_text("cat 1 0\ndog 0.9 0.1\nhorse 0.7 0.2\nparis 0 1\nrome 0.1 1\n")
        path = tmp_path / "t.toml"
        path.write_text('[[model]]\nname = "V"\npath = "v.txt"\n[paper.any]\nV = { similarity = 0.4 }\n')
        rows = reproduce(path, tmp_path / "out", data=data)
        assert rows[0].size == 2
        assert "(0.4)" in (tmp_path / "out" / "REPORT.md").read_text()


@pytest.mark.parametrize("kill", [signal.SIGINT, signal.SIGKILL])
def test_a_broken_run_goes_on_to_the_same_scores(made, corpus, data, tmp_path, kill):
    path, out, _ = made
    command = [sys.executable, "-m", "wordforest", "reproduce", str(path), "--out", str(tmp_path / "out"),
               "--corpus", str(corpus), "--data", str(data)]  # fmt: skip
    process = subprocess.Popen(
        command, stderr=subprocess.DEVNULL, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not list((tmp_path / "out").glob("runs/*/job.json")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, kill)
    assert process.wait(timeout=30) != 0
    said = Said()
    reproduce(path, tmp_path / "out", corpus=[str(corpus)], data=data, report=said)
    assert 0 < len(said.commands) < 4
    scores = [[row["scores"] for row in json.loads((folder / "results.json").read_text())["rows"]]
              for folder in (out, tmp_path / "out")]  # fmt: skip
    assert scores[0] == scores[1]


class TestDocument:
    BLOCKS = (
        Heading("A <b> & c", 1), Paragraph("**bold** and `x < y`"), Items(("one", "two")),
        Table(("model", "value"), (("a|b", "1"),), "below"), Code(("wordforest train <x>",)),
        Pictures(("<svg></svg>",)),
    )  # fmt: skip

    def test_markdown(self):
        text = to_markdown(self.BLOCKS)
        assert "# A <b> & c\n\n**bold**" in text
        assert "| a\\|b | 1 |\n\nbelow" in text
        assert "svg" not in text

    def test_html_escapes_everything(self):
        page = to_html("<script>", self.BLOCKS)
        assert "<script>" not in page
        assert "A &lt;b&gt; &amp; c" in page
        assert "<b>bold</b> and <code>x &lt; y</code>" in page
        assert "train &lt;x&gt;" in page


class TestChart:
    def test_has_a_dot_an_interval_and_the_papers_diamond(self):
        svg = ElementTree.fromstring(dots("similarity", [Dot("A<", 0.5, 0.4, 0.6, 0.45), Dot("B", 0.2, 0.1, 0.3)], 2))
        assert len(svg.findall("circle")) == 2
        assert len(svg.findall("path")) == 1
        assert "A&lt;" not in svg.find("text[2]").text

    def test_nothing_to_show(self):
        assert dots("x", [Dot("A", math.nan, math.nan, math.nan)], 1) == ""

    def test_one_value_only(self):
        assert "circle" in dots("x", [Dot("A", 1.0, 1.0, 1.0)], 1)
