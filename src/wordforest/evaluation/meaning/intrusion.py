"""Word intrusion: one word that does not belong is put among a node's top words; is it found?

Chang et al. (2009) ask people; Lau, Newman and Baldwin (2014) ask co-occurrence in other text, which agrees with
people about as well as people agree with each other. So do we.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wordforest.evaluation.bootstrap import Array, generator
from wordforest.evaluation.meaning.averages import TASK, ratio
from wordforest.evaluation.meaning.cooccurrence import Cooccurrence, Places
from wordforest.evaluation.meaning.node_words import TopWords

N_INTRUDERS = 20
"""Intruders tried at each node, one at a time."""


class Questions(NamedTuple):
    """Q questions: ``node`` (Q,), and ``sets`` (Q, n + 1) of places in the candidates, the intruder first.

    A node with fewer than n top words has -1 in the places that are left.
    """

    node: Places
    sets: Places


def ask(tops: TopWords, *, n_intruders: int = N_INTRUDERS, seed: int = 0) -> Questions:
    """Return up to ``n_intruders`` questions for every judged node, each with another intruder.

    An intruder is low here and high elsewhere: a top word of another node, no top word of this one, with a
    coefficient in the lower half of all candidates (on the node's side). It is drawn from these words, each as
    likely. A node for which there is no such word gets no question.
    """
    rng = generator(seed, TASK, "intruders")
    nodes: list[int] = []
    sets: list[Places] = []
    for node in tops.judged:
        strength, own = tops.strength[:, node], tops.places[node]
        low = tops.pool[strength[tops.pool] <= np.median(strength)]
        for intruder in rng.permutation(low[~np.isin(low, own)])[:n_intruders]:
            question = np.full(tops.n + 1, -1, dtype=np.int64)
            question[0], question[1 : 1 + len(own)] = intruder, own
            nodes.append(node)
            sets.append(question)
    return Questions(np.array(nodes, dtype=np.int64), np.array(sets, dtype=np.int64).reshape(-1, tops.n + 1))


def closeness(questions: Questions, tops: TopWords, held: Cooccurrence) -> Array:
    """Return the mean positive NPMI of each word of a question with the others, (Q, n + 1); inf without a word.

    Pairs never seen together count 0, as in Lau et al., and so do pairs rarer than chance. With -1 for the unseen
    common words, seen with everything, would hide among rare ones.
    """
    sets, known = questions.sets, questions.sets >= 0
    rows = held.rows(tops.candidates)
    q, i, j = np.nonzero(known[:, :, None] & known[:, None, :] & ~np.eye(sets.shape[1], dtype=bool))
    npmi = np.maximum(held.npmi(rows[sets[q, i]], rows[sets[q, j]]), 0.0)
    sums = np.bincount(q * sets.shape[1] + i, weights=npmi, minlength=sets.size).reshape(sets.shape)
    return np.where(known, sums / np.maximum(known.sum(axis=1) - 1, 1)[:, None], np.inf)


def found_intruders(close: Array) -> Array:
    """Return whether the intruder is the word that is least close to the others, (Q, n + 1) -> (Q,).

    Where t words tie for the lowest and the intruder is one of them, it is found 1/t.
    """
    close = close.round(12)  # means of the same numbers in another order must tie
    lowest = close.min(axis=1, keepdims=True, initial=np.inf)
    return np.asarray((close[:, 0] == lowest[:, 0]) / (close == lowest).sum(axis=1), dtype=np.float64)


def by_node(questions: Questions, found: Array, n_nodes: int) -> Array:
    """Return the share of a node's intruders that were found, (M,); nan where it was not asked."""
    n = np.bincount(questions.node, minlength=n_nodes)
    return ratio(np.bincount(questions.node, weights=found, minlength=n_nodes), n)


def chance(questions: Questions) -> float:
    """Return the percentage that guessing finds: 1 / (words of a question), on average."""
    if not len(questions.node):
        return float("nan")
    return 100 * float((1.0 / (questions.sets >= 0).sum(axis=1)).mean())
