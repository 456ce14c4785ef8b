"""What each page shows, as plain data: a model in, dictionaries of words and numbers out. No web, no markup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.explorer.model import Model, complete
from wordforest.reading.columns import largest
from wordforest.vectors import Neighbors, UnknownWordError

MAX_COMPARED = 5
NEIGHBORS = 15
_CARD_WORDS = 15
_LISTED = 8  # nodes shared and nodes where words part


def node_card(model: Model, node: int, k: int = _CARD_WORDS) -> dict[str, Any]:
    """Return all about one node: place in the forest, words that use it, strongest words and contexts.

    Contexts come from the node's column of D (V, M), and are None where the model has no dictionary of its words.
    """
    model.check_node(node)
    positive, negative = model.vectors.top_words(node, k)
    return {
        "node": node,
        "depth": int(model.forest.depth[node]),
        "parent": int(model.forest.parent[node]),
        "children": model.forest.children(node),
        "label": list(model.labels[node]),
        "used": int(model.used[node]),
        "words": len(model.words),
        "positive": _rounded(positive),
        "negative": _rounded(negative),
        "contexts": _contexts(model, node, k),
    }


def word_forest(model: Model, word: str) -> dict[str, Any]:
    """Return the nodes that a word uses, in order, and its coefficient in each; unknown words get close ones."""
    try:
        vector = model.vectors[word]
    except UnknownWordError:
        return {"word": word, "found": False, "near": near_words(model, word)}
    nodes = np.flatnonzero(vector)
    row = model.vectors.index(word)
    return {
        "word": word,
        "found": True,
        "rank": row + 1,
        "count": int(model.counts[row]) if model.counts is not None else None,
        "nodes": nodes.tolist(),
        "values": [_short(value) for value in vector[nodes]],
    }


def word_view(model: Model, word: str, k: int = NEIGHBORS) -> dict[str, Any]:
    """Return the forest of a word and its k nearest words; none are near to a zero vector."""
    view = word_forest(model, word)
    if view["found"]:
        view["neighbors"] = _rounded(model.vectors.most_similar(word, k=k)) if view["nodes"] else []
    return view


def comparison(model: Model, words: Sequence[str]) -> dict[str, Any]:
    """Return the forests of up to five words, their cosines, the nodes they share, and where they part.

    Words share a node when all of them use it with the same sign; sorted by the smallest size of a coefficient. A word
    enters a node when it uses it or a descendant. Words go together through a node that all of them enter and that no
    two use with opposite signs. They part where they no longer go together, though one of them enters and they do go
    together through the parent (a root has none): the first such places from the roots down, sorted by the widest gap.
    The numbers at a parting are the coefficients where signs clash, else the size (norm) of each word's branch.
    """
    if len(words) > MAX_COMPARED:
        raise InputError(f"{len(words)} words came, but at most {MAX_COMPARED} can be compared. Leave some out.")
    found = [word for word in words if word in model.vectors]
    codes = np.array([model.vectors[word] for word in found], dtype=np.float64).reshape(len(found), len(model.forest))
    shared, parting = (_shared(codes), _partings(model, codes)) if len(found) > 1 else ([], [])
    return {
        "forests": [word_forest(model, word) for word in words],
        "compared": found,
        "cosines": [[round(model.vectors.similarity(a, b), 4) for b in found] for a in found],
        "shared": shared[:_LISTED],
        "parting": parting[:_LISTED],
        "n_shared": len(shared),
        "n_parting": len(parting),
    }


def analogy(model: Model, a: str, b: str, c: str, k: int = 10) -> dict[str, Any]:
    """Return the words d for which a is to b as c is to d; words without a vector are named instead."""
    unknown = [word for word in dict.fromkeys((a, b, c)) if word not in model.vectors]
    found: Neighbors = [] if unknown else model.vectors.analogy(a, b, c, k=k)
    return {"unknown": unknown, "neighbors": _rounded(found)}


def near_words(model: Model, word: str) -> list[str]:
    """Return up to three words that begin like a word without a vector: its longest known beginning counts."""
    for length in range(min(len(word), 20), 0, -1):
        if found := complete(model, word[:length], k=3):
            return found
    return []


def node_values(model: Model, node: int) -> tuple[NDArray[np.int16], float]:
    """Return a node's coefficient for every word, (V,), as whole shares of 1/32767 of the largest size, and that size.

    Rounding keeps signs and exact zeros: a coefficient that is not zero never becomes zero.
    """
    model.check_node(node)
    column = model.vectors.dense[:, node].astype(np.float64)
    limit = float(np.abs(column).max(initial=0.0)) or 1.0
    size = np.maximum(np.rint(np.abs(column) / limit * 32767), column != 0)
    return (np.sign(column) * size).astype("<i2"), limit


def _contexts(model: Model, node: int, k: int) -> dict[str, Any] | None:
    if model.dictionary is None:
        return None
    column = model.dictionary[:, node]
    return {
        "positive": [[model.words[row], _short(column[row])] for row in largest(column, k) if column[row] > 0],
        "negative": [[model.words[row], _short(column[row])] for row in largest(-column, k) if column[row] < 0],
    }


def _shared(codes: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Return the nodes that all rows of codes (n, M) use with one sign, strongest first."""
    sign = np.sign(codes)
    nodes = np.flatnonzero((sign == sign[0]).all(axis=0) & (sign[0] != 0))
    return _node_rows(nodes, np.abs(codes).min(axis=0), codes)


def _partings(model: Model, codes: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Return the nodes where the ways of the rows of codes (n, M) part, widest gap first."""
    parent, end = model.forest.parent, model.forest.end
    above = np.zeros((len(codes), 1))
    used = np.hstack([above, np.cumsum(codes != 0, axis=1)])
    enters = used[:, end] > used[:, :-1]  # (n, M)
    squares = np.hstack([above, np.cumsum(codes**2, axis=1)])
    branch = np.where(enters, np.sqrt(np.maximum(squares[:, end] - squares[:, :-1], 0)), 0.0)
    clash = np.logical_and((codes > 0).any(axis=0), (codes < 0).any(axis=0))  # (M,)
    together = np.logical_and(enters.all(axis=0), ~clash)
    reached = np.where(parent < 0, True, together[parent])
    values = np.where(clash, codes, branch)
    nodes = np.flatnonzero(reached & ~together & enters.any(axis=0))
    return _node_rows(nodes, values.max(axis=0) - values.min(axis=0), values)


def _node_rows(nodes: NDArray[np.intp], rank: NDArray[np.float64], values: NDArray[np.float64]) -> list[dict[str, Any]]:
    ordered = nodes[np.argsort(-rank[nodes], kind="stable")]
    return [{"node": int(node), "values": [_short(value) for value in values[:, node]]} for node in ordered]


def _rounded(found: Neighbors) -> list[list[Any]]:
    return [[word, _short(value)] for word, value in found]


def _short(value: float) -> float:
    """Return a number with five significant digits: what a page shows, in few bytes; only zero becomes zero."""
    return float(f"{float(value):.5g}")
