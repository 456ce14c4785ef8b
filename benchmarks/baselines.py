"""Baselines on one text: tokens a second of learning, and similarity against an independent run of the same method.

python benchmarks/baselines.py speed [CORPUS] [--tokens 5000000]         nce and rnn, tokens/s, learning alone
python benchmarks/baselines.py check CORPUS --data DIR [--ours RUNS]     pca, sc, cbow, sg against other tools
python benchmarks/baselines.py rnn CORPUS --data DIR [--tokens 5000000]  perplexity and similarity on a part
python benchmarks/baselines.py nce CORPUS --data DIR [--tokens 5000000]  what nce's settings and vectors are worth

Without CORPUS the State of the Union addresses are used (extra ``demo``).
"""

from __future__ import annotations

import argparse
import platform
import tempfile
import time
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import wordforest as wf
from wordforest.baselines.nce import NceSettings, learn_model, learn_nce
from wordforest.baselines.rnn import RnnSettings, learn_rnn
from wordforest.evaluation.datasets import demo_corpus
from wordforest.reproduce.results import COLUMNS
from wordforest.runtime.machine import Threads, available_cores
from wordforest.text import WordRules, choose_words, read_tokens


def speed(options: argparse.Namespace) -> None:
    """Tokens of text a second in one pass; a first short pass compiles and warms up."""
    ids, vocabulary = tokens_of(options.corpus, options.tokens)
    n_tokens = int((ids >= 0).sum())
    print("| baseline | tokens | seconds | tokens/s |\n|---|---|---|---|")
    for name, learn in (("nce", _nce), ("rnn", _rnn)):
        learn(ids[:100_000], vocabulary.counts, options)
        started = time.perf_counter()
        learn(ids, vocabulary.counts, options)
        seconds = time.perf_counter() - started
        print(f"| {name} | {n_tokens:,} | {seconds:.1f} | {n_tokens / seconds:,.0f} |", flush=True)


