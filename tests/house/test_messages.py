"""A message that proposes a command proposes one that works: here they are typed as they are read."""

from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

import wordforest as wf
from tests.commands import run_command
from tests.house.test_layers import SOURCES
from wordforest.cli.command import app
from wordforest.runtime.progress import Event, LineReporter

# What stands for what the reader has.
HERE = {"CORPUS": "corpus.txt", "DOCS": "corpus.txt", "RUN": "new", "COUNTS": "new", "FOLDER": "new", "WORD": "cat"}


def proposals(message: str) -> list[list[str]]:
    """Return the arguments of every ``wordforest ...`` that a message proposes."""
    found = re.findall(r"wordforest ((?:[a-z]+) .*)", message)
    return [shlex.split(re.split(r"\.(?: |$)|; |, | \(|: ", one)[0]) for one in found]


@pytest.fixture(scope="module")
def desk(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("desk")
    shutil.copy(corpus, folder / "corpus.txt")
    run = wf.train(folder / "corpus.txt", out=folder / "run", trees=1, epochs=2)
    for name in ("v.bin", "v.txt", "v.glove", "v.npz", "v.safetensors", "my vectors.vec"):
        wf.write_vectors(folder / name, run.vectors)
    return folder


@pytest.mark.parametrize(
    "typed",
    [
        "train run --out x",
        "train run/codes.safetensors --out x",
        "train v.bin --out x",
        "train v.txt --out x",
        "train v.glove --out x",
        "train v.npz --out x",
        "train v.safetensors --out x",
        "train 'my vectors.vec' --out x",
        "count run --out x",
        "count run/counts --out x",
        "baseline pca v.txt --out x",
        "topics run --out x",
        "topics v.bin --out x",
        "concordance run v.txt cat",
        "documents run corpus.txt --out x",
        "neighbors corpus.txt cat",
        "evaluate corpus.txt",
        "explore run/counts --export x.html",
        "inspect run/counts",
        "encode run run --out x",
        "encode run corpus.txt --out x",
        "encode corpus.txt run/counts --out x",
    ],
)
def test_what_is_proposed_for_a_wrong_kind_of_file_works(desk, tmp_path, typed):
    shutil.copytree(desk, tmp_path, dirs_exist_ok=True)
    said = run_command(*shlex.split(typed), cwd=tmp_path)
    assert said.returncode == 2
    assert proposals(said.stderr)
    for number, words in enumerate(proposals(said.stderr)):
        here = {name: f"{given}{number}" if given == "new" else given for name, given in HERE.items()}
        result = run_command(*[here.get(word, word) for word in words], cwd=tmp_path)
        assert (words, result.returncode, result.stderr[-300:] * result.returncode) == (words, 0, "")


def test_a_counts_folder_that_is_named_can_be_given(desk, tmp_path):
    said = run_command("train", "run", "--out", "x", cwd=desk).stderr
    named = re.search(r"its counts, (\S+),", said)[1]
    assert run_command("train", named, "--out", tmp_path / "x", "--epochs", 1, cwd=desk).returncode == 0


def test_running_text_is_not_taken_for_vectors(tmp_path):
    (tmp_path / "numbers.txt").write_text("1 2 3 4\nIn 1812 the war began.\n" + "the cat sat on 3 mats\n" * 30)
    assert run_command("count", "numbers.txt", "--out", "x", "--min-count", 1, cwd=tmp_path).returncode == 0


def said_in(module: str) -> Iterator[str]:
    """Yield the texts of a module but for its docstrings, f-strings with an X in the place of every value."""
    inner: set[ast.AST] = set()
    for node in ast.walk(ast.parse(SOURCES[module])):
        if isinstance(node, ast.JoinedStr):
            inner |= {*node.values}
            yield "".join(str(one.value) if isinstance(one, ast.Constant) else "X" for one in node.values)
        elif isinstance(node, ast.Expr):
            inner.add(node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inner:
            yield node.value


PROSE = ("convert wrote", "documents writes it", "as wf")
TELL = [module for module, source in SOURCES.items() if "wordforest " in source]
PROPOSED = sorted({" ".join(words) for one in TELL for text in said_in(one) for words in proposals(text)} - {*PROSE})


@pytest.mark.parametrize("line", PROPOSED)
def test_every_command_in_the_source_parses(line):
    name, *words = shlex.split(line.replace("--X", "--time"))
    command = typer.main.get_command(app).commands[name]
    command.make_context(name, [*words])
    if any(one.name == "out" for one in command.params) and name != "evaluate":
        assert "--out" in words


AGAIN = {".": [], " with --resume, which keeps what was done.": ["--resume"], " with --force.": ["--force"]}


@pytest.mark.parametrize(
    ("typed", "stage", "flag"),
    [
        ("train corpus.txt --out x --min-count 3", "read", ""),
        ("train corpus.txt --out x --min-count 3", "learn", "--resume"),
        ("train corpus.txt --out run", "learn", "already exists"),
        ("train corpus.txt --out run --force", "learn", ""),
        ("train - --out x", "learn", "--force"),
        ("train run/counts --out x", "learn", ""),
        ("count corpus.txt --out x", "count", "--resume"),
        ("count - --out x", "count", "--force"),
        ("baseline pca corpus.txt --out x --min-count 3 --dimensions 9", "learn", "--resume"),
        ("baseline sg corpus.txt --out x", "learn", ""),
        ("encode run run/counts --out x", "encode", ""),
        ("topics corpus.txt --out x", "documents", ""),
    ],
)
def test_what_an_interrupt_proposes_works(desk, tmp_path, monkeypatch, typed, stage, flag):
    shutil.copytree(desk, tmp_path, dirs_exist_ok=True)
    text = (desk / "corpus.txt").read_text()
    usual = LineReporter.__call__

    def interrupted(self: LineReporter, event: Event) -> None:
        usual(self, event)
        if event.stage == stage:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(LineReporter, "__call__", interrupted)
        said = run_command(*typed.split(), cwd=tmp_path, stdin=text)
    if said.returncode == 2:  # before anything began
        assert flag in said.stderr
        return
    assert said.returncode == 130
    again = AGAIN[said.stderr.partition("Run the command again")[2].rstrip("\n")]
    assert again == ([flag] if flag else [])
    assert run_command(*typed.split(), *again, cwd=tmp_path, stdin=text).returncode == 0


@pytest.mark.parametrize(
    "typed",
    [
        "train corpus.txt --out x",
        "train corpus.txt --out 'a b' --preset readable --trees 1",
        "count corpus.txt --out x",
        "encode run run/counts --out x",
        "baseline pca corpus.txt --out x --dimensions 9",
        "topics corpus.txt --out x --levels 2,4",
    ],
)
def test_what_is_proposed_at_the_end_works(desk, tmp_path, typed):
    shutil.copytree(desk, tmp_path, dirs_exist_ok=True)
    ended = run_command(*shlex.split(typed), "--json", cwd=tmp_path)
    proposed = [one for line in ended.stderr.splitlines() for one in json.loads(line).get("next", ())]
    assert proposed
    for line in proposed:
        words = [HERE.get(word, word) for word in shlex.split(line)[1:]]
        more = ["--export", "page.html"] if words[0] == "explore" else []
        result = run_command(*words, *more, cwd=tmp_path)
        assert (line, result.returncode, result.stderr[-300:] * result.returncode) == (line, 0, "")


# What a new user gets wrong, and what tells the way; an interrupt, a wrong kind of file and what is absent are above.
MISTAKES = {
    "train corpu.txt --out x": "corpu.txt: no such file or folder. Did you mean corpus.txt?",
    "inspect runn": "Did you mean run?",
    "trian corpus.txt --out x": "Did you mean 'train'?",
    "train corpus.txt --out x --tree 4": "--trees",
    "train corpus.txt --out x --preset readble": "'readable'",
    "train table.json --out x": "by the name .jsonl",
    "train table.csv --text id --out x": "of a table, the column that holds texts",
    "train counting --out x": "broken off, not text. Finish it first: the command that began it, with --resume.",
    "neighbors counting cat": "this one was broken off. Finish it first: the command that began it, with --resume.",
    "train corpus.txt": "Add for example --out my_train.",
    "train corpus.txt --out run": "add --force to replace it or choose another --out",
    "neighbors run kign": "Did you mean king?",
    "train empty.txt --out x": "empty.txt: the corpus holds no words",
    "train table.csv --text bodi --out x": "Its columns are: id, body",
    "train table.csv --text body --out x --lam much": "must be auto, or a finite number",
    "evaluate run --tasks similarityy": "expected some of similarity, analogy",
}


@pytest.mark.parametrize("typed", MISTAKES)
def test_a_mistake_is_told_with_the_way_out(desk, tmp_path, typed):
    shutil.copytree(desk, tmp_path, dirs_exist_ok=True)
    (tmp_path / "empty.txt").touch()
    (tmp_path / "table.csv").write_text("id,body\n" + "1,hello there my friend\n" * 10)
    (tmp_path / "table.json").write_text("[]")
    (tmp_path / "counting" / "checkpoint").mkdir(parents=True)
    (tmp_path / "counting" / "checkpoint" / "settings.json").write_text("{}")
    said = run_command(*typed.split(), cwd=tmp_path)
    assert said.returncode == 2
    assert MISTAKES[typed] in " ".join(said.stderr.split())
    assert len(said.stderr.splitlines()) <= 3
