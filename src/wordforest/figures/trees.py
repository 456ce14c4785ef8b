"""Words as trees: every node is a dimension, coloured by its coefficient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.figures._matplotlib import drawing, matplotlib, new_figure
from wordforest.figures.style import INK, LINE, SCREEN, Style, add_color_bar, ink_on, rgb, symmetric_limit
from wordforest.figures.tree_layout import best_flow, outline_nodes, place_nodes
from wordforest.figures.words import check_labels, drawable, shortened
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
_FAINT = "#d4d4d4"  # the line to a node that is exactly zero
_GREY = "#8c8c8c"


@dataclass(frozen=True)
class _Panel:
    """A tree of a word: its nodes in preorder (k,), their parents, values, labels, and positions (k, 2).

    ``entered`` (k,) says whether the word uses the node or one below it.
    """

    title: str
    nodes: NDArray[np.integer]
    parents: NDArray[np.integer]
    values: NDArray[np.float64]
    entered: NDArray[np.bool_]
    labels: tuple[str, ...]  # none, or one a node
    positions: NDArray[np.float64]  # x from the left edge, y down from the top edge
    size: tuple[float, float]  # title and margins included


def trees(
    vectors: Vectors,
    words: Sequence[str],
    *,
    tree: int | Literal["strongest", "all"] = "strongest",
    labels: Sequence[Sequence[str]] | None = None,
    style: Style = SCREEN,
) -> Figure:
    """Return a figure with a tree of the forest for every word: that of which it has most, one by number, or all.

    Nodes carry their dimension's index and are coloured as in heatmap, on one scale for all trees; exact zeros are
    white and the line to them is faint unless nodes below are used. ``labels``, some words for each of the M
    dimensions, turn each tree into an outline with the words beside the nodes. Words without a vector are left out (see
    drawable).

    Examples:
        >>> import wordforest as wf  # needs: matplotlib
        >>> forest = wf.Forest([-1, 0, 0])
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1, 1], [2, 3, 0]], forest=forest)
        >>> wf.figures.trees(vectors, ["tennis"]).savefig("tree.png")
    """
    forest = vectors.forest
    if forest is None:
        raise InputError(
            "expected vectors with a forest, but these have none, so there are no trees to draw. "
            "Draw a heatmap, or give vectors that a forest was learned for."
        )
    shown = drawable(words, vectors)
    check_labels(labels, len(forest))
    chosen = [_chosen_trees(vectors, forest, word, tree) for word in shown]
    _check_size(forest, chosen)
    n_trees = len(forest.roots)
    grouped = tree == "all" and n_trees > 1
    groups = []
    for word, numbers in zip(shown, chosen, strict=True):
        names = [f"{shortened(word)}, tree {t}" if n_trees > 1 else shortened(word) for t in numbers]
        titles = [f"tree {t}" for t in numbers] if grouped else names
        groups.append(
            [_panel(vectors, forest, t, word, title, labels) for t, title in zip(numbers, titles, strict=True)]
        )
    if not grouped:
        groups = [[panel for group in groups for panel in group]]
    with drawing():
        return _figure(groups, shown if grouped else [], style)


def _chosen_trees(vectors: Vectors, forest: Forest, word: str, tree: int | str) -> list[int]:
    """Return the numbers of the trees to draw for a word."""
    n_trees = len(forest.roots)
    if tree == "all":
        return list(range(n_trees))
    if tree == "strongest":
        return [int(np.add.reduceat(np.abs(vectors.own_row(word)), forest.roots).argmax())]
    if isinstance(tree, str) or not 0 <= tree < n_trees:
        raise InputError(f"tree = {tree}, but the trees are 0 to {n_trees - 1}. Choose one, strongest, or all.")
    return [tree]


def _check_size(forest: Forest, chosen: list[list[int]]) -> None:
    roots = forest.roots[[number for numbers in chosen for number in numbers]]
    nodes = int((forest.end[roots] - roots).sum())
    if nodes > _MAX_NODES:
        raise InputError(
            f"expected at most {_MAX_NODES} nodes, but the trees of {len(chosen)} words have {nodes}. "
            "Draw fewer words, or one tree."
        )


def _panel(
    vectors: Vectors, forest: Forest, tree: int, word: str, title: str, labels: Sequence[Sequence[str]] | None
) -> _Panel:
    root = int(forest.roots[tree])
    nodes = np.arange(root, forest.end[root])
    named = () if labels is None else tuple(", ".join(map(shortened, labels[node])) for node in nodes)
    positions = outline_nodes(forest, root) if named else place_nodes(forest, root)
    ends = positions[:, 0] + _RADIUS
    if named:
        ends = ends + 0.3 + [_LETTER_WIDTH / _LINE_HEIGHT * len(label) for label in named]
    left = positions[:, 0].min() - _RADIUS
    width = max(ends.max() - left, _TITLE_LETTER * _LETTER_WIDTH * len(title)) + 0.9
    positions = positions + np.array([0.45 - left if named else width / 2, -_TITLE - _RADIUS - 0.1])
    values = vectors[word][nodes].astype(np.float64)
    entered = np.array([values[i - root : forest.end[i] - root].any() for i in nodes])
    size = (width, float(_RADIUS + 0.7 - positions[:, 1].min()))
    return _Panel(title, nodes, forest.parent[nodes] - root, values, entered, named, positions, size)


def _figure(groups: list[list[_Panel]], headings: list[str], style: Style) -> Figure:
    """Return all panels in lines, with one colour bar; with headings, each group under its own."""
    panels = [panel for group in groups for panel in group]
    labelled = bool(panels[0].labels)
    widest = max(panel.size[0] for panel in panels) if labelled else 0.0  # outlines in columns
    sizes = [[(max(panel.size[0], widest), panel.size[1]) for panel in group] for group in groups]
    largest = style.text * _LINE_HEIGHT / 72 if labelled else _LEAF * style.text / SCREEN.text
    room = (style.width - _BAR, 0.75 * style.width - 0.15)
    heading = 1.7 * (style.text + 2) / 72 if headings else 0.0  # inches
    (corners, w, h), unit = best_flow(sizes, heading, room, largest)
    if unit < _SMALLEST[labelled]:
        (corners, w, h), unit = best_flow(sizes, heading, (room[0], np.inf), _SMALLEST[labelled])
    figure = new_figure(w * unit + _BAR, max(1.2, h * unit + 0.15))
    axes = figure.add_subplot()
    axes.set(xlim=(0, w), ylim=(-h, 0), aspect="equal", anchor="NW")
    axes.set_axis_off()
    values = np.concatenate([panel.values for panel in panels])
    limit = symmetric_limit(values)
    digits = max(2, *(len(str(panel.nodes[-1])) for panel in panels))
    for panel, corner in zip(panels, (corner for group in corners for corner in group), strict=True):
        colors = rgb(panel.values, limit, style.palette)
        _draw(axes, panel, panel.positions + np.array(corner), colors, (unit, digits))
        _title(axes, panel, corner, 72 * unit, style)
    for word, group in zip(headings, corners, strict=bool(headings)):
        y = group[0][1] + 0.15 * heading / unit
        axes.text(0.45, y, shortened(word), fontsize=style.text + 2, weight="bold", color=INK)
    add_color_bar(figure, axes, values, limit, style)
    return figure


def _draw(
    axes: Axes,
    panel: _Panel,
    positions: NDArray[np.float64],
    colors: NDArray[np.float64],
    scale: tuple[float, int],
) -> None:
    """Draw lines, circles, numbers and labels of a tree; ``scale`` is inches per unit and digits of numbers."""
    unit, digits = scale
    mpl = matplotlib()
    zero = panel.values == 0
    lines = [positions[[parent, node]] for node, parent in enumerate(panel.parents) if node]
    if panel.labels:  # with a corner
        lines = [np.array([above, [above[0], below[1]], below]) for above, below in lines]
    faint = [LINE if e else _FAINT for e in panel.entered[1:]]
    axes.add_collection(mpl.collections.LineCollection(lines, colors=faint, linewidths=min(0.8, 4 * unit), zorder=1))
    circles = [mpl.patches.Circle(position, _RADIUS) for position in positions]
    look = {"edgecolors": [LINE if z else "#555555" for z in zero], "linewidths": min(0.6, 3 * unit), "zorder": 2}
    axes.add_collection(mpl.collections.PatchCollection(circles, facecolors=colors, **look))
    size = min(8.0, 2 * _RADIUS * 72 * unit * 0.86 / (digits * _LETTER_WIDTH))
    if size >= 4:  # points: smaller numbers cannot be read
        centred: dict[str, Any] = {"ha": "center", "va": "center_baseline", "zorder": 3}
        for node, (x, y), ink in zip(panel.nodes, positions, ink_on(colors), strict=True):
            axes.text(x, y, str(node), color=ink, fontsize=size, **centred)
    letters = 72 * unit / _LINE_HEIGHT
    for (x, y), label, z in zip(positions, panel.labels, zero, strict=bool(panel.labels)):
        color = _GREY if z else INK
        axes.text(x + _RADIUS + 0.3, y, label, fontsize=letters, color=color, va="center_baseline")


def _title(axes: Axes, panel: _Panel, corner: tuple[float, float], unit: float, style: Style) -> None:
    """Write the title above a tree, or at the left of an outline; ``unit`` in points."""
    x, y = corner[0], corner[1] - _TITLE / 2
    if panel.labels:
        size = unit / _LINE_HEIGHT
        axes.text(x + 0.45, y, panel.title, fontsize=size, weight="bold", color=INK, va="center")
        return
    width = panel.size[0]
    fitting = width * unit / (_LETTER_WIDTH * len(panel.title))
    size = min(style.text + 1, max(5.0, unit * _TITLE_LETTER), fitting)
    axes.text(x + width / 2, y, panel.title, fontsize=size, color=INK, ha="center", va="center")
