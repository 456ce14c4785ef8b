"""The command line through real processes."""

from __future__ import annotations

import gzip
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from dataclasses import fields
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
import typer.main

import wordforest as wf
from wordforest.cli import app
from wordforest.settings import CountSettings, TrainSettings

WORDFOREST = [sys.executable, "-m", "wordforest"]
COMMANDS = sorted(typer.main.get_command(app).commands)
HEAVY = ["torch", "dask", "matplotlib", "flask", "numba", "sklearn", "scipy"]
FAST = ["--trees", "2", "--epochs", "8", "--quiet"]
RUN_FILES = {
    "config.json", "vocab.tsv", "codes.safetensors", "dictionary.safetensors", "forest.json", "history.jsonl",
}  # fmt: skip
RESULTS = ("codes.safetensors", "dictionary.safetensors", "vocab.tsv", "forest.json")


def environment(**changes: str) -> dict[str, str]:
    ours = ("WORDFOREST_DATA", "COLUMNS", "PYTHONUNBUFFERED")
    plain = {name: value for name, value in os.environ.items() if name not in ours}
    return {**plain, "PYTHONWARNINGS": "error::RuntimeWarning", **changes}


def wordforest(*args, cwd=None, stdin="", **env) -> subprocess.CompletedProcess[str]:
    """Run a command and return what it wrote and how it ended."""
    return subprocess.run(
        [*WORDFOREST, *map(str, args)], cwd=cwd, env=environment(**env), input=stdin,
        capture_output=True, encoding="utf-8", timeout=120,
    )  # fmt: skip


def done(*args, **options) -> subprocess.CompletedProcess[str]:
    result = wordforest(*args, **options)
    assert result.returncode == 0, result.stderr
    return result


def trained(corpus, out, *options, **more) -> Path:
    done("train", *([corpus] if isinstance(corpus, str | Path) else corpus), "--out", out, *FAST, *options, **more)
    return Path(out)


def same_results(a: Path, b: Path) -> bool:
    return all((a / name).read_bytes() == (b / name).read_bytes() for name in RESULTS)


@pytest.fixture(scope="session")
def run(corpus, tmp_path_factory) -> Path:
    return trained(corpus, tmp_path_factory.mktemp("trained") / "run", "--workers", 1)


