"""Words as trees: every node is a dimension, coloured by its coefficient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.figures._matplotlib import matplotlib, new_figure
from wordforest.figures.colors import LINE, add_color_bar, ink_on, rgb, symmetric_limit
from wordforest.figures.words import drawable
from wordforest.vectors import Vectors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from wordforest.coder.forest import Forest

_MAX_PANELS = 400
_COLUMNS = 4
_LEVEL = 1.9  # height of a level, in distances between two leaves, at least
_SLOPE = 0.05  # height of a level of a wide tree, over the number of its leaves
_RADIUS = 0.42  # of a node, in the same unit
_LEAF = 0.33  # inches between two leaves
_MIN_WIDTH = 1.3  # inches of a panel, for its title
_MAX_WIDTH = 24.0  # inches of a panel; wider trees are drawn smaller
_NUMBERED = 0.2  # inches between two leaves from which node numbers can be read


class _Panel(NamedTuple):
    title: str
    nodes: NDArray[np.int_]  # (k,), in preorder
    values: NDArray[np.float64]  # (k,)
    places: NDArray[np.float64]  # (k, 2)


def trees(vectors: Vectors, words: Sequence[str], *, tree: int | None = 0) -> Figure:
    """Return a figure with one tree of the forest for every word, or with all trees of every word for None.

    Nodes carry their dimension's index and are coloured as in heatmap, on one scale for all panels. Words
    without a vector are left out (see present_words).
    """
    forest = _forest(vectors)
    shown = drawable(vectors, words)
    roots = [int(root) for root in forest.roots] if tree is None else [_root(forest, tree)]
    if len(shown) * len(roots) > _MAX_PANELS:
        raise InputError(
            f"expected at most {_MAX_PANELS} panels, but {len(shown)} words x {len(roots)} trees are "
            f"{len(shown) * len(roots)}. Draw fewer words, or one tree."
        )
    by_word = [[_panel(vectors, forest, word, root) for root in roots] for word in shown]
    groups = by_word if tree is None else [[panel for (panel,) in by_word]]
    return _figure(forest, [row for group in groups for row in _wrapped(group)])


def place_nodes(forest: Forest, root: int) -> NDArray[np.float64]:
    """Return x and y of a tree's nodes in preorder, (k, 2): leaves 1 apart, parents amid their children.

    x is centred on the tree, y falls by one level per depth.
    """
    nodes = np.arange(root, forest.end[root])
    x = np.zeros(len(nodes))
    is_leaf = forest.end[nodes] == nodes + 1
    x[is_leaf] = np.arange(is_leaf.sum())
    for node in nodes[~is_leaf][::-1]:
        children = x[np.array(forest.children(int(node))) - root]
        x[node - root] = (children[0] + children[-1]) / 2
    level = max(_LEVEL, _SLOPE * is_leaf.sum())
    return np.stack([x - x[is_leaf].mean(), -level * forest.depth[nodes]], axis=1)


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


def _panel(vectors: Vectors, forest: Forest, word: str, root: int) -> _Panel:
    nodes = np.arange(root, forest.end[root])
    values = vectors[word][nodes].astype(np.float64)
    tree = int(np.searchsorted(forest.roots, root))
    title = f"{word}, tree {tree}" if len(forest.roots) > 1 else word
    return _Panel(title, nodes, values, place_nodes(forest, root))


def _wrapped(group: list[_Panel]) -> list[list[_Panel]]:
    return [group[i : i + _COLUMNS] for i in range(0, len(group), _COLUMNS)]


def _figure(forest: Forest, rows: list[list[_Panel]]) -> Figure:
    """Return the panels in rows of equal panels, with one colour bar."""
    panels = [panel for row in rows for panel in row]
    columns = max(len(row) for row in rows)
    half = max(float(panel.places[:, 0].max()) for panel in panels) + 0.6
    bottom = min(float(panel.places[:, 1].min()) for panel in panels) - 0.6
    leaf = min(_LEAF, _MAX_WIDTH / (2 * half))  # inches
    limit = symmetric_limit(np.concatenate([panel.values for panel in panels]))
    half = max(half, _MIN_WIDTH / leaf / 2)
    height = max(1.0, (0.6 - bottom) * leaf + 0.35)
    figure = new_figure(2 * half * leaf * columns + 0.9, height * len(rows) + 0.1)
    grid = figure.subplots(len(rows), columns, squeeze=False)
    for axes in grid.flat:
        axes.set(xlim=(-half, half), ylim=(bottom, 0.6), aspect="equal")
        axes.set_axis_off()
    for row, line in zip(rows, grid, strict=True):
        for panel, axes in zip(row, line, strict=False):
            _draw(axes, forest, panel, limit, numbered=leaf >= _NUMBERED)
    add_color_bar(figure, list(grid.flat), limit)
    return figure


def _draw(axes: Axes, forest: Forest, panel: _Panel, limit: float, *, numbered: bool) -> None:
    mpl = matplotlib()
    root = panel.nodes[0]
    edges = [panel.places[[forest.parent[node] - root, node - root]] for node in panel.nodes[1:]]
    axes.add_collection(mpl.collections.LineCollection(edges, colors=LINE, linewidths=0.8, zorder=1))
    colors = rgb(panel.values, limit)  # (k, 3)
    circles = [mpl.patches.Circle(place, _RADIUS) for place in panel.places]
    nodes = mpl.collections.PatchCollection(circles, facecolors=colors, edgecolors="#555555", linewidths=0.6, zorder=2)
    axes.add_collection(nodes)
    axes.set_title(panel.title, fontsize=10)
    if numbered:
        for node, (x, y), ink in zip(panel.nodes, panel.places, ink_on(colors), strict=True):
            axes.text(x, y, str(node), color=ink, fontsize=7, ha="center", va="center_baseline", zorder=3)
