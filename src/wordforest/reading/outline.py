"""The forest as an outline: indented text, Mermaid, Graphviz, and an object for a program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.reading.labels import Label, Labels, given_or_made, label_text
from wordforest.vectors import Vectors, forest_of

_MERMAID = re.compile(r"""\.(?!\d)|[!"#$&*+\-/:;<=>?@\[\\\]^_`{|}~]""")  # also what Markdown reads, lists among it


@dataclass(frozen=True)
class Line:
    """A node: where it is in the forest, its label, and how many words use it. ``share`` is that over all words.

    ``stability`` says how alike the node is when it is learned again from half of the words, None where nobody knows.

    Examples:
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1], [2, 3]], forest=wf.Forest([-1, 0]))
        >>> line = wf.reading.outline(vectors)[1]
        >>> line.parent, line.depth, line.text, line.share
        (0, 1, 'tennis sport', 1.0)
    """

    node: int
    parent: int
    depth: int
    label: Label
    words: int
    share: float
    is_leaf: bool
    stability: float | None = None

    @property
    def text(self) -> str:
        """The words of the label on one line."""
        return label_text(self.label)


def outline(
    vectors: Vectors, *, k: int = 5, labels: Labels | None = None, trees: Iterable[int] | None = None
) -> list[Line]:
    """Return a line for each node in preorder that is not hidden; ``trees`` chooses some by number, in their order.

    Examples:
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1], [2, 3]], forest=wf.Forest([-1, 0]))
        >>> [(line.node, line.depth, line.text) for line in wf.reading.outline(vectors, k=1)]
        [(0, 0, 'sport'), (1, 1, 'tennis')]
    """
    hidden = vectors.hidden
    shown = [node for node in _chosen_nodes(forest_of(vectors), trees) if not hidden[node]]
    return lines_of(vectors, shown, given_or_made(vectors, labels, k))


def lines_of(vectors: Vectors, nodes: Iterable[int], named: Sequence[Label]) -> list[Line]:
    """Return a line for each of some nodes, which are called as ``named`` has it."""
    forest, used, known = forest_of(vectors), vectors.uses().tolist(), vectors.nodes.get("stability")
    lines = []
    for node in nodes:
        position = (node, int(forest.parent[node]), int(forest.depth[node]))
        is_leaf = bool(forest.end[node] == node + 1)
        stability = None if known is None else float(known[node])
        lines.append(Line(*position, named[node], used[node], used[node] / max(1, len(vectors)), is_leaf, stability))
    return lines


def as_text(lines: Sequence[Line], *, numbers: bool = False, shares: bool = False) -> str:
    """Return indented text, two spaces per depth; leaves side by side share a line, joined by a middle dot.

    ``numbers`` puts the number of a node before its label, ``shares`` the share of words that use it behind, and its
    stability where that is known.

    Examples:
        >>> import wordforest as wf
        >>> A = [[4, 1, 1], [2, 3, 0], [2, 0, 3]]
        >>> vectors = wf.Vectors(["sport", "tennis", "football"], A, forest=wf.Forest([-1, 0, 0]))
        >>> print(wf.reading.as_text(wf.reading.outline(vectors, k=1), numbers=True), end="")
        0 sport
          1 tennis · 2 football
    """
    rows: list[str] = []
    before: Line | None = None
    for line in lines:
        known = "" if line.stability is None else f", stability {line.stability:.2f}"
        text = f"{line.node} " * numbers + line.text + f" ({line.share:.1%}{known})" * shares
        if before and before.is_leaf and line.is_leaf and line.parent == before.parent >= 0:
            rows[-1] += f" · {text}"
        else:
            rows.append("  " * line.depth + text)
        before = line
    return "".join(row + "\n" for row in rows)


def as_mermaid(lines: Sequence[Line]) -> str:
    """Return a Mermaid flowchart from left to right; characters with a meaning there become number codes.

    Pages refuse more than 500 edges by default: choose some trees of a larger forest.

    Examples:
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1], [2, 3]], forest=wf.Forest([-1, 0]))
        >>> print(wf.reading.as_mermaid(wf.reading.outline(vectors)), end="")
        flowchart LR
          n0["sport tennis"]
          n1["tennis sport"]
          n0 --> n1
    """
    rows = ["flowchart LR"]
    for line in lines:
        rows.append(f'  n{line.node}["{_for_mermaid(line.text)}"]')
        if line.parent >= 0:
            rows.append(f"  n{line.parent} --> n{line.node}")
    return "\n".join(rows) + "\n"


def as_graphviz(lines: Sequence[Line]) -> str:
    """Return a directed graph in DOT, drawn from left to right by ``dot -Tsvg``.

    Examples:
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1], [2, 3]], forest=wf.Forest([-1, 0]))
        >>> wf.reading.as_graphviz(wf.reading.outline(vectors)).splitlines()[-2]
        '  n0 -> n1;'
    """
    rows = ["digraph forest {", "  rankdir=LR;", '  charset="UTF-8";', "  node [shape=box, style=rounded];"]
    for line in lines:
        rows.append(f'  n{line.node} [label="{_for_dot(line.text)}"];')
        if line.parent >= 0:
            rows.append(f"  n{line.parent} -> n{line.node};")
    return "\n".join([*rows, "}"]) + "\n"


def as_object(
    vectors: Vectors, *, k: int = 5, labels: Labels | None = None, trees: Iterable[int] | None = None
) -> dict[str, Any]:
    """Return what a program wants to know of the forest, ready for JSON.

    The k words of largest positive and of most negative value stand beside the label, each with its value.

    Examples:
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1], [2, 3]], forest=wf.Forest([-1, 0]))
        >>> found = wf.reading.as_object(vectors)
        >>> found["density"], found["nodes"][1]["positive"]
        (1.0, [('tennis', 3.0), ('sport', 1.0)])
    """
    nodes = []
    for line in outline(vectors, k=k, labels=labels, trees=trees):
        positive, negative = vectors.top_words(line.node, k)
        facts = {name: value for name, value in asdict(line).items() if name != "is_leaf"}
        nodes.append({**facts, "label": list(line.label), "positive": positive, "negative": negative})
    return {
        "words": len(vectors),
        "dimensions": vectors.n_dimensions,
        "density": vectors.density(),
        "density_by_depth": vectors.density_by_depth(),
        "nodes": nodes,
    }


def _chosen_nodes(forest: Forest, trees: Iterable[int] | None) -> list[int]:
    roots = forest.roots.tolist()
    chosen = range(len(roots)) if trees is None else list(trees)
    for tree in chosen:
        if not 0 <= tree < len(roots):
            raise InputError(f"tree {tree} does not exist: choose from 0 to {len(roots) - 1}.")
    return [node for tree in chosen for node in range(roots[tree], int(forest.end[roots[tree]]))]


def _for_mermaid(text: str) -> str:
    return _MERMAID.sub(lambda found: f"#{ord(found[0])};", text)


def _for_dot(text: str) -> str:
    """Escape for a quoted string whose label Graphviz reads: backslashes, quotes, and & which starts an entity."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
