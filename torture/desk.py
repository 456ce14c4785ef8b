"""What is tortured: commands as data, tiny inputs for them, and what their results must be.

A command is one line in COMMANDS; one that this version of wordforest does not have is left out.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOML = """
title = "Torture"
tasks = ["similarity"]
[count]
min_count = 2
[[model]]
name = "FOREST"
method = "forest"
sizes = [13]
options = { epochs = 2 }
"""


@dataclass(frozen=True)
class Command:
    """A command line; names in braces are inputs and ``{out}``. ``again`` are options of a second try, ``old`` those
    that make another result, which the first try then replaces with ``force``."""

    name: str
    line: str
    again: str = "--force"
    old: str = ""
    force: str = "--force"
    last: str = ""  # the file without which a folder of results is not complete

    @property
    def verb(self) -> str:
        """The command's own name."""
        return self.line.split()[0]

    def arguments(self, places: dict[str, Path], out: Path, *more: str) -> list[str]:
        """Return the arguments of a run into ``out``."""
        return [part.format(out=out, **places) for part in [*self.line.split(), *" ".join(more).split()]]


COMMANDS = (
    Command(
        "count",
        "count {corpus} --out {out} --memory 1M --min-count 2 --workers 2 --quiet",
        "--resume",
        "--window 3",
        last="counts.safetensors",
    ),
    Command(
        "count, adding text",
        "count {corpus} --add {extendable} --out {out} --min-count 2 --workers 2 --quiet",
        "--resume",
        "--max-vocab 500",
        last="counts.safetensors",
    ),
    Command(
        "train online",
        "train {counts} --out {out} --trees 2 --epochs 3 --tol 0 --workers 2 --quiet",
        "--resume",
        "--seed 1",
        last="codes.safetensors",
    ),
    Command(
        "train entries",
        "train {counts} --out {out} --trees 2 --learner entries --epochs 3 --tol 0 --eta 0.01 --workers 2 --quiet",
        "--resume",
        "--seed 1",
        last="codes.safetensors",
    ),
    Command(
        "train on text",
        "train {corpus} --out {out} --min-count 2 --trees 2 --epochs 3 --tol 0 --workers 2 --quiet",
        "--resume",
        "--seed 1",
        last="codes.safetensors",
    ),
    Command(
        "train weighted",
        "train {counts} --out {out} --weights count:0.5 --zeros 0.1 --trees 2 --epochs 3 --tol 0 --workers 2 --quiet",
        "--resume",
        "--seed 1",
        last="codes.safetensors",
    ),
    Command("encode", "encode {run} {counts} --out {out} --workers 2 --quiet", last="codes.safetensors"),
    Command(
        "baseline pca",
        "baseline pca {counts} --out {out} --dimensions 5 --workers 2 --quiet",
        old="--seed 1",
        last="codes.safetensors",
    ),
    Command("convert to a folder", "convert {vectors} {out}", last="codes.safetensors"),
    Command("convert to a file", "convert {run} {out}.bin"),
    Command("convert to two files", "convert {run} {out}.tsv"),
    Command(
        "reproduce",
        "reproduce {toml} --corpus {corpus} --data {data} --out {out} --workers 1 --quiet",
        again="",
        force="",
    ),
)


def known_commands() -> list[Command]:
    """Return the commands that this version has."""
    import typer.main

    from wordforest.cli.command import app

    group: Any = typer.main.get_command(app)
    return [command for command in COMMANDS if command.verb in group.commands]


def write_inputs(folder: Path, seed: int) -> dict[str, Path]:
    """Write a corpus, an experiment and data to judge with; return their places. Counts and runs come from commands."""
    rng = random.Random(seed)
    words = [chr(97 + i % 26) + chr(97 + i // 26 % 26) + "abc"[i // 676] for i in range(900)]
    weights = [1 / (i + 5) for i in range(len(words))]
    lines = [" ".join(rng.choices(words, weights, k=12)) + "\n" for _ in range(6000)]
    folder.mkdir(parents=True, exist_ok=True)
    places = {name: folder / name for name in ("counts", "run", "older", "extendable", "data")}
    places |= {"corpus": folder / "corpus.txt", "toml": folder / "table.toml", "vectors": folder / "vectors.txt"}
    places["corpus"].write_text("".join(lines), encoding="utf-8")
    places["toml"].write_text(TOML, encoding="utf-8")
    pairs = [rng.sample(words[:100], 2) for _ in range(40)]
    (places["data"] / "wordsim").mkdir(parents=True)
    text = "".join(f"{a}\t{b}\t{rng.random():.2f}\n" for a, b in pairs)
    (places["data"] / "wordsim" / "EN-WS-353-ALL.txt").write_text(text, encoding="utf-8")
    return places


PREPARATION = (
    "count {corpus} --out {counts} --min-count 2 --workers 1 --quiet",
    "count {corpus} --out {extendable} --extendable --workers 1 --quiet",
    "train {counts} --out {run} --trees 2 --epochs 2 --workers 1 --quiet",
    "train {counts} --out {older} --trees 3 --epochs 1 --seed 5 --workers 1 --quiet",
    "convert {run} {vectors}",
)


def digests(out: Path) -> dict[str, str]:
    """Return the SHA-256 of every file of a result: of the folder ``out``, or of the files whose names begin with it.

    What holds times is left out. What is there only while a command works is not part of a result.
    """
    files = [path for path in out.parent.glob(out.name + ".*") if path.is_file()]
    files += [path for path in out.rglob("*") if path.is_file()]
    return {
        str(path.relative_to(out.parent)): hashlib.sha256(_content(path)).hexdigest()
        for path in files
        if not _is_working_file(path.relative_to(out.parent))
    }


def leftovers(out: Path) -> list[str]:
    """Return what a finished command should not have left."""
    paths = [*out.parent.glob(".wordforest-*"), *out.rglob("*")]
    return [str(path.relative_to(out.parent)) for path in paths if _is_working_file(path.relative_to(out.parent))]


def _is_working_file(path: Path) -> bool:
    return any(part.startswith(".wordforest-") or part in ("checkpoint", "judged") for part in path.parts)


def _content(path: Path) -> bytes:
    if path.name in ("REPORT.md", "report.html", "job.json"):
        return b""  # they hold seconds and memory; results.json has their numbers
    if path.name == "results.json":
        rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
        return json.dumps([(row["model"], row["failure"], row.get("scores")) for row in rows]).encode()
    if path.name == "history.jsonl":
        steps = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return json.dumps([{**step, "seconds": 0} for step in steps]).encode()
    return path.read_bytes()
