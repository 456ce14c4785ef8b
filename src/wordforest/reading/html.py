"""Forests, nodes and paths for notebooks: HTML that folds, without scripts, in the colours of the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, TypeAlias

from wordforest.coder.forest import Forest
from wordforest.reading.labels import label_text, one_line
from wordforest.reading.outline import Line, outline
from wordforest.vectors import Neighbors, Vectors

if TYPE_CHECKING:
    from wordforest.reading.nodes import Node
    from wordforest.reading.paths import PathNode, WordPath

Row: TypeAlias = tuple[int, str]  # how far it is indented, and its HTML

_STYLE = (
    "<style>.wordforest{line-height:1.6}.wordforest details,.wordforest div{margin-left:1.2em}"
    ".wordforest i{opacity:.6;font-style:normal;font-size:85%}.wordforest summary{cursor:pointer}</style>"
)
_WORDS = 3  # of a label
_MOST = 50_000  # bytes of a forest: a notebook keeps them in its file, once for each time that it is shown


def vectors_as_html(vectors: Vectors, title: str) -> str:
    """Return the size of vectors and their forest; without a forest the first words."""
    size = f"{len(vectors):,} words, {vectors.n_dimensions} dimensions, {vectors.density():.1%} not zero"
    if vectors.forest is None:
        return _page(title, size, [(0, escape(" ".join(map(one_line, vectors.words[:30]))))])
    size += "; behind a node the share of words that use it"
    return _page(title, size, _nodes(outline(vectors, k=_WORDS, labels=vectors.labels)))


def forest_as_html(title: str, facts: str, forest: Forest, labels: Sequence[str], notes: Sequence[str] = ()) -> str:
    """Return a forest whose nodes have labels, and perhaps notes that stand behind them."""
    behind = [f" <i>{escape(note)}</i>" if note else "" for note in notes or [""] * len(forest)]
    texts = [f"<i>{node}</i> {escape(one_line(label))}" for node, label in enumerate(labels)]
    depths = forest.depth.tolist()
    return _page(title, facts, [(depths[i], text + behind[i]) for i, text in enumerate(texts)])


def node_as_html(node: Node) -> str:
    """Return a node: where it is, its words, and what is below it."""
    rows = [(0, " › ".join(_named(line) for line in node.above))] if node.above else []
    rows += [(0, escape(one_line(node.remark)))] if node.remark else []
    rows += [(0, _listed(words)) for words in (node.positive, node.negative) if words]
    below = [(depth - node.depth - 1, text) for depth, text in _nodes(node.below)]
    return _page(f"{node.node} {node.text}", node.facts, [*rows, *below])


def path_as_html(path: WordPath) -> str:
    """Return the trees that a word uses, the strongest unfolded."""
    rows: list[Row] = []
    for tree in path.trees:
        for step in tree.steps:
            value = f"{step.value:+.3g}" if step.value else "-"
            rows.append((step.depth, f"{_named(step)} <i>{step.within:.1%}, {value}</i>"))
    return _page(path.word, "" if rows else "uses no node", rows, unfolded=len(path.trees[0].steps) if rows else 0)


def _nodes(lines: Iterable[Line]) -> list[Row]:
    """Return the row of every node; leaves are only named."""
    rows = []
    for line in lines:
        known = "" if line.stability is None else f", stability {line.stability:.2f}"
        rows.append((line.depth, _named(line) + ("" if line.is_leaf else f" <i>{line.share:.1%}{known}</i>")))
    return rows


def _named(line: Line | PathNode) -> str:
    return f"<i>{line.node}</i> {escape(label_text(line.label[:_WORDS]))}"


def _listed(words: Neighbors) -> str:
    return ", ".join(f"{escape(one_line(word))} <i>{value:.3g}</i>" for word, value in words)


def _page(title: str, facts: str, rows: Sequence[Row], unfolded: int = 0) -> str:
    head = f"<b>{escape(one_line(title))}</b> {escape(facts)}"
    return f'{_STYLE}<div class="wordforest">{head}{_folded(rows, unfolded)}</div>'


def _folded(rows: Sequence[Row], unfolded: int) -> str:
    """Return rows in each other, those with others below as ``details``; whole trees only, as many as fit."""
    parts: list[str] = []
    above: list[int] = []  # depths of the details that are not closed
    size = 0
    for i, (depth, text) in enumerate(rows):
        while above and above[-1] >= depth:
            parts.append("</details>")
            above.pop()
        if depth == 0 and size > _MOST:
            rest = sum(depth == 0 for depth, _ in rows[i:])
            parts.append(f"<div>and {rest} more trees, not shown here</div>")
            break
        if i + 1 < len(rows) and rows[i + 1][0] > depth:
            parts.append(f"<details{' open' if i < unfolded else ''}><summary>{text}</summary>")
            above.append(depth)
        elif depth and parts[-1].endswith("</div>"):  # leaves side by side
            parts[-1] = f"{parts[-1].removesuffix('</div>')} · {text}</div>"
        else:
            parts.append(f"<div>{text}</div>")
        size += len(text.encode("utf-8", "surrogatepass")) + 20
    return "".join(parts) + "</details>" * len(above)
