"""What a plug is given: a run, vectors, or the path of either."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordforest import store
from wordforest.documents.shares import DocumentShares
from wordforest.errors import InputError
from wordforest.reading.columns import branch_shares
from wordforest.store import Run
from wordforest.store.formats import run_of
from wordforest.text import NUMBER, TextRules
from wordforest.vectors import CSR, Vectors, forest_of

Model: TypeAlias = "Run | Vectors | str | os.PathLike[str]"


class Source(NamedTuple):
    """Vectors, how often each word occurs (V,) if that is known, and the settings of their run."""

    vectors: Vectors
    counts: NDArray[np.int64] | None
    config: Mapping[str, Any]

    @property
    def rules(self) -> TextRules:
        """How text becomes words; without a run, as the words themselves look."""
        if "lowercase" in self.config:
            return TextRules.of(self.config)
        return TextRules(lowercase=self.vectors.lookup.is_lowercase, numbers=NUMBER in self.vectors)


def loaded(model: Model) -> Run | Vectors:
    """Return the run of a folder, the vectors of a file, or what was given."""
    if isinstance(model, Run | Vectors):
        return model
    if not isinstance(model, str | os.PathLike):
        raise InputError(f"expected a run, vectors, or the path of either, but {type(model).__name__} came.")
    return store.load_run(Path(model)) if Path(model).is_dir() else store.read_vectors(model)


def open_source(model: Model) -> Source:
    """Return what is known of a model."""
    found = loaded(model)
    if isinstance(found, Vectors):
        return Source(found, None, {})
    return Source(found.vectors, found.counts if found.counts.any() else None, found.config)


def as_run(model: Model) -> Run:
    """Return a model as a run."""
    found = loaded(model)
    return run_of(found) if isinstance(found, Vectors) else found


def node_labels(vectors: Vectors) -> list[str]:
    """Return what every node is called."""
    return [" ".join(label) for label in vectors.labels]


def placed_words(vectors: Vectors) -> DocumentShares:
    """Return words on the forest, as documents are."""
    return DocumentShares(vectors.words, word_shares(vectors), forest_of(vectors), node_labels(vectors))


def word_shares(vectors: Vectors) -> CSR:
    """Return which share of every word lies in each node and all below it, (V, M)."""
    return branch_shares(vectors, np.arange(len(vectors)))