def check(options: argparse.Namespace) -> None:
    """Similarity of our command and of the tool called directly."""
    print("| baseline | here | independent | tool |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts"
        wf.count_corpus(options.corpus, counts)
        ids, vocabulary = tokens_of(options.corpus)
        for name, tool in (("pca", _truncated_svd), ("sc", _dictionary_learning), ("cbow", _gensim), ("sg", _gensim)):
            made = sorted(Path(options.ours).glob(f"{name}-{options.dimensions}-seed0*")) if options.ours else []
            source = counts if name in ("pca", "sc") else options.corpus
            ours = (
                wf.load_run(made[0]).vectors
                if made
                else wf.baseline(name, source, dimensions=options.dimensions).vectors
            )
            theirs, title = tool(name, counts, ids, vocabulary, options.dimensions)
            values = [similarity(vectors, options.data) for vectors in (ours, theirs)]
            print(f"| {name} | {values[0]:.3f} | {values[1]:.3f} | {title} |", flush=True)


def rnn(options: argparse.Namespace) -> None:
    """Validation perplexity and similarity after learning from a part of the text."""
    ids, vocabulary = tokens_of(options.corpus, options.tokens)
    settings = RnnSettings(dimensions=options.dimensions)
    started = time.perf_counter()
    learned = learn_rnn(ids, vocabulary.counts, settings)
    seconds = time.perf_counter() - started
    value = similarity(wf.Vectors(vocabulary.words, learned.vectors), options.data)
    found = {"perplexity": f"{learned.history[-1]['perplexity']:.0f}", "similarity": f"{value:.3f}"}
    print(f"{settings}\n\n| what | figure |\n|---|---|")
    for name, figure in {"words": f"{len(vocabulary):,}", **found, "seconds": f"{seconds:.0f}"}.items():
        print(f"| {name} | {figure} |")


_ALL: dict[str, Any] = {"subsample": 0.0, "share": 16}
SETTINGS: dict[str, dict[str, Any]] = {  # of nce: what differs from its defaults
    "all words, 3 passes, 16 share noise": {**_ALL, "epochs": 3},
    "all words, 10 passes, 16 share noise": {**_ALL, "epochs": 10},
    "all words, 10 passes, 16 share noise by count^0.75": {**_ALL, "epochs": 10, "power": 0.75},
    "all words, 10 passes, 16 share noise, eta 0.1": {**_ALL, "epochs": 10, "eta": 0.1},
    "subsample 1e-5, 5 passes, 16 share noise": {"subsample": 1e-5, "share": 16},
    "subsample 1e-4, 5 passes, 16 share noise": {"share": 16},
    "subsample 1e-4, 5 passes, 4 share noise": {},
    "subsample 1e-4, 5 passes, noise for each word": {"share": 1},
    "subsample 1e-4, 10 passes, 4 share noise": {"epochs": 10},
}


def nce(options: argparse.Namespace) -> None:
    """Development halves of all tasks, one setting at a time, for context vectors r, target vectors q and r + q."""
    _nce_scores("A part of the text", options, options.tokens, SETTINGS)
    _nce_scores("The whole text", options, None, {"as it comes": {}})


def _nce_scores(
    heading: str, options: argparse.Namespace, limit: int | None, settings: dict[str, dict[str, Any]]
) -> None:
    ids, vocabulary = tokens_of(options.corpus, limit)
    names = " | ".join(column.name for column in COLUMNS)
    print(f"## {heading}\n\n| model | seconds | {names} |\n|---|{'---|' * (1 + len(COLUMNS))}")
    with tempfile.TemporaryDirectory() as folder:
        path = write_sentences(Path(folder) / "part.txt", ids, vocabulary)
        run = wf.baseline("pca", path, tokenizer="whitespace", min_count=1, dimensions=options.dimensions)
    print(f"| PCA | - | {scores_of(run.vectors, options.data)} |", flush=True)
    for title, changed in settings.items():
        started = time.perf_counter()
        model, _ = learn_model(ids, vocabulary.counts, NceSettings(dimensions=options.dimensions, **changed))
        seconds = time.perf_counter() - started
        R, Q = model.vectors, model.outputs[:, :-1]
        for name, matrix in {"r": R, "q": Q, "r + q": R + Q * (np.linalg.norm(R) / np.linalg.norm(Q))}.items():
            found = scores_of(wf.Vectors(vocabulary.words, np.ascontiguousarray(matrix)), options.data)
            print(f"| {title}: {name} | {seconds:.0f} | {found} |", flush=True)
    print()


def scores_of(vectors: wf.Vectors, data: str | None) -> str:
    scores = wf.evaluate(vectors, data, half="development")
    return " | ".join(f"{s.value:.{c.digits}f}" for c in COLUMNS for s in scores if c.matches(s))


def tokens_of(corpus: str | None, limit: int | None = None) -> tuple[np.ndarray, wf.Vocabulary]:
    """Return rows of the vocabulary, -1 between sentences, and the vocabulary of (the first part of) a text."""
    tokens = read_tokens(corpus or demo_corpus())
    ids = tokens.ids[:limit]
    counts = np.bincount(ids[ids >= 0], minlength=len(tokens.words))
    vocabulary, rows = choose_words(tokens.words, counts, WordRules())
    return np.append(rows, np.int32(-1))[ids], vocabulary


def write_sentences(path: Path, ids: np.ndarray, vocabulary: wf.Vocabulary) -> Path:
    words = [*vocabulary.words, "\n"]
    path.write_text(" ".join(words[i] for i in ids.tolist()) + "\n", encoding="utf-8")
    return path


def similarity(vectors: wf.Vectors, data: str | None) -> float:
    scores = wf.evaluate(vectors, data, tasks=("similarity",))
    return next(score.value for score in scores if score.set == "weighted mean")


def _nce(ids: np.ndarray, counts: np.ndarray, options: argparse.Namespace) -> None:
    learn_nce(ids, counts, NceSettings(dimensions=options.dimensions, epochs=1), executor=Threads())


def _rnn(ids: np.ndarray, counts: np.ndarray, options: argparse.Namespace) -> None:
    learn_rnn(ids, counts, RnnSettings(dimensions=options.dimensions, epochs=1))


def _truncated_svd(_: str, counts: Path, __: Any, vocabulary: wf.Vocabulary, dimensions: int) -> tuple[wf.Vectors, str]:
    from sklearn.decomposition import TruncatedSVD

    words = TruncatedSVD(dimensions, random_state=0).fit_transform(_pmi(counts))
    return wf.Vectors(vocabulary.words, words), "scikit-learn TruncatedSVD"


def _dictionary_learning(
    _: str, counts: Path, __: Any, vocabulary: wf.Vocabulary, dimensions: int
) -> tuple[wf.Vectors, str]:
    """Alternate scikit-learn's lasso (coordinate descent) and least squares for the dictionary, from random atoms.

    scikit-learn's dictionary learning takes no sparse X, and X has billions of cells. But ``|x - a D|^2`` is, up to a
    constant, ``|z - a L|^2`` with ``L L' = D D'`` and ``z = L^-1 D x``: a small dense problem for ``sparse_encode``.
    """
    from sklearn.decomposition import sparse_encode

    X = _pmi(counts).astype(np.float64)
    D = np.random.default_rng(1).standard_normal((dimensions, X.shape[1]))
    D /= np.linalg.norm(D, axis=1, keepdims=True)
    A = np.zeros((X.shape[0], dimensions))
    for _step in range(10):
        L = np.linalg.cholesky(D @ D.T)
        Z = np.linalg.solve(L, (X @ D.T).T).T  # (V, M)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a word that is not solved to the last digit is good enough here
            A = sparse_encode(Z, L, algorithm="lasso_cd", alpha=0.05, max_iter=100)
        D = np.linalg.solve(A.T @ A + 1e-6 * np.eye(dimensions), (X.T @ A).T)
        D /= np.maximum(1.0, np.linalg.norm(D, axis=1, keepdims=True))
    return wf.Vectors(vocabulary.words, A), "scikit-learn lasso_cd, alternating"


def _pmi(counts: Path) -> Any:
    from wordforest.store import read_counts

    return wf.pmi(read_counts(counts)[2])


def _gensim(name: str, _: Path, ids: np.ndarray, vocabulary: wf.Vocabulary, dimensions: int) -> tuple[wf.Vectors, str]:
    from gensim.models import Word2Vec

    with tempfile.TemporaryDirectory() as folder:
        model = Word2Vec(
            corpus_file=str(write_sentences(Path(folder) / "sentences.txt", ids, vocabulary)),
            vector_size=dimensions,
            sg=int(name == "sg"),
            window=5,
            min_count=1,
            workers=available_cores(),
            seed=1,
        )
    return wf.Vectors(model.wv.index_to_key, model.wv.vectors), "gensim Word2Vec"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", default="speed", choices=("speed", "check", "rnn", "nce"))
    parser.add_argument("corpus", nargs="?", default=None)
    parser.add_argument("--data", default=None)
    parser.add_argument("--ours", default=None, help="check: runs/ of a reproduced experiment, in place of training")
    parser.add_argument("--dimensions", type=int, default=52)
    parser.add_argument("--tokens", type=int, default=5_000_000)
    options = parser.parse_args()
    print(f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {available_cores()} cores\n")
    {"speed": speed, "check": check, "rnn": rnn, "nce": nce}[options.part](options)


if __name__ == "__main__":
    main()
