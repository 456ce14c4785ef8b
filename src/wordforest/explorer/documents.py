"""Documents on the page: those of a node, one with its text, words in context, groups and times. Plain data, no web.

Any document is read when it is asked for. What has to go through texts, as words in context do, goes through a sample
of them where they are many, and says so.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.documents.concordance import Sort, concordance
from wordforest.errors import InputError
from wordforest.reading.columns import branch_shares
from wordforest.reading.labels import is_grammar, node_words
from wordforest.store import DocumentsFolder, load_documents
from wordforest.text import TextRules
from wordforest.text.places import WordFinder
from wordforest.vectors import Vectors, forest_of, is_marker, largest
from wordforest.vectors.edits import as_edited

LISTED = 20  # documents of a page
KEPT = 300  # documents of a page that is sent as a file
_LINES = 100  # words in context
_SAYING = 20  # words of a node that are shown in context
_STRONGEST = 200  # documents of a node in which its words are looked for
_CARRIES = 0.3  # share of a word that lies in a node, from which on it is marked there
_COMMON = 50  # ranks of words that are everywhere
_SEARCHED = 32 << 20  # characters of texts that are gone through
_LONGEST = 100_000  # characters of a text that are shown
_LONG = 4000  # the same in a list
_OFFERED = 5  # documents that the search offers
_ROUNDS = 3  # documents of each node that a file keeps, if there is room
_HEAD = 90  # characters of a text that stand for it


@dataclass(frozen=True, eq=False)
class Collection:
    """The documents of a folder, with the words and the forest by which they were read."""

    folder: DocumentsFolder
    vectors: Vectors
    rules: TextRules

    def __post_init__(self) -> None:
        forest = forest_of(self.vectors)
        parent = self.folder.nodes.get("parent", forest.parent.tolist())
        if self.folder.shares.shape[1] != len(forest) or parent != forest.parent.tolist():
            raise InputError(
                f"{self.folder.folder}: its forest of {self.folder.shares.shape[1]} nodes is not that of these vectors "
                f"({len(forest)} nodes). Name the run that the documents were read with first."
            )

    def __len__(self) -> int:
        return len(self.folder.ids)

    @cached_property
    def sample(self) -> dict[int, str]:
        """The texts of all documents by their numbers, or of many those of some frames taken at random."""
        first = self.folder.frames[:, 1].tolist()
        found: dict[int, str] = {}
        size = 0
        for frame in np.random.default_rng(0).permutation(max(len(first) - 1, 0)).tolist():
            rows = range(first[frame], first[frame + 1])
            texts = self._texts(rows)
            found |= zip(rows, texts, strict=True)
            size += sum(map(len, texts))
            if size > _SEARCHED:
                break
        return dict(sorted(found.items()))

    @cached_property
    def _finder(self) -> WordFinder:
        return WordFinder(self.vectors.words, self.rules)

    @cached_property
    def _is_word(self) -> NDArray[np.bool_]:
        return np.array([*(not is_marker(word) for word in self.vectors.words), False])  # -1, unknown, comes last

    @cached_property
    def _lock(self) -> threading.Lock:
        return threading.Lock()

    @cached_property
    def _columns(self) -> Any:
        return sparse.csc_array(self.folder.shares)

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {name: row for row, name in reversed([*enumerate(self.folder.ids)])}  # of equal ids the first

    def warm(self) -> None:
        """Compute now what the first questions would wait for."""
        _ = (
            self._lock,
            self._finder,
            self._is_word,
            self._columns,
            self._rows,
            self.sample,
            self._by_node,
            self.folder.paths,
        )

    def summary(self) -> dict[str, Any]:
        """Return what every page needs to know: how many there are, and how many are searched."""
        return {"n": len(self), "searched": len(self.sample), "share": self.folder.nodes.get("share")}

    def check_row(self, row: int) -> None:
        """Refuse a document that there is not."""
        if not 0 <= row < len(self):
            raise InputError(f"document {row} does not exist: there are {len(self)}, numbered from 0.")

    def typical(self, node: int) -> list[int]:
        """Return the documents that the folder names as typical of a node."""
        names = self.folder.nodes["typical"][node] if "typical" in self.folder.nodes else None
        return [self._rows[name] for name in names or () if name in self._rows]

    def ranked(self, node: int, k: int) -> NDArray[np.intp]:
        """Return the first k documents of a node: its typical ones, then by their share."""
        part = slice(*self._columns.indptr[node : node + 2])
        rows, shares = self._columns.indices[part], self._columns.data[part]
        typical = self.typical(node)
        others = rows[largest(shares, k + len(typical))]
        return np.concatenate((np.array(typical, np.intp), others[~np.isin(others, typical)].astype(np.intp)))[:k]

    def of_node(self, node: int | None, start: int = 0, k: int = LISTED) -> dict[str, Any]:
        """Return k documents of a node from a place on, typical ones first; of no node all of them in their order."""
        rows = np.arange(len(self)) if node is None else self.ranked(node, start + k)
        total = len(self) if node is None else int(np.diff(self._columns.indptr)[node])
        shown = self.shown(rows[start : start + k].tolist(), _LONG)
        return {"node": node, "start": start, "total": total, "documents": shown}

    def shown(self, rows: Sequence[int], longest: int = _LONGEST) -> list[dict[str, Any]]:
        """Return documents as the page shows them: fields, shares, main path, and the text cut at its words.

        ``pieces`` are what stands between known words, a word, what stands between, and so on. ``tokens`` number, for
        every such word, the ``words``: each with the nodes that have a good part of it, that with most first.
        """
        records = self.folder.texts(rows) if len(self.folder.frames) else [{} for _ in rows]
        texts = [str(record.get("text", "")) for record in records]
        cut = [text[:longest] for text in texts]
        with self._lock:
            places = self._finder.find(cut)
        borders = np.searchsorted(places.text, np.arange(len(rows) + 1))
        known = self._is_word[places.row]
        carried = self._carried(np.unique(places.row[known]))
        found = []
        for i, row in enumerate(rows):
            here = np.arange(borders[i], borders[i + 1])[known[borders[i] : borders[i + 1]]]
            spans = zip(places.start[here].tolist(), places.end[here].tolist(), strict=True)
            used, tokens = np.unique(places.row[here], return_inverse=True)
            found.append(
                {
                    **{"row": row, "id": self.folder.ids[row], "fields": _fields(records[i]), "length": len(texts[i])},
                    **{"pieces": _pieces(cut[i], spans), "tokens": tokens.tolist()},
                    "words": [[self.vectors.words[word], carried[word]] for word in used.tolist()],
                    **self.path(row),
                }
            )
        return found

    def path(self, row: int) -> dict[str, Any]:
        """Return the shares of a document, and its main path: the nodes from a root down."""
        part = slice(*self.folder.shares.indptr[row : row + 2])
        path = [node for node in self.folder.paths[row].tolist() if node >= 0] if self.folder.paths.size else []
        values = [float(f"{share:.4g}") for share in self.folder.shares.data[part]]
        return {"nodes": self.folder.shares.indices[part].tolist(), "values": values, "path": path}

    def context(self, query: str | int, sort: Sort = "document") -> dict[str, Any]:
        """Return lines of a word, or of the words of a node, from the documents that are searched.

        By ``strength``, those of a node are from the documents that have most of it.
        """
        order: Sort = "document" if sort == "strength" else sort
        rows, texts = [*self.sample], [*self.sample.values()]
        if sort == "strength" and isinstance(query, int):
            rows = self.ranked(query, _STRONGEST).tolist()
            texts = self._texts(rows)
        shown: dict[str, Any] = {"k": _LINES, "width": 90, "words": _SAYING}
        found = concordance(texts, self.vectors, query, rules=self.rules, sort=order, seed=0, **shown)
        lines = [[row := rows[one.row], self.folder.ids[row], one.left, one.keyword, one.right] for one in found.lines]
        return {
            **{"query": query, "sort": sort, "words": list(found.words), "lines": lines, "found": found.n_found},
            **{"with": found.n_with, "searched": found.n_documents, "total": len(self)},
        }

    def _texts(self, rows: Sequence[int]) -> list[str]:
        return [str(record["text"]) for record in self.folder.texts(rows)] if len(self.folder.frames) else []

    def offers(self, text: str) -> list[dict[str, Any]]:
        """Return a few documents: that whose id is a text, and those whose id or beginning has it in it."""
        wanted = text.casefold().strip()
        if not wanted:
            return []
        named = ((row, name) for row, name in enumerate(self.folder.ids) if wanted in name.casefold())
        exact = [(self._rows[text.strip()], text.strip())] if text.strip() in self._rows else []
        begun = ((row, self.folder.ids[row]) for row, text in self.sample.items() if wanted in text[:_HEAD].casefold())
        found: dict[int, str] = {}
        for row, name in (*exact, *_first(named, _OFFERED), *_first(begun, _OFFERED)):
            found.setdefault(row, name)
        return [{"row": row, "id": name, "head": self._head(row)} for row, name in [*found.items()][:_OFFERED]]

    def _head(self, row: int) -> str:
        return " ".join(str(self.folder.texts([row])[0]["text"][:_HEAD]).split()) if len(self.folder.frames) else ""

    def changes(self, node: int) -> dict[str, Any]:
        """Return shares of a node over time and by group, each a row [name, share, low, high]; none where not asked."""
        times, groups = self._by_node
        return {"times": times.get(node, []), "groups": groups.get(node, [])}

    @cached_property
    def _by_node(self) -> tuple[dict[int, list[Any]], dict[int, list[Any]]]:
        return _grouped(self.folder.over_time, "time"), _grouped(self.folder.by_group, "group")

    def _carried(self, rows: NDArray[np.int32]) -> dict[int, list[int]]:
        """Return the nodes that have a good part of a word, that with most first, of several words.

        The most frequent words and those of grammar belong to all documents, so they are not marked.
        """
        common = min(_COMMON, len(self.vectors) // 200)
        shares = branch_shares(self.vectors, rows)
        found = {}
        for i, row in enumerate(rows.tolist()):
            part = slice(*shares.indptr[i : i + 2])
            nodes, within = shares.indices[part], shares.data[part]
            if row < common or is_grammar(self.vectors.words[row]):
                within = within[:0]
            found[row] = nodes[largest(within, len(within))][: int((within >= _CARRIES).sum())].tolist()
        return found


def open_collection(folder: str | Path, learned: Vectors, config: dict[str, Any]) -> Collection:
    """Return the documents of a folder that were read with a run of these vectors, as learned, and settings.

    Where nodes of the folder were merged or hidden, they are in its vectors as well.
    """
    found = load_documents(folder)
    return Collection(found, as_edited(learned, config, found.config.get("edits", [])), TextRules.of(config))


def kept_rows(collection: Collection, most: int = KEPT) -> list[int]:
    """Return the documents that a page sent as a file keeps: the first typical of every node, then the second ...

    Where there is room for more, any of the sample, in the order of chance.
    """
    forest = forest_of(collection.vectors)
    by_depth = np.argsort(forest.depth, kind="stable").tolist()
    ranked = {node: collection.ranked(node, _ROUNDS).tolist() for node in by_depth}
    rounds = (row for i in range(_ROUNDS) for node in by_depth for row in ranked[node][i : i + 1])
    random = np.random.default_rng(0).permutation([*collection.sample]).tolist()
    return sorted([*dict.fromkeys([*rounds, *random])][:most])


def collection_data(collection: Collection, most: int = KEPT) -> dict[str, Any]:
    """Return what a page sent as a file holds of the documents: some of them, and all groups and times.

    Words that documents share stand in it once: those of a document are numbers of ``words``. Of every node it holds
    the words that say most of it, which are those to show in context.
    """
    nodes, kept = range(collection.folder.shares.shape[1]), kept_rows(collection, most)
    documents = collection.shown(kept, _LONGEST // 10)
    words = {word: carriers for document in documents for word, carriers in document["words"]}
    number = {word: i for i, word in enumerate(words)}
    for document in documents:
        document["words"] = [number[word] for word, _ in document["words"]]
    return {
        "documents": documents,
        "words": [list(pair) for pair in words.items()],
        "says": [[word for word, _ in node_words(collection.vectors, node, _SAYING)] for node in nodes],
        "changes": [collection.changes(node) for node in nodes],
        "typical": [[row for row in collection.typical(node) if row in kept] for node in nodes],
    }


def _fields(record: dict[str, Any]) -> dict[str, str]:
    """Return what a document has besides id and text, as text that is not too long."""
    other = ((name, value) for name, value in record.items() if name not in ("id", "text") and value not in (None, ""))
    return {str(name): str(value)[:500] for name, value in other}


def _pieces(text: str, spans: Iterable[tuple[int, int]]) -> list[str]:
    pieces, last = [], 0
    for start, end in spans:
        pieces += [text[last:start], text[start:end]]
        last = end
    return [*pieces, text[last:]]


def _first(items: Iterable[Any], k: int) -> list[Any]:
    return [item for item, _ in zip(items, range(k), strict=False)]


def _grouped(table: dict[str, list[Any]], name: str) -> dict[int, list[Any]]:
    found: dict[int, list[Any]] = {}
    columns = (table.get(column, []) for column in ("node", name, "share", "low", "high"))
    for node, label, *numbers in zip(*columns, strict=True):
        found.setdefault(node, []).append([label, *(None if x is None else float(f"{x:.4g}") for x in numbers)])
    return found
