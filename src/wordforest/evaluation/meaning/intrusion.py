"""Word intrusion: one word that does not belong is put among a node's top words; is it found?

Chang et al. (2009) ask people; Lau, Newman and Baldwin (2014) ask co-occurrence in other text, which agrees with
people about as well as people agree with each other. Both are here: two automatic judges, and a sheet for people.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.evaluation.bootstrap import generator
from wordforest.evaluation.meaning.averages import TASK, ratio
from wordforest.evaluation.meaning.cooccurrence import Array, Cooccurrence, Places
from wordforest.evaluation.meaning.node_words import TopWords, candidate_rows, columns_of
from wordforest.vectors import Vectors

N_INTRUDERS = 20
"""Intruders tried at each node, one at a time."""

_FOLDS = 10
_C = 0.01  # of the ranker, as in the published scripts of Lau et al.


@dataclass(frozen=True, eq=False)
class Questions:
    """Q questions: ``node`` (Q,), and ``sets`` (Q, n + 1) of places in the candidates, the intruder first.

    A node with fewer than n top words has -1 in the places that are left.
    """

    node: Places
    sets: Places


@dataclass(frozen=True)
class Sheet:
    """A word-intrusion sheet for people, and the key to it, kept apart: tables with tabs and a heading each."""

    questions: str
    key: str


def ask(vectors: Vectors, tops: TopWords, *, n_intruders: int = N_INTRUDERS, seed: int = 0) -> Questions:
    """Return up to ``n_intruders`` questions for every judged node, each with another intruder.

    An intruder is low here and high elsewhere: a top word of another node, no top word of this one, with a
    coefficient in the lower half of all candidates (on the node's side). It is drawn from these words, each as
    likely. A node for which there is no such word gets no question.
    """
    if n_intruders < 1:
        raise InputError(f"n_intruders = {n_intruders}, but a question needs one. Ask for at least 1.")
    rng = generator(seed, TASK, "intruders")
    nodes: list[int] = []
    sets: list[Places] = []
    judged = set(tops.judged.tolist())
    for node, column in enumerate(columns_of(vectors, candidate_rows(vectors, tops.candidates))):
        if node not in judged:
            continue
        strength = tops.side[node] * column
        own = tops.places[node]
        low = tops.pool[strength[tops.pool] <= np.median(strength)]
        low = low[~np.isin(low, own)]
        for intruder in rng.permutation(low)[:n_intruders]:
            question = np.full(tops.n + 1, -1, dtype=np.int64)
            question[0], question[1 : 1 + len(own)] = intruder, own
            nodes.append(node)
            sets.append(question)
    return Questions(np.array(nodes, dtype=np.int64), np.array(sets, dtype=np.int64).reshape(-1, tops.n + 1))


def clues(questions: Questions, tops: TopWords, held: Cooccurrence) -> Array:
    """Return what held-out text says of each word of a question, (Q, n + 1, 3); 0 in places without a word.

    Means over the question's other words: of positive NPMI, of p(word | other) and of p(other | word).
    """
    sets = questions.sets
    rows = held.rows(tops.candidates)
    known = sets >= 0
    q, i, j = np.nonzero(known[:, :, None] & known[:, None, :] & ~np.eye(sets.shape[1], dtype=bool))
    first, second = rows[sets[q, i]], rows[sets[q, j]]
    seen = held.together(first, second)
    npmi = np.maximum(held.npmi_of(seen, first, second), 0.0)
    values = np.stack([npmi, seen / held.margins[second], seen / held.margins[first]], axis=1)  # (pairs, 3)
    place = q * sets.shape[1] + i
    others = np.maximum(known.sum(axis=1) - 1, 1)[:, None]
    sums = [np.bincount(place, weights=value, minlength=sets.size).reshape(sets.shape) for value in values.T]
    return np.stack([total / others for total in sums], axis=2)


def found_by_npmi(questions: Questions, hints: Array) -> Array:
    """Return whether the intruder has the lowest mean positive NPMI with the other words, clues -> (Q,).

    Pairs never seen together count 0, as in Lau et al., and so do pairs rarer than chance. With -1 for the unseen
    common words, seen with everything, would hide among rare ones.
    Where t words tie for the lowest and the intruder is one of them, it is found 1/t.
    """
    return _credit(np.where(questions.sets >= 0, -hints[..., 0], -np.inf))


def found_by_ranker(questions: Questions, hints: Array, *, seed: int = 0) -> Array:
    """Return whether a ranker that learned from other nodes' questions finds the intruder, clues -> (Q,).

    As Lau et al.: a linear ranking SVM over NPMI and both conditional probabilities of a word with the others (here
    the means of positive NPMI and of these), scaled to [0, 1] within the question, ten folds. A fold holds whole
    nodes. All nan where there are fewer than two nodes to learn from.
    """
    from sklearn.svm import LinearSVC

    nodes = np.unique(questions.node)
    if len(nodes) < 2:
        return np.full(len(questions.node), np.nan)
    known = questions.sets >= 0
    features = _scaled(hints, known)  # (Q, n + 1, 3)
    fold = generator(seed, TASK, "folds").permutation(len(nodes)) % min(_FOLDS, len(nodes))
    fold_of = fold[np.searchsorted(nodes, questions.node)]
    found = np.empty(len(questions.node))
    for held_back in range(int(fold.max()) + 1):
        test = fold_of == held_back
        learn = features[~test]
        steps = (learn[:, :1] - learn[:, 1:])[known[~test][:, 1:]]  # intruder minus each of the others
        svm = LinearSVC(C=_C, fit_intercept=False, dual=False)
        svm.fit(np.concatenate([steps, -steps]), np.repeat([1, -1], len(steps)))
        found[test] = _credit(np.where(known[test], features[test] @ svm.coef_[0], -np.inf))
    return found


def by_node(questions: Questions, found: Array, n_nodes: int) -> Array:
    """Return the share of a node's intruders that were found, (M,); nan where it was not asked."""
    n = np.bincount(questions.node, minlength=n_nodes)
    sums = np.bincount(questions.node, weights=found, minlength=n_nodes)
    return ratio(sums, n)


def chance(questions: Questions) -> float:
    """Return the percentage that guessing finds: 1 / (words of a question), on average."""
    if not len(questions.node):
        return float("nan")
    return 100 * float((1.0 / (questions.sets >= 0).sum(axis=1)).mean())


def intrusion_sheet(vectors: Vectors, tops: TopWords, *, n_words: int = 5, seed: int = 0) -> Sheet:
    """Return a sheet with one question for each judged node, its words and the order of questions shuffled.

    ``n_words`` top words and one intruder each: more make people tired. The key says for every question the node,
    its depth, the intruder and its place from 1.
    """
    if n_words < 2:
        raise InputError(
            f"n_words = {n_words}, but among fewer than 2 words no intruder can be found. Ask for more words."
        )
    asked = ask(vectors, tops, n_intruders=1, seed=seed)
    rng = generator(seed, TASK, "sheet")
    lines = ["\t".join(["question", *(f"word {i + 1}" for i in range(n_words + 1))])]
    key = ["question\tnode\tdepth\tintruder\tplace"]
    for number, q in enumerate(rng.permutation(len(asked.node)), start=1):
        shown = asked.sets[q][: n_words + 1]
        shown = rng.permutation(shown[shown >= 0])
        node, intruder = int(asked.node[q]), int(asked.sets[q][0])
        place = 1 + int(np.flatnonzero(shown == intruder)[0])
        lines.append("\t".join([str(number), *(_cell(tops.candidates[word]) for word in shown)]))
        depth = int(tops.forest.depth[node])
        key.append(f"{number}\t{node}\t{depth}\t{_cell(tops.candidates[intruder])}\t{place}")
    return Sheet("\n".join(lines) + "\n", "\n".join(key) + "\n")


def _scaled(features: Array, known: NDArray[np.bool_]) -> Array:
    """Scale each feature to [0, 1] within a question; 0 where all words have the same."""
    kept = known[..., None]
    low = np.where(kept, features, np.inf).min(axis=1, keepdims=True)
    spread = np.where(kept, features, -np.inf).max(axis=1, keepdims=True) - low
    return np.asarray(np.divide(features - low, spread, out=np.zeros(features.shape), where=kept & (spread > 0)))


def _credit(scores: Array) -> Array:
    """Return 1 / (words of highest score) where the intruder, first in its row, is one, else 0, (Q, n) -> (Q,)."""
    scores = scores.round(12)  # means of the same numbers in another order must tie
    best = scores.max(axis=1, keepdims=True)
    ties = (scores == best).sum(axis=1)
    return np.asarray((scores[:, 0] == best[:, 0]) / ties, dtype=np.float64)


def _cell(word: str) -> str:
    return " ".join(word.split())
