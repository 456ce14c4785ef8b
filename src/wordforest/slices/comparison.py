"""What differs between slices, on one forest: nodes, words that moved, words that came and went, changes over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.coder.forest import Forest
from wordforest.counts import WindowRules
from wordforest.documents.groups import adjusted
from wordforest.documents.shares import DocumentShares
from wordforest.documents.tables import Library, Table, as_frame
from wordforest.reading.labels import label_text
from wordforest.runtime.machine import Executor, Threads
from wordforest.slices.company import PERMUTATIONS, Changes, Scene
from wordforest.slices.texts import CSR, Slices
from wordforest.slices.usage import Sums, Usage, change_points, sum_up, usage
from wordforest.slices.words import Contrast, example_lines, telling_contexts
from wordforest.text.tokens import NUMBER, RARE
from wordforest.vectors import Vectors, forest_of

Code: TypeAlias = Callable[[Sequence[Contrast]], Any]  # rows of X before and after -> codes (2 n, M)

LEVEL = 0.05
MOST = 100  # words that moved, and words of each slice, that are told
_OFTEN = 20  # times that a word must stand in two slices to be tested, and in all to be told as new or gone
_NEW = 0.1  # of its share after (or before) that a word has before (or after) if it came (or went)
_FUNCTION = 100  # most frequent words, nearly all of them words of grammar
_SHOWN = 6  # contexts and nodes that are named


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Tables of what differs between slices; each is a DataFrame of pandas when asked for by its name.

    ``nodes``: a row for every node and slice; ``words``: words whose company changed; ``vocabulary``: words that came,
    went, or are used more or less; ``changes``: from when on nodes are used more or less (slices of time alone).

    Examples:
        >>> import wordforest as wf
        >>> old = ["the ship sails the sea with its sailors", "sailors load the ship in the harbour"] * 20
        >>> new = ["the ship flies to the moon with rockets", "rockets lift the ship into the sky"] * 20
        >>> run = wf.train([*old, *new], trees=1, branching=(2,), min_count=5)
        >>> found = wf.compare(run, slices={"old": old, "new": new})
        >>> ship = found.words.set_index("word").loc["ship"]
        >>> "sails" in ship.contexts_before, "moon" in ship.contexts_after
        (True, True)
        >>> found.nodes.shape  # a row for each of 3 nodes and 2 slices
        (6, 14)
    """

    slices: tuple[Any, ...]
    is_time: bool
    sizes: dict[str, list[int]]  # documents and tokens of each slice
    tables: dict[str, Table]
    n_tested: int  # words whose company was tested
    level: float = LEVEL  # q below which a finding is told

    def __repr__(self) -> str:
        words, nodes = self.tables["words"], self.tables["nodes"]
        n = len({node for node, q in zip(nodes["node"], nodes["q"], strict=True) if q is not None and q < self.level})
        return (
            f"Comparison({len(self.slices)} slices: {len(words['word'])} of {self.n_tested} words changed their "
            f"company, {n} nodes differ)"
        )

    @property
    def nodes(self) -> Any:
        """How much each slice uses each node: ``share``, ``log_odds`` against all others, intervals, p and q."""
        return self.frame("nodes")

    @property
    def words(self) -> Any:
        """Words whose company changed, most first: paths and contexts before and after, p and q, examples."""
        return self.frame("words")

    @property
    def vocabulary(self) -> Any:
        """Words that came, went, or are used more or less in a slice."""
        return self.frame("vocabulary")

    @property
    def changes(self) -> Any:
        """From which slice on a node is used more or less; empty where slices are not times."""
        return self.frame("changes")

    def frame(self, name: str, library: Library = "pandas") -> Any:
        """Return a table as a DataFrame of pandas or Polars."""
        return as_frame(self.tables[name], library)

    def as_object(self) -> dict[str, Any]:
        """Return all of it as plain objects, for JSON."""
        return {
            "slices": [str(name) if not isinstance(name, int | float | str) else name for name in self.slices],
            "is_time": self.is_time,
            **self.sizes,
            "n_tested": self.n_tested,
            "level": self.level,
            **self.tables,
        }


