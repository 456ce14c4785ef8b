"""How often 95 % intervals of analogies hold the truth, on made-up answers to the real questions.

python benchmarks/intervals.py --data DIR [--trials 200]

A question is answered right with a chance that depends on its two pairs, on itself, and on the seed; truth is the mean
over other pairs and seeds. Effects of pairs are as large as in real vectors: intervals of the same width come out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from wordforest.evaluation import Outcome, compare, find_data, scores_of
from wordforest.evaluation.analogy import pairs_of, read_questions
from wordforest.evaluation.report import markdown_table
from wordforest.evaluation.scores import cluster_ids
from wordforest.evaluation.standard_error import Ids
from wordforest.evaluation.suite import half_of

N_RESAMPLES = 400
Interval = tuple[float, float]


class Design(NamedTuple):
    """Questions: their two pairs, (n, 2) and numbered from 0, and their relation, (n,)."""

    pairs: Ids
    relation: Ids


class Case(NamedTuple):
    """What is planted, in logits: standard deviations of effects of pairs, of seeds, and of pairs in each seed."""

    name: str
    part: str
    seeds: int = 1
    difference: bool = False
    pair: float = 1.5
    seed: float = 0.0
    pair_in_seed: float = 0.0


CASES = (
    Case("one model", "syntactic test"),
    Case("one model", "semantic test"),
    Case("one model", "syntactic all"),
    Case("two models", "syntactic test", difference=True, pair=1.0),
    Case("one model, three seeds", "syntactic test", 3, seed=0.1, pair_in_seed=0.5),
    Case("two models, three seeds", "syntactic test", 3, difference=True, pair=0.5, seed=0.1, pair_in_seed=0.5),
    Case(
        "two models, seeds that differ more", "syntactic test", 3, difference=True, pair=0.5, seed=0.4, pair_in_seed=0.5
    ),
    Case("two models, five seeds", "syntactic test", 5, difference=True, pair=0.5, seed=0.3, pair_in_seed=0.5),
    Case("two models, seeds that differ by chance", "syntactic test", 3, difference=True, pair=0.0, pair_in_seed=0.5),
)


def designs(data: str | None) -> dict[str, Design]:
    """Return the questions of both kinds, all and those of the test half."""
    sections = read_questions(find_data(data).of("analogy")[0])
    found = {}
    for kind, part in ((kind, part) for kind in ("syntactic", "semantic") for part in ("all", "test")):
        asked = [
            (pairs_of(question), number)
            for number, section in enumerate(sections)
            for question in section.questions
            if section.syntactic is (kind == "syntactic")
            and (part == "all" or all(half_of("analogy", pair) == "test" for pair in pairs_of(question)))
        ]
        pairs = np.unique(cluster_ids([pairs for pairs, _ in asked]), return_inverse=True)[1].reshape(-1, 2)
        found[f"{kind} {part}"] = Design(pairs, np.unique([number for _, number in asked], return_inverse=True)[1])
    return found


def answers(rng: np.random.Generator, design: Design, case: Case) -> list[Any]:
    """Return for each model the answers of its seeds, (S, n) of 0 and 1; models share what makes a pair hard."""
    (a, b), n, G = design.pairs.T, len(design.pairs), int(design.pairs.max()) + 1
    ease = np.linspace(-2, 1, int(design.relation.max()) + 1)[design.relation]
    luck, hard, own = rng.logistic(size=n), rng.standard_normal(G), 0.7 * rng.standard_normal(n)
    models = []
    for _ in range(2 if case.difference else 1):
        prompt, answer = rng.standard_normal((2, G))
        skill = ease + own + case.pair * (0.4 * prompt[a] + 0.8 * hard[b] + 0.6 * answer[b])
        seeds = (
            skill
            + case.seed * rng.standard_normal()
            + case.pair_in_seed * (rng.standard_normal(G)[b] + rng.standard_normal(n))
            for _ in range(case.seeds)
        )
        models.append(np.array([seed > luck for seed in seeds], dtype=float))
    return models


def truth(design: Design, case: Case) -> float:
    """Return the percentage right over all pairs and seeds: 0 for a difference, since both models are alike."""
    if case.difference:
        return 0.0
    spread = np.sqrt(case.pair**2 * 1.16 + 0.49 + case.seed**2 + 2 * case.pair_in_seed**2)
    z, weights = np.polynomial.hermite_e.hermegauss(60)
    ease = np.linspace(-2, 1, int(design.relation.max()) + 1)
    chance = (1 / (1 + np.exp(-ease[:, None] - spread * z))) @ weights / weights.sum()
    return 100 * float(chance[design.relation].mean())


def intervals(rng: np.random.Generator, design: Design, case: Case) -> Iterator[tuple[str, Interval]]:
    """Yield the interval of each method for one draw of answers."""
    models = answers(rng, design, case)
    Y = 100 * (models[0] - models[1] if case.difference else models[0])  # (S, n)
    runs = [[[outcome(seed, design.pairs)] for seed in model] for model in models]
    found = compare(*runs, paired=case.seeds > 1) if case.difference else scores_of(*runs[0])
    yield "closed form", (found[0].low, found[0].high)
    (a, b), n, G = design.pairs.T, Y.shape[1], int(design.pairs.max()) + 1
    relation = np.zeros(G, dtype=np.int64)
    relation[a] = relation[b] = design.relation
    within, over = draws(rng, relation), draws(rng, np.zeros(G, dtype=np.int64))
    one_by_one = rng.multinomial(n, np.full(n, 1 / n), size=N_RESAMPLES)
    seeds = rng.multinomial(case.seeds, np.full(case.seeds, 1 / case.seeds), size=N_RESAMPLES) / case.seeds  # (B, S)
    weights = {
        "both pairs": within[:, a] * within[:, b],
        "over all relations": over[:, a] * over[:, b],
        "answer pairs": within[:, b],
        "one by one": one_by_one,
    }
    for name, w in weights.items():
        resampled = ((w @ Y.T) / w.sum(axis=1, keepdims=True) * seeds).sum(axis=1)  # (B,)
        low, high = np.percentile(resampled, [2.5, 97.5])
        yield name, (float(low), float(high))


def draws(rng: np.random.Generator, stratum: Ids) -> Any:
    """Return how often each pair is drawn, as many in each stratum as it has, (B, G)."""
    drawn = np.zeros((N_RESAMPLES, len(stratum)))
    for one in np.unique(stratum):
        (members,) = np.nonzero(stratum == one)
        drawn[:, members] = rng.multinomial(len(members), np.full(len(members), 1 / len(members)), size=N_RESAMPLES)
    return drawn


def outcome(right: Any, pairs: Ids) -> Outcome:
    return Outcome(
        "analogy", "made up", "accuracy", tuple(map(str, range(len(right)))), right, len(right), clusters=pairs
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of the evaluation data")
    parser.add_argument("--trials", type=int, default=200)
    asked = parser.parse_args()
    questions, rows, names = designs(asked.data), [], []
    for case in CASES:
        design = questions[case.part]
        right = truth(design, case)
        held: dict[str, int] = {}
        width: dict[str, float] = {}
        for trial in range(asked.trials):
            for name, (low, high) in intervals(np.random.default_rng(trial), design, case):
                held[name] = held.get(name, 0) + (low <= right <= high)
                width[name] = width.get(name, 0.0) + (high - low) / 2
        names = list(held)
        cells = [f"{100 * held[name] / asked.trials:.0f} (±{width[name] / asked.trials:.1f})" for name in names]
        rows.append((f"{case.name}, {case.part}", *cells))
    print(f"Percentage of {asked.trials} 95 % intervals that hold the truth, and half of their mean width in points:\n")
    print("\n".join(markdown_table(("made up", *names), rows)))


if __name__ == "__main__":
    main()
