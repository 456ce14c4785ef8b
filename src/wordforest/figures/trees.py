"""Words as trees: every node is a dimension, coloured by its coefficient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.figures._matplotlib import drawing, matplotlib, new_figure
from wordforest.figures.colors import INK, LINE, add_color_bar, ink_on, rgb, symmetric_limit
from wordforest.figures.look import SCREEN, Look
from wordforest.figures.tree_layout import Box, best_flow, extent, outline_nodes, place_nodes
from wordforest.figures.words import drawable, shortened
from wordforest.vectors import Vectors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from wordforest.coder.forest import Forest

_MAX_NODES = 12_000  # more are too small to see
_RADIUS = 0.42  # of a node; the unit is the distance of two leaves, or of two lines of an outline
_LEAF = 0.33  # inches between two leaves where there is room
_LINE_HEIGHT = 1.6  # of an outline, in letters
_SMALLEST = 0.09, 0.13  # inches per unit of trees and of outlines, at least; the figure grows instead
_TITLE = 1.3  # height of a title, in units
_TITLE_LETTER = 0.5  # the size of its letters
_LETTER_WIDTH = 0.62  # of a usual letter, over its size
_BAR = 0.95  # inches beside the trees for the colour bar
_FAINT = "#d4d4d4"  # the way to a node that is exactly zero
_GREY = "#8c8c8c"


@dataclass(frozen=True)
class _Panel:
    """A tree of a word: its nodes in preorder (k,), their values (k,), places (k, 2) and labels."""

    title: str
    nodes: NDArray[np.int_]
    values: NDArray[np.float64]
    places: NDArray[np.float64]
    labels: tuple[str, ...]  # none, or one a node
    size: tuple[float, float]  # title and margins included


def trees(
    vectors: Vectors,
    words: Sequence[str],
    *,
    tree: int | None = 0,
    labels: Sequence[Sequence[str]] | None = None,
    look: Look = SCREEN,
) -> Figure:
    """Return a figure with one tree of the forest for every word, or with all trees of every word for None.

    Nodes carry their dimension's index and are coloured as in heatmap, on one scale for all trees; exact
    zeros are white and the way to them is faint. ``labels``, some words for each of the M dimensions, turn
    each tree into an outline with the words beside the nodes. Words without a vector are left out (see
    present_words).
    """
    forest = _forest(vectors)
    shown = drawable(vectors, words)
    roots = [int(root) for root in forest.roots] if tree is None else [_root(forest, tree)]
    _check(forest, shown, roots, labels)
    grouped = tree is None and len(forest.roots) > 1
    with drawing():
        groups = [
            [_panel(vectors, forest, root, word, _title(forest, root, word, grouped), labels) for root in roots]
            for word in shown
        ]
        if not grouped:
            groups = [[panel for (panel,) in groups]]
        return _figure(forest, groups, shown if grouped else None, look)


def _forest(vectors: Vectors) -> Forest:
    if vectors.forest is None:
        raise InputError(
            "expected vectors with a forest, but these have none, so there are no trees to draw. "
            "Draw a heatmap, or give vectors that a forest was learned for."
        )
    return vectors.forest


def _root(forest: Forest, tree: int) -> int:
    if not 0 <= tree < len(forest.roots):
        raise InputError(f"tree = {tree}, but the trees are 0 to {len(forest.roots) - 1}. Choose one, or None for all.")
    return int(forest.roots[tree])


def _check(forest: Forest, words: list[str], roots: list[int], labels: Sequence[Sequence[str]] | None) -> None:
    if labels is not None and len(labels) != len(forest):
        raise InputError(
            f"expected labels for each of the {len(forest)} nodes, but {len(labels)} came. "
            "Give an empty list to a node without a label."
        )
    nodes = sum(int(forest.end[root]) - root for root in roots)
    if len(words) * nodes > _MAX_NODES:
        raise InputError(
            f"expected at most {_MAX_NODES} nodes, but {len(words)} words x {nodes} nodes are "
            f"{len(words) * nodes}. Draw fewer words, or one tree."
        )


def _title(forest: Forest, root: int, word: str, grouped: bool) -> str:
    tree = f"tree {int(np.searchsorted(forest.roots, root))}"
    if grouped:
        return tree
    return f"{shortened(word)}, {tree}" if len(forest.roots) > 1 else shortened(word)


def _panel(
    vectors: Vectors, forest: Forest, root: int, word: str, title: str, labels: Sequence[Sequence[str]] | None
) -> _Panel:
    """Return a tree with its places in its box: x from the left edge, y down from the top edge."""
    nodes = np.arange(root, forest.end[root])
    named = () if labels is None else tuple(", ".join(map(shortened, labels[node])) for node in nodes)
    places = outline_nodes(forest, root) if named else place_nodes(forest, root)
    letter = 1 / _LINE_HEIGHT
    ends = places[:, 0] + _RADIUS
    if named:
        ends = ends + 0.3 + [letter * _LETTER_WIDTH * len(label) for label in named]
    left = places[:, 0].min() - _RADIUS
    width = max(ends.max() - left, _TITLE_LETTER * _LETTER_WIDTH * len(title)) + 0.9
    shift = 0.45 - left if named else width / 2
    places = places + np.array([shift, -_TITLE - _RADIUS - 0.1])
    return _Panel(title, nodes, vectors[word][nodes].astype(np.float64), places, named,
                  (width, float(_RADIUS + 0.7 - places[:, 1].min())))  # fmt: skip


def _figure(forest: Forest, groups: list[list[_Panel]], headings: list[str] | None, look: Look) -> Figure:
    """Return all panels in lines, with one colour bar; with headings, each group under its own."""
    labelled = bool(groups[0][0].labels)
    widest = max(panel.size[0] for group in groups for panel in group) if labelled else 0.0  # outlines in columns
    sizes = [[(max(panel.size[0], widest), panel.size[1]) for panel in group] for group in groups]
    largest = look.text * _LINE_HEIGHT / 72 if labelled else _LEAF * look.text / SCREEN.text
    width, height = look.size or (look.width, 0.75 * look.width)
    room = (width - _BAR, height - 0.15)
    heading = 0.0 if headings is None else 1.7 * (look.text + 2) / 72  # inches
    boxes, unit = best_flow(sizes, heading, room, largest if look.size is None else 3 * largest)
    if look.size is None and unit < _SMALLEST[labelled]:
        boxes, unit = best_flow(sizes, heading, (room[0], np.inf), _SMALLEST[labelled])
    w, h = extent(boxes)
    figure = new_figure(*(look.size or (w * unit + _BAR, max(1.2, h * unit + 0.15))))
    axes = figure.add_subplot()
    axes.set(xlim=(0, w), ylim=(-h, 0), aspect="equal", anchor="NW")
    axes.set_axis_off()
    limit = symmetric_limit(np.concatenate([panel.values for group in groups for panel in group]))
    for group, places in zip(groups, boxes, strict=True):
        for panel, box in zip(group, places, strict=True):
            _draw(axes, forest, panel, box, (limit, unit, look))
    for word, places in zip(headings or [], boxes, strict=headings is not None):
        axes.text(
            0.45, places[0].y + 0.15 * heading / unit, shortened(word), fontsize=look.text + 2, weight="bold", color=INK
        )
    add_color_bar(figure, axes, limit, look)
    return figure


def _draw(axes: Axes, forest: Forest, panel: _Panel, box: Box, scale: tuple[float, float, Look]) -> None:
    """Draw a panel: ``scale`` is the end of the colours, the inches per unit, and the look."""
    limit, unit, look = scale
    mpl = matplotlib()
    places = panel.places + np.array([box.x, box.y])
    zero = panel.values == 0
    ways = _ways(forest, panel, places)
    faint = [_FAINT if z else LINE for z in zero[1:]]
    axes.add_collection(mpl.collections.LineCollection(ways, colors=faint, linewidths=min(0.8, 4 * unit), zorder=1))
    colors = rgb(panel.values, limit, look.palette)  # (k, 3)
    circles = [mpl.patches.Circle(place, _RADIUS) for place in places]
    rims = [LINE if z else "#555555" for z in zero]
    axes.add_collection(
        mpl.collections.PatchCollection(
            circles, facecolors=colors, edgecolors=rims, linewidths=min(0.6, 3 * unit), zorder=2
        )
    )
    _name(axes, panel, box, 72 * unit, look)
    _number(axes, panel, places, ink_on(colors), 72 * unit, len(str(len(forest) - 1)))
    for place, label, z in zip(places, panel.labels, zero, strict=bool(panel.labels)):
        axes.text(place[0] + _RADIUS + 0.3, place[1], label, fontsize=72 * unit / _LINE_HEIGHT,
                  color=_GREY if z else INK, va="center_baseline")  # fmt: skip


def _ways(forest: Forest, panel: _Panel, places: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Return the line from each node's parent to the node: straight, or with a corner in an outline."""
    root = panel.nodes[0]
    ways = [places[[forest.parent[node] - root, node - root]] for node in panel.nodes[1:]]
    if not panel.labels:
        return ways
    return [np.array([above, [above[0], below[1]], below]) for above, below in ways]