def compare_slices(
    slices: Slices,
    vectors: Vectors,
    rules: WindowRules,
    *,
    code: Code | None = None,
    level: float = LEVEL,
    most: int = MOST,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    executor: Executor | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Compare slices on the forest of vectors that were learned from all of them.

    ``code`` turns contrasts of words into codes before and after; without it words have no paths by slice.
    """
    executor, forest = executor or Threads(), forest_of(vectors)
    shares = node_shares(vectors)
    labels = [label_text(label) for label in vectors.labels]
    say("adding up nodes and words by slice")
    of_nodes, of_words = sum_up(slices, shares), sum_up(slices)
    of_nodes_used = usage(slices, of_nodes, shares, seed=seed)
    scene = Scene(slices, shares, nodes_of_one(vectors), executor)
    if vectors.has_negatives:
        say("note: codes have signs, so nodes say little of what a slice is about. Train with --preset readable.")
    tested = testable(slices)
    say(f"testing the company of {len(tested)} words")
    found = scene.changes(tested, permutations=permutations, seed=seed)
    tables = {
        "nodes": _node_table(slices, of_nodes, of_nodes_used, forest, labels),
        "words": _word_table(slices, scene, found, forest, labels, rules, code, level, most),
        "vocabulary": _vocabulary_table(slices, of_words, level, most),
        "changes": _change_table(slices, of_nodes, labels, level) if slices.is_time else _no_changes(),
    }
    sizes = {
        "documents": np.bincount(slices.code, minlength=len(slices.names)).tolist(),
        "tokens": slices.frequencies.sum(axis=1).tolist(),
    }
    n_tested = int((~np.isnan(found.p)).sum())
    return Comparison(slices.names, slices.is_time, sizes, tables, n_tested, level)


def node_shares(vectors: Vectors) -> CSR:
    """Return what words have at nodes, by size, divided by all they have, (V, M)."""
    A, own = abs(sparse.csr_array(vectors.matrix)), abs(sparse.csr_array(vectors.own))
    total: Any = np.asarray(own.sum(axis=1)).ravel()
    scale = sparse.diags_array(1 / np.where(total > 0, total, 1))
    return sparse.csr_array(scale @ A, dtype=np.float32)


def nodes_of_one(vectors: Vectors) -> NDArray[np.float64]:
    """Return 1 for the nodes whose shares of a word add up to one, (M,): roots of an additive forest, else all."""
    forest = forest_of(vectors)
    is_additive = vectors.own is not vectors.matrix
    return np.asarray((forest.parent < 0) if is_additive else np.ones(len(forest)), dtype=np.float64)


def testable(slices: Slices) -> NDArray[np.int64]:
    """Return the words that stand often enough in two slices; markers are no words."""
    often = (slices.frequencies >= _OFTEN).sum(axis=0) >= 2
    markers = [row for row, word in enumerate(slices.words) if word in (RARE, NUMBER)]
    often[markers] = False
    return np.flatnonzero(often)


def _node_table(slices: Slices, sums: Sums, used: Usage, forest: Forest, labels: Sequence[str]) -> Table:
    S, M = used.share.shape
    table: Table = {
        "node": np.repeat(np.arange(M), S).tolist(),
        "label": [label for label in labels for _ in range(S)],
        "parent": np.repeat(forest.parent, S).tolist(),
        "depth": np.repeat(forest.depth, S).tolist(),
        "slice": [*slices.names] * M,
    }
    table |= {name: _column(getattr(used, name).T.ravel()) for name in Usage._fields}
    return table | {"documents": sums.documents.tolist() * M}


def _column(values: Any) -> list[Any]:
    """Return numbers as a column, None where there is none."""
    return [None if np.isnan(value) else value for value in np.asarray(values, dtype=np.float64).tolist()]


def _word_table(
    slices: Slices,
    scene: Scene,
    found: Changes,
    forest: Forest,
    labels: Sequence[str],
    rules: WindowRules,
    code: Code | None,
    level: float,
    most: int,
) -> Table:
    q = adjusted(found.p)
    sure = np.flatnonzero(q < level)
    sure = sure[np.argsort(-found.effect[sure], kind="stable")][:most]
    contrasts = [Contrast(int(found.words[i]), *scene.contrast(int(found.words[i]))) for i in sure]
    paths = _paths(contrasts, code, forest)
    rows = [
        {
            "word": slices.words[contrast.word],
            "effect": float(found.effect[i]),
            "z": float(found.z[i]),
            "p": float(found.p[i]),
            "q": float(q[i]),
            "before": _named(slices, contrast.before),
            "after": _named(slices, contrast.after),
            **_of_contrast(slices, scene, contrast, rules, labels),
            **_of_paths(path, labels),
            "frequency": _per_million(slices)[:, contrast.word].round(2).tolist(),
        }
        for i, contrast, path in zip(sure, contrasts, paths, strict=True)
    ]
    return _as_table(rows, _WORD_COLUMNS)


_WORD_COLUMNS = (
    *(
        "word",
        "effect",
        "z",
        "p",
        "q",
        "before",
        "after",
        "count_before",
        "count_after",
        "moved",
        "node_before",
        "node_after",
    ),
    *("path_before", "path_after", "gained", "lost", "contexts_before", "contexts_after", "example_before"),
    *("example_after", "frequency"),
)


def _as_table(rows: list[dict[str, Any]], columns: Sequence[str]) -> Table:
    return {name: [row[name] for row in rows] for name in columns}


def _of_contrast(
    slices: Slices, scene: Scene, contrast: Contrast, rules: WindowRules, labels: Sequence[str]
) -> dict[str, Any]:
    """Return what a word had before and has after: nodes around it, contexts, examples."""
    lift, z = scene.company(*contrast)
    del lift
    order = np.argsort(z, kind="stable")
    rather_before, rather_after, telling = telling_contexts(slices, contrast, rules)
    markers = {i for i, word in enumerate(slices.words[: len(telling)]) if word in (RARE, NUMBER)}
    per_slice = slices.frequencies[:, contrast.word]
    return {
        "count_before": int(per_slice[list(contrast.before)].sum()),
        "count_after": int(per_slice[list(contrast.after)].sum()),
        "lost": [labels[j] for j in order[:_SHOWN] if z[j] < -2],
        "gained": [labels[j] for j in order[::-1][:_SHOWN] if z[j] > 2],
        "contexts_before": _content_first(slices, rather_before, markers),
        "contexts_after": _content_first(slices, rather_after, markers),
        "example_before": _lines(example_lines(slices, contrast.word, contrast.before, -telling)),
        "example_after": _lines(example_lines(slices, contrast.word, contrast.after, telling)),
    }


def _content_first(slices: Slices, contexts: list[int], markers: set[int]) -> list[str]:
    """Return contexts, those last that are among the most frequent words, which say little to a reader."""
    known = [c for c in contexts if c not in markers]
    return [slices.words[c] for c in sorted(known, key=lambda c: c < _FUNCTION)][:_SHOWN]


def _lines(found: list[tuple[str, str, str, str]]) -> list[str]:
    return [f"{document}: {left} [{word}] {right}" for document, left, word, right in found]


def _paths(contrasts: Sequence[Contrast], code: Code | None, forest: Forest) -> list[Any]:
    """Return the main paths of words before and after, (depths,) each; None where there are no codes by slice."""
    if code is None or not contrasts:
        return [None] * len(contrasts)
    A = sparse.csr_array(np.abs(code(contrasts)).astype(np.float32))
    main = DocumentShares([""] * A.shape[0], A, forest, [""] * len(forest)).main_path()
    return [main[2 * i : 2 * i + 2] for i in range(len(contrasts))]


def _moved(path: Any) -> bool:
    """Say whether a word stands in another tree, or on another branch of it, after than before."""
    return path is not None and bool((path[0][:2] != path[1][:2]).any())


def _of_paths(path: Any, labels: Sequence[str]) -> dict[str, Any]:
    if path is None:
        return dict.fromkeys(("moved", "node_before", "node_after", "path_before", "path_after"))
    before, after = ([int(node) for node in side if node >= 0] for side in path)
    return {
        "moved": _moved(path),
        "node_before": before[-1] if before else None,
        "node_after": after[-1] if after else None,
        "path_before": [labels[node] for node in before],
        "path_after": [labels[node] for node in after],
    }


def _named(slices: Slices, numbers: Sequence[int]) -> str:
    """Return some slices in words: their names, or in time the first and the last."""
    names = [str(slices.names[number]) for number in numbers]
    if slices.is_time and len(names) > 1:
        return f"{names[0]} to {names[-1]}"
    return names[0] if len(names) == 1 else "all others"


def _per_million(slices: Slices) -> NDArray[np.float64]:
    sizes = np.maximum(slices.frequencies.sum(axis=1, keepdims=True), 1)
    return np.asarray(slices.frequencies * (1e6 / sizes))


def _vocabulary_table(slices: Slices, sums: Sums, level: float, most: int) -> Table:
    """Return words that slices use more or less than others; in time, those that change, and from when on."""
    often = slices.frequencies.sum(axis=0) >= _OFTEN
    often[[row for row, word in enumerate(slices.words) if word in (RARE, NUMBER)]] = False
    kept = np.flatnonzero(often)
    own = sums.of(kept)
    rows: list[dict[str, Any]] = []
    if slices.is_time:
        for change in change_points(own, level=level):
            low, high = sorted((change.before, change.after))
            kind = "more" if change.after > change.before else "less"
            if low < _NEW * high:
                kind = "came" if kind == "more" else "went"
            word = slices.words[kept[change.thing]]
            shares = {"before": 1e6 * change.before, "after": 1e6 * change.after}
            odds = float(np.log((change.after + 1e-7) / (change.before + 1e-7)))
            rows.append(_vocabulary_row(word, slices.names[change.slice], kind, shares, odds, change.p, change.q))
    else:
        used = usage(slices, own)
        outside = (own.count[0].sum(axis=0) - own.count[0]) / np.maximum(own.length[0].sum() - own.length[0], 1)[
            :, None
        ]
        for s, k in zip(*np.nonzero(used.q < level), strict=True):
            inside = float(used.share[s, k])
            low, high = sorted((inside, float(outside[s, k])))
            kind = "more" if inside > outside[s, k] else "less"
            if low < _NEW * high:
                kind = "came" if kind == "more" else "went"
            shares = {"before": 1e6 * float(outside[s, k]), "after": 1e6 * inside}
            odds, p, q = (float(one[s, k]) for one in (used.log_odds, used.p, used.q))
            rows.append(_vocabulary_row(slices.words[kept[k]], slices.names[s], kind, shares, odds, p, q))
    rows.sort(key=lambda row: -abs(row["log_odds"]))
    told: dict[Any, int] = {}
    picked = []
    for row in rows:
        key = (row["slice"], row["kind"])
        told[key] = told.get(key, 0) + 1
        if told[key] <= most:
            picked.append(row)
    return _as_table(picked, ("word", "slice", "kind", "before", "after", "log_odds", "p", "q"))


def _vocabulary_row(
    word: str, name: Any, kind: str, shares: dict[str, float], odds: float, p: float, q: float
) -> dict[str, Any]:
    return {"word": word, "slice": name, "kind": kind, **shares, "log_odds": odds, "p": p, "q": q}


def _change_table(slices: Slices, sums: Sums, labels: Sequence[str], level: float) -> Table:
    rows = [
        {
            "node": change.thing,
            "label": labels[change.thing],
            "slice": slices.names[change.slice],
            **{name: getattr(change, name) for name in ("before", "after", "p", "q")},
        }
        for change in change_points(sums, level=level)
    ]
    return _as_table(rows, ("node", "label", "slice", "before", "after", "p", "q"))


def _no_changes() -> Table:
    return _as_table([], ("node", "label", "slice", "before", "after", "p", "q"))
