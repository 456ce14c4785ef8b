"""Tables: codes and nodes as frames of pandas or Polars, and codes as Parquet that SQL can ask."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from wordforest.documents.tables import Library, as_frame
from wordforest.errors import InputError
from wordforest.interop.source import Model, Source, node_labels, open_source, word_shares
from wordforest.reading import feature_names
from wordforest.store import write_table
from wordforest.vectors import forest_of

Kind = Literal["codes", "nodes"]


def to_frame(model: Model, kind: Kind = "codes", *, library: Library = "pandas") -> Any:
    """Return a table as a frame of pandas or Polars.

    ``codes`` has a row for every value that is not zero: word, node, label, value and more; ``nodes`` a row for every
    node, with its label and its place in the forest. A row for every word has ``Vectors.to_frame``.

    Examples:
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1], [2, 0]], forest=wf.Forest([-1, 0]))
        >>> wf.interop.to_frame(vectors)[["word", "node", "value"]]  # needs: pandas
             word  node  value
        0   sport     0    4.0
        1   sport     1    1.0
        2  tennis     0    2.0
    """
    makers = {"codes": _codes, "nodes": _nodes}
    if kind not in makers:
        raise InputError(f"kind = {kind!r}, but it must be one of {', '.join(makers)}.")
    return as_frame(makers[kind](open_source(model)), library)


def write_codes(model: Model, path: str | Path) -> None:
    """Write the codes as a long table, .parquet or .csv: a row for every value that is not zero.

    Examples:
        >>> from pathlib import Path
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1], [2, 0]], forest=wf.Forest([-1, 0]))
        >>> wf.interop.write_codes(vectors, "codes.csv")
        >>> Path("codes.csv").read_text().splitlines()[:2]
        ['word,node,parent,depth,label,value,share', 'sport,0,-1,0,sport tennis,4,1']
    """
    write_table(path, _codes(open_source(model)))


def _codes(source: Source) -> dict[str, Any]:
    vectors = source.vectors
    codes = sparse.csr_array(vectors.matrix)
    forest = forest_of(vectors)
    row = np.repeat(np.arange(len(vectors)), np.diff(codes.indptr))
    shares: Any = word_shares(vectors)
    table: dict[str, Any] = {"word": np.array(vectors.words, dtype=object)[row]}
    if source.counts is not None:
        table["count"] = source.counts[row]
    node = codes.indices.astype(np.int32)
    return table | {
        "node": node,
        "parent": forest.parent[node].astype(np.int32),
        "depth": forest.depth[node].astype(np.int32),
        "label": np.array(node_labels(vectors), dtype=object)[node],
        "value": codes.data,
        "share": np.asarray(shares[row, node], dtype=np.float32),
    }


def _nodes(source: Source) -> dict[str, Any]:
    vectors = source.vectors
    forest = forest_of(vectors)
    return {
        "node": np.arange(len(forest)),
        "parent": forest.parent,
        "depth": forest.depth,
        "name": feature_names(vectors, labels=vectors.labels),
        "label": node_labels(vectors),
        "words": vectors.uses(),
        **vectors.nodes,
    }
