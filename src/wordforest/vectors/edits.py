"""Nodes merged, hidden and named: the forest after it, and words on it.

Nodes get new numbers then; parents keep their values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.vectors.matrices import CSR
from wordforest.vectors.notes import as_notes
from wordforest.vectors.vectors import Vectors, forest_of

Edit: TypeAlias = tuple[Literal["merge", "hide"], Sequence[int]]


class Edited(NamedTuple):
    """A forest after edits, the new number of every node, -1 for none (M,), and the first of those that one came of."""

    forest: Forest
    places: NDArray[np.int64]
    first: NDArray[np.int64]

    def columns(self, matrix: Any) -> CSR:
        """Return a matrix (n, M) of the old nodes for the new ones: those made one are added."""
        kept = np.flatnonzero(self.places >= 0)
        ones = np.ones(len(kept), dtype=np.float32)
        shape = (len(self.places), len(self.forest))
        found = sparse.csr_array(matrix @ sparse.csr_array((ones, (kept, self.places[kept])), shape=shape))
        found.sort_indices()
        return found


def after(forest: Forest, edits: Sequence[Edit]) -> Edited:
    """Return a forest after nodes were merged or hidden, one edit after the other."""
    places = first = np.arange(len(forest))
    for kind, nodes in edits:
        forest, moved = (merge if kind == "merge" else hide)(forest, nodes)
        kept = np.flatnonzero(moved >= 0)
        lowest = np.full(len(forest), len(moved))
        np.minimum.at(lowest, moved[kept], kept)
        places, first = np.where(places >= 0, moved[places], -1), first[lowest]
    return Edited(forest, places, first)


def edited_vectors(vectors: Vectors, edits: Sequence[Edit], names: Mapping[int, str] | None = None) -> Vectors:
    """Return vectors after nodes were merged and hidden, and with names that were then given to nodes."""
    if edits:
        vectors = _moved(vectors, after(forest_of(vectors), edits))
    if not names:
        return vectors
    notes = as_notes(names)
    for node, note in vectors.notes.items():
        notes[node] = note if note.name else note._replace(name=names.get(node, ""))
    return Vectors(vectors.words, vectors.matrix, forest=vectors.forest, labels=notes, nodes=vectors.nodes)


def as_edited(learned: Vectors, config: Mapping[str, Any], edits: Sequence[Edit] | None = None) -> Vectors:
    """Return vectors of a run with its edits and names, and with further ones, where ``edits`` go on from its own.

    Other ``edits`` stand alone: the numbers of nodes are others then, and names were given to those of the run.
    """
    own = [*config.get("edits", ())]
    wanted = own if edits is None else [*edits]
    if _plain(wanted[: len(own)]) != _plain(own):
        return edited_vectors(learned, wanted)
    names = {int(node): name for node, name in config.get("names", {}).items()}
    return edited_vectors(edited_vectors(learned, own, names), wanted[len(own) :])


def _plain(edits: Sequence[Edit]) -> list[tuple[str, list[int]]]:
    return [(kind, [*map(int, nodes)]) for kind, nodes in edits]


def _moved(vectors: Vectors, edited: Edited) -> Vectors:
    given = vectors.given_labels
    labels = {node: given[first] for node, first in enumerate(edited.first.tolist()) if first in given}
    nodes = {name: values[edited.first] for name, values in vectors.nodes.items() if name == "stability"}
    made = Vectors(vectors.words, edited.columns(vectors.matrix), forest=edited.forest, labels=labels, nodes=nodes)
    if "use" not in vectors.nodes:
        return made
    nodes["use"] = made.uses() / len(made)
    return Vectors(made.words, made.matrix, forest=made.forest, labels=labels, nodes=nodes)


def merge(forest: Forest, nodes: Sequence[int]) -> tuple[Forest, NDArray[np.int64]]:
    """Make nodes of one parent one, the first of them, which gets their children; parents keep their shares."""
    nodes = _checked(forest, nodes)
    if len(nodes) < 2 or len({int(forest.parent[node]) for node in nodes}) > 1:
        raise InputError(f"nodes {nodes} cannot be made one: name two or more with the same parent, or merge parents.")
    into = np.arange(len(forest))
    into[nodes] = nodes[0]
    parent = np.where(forest.parent >= 0, into[forest.parent], -1)
    order = _preorder(parent, [i for i in range(len(forest)) if into[i] == i])
    number = {node: place for place, node in enumerate(order)}
    return (
        Forest([number.get(int(parent[node]), -1) for node in order]),
        np.array([number[int(node)] for node in into]),
    )


def hide(forest: Forest, nodes: Sequence[int]) -> tuple[Forest, NDArray[np.int64]]:
    """Take nodes and all below them away; parents keep their shares."""
    shown = np.ones(len(forest), dtype=np.bool_)
    for node in _checked(forest, nodes):
        shown[node : forest.end[node]] = False
    if not shown.any():
        raise InputError("all nodes would be hidden. Leave at least one.")
    places = np.where(shown, np.cumsum(shown) - 1, -1)
    parent = forest.parent[shown]
    return Forest(np.where(parent >= 0, places[parent], -1)), places


def _preorder(parent: NDArray[Any], nodes: list[int]) -> list[int]:
    """Return nodes, children after their parents and before those of others."""
    below: dict[int, list[int]] = {}
    for node in nodes:
        below.setdefault(int(parent[node]), []).append(node)
    order, waiting = [], below.get(-1, [])[::-1]
    while waiting:
        order.append(node := waiting.pop())
        waiting += below.get(node, [])[::-1]
    return order


def _checked(forest: Forest, nodes: Sequence[int]) -> list[int]:
    for node in nodes:
        if not 0 <= node < len(forest):
            raise InputError(f"node {node} does not exist: nodes are numbered from 0 to {len(forest) - 1}.")
    return list(dict.fromkeys(map(int, nodes)))
