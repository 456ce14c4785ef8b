"""Tables as people who come from BERTopic expect them: columns by name, for a file or for a data frame of pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from wordforest.documents.groups import GroupShares
from wordforest.documents.shares import DocumentShares
from wordforest.errors import InputError, MissingExtraError

Table: TypeAlias = dict[str, list[Any]]
Library = Literal["pandas", "polars"]

_TYPICAL = 3  # documents named with a node


def topic_info(documents: DocumentShares) -> Table:
    """Return a row for every node: its place, its share of all documents, and how many have it on their main path."""
    forest, path = documents.forest, documents.main_path()
    M, shares = len(forest), documents.shares
    stability = [None] * M if documents.stability is None else np.asarray(documents.stability, dtype=float).tolist()
    return {
        "node": list(range(M)),
        "parent": forest.parent.tolist(),
        "depth": forest.depth.tolist(),
        "label": [*documents.labels],
        "share": (np.bincount(shares.indices, shares.data, minlength=M) / (shares.shape[0] or np.nan)).tolist(),
        "documents": np.bincount(path[path >= 0], minlength=M).tolist(),
        "stability": stability,
        "typical": [[documents.ids[row] for row in documents.typical(node, _TYPICAL)] for node in range(M)],
    }


def document_info(documents: DocumentShares) -> Table:
    """Return a row for every document: the node of its main path at each depth, -1 below its end, and the shares."""
    from scipy.sparse import csr_array

    shares, path = documents.shares, documents.main_path()  # (n, M), (n, depths)
    table: Table = {"document": [*documents.ids]}
    table |= {f"depth{d}": path[:, d].tolist() for d in range(path.shape[1])}
    for d in range(path.shape[1]):
        rows = np.flatnonzero(path[:, d] >= 0)
        own = csr_array((np.ones(len(rows)), (rows, path[rows, d])), shape=shares.shape)
        table[f"share{d}"] = own.multiply(shares).sum(axis=1).tolist()
    return table


def topics_over_time(found: GroupShares, labels: Sequence[str]) -> Table:
    """Return a row for every node and bin of time, those without documents included."""
    return _cells(found, labels, "time", ("share", "low", "high"))


def topics_per_class(found: GroupShares, labels: Sequence[str]) -> Table:
    """Return a row for every node and group; ``difference`` is from the share in all other groups."""
    return _cells(found, labels, "group", ("share", "low", "high", "difference", "p", "q"))


def _cells(found: GroupShares, labels: Sequence[str], by: str, columns: Sequence[str]) -> Table:
    G, M = found.share.shape
    table: Table = {
        "node": np.repeat(np.arange(M), G).tolist(),
        "label": [label for label in labels for _ in range(G)],
        by: found.groups * M,
    }
    table |= {name: getattr(found, name).T.ravel().tolist() for name in columns}
    return table | {"documents": found.documents.tolist() * M}


def as_frame(table: Mapping[str, Any], library: Library = "pandas") -> Any:
    """Return a table as a DataFrame of pandas or Polars."""
    if library not in get_args(Library):
        raise InputError(f"library = {library!r}, but it must be one of {', '.join(get_args(Library))}.")
    try:
        frames = import_module(library)
    except ImportError as error:
        raise MissingExtraError(f"a data frame of {library}", {"pandas": "frames"}.get(library, library)) from error
    columns = {name: column if isinstance(column, np.ndarray) else [*column] for name, column in table.items()}
    return frames.DataFrame(columns)
