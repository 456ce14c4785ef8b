"""The coder against others and against itself, ratios within one run.

python benchmarks/coder.py solvers                       objective against seconds for every inner solver
python benchmarks/coder.py spams [--words 20000]         coding against SPAMS fistaTree at equal objective
python benchmarks/coder.py gensim --counts DIR --text FILE [--trees 4 40] [--data DIR]
                                                         whole training against gensim skip-gram
python benchmarks/coder.py growth                        twice the words, at most twice the time?

SPAMS (spams-bin) and gensim come with the extra ``test``. FILE holds the tokens that DIR was counted from, a sentence a
line, words below the count threshold as #rare#.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import wordforest as wf
from wordforest.runtime.machine import Threads, available_cores, kernel, one_blas_thread


def solvers(_: argparse.Namespace) -> None:
    """Seconds on one core until the objective of 500 words is within a share of the best."""
    forest = wf.Forest.complete(40)
    rng = np.random.default_rng(0)
    D = (
        rng.standard_normal((2000, 520))
        + 3 * rng.standard_normal((2000, 20)) @ rng.standard_normal((20, 520)) / 20**0.5
    )
    D = (D / np.linalg.norm(D, axis=0)).astype(np.float32)
    X = (
        rng.standard_normal((500, 2000)).astype(np.float32)
        + 2 * rng.standard_normal((500, 520)).astype(np.float32) @ D.T
    )
    XD, gram = X @ D, wf.coder.Gram(D.T @ D)
    energy = float((X.astype(np.float64) ** 2).sum())
    print(f"M = 520, condition number {gram.lipschitz / gram.curvature:.0f}\n")
    print("| non-zeros | solver | 1e-4 | 1e-6 | 1e-8 |\n|---|---|---|---|---|")
    for lam in (0.1, 2.0, 8.0):
        penalty = wf.coder.ForestL2(forest, lam)
        wide = wf.coder.Gram(gram.DD.astype(np.float64))
        best = wf.coder.admm(XD.astype(np.float64), wide, penalty, tol=1e-12, max_iter=5000).A
        for name, solve in _solver_list(forest, lam).items():
            cells = [
                _seconds_to(solve, XD, gram, penalty, _value(best, XD, gram, penalty), energy, share)
                for share in (1e-4, 1e-6, 1e-8)
            ]
            print(f"| {np.mean(best != 0):.0%} | {name} | " + " | ".join(cells) + " |", flush=True)


def _solver_list(forest: wf.Forest, lam: float) -> dict[str, Callable[..., Any]]:
    def trees(XD: Any, gram: Any, _penalty: Any, n: int) -> Any:
        return _descend(XD, gram.DD, forest, lam, n)

    return {
        "FISTA, restarts by word": lambda XD, gram, penalty, n: (
            wf.coder.fista(XD, gram, penalty, tol=0.0, max_iter=n).A
        ),
        "ADMM, over-relaxed": lambda XD, gram, penalty, n: wf.coder.admm(XD, gram, penalty, tol=0.0, max_iter=n).A,
        "descent over trees, active sets": trees,
    }


def _value(A: Any, XD: Any, gram: Any, penalty: Any) -> float:
    A, XD, DD = A.astype(np.float64), XD.astype(np.float64), gram.DD.astype(np.float64)
    return float((A * (A @ DD - 2 * XD)).sum() + penalty.per_word(A).sum())


def _seconds_to(solve: Any, XD: Any, gram: Any, penalty: Any, best: float, energy: float, share: float) -> str:
    with one_blas_thread():
        n, seconds = 4, 0.0
        while seconds < 3:
            started = time.perf_counter()
            A = solve(XD, gram, penalty, n)
            seconds = time.perf_counter() - started
            if _value(A, XD, gram, penalty) - best <= share * energy:
                return f"{seconds:.2f} s ({n})"
            n = n * 5 // 4
    return "-"


def _descend(XD: Any, DD: Any, forest: wf.Forest, lam: float, n: int) -> Any:
    roots = forest.roots.astype(np.int64)
    ends = forest.end[roots].astype(np.int64)
    bounds = np.array(
        [2 * np.linalg.eigvalsh(DD[r:e, r:e].astype(np.float64))[-1] for r, e in zip(roots, ends, strict=True)]
    )
    A = np.zeros_like(XD)
    _sweep_trees(XD, DD, roots, ends, forest.parent, bounds.astype(XD.dtype), XD.dtype.type(lam), n, A)
    return A


@kernel
def _sweep_trees(XD: Any, DD: Any, roots: Any, ends: Any, parent: Any, bounds: Any, lam: float, n: int, A: Any) -> None:
    """Proximal steps on one tree after the other; two of three sweeps visit only trees that are in use."""
    M = XD.shape[1]
    energy = np.zeros(M, dtype=XD.dtype)
    factor = np.zeros(M, dtype=XD.dtype)
    new = np.zeros(M, dtype=XD.dtype)
    for v in range(XD.shape[0]):
        a, q = A[v], np.zeros(M, dtype=XD.dtype)  # q = DD a
        for turn in range(n):
            for t in range(len(roots)):
                first, last, bound = roots[t], ends[t], bounds[t]
                if turn % 3 and a[first] == 0:
                    continue
                for i in range(first, last):
                    new[i] = a[i] - 2 * (q[i] - XD[v, i]) / bound
                    energy[i] = new[i] * new[i]
                for i in range(last - 1, first - 1, -1):
                    size = np.sqrt(energy[i])
                    factor[i] = 1 - lam / bound / size if size > lam / bound else 0
                    if i > first:
                        energy[parent[i]] += energy[i] * factor[i] * factor[i]
                for i in range(first, last):
                    if i > first:
                        factor[i] *= factor[parent[i]]
                    change = new[i] * factor[i] - a[i]
                    if change != 0:
                        a[i] += change
                        row = DD[i]
                        for m in range(M):
                            q[m] += change * row[m]


def spams(options: argparse.Namespace) -> None:
    """Dense X (words, 2000), random D, M = 520, lam = 0.3."""
    import spams as others

    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from oracles import spams_tree

    forest, rng = wf.Forest.complete(40), np.random.default_rng(0)
    D = rng.standard_normal((2000, 520))
    D /= np.linalg.norm(D, axis=0)
    X = rng.standard_normal((options.words, 520)) @ D.T + 0.5 * rng.standard_normal((options.words, 2000))
    penalty = wf.coder.ForestL2(forest, 0.3)
    wf.coder.encode(X[:200], D, penalty)
    rows = []
    for dtype in (np.float32, np.float64):
        x, d = X.astype(dtype), D.astype(dtype)
        started = time.perf_counter()
        codes = wf.coder.encode(x, d, penalty)
        rows.append((f"wordforest {dtype.__name__}", time.perf_counter() - started, codes.A))
    started = time.perf_counter()
    W = others.fistaTree(
        np.asfortranarray(X.T),
        np.asfortranarray(D),
        np.zeros((520, len(X)), order="F"),
        spams_tree(forest, np.ones(520)),
        False,
        numThreads=available_cores(),
        lambda1=penalty.lam / 2,
        regul="tree-l2",
        loss="square",
        tol=1e-6,
        max_it=5000,
        compute_gram=True,
    )
    rows.append(("SPAMS fistaTree, tol 1e-6", time.perf_counter() - started, np.asarray(W).T))
    best = min(wf.coder.objective(X, D, A, penalty) for _, _, A in rows)
    print("| coder | seconds | above the best objective | non-zeros |\n|---|---|---|---|")
    for name, seconds, A in rows:
        excess = wf.coder.objective(X, D, A, penalty) / best - 1
        print(f"| {name} | {seconds:.2f} | {excess:.1e} | {np.mean(A != 0):.1%} |")


def gensim(options: argparse.Namespace) -> None:
    """Whole training, as commands: start-up, loading and writing included."""
    print("| M | wordforest, s | gensim skip-gram, 5 epochs, s | ratio | similarity, ours / gensim |")
    print("|---|---|---|---|---|")
    for trees in options.trees:
        with tempfile.TemporaryDirectory() as folder:
            run, vectors = Path(folder) / "run", Path(folder) / "vectors.bin"
            command = [
                sys.executable,
                "-m",
                "wordforest",
                "train",
                options.counts,
                "--out",
                str(run),
                "--trees",
                str(trees),
            ]
            ours = _timed([*command, "--quiet"])
            theirs = _timed(
                [sys.executable, "-c", _GENSIM, options.text, str(13 * trees), str(available_cores()), str(vectors)]
            )
            scores = [_similarity(name, options.data) for name in (run, vectors)]
        print(
            f"| {13 * trees} | {ours:.1f} | {theirs:.1f} | {theirs / ours:.1f} | {scores[0]:.3f} / {scores[1]:.3f} |",
            flush=True,
        )


_GENSIM = """
import sys
from gensim.models import Word2Vec
text, size, workers, out = sys.argv[1:]
model = Word2Vec(corpus_file=text, vector_size=int(size), window=5, sg=1, min_count=10, workers=int(workers))
model.wv.save_word2vec_format(out, binary=True)
"""


def _timed(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - started


def _similarity(name: Path, data: str | None) -> float:
    scores = wf.evaluate(wf.read_vectors(name), data)
    return next(score.value for score in scores if score.set == "weighted mean")


def growth(_: argparse.Namespace) -> None:
    """Learn from V and 2 V words with 300 entries each, M = 260."""
    rng = np.random.default_rng(0)
    seconds = []
    for V in (2000, 20_000, 40_000):  # the first compiles
        columns = np.sort(rng.integers(0, 20_000, (V, 300)), axis=1).ravel()
        X = sparse.csr_array(
            (rng.standard_normal(V * 300).astype(np.float32), columns, np.arange(0, V * 300 + 1, 300)),
            shape=(V, 20_000),
        )
        X.sum_duplicates()
        started = time.perf_counter()
        wf.coder.learn_online(
            X,
            wf.coder.ForestL2(wf.Forest.complete(20), 0.1),
            260,
            wf.coder.OnlineSettings(epochs=2, tol=0.0),
            executor=Threads(),
        )
        seconds.append(time.perf_counter() - started)
    print("| V | seconds |\n|---|---|")
    print(f"| 20,000 | {seconds[1]:.2f} |\n| 40,000 | {seconds[2]:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", default="solvers", choices=["solvers", "spams", "gensim", "growth"])
    parser.add_argument("--words", type=int, default=20_000)
    parser.add_argument("--counts")
    parser.add_argument("--text")
    parser.add_argument("--data")
    parser.add_argument("--trees", type=int, nargs="+", default=[4, 40])
    options = parser.parse_args()
    if options.part == "gensim" and not (options.counts and options.text):
        parser.error("gensim needs --counts DIR and --text FILE")
    print(
        f"{datetime.now(UTC):%Y-%m-%d}, {options.part}, Python {platform.python_version()}, {available_cores()} cores\n"
    )
    {"solvers": solvers, "spams": spams, "gensim": gensim, "growth": growth}[options.part](options)


if __name__ == "__main__":
    main()
