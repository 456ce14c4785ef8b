"""Algorithm 1: visits a second, and quality per second beside the online learner.

python benchmarks/entries.py speed [--counts DIR] [--workers 1 2]      M = 52, 260, 520; prox at every visit or 8th
python benchmarks/entries.py quality --counts DIR --data DIR           similarity for several weights of unstored pairs
python benchmarks/entries.py glove --counts DIR --glove DIR            GloVe's own program on the same pairs, same M

Without --counts, ``speed`` uses a made-up matrix with frequencies like those of words. GloVe is not part of this
package: --glove names a folder that holds its compiled ``glove`` program.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import wordforest as wf
from wordforest.execution import Threads, available_cores
from wordforest.store import load_counts


def speed(options: argparse.Namespace) -> None:
    """Visits a second of whole passes, drawing included; cutting and the objective are not."""
    X = pmi_of(options.counts) if options.counts else made_up(60_000, 8_000_000)
    print(f"V = {X.shape[0]}, {X.nnz / 1e6:.1f} M entries\n")
    print("| M | prox | " + " | ".join(f"{n} workers, M visits/s" for n in options.workers) + " |")
    print("|---|---|" + "---|" * len(options.workers))
    for trees in (4, 20, 40):
        for lazy in (1, 8):
            rates = [visits_per_second(X, trees, lazy, n) for n in options.workers]
            every = "every visit" if lazy == 1 else f"every {lazy}th"
            print(f"| {13 * trees} | {every} | " + " | ".join(f"{rate / 1e6:.2f}" for rate in rates) + " |", flush=True)


def quality(options: argparse.Namespace) -> None:
    """Similarity after a few passes, W = 0 (the paper) and more; the online learner last."""
    words, _, matrix, _ = load_counts(Path(options.counts))
    X = wf.pmi(matrix)
    print("| learner | W | seconds | similarity | non-zeros |\n|---|---|---|---|---|")
    penalty = wf.ForestL2(wf.Forest.complete(4), 0.01)
    for zeros in (0.0, 0.1, 0.3, 1.0):
        settings = wf.EntrySettings(zeros=zeros, tau=0.001, epochs=5)
        started = time.perf_counter()
        learned = wf.learn_from_entries(X, penalty, 52, settings)
        _row("entries", f"{zeros:g}", time.perf_counter() - started, words, learned.A, options.data)
    started = time.perf_counter()
    learned = wf.learn_online(X, wf.ForestL2(wf.Forest.complete(4), 0.1), 52)
    _row("online", "1", time.perf_counter() - started, words, learned.A, options.data)


def glove(options: argparse.Namespace) -> None:
    """Seconds and updates a second of GloVe's program for one pass over the same pairs, one and all threads."""
    words, totals, matrix, _ = load_counts(Path(options.counts))
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
                str(Path(options.glove) / "glove"), "-input-file", "pairs.bin", "-vocab-file", "vocab.txt",
                "-save-file", "out", "-vector-size", "52", "-iter", "1", "-threads", str(threads),
            ]  # fmt: skip
            started = time.perf_counter()
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
            seconds = time.perf_counter() - started
            print(f"glove, M = 52, {threads} threads: {seconds:.1f} s, {pairs.nnz / seconds / 1e6:.2f} M updates/s")


def visits_per_second(X: Any, trees: int, lazy: int, workers: int) -> float:
    """Time the second of two passes: the difference of runs with two passes and one."""
    penalty = wf.ForestL2(wf.Forest.complete(trees), 0.01)
    marks: list[float] = []

    def mark(*_: object) -> None:
        marks.append(time.perf_counter())

    settings = wf.EntrySettings(eta=0.005, tau=0.001, lazy=lazy, epochs=3, tol=0.0)
    wf.learn_from_entries(X, penalty, 13 * trees, settings, executor=Threads(workers), on_step=mark)
    return X.nnz / min(np.diff(marks))


def pmi_of(counts: str) -> Any:
    return wf.pmi(load_counts(Path(counts))[2])


def made_up(n_words: int, n_entries: int) -> Any:
    rng = np.random.default_rng(0)
    p = 1 / (np.arange(n_words) + 20)
    rows, columns = (rng.choice(n_words, n_entries, p=p / p.sum()) for _ in range(2))
    values = np.clip(rng.normal(1, 1.5, n_entries), -4, 6).astype(np.float32)
    X = sparse.csr_array((values, (rows, columns)), shape=(n_words, n_words))
    X.sum_duplicates()
    return X


def _row(learner: str, zeros: str, seconds: float, words: Any, A: np.ndarray, data: str | None) -> None:
    scores = wf.evaluate(wf.Vectors(words, A), data, tasks=("similarity",))
    value = next(score.value for score in scores if score.set == "weighted mean")
    print(f"| {learner} | {zeros} | {seconds:.1f} | {value:.3f} | {np.mean(A != 0):.1%} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", default="speed", choices=("speed", "quality", "glove"))
    parser.add_argument("--counts", default=None)
    parser.add_argument("--data", default=None)
    parser.add_argument("--glove", default=None)
    parser.add_argument("--workers", type=int, nargs="+", default=sorted({1, available_cores()}))
    options = parser.parse_args()
    print(f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {available_cores()} cores\n")
    {"speed": speed, "quality": quality, "glove": glove}[options.part](options)


if __name__ == "__main__":
    main()
