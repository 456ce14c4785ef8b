"""Algorithm 1: visits a second, and quality per second beside the online learner.

python benchmarks/entries.py speed [--counts DIR] [--workers 1 2]      M = 52, 260, 520
python benchmarks/entries.py spool --counts DIR [--folder DIR]         X and its entries in memory, and in files
python benchmarks/entries.py quality --counts DIR --data DIR           scores, unstored pairs counted and left out
python benchmarks/entries.py glove --counts DIR --glove DIR            GloVe's own program on the same pairs, same M

Visits a second are those of whole passes, drawing included, the objective after each pass not. ``spool`` measures each
way in a process of its own.

Without --counts, ``speed`` uses a made-up matrix with frequencies like those of words. GloVe is not part of this
package: --glove names a folder that holds its compiled ``glove`` program.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import wordforest as wf
from wordforest.coder.entries import EntryObjective, EntrySettings, learn_from_entries
from wordforest.coder.online import learn_online
from wordforest.coder.penalties import ForestL2
from wordforest.coder.rows.pairs import stored_pairs
from wordforest.runtime.disk import arrays_in
from wordforest.runtime.machine import Threads, available_cores
from wordforest.store import read_counts


def speed(options: argparse.Namespace) -> None:
    """Visits a second for three sizes."""
    X = pmi_of(options.counts) if options.counts else made_up(60_000, 8_000_000)
    print(f"V = {X.shape[0]}, {X.nnz / 1e6:.1f} M entries\n")
    print("| M | " + " | ".join(f"{n} workers, M visits/s" for n in options.workers) + " |")
    print("|---|" + "---|" * len(options.workers))
    for trees in (4, 20, 40):
        rates = [visits_per_second(X, trees, n) for n in options.workers]
        print(f"| {13 * trees} | " + " | ".join(f"{rate / 1e6:.2f}" for rate in rates) + " |", flush=True)


def quality(options: argparse.Namespace) -> None:
    """Scores of M = 52: the paper's objective, the defaults, both without a penalty, and the learner online last."""
    words, _, matrix, _ = read_counts(Path(options.counts))
    X = wf.pmi(matrix)
    print("| learner | lam | seconds | similarity | syntactic, % | semantic, % | non-zeros |\n" + "|---" * 7 + "|")
    as_published, as_it_comes = EntrySettings(zeros=0.0, tau=0.01), EntrySettings()
    learners = {"entries, the paper's objective": as_published, "entries": as_it_comes, "online": None}
    for lam in (0.1, 0.0):
        penalty = ForestL2(wf.Forest.complete(4), lam)
        for name, settings in learners.items():
            started = time.perf_counter()
            learned = learn_from_entries(X, penalty, 52, settings) if settings else learn_online(X, penalty, 52)
            _row(f"{name} | {lam:g}", time.perf_counter() - started, words, learned.A, options.data)


def glove(options: argparse.Namespace) -> None:
    """Seconds and updates a second of GloVe's program for one pass over the same pairs, one and all threads."""
    words, totals, matrix, _ = read_counts(Path(options.counts))
    pairs = matrix.tocoo()
    record = np.dtype([("word", "<i4"), ("context", "<i4"), ("value", "<f8")])
    with tempfile.TemporaryDirectory() as folder:
        table = np.empty(pairs.nnz, dtype=record)
        table["word"], table["context"], table["value"] = pairs.row + 1, pairs.col + 1, pairs.data
        np.random.default_rng(0).shuffle(table)
        table.tofile(Path(folder) / "pairs.bin")
        vocabulary = "".join(f"{word} {total}\n" for word, total in zip(words, totals, strict=True))
        (Path(folder) / "vocab.txt").write_text(vocabulary, encoding="utf-8")
        for threads in options.workers:
            command = [
                str(Path(options.glove) / "glove"),
                "-input-file",
                "pairs.bin",
                "-vocab-file",
                "vocab.txt",
                "-save-file",
                "out",
                "-vector-size",
                "52",
                "-iter",
                "1",
                "-threads",
                str(threads),
            ]
            started = time.perf_counter()
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
            seconds = time.perf_counter() - started
            print(f"glove, M = 52, {threads} threads: {seconds:.1f} s, {pairs.nnz / seconds / 1e6:.2f} M updates/s")


def grid(options: argparse.Namespace) -> None:
    """Whether any step size leads to NaN: a pass each on the paper's objective, from far too small to far too large."""
    words, _, matrix, _ = read_counts(Path(options.counts))
    X = wf.pmi(matrix)
    print("| eta | ended with | times halved | objective | finite | similarity |\n|---|---|---|---|---|---|")
    for eta in (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 100.0):
        settings = EntrySettings(eta=eta, zeros=0.0, tau=0.01, epochs=1, tol=0.0)
        penalty = ForestL2(wf.Forest.complete(4), 0.1)
        learned = learn_from_entries(X, penalty, 52, settings, executor=Threads(max(options.workers)))
        finite = bool(np.isfinite(learned.A).all() and np.isfinite(learned.D).all())
        score = f"{similarity(words, learned.A, options.data):.3f}" if options.data else ""
        facts = (
            f"{eta:g}",
            f"{learned.facts['eta']:.2g}",
            len(learned.notices),
            f"{learned.history[-1].objective:.5g}",
            finite,
        )
        print(f"| {' | '.join(map(str, facts))} | {score} |", flush=True)