@pytest.fixture(scope="session")
def counts(corpus, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("counted") / "counts"
    done("count", corpus, "--out", folder, "--quiet")
    return folder


@pytest.fixture(scope="session")
def large_counts(large_corpus, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("counted-large") / "counts"
    done("count", large_corpus, "--out", folder, "--quiet", "--workers", 2)
    return folder


class TestTrain:
    def test_writes_the_files_of_a_run_and_nothing_else(self, run):
        assert {path.name for path in run.iterdir()} == RUN_FILES | {"counts"}

    def test_config_holds_every_setting_and_what_the_result_depends_on(self, run, corpus):
        config = json.loads((run / "config.json").read_text())
        names = {field.name for settings in (CountSettings, TrainSettings) for field in fields(settings)}
        assert names | {"corpus", "fingerprint", "versions", "learner", "gap"} == set(config)
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
        refused = wordforest("train", counts, "--out", out, *FAST, "--seed", 3)
        assert (refused.returncode, same_results(out, run)) == (2, True)
        assert "--force" in refused.stderr
        trained(counts, out, "--seed", 3, "--force")
        assert not same_results(out, run)
        assert {path.name for path in out.iterdir()} == RUN_FILES | {"counts", "notes.txt"}


def first_words(text: str) -> list[str]:
    return [line.replace(":", " ").split()[0] for line in text.splitlines()]


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
        ]
        assert "\x1b" not in result.stderr
        assert result.stdout == ""

    def test_a_compressed_corpus_gets_the_same_lines(self, corpus, tmp_path):
        (tmp_path / "c.txt.gz").write_bytes(gzip.compress(corpus.read_bytes()))
        result = done("count", tmp_path / "c.txt.gz", "--out", tmp_path / "counts")
        assert first_words(result.stderr) == ["read", "count", "wrote"]

    def test_every_line_of_json_parses(self, corpus, tmp_path):
        result = done("train", corpus, "--out", tmp_path / "run", "--trees", 1, "--json")
        events = [json.loads(line) for line in result.stderr.splitlines()]
        ended = [event["stage"] for event in events[:-1] if event["done"] == event["total"]]
        assert ended == ["read", "count", "learn"]
        assert events[-1]["message"].startswith("wrote ")

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


class TestVectors:
    def test_neighbors_share_contexts(self, run):
        result = done("neighbors", run, "cat", "paris", "-k", 3)
        lines = [line.split() for line in result.stdout.splitlines()]
        assert [line[0] for line in lines if len(line) == 1] == ["cat", "paris"]
        assert {line[0] for line in lines[1:4]} == {"dog", "horse", "cow"}
        assert {line[0] for line in lines[5:8]} <= {"london", "berlin", "madrid", "rome"}

    def test_neighbors_as_json(self, run):
        cat, paris = map(json.loads, done("neighbors", run, "cat", "paris", "-k", 3, "--json").stdout.splitlines())
        assert (cat["query"], paris["query"]) == ("cat", "paris")
        assert {found["word"] for found in cat["neighbors"]} == {"dog", "horse", "cow"}
        assert all(0.5 < found["cosine"] <= 1 + 1e-6 for found in cat["neighbors"])

    def test_analogy(self, run):
        found = json.loads(done("analogy", run, "man", "king", "woman", "-k", 1, "--json").stdout)
        assert found["neighbors"][0]["word"] == "queen"

    def test_inspect_shows_size_sparsity_and_every_node(self, run):
        text = done("inspect", run, "-k", 2).stdout
        words = len((run / "vocab.tsv").read_text().splitlines())
        first, second, third, *nodes = text.splitlines()
        assert first.endswith(f": {words} words, 26 dimensions")
        assert "depth 0:" in second
        assert "depth 2:" in second
        assert third == "strongest words of both signs:"
        assert len(nodes) == 26
        assert all(" | " in node for node in nodes)

    def test_inspect_as_json(self, run):
        value = json.loads(done("inspect", run, "-k", 2, "--json").stdout)
        assert value["dimensions"] == len(value["nodes"]) == 26
        assert [node["parent"] for node in value["nodes"]] == wf.Forest.complete(2, (3, 3)).parent.tolist()
        assert len(value["density_by_depth"]) == 3

    @pytest.mark.parametrize("name", ["v.txt", "v.bin", "v.glove", "v.txt.gz"])
    def test_convert_there_and_back_keeps_every_value(self, run, tmp_path, name):
        done("convert", run, tmp_path / name)
        done("convert", tmp_path / name, tmp_path / "back")
        there, back = wf.read_vectors(run), wf.read_vectors(tmp_path / "back")
        assert back.words == there.words
        assert np.array_equal(back.dense, there.dense)

    def test_convert_overwrites_only_with_force(self, run, tmp_path):
        target = tmp_path / "v.txt"
        target.write_text("mine")
        refused = wordforest("convert", run, target)
        assert (refused.returncode, target.read_text()) == (2, "mine")
        done("convert", run, target, "--force")
        assert len(wf.read_vectors(target)) == len(wf.read_vectors(run))

    def test_convert_onto_itself_is_refused(self, run):
        result = wordforest("convert", run, run, "--force")
        assert result.returncode == 2
        assert "same" in result.stderr
        assert {path.name for path in run.iterdir()} == RUN_FILES | {"counts"}

    def test_convert_leaves_nothing_of_the_counts_it_replaces(self, run, counts, tmp_path):
        target = shutil.copytree(counts, tmp_path / "target")
        done("convert", run, target, "--force")
        assert not (target / "counts.safetensors").exists()


@pytest.fixture(scope="session")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    (folder / "wordsim").mkdir()
    (folder / "analogy").mkdir()
    (folder / "wordsim" / "EN-MC-30.txt").write_text("cat\tdog\t9\ncat\tparis\t1\nking\tqueen\t8\ncat\tzebra\t7\n")
    (folder / "wordsim" / "EN-RG-65.txt").write_text("zebra\tgnu\t9\n")
    (folder / "analogy" / "questions-words.txt").write_text(": family\nman king woman queen\nman king woman zebra\n")
    return folder


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

    @pytest.mark.parametrize("form", ["markdown", "latex", "json", "table"])
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


class TestBaseline:
    def test_writes_a_run_that_other_commands_read(self, counts, tmp_path):
        done("baseline", "pca", counts, "--out", tmp_path / "run", "--dimensions", 5, "--power", 0.5, "--quiet")
        config = json.loads((tmp_path / "run" / "config.json").read_text())
        assert (config["learner"], config["power"], config["dimensions"], config["measure"]) == ("pca", 0.5, 5, "pmi")
        assert len(done("neighbors", tmp_path / "run", "dog", "-k", 3).stdout.splitlines()) == 4

    def test_progress_in_a_log(self, corpus, tmp_path):
        lines = done("baseline", "nce", corpus, "--out", tmp_path / "r", "--dimensions", 4, "--epochs", 1).stderr
        assert [line.split(":")[0] for line in lines.splitlines()] == ["read", "learn", f"wrote {tmp_path / 'r'}"]


class TestData:
    def test_list_fetch_from_a_mirror_and_check(self, tmp_path):
        place = {"WORDFOREST_CACHE": str(tmp_path / "cache")}
        assert "0 of 1 files here" in done("data", "list", **place).stdout
        assert wordforest("data", "check", **place).returncode == 1
        mirror = tmp_path / "mirror" / "analogy"
        mirror.mkdir(parents=True)
        gensim = pytest.importorskip("gensim")
        shutil.copy(Path(gensim.__file__).parent / "test/test_data/questions-words.txt", mirror)
        done("data", "fetch", "analogy", "--mirror", tmp_path / "mirror", **place)
        assert "present   analogy/questions-words.txt" in wordforest("data", "check", **place).stdout
        assert "here already" in done("data", "fetch", "analogy", **place).stderr

    def test_without_a_command_the_help_is_shown(self):
        result = wordforest("data")
        assert result.returncode == 2
        assert "fetch" in result.stdout + result.stderr
        assert "error" not in result.stderr

    def test_evaluate_finds_what_was_fetched(self, run, data, tmp_path):
        shutil.copytree(data, tmp_path / "cache")
        lines = done("evaluate", run, WORDFOREST_CACHE=str(tmp_path / "cache")).stdout
        assert "EN-MC-30" in lines


@pytest.fixture(scope="session")
def desk(run, counts, corpus, tmp_path_factory) -> Path:
    """A folder with everything that a command might wrongly be given."""
    desk = tmp_path_factory.mktemp("desk")
    shutil.copytree(run, desk / "run")
    shutil.copytree(counts, desk / "counts")
    shutil.copy(corpus, desk / "corpus.txt")
    wf.write_vectors(desk / "vectors.bin", wf.read_vectors(run))
    (desk / "empty.txt").write_text("")
    (desk / "binary.dat").write_bytes(b"one line\nPNG\0\0")
    (desk / "latin1.txt").write_bytes(b"good line\nna\xefve line\n")
    (desk / "cut.txt.gz").write_bytes(gzip.compress(b"some words here\n" * 99)[:40])
    (desk / "pairs.txt").write_text("cat 1 2\ndog 1 x\n")
    (desk / "folder").mkdir()
    shutil.copytree(run, desk / "cut")
    (desk / "cut" / "codes.safetensors").write_bytes((run / "codes.safetensors").read_bytes()[:100])
    shutil.copytree(run, desk / "edited")
    (desk / "edited" / "vocab.tsv").write_text("the\t5\ncat\tfive\n")
    shutil.copytree(run, desk / "mixed")
    (desk / "mixed" / "forest.json").write_text('{"parent": [-1, 0]}')
    return desk


TRAIN = ["train", "corpus.txt", "--out", "new"]
BAD_INPUT = {
    "missing file": (["train", "missing.txt", "--out", "new"], "missing.txt", "no such file", "Check the path"),
    "one missing of two": (["train", "corpus.txt", "no.txt", "--out", "new"], "no.txt", "no such file"),
    "empty corpus": (["train", "empty.txt", "--out", "new"], "empty.txt", "no words", "Check"),
    "empty standard input": (["train", "-", "--out", "new"], "no words"),
    "empty folder": (["train", "folder", "--out", "new"], "folder", "no files"),
    "binary file": (["train", "binary.dat", "--out", "new"], "binary.dat", "line 2", "NUL", "UTF-8 text"),
    "invalid UTF-8": (["train", "latin1.txt", "--out", "new"], "latin1.txt", "line 2", "0xef", "--errors replace"),
    "cut compressed file": (["count", "cut.txt.gz", "--out", "new"], "cut.txt.gz", "again"),
    "vectors as corpus": (["train", "vectors.bin", "--out", "new"], "vectors.bin", "not a text file"),
    "run as corpus": (["train", "run", "--out", "new"], "run/", "not a text file"),
    "no frequent word": ([*TRAIN, "--min-count", "99999"], "99999", "--min-count"),
    "a level without children": ([*TRAIN, "--branching", "3,0"], "branching[1] = 0", "at least one child"),
    "branching of letters": ([*TRAIN, "--branching", "3,x"], "--branching 3,x", "whole numbers"),
    "branching with a hole": ([*TRAIN, "--branching", "3,,3"], "--branching 3,,3", "whole numbers"),
    "negative branching": ([*TRAIN, "--branching", "-1"], "branching[0] = -1", "at least one child"),
    "no trees": ([*TRAIN, "--trees", "0"], "trees = 0", "at least one"),
    "negative lam": ([*TRAIN, "--lam", "-0.1"], "lam = -0.1", ">= 0"),
    "no workers": ([*TRAIN, "--workers", "0"], "--workers", "--help"),
    "no vocabulary": ([*TRAIN, "--max-vocab", "0"], "max_vocab = 0", "at least 1"),
    "other window than counted": (["train", "counts", "--out", "new", "--window", "2"], "window = 2", "counted with"),
    "unknown option": ([*TRAIN, "--colour"], "--colour", "wordforest train --help"),
    "unknown choice": ([*TRAIN, "--measure", "mi"], "--measure", "'pmi'", "wordforest train --help"),
    "letters for a number": ([*TRAIN, "--window", "five"], "--window", "integer"),
    "unknown command": (["trian"], "trian", "wordforest --help"),
    "missing argument": (["neighbors", "run"], "WORD", "wordforest neighbors --help"),
    "missing option": (["train", "corpus.txt"], "--out", "wordforest train --help"),
    "out is a file": (["train", "corpus.txt", "--out", "empty.txt"], "empty.txt", "expected a folder", "--out"),
    "unknown word": (["neighbors", "run", "qeen"], "qeen", "Did you mean queen"),
    "unknown word in analogy": (["analogy", "run", "man", "king", "wuman"], "wuman", "woman"),
    "no neighbour asked for": (["neighbors", "run", "cat", "-k", "0"], "-k"),
    "counts as vectors": (["neighbors", "counts", "cat"], "counts", "a counts folder", "wordforest train"),
    "missing vectors": (["inspect", "missing"], "missing", "no such file"),
    "text as vectors": (["inspect", "corpus.txt"], "corpus.txt", "line 1"),
    "damaged vectors": (["inspect", "pairs.txt"], "pairs.txt", "line 2", "'x'"),
    "cut run": (["inspect", "cut"], "codes.safetensors", "again"),
    "edited run": (["inspect", "edited"], "vocab.tsv, line 2", "five"),
    "run of two runs": (["inspect", "mixed"], "mixed", "2 nodes", "26 columns"),
    "unknown format": (["convert", "run", "out.docx"], "out.docx", ".bin"),
    "no such data": (["evaluate", "run", "--data", "missing"], "missing", "expected a folder"),
    "unknown task": (["evaluate", "run", "--tasks", "parsing"], "'parsing'", "similarity, analogy"),
    "one model to compare": (["evaluate", "run", "--compare"], "at least two"),
    "scores onto a file": (["evaluate", "run", "--out", "empty.txt"], "empty.txt already exists", "--force"),
    "unknown baseline": (["baseline", "lsa", "corpus.txt", "--out", "new"], "'lsa'", "pca, sc, nnse"),
    "option of another baseline": (
        ["baseline", "pca", "corpus.txt", "--out", "new", "--negative", "5"], "pca: unknown setting negative", "power"),
    "counts for sentences": (["baseline", "sg", "counts", "--out", "new"], "counts have none", "text itself"),
    "too many dimensions": (["baseline", "pca", "counts", "--out", "new", "--dimensions", "9999"], "9999", "at most"),
    "GPU for PCA": (["baseline", "pca", "counts", "--out", "new", "--device", "cuda"], "CPU only", "--device"),
    "unknown data set": (["data", "fetch", "wordsym", "--data", "folder"], "wordsym", "wordsim"),
    "no mirror": (["data", "fetch", "analogy", "--data", "folder", "--mirror", "missing"], "missing"),
    "no experiment": (["reproduce", "missing.toml", "--out", "new"], "missing.toml", "Check the name"),
    "a corpus as experiment": (["reproduce", "corpus.txt", "--out", "new"], "corpus.txt", "not TOML"),
    "wide dynamic window": ([*TRAIN, "--dynamic-window", "--window", "17"], "window = 17", "at most 16"),
    "subsample of one": ([*TRAIN, "--subsample", "1"], "subsample = 1", "1e-3 to 1e-5"),
}  # fmt: skip


class TestErrors:
    @pytest.mark.parametrize("case", BAD_INPUT)
    def test_bad_input_exits_with_2_and_tells_what_where_and_what_to_do(self, desk, case):
        args, *fragments = BAD_INPUT[case]
        before = sorted(desk.rglob("*"))
        result = wordforest(*args, *(["--quiet"] if args[0] in ("train", "count", "baseline") else []), cwd=desk)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr.startswith("error: ")
        assert len(result.stderr.splitlines()) <= 2
        assert [fragment for fragment in fragments if fragment not in result.stderr] == []
        assert sorted(desk.rglob("*")) == before

    def test_verbose_adds_the_traceback_and_keeps_the_code(self, desk):
        result = wordforest("inspect", "missing", "--verbose", cwd=desk)
        assert result.returncode == 2
        assert "Traceback (most recent call last)" in result.stderr
        assert result.stderr.splitlines()[-1].startswith("error: missing")

    def test_out_below_a_file_fails_with_the_name(self, desk):
        result = wordforest("train", "counts", "--out", "corpus.txt/run", cwd=desk)
        assert result.returncode == 1
        assert len(result.stderr.splitlines()) == 1
        assert "corpus.txt/run" in result.stderr

    def test_no_command_shows_the_help_and_exits_with_2(self):
        result = wordforest()
        assert result.returncode == 2
        assert all(name in result.stdout + result.stderr for name in COMMANDS)

    @pytest.mark.parametrize("command", ["inspect RUN", "inspect RUN --json", "neighbors RUN cat -k 1 --json"])
    def test_a_reader_that_leaves_early_causes_no_traceback(self, run, command):
        reading, writing = os.pipe()
        os.close(reading)
        args = command.replace("RUN", str(run)).split()
        result = subprocess.run(
            [*WORDFOREST, *args], stdout=writing, stderr=subprocess.PIPE, env=environment(), check=False
        )
        os.close(writing)
        assert (result.returncode, result.stderr) == (1, b"")

    def test_a_terminal_without_unicode_shows_the_rest(self, tmp_path):
        (tmp_path / "v.txt").write_text("2 2\nnaïve 1 0\nplain 1 1\n", encoding="utf-8")
        assert "na?ve" in done("neighbors", "v.txt", "plain", cwd=tmp_path, PYTHONIOENCODING="ascii").stdout


def interrupted(counts: Path, out: Path, *options: str) -> tuple[int, str]:
    """Train without end, press Ctrl-C after some steps, and return the exit code and the last line."""
    command = [*WORDFOREST, "train", str(counts), "--out", str(out), "--epochs", "100000", "--tol", "0", "--json"]
    process = subprocess.Popen(
        [*command, *options], stderr=subprocess.PIPE, encoding="utf-8", env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    )  # fmt: skip
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


def modules_after(code: str) -> list[str]:
    """Return which heavy packages a program has imported at its end."""
    program = f"{code}\nimport json, sys\nsys.stderr.write(json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)
    found: list[str] = json.loads(result.stderr)
    return found


class TestImports:
    def test_importing_the_package_imports_nothing_heavy(self):
        assert modules_after("import wordforest; dir(wordforest); wordforest.__version__") == []

    def test_the_probe_sees_what_is_imported(self):
        assert "scipy" in modules_after("import wordforest; wordforest.Vectors")

    def test_every_public_name_resolves_to_itself(self):
        assert len(set(wf.__all__)) == len(wf.__all__)
        assert all(getattr(wf, name).__name__ == name for name in wf.__all__)
        with pytest.raises(AttributeError, match="no attribute 'Forrest'"):
            wf.Forrest  # noqa: B018

    @pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=lambda c: c[0] if c else "wordforest")
    def test_help_works_and_imports_nothing_heavy(self, command):
        code = f"""
import contextlib, io, sys
from wordforest.cli import main
sys.argv = ["wordforest", *{command}, "--help"]
shown = io.StringIO()
with contextlib.redirect_stdout(shown), contextlib.suppress(SystemExit):
    main()
assert "Usage: {" ".join(["wordforest", *command])}" in shown.getvalue()
"""
        assert modules_after(code) == []

    def test_the_version_is_that_of_the_package(self):
        assert done("--version").stdout == f"wordforest {wf.__version__}\n" == f"wordforest {version('wordforest')}\n"

    def test_the_installed_command_is_this_one(self):
        script = Path(sys.executable).with_name("wordforest")
        result = subprocess.run([script, "--version"], capture_output=True, encoding="utf-8", check=True)
        assert result.stdout == done("--version").stdout
