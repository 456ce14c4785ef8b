"""How readable are models of the same text? One table: coherence, parent and child, intrusion, distinctness, density.

python benchmarks/meaning.py --counts COUNTS --held HELD --runs NAME=RUN ... [--text TRAINING_TEXT] [--data DIR]

python benchmarks/meaning.py --halves TEXT --work DIR [--models readable nnse ...] [--data DIR]

The second form cuts a text in two (paragraphs in turn by twenties), learns every model from both halves and judges each
on the other half: does the same forest come out, is a parent on whenever its child is, is there a root for everything?
What lies in DIR is taken as it is.

COUNTS are those the models were trained on, HELD those of text none of them saw:
wordforest count HELDOUT --out HELD --window 10 --min-count 1. The same NAME may come several times, once a seed. With
--text LDA (gensim) learns as many topics as the first run has nodes from the same training text, a line a document.

Fairness. Top words are the ten of largest coefficient, p(word | topic) for LDA, among the same candidates for all:
words that every model knows, often enough in HELD to be judged, and not function words. LDA sees these words alone,
as if stop words and rare words were removed, so it loses nothing to them. As p(word | topic) favours common words,
LDA is judged a second time by relevance (Sievert and Shirley 2014, weight 0.6), its usual way out.
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
import platform
import time
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import wordforest as wf
from wordforest.evaluation.bootstrap import interval
from wordforest.evaluation.meaning import Cooccurrence, Meaning, judge_meaning, stability_scores
from wordforest.evaluation.meaning.averages import TASK, resampled_means
from wordforest.evaluation.scores import Score
from wordforest.runtime.machine import available_cores
from wordforest.store import read_counts
from wordforest.text.reader import find_sources, read_chunks
from wordforest.text.tokenizer import split_forms
from wordforest.text.tokens import TextRules, normalise

ROWS = (
    ("coherence", "npmi"),
    ("coherence depth 0", "npmi"),
    ("coherence depth 1", "npmi"),
    ("coherence depth 2", "npmi"),
    ("coherence", "positive npmi"),
    ("random words", "npmi"),
    ("parent-child", "npmi"),
    ("unrelated", "npmi"),
    ("parent-child - unrelated", "npmi"),
    ("parent-child / unrelated", "ratio"),
    ("parent-child / unrelated depth 1", "ratio"),
    ("parent-child / unrelated depth 2", "ratio"),
    ("intrusion", "accuracy"),
    ("intrusion depth 0", "accuracy"),
    ("intrusion depth 1", "accuracy"),
    ("intrusion depth 2", "accuracy"),
    ("intrusion, guessed", "accuracy"),
    ("overlap of nodes", "share"),
    ("unique words", "share"),
    ("judged nodes", "share"),
    ("density", "share"),
    ("density depth 0", "share"),
    ("density depth 1", "share"),
    ("density depth 2", "share"),
)
HALF_ROWS = {
    "coherence, mean NPMI": ("coherence", "npmi"),
    "coherence, positive NPMI": ("coherence", "positive npmi"),
    "parents and children / unrelated nodes (positive NPMI)": ("parent-child / unrelated", "ratio"),
    "intruder found at roots, %": ("intrusion depth 0", "accuracy"),
    "at inner nodes, %": ("intrusion depth 1", "accuracy"),
    "at leaves, %": ("intrusion depth 2", "accuracy"),
    "non-zeros": ("density", "share"),
}
TURN = 20  # paragraphs that go to one half before the other's turn
OLD = {"measure": "ppmi", "trees": 20, "nonnegative": True, "init": "nested", "word_power": 0.2}
MODELS: dict[str, dict[str, Any]] = {
    "readable": {"preset": "readable"},
    "readable, seed 1": {"preset": "readable", "seed": 1},
    "lam 0": {"preset": "readable", "lam": 0.0},
    "forest penalty": {**OLD, "lam": 0.8, "depth_weights": (0.5, 0.8, 1.0)},
    "grown": {"preset": "readable", "grow": True},
    "nnse": {"dimensions": 260, "measure": "ppmi", "lam": 1.9},
}
RELEVANCE = 0.6
SHORTEST = 5  # words of a document that LDA learns from


def table(models: dict[str, list[Meaning]], similarity: dict[str, list[float]]) -> str:
    """A row for each number, a column for each model; several seeds: the means of values and of interval ends."""
    lines = [f"| | {' | '.join(models)} |", f"|---|{'---:|' * len(models)}"]
    for name, metric in ROWS:
        cells = [cell([m.score(name, metric) for m in judged]) for judged in models.values()]
        if any(cells):
            lines.append(f"| {name} ({metric}) | {' | '.join(cells)} |")
    if similarity:
        cells = [f"{np.mean(similarity[name]):.3f}" if name in similarity else "" for name in models]
        lines.append(f"| similarity (weighted mean) | {' | '.join(cells)} |")
    return "\n".join(lines)


def cell(scores: Sequence[Score | None]) -> str:
    found = [score for score in scores if score is not None]
    if not found:
        return ""
    digits = 1 if found[0].metric == "accuracy" else 3
    value, low, high = (float(np.mean([getattr(s, end) for s in found])) for end in ("value", "low", "high"))
    ends = "" if math.isnan(low) else f" [{low:.{digits}f}, {high:.{digits}f}]"
    return f"{value:.{digits}f}{ends}"


def differences(models: dict[str, list[Meaning]]) -> str:
    """The first model minus each of the others, over the nodes of all seeds, with 95 % intervals."""
    first, *others = models
    lines = [f"| {first} minus | coherence (npmi) | intrusion (accuracy) |", "|---|---:|---:|"]
    for other in others:
        cells = []
        for name, metric in (("coherence", "npmi"), ("intrusion", "accuracy")):
            sides = [np.concatenate([m.numbers[name] for m in models[side]]) for side in (first, other)]
            cells.append(cell([difference(f"{name} {first} {other}", metric, *sides)]))
        lines.append(f"| {other} | {' | '.join(cells)} |")
    return "\n".join(lines)


def difference(name: str, metric: str, first: np.ndarray, second: np.ndarray) -> Score:
    """The mean of ``first`` minus that of ``second``, nan left out; nodes of two models are resampled apart."""
    scale = 100.0 if metric == "accuracy" else 1.0
    one, other = (scale * values[~np.isnan(values)] for values in (first, second))
    many = resampled_means(f"{name}\0first", one) - resampled_means(f"{name}\0second", other)
    n_total = len(first) + len(second)
    return Score(TASK, name, metric, float(one.mean() - other.mean()), len(one) + len(other), n_total, *interval(many))


def stability(vectors: dict[str, list[wf.Vectors]], candidates: Sequence[str]) -> str:
    lines = ["| seeds | cosine | top words in common | parents match |", "|---|---:|---:|---:|"]
    for name, runs in vectors.items():
        if len(runs) > 1:
            cells = [cell([score]) for score in stability_scores(runs, candidates=candidates)]
            cells += [""] * (3 - len(cells))  # without parents none can match
            lines.append(f"| {name} ({len(runs)}) | {' | '.join(cells)} |")
    return "\n".join(lines) if len(lines) > 2 else ""


def documents(text: str, candidates: Sequence[str], rules: TextRules) -> list[list[tuple[int, int]]]:
    """Lines as bags of candidates, by the same rules of words as the counts; lines of few such words are left out."""
    row = {word: i for i, word in enumerate(candidates)}
    known: dict[bytes, int] = {}
    bags = []
    for chunk in read_chunks(find_sources(text), rules.errors):
        for line in chunk.data.split(b"\n"):
            forms = split_forms(line, rules.tokenizer)
            bag: dict[int, int] = {}
            for form, n in zip(forms.forms, forms.counts.tolist(), strict=True):
                if form not in known:
                    known[form] = row.get(normalise(form.decode(), rules), -1)
                if known[form] >= 0:
                    bag[known[form]] = bag.get(known[form], 0) + n
            if sum(bag.values()) >= SHORTEST:
                bags.append(sorted(bag.items()))
    return bags


def learn_lda(
    bags: list[list[tuple[int, int]]], candidates: Sequence[str], n_topics: int, options: argparse.Namespace
) -> np.ndarray:
    """Topics (n_topics, K) by online variational Bayes; prints the bound on a fixed sample after every pass."""
    from gensim.models import LdaModel, LdaMulticore

    rng = np.random.default_rng(options.seed)
    order = rng.permutation(len(bags))
    bags = [bags[i] for i in order]  # lines of one article stand together: no good batches
    sample = bags[:: max(1, len(bags) // 2000)]
    n_words = sum(n for bag in bags for _, n in bag)
    print(f"LDA: {n_topics} topics, {len(bags):,} documents, {n_words:,} tokens, {len(candidates):,} words", flush=True)
    settings: dict[str, Any] = {
        "num_topics": n_topics,
        "id2word": dict(enumerate(candidates)),
        "random_state": options.seed,
        "chunksize": options.lda_batch,
        "iterations": options.lda_iterations,
        "eval_every": None,
        "alpha": "asymmetric",
        "offset": 64,
        "decay": 0.7,
    }
    cores = available_cores()
    model: Any = LdaMulticore(workers=cores - 1, **settings) if cores > 1 else LdaModel(**settings)
    started = time.perf_counter()
    for i in range(options.lda_passes):
        model.state.numdocs = 0  # the same documents again, not more of them
        model.update(bags)
        bound = model.log_perplexity(sample, total_docs=len(bags))
        print(f"  pass {i + 1}: {bound:.4f} nats a word, {time.perf_counter() - started:.0f} s", flush=True)
    return np.asarray(model.get_topics())


def by_relevance(topics: np.ndarray, bags: list[list[tuple[int, int]]]) -> np.ndarray:
    """p(w | t) / p(w)^(1 - weight): ranks words as weight log p(w | t) + (1 - weight) log (p(w | t) / p(w)) does."""
    counts = np.ones(topics.shape[1])
    for bag in bags:
        for word, n in bag:
            counts[word] += n
    return np.asarray(topics / (counts / counts.sum()) ** (1 - RELEVANCE))


def similarity_of(vectors: wf.Vectors, data: str) -> float:
    scores = wf.evaluate(vectors, data, tasks=("similarity",))
    return next(score.value for score in scores if score.set == "weighted mean")


def learn_half(name: str, counts: Path, out: Path, device: str) -> wf.Vectors:
    """Learn one of MODELS from counts, unless it is there."""
    if not out.exists():
        settings = {**MODELS[name], "device": device}
        if "dimensions" in settings:
            wf.baseline("nnse", counts, out=out, **settings)
        else:
            wf.train(counts, out=out, **settings)
    return wf.load_run(out).vectors


def write_halves(text: Path, work: Path) -> list[Path]:
    """Write the two halves of a text, its paragraphs in turn by twenties, unless they are there."""
    work.mkdir(parents=True, exist_ok=True)
    texts = [work / f"{half}.txt" for half in "ab"]
    if not all(half.exists() for half in texts):
        opened = lzma.open if text.suffix == ".xz" else open
        with opened(text, "rb") as whole, texts[0].open("wb") as a, texts[1].open("wb") as b:
            for number, line in enumerate(whole):
                (b if number // TURN % 2 else a).write(line)
    return texts


def on_halves(options: argparse.Namespace) -> None:
    """Learn from both halves of a text and print a column for each model, means over both halves."""
    work = Path(options.work)
    texts = write_halves(Path(options.halves), work)
    held = []
    for half, text in zip("ab", texts, strict=True):
        for name, settings in (("counts", {}), ("held", {"window": 10, "min_count": 1})):
            if not (work / f"{name}_{half}").exists():
                wf.count_corpus(text, work / f"{name}_{half}", **settings)
        words, counts, matrix, _ = read_counts(work / f"held_{half}")
        held.append(Cooccurrence(words, counts, matrix))
    columns: dict[str, list[str]] = {}
    for name in options.models:
        runs = [
            learn_half(name, work / f"counts_{half}", work / f"{name.replace(' ', '-')}_{half}", options.device)
            for half in "ab"
        ]
        known = [run.words for run in runs]
        candidates = [other.candidates(known) for other in reversed(held)]
        judged = [
            judge_meaning(run, other, candidates=own)
            for run, other, own in zip(runs, reversed(held), candidates, strict=True)
        ]
        cells = [cell([m.score(*row) for m in judged]) for row in HALF_ROWS.values()]
        cells += [cell([score]) for score in stability_scores(runs, candidates=candidates[1])][::2]
        cells += [""] * (len(HALF_ROWS) + 2 - len(cells))
        shares = [run.uses()[run.forest.roots].max() / len(run) for run in runs if run.forest is not None]
        cells += [f"{np.mean([orphans(run) for run in runs]):.1%}", " / ".join(f"{share:.1%}" for share in shares)]
        if options.data:
            cells.append(f"{np.mean([similarity_of(run, options.data) for run in runs]):.3f}")
        columns[name] = cells
    rows = [*HALF_ROWS, "halves: cosine of matched nodes", "halves: matched children whose parents match"]
    rows += ["active children under a zero parent", "words that use the widest root, by half", "word similarity"]
    print(f"| | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
    for row, cells in zip(rows, zip(*columns.values(), strict=True), strict=False):
        print(f"| {row} | {' | '.join(cells)} |")


def orphans(vectors: wf.Vectors) -> float:
    """The share of active children whose parent is exactly zero."""
    if vectors.forest is None:
        return float("nan")
    children = np.flatnonzero(vectors.forest.parent >= 0)
    on = vectors.dense != 0
    active = on[:, children]
    return float((active & ~on[:, vectors.forest.parent[children]]).sum() / max(1, active.sum()))


def main() -> None:
    options = parse()
    print(f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {available_cores()} cores\n")
    if options.halves:
        on_halves(options)
        return
    words, counts, matrix, held_config = read_counts(Path(options.held))
    held = Cooccurrence(words, counts, matrix)
    config = read_counts(Path(options.counts))[3]
    if config.get("fingerprint") == held_config.get("fingerprint"):
        raise SystemExit("--counts and --held are of the same text: hold some of it out.")
    vectors: dict[str, list[wf.Vectors]] = {}
    for given in options.runs:
        name, _, run = given.partition("=")
        loaded = wf.load_run(Path(run))
        if loaded.config.get("fingerprint") not in (None, config.get("fingerprint")):
            print(f"Note: {name} was not learned from {options.counts}; it may have seen the held-out text.")
        vectors.setdefault(name, []).append(loaded.vectors)
    known = [v.words for runs in vectors.values() for v in runs]
    candidates = held.candidates(known, min_count=options.min_count)
    least = held.judgeable_count if options.min_count is None else options.min_count
    print(
        f"held-out text: {int(held.counts.sum()):,} tokens, window {held_config.get('window')}; "
        f"{len(candidates):,} candidates, seen {least} times or more; top {options.top} words\n"
    )
    if options.text:
        rules = TextRules(*(config[key] for key in ("tokenizer", "lowercase", "numbers", "errors")))
        bags = documents(options.text, candidates, rules)
        topics = learn_lda(bags, candidates, next(iter(vectors.values()))[0].n_dimensions, options)
        vectors["LDA"] = [wf.Vectors(candidates, topics.T)]
        vectors["LDA, relevance"] = [wf.Vectors(candidates, by_relevance(topics, bags).T)]
    judged = {
        name: [judge_meaning(v, held, n=options.top, candidates=candidates) for v in runs]
        for name, runs in vectors.items()
    }
    similarity = {}
    if options.data:
        similarity = {
            n: [similarity_of(v, options.data) for v in runs] for n, runs in vectors.items() if "LDA" not in n
        }
    for part in (table(judged, similarity), differences(judged), stability(vectors, candidates)):
        if part:
            print(f"\n{part}")
    print("\nBrackets: 95 % intervals over nodes, over trees for parent and child; several seeds: means of the ends.")
    if options.json:
        objects = {name: [meaning.as_objects() for meaning in seeds] for name, seeds in judged.items()}
        Path(options.json).write_text(json.dumps(objects, ensure_ascii=False), encoding="utf-8")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", help="counts folder of the training text")
    parser.add_argument("--held", help="counts folder of the held-out text")
    parser.add_argument("--runs", default=[], nargs="+", metavar="NAME=RUN", help="a NAME again is another seed")
    parser.add_argument("--halves", metavar="TEXT", help="learn from both halves of this text instead")
    parser.add_argument("--work", default="halves", help="folder for the halves, their counts and runs")
    parser.add_argument("--device", default="cpu", help="where halves are learned; lam 0 takes long on a processor")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--text", help="training text, for LDA")
    parser.add_argument("--data", help="evaluation data, for similarity")
    parser.add_argument("--min-count", type=int, help="of a candidate in the held-out text")
    parser.add_argument("--top", type=int, default=10)
    parser.add_argument("--lda-passes", type=int, default=5)
    parser.add_argument("--lda-iterations", type=int, default=50)
    parser.add_argument("--lda-batch", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", help="file for every node's numbers")
    options = parser.parse_args()
    if any("=" not in given for given in options.runs):
        parser.error("--runs: expected NAME=RUN")
    if not options.halves and not (options.counts and options.held and options.runs):
        parser.error("expected --counts, --held and --runs, or --halves")
    return options


if __name__ == "__main__":
    warnings.simplefilter("default")
    main()
