"""What each page shows, as plain data: an address and models in, dictionaries of words and numbers out. No markup.

Addresses are /word/king, /across/king, /node/12, /compare/a,b, /analogy/a,b,c, /map?node=3; with documents also
/documents, /documents/12?from=20, /document/7, /context/king?sort=right and /context?node=12; with a comparison of
slices /slices?a=1790&b=2020&node=3, /moved, /moved/king and /vocabulary?kind=more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, unquote

import numpy as np
from numpy.typing import NDArray

from wordforest.documents.concordance import Sort
from wordforest.errors import InputError
from wordforest.explorer.documents import Collection
from wordforest.explorer.examples import find_examples
from wordforest.explorer.model import Model, complete, spelled
from wordforest.vectors import Neighbors, UnknownWordError, largest

MAX_COMPARED = 5
NEIGHBORS = 15
_CARD_WORDS = 15
_LISTED = 8  # nodes shared and nodes where words part
SLICES = ("slices", "moved", "vocabulary")
KINDS = ("", "word", "across", "node", "compare", "analogy", "map", "documents", "document", "context", *SLICES)
_NODE_DOCUMENTS = 5  # on the page of a node
_LONGEST = 8000  # characters of an address
_SORTS: tuple[Sort, ...] = ("document", "left", "right", "strength")


class UnknownPageError(InputError):
    """An address that is no page."""


@dataclass(frozen=True)
class Route:
    """A page: its kind (one of KINDS), words, node, model; the first document, and the order of lines."""

    kind: str
    words: tuple[str, ...] = ()
    node: int | None = None
    model: int = 0
    row: int = 0
    sort: Sort = "document"


def parse_route(address: str, n_models: int = 1) -> Route:
    """Return the page that an address (path and query, still escaped) means; UnknownPageError where there is none."""
    if len(address) > _LONGEST:
        raise UnknownPageError(f"the address has {len(address)} characters, but {_LONGEST} is the limit.")
    path, _, query = address.partition("?")
    kind, _, rest = path.removeprefix("/").partition("/")
    options = dict(parse_qsl(query, keep_blank_values=True))
    if kind not in KINDS or (rest and kind in ("", "map", "slices", "vocabulary")):
        raise UnknownPageError(f"there is no page {unquote(path)!r}. Start at /.")
    model = _whole(options.get("model", "0"), "model")
    if model >= n_models:
        raise UnknownPageError(f"there is no model {model}: the last one is {n_models - 1}.")
    if kind == "node" or (kind == "documents" and rest):
        return Route(kind, (), _whole(rest, "node"), model, _whole(options.get("from", "0"), "from"))
    if kind in ("document", "documents"):
        return Route(kind, model=model, row=_whole(rest or options.get("from", "0"), "document"))
    node = _whole(options["node"], "node") if kind in ("map", "context") and options.get("node") else None
    sort = next((sort for sort in _SORTS if sort == options.get("sort")), _SORTS[0])
    return Route(kind, _words(kind, rest, options), node, model, sort=sort)


def page_view(models: list[Model], route: Route) -> dict[str, Any]:
    """Return the data of a page: its kind and words, and a panel for every model that it shows.

    A page that asks for words opens with an example.
    """
    words = tuple(next((s for m in models if (s := spelled(m, word)) in m.vectors), word) for word in route.words)
    is_example = not words and route.kind in ("compare", "analogy", "across")
    if is_example:
        compared, asked = find_examples(models)
        words = asked if route.kind == "analogy" else compared[:1] if route.kind == "across" else compared
    route = replace(route, words=words)
    view: dict[str, Any] = {"kind": route.kind or "forest", "words": list(words), "panels": [], "example": is_example}
    documents = models[route.model].documents
    if route.kind == "node":
        view |= {"model": route.model, "panels": [node_card(models[route.model], route.node or 0)]}
        if documents is not None:
            view |= documents.changes(route.node or 0) | documents.of_node(route.node, k=_NODE_DOCUMENTS)
    elif route.kind in ("documents", "document", "context"):
        if documents is None:
            raise UnknownPageError("there are no documents here. Start with: wordforest explore RUN --documents FOLDER")
        view |= {"model": route.model, **documents_view(documents, route)}
    elif route.kind in SLICES and (reason := _lacks_slices(models[0], words)):
        raise UnknownPageError(reason)
    elif route.kind in ("word", "across") and route.words:
        view["panels"] = [word_view(model, route.words[0]) for model in models]
    elif route.kind == "compare":
        view["panels"] = [comparison(model, route.words) for model in models]
    elif route.kind == "analogy" and len(route.words) == 3:
        view["panels"] = [analogy(model, *route.words) for model in models]
    elif route.kind == "map":
        view |= {"node": route.node, "model": route.model}
        if route.node is not None:
            models[route.model].vectors.check_node(route.node)
    return view


def documents_view(documents: Collection, route: Route) -> dict[str, Any]:
    """Return documents of a node or of all, one document, or words in context."""
    if route.node is not None:
        documents.vectors.check_node(route.node)
    if route.kind == "documents":
        return documents.of_node(route.node, route.row)
    if route.kind == "document":
        documents.check_row(route.row)
        return {"document": documents.shown([route.row])[0]}
    if route.node is None and not route.words:
        return {"query": "", "lines": []}
    return documents.context(route.words[0] if route.node is None else route.node, route.sort)


def exists(models: list[Model], route: Route) -> bool:
    """Return whether a page has something to show: a node of its model, words that some model knows."""
    if route.node is not None and route.node >= len(models[route.model].forest):
        return False
    if route.kind in ("documents", "document", "context"):
        documents = models[route.model].documents
        return documents is not None and (route.kind == "context" or 0 <= route.row < max(len(documents), 1))
    if route.kind in SLICES:
        return not _lacks_slices(models[0], route.words)
    return all(any(spelled(model, word) in model.vectors for model in models) for word in route.words)


def _lacks_slices(model: Model, words: Sequence[str]) -> str:
    """Return why there is no page about slices, or about a word in them; empty where there is."""
    if model.slices is None:
        return "there are no slices here. Start with: wordforest explore RUN --compare FOLDER"
    known = {row["word"] for row in model.slices["moved"]}
    unknown = [word for word in words if spelled(model, word) not in known]
    return f"{unknown[0]!r} is not among the words that changed their company. See /moved." if unknown else ""


def node_card(model: Model, node: int, k: int = _CARD_WORDS) -> dict[str, Any]:
    """Return all about one node: place in the forest, words that use it, strongest words and contexts.

    Contexts come from the node's column of D (V, M), and are None where the model has no dictionary of its words.
    """
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
        view["neighbors"] = _rounded(model.vectors.most_similar(word, topn=k)) if view["nodes"] else []
    return view


def comparison(model: Model, words: Sequence[str]) -> dict[str, Any]:
    """Return the forests of up to five words, their cosines, the nodes they share, and where they part.

    Words share a node when all of them use it with the same sign; sorted by the smallest size of a coefficient. A word
    enters a node when it uses it or a descendant. Words go together through a node that all of them enter and that no
    two use with opposite signs. They part where they no longer go together, though one of them enters and they do go
    together through the parent (a root has none): the first such places from the roots down, sorted by the widest gap.
    The numbers at a parting are the coefficients where signs clash, else what each word has in the branch, by size.
    """
    found = [word for word in words if word in model.vectors]
    codes = np.array([model.vectors[word] for word in found], dtype=np.float64).reshape(len(found), len(model.forest))
    shared, parting = (_shared(codes), _partings(model, found, codes)) if len(found) > 1 else ([], [])
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
    found: Neighbors = [] if unknown else model.vectors.analogy(a, b, c, topn=k)
    return {"unknown": unknown, "neighbors": _rounded(found)}


def near_words(model: Model, word: str) -> list[str]:
    """Return up to three words that are spelled much like one without a vector, or else share its beginning most."""
    if close := model.vectors.lookup.close(word):
        return close
    for length in range(min(len(word), 20), 0, -1):
        if found := complete(model, word[:length], k=3):
            return found
    return []


def strong_nodes(model: Model, word: str) -> list[int]:
    """Return the nodes that a word has most of, strongest first; of equal ones the deepest."""
    word = spelled(model, word)
    if word not in model.vectors:
        return []
    sizes = np.abs(model.vectors[word])
    order = np.lexsort((-model.forest.depth, -sizes))[:_LISTED]
    return [int(node) for node in order if sizes[node] > 0]


def node_values(model: Model, node: int) -> tuple[NDArray[np.int16], float]:
    """Return a node's coefficient for every word, (V,), as shares of the largest size, and that size."""
    model.vectors.check_node(node)
    shares, limit = quantised(model.vectors.dense[None, :, node].astype(np.float64))
    return shares[0], float(limit[0])


