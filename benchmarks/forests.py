"""Whole forests as text, and the figures that the docs give of them.

python benchmarks/forests.py wikipedia --counts COUNTS --corpus TEXT --data DIR --work DIR
python benchmarks/forests.py matrices --data DIR
python benchmarks/forests.py signs --counts COUNTS --work DIR
python benchmarks/forests.py addresses --work DIR
python benchmarks/forests.py posts --data DIR --work DIR

``wikipedia`` is the readable forest of a text, and how well stability tells what the other half of that text has;
``matrices`` are vectors of GloVe and tf-idf of 20 Newsgroups; ``signs`` asks whether neighbours agree in sign;
``addresses`` and ``posts`` are topics of documents: over two centuries, and by group. What lies in the folder of --work
is taken as it is.
"""

from __future__ import annotations

import argparse
import json
import lzma
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

import wordforest as wf
from gallery import POSTS, SWEAR_WORDS, addresses, written
from meaning import write_halves
from wordforest.evaluation.meaning.stability import match_nodes
from wordforest.evaluation.meaning.use import agreement
from wordforest.reading import Line, as_text, outline
from wordforest.reproduce.commands import run_command
from wordforest.reproduce.results import COLUMNS
from wordforest.store import read_vectors
from wordforest.store.documents import load_documents

STABLE = (1.0, 0.8, 0.6, 0.4, 0.0)  # edges of the rows of a table
CHOSEN = (0, 1, 7)  # trees of GloVe that are printed
POST, WORD = "12476", "shuttle"  # a document and a word that are looked up
KINDS = ("spoken", "written")
COMMONEST = 20_000  # words among which neighbours are looked for

Rows = dict[str, Any]  # cells by name: one each, or a sequence


def show(title: str, heads: Sequence[str], rows: Rows) -> None:
    """Print a table, with a heading above if it has a title."""
    print(f"## {title}\n" if title else "", f"| | {' | '.join(heads)} |", f"|---|{'---:|' * len(heads)}", sep="\n")
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join([cells] if isinstance(cells, str) else map(str, cells))} |")
    print()


def show_forest(lines: Sequence[Line], title: str = "The forest") -> None:
    print(f"## {title}\n\n```text\n{as_text(lines, shares=True)}```\n")


def percents(values: Any, digits: int = 1) -> str:
    return " / ".join(f"{100 * value:.{digits}f}" for value in values) + "%"


def learn(out: Path, *arguments: str) -> None:
    """Run a command that makes a folder, where it is not there yet, and keep what it says to itself."""
    if not (out / "config.json").exists():
        out.parent.mkdir(parents=True, exist_ok=True)
        run_command([*arguments, "--out", str(out), "--force"], lambda _: None)


def wikipedia(asked: argparse.Namespace) -> None:
    """Print the readable forest of a text, its scores, and what its stability says of the other half."""
    learn(asked.work / "whole", "train", str(asked.counts), "--preset", "readable", "--stability")
    halves = []
    for half, text in zip("ab", write_halves(asked.corpus, asked.work), strict=True):
        learn(asked.work / half, "train", str(text), "--preset", "readable", "--stability")
        halves.append(wf.load_run(asked.work / half).vectors)
    vectors = wf.load_run(asked.work / "whole").vectors
    forest = vectors.forest
    assert forest is not None
    scores = wf.evaluate(vectors, asked.data)
    roots = np.asarray((vectors.matrix[:, forest.roots] != 0).sum(axis=1))
    match = match_nodes(*halves)
    stability = np.asarray(halves[0].nodes["stability"])[match.first]
    facts = {
        "non-zeros": percents([vectors.density()]),
        "non-zeros by depth": percents(vectors.density_by_depth()),
        "widest root": percents([vectors.uses()[forest.roots].max() / len(vectors)]),
        **{column.name: f"{s.value:.{column.digits}f}" for column in COLUMNS for s in scores if column.matches(s)},
        "trees of a word": f"{roots.mean():.1f}",
        "Spearman of stability and what the other half has": f"{spearmanr(stability, match.cosine).statistic:.2f}",
    }
    show("", ["figure"], facts)
    bins = {
        f"{low} to {high}": (int(here.sum()), f"{match.cosine[here].mean():.2f}")
        for high, low in pairwise(STABLE)
        if (here := (stability <= high) & (stability > low)).any()
    }
    show("Stability against the other half", ["nodes", "mean cosine with the match"], bins)
    show_forest(outline(vectors, k=6))


