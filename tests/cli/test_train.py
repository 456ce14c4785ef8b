"""train, count, baseline: what they write, report and leave behind."""

from __future__ import annotations

import gzip
import json
import os
import pty
import shutil
import signal
import subprocess
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import wordforest as wf
from tests.cli.shell import FAST, RUN_FILES, WORDFOREST, done, environment, refused, same_results, trained
from tests.commands import run_command
from wordforest import store
from wordforest.cli import train
from wordforest.evaluation import datasets
from wordforest.options import PRESETS
from wordforest.settings import CountSettings, TrainSettings


def test_the_demo_goes_on_where_there_is_nothing_to_score_with(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WORDFOREST_CACHE", str(tmp_path))
    monkeypatch.delenv("WORDFOREST_DATA", raising=False)
    monkeypatch.setattr(datasets, "find_spec", lambda _: None)  # as if gensim, whose sets it takes, were not installed
    train._show_scores("demo", wf.Vectors(["a", "b"], [[1, 0], [0, 1]]))
    printed = capsys.readouterr()
    assert printed.err.startswith("note: no scores: expected evaluation data, found none")
    assert printed.out == ""


class TestTrain:
    def test_writes_the_files_of_a_run_and_nothing_else(self, run):
        assert {path.name for path in run.iterdir()} == RUN_FILES | {"counts"}

    def test_config_holds_every_setting_and_what_the_result_depends_on(self, run, corpus):
        config = json.loads((run / "config.json").read_text())
        names = {field.name for settings in (CountSettings, TrainSettings) for field in fields(settings)}
        assert names | {"corpus", "fingerprint", "versions", "learner", "gap", "preset"} == set(config)
        assert (config["trees"], config["epochs"], config["seed"]) == (2, 8, 0)
        assert config["corpus"] == [str(corpus)]
        assert len(config["fingerprint"]) == 64
        assert {"python", "wordforest", "numpy", "scipy", "numba"} == set(config["versions"])

    def test_vocabulary_is_sorted_by_count_and_has_the_number(self, run):
        rows = [line.split("\t") for line in (run / "vocab.tsv").read_text().splitlines()]
        totals = [int(total) for _, total in rows]
        assert totals == sorted(totals, reverse=True)
        assert "#number#" in dict(rows)

    def test_a_node_is_zero_below_a_zero_parent_and_zeros_are_exact(self, run):
        loaded = wf.load_run(run)
        A, parent = loaded.codes.toarray(), loaded.forest.parent
        inner = np.flatnonzero(parent >= 0)
        assert parent.tolist() == wf.Forest.complete(2, (3, 3)).parent.tolist()
        assert not ((A[:, inner] != 0) & (A[:, parent[inner]] == 0)).any()
        assert 0 < np.count_nonzero(A) == loaded.codes.nnz < A.size

    def test_columns_of_the_dictionary_have_at_most_unit_length(self, run):
        assert np.linalg.norm(wf.load_run(run).dictionary, axis=0).max() <= 1 + 1e-5  # float32

    def test_history_tells_every_step_and_the_objective_never_rises(self, run):
        steps = [json.loads(line) for line in (run / "history.jsonl").read_text().splitlines()]
        assert all({"seconds", "objective", "nonzeros", "words_seen"} <= set(step) for step in steps)
        objective = np.array([step["objective"] for step in steps])
        assert (np.diff(objective) <= 1e-6 * objective[:-1]).all()  # sums are of float32 products
        assert all(np.diff([step["words_seen"] for step in steps]) > 0)
        assert all(np.diff([step["seconds"] for step in steps]) >= 0)
        assert steps[-1]["nonzeros"] == pytest.approx(wf.load_run(run).vectors.density())

    def test_from_counts_gives_the_bits_of_from_text(self, run, counts, tmp_path):
        assert same_results(trained(counts, tmp_path / "run"), run)

    def test_any_number_of_workers_gives_the_same_bits(self, large_corpus, large_counts, tmp_path):
        options = ("--epochs", 2)
        one = trained(large_corpus, tmp_path / "1", *options, "--workers", 1)  # counts with one worker, too
        two = trained(large_counts, tmp_path / "2", *options, "--workers", 2)
        assert same_results(one, two)

    def test_another_seed_gives_other_bits(self, run, counts, tmp_path):
        other = trained(counts, tmp_path / "run", "--seed", 1)
        assert (other / "codes.safetensors").read_bytes() != (run / "codes.safetensors").read_bytes()

    def test_standard_input(self, run, corpus, tmp_path):
        assert same_results(trained("-", tmp_path / "run", stdin=corpus.read_text()), run)

    def test_compressed_and_several_files_and_folders(self, run, corpus, tmp_path):
        lines = corpus.read_bytes().splitlines(keepends=True)
        (tmp_path / "first").mkdir()
        (tmp_path / "first" / "part.txt.gz").write_bytes(gzip.compress(b"".join(lines[:1500])))
        (tmp_path / "second.txt").write_bytes(b"".join(lines[1500:]))
        assert same_results(trained([tmp_path / "first", tmp_path / "second.txt"], tmp_path / "run"), run)

    def test_invalid_bytes_can_be_replaced(self, corpus, tmp_path):
        (tmp_path / "text.txt").write_bytes(corpus.read_bytes() + b"caf\xe9\n")
        run = trained(tmp_path / "text.txt", tmp_path / "run", "--errors", "replace")
        config = json.loads((run / "config.json").read_text())
        assert config["errors"] == "replace"

    def test_an_existing_run_needs_force_which_leaves_foreign_files(self, run, counts, tmp_path):
        out = shutil.copytree(run, tmp_path / "run")
        (out / "notes.txt").write_text("mine")
        refused = run_command("train", counts, "--out", out, *FAST, "--seed", 3)
        assert (refused.returncode, same_results(out, run)) == (2, True)
        assert "--force" in refused.stderr
        trained(counts, out, "--seed", 3, "--force")
        assert not same_results(out, run)
        assert {path.name for path in out.iterdir()} == RUN_FILES | {"counts", "notes.txt"}


def first_words(text: str) -> list[str]:
    return [line.replace(":", " ").split()[0] for line in text.splitlines()]


PURPOSES = {"paper": "the method as published", "readable": "to read, few non-zeros", "best": "to score"}


class TestProgress:
    def test_quiet_leaves_warnings_alone(self, counts, tmp_path):
        result = done("train", counts, "--out", tmp_path / "run", *FAST)
        assert result.stdout == ""
        assert all(line.startswith("warning: ") for line in result.stderr.splitlines())

    def test_a_log_gets_one_plain_line_a_stage(self, corpus, tmp_path):
        result = done("train", corpus, "--out", tmp_path / "run", "--trees", 1)
        assert first_words(result.stderr) == [
            "read",
            "count",
            "learn",
            "wrote",
            "next",
            "presets",
        ]
        assert "\x1b" not in result.stderr
        assert result.stdout == ""

    def test_a_compressed_corpus_gets_the_same_lines(self, corpus, tmp_path):
        (tmp_path / "c.txt.gz").write_bytes(gzip.compress(corpus.read_bytes()))
        result = done("count", tmp_path / "c.txt.gz", "--out", tmp_path / "counts")
        assert first_words(result.stderr) == ["read", "count", "wrote", "next"]

    def test_every_line_of_json_parses(self, corpus, tmp_path):
        result = done("train", corpus, "--out", tmp_path / "run", "--trees", 1, "--json")
        events = [json.loads(line) for line in result.stderr.splitlines()]
        *progress, wrote, proposed, presets = events
        assert [event["stage"] for event in progress if event["done"] == event["total"]] == ["read", "count", "learn"]
        assert (wrote["wrote"], wrote["words"], wrote["dimensions"]) == (str(tmp_path / "run"), 49, 13)
        made = wf.load_run(tmp_path / "run")
        assert wrote["zeros"] == pytest.approx(1 - made.vectors.density(), abs=1e-4)
        assert f"wordforest inspect {tmp_path / 'run'}" in proposed["next"]
        assert presets == {"preset": "paper", "presets": {name: PURPOSES[name] for name in PRESETS}}

    def test_a_terminal_gets_bars(self, corpus, tmp_path):
        master, terminal = pty.openpty()
        command = [*WORDFOREST, "train", str(corpus), "--out", str(tmp_path / "run"), "--trees", "1", "--epochs", "2"]
        env = environment(TERM="xterm-256color", COLUMNS="120")
        process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env=env)
        os.close(terminal)
        text = read_all(master).decode()
        assert process.wait(60) == 0, text
        assert all(stage in text for stage in ("read", "count", "learn", "objective", "wrote"))
        assert "\x1b[" in text