def spool(options: argparse.Namespace) -> None:
    """Speed and memory of a run whose counts, values and entries lie in files, beside one that has them in memory."""
    print("| arrays | seconds to the end of the first pass | M visits/s | memory beyond files after a pass, MB |")
    print("|---|---|---|---|")
    Path(options.folder).mkdir(parents=True, exist_ok=True)
    for where in ("memory", "files"):
        command = [sys.executable, __file__, "spool-one", "--counts", options.counts, "--where", where]
        command += ["--folder", options.folder, "--workers", str(max(options.workers))]
        print(
            subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1], flush=True
        )


def spool_one(options: argparse.Namespace) -> None:
    """One row of ``spool``."""
    in_files = options.where == "files"
    allocate = arrays_in(Path(options.folder)) if in_files else np.empty
    started = time.perf_counter()
    X = wf.pmi(read_counts(Path(options.counts), mapped=in_files)[2], share_pattern=True, allocate=allocate)
    memory: list[int] = []
    seconds: list[float] = []

    def look(*_: object) -> None:
        seconds.append(time.perf_counter() - started)
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        memory.append(next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")))

    settings = EntrySettings(eta=0.005, zeros=0.0, tau=0.01, epochs=3, tol=0.0)
    _, rate = timed(X, (4, 0.1), settings, options.workers[0], allocate, look)
    print(f"| in {options.where} | {seconds[0]:.1f} | {rate / 1e6:.2f} | {max(memory) / 1024:.0f} |")


def visits_per_second(X: Any, trees: int, workers: int) -> float:
    settings = EntrySettings(eta=0.005, zeros=0.0, tau=0.01, epochs=3, tol=0.0)
    return timed(X, (trees, 0.1), settings, workers)[1]


def timed(
    X: Any,
    model: tuple[int, float],
    settings: EntrySettings,
    workers: int,
    allocate: Any = np.empty,
    on_pass: Any = None,
) -> tuple[Any, float]:
    """Learn with so many trees and this lam; return it, and the visits a second of the quickest pass but the first."""
    trees, lam = model
    penalty = ForestL2(wf.Forest.complete(trees), lam)
    executor = Threads(workers)
    marks: list[float] = []

    def mark(*at: object) -> None:
        marks.append(time.perf_counter())
        if on_pass:
            on_pass(*at)

    learned = learn_from_entries(X, penalty, 13 * trees, settings, executor=executor, on_step=mark, allocate=allocate)
    objective = EntryObjective(stored_pairs(X), penalty, settings.tau or 0.0, settings.zeros, 0)
    started = time.perf_counter()
    objective(learned.D, learned.A, executor)
    return learned, X.nnz / (min(np.diff(marks)) - (time.perf_counter() - started))


def pmi_of(counts: str) -> Any:
    return wf.pmi(read_counts(Path(counts))[2])


def made_up(n_words: int, n_entries: int) -> Any:
    rng = np.random.default_rng(0)
    p = 1 / (np.arange(n_words) + 20)
    rows, columns = (rng.choice(n_words, n_entries, p=p / p.sum()) for _ in range(2))
    values = np.clip(rng.normal(1, 1.5, n_entries), -4, 6).astype(np.float32)
    X = sparse.csr_array((values, (rows, columns)), shape=(n_words, n_words))
    X.sum_duplicates()
    return X


def similarity(words: Any, A: np.ndarray, data: str | None) -> float:
    return scores(words, A, data, "similarity")["weighted mean"]


def scores(words: Any, A: np.ndarray, data: str | None, *tasks: str) -> dict[str, float]:
    return {score.set: score.value for score in wf.evaluate(wf.Vectors(words, A), data, tasks=tasks)}


def _row(learner: str, seconds: float, words: Any, A: np.ndarray, data: str | None) -> None:
    found = scores(words, A, data, "similarity", "analogy")
    values = f"{found['weighted mean']:.3f} | {found['syntactic']:.1f} | {found['semantic']:.1f}"
    print(f"| {learner} | {seconds:.1f} | {values} | {np.mean(A != 0):.1%} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {
        "speed": speed,
        "grid": grid,
        "spool": spool,
        "spool-one": spool_one,
        "quality": quality,
        "glove": glove,
    }
    parser.add_argument("part", nargs="?", default="speed", choices=parts)
    parser.add_argument("--counts", default=None)
    parser.add_argument("--data", default=None)
    parser.add_argument("--glove", default=None)
    parser.add_argument("--folder", default=tempfile.gettempdir())
    parser.add_argument("--where", default="memory", choices=("memory", "files"))
    parser.add_argument("--workers", type=int, nargs="+", default=sorted({1, available_cores()}))
    options = parser.parse_args()
    print(f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {available_cores()} cores\n")
    parts[options.part](options)


if __name__ == "__main__":
    main()
