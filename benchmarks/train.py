"""Whole training, stage by stage: seconds, tokens/s, peak memory, density, similarity.

python benchmarks/train.py [CORPUS] [--data DIR] [--trees 4]
"""

from __future__ import annotations

import argparse
import platform
import resource
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import wordforest as wf
from wordforest.evaluation.datasets import demo_corpus
from wordforest.runtime.machine import available_cores
from wordforest.runtime.progress import Event, Reporter


class Clock(Reporter):
    """Remembers when each stage was first and last heard of."""

    def __init__(self) -> None:
        self.first: dict[str, float] = {}
        self.last: dict[str, tuple[float, float]] = {}

    def __call__(self, event: Event) -> None:
        """Take the time."""
        now = time.perf_counter()
        self.first.setdefault(event.stage, now)
        self.last[event.stage] = (now, event.done)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", nargs="?", default=None)
    parser.add_argument("--data", default=None)
    parser.add_argument("--trees", type=int, default=4)
    options = parser.parse_args()
    clock = Clock()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run = wf.train(options.corpus or demo_corpus(), out=Path(folder) / "run", trees=options.trees, report=clock)
    total = time.perf_counter() - started
    print(f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {available_cores()} cores")
    print("\n## Stages\n\n| stage | seconds | units/s |\n|---|---|---|")
    for stage, (end, done) in clock.last.items():
        seconds = end - clock.first[stage]
        print(f"| {stage} | {seconds:.1f} | {done / max(seconds, 1e-9):,.0f} |")
    print(f"| all, with writing | {total:.1f} | |")
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9
    print(f"\n## Result\n\n| what | figure |\n|---|---|\n| peak memory | {peak:.2f} GB |")
    print(f"| words | {len(run.words):,} |\n| non-zeros | {run.vectors.density():.1%} |")
    for score in wf.evaluate(run.vectors, options.data):
        if score.set in ("weighted mean", "syntactic", "semantic"):
            print(f"| {score.task}, {score.set} | {score.value:.3f} ({score.n_scored:,} of {score.n_total:,}) |")


if __name__ == "__main__":
    main()
