"""Embedding Atlas: a Parquet table of words, or of documents, on a map, with the levels of the forest."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wordforest import store
from wordforest.coder.forest import Forest
from wordforest.coder.starts import unit_rows
from wordforest.documents.shares import DocumentShares
from wordforest.errors import InputError
from wordforest.explorer.maps import Points, forest_points
from wordforest.explorer.model import build_model
from wordforest.interop.source import Model, loaded, open_source, placed_words
from wordforest.store import DocumentsFolder
from wordforest.store.files import replace_pair
from wordforest.store.formats.arrays import pyarrow_library
from wordforest.vectors import Dense

_NEIGHBORS = 10
_BLOCK = 1 << 10  # rows whose cosines with all others are looked at together
_MOST = 50_000  # rows whose neighbours are looked for: that takes the square of their number
_END = "(ends above)"  # the label of a level that a path does not reach


class _Map(NamedTuple):
    """Words or documents on a plane: their columns, rows of length one (n, K), points (n, 2), and shares of nodes."""

    columns: dict[str, Any]
    unit: Dense
    points: Points
    placed: DocumentShares


def write_atlas(model: Model | DocumentsFolder, path: str | Path) -> Path:
    """Write a table for ``embedding-atlas``, words of a model or texts of a documents folder; return that of labels.

    Columns: ``text``, ``x`` and ``y`` on the map of the page, ``level0``, ``level1``, ... the labels of the main path,
    ``count`` if known, and for up to 50,000 rows ``neighbors``. The labels stand beside it, in ``NAME.labels.parquet``.

    Examples:
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1], [2, 3]], forest=wf.Forest([-1, 0]))
        >>> wf.interop.write_atlas(vectors, "words.parquet").name  # needs: pyarrow
        'words.labels.parquet'
    """
    pa, pq = pyarrow_library()
    table = Path(path)
    if table.suffix != ".parquet":
        raise InputError(f"{table}: expected a name in .parquet, the only tables with neighbours. Rename it.")
    labels = table.with_suffix(".labels.parquet")
    drawn = _of_documents(model) if _holds_documents(model) else _of_words(model)
    main = drawn.placed.main_path()  # (n, depths)
    named = np.array([*drawn.placed.labels, _END], dtype=object)
    columns = {**drawn.columns, "x": drawn.points[:, 0], "y": drawn.points[:, 1]}
    columns |= {f"level{depth}": named[nodes] for depth, nodes in enumerate(main.T)}
    if 1 < len(main) <= _MOST:
        columns["neighbors"] = _neighbors(drawn.unit)
    with replace_pair(table, labels) as (first, second):
        pq.write_table(pa.table(columns), str(first))
        pq.write_table(pa.table(_labels(drawn)), str(second))
    return labels


def _holds_documents(model: Any) -> bool:
    is_path = isinstance(model, str | Path)
    return isinstance(model, DocumentsFolder) or (is_path and store.is_documents_folder(Path(model)))


def _of_words(model: Any) -> _Map:
    model = loaded(model)
    vectors, counts, _ = open_source(model)
    columns = {"text": [*vectors.words]} | ({} if counts is None else {"count": counts})
    return _Map(columns, vectors.unit, build_model("words", model).points, placed_words(vectors))


def _of_documents(model: Any) -> _Map:
    folder = model if isinstance(model, DocumentsFolder) else store.load_documents(model)
    texts = [*store.read_texts(folder.folder)] if len(folder.frames) else [{"text": name} for name in folder.ids]
    columns = {
        name: [text.get(name) for text in texts] for name in dict.fromkeys(name for one in texts for name in one)
    }
    forest, shares = Forest(folder.config["forest"]), folder.shares.toarray()
    placed = DocumentShares(folder.ids, folder.shares, forest, folder.nodes["label"])
    return _Map(columns, unit_rows(shares), forest_points(shares, forest), placed)


def _neighbors(unit: Dense) -> list[dict[str, Any]]:
    """Return the nearest rows of every row by cosine, itself left out, as the tool takes them."""
    k = min(_NEIGHBORS, len(unit) - 1)
    found: list[dict[str, Any]] = []
    for first in range(0, len(unit), _BLOCK):
        cosines = unit[first : first + _BLOCK] @ unit.T  # (b, n)
        rows = np.arange(len(cosines))
        cosines[rows, first + rows] = -np.inf
        ids = np.argpartition(-cosines, k - 1, axis=1)[:, :k]
        near = np.take_along_axis(cosines, ids, axis=1)
        order = np.argsort(-near, axis=1, kind="stable")
        ids, near = np.take_along_axis(ids, order, axis=1), np.take_along_axis(near, order, axis=1)
        pairs = zip(ids.tolist(), np.clip(1 - near, 0, None).tolist(), strict=True)
        found += [{"ids": own, "distances": distances} for own, distances in pairs]
    return found


def _labels(drawn: _Map) -> dict[str, Any]:
    """Return a label for every node, amid the rows whose main path goes through it; the more rows, the sooner shown."""
    main, placed = drawn.placed.main_path(), drawn.placed
    node = main.ravel()
    x, y = (
        np.bincount(node + 1, np.repeat(axis, main.shape[1]), len(placed.forest) + 1)[1:] for axis in drawn.points.T
    )
    n = np.bincount(node + 1, minlength=len(placed.forest) + 1)[1:]
    used = np.flatnonzero(n)
    return {
        "x": x[used] / n[used],
        "y": y[used] / n[used],
        "text": [placed.labels[i] for i in used.tolist()],
        "level": placed.forest.depth[used],
        "priority": n[used],
    }
