"""A few words for each node that tell it from its parent and its siblings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.reading.columns import Columns, Rows, check_k, largest
from wordforest.vectors import Vectors, is_marker

Label: TypeAlias = tuple[str, ...]
Labels: TypeAlias = Sequence[Label]

_COMMON = 500  # ranks of function words and the most general ones: among them frequency says little
_TAKEN = 6  # words that a node takes from those below, asked for or not: short labels are the start of longer ones


class _Scored(NamedTuple):
    node: int
    rows: Rows  # (n,), ascending: the words on the node's side
    score: NDArray[np.float32]  # (n,)


def label_nodes(vectors: Vectors, k: int = 5, *, rarity: float = 3.0) -> list[Label]:
    """Return up to k words for every node, best first; none for a node that no word uses.

    With g the group of node i (itself and its descendants), word v at rank r_v scores where its a_vi > 0

        s_vi = <a_vg, c_i>  *  |a_vg| / |a_v|  /  log2(r_v + 500)^rarity

    - ``c_i``, of length 1, points along the sum over words u with a_ui > 0 of ``a_ui a_ug``: what those who use
      the node do in its group. The product is large for words that use the node strongly and its children as most
      do. So a parent is named by what its children share (music songs band), not by words that hardly leave it,
      which are names and rare words, nor by the words of one child. At a leaf it is a_vi.
    - ``|a_vg| / |a_v|`` is the part of the word that lies in the group: words at home in another tree or in a
      sibling lose.
    - ``log2(r_v + 500)`` is about the information of the word in bits (Zipf, flat among the first few hundred ranks,
      so that function words gain nothing): everyday words make better labels. Rows are expected in order of
      frequency; ``rarity=0`` ignores their order.

    Then, from the roots down, a node takes its best words, but none that a node above it takes (six or k), that scores
    higher at a sibling, or that is a marker such as ``#rare#``. A node left without any takes its best words though
    they stand elsewhere, and a marker only if nothing else uses it. A signed dimension is labelled by its positive
    side, and by the negative one where nothing is positive. Scores are compared in float32, equal ones in row order.
    """
    check_k(k)
    if not (np.isfinite(rarity) and rarity >= 0):
        raise InputError(f"rarity = {rarity}, but it must be a finite number of at least 0, such as 3; 0 ignores rank.")
    columns = Columns(vectors)
    bits = np.log2(np.arange(len(vectors)) + _COMMON) ** rarity  # (V,)
    is_word = np.array([not is_marker(word) for word in vectors.words], dtype=bool)
    chosen: list[list[int]] = [[] for _ in range(len(columns.forest))]
    taken = max(k, _TAKEN)
    for parent in range(-1, len(columns.forest)):
        family = [_scored(columns, node, bits) for node in columns.forest.children(parent)]
        best = _best_of(family, len(vectors))
        for node in family:
            words = is_word[node.rows]
            fresh = ~np.isin(node.rows, _words_above(columns, chosen, node.node)) & (node.score >= best[node.rows])
            chosen[node.node] = _choose(node, [words & fresh, words], taken)
    return [tuple(vectors.words[row] for row in rows[:k]) for rows in chosen]


def given_or_made(vectors: Vectors, labels: Labels | None, k: int) -> list[Label]:
    """Return the first k words of the labels that came, after a check of their number, or labels made here."""
    check_k(k)
    if labels is None:
        return label_nodes(vectors, k)
    if len(labels) != vectors.n_dimensions:
        raise InputError(
            f"expected a label for each of {vectors.n_dimensions} nodes, but {len(labels)} came. "
            "Give what label_nodes returns for these vectors."
        )
    return [tuple(label)[:k] for label in labels]


def _scored(columns: Columns, node: int, bits: NDArray[np.float64]) -> _Scored:
    rows, own = columns.used(node)
    side = own > 0 if (own > 0).any() else own < 0
    rows, own = rows[side], own[side]
    group = columns.group(node, rows)  # (g, n)
    # einsum, not BLAS: equal words get equal scores wherever they stand, with any number of threads
    profile = np.einsum("n,gn->g", np.abs(own), group)
    size = np.sqrt(profile @ profile)
    typical = np.einsum("g,gn->n", profile / size, group) if size > 0 else np.abs(own)
    within = np.sqrt(np.einsum("gn,gn->n", group, group)) / columns.length[rows]
    return _Scored(node, rows, (typical * within / bits[rows]).astype(np.float32))


def _best_of(family: list[_Scored], n_words: int) -> NDArray[np.float32]:
    """Return the highest score of every word among siblings, (V,)."""
    best = np.full(n_words, -np.inf, np.float32)
    for node in family:
        best[node.rows] = np.maximum(best[node.rows], node.score)
    return best


def _words_above(columns: Columns, chosen: list[list[int]], node: int) -> list[int]:
    taken: list[int] = []
    while (node := int(columns.forest.parent[node])) >= 0:
        taken += chosen[node]
    return taken


def _choose(node: _Scored, wishes: list[NDArray[np.bool_]], k: int) -> list[int]:
    """Return the k best rows among those that the first wish with any leaves, or among all of them."""
    usable = next((wish for wish in wishes if wish.any()), slice(None))
    rows, score = node.rows[usable], node.score[usable]
    return [int(row) for row in rows[largest(score, k)]]
