"""What the page knows of one model: vectors, forest, labels and notes of nodes, counts, dictionary, map. No web."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Sequence
from collections.abc import Collection as Words
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest import store
from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.explorer.documents import Collection, open_collection
from wordforest.explorer.maps import Points, forest_points, pca_points
from wordforest.explorer.slices import open_slices
from wordforest.reading import label_nodes
from wordforest.reading.labels import is_grammar
from wordforest.store import Run
from wordforest.vectors import NodeNote, Vectors, forest_of

MAX_MODELS = 4
_LABEL_WORDS = 5
_SPARSE = 0.3  # share of non-zeros below which a word has a place of its own amid the nodes
_COMMON = 50  # ranks of words that are everywhere
_LAST = "\U0010ffff"  # sorts after every character: the end of a prefix's words


@dataclass(frozen=True, eq=False)
class Model:
    """One model: vectors (V, M), a forest over its M nodes, labels per node, and what its run knows besides.

    ``counts`` (V,) and ``dictionary`` (V, M), whose rows are the words as contexts, are None where a file of vectors
    does not hold them. ``stop_words`` should name no node. ``notes`` are what was written about nodes, and ``folder``
    is that of the run, where more can be written. ``slices`` is a comparison of them, as the page has it.
    """

    name: str
    vectors: Vectors
    counts: NDArray[np.int64] | None = None
    dictionary: NDArray[np.float32] | None = None
    stop_words: Words[str] = ()
    documents: Collection | None = None
    slices: dict[str, Any] | None = None
    notes: dict[int, NodeNote] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The vocabulary, in row order."""
        return self.vectors.words

    @cached_property
    def forest(self) -> Forest:
        """The forest that was learned; else every dimension is a tree of one node."""
        return forest_of(self.vectors)

    @cached_property
    def titles(self) -> tuple[tuple[str, ...], ...]:
        """Words for each node; function words only where nothing else uses it."""
        unnamed = Vectors(self.words, self.vectors.matrix, forest=self.vectors.forest, nodes=self.vectors.nodes)
        return tuple(label_nodes(unnamed, k=_LABEL_WORDS, stop_words={*self.stop_words, *function_words(self)}))

    @property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The name that somebody gave to each node, else its words."""
        given = {node: (note.name,) for node, note in self.notes.items() if note.name}
        return tuple(given.get(node, words) for node, words in enumerate(self.titles))

    @property
    def fixed(self) -> str:
        """Why nothing can be written about nodes; empty where it can."""
        if self.folder is None:
            return "Names and remarks are kept in run folders, and these nodes are in none."
        return "" if os.access(self.folder, os.W_OK) else "The run folder cannot be written, so notes are not kept."

    @cached_property
    def used(self) -> NDArray[np.int64]:
        """The number of words whose coefficient is not exactly zero, (M,)."""
        return self.vectors.uses()

    @cached_property
    def spelling(self) -> tuple[list[str], NDArray[np.intp]]:
        """All words in lower case and sorted, and the row of each: what completion searches."""
        folded = [word.casefold() for word in self.words]
        order = sorted(range(len(folded)), key=folded.__getitem__)
        return [folded[row] for row in order], np.array(order, dtype=np.intp)

    @cached_property
    def points(self) -> Points:
        """Points of the words on the map, (V, 2); a few seconds for a large model.

        Amid the nodes where few of them are set; in a dense model every word is amid all of them, so by principal axes.
        """
        is_sparse = self.used.sum() < _SPARSE * len(self.words) * len(self.forest)
        return forest_points(self.vectors.dense, self.forest) if is_sparse else pca_points(self.vectors.unit)

    def warm(self) -> None:
        """Compute now what the first questions would wait for."""
        _ = self.vectors.unit, self.spelling, self.titles, self.used
        if self.documents is not None:
            self.documents.warm()


def open_models(
    names: Sequence[str],
    on_notice: Callable[[str], None] | None = None,
    *,
    stop_words: Words[str] = (),
    documents: Path | None = None,
    compare: Path | None = None,
) -> list[Model]:
    """Return the models of run folders or files of vectors; what a person should know goes to ``on_notice``.

    The folders of ``documents`` and of ``compare`` go with the first.
    """
    if not 1 <= len(names) <= MAX_MODELS:
        raise InputError(f"{len(names)} models came, but a page shows 1 to {MAX_MODELS} side by side. Give fewer.")
    short = [Path(name).resolve().name or name for name in names]
    titles = [name if short.count(title) > 1 else title for name, title in zip(names, short, strict=True)]
    sources = [
        store.load_run(Path(name)) if Path(name).is_dir() else store.read_vectors(name, on_notice=on_notice)
        for name in names
    ]
    models = [build_model(title, source) for title, source in zip(titles, sources, strict=True)]
    configs = [source.config if isinstance(source, Run) else {} for source in sources]
    folders = [  # notes of a folder have the numbers of the nodes that were learned
        Path(name) if isinstance(source, Run) and not config.get("edits") else None
        for name, source, config in zip(names, sources, configs, strict=True)
    ]
    models = [
        replace(model, stop_words=stop_words, folder=folder) for model, folder in zip(models, folders, strict=True)
    ]
    if documents is not None:
        learned = sources[0].learned if isinstance(sources[0], Run) else sources[0]
        found = open_collection(documents, learned, configs[0])
        models[0] = replace(models[0], documents=found)
        if found.folder.config.get("edits", []) != configs[0].get("edits", []):
            changed: Any = {"folder": None, "dictionary": None, "notes": dict(found.vectors.notes)}
            models[0] = replace(models[0], vectors=found.vectors, **changed)
    if compare is not None:
        models[0] = replace(models[0], slices=open_slices(compare, models[0].forest))
    return models


def build_model(name: str, source: Run | Vectors) -> Model:
    """Return a model for the page from a run, or from vectors that came without one."""
    vectors = source.vectors if isinstance(source, Run) else source
    if not len(vectors) or not vectors.n_dimensions:
        raise InputError(f"{name}: {len(vectors)} words of {vectors.n_dimensions} dimensions leave nothing to show.")
    if not isinstance(source, Run):
        return Model(name, vectors, notes=dict(vectors.notes))
    D = None if source.config.get("edits") else source.dictionary
    D = D[: len(vectors)] if D is not None and len(D) - len(source.ngrams) == len(vectors) else None
    return Model(name, vectors, source.counts, D, notes=dict(vectors.notes))


def function_words(model: Model) -> list[str]:
    """Return words of English grammar, or, where these are not what a run has most of, its most frequent words."""
    first = model.words[: min(_COMMON, len(model.words) // 200)]
    if model.counts is None or 4 * sum(map(is_grammar, first)) >= len(first):
        return [word for word in model.words if is_grammar(word)]
    return [*first]


def write_note(model: Model, node: int, note: NodeNote) -> None:
    """Keep what was written about a node, in the folder of the run and here."""
    model.vectors.check_node(node)
    if model.folder is None or model.fixed:
        raise InputError(model.fixed)
    notes = store.save_note(model.folder, node, note)
    model.notes.clear()
    model.notes.update(notes)


def complete(model: Model, prefix: str, k: int = 10) -> list[str]:
    """Return up to k words that begin with a prefix, in any case: an exact match first, then in row order.

    Rows of a run stand from frequent to rare, so frequent words come first.
    """
    folded = prefix.casefold().strip()
    if not folded:
        return []
    known, rows = model.spelling
    found = rows[bisect_left(known, folded) : bisect_left(known, folded + _LAST)]
    if len(found) > k:
        found = np.partition(found, k - 1)[:k]
    words = [model.words[row] for row in np.sort(found)]
    spellings = [word for word in (prefix.strip(), spelled(model, prefix)) if word in model.vectors.key_to_index]
    exact = [word for word in spellings if word.casefold() == folded]
    return [*dict.fromkeys([*exact, *words])][:k]


def spelled(model: Model, word: str) -> str:
    """Return a word as the model spells it, in whatever case it came; itself where the model has none like it."""
    row = model.vectors.lookup.find(word)
    if row is not None:
        return model.words[row]
    folded = word.casefold().strip()
    known, rows = model.spelling
    found = rows[bisect_left(known, folded) : bisect_left(known, folded + "\0")]
    return model.words[found.min()] if len(found) else word


def summary(model: Model) -> dict[str, Any]:
    """Return what every view of a model needs: name, sizes, forest, label and number of words of every node."""
    depth = model.forest.depth
    levels = [model.used[depth == d] for d in range(int(depth.max()) + 1)]
    return {
        "name": model.name,
        "words": len(model.words),
        "drawn": len(model.forest.roots) < len(model.forest),  # else there is no tree to draw
        "contexts": model.dictionary is not None,
        "parent": model.forest.parent.tolist(),
        "additive": model.vectors.own is not model.vectors.matrix,
        "labels": [list(label) for label in model.labels],
        "notes": {node: [*note, list(model.titles[node])] for node, note in sorted(model.notes.items())},
        "fixed": model.fixed,
        "used": model.used.tolist(),
        "stability": _rounded(model.vectors.nodes.get("stability")),
        "weights": _rounded(model.vectors.weights),  # of nodes in cosines
        "documents": model.documents.summary() if model.documents is not None else None,
        "slices": model.slices,
        "depths": [
            {"nodes": len(used), "unused": int((used == 0).sum()), "share": float(used.mean() / len(model.words))}
            for used in levels
        ],
    }


def _rounded(values: NDArray[np.float64] | None) -> list[float] | None:
    return None if values is None else [round(float(value), 5) for value in values]
