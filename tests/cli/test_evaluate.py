"""evaluate, data: scores in every format, and the sets they come from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import wordforest as wf
from tests.cli.shell import done, refused
from tests.commands import run_command


class TestEvaluate:
    def test_scores_as_lines(self, run, data):
        lines = done("evaluate", run, "--data", data).stdout.splitlines()
        assert [line.split()[-1] for line in lines if line.startswith("similarity  EN-MC-30")] == ["3/4"]
        family = next(line for line in lines if line.startswith("analogy     family"))
        assert "100.0%" in family
        assert family.endswith("1/2")

    def test_scores_as_json_without_nan(self, run, data):
        def refuse(constant: str) -> None:
            raise AssertionError(f"{constant} is no JSON")

        lines = done("evaluate", run, run, "--json", WORDFOREST_DATA=str(data)).stdout.splitlines()
        scores = [json.loads(line, parse_constant=refuse) for line in lines]
        assert scores[: len(scores) // 2] == scores[len(scores) // 2 :]
        by_set = {score["set"]: score for score in scores}
        assert by_set["EN-RG-65"]["value"] is None  # no pair has vectors
        assert by_set["EN-MC-30"]["n_scored"] == 3
        assert by_set["EN-MC-30"]["vectors"] == str(run)

    def test_tasks_without_data_are_named(self, run, tmp_path):
        (tmp_path / "data" / "wordsim").mkdir(parents=True)
        (tmp_path / "data" / "wordsim" / "EN-WS-353-ALL.txt").write_text("king\tqueen\t8\ncat\tking\t1\n")
        result = run_command("evaluate", run, "--data", tmp_path / "data")
        assert result.returncode == 0, result.stderr
        assert "no data for analogy, completion, sentiment" in result.stderr

    def test_json_is_one_value_and_jsonl_an_object_a_line(self, run, data, tmp_path):
        given = ("evaluate", run, run, "--compare", "--data", data, "--format")
        lines = done(*given, "jsonl").stdout
        whole = json.loads(done(*given, "json").stdout)
        assert whole == [json.loads(line) for line in lines.splitlines()]
        done(*given, "json", "--out", tmp_path / "scores.json")
        assert json.loads((tmp_path / "scores.json").read_text()) == whole
        assert done(*given, "table", "--json").stdout == lines

    @pytest.mark.parametrize("form", ["markdown", "latex", "json", "jsonl", "table"])
    def test_scores_into_a_file(self, run, data, tmp_path, form):
        out = tmp_path / "scores"
        result = done("evaluate", run, "--data", data, "--format", form, "--out", out)
        assert "EN-MC-30" in out.read_text(encoding="utf-8")
        assert result.stdout == ""
        assert str(out) in result.stderr

    def test_two_models_are_compared_on_their_common_items(self, run, data, tmp_path):
        done("convert", run, tmp_path / "same.bin")
        result = done("evaluate", run, tmp_path / "same.bin", "--compare", "--json", "--data", data)
        items = [json.loads(line) for line in result.stdout.splitlines()]
        compared = {item["set"]: item for item in items if "difference" in item}
        assert compared["EN-MC-30"]["n_common"] == 3
        assert compared["EN-MC-30"]["difference"] == 0

    def test_one_task_a_half_and_flat_dimensions(self, run, data):
        options = ("--tasks", "similarity", "--half", "test", "--scale", "0", "--json", "--data", data)
        items = [json.loads(line) for line in done("evaluate", run, *options).stdout.splitlines()]
        assert {item["task"] for item in items} == {"similarity"}
        assert sum(item["n_total"] for item in items if item["set"].startswith("EN")) < 5

    def test_the_rule_for_words_without_vectors_is_printed(self, run, data):
        assert "a pair with a word that has no vector is skipped" in done("evaluate", run, "--data", data).stdout


class TestData:
    def test_list_fetch_and_check(self, tmp_path):
        place = {"WORDFOREST_CACHE": str(tmp_path / "cache")}
        assert "0 of 1 files here" in done("data", "list", **place).stdout
        assert run_command("data", "check", **place).returncode == 1
        (tmp_path / "cache" / "analogy").mkdir(parents=True)
        gensim = pytest.importorskip("gensim")
        shutil.copy(Path(gensim.__file__).parent / "test/test_data/questions-words.txt", tmp_path / "cache" / "analogy")
        assert "present   analogy/questions-words.txt" in run_command("data", "check", **place).stdout
        assert "here already" in done("data", "fetch", "analogy", **place).stderr

    def test_without_a_command_the_help_is_shown(self):
        result = run_command("data")
        assert result.returncode == 2
        assert "fetch" in result.stdout + result.stderr
        assert "error" not in result.stderr

    def test_evaluate_finds_what_was_fetched(self, run, data, tmp_path):
        shutil.copytree(data, tmp_path / "cache")
        lines = done("evaluate", run, WORDFOREST_CACHE=str(tmp_path / "cache")).stdout
        assert "EN-MC-30" in lines


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--tasks", "meaning"), "by --held"),
        (("--tasks", "similarity", "--held", "TEXT"), "for the task meaning"),
        (("--tasks", "meaning", "--held", "TEXT", "--half", "test"), "not for the task meaning"),
        (("--tasks", "meening"), "meaning"),
    ],
)
def test_evaluate_refuses_what_it_would_ignore(
    readable: Path, corpus: Path, options: tuple[str, ...], message: str
) -> None:
    assert message in refused("evaluate", readable, *(corpus if option == "TEXT" else option for option in options))


def test_evaluate_judges_meaning_node_by_node_and_over_runs(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    topics = [[f"{topic}{chr(97 + i)}" for i in range(12)] for topic in ("sea", "sky", "war", "art")]
    rows = [" ".join(rng.choice(topics[i % 4], 12)) for i in range(4000)]
    letters = [chr(97 + i) for i in range(26)]
    rare = [" ".join("x" + "".join(word) for word in line) for line in rng.choice(letters, (24_000, 12, 3))]
    (tmp_path / "train.txt").write_text("\n".join(rows[:3000]) + "\n")
    (tmp_path / "held.txt").write_text("\n".join(rows[3000:] + rare) + "\n")
    runs = [tmp_path / f"run{seed}" for seed in range(2)]
    for seed, out in enumerate(runs):
        wf.train(tmp_path / "train.txt", preset="readable", trees=2, min_count=2, seed=seed, out=out)
    text = done("evaluate", *runs, "--tasks", "meaning", "--held", tmp_path / "held.txt", "--json").stdout
    found = [json.loads(line) for line in text.splitlines()]
    assert any(row.get("set") == "stability" for row in found)
    assert sum("coherence" in row for row in found) == 2 * 26
