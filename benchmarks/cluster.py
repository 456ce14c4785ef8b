"""A cluster of processes on this machine against threads: seconds, bits, and bytes that a step moves.

python benchmarks/cluster.py overhead --counts COUNTS [--text CORPUS] [--trees 4] [--workers 2] [--repeat 3]
python benchmarks/cluster.py bytes --counts COUNTS [--trees 4] [--workers 2]
python benchmarks/cluster.py sizes
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections import defaultdict
from itertools import product
from pathlib import Path
from typing import Any

import cluster_sizes
import wordforest as wf
from wordforest import store
from wordforest.coder.rows.cluster import ClusterRows
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.progress import Event, Reporter

FILES = ("codes.safetensors", "dictionary.safetensors", "vocab.tsv", "forest.json")


class Clock(Reporter):
    """Remembers when each stage was first and last heard of."""

    def __init__(self) -> None:
        self.first: dict[str, float] = {}
        self.last: dict[str, float] = {}

    def __call__(self, event: Event) -> None:
        """Take the time."""
        now = time.perf_counter()
        self.first.setdefault(event.stage, now)
        self.last[event.stage] = now

    def seconds(self, stage: str) -> float:
        """Return how long a stage took."""
        return self.last.get(stage, 0.0) - self.first.get(stage, 0.0)


def timed(source: str, out: Path, trees: int, **who: Any) -> tuple[float, float]:
    """Train, with no counts of an earlier run nor of one beside it; return seconds of all and of learning alone."""
    clock = Clock()
    shutil.rmtree(out.parent, ignore_errors=True)
    started = time.perf_counter()
    wf.train(source, out=out, trees=trees, report=clock, **who)
    return time.perf_counter() - started, clock.seconds("learn")


def overhead(options: argparse.Namespace) -> None:
    with (
        tempfile.TemporaryDirectory(dir=options.scratch) as scratch,
        Cluster.connect(f"local:{options.workers}") as there,
    ):
        threads, processes = Path(scratch) / "threads" / "run", Path(scratch) / "processes" / "run"
        print("| from | threads, s | processes, s | more | same bits |\n|---|---|---|---|---|")
        for source, trees in product(filter(None, (options.counts, options.text)), options.trees):
            times: dict[str, list[tuple[float, float]]] = defaultdict(list)
            for _ in range(options.repeat + 1):  # the first compiles and warms up
                times["threads"].append(timed(source, threads, trees, workers=options.workers))
                times["processes"].append(timed(source, processes, trees, cluster=there))
            here, away = ([statistics.median(part) for part in zip(*times[name][1:], strict=True)] for name in times)
            same = all((threads / name).read_bytes() == (processes / name).read_bytes() for name in FILES)
            begins = "counts" if source == options.counts else "text"
            for what, a, b in zip(("to vectors", "learning alone"), here, away, strict=True):
                print(f"| {begins}, {what}, M = {13 * trees} | {a:.2f} | {b:.2f} | {b / a - 1:.0%} | {same} |")


def count_bytes(options: argparse.Namespace) -> None:
    """Compare the bytes that steps put on the cluster and fetch from it with those computed."""
    from distributed.protocol import serialize

    moved: dict[str, float] = defaultdict(float)

    def size(value: Any) -> int:
        return sum(memoryview(frame).nbytes for frame in serialize(value)[1])

    put, collect, code = Cluster.put, Cluster.collect, ClusterRows.run_and_add

    def counted_put(self: Cluster, values: list[Any]) -> Any:
        moved["from"] += sum(map(size, values))
        return put(self, values)

    def counted_collect(self: Cluster, *arguments: Any) -> Any:
        values = collect(self, *arguments)
        moved["to"] += sum(map(size, values))
        return values

    def counted_code(self: ClusterRows, *arguments: Any) -> Any:
        moved["steps"] += 1
        return code(self, *arguments)

    def between(cluster: Cluster) -> float:
        found = cluster.client.run(lambda dask_worker: sum(got["total"] for got in dask_worker.transfer_incoming_log))
        return float(sum(found.values()))

    with (
        tempfile.TemporaryDirectory(dir=options.scratch) as scratch,
        Cluster.connect(f"local:{options.workers}") as there,
    ):
        marks: list[tuple[float, ...]] = []

        class Marks(Reporter):
            def __call__(self, event: Event) -> None:
                if event.stage == "learn":
                    marks.append((moved["steps"], moved["from"], moved["to"], between(there)))

        Cluster.put, Cluster.collect, ClusterRows.run_and_add = counted_put, counted_collect, counted_code  # type: ignore[method-assign]
        run = wf.train(options.counts, out=Path(scratch) / "run", trees=options.trees[0], cluster=there, report=Marks())
    V, M = len(run.words), 13 * options.trees[0]
    first, last = marks[1], marks[-2]  # between the first step, which cuts columns, and the last, exact pass
    steps = last[0] - first[0]
    size_ = cluster_sizes.size_of(
        0, V, M, options.workers, pairs=store.read_counts(Path(options.counts), mapped=True)[2].nnz
    )
    print("| way | measured, MB a step | computed, MB a step | more |\n|---|---|---|---|")
    computed = (size_.from_client, size_.to_client, size_.between)
    for name, a, b, c in zip(
        ("from the client", "to the client", "between workers"), first[1:], last[1:], computed, strict=True
    ):
        each = (b - a) / steps
        print(f"| {name} | {each / 1e6:.2f} | {c / 1e6:.2f} | {each / c - 1:+.1%} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("overhead", "bytes", "sizes"))
    parser.add_argument("--counts", default=None)
    parser.add_argument("--text", default=None)
    parser.add_argument("--trees", type=int, nargs="+", default=[4])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--scratch", default=None)
    options = parser.parse_args()
    if options.what == "sizes":
        print("\n".join(cluster_sizes.table()))
    elif options.what == "bytes":
        count_bytes(options)
    else:
        overhead(options)


if __name__ == "__main__":
    main()