def read_all(handle: int) -> bytes:
    """Return what a terminal shows until its last writer has gone."""
    parts = []
    try:
        while part := os.read(handle, 1 << 16):
            parts.append(part)
    except OSError:  # Linux says so at the end
        pass
    os.close(handle)
    return b"".join(parts)


class TestBaseline:
    def test_writes_a_run_that_other_commands_read(self, counts, tmp_path):
        done("baseline", "pca", counts, "--out", tmp_path / "run", "--dimensions", 5, "--power", 0.5, "--quiet")
        config = json.loads((tmp_path / "run" / "config.json").read_text())
        assert (config["learner"], config["power"], config["dimensions"], config["measure"]) == ("pca", 0.5, 5, "pmi")
        assert len(done("neighbors", tmp_path / "run", "dog", "-k", 3).stdout.splitlines()) == 4

    def test_progress_in_a_log(self, corpus, tmp_path):
        lines = done("baseline", "nce", corpus, "--out", tmp_path / "r", "--dimensions", 4, "--epochs", 1).stderr
        stages = [line.split(":")[0] for line in lines.splitlines()]
        assert [stage for stage in stages if not stage.endswith("%")] == [  # those come where a stage takes seconds
            "read",
            "learn",
            f"wrote {tmp_path / 'r'}",
            "next",
        ]