def quantised(rows: NDArray[np.float64]) -> tuple[NDArray[np.int16], NDArray[np.float64]]:
    """Return rows (n, m) as whole shares of 1/32767 of the largest size in each, and that size, 1 in a row of zeros.

    Rounding keeps signs and exact zeros: a coefficient that is not zero never becomes zero.
    """
    largest = np.abs(rows).max(axis=1, initial=0.0)
    limit = np.where(largest > 0, largest, 1.0)
    sizes = np.maximum(np.rint(np.abs(rows) / limit[:, None] * 32767), rows != 0)
    return (np.sign(rows) * sizes).astype("<i2"), limit


def _words(kind: str, rest: str, options: dict[str, str]) -> tuple[str, ...]:
    if kind in ("word", "across", "context", "moved"):
        return (unquote(rest),) if rest else tuple(filter(None, [options.get("w", "")]))
    words = tuple(unquote(part) for part in rest.split(",") if part)
    words = words if kind == "analogy" else tuple(dict.fromkeys(words))
    limit = {"compare": MAX_COMPARED, "analogy": 3}.get(kind, 0)
    if len(words) > limit:
        raise UnknownPageError(f"{len(words)} words came, but /{kind}/ takes at most {limit}. Leave some out.")
    return words


def _whole(text: str, what: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise UnknownPageError(f"{what} = {text!r}, but a whole number from 0 is needed.")
    return int(text)


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


def _partings(model: Model, words: Sequence[str], codes: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Return the nodes where the ways of words with codes (n, M) part, widest gap first."""
    parent, end = model.forest.parent, model.forest.end
    own = np.array([model.vectors.own_row(word) for word in words], dtype=np.float64)
    above = np.zeros((len(codes), 1))
    used = np.hstack([above, np.cumsum(codes != 0, axis=1)])
    enters = used[:, end] > used[:, :-1]  # (n, M)
    sizes = np.hstack([above, np.cumsum(np.abs(own), axis=1)])
    branch = np.where(enters, sizes[:, end] - sizes[:, :-1], 0.0)
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