def matrices(asked: argparse.Namespace) -> None:
    """Print what the readable coder makes of GloVe vectors and of tf-idf."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    glove = read_vectors(asked.data / "vectors" / "glove.6B.50d.top20k.txt.gz")
    texts = [post["text"] for post in posts_of(asked.data)]
    tfidf = TfidfVectorizer(min_df=5, max_df=0.5, sublinear_tf=True)
    rows: Rows = {}
    wf.ForestCoder.readable(trees=2, random_state=0).fit(glove.unit[:500])  # kernels
    codes = {}
    for name, X, trees in (("GloVe", glove.unit, 12), ("20 Newsgroups", tfidf.fit_transform(texts), 20)):
        coder = wf.ForestCoder.readable(trees=trees, random_state=0)
        started = time.perf_counter()
        A = coder.fit_transform(X)
        seconds = time.perf_counter() - started
        on = np.asarray((A != 0).sum(axis=1)).ravel()
        shape = " x ".join(f"{n:,}" for n in X.shape)
        shares = [percents([share]) for share in (on.mean() / A.shape[1], (on == 0).mean())]
        rows[name] = (shape, A.shape[1], shares[0], f"{seconds:.0f}", shares[1])
        codes[name] = (coder, A)
    show("", ["rows x columns", "nodes", "non-zeros", "seconds", "rows without a node"], rows)
    coder, A = codes["GloVe"]
    named = wf.Vectors(glove.words, A, forest=coder.forest_, nodes={"use": np.asarray((A > 0).mean(axis=0)).ravel()})
    show_forest(outline(named, k=6, trees=CHOSEN), "Three trees of GloVe")


def signs(asked: argparse.Namespace) -> None:
    """Print how often neighbours, and random words, agree in sign by depth, at the paper's settings."""
    learn(asked.work / "paper", "train", str(asked.counts), "--trees", "20")
    vectors = wf.load_run(asked.work / "paper").vectors
    found = agreement(vectors, vectors.words[:COMMONEST])
    rows = {
        who: [f"{100 * value:.1f}%" for value in np.nanmean(found[f"signs of {who}"], axis=0)]
        for who in ("neighbours", "random words")
    }
    show("", ["roots", "inner nodes", "leaves"], rows)


