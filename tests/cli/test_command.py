"""What all commands share: errors, help, settings in a file, exit codes, and what is imported."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import typer.core
import typer.main
from scipy import sparse

import wordforest as wf
from tests.cli.shell import WORDFOREST, done, environment
from tests.commands import run_command
from tests.test_init import modules_after
from wordforest import store
from wordforest.cli.command import COMMANDS, _example, _told_again, app
from wordforest.options import COMMANDS as LONG
from wordforest.options import OPTIONS, PRESETS, SHORT_HELP, taken_by


class TestErrors:
    def test_verbose_adds_the_traceback_and_keeps_the_code(self, tmp_path):
        result = run_command("inspect", "missing", "--verbose", cwd=tmp_path)
        assert result.returncode == 2
        assert "Traceback (most recent call last)" in result.stderr
        assert result.stderr.splitlines()[-1].startswith("error: missing")

    @pytest.mark.parametrize(("options", "said"), [({"force"}, " with --force"), (set(), "")])
    def test_an_interrupt_names_only_options_that_the_command_has(self, tmp_path, options, said):
        (tmp_path / "file.txt").touch()
        with pytest.raises(KeyboardInterrupt) as found, _told_again({"out": tmp_path}, options):
            raise KeyboardInterrupt
        assert found.value.__notes__ == [f"Run the command again{said}."]

    def test_an_interrupt_while_packages_are_imported_imports_no_more(self, tmp_path, monkeypatch):
        monkeypatch.delitem(sys.modules, "wordforest.store.folders", raising=False)
        monkeypatch.delitem(vars(store), "was_begun", raising=False)
        (tmp_path / "file.txt").touch()
        with pytest.raises(KeyboardInterrupt) as found, _told_again({"out": tmp_path}, {"force", "resume"}):
            raise KeyboardInterrupt
        assert found.value.__notes__ == ["Run the command again with --force."]
        assert "wordforest.store.folders" not in sys.modules

    def test_out_below_a_file_fails_with_the_name(self, counts, tmp_path):
        (tmp_path / "file.txt").write_text("")
        result = run_command("train", counts, "--out", "file.txt/run", cwd=tmp_path)
        assert result.returncode == 2
        assert result.stderr == "error: file.txt: expected a folder, but this is a file. Choose another path.\n"

    def test_no_command_shows_the_help_and_exits_with_2(self):
        result = run_command()
        assert result.returncode == 2
        assert all(name in result.stdout + result.stderr for name in COMMANDS)

    @pytest.mark.parametrize(
        ("command", "taken"),
        [
            *(("inspect RUN", 0), ("inspect RUN", 1), ("inspect RUN --json", 1), ("path RUN cat", 0), ("--help", 0)),
            *(("neighbors RUN cat -k 1 --json", 0), ("concordance RUN TEXT cat -k 0 --format csv", 1)),
        ],
    )
    def test_a_reader_that_leaves_early_causes_no_message(self, run, corpus, command, taken):
        args = command.replace("RUN", str(run)).replace("TEXT", str(corpus)).split()
        reading, writing = os.pipe()
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)  # little fits before the reader is gone
        process = subprocess.Popen(
            [*WORDFOREST, *args], stdout=writing, stderr=subprocess.PIPE, env=environment(PYTHONUNBUFFERED="1")
        )
        os.close(writing)
        os.read(reading, taken)
        os.close(reading)
        said = process.communicate()[1]
        assert (said, process.returncode in (0, 1)) == (b"", True)

    def test_a_closed_output_causes_no_message(self, run):
        line = shlex.join([*WORDFOREST, "inspect", str(run)]) + " >&-"
        ended = subprocess.run(["sh", "-c", line], capture_output=True, env=environment(), check=False)
        assert (ended.returncode, ended.stderr) == (0, b"")

    def test_a_terminal_without_unicode_shows_the_rest(self, tmp_path):
        (tmp_path / "v.txt").write_text("2 2\nnaïve 1 0\nplain 1 1\n", encoding="utf-8")
        assert "na?ve" in done("neighbors", "v.txt", "plain", cwd=tmp_path, PYTHONIOENCODING="ascii").stdout


def options_of(command: str) -> dict[str, typer.core.TyperOption]:
    group = typer.main.get_command(app)
    return {one.name: one for one in group.commands[command].params if isinstance(one, typer.core.TyperOption)}


def words_of(text: str) -> str:
    """Return a help text without the frames and line ends that the width of the terminal makes."""
    return " ".join(text.replace("│", " ").split())


class TestHelp:
    def test_commands_are_in_the_order_of_the_work(self):
        lines = done("--help").stdout.splitlines()
        shown = [words[1] for line in lines if len(words := line.split()) > 2 and words[1] in COMMANDS]
        assert shown == [*COMMANDS] == [*dict.fromkeys(shown)]
        assert {*typer.main.get_command(app).commands} == {*COMMANDS}

    @pytest.mark.parametrize("command", LONG)
    def test_every_option_comes_from_the_table(self, command):
        assert [*options_of(command)] == [*(row.name for row in taken_by(command)), "help", "help_all"]

    @pytest.mark.parametrize("command", LONG)
    def test_the_short_help_shows_the_main_options_and_help_all_the_rest(self, command):
        short, long = (done(command, flag, COLUMNS="300").stdout for flag in ("--help", "--help-all"))
        for row in taken_by(command):
            flag = "│ --" + row.name.replace("_", "-") + " "
            assert (flag in short) == (row.name in SHORT_HELP)
            assert flag in long
            assert words_of(row.help_for(command)) in words_of(long)

    def test_train_shows_at_most_twenty_options_in_five_panels(self):
        shown = done("train", "--help", COLUMNS="200").stdout
        assert sum(line.startswith("│ --") for line in shown.splitlines()) <= 20
        panels = ["Arguments", "Basics", "Text", "Forest", "Learning", "Machine"]
        assert [line.split()[1] for line in shown.splitlines() if line.startswith("╭─")] == panels


class TestSettings:
    """--settings FILE: what is typed goes before the file, the file before the preset."""

    def config(self, counts: Path, folder: Path, text: str, *typed: str) -> dict[str, object]:
        (folder / "settings.toml").write_text(text)
        done("train", counts, "--settings", folder / "settings.toml", *typed, cwd=folder)
        return json.loads((folder / "run" / "config.json").read_text())

    def test_the_file_goes_before_the_preset_and_the_command_line_before_the_file(self, counts, tmp_path):
        text = 'out = "run"\npreset = "readable"\ntrees = 2\nlam = 0.5\nepochs = 1\nquiet = true\nbranching = [2]\n'
        config = self.config(counts, tmp_path, text, "--lam", "0.3", "--branching", "3")
        assert (config["lam"], config["trees"], config["branching"], config["epochs"]) == (0.3, 2, [3], 1)
        assert config["measure"] == PRESETS["readable"].settings["measure"]
        assert config["smoothing"] == OPTIONS["smoothing"].default

    def test_a_typed_off_goes_before_an_on_of_the_file(self, counts, tmp_path):
        text = 'out = "run"\nunit = true\ntrees = 1\nepochs = 1\n'
        assert self.config(counts, tmp_path, text, "--no-unit")["unit"] is False

    @pytest.mark.parametrize("value", ['"words.txt"', '["zebra", "gnu"]'])
    def test_words_are_a_list_or_the_name_of_a_file(self, tmp_path, value):
        (tmp_path / "text.txt").write_text("cat dog " * 20 + "zebra gnu\n")
        (tmp_path / "words.txt").write_text("zebra\ngnu\n")
        (tmp_path / "s.toml").write_text(f"keep_words = {value}\n")
        done("count", "text.txt", "--out", "counts", "--settings", "s.toml", cwd=tmp_path)
        assert "gnu" in (tmp_path / "counts" / "vocab.tsv").read_text()

    @pytest.mark.parametrize(
        ("text", "fragments"),
        [
            ("tree = 4", ["s.toml: unknown option tree", "Did you mean trees?"]),
            ("settings = 'other.toml'", ["unknown option settings"]),
            ("window = 'five'", ["s.toml: window = 'five'", "a whole number, at least 1"]),
            ("measure = 'mi'", ["measure = 'mi'", "one of pmi, ppmi, sppmi"]),
            ("[forest]\ntrees = 4", ["unknown option forest"]),
            ("trees: 4", ["s.toml: not TOML", "trees = 40"]),
        ],
    )
    def test_a_wrong_file_is_refused_by_name(self, tmp_path, text, fragments):
        (tmp_path / "s.toml").write_text(text)
        result = run_command("train", "x.txt", "--out", "run", "--settings", "s.toml", cwd=tmp_path)
        assert result.returncode == 2
        assert [fragment for fragment in fragments if fragment not in result.stderr] == []

    def test_a_missing_file_and_a_missing_out_are_refused(self, tmp_path):
        missing = run_command("train", "x.txt", "--out", "run", "--settings", "no.toml", cwd=tmp_path)
        assert (missing.returncode, "no.toml: cannot be read" in missing.stderr) == (2, True)


class TestImports:
    def test_wrong_input_for_a_gpu_is_refused_before_torch_is_imported(self, run, tmp_path):
        (tmp_path / "corpus.txt").write_text("a b c\n" * 20)
        lines = [
            *("train missing.txt --out x", "train corpus.txt --out RUN", "train corpus.txt --out x --lam y"),
            *("train corpus.txt --out x --window 0", "train RUN --out x", "baseline sc missing.txt --out x"),
            *("baseline rnn missing.txt --out x", "encode RUN missing --out x", "topics missing.txt --out x"),
            *("topics corpus.txt --out RUN", "train corpus.txt --out x --settings missing.toml"),
        ]
        code = f"""
