"""Results for a person at a terminal, or as JSON for a program: neighbours, scores, the forest."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from wordforest.coder.forest import Forest
from wordforest.evaluation import Score, as_lines, as_table
from wordforest.vectors import Neighbors, Vectors

_NEVER_CUT = 10_000  # columns where nobody looks: a file or a pipe gets whole lines


def show_neighbors(title: str, found: Neighbors, *, as_json: bool = False) -> None:
    """Print words and their cosines."""
    if as_json:
        _print_json({"query": title, "neighbors": [{"word": word, "cosine": cosine} for word, cosine in found]})
        return
    console = _console()
    console.print(Text(title, style="bold"))
    width = max((len(word) for word, _ in found), default=0)
    for word, cosine in found:
        console.print(Text(f"  {word:<{width}}  {cosine:.3f}"))


def show_scores(title: str, scores: list[Score], *, as_json: bool = False) -> None:
    """Print scores as a table on a terminal and as lines elsewhere."""
    if as_json:
        for score in scores:
            _print_json({"vectors": title, **{k: _null_if_nan(value) for k, value in asdict(score).items()}})
        return
    console = _console()
    console.print(Text(title, style="bold"))
    if console.is_terminal:
        console.print(as_table(scores))
    else:
        for line in as_lines(scores):
            console.print(Text(line))


def show_forest(title: str, vectors: Vectors, k: int, *, as_json: bool = False) -> None:
    """Print size, sparsity by depth, and each node's strongest words: positive, then negative ones."""
    if as_json:
        _print_json(_forest_as_object(vectors, k))
        return
    console = _console()
    console.print(Text(f"{title}: {len(vectors)} words, {vectors.n_dimensions} dimensions", style="bold"))
    by_depth = ", ".join(f"depth {d}: {share:.1%}" for d, share in enumerate(vectors.density_by_depth()))
    console.print(Text(f"non-zero: {vectors.density():.1%} ({by_depth})"))
    forest = vectors.forest or Forest.flat(vectors.n_dimensions)
    branches: dict[int, Tree] = {}
    for node, parent in enumerate(forest.parent.tolist()):
        label = _label(vectors, node, k)
        branches[node] = branches[parent].add(label) if parent >= 0 else Tree(label)
    for root in forest.roots:
        console.print(branches[int(root)])


def show_lines(lines: list[str]) -> None:
    """Print plain lines."""
    for line in lines:
        _console().print(Text(line))


def _label(vectors: Vectors, node: int, k: int) -> Text:
    positive, negative = vectors.top_words(node, k)
    label = Text(f"{node} ", style="dim")
    label.append(" ".join(word for word, _ in positive), style="blue")
    label.append(" | ", style="dim")
    label.append(" ".join(word for word, _ in negative), style="red")
    return label


def _forest_as_object(vectors: Vectors, k: int) -> dict[str, Any]:
    forest = vectors.forest or Forest.flat(vectors.n_dimensions)
    tops = [vectors.top_words(node, k) for node in range(len(forest))]
    nodes = [
        {"node": node, "parent": int(parent), "positive": positive, "negative": negative}
        for node, (parent, (positive, negative)) in enumerate(zip(forest.parent, tops, strict=True))
    ]
    return {
        "words": len(vectors), "dimensions": vectors.n_dimensions, "density": vectors.density(),
        "density_by_depth": vectors.density_by_depth(), "nodes": nodes,
    }  # fmt: skip


def _console() -> Console:
    on_terminal = sys.stdout.isatty()
    return Console(highlight=False, soft_wrap=not on_terminal, width=None if on_terminal else _NEVER_CUT)


def _print_json(value: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n")


def _null_if_nan(value: Any) -> Any:
    """JSON has no nan."""
    return None if value != value else value