def posts_of(data: Path) -> Iterator[dict[str, Any]]:
    """Yield the posts of 20 Newsgroups that have a text, with the number of their line as id."""
    with lzma.open(data / POSTS, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            post = json.loads(line)
            if text := " ".join(post["text"].split()):
                yield {"id": str(number), "text": text, "group": post["group"]}


def place(work: Path, texts: Path, *more: str) -> Any:
    """Learn topics of a file of documents, put these on the forest, and return all that is known."""
    learn(work / "topics", "topics", str(texts), "--stability")
    learn(work / "placed", "documents", str(work / "topics"), str(texts), *more)
    return load_documents(work / "placed")


def topic_lines(documents: Any) -> list[Line]:
    """Return the nodes of documents, each with its mean share of a document."""
    nodes = documents.nodes
    parents = {*nodes["parent"]}
    return [
        Line(node, parent, depth, tuple(label.split()), 0, share, node not in parents, stability)
        for node, parent, depth, label, share, stability in zip(
            *(nodes[name] for name in ("node", "parent", "depth", "label", "share", "stability")), strict=True
        )
    ]


def by_node(table: dict[str, list[Any]]) -> dict[int, list[dict[str, Any]]]:
    """Return the rows of a table by their node."""
    found: dict[int, list[dict[str, Any]]] = {}
    for row in zip(*table.values(), strict=True):
        found.setdefault(row[0], []).append(dict(zip(table, row, strict=True)))
    return found


def with_interval(row: dict[str, Any]) -> str:
    return f"{row['share']:.1%} ({100 * row['low']:.1f} to {100 * row['high']:.1f})"


def titled(line: Line, documents: Any) -> str:
    """Return the label of a node, with its number where another node has the same."""
    return line.text if documents.nodes["label"].count(line.text) == 1 else f"{line.text}, {line.node}"


def state_of_the_union(asked: argparse.Namespace) -> None:
    """Print topics of the paragraphs of the addresses: when each has most, and how much of spoken and written ones."""
    asked.work.mkdir(parents=True, exist_ok=True)
    texts = written(asked.work / "addresses.jsonl", addresses())
    documents = place(asked.work, texts, "--time", "year", "--bins", "decade", "--group", "kind")
    decades, kinds = by_node(documents.over_time), by_node(documents.by_group)
    rows: Rows = {}
    lines = topic_lines(documents)
    for line in lines:
        highest = max(decades[line.node], key=lambda row: row["share"] if row["documents"] else 0.0)
        shares = {row["group"]: with_interval(row) for row in kinds[line.node]}
        when = f"{highest['time']}s, {with_interval(highest)}"
        rows[titled(line, documents)] = (when, *(shares[kind] for kind in KINDS))
    print(f"{len(documents.ids):,} paragraphs.\n")
    show("", ["highest", "of spoken addresses", "of written ones"], rows)
    show_forest(lines)


def newsgroups(asked: argparse.Namespace) -> None:
    """Print topics of posts: for every group the node that it has most more of than all others, and the forest."""
    asked.work.mkdir(parents=True, exist_ok=True)
    texts = written(asked.work / "posts.jsonl", posts_of(asked.data))
    unnamed = asked.work / "swear-words.txt"
    unnamed.write_text("\n".join(SWEAR_WORDS), encoding="utf-8")
    documents = place(asked.work, texts, "--group", "group", "--stop-words", str(unnamed))
    lines = topic_lines(documents)
    best: dict[str, dict[str, Any]] = {}
    for found in by_node(documents.by_group).values():
        for row in found:
            best[row["group"]] = max(best.get(row["group"], row), row, key=lambda one: one["difference"])
    rows: Rows = {
        group: (
            row["label"],
            with_interval(row),
            f"{100 * row['difference']:+.1f}",
            f"{row['q']:.1g}" if row["q"] else "< 1e-300",
        )
        for group, row in sorted(best.items())
    }
    print(f"{len(documents.ids):,} posts.\n")
    show("The node of every group", ["node", "share", "more than others", "q"], rows)
    print(f"## A document's path\n\nPost {POST}:\n\n```text")
    path = [node for node in documents.paths[documents.ids.index(POST)].tolist() if node >= 0]
    print(" > ".join(lines[node].text for node in path), end="\n```\n\n")
    print(
        f"## A word in context\n\n`wordforest concordance topics placed {WORD} -k 6 --seed 3`:\n\n```text", flush=True
    )
    command = ["concordance", str(asked.work / "topics"), str(asked.work / "placed"), WORD, "-k", "6", "--seed", "3"]
    subprocess.run([sys.executable, "-m", "wordforest", *command], check=True)
    print("```\n", flush=True)
    show_forest(lines)


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "wikipedia": wikipedia,
    "matrices": matrices,
    "signs": signs,
    "addresses": state_of_the_union,
    "posts": newsgroups,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    for name in ("counts", "corpus", "data", "work"):
        parser.add_argument(f"--{name}", type=Path)
    asked = parser.parse_args()
    PARTS[asked.part](asked)


if __name__ == "__main__":
    main()