def _name(axes: Axes, panel: _Panel, box: Box, unit: float, look: Look) -> None:
    """Write the title above a tree, or at the left of an outline; ``unit`` in points."""
    if panel.labels:
        size = unit / _LINE_HEIGHT
        axes.text(box.x + 0.45, box.y - _TITLE / 2, panel.title, fontsize=size, weight="bold", color=INK, va="center")
        return
    fitting = box.width * unit / (_LETTER_WIDTH * len(panel.title))
    size = min(look.text + 1, max(5.0, unit * _TITLE_LETTER), fitting)
    axes.text(
        box.x + box.width / 2, box.y - _TITLE / 2, panel.title, fontsize=size, color=INK, ha="center", va="center"
    )


def _number(axes: Axes, panel: _Panel, places: NDArray[np.float64], inks: list[str], unit: float, digits: int) -> None:
    """Write each node's dimension into its circle, where letters of four points fit; ``unit`` in points."""
    size = min(8.0, 2 * _RADIUS * unit * 0.86 / (max(2, digits) * _LETTER_WIDTH))
    if size < 4:
        return
    for node, (x, y), ink in zip(panel.nodes, places, inks, strict=True):
        axes.text(x, y, str(node), color=ink, fontsize=size, ha="center", va="center_baseline", zorder=3)
