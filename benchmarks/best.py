"""How quick and how good the preset best is beside gensim's skip-gram: whole commands in turn on the same cores.

python benchmarks/best.py [CORPUS] [--data DIR] [--trees 4 40] [--only best "best, lam = 0" skip-gram]
                          [--scores] [--repeat 1] [--device cpu|cuda] [--work DIR]

Without CORPUS it is corpora/enwiki_dev.txt.xz of the data folder. The text is counted once, with the window of the
preset; best begins from these counts, skip-gram (five passes, its defaults) from the text. Every command is a process
of its own, kernels compiled before; of --repeat runs the quickest counts. Seconds are those of the whole command;
learning is what lies between reading and writing, for skip-gram gensim's passes alone, without its vocabulary (the
first pass is taken to be as long as the others). Ratios are of the same run. ``--scores``: on the test halves.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

import wordforest as wf
from wordforest.evaluation.suite import Half
from wordforest.reproduce.commands import run_command
from wordforest.reproduce.results import COLUMNS
from wordforest.runtime.machine import available_cores
from wordforest.runtime.progress import Event

COUNT = ["--window", "5", "--dynamic-window", "--subsample", "1e-4", "--mark-sides"]
SKIP_GRAM = "skip-gram"
MODELS = {"best": ["--preset", "best"], "best, lam = 0": ["--preset", "best", "--lam", "0"], SKIP_GRAM: []}
PASSES = 5
HEADER = ("M", "model", "seconds", "of them learning", "peak memory", "non-zeros")


class Took(NamedTuple):
    """Seconds of a command, those of learning, and its peak memory in bytes."""

    seconds: float
    learning: float
    peak: int


def main() -> None:
    asked = arguments()
    with tempfile.TemporaryDirectory(dir=asked.work) as made:
        work = Path(made)
        warm_up(work, asked)
        load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
        cores = f"{available_cores()} cores, load {load}"
        print(f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {cores}; {asked.corpus.name}")
        counts = timed(["count", str(asked.corpus), *COUNT, "--out", str(work / "counts")])
        print(f"counted in {counts.seconds:.1f} s, {counts.peak / 1e9:.2f} GB\n")
        header = (*HEADER, *(column.name for column in COLUMNS if asked.scores))
        print(f"| {' | '.join(header)} |\n|---|---|{'---:|' * (len(header) - 2)}", flush=True)
        took = {(trees, name): measured(work, trees, name, asked) for trees in asked.trees for name in asked.only}
    print(
        "\n## Times as quick as skip-gram\n\n| M | model | the whole command | its passes alone |\n|---|---|---:|---:|"
    )
    for (trees, name), ours in took.items():
        if name != SKIP_GRAM and (theirs := took.get((trees, SKIP_GRAM))):
            whole, passes = theirs.seconds / ours.seconds, theirs.learning / ours.seconds
            print(f"| {13 * trees} | {name} | {whole:.1f} | {passes:.1f} |")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path, nargs="?")
    parser.add_argument("--data", type=Path, default=os.environ.get("WORDFOREST_DATA"))
    parser.add_argument("--trees", type=int, nargs="+", default=[4, 40])
    parser.add_argument("--only", nargs="+", choices=MODELS, default=[*MODELS])
    parser.add_argument("--scores", action="store_true")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--work", type=Path)
    asked = parser.parse_args()
    if not (asked.corpus or asked.data):
        parser.error("give a CORPUS, or --data DIR with corpora/enwiki_dev.txt.xz")
    asked.corpus = asked.corpus or asked.data / "corpora" / "enwiki_dev.txt.xz"
    return asked


def warm_up(work: Path, asked: argparse.Namespace) -> None:
    """Train on a small made-up text, so that all kernels are compiled when the clock starts."""
    ranks = np.random.default_rng(0).zipf(1.3, 100_000)
    words = [f"w{rank}" for rank in ranks[ranks < 1000]]
    (work / "small.txt").write_text("\n".join(" ".join(words[i : i + 20]) for i in range(0, len(words), 20)))
    timed(["count", str(work / "small.txt"), *COUNT, "--min-count", "1", "--out", str(work / "small")])
    for trees in asked.trees:
        for name in (name for name in asked.only if name != SKIP_GRAM):
            timed([*command(name, work / "small", trees, asked), "--out", str(work / "warm"), "--force"])


def measured(work: Path, trees: int, name: str, asked: argparse.Namespace) -> Took:
    """Run a model, print its row, and return what the quickest run took."""
    run = work / f"{name} {trees}"
    typed = [*command(name, work / "counts", trees, asked), "--out", str(run), "--force"]
    took = min(timed(typed) for _ in range(asked.repeat))
    vectors = wf.read_vectors(run)
    cells = [f"{took.seconds:.1f}", f"{took.learning:.1f}", f"{took.peak / 1e9:.2f} GB", f"{vectors.density():.1%}"]
    cells += scores(vectors, asked.data) if asked.scores else []
    print(f"| {13 * trees} | {name} | {' | '.join(cells)} |", flush=True)
    return took


def command(name: str, counts: Path, trees: int, asked: argparse.Namespace) -> list[str]:
    if name == SKIP_GRAM:
        return ["baseline", "sg", str(asked.corpus), "--dimensions", str(13 * trees), "--epochs", str(PASSES)]
    return ["train", str(counts), *MODELS[name], "--trees", str(trees), "--device", asked.device]


def timed(typed: list[str]) -> Took:
    """Run a command, named on standard error, and return what it took."""
    began: dict[float, float] = {}  # when learning first was so far

    def listen(event: Event) -> None:
        if event.stage == "learn":
            began.setdefault(event.done, time.monotonic())

    print("wordforest", *(Path(part).name for part in typed), file=sys.stderr)  # what is run, without its folders
    seconds, peak = run_command(typed, listen)
    ends = sorted(began.values()) or [0.0]
    if typed[0] == "baseline":  # the ends of passes, all but the start of the first
        return Took(seconds, (ends[-1] - ends[1]) * PASSES / (PASSES - 1), peak)
    return Took(seconds, ends[-1] - ends[0], peak)


def scores(vectors: wf.Vectors, data: Path | None, half: Half = "test") -> list[str]:
    """Return the scores on one of the halves as cells, empty where there are no data."""
    found = wf.evaluate(vectors, data, half=half)
    values = [next((score.value for score in found if column.matches(score)), None) for column in COLUMNS]
    pairs = zip(values, COLUMNS, strict=True)
    return ["" if value is None else f"{value:.{column.digits}f}" for value, column in pairs]


if __name__ == "__main__":
    main()
