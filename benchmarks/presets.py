"""What each preset costs and gives: scores, seconds, zeros, beside the same without a penalty and gensim's skip-gram.

python benchmarks/presets.py CORPUS [--data DIR] [--trees 20] [--only paper readable best skip-gram ...] [--work DIR]

Every model is trained from the same text, with as many dimensions, by its own command, one after the other; seconds are
those of the whole command, from text to the run folder, so also of reading and counting. Scores are those of
``evaluate`` over all items: the mean of the similarity sets weighted by their pairs, and accuracy in percent. Models
that ``--work`` has already are scored, not trained again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

# lam = 0 of the readable preset is left out: its codes are what the penalty leaves of a path.
MODELS = {
    "paper": ["train", "--preset", "paper"],
    "paper, lam = 0": ["train", "--preset", "paper", "--lam", "0"],
    "readable": ["train", "--preset", "readable"],
    "best": ["train", "--preset", "best"],
    "best, lam = 0": ["train", "--preset", "best", "--lam", "0"],
    "skip-gram": ["baseline", "sg"],
}
HEADER = "| | similarity | syntactic, % | semantic, % | completion, % | sentiment, % | zeros | seconds |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--only", nargs="+", choices=MODELS, default=[*MODELS])
    parser.add_argument("--work", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        work = asked.work or Path(made)
        load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
        print(f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {os.cpu_count()} cores, load {load};")
        print(f"{asked.corpus.name}, M = {13 * asked.trees}\n\n{HEADER}\n|---|" + "---:|" * 7, flush=True)
        for name in asked.only:
            wrote = trained(MODELS[name], asked.corpus, work / name.replace(" ", ""), asked.trees)
            cells = [*scores(wrote["wrote"], asked.data), f"{wrote['zeros']:.1%}", f"{wrote['seconds']:.0f}"]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


def trained(command: list[str], corpus: Path, folder: Path, trees: int) -> dict[str, object]:
    """Return what a command says that it wrote; the folder is its own, so that no counts of others lie beside it."""
    note = folder / "wrote.json"
    if not note.is_file():
        size = ["--trees", str(trees)] if command[0] == "train" else ["--dimensions", str(13 * trees)]
        folder.mkdir(parents=True, exist_ok=True)
        told = wordforest([*command, str(corpus), *size, "--out", str(folder / "run"), "--force", "--json"]).stderr
        note.write_text(next(line for line in told.splitlines() if line.startswith('{"wrote"')))
    return dict(json.loads(note.read_text()))


def scores(run: object, data: Path | None) -> list[str]:
    """Return the scores of a run as cells of the table, empty where there are no data."""
    found = json.loads(
        wordforest(["evaluate", str(run), "--format", "json", *(["--data", str(data)] if data else [])]).stdout
    )
    by_name = {row["set"] if row["task"] in ("similarity", "analogy") else row["task"]: row["value"] for row in found}
    similarity = by_name.get("weighted mean")
    others = [by_name.get(name) for name in ("syntactic", "semantic", "completion", "sentiment")]
    return ["" if similarity is None else f"{similarity:.3f}", *("" if one is None else f"{one:.1f}" for one in others)]


def wordforest(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "wordforest", *arguments], capture_output=True, text=True, check=True)


if __name__ == "__main__":
    main()