def interrupted(counts: Path, out: Path, *options: str) -> tuple[int, str]:
    """Train without end, press Ctrl-C after some steps, and return the exit code and the last line."""
    command = [*WORDFOREST, "train", str(counts), "--out", str(out), "--epochs", "100000", "--tol", "0", "--json"]
    process = subprocess.Popen(
        [*command, *options],
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    )
    assert process.stderr is not None
    for line in process.stderr:
        if json.loads(line).get("facts"):
            break
    process.send_signal(signal.SIGINT)
    rest = process.stderr.read()
    process.stderr.close()
    return process.wait(60), rest.splitlines()[-1]


class TestInterrupt:
    @pytest.mark.parametrize("workers", ["1", "2"])
    def test_a_new_run_leaves_nothing_but_perhaps_a_checkpoint(self, large_counts, tmp_path, workers):
        run = tmp_path / "a" / "run"
        code, message = interrupted(large_counts, run, "--workers", workers)
        assert code == 130
        assert message.startswith("interrupted")
        if run.exists():  # a slow machine has found a checkpoint worth writing
            assert [path.name for path in run.iterdir()] == ["checkpoint"]
            assert (run / "checkpoint" / "state.safetensors").is_file() or (run / "checkpoint" / "counts").is_dir()
        else:
            assert list(tmp_path.iterdir()) == []

    def test_with_force_the_old_run_stays(self, large_counts, run, tmp_path):
        out = shutil.copytree(run, tmp_path / "run")
        code, _ = interrupted(large_counts, out, "--force")
        assert code == 130
        assert {path.name for path in out.iterdir()} - {"checkpoint"} == RUN_FILES | {"counts"}
        assert same_results(out, run)


def test_quiet_keeps_warnings(corpus: Path, tmp_path: Path) -> None:
    result = run_command("train", corpus, "--lam", 1e6, "--out", tmp_path / "zero", "--quiet")
    assert result.returncode == 0
    assert "warning: all codes are zero" in result.stderr


class TestWhatResumeLeavesAlone:
    """``--resume`` is no ``--force``: a folder with anything else than what such a command makes is refused."""

    def test_results_of_another_kind(self, corpus, counts, tmp_path):
        run = trained(corpus, tmp_path / "run")
        before = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}
        assert "already exists" in refused("count", corpus, "--out", run, "--resume")
        assert {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()} == before
        copy = shutil.copytree(counts, tmp_path / "counts")
        assert "already exists" in refused("train", corpus, "--out", copy, "--resume")
        assert store.is_counts_folder(copy)

    def test_files_of_a_user(self, corpus, tmp_path):
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "vocab.tsv").write_text("my words")
        for command in (("train",), ("baseline", "pca"), ("count",)):
            assert "already exists" in refused(*command, corpus, "--out", tmp_path / "mine", "--resume")
        assert (tmp_path / "mine" / "vocab.tsv").read_text() == "my words"

    def test_a_complete_run_of_another_text_or_other_counts(self, corpus, tmp_path):
        run, other = trained(corpus, tmp_path / "run"), tmp_path / "other.txt"
        other.write_text("a king and a queen\n" * 9)
        assert "complete already" in done("train", corpus, "--out", run, *FAST[:-1], "--resume").stderr
        assert "with window = 5, and now it is 3" in refused(
            "train", corpus, "--out", run, *FAST, "--window", 3, "--resume"
        )
        assert "with corpus = " in refused("train", other, "--out", run, *FAST, "--resume")
        pca = ("baseline", "pca", corpus, "--dimensions", 2, "--out", tmp_path / "pca")
        done(*pca)
        assert "with window = 5, and now it is 2" in refused(*pca, "--window", 2, "--resume")
        assert "complete already" in done(*pca, "--resume").stderr

    def test_a_complete_run_of_a_counts_folder(self, counts, tmp_path):
        run = trained(counts, tmp_path / "run")
        assert "complete already" in done("train", counts, "--out", run, *FAST[:-1], "--resume").stderr
