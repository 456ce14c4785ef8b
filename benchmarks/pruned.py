"""What zeros cost in the preset best when no tree makes them: vectors rotated, and the largest numbers of a word kept.

python benchmarks/pruned.py CORPUS [--data DIR] [--trees 4 40] [--work DIR]

Best with lam = 0 has no basis of its own: any rotation of all vectors has the same cosines. So a rotation is looked for
in which few numbers of a word are large (quartimax: ``max_R sum over v, m of (A R)_vm^4``, by the frequent words), and
the smallest numbers of every word become zero. Beside it: the same in the basis as it comes, which is random, and dense
vectors of fewer dimensions, with as many numbers to a word. Scores are those of both halves of the items: the share was
looked for on development halves. Models that ``--work`` has are not trained again.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
from scipy import sparse

import wordforest as wf
from best import COUNT, scores
from presets import wordforest
from wordforest.reproduce.results import COLUMNS

SHARES = (0.7, 0.5, 0.4, 0.3, 0.2)
FREQUENT = 20_000  # words that say which rotation is best
ROUNDS = 60
HALVES = {"development": "dev", "test": "test"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--trees", type=int, nargs="+", default=[4, 40])
    parser.add_argument("--work", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        work = asked.work or Path(made)
        print(f"{asked.corpus.name}, preset best with lam = 0, seed 0")
        if not (work / "counts").exists():
            wordforest(["count", str(asked.corpus), *COUNT, "--out", str(work / "counts")])
        for trees in asked.trees:
            print_table(work, trees, asked.data)


def print_table(work: Path, trees: int, data: Path | None) -> None:
    header = (
        "",
        "numbers a word",
        *(f"{column.name}, {half}" for half in HALVES.values() for column in COLUMNS),
    )
    print(f"\n## M = {13 * trees}\n\n| {' | '.join(header)} |\n|---|{'---:|' * (len(header) - 1)}", flush=True)
    dense = trained(work, trees)
    A = sparse.csr_array(dense.matrix).toarray()

    def show(name: str, vectors: wf.Vectors, n: int) -> None:
        cells = [cell for half in HALVES for cell in scores(vectors, data, half)]
        print(f"| {name} | {n} | {' | '.join(cells)} |", flush=True)

    show("dense", dense, A.shape[1])
    few = max(round(0.3 * trees), 1)
    show(f"dense, {few} trees in place of {trees}", trained(work, few), 13 * few)
    bases = {"as it comes": A, "rotated": A @ quartimax(A[:FREQUENT])}
    for basis, share in [("as it comes", 0.3), *(("rotated", share) for share in SHARES)]:
        k = round(share * A.shape[1])
        show(f"{basis}, {share:.0%} kept", wf.Vectors(dense.words, largest(bases[basis], k)), k)


def trained(work: Path, trees: int) -> wf.Vectors:
    run = work / f"run{trees}"
    if not run.exists():
        best = ["train", str(work / "counts"), "--preset", "best", "--lam", "0", "--trees", str(trees)]
        wordforest([*best, "--out", str(run)])
    return wf.load_run(run).vectors


def quartimax(A: np.ndarray) -> np.ndarray:
    """Return the rotation (M, M) under which fourth powers of A (n, M) are largest, near enough."""
    R = np.eye(A.shape[1], dtype=A.dtype)
    for _ in range(ROUNDS):
        left, _, right = np.linalg.svd(A.T @ (A @ R) ** 3)
        R = left @ right
    return R


def largest(A: np.ndarray, k: int) -> np.ndarray:
    """Return A (V, M) with the k largest numbers of every row, zeros elsewhere."""
    kept = np.argpartition(-abs(A), k - 1, axis=1)[:, :k]
    out = np.zeros_like(A)
    np.put_along_axis(out, kept, np.take_along_axis(A, kept, axis=1), axis=1)
    return out


if __name__ == "__main__":
    main()
