"""What changed between slices: is a planted change found, are there false alarms, how long does it take?

python benchmarks/compare.py planted TEXT --work DIR        words that take over the contexts of others, and rivals
python benchmarks/compare.py alarms [TABLE] --work DIR      random halves of the State of the Union addresses, or posts
python benchmarks/compare.py seconds TEXT --work DIR        20 slices of 1.3 million tokens
python benchmarks/compare.py shrink --work DIR              words of a decade by half of its documents

planted: the lines of TEXT are documents, dealt into two slices at random. A word takes over another's contexts: in some
percent of the documents of the second slice every occurrence of the other word becomes it. Pairs have about the same
frequency; each level has pairs of its own, in three ranges of frequency. AUC is that of planted words against words of
the same range that took no part. Rivals on the same text: skip-gram on each slice (gensim, 100 dimensions, 5 passes),
rotated onto each other as histwords does (orthogonal Procrustes on the 10,000 most frequent words), cosine distance;
keyness, the log-likelihood ratio of frequencies; and our own test in either of its two spaces alone.

alarms: the paragraphs, or the texts of TABLE (JSON lines), are dealt into two slices at random, again and again;
nothing differs, so every finding is false. Of the words every fourth is tested for its company, the others
in the next halves.

shrink: the documents of a decade in two halves; how well the contexts of a word in one half are foretold by those in
the other half, with so many pairs of the whole added (kappa; none is a tenth of a pair, or unseen ones would cost
without end). Mean over words and decades of the bits a pair costs.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import numpy as np

import wordforest as wf
from wordforest import store
from wordforest.counts import WindowRules
from wordforest.documents.groups import adjusted
from wordforest.jobs.slices import load_slices
from wordforest.slices import Slices
from wordforest.slices.company import Scene
from wordforest.slices.comparison import node_shares, nodes_of_one, testable
from wordforest.slices.usage import sum_up, usage
from wordforest.slices.words import contexts
from wordforest.text.tokens import NUMBER, RARE

LEVELS = (1, 2, 5, 10, 20)
RANGES = ((200, 500), (500, 1000), (1000, 100_000))
PAIRS, CONTROLS = 80, 200  # of every level, and of every range
EVERY = 5  # post is taken


def planted(asked: argparse.Namespace) -> None:
    asked.work.mkdir(parents=True, exist_ok=True)
    file = asked.work / "planted.jsonl"
    if not file.exists():
        plant(asked, file)
    plan = json.loads((asked.work / "plan.json").read_text())
    if not store.is_run_folder(asked.work / "run"):
        wf.train(file, out=asked.work / "run", slices="slice", tokenizer="whitespace", preset="readable", force=True)
    run = store.load_run(asked.work / "run")
    slices = load_slices(asked.work / "run", run.words)
    index = {word: row for row, word in enumerate(run.words)}
    words = [word for part in plan for word in part["controls"] + [pair[1] for pair in part["pairs"]]]
    rows = np.array([index[word] for word in words])
    scene, donors = Scene(slices, node_shares(run.vectors), nodes_of_one(run.vectors)), {}
    for part in plan:  # a word that took no part is asked about the donor of some pair of its range
        donors |= {taker: donor for donor, taker, _ in part["pairs"]}
        donors |= {w: pair[0] for w, pair in zip(part["controls"], cycle(part["pairs"]), strict=False)}
    found = {
        "a test that knows the other word": knowing(scene, [(index[word], index[donors[word]]) for word in words]),
        "this test": scene.changes(rows).z,
        "by vectors of words alone": Scene(slices, scene.shares, spaces=scene.spaces[:1]).changes(rows).z,
        "by nodes of the forest alone": Scene(slices, scene.shares, spaces=scene.spaces[1:]).changes(rows).z,
        "skip-gram, Procrustes": rotated(slices, words),
        "keyness": keyness(slices)[rows],
    }
    place = {word: i for i, word in enumerate(words)}
    names = [f"{low:,} to {high:,} times" if high < 100_000 else f"{low:,} times or more" for low, high in RANGES]
    parts = [*zip(names, plan, strict=True)]
    parts.append(("200 times or more", {key: [one for part in plan for one in part[key]] for key in plan[0]}))
    for name, part in parts:
        print(f"## Words that stand {name} in a slice\n")
        print("| AUC, documents with the change | " + " | ".join(f"{level} %" for level in LEVELS) + " |")
        print("|---|" + "---:|" * len(LEVELS))
        for method, scores in found.items():
            cells = []
            for level in LEVELS:
                changed = [scores[place[pair[1]]] for pair in part["pairs"] if pair[2] == level]
                cells.append(f"{auc(changed, [scores[place[word]] for word in part['controls']]):.3f}")
            print(f"| {method} | {' | '.join(cells)} |")
        print()


def auc(changed: list[float], same: list[float]) -> float:
    from scipy.stats import mannwhitneyu

    return float(mannwhitneyu(changed, same).statistic / (len(changed) * len(same)))


def plant(asked: argparse.Namespace, file: Path) -> None:
    """Write documents with planted changes, and what was planted."""
    from wordforest.runtime.disk import opened
    from wordforest.slices import read_slices
    from wordforest.text.documents import Document

    rng = np.random.default_rng(asked.seed)
    vocabulary = wf.count(str(asked.text)).vocabulary
    with opened(str(asked.text)) as stream:
        lines = [line for line in stream.read().decode().split("\n") if line.strip()]
    half = rng.permutation(len(lines)) % 2
    slices = read_slices(
        ((name, Document(str(i), line)) for i, (name, line) in enumerate(zip(half.tolist(), lines, strict=True))),
        vocabulary,
    )
    often = slices.frequencies.min(axis=0)
    often[[row for row, word in enumerate(slices.words) if word in (RARE, NUMBER)]] = 0
    ids, plan = slices.ids.copy(), []
    for low, high in RANGES:
        known = np.flatnonzero((often >= low) & (often < high))  # in order of frequency
        pairs = rng.permutation(len(known) // 2)[: len(LEVELS) * PAIRS] * 2
        part: dict[str, Any] = {"pairs": []}
        for n, i in enumerate(pairs.tolist()):
            level = LEVELS[n % len(LEVELS)]
            donor, taker = (int(known[i + k]) for k in rng.permutation(2))
            chosen = (rng.random(len(slices.code)) < level / 100) & (slices.code == 1)
            ids[chosen[slices.document] & (slices.ids == donor)] = taker
            part["pairs"].append((slices.words[donor], slices.words[taker], level))
        rest = np.setdiff1d(known, known[np.concatenate((pairs, pairs + 1))])
        part["controls"] = [slices.words[row] for row in rng.permutation(rest)[:CONTROLS]]
        plan.append(part)
    (asked.work / "plan.json").write_text(json.dumps(plan))
    with file.open("w") as out:
        for d, (a, b) in enumerate(pairwise(slices.borders.tolist())):
            text = " ".join("\n" if i < 0 else slices.words[i] for i in ids[a:b].tolist())
            out.write(json.dumps({"slice": "ab"[slices.code[d]], "text": text}) + "\n")


def knowing(scene: Scene, pairs: list[tuple[int, int]]) -> np.ndarray:
    """Return z of words (taker, donor) by a test that knows the donor: a mark for what the same contexts can tell.

    The log likelihood of a mixture, one occurrence in ten of the second slice being the donor's, against none; where
    the donor stands is learned from the first slice, in which it is itself.
    """
    slices, space, found = scene.slices, scene.spaces[0], []
    starts, positions = slices.positions
    for taker, donor in pairs:
        at, other = (positions[starts[word] : starts[word + 1]] for word in (taker, donor))
        other = other[slices.code[slices.document[other]] == 0][:4000]
        X, mean = space.place(slices, at)[0], space.place(slices, other)[0].mean(axis=0)
        middle = X[slices.code[slices.document[at]] == 0].mean(axis=0)
        ratio = (X - middle) @ (mean - middle) - 0.5 * ((mean - middle) ** 2).sum()
        score = np.logaddexp(np.log(0.9), np.log(0.1) + ratio.astype(np.float64))
        documents, own, n = np.unique(slices.document[at], return_inverse=True, return_counts=True)
        f, later = np.bincount(own, score) / n, slices.code[documents] == 1
        r, N, inside = f - f.mean(), len(f), int(later.sum())
        found.append(r[later].sum() / np.sqrt(inside * (N - inside) / (N * (N - 1)) * (r**2).sum()))
    return np.array(found)


def rotated(slices: Slices, words: list[str]) -> np.ndarray:
    """Return cosine distances of words between skip-gram vectors of either slice, after rotation."""
    from gensim.models import Word2Vec
    from scipy.linalg import orthogonal_procrustes

    models = []
    for number in range(2):
        ids = slices.ids_of(number)
        cuts = np.flatnonzero(ids < 0)
        sentences = [[slices.words[i] for i in part[part >= 0]] for part in np.split(ids, cuts) if (part >= 0).any()]
        models.append(
            Word2Vec(sentences, sg=1, vector_size=100, window=5, min_count=10, epochs=5, seed=0, workers=2).wv
        )
    shared = [word for word in slices.words if all(word in model for model in models)][:10_000]
    A, B = (np.stack([model.get_vector(word, norm=True) for word in shared]) for model in models)
    R, _ = orthogonal_procrustes(B, A)
    own = [np.stack([model.get_vector(word, norm=True) for word in words]) for model in models]
    return 1 - np.einsum("ij,ij->i", own[0], own[1] @ R)


def keyness(slices: Slices) -> np.ndarray:
    """Return the log-likelihood ratio of the frequencies of all words in two slices."""
    f = slices.frequencies.astype(float)
    size = f.sum(axis=1, keepdims=True)
    expected = f.sum(axis=0) * size / size.sum()
    return 2 * np.where(f > 0, f * np.log(np.maximum(f, 1) / np.maximum(expected, 1e-12)), 0).sum(axis=0)


def alarms(asked: argparse.Namespace) -> None:
    run, slices = posts(asked.work, asked.text) if asked.text else addresses(asked.work, paragraphs=True)
    rng, shares, rows, spaces = np.random.default_rng(asked.seed), node_shares(run.vectors), [], ()
    for n in range(asked.splits):
        code = (rng.permutation(len(slices.code)) % 2).astype(np.int32)
        halves = Slices(slices.words, slices.ids, slices.borders, code, ("a", "b"), slices.documents)
        scene = Scene(halves, shares, nodes_of_one(run.vectors), spaces=spaces)
        spaces = scene.spaces  # the same for any halves, but for their style
        words = scene.changes(testable(halves)[n % 4 :: 4], seed=n)
        often = np.flatnonzero(halves.frequencies.sum(axis=0) >= 20)
        nodes, used = usage(halves, sum_up(halves, shares)), usage(halves, sum_up(halves).of(often))
        every = [(words.p, adjusted(words.p)), (nodes.p[0], nodes.q[0]), (used.p[0], used.q[0])]
        rows.append([(np.nanmean(p < 0.05), np.nanmean(p < 0.001), np.nansum(q < 0.05)) for p, q in every])
        if asked.verbose:
            print(n, [tuple(float(round(x, 4)) for x in row) for row in rows[-1]], flush=True)
    found = np.array(rows, dtype=float)  # (splits, tests, 3)
    print(f"{len(rows)} random halves of {len(slices.code):,} documents; {len(words.p):,} words tested in the last.\n")
    print("| | p below 0.05 | p below 0.001 | halves with a finding at q below 0.05 | findings in all |")
    print("|---|---:|---:|---:|---:|")
    names = ("words that changed their company", "nodes used more or less", "words used more or less")
    for name, (often, seldom, n) in zip(names, found.transpose(1, 2, 0), strict=True):
        print(f"| {name} | {often.mean():.2%} | {seldom.mean():.3%} | {(n > 0).mean():.0%} | {n.sum():.0f} |")


def posts(work: Path, text: Path) -> tuple[Any, Slices]:
    """Return a forest of every fifth document of a table, and them as they come in two halves."""
    from wordforest.runtime.disk import opened

    work.mkdir(parents=True, exist_ok=True)
    folder, file = work / "posts", work / "posts.jsonl"
    if not store.is_run_folder(folder):
        with opened(str(text)) as stream, file.open("w") as out:
            for n, line in enumerate(stream.read().decode().splitlines()[::EVERY]):
                out.write(json.dumps({"half": "ab"[n % 2], "text": json.loads(line)["text"]}) + "\n")
        wf.train(file, out=folder, slices="half", preset="readable", trees=10, force=True)
    run = store.load_run(folder)
    return run, load_slices(folder, run.words)


def addresses(work: Path, *, paragraphs: bool) -> tuple[Any, Slices]:
    """Return a forest of the State of the Union addresses, and them in decades: by paragraphs, or whole."""
    from wordforest.evaluation.datasets import demo_corpus

    work.mkdir(parents=True, exist_ok=True)
    folder, file = work / f"sotu{'-paragraphs' * paragraphs}", work / "addresses.jsonl"
    if not store.is_run_folder(folder):
        with file.open("w") as out:
            for path in sorted(demo_corpus().glob("*.txt")):
                text = path.read_text(encoding="utf-8")
                for part in text.split("\n\n") if paragraphs else [text]:
                    out.write(json.dumps({"year": path.stem[:4], "text": part}) + "\n")
        wf.train(file, out=folder, slices="year", bins="decade", preset="readable", trees=10, force=True)
    run = store.load_run(folder)
    return run, load_slices(folder, run.words)


def seconds(asked: argparse.Namespace) -> None:
    from wordforest.runtime.disk import opened

    asked.work.mkdir(parents=True, exist_ok=True)
    file, folder = asked.work / "twenty.jsonl", asked.work / "twenty"
    if not store.is_run_folder(folder):
        with opened(str(asked.text)) as stream:
            lines = [line for line in stream.read().decode().split("\n") if line.strip()]
        with file.open("w") as out:
            for i, line in enumerate(lines):
                out.write(json.dumps({"slice": f"part {20 * i // len(lines):02d}", "text": line}) + "\n")
        wf.train(file, out=folder, slices="slice", preset="readable", force=True)
    print("| | seconds | words tested | documents | tokens in a slice |")
    print("|---|---:|---:|---:|---:|")
    started = time.perf_counter()
    found = wf.compare(folder, out=asked.work / "compared", force=True)
    took = time.perf_counter() - started
    tokens = int(np.mean(found.sizes["tokens"]))
    print(f"| compare, 20 slices | {took:.0f} | {found.n_tested:,} | {sum(found.sizes['documents']):,} | {tokens:,} |")


def shrink(asked: argparse.Namespace) -> None:
    _, slices = addresses(asked.work, paragraphs=True)
    rng, rules = np.random.default_rng(asked.seed), WindowRules()
    half = rng.permutation(len(slices.code)) % 2
    S = len(slices.names)
    halves = Slices(
        slices.words,
        slices.ids,
        slices.borders,
        (2 * slices.code + half).astype(np.int32),
        tuple(f"{name} {k}" for name in slices.names for k in range(2)),
        slices.documents,
    )
    kappas = (0, 10, 30, 100, 300, 1000, 3000, 1e9)
    often = np.flatnonzero(slices.frequencies.sum(axis=0) >= 200)
    bits = {kappa: [] for kappa in kappas}
    base = slices.frequencies.sum(axis=0) / slices.frequencies.sum()
    for word in rng.permutation(often)[:400]:
        n = contexts(halves, int(word), rules).reshape(S, 2, -1).astype(float)
        whole = n.sum(axis=(0, 1))
        for s in range(S):
            known, held = n[s]
            if known.sum() < 20 or held.sum() < 20:
                continue
            rest = whole - held  # what is held out stays out of the prior, too
            prior = 0.99 * rest / rest.sum() + 0.01 * base
            for kappa in kappas:
                chance = (known + max(kappa, 0.1) * prior) / (known.sum() + max(kappa, 0.1))
                bits[kappa].append(-(held[held > 0] * np.log2(chance[held > 0])).sum() / held.sum())
    print(f"{len(bits[0]):,} words in decades\n")
    print("| pairs of the whole added (kappa) | bits a held-out pair costs |")
    print("|---|---:|")
    for kappa, values in bits.items():
        name = "none" if not kappa else "the whole alone" if kappa > 1e8 else f"{kappa:,}"
        print(f"| {name} | {np.mean(values):.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    for name in ("planted", "alarms", "seconds", "shrink"):
        part = parts.add_parser(name)
        if name in ("planted", "alarms", "seconds"):
            part.add_argument("text", type=Path, nargs="?" if name == "alarms" else None)
        part.add_argument("--work", type=Path, required=True)
        part.add_argument("--seed", type=int, default=0)
        part.add_argument("--splits", type=int, default=100)
        part.add_argument("--verbose", action="store_true")
    asked = parser.parse_args()
    {"planted": planted, "alarms": alarms, "seconds": seconds, "shrink": shrink}[asked.part](asked)


if __name__ == "__main__":
    main()
