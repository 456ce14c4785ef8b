"""A comparison of slices on the page: shares of nodes, words that changed their company, words that came and went."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.store import load_comparison

_SIDES = ("before", "after")


def open_slices(folder: str | Path, forest: Forest) -> dict[str, Any]:
    """Return what the page shows of a folder that `compare` wrote: plain data, slices and nodes by their numbers.

    ``share``, ``low`` and ``high`` have a list for every node, with a number for every slice. ``changes`` have, for
    every node, rows of a slice and the shares before it and from it on; ``vocabulary`` has rows of a word, a slice,
    a kind (came, went, more, less) and how often the word is used before and after, per million words.
    """
    found = load_comparison(folder)
    names = [str(name) for name in found["slices"]]
    number = {name: i for i, name in enumerate(names)}
    nodes, changes, told = found["nodes"], found["changes"], found["vocabulary"]
    M, S = len(forest), len(names)
    own = [np.repeat(column, S).tolist() for column in (np.arange(M), forest.parent)]
    if [nodes["node"], nodes["parent"]] != own:
        raise InputError(
            f"{folder}: its forest of {len({*nodes['node']})} nodes is not that of these vectors ({M} nodes). "
            "Name the run that was compared first, and no documents whose nodes were merged or hidden."
        )
    by_node: list[list[Any]] = [[] for _ in range(M)]
    for node, name, *shares in zip(*(changes[one] for one in ("node", "slice", *_SIDES)), strict=True):
        by_node[node].append([number[str(name)], *map(_short, shares)])
    words = zip(*(told[one] for one in ("word", "slice", "kind", *_SIDES)), strict=True)
    return {
        "names": names,
        "is_time": found["is_time"],
        "documents": found.get("documents"),
        "tested": found.get("n_tested"),
        **{name: _table(nodes[name], S) for name in ("share", "low", "high")},
        "changes": by_node,
        "moved": _moved(found["words"], nodes),
        "vocabulary": [[word, number[str(name)], kind, *map(_short, counts)] for word, name, kind, *counts in words],
    }


def _moved(words: dict[str, list[Any]], nodes: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """Return the words that changed their company, in their order; what there is before and after comes in pairs."""
    labelled = dict(zip(reversed(nodes["label"]), reversed(nodes["node"]), strict=True))  # of equal ones the first
    rows = [dict(zip(words, row, strict=True)) for row in zip(*words.values(), strict=True)]
    return [
        {
            **{name: row[name] for name in ("word", "moved", "frequency")},
            **{name: _short(row[name]) for name in ("effect", "p")},
            **{name: [labelled[label] for label in row[name] if label in labelled] for name in ("gained", "lost")},
            "slices": [row[side] for side in _SIDES],
            **{
                name: [row[f"{one}_{side}"] for side in _SIDES]
                for name, one in (
                    ("counts", "count"),
                    ("nodes", "node"),
                    ("contexts", "contexts"),
                    ("examples", "example"),
                )
            },
        }
        for row in rows
    ]


def _table(column: list[Any], n_slices: int) -> list[list[float | None]]:
    return [[*map(_short, column[i : i + n_slices])] for i in range(0, len(column), n_slices)]


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