import contextlib, os, sys
from wordforest.cli import main
os.chdir({str(tmp_path)!r})
for line in {lines!r}:
    sys.argv = ["wordforest", *line.replace("RUN", {str(run)!r}).split(), "--device", "cuda"]
    try:
        main()
    except SystemExit as end:
        assert end.code == 2, line
    assert "torch" not in sys.modules, line
"""
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment())
        assert ended.returncode == 0, ended.stderr
        assert len(ended.stderr.splitlines()) < 2 * len(lines) + 1

    def test_the_help_of_all_commands_imports_nothing_heavy(self):
        code = f"""
import contextlib, io, sys
from wordforest.cli import main
for command in [], *([name] for name in {COMMANDS}):
    sys.argv = ["wordforest", *command, "--help"]
    with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.suppress(SystemExit):
        main()
    assert "Usage: " + " ".join(["wordforest", *command]) in shown.getvalue()
"""
        assert modules_after(code) == []

    def test_the_version_is_that_of_the_package(self):
        assert done("--version").stdout == f"wordforest {wf.__version__}\n" == f"wordforest {version('wordforest')}\n"

    def test_the_installed_command_is_this_one(self):
        script = Path(sys.executable).with_name("wordforest")
        result = subprocess.run([script, "--version"], capture_output=True, encoding="utf-8", check=True)
        assert result.stdout == done("--version").stdout


def test_the_word_to_try_is_a_frequent_one_of_any_vocabulary():
    for size in (3, 100, 10_000):
        words = [f"{'ab'[n % 2] * (n % 7 + 3)}" for n in range(size - 1)] + ["rarebutlong" * 3]
        run = SimpleNamespace(words=words, codes=sparse.csr_array(np.ones((size, 1))))
        assert (_example(run) == words[-1]) == (size < 200)
