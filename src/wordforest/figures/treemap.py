"""The forest as a treemap: areas are shares of documents, nodes lie within their parents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from wordforest.coder.forest import Forest
from wordforest.figures._matplotlib import drawing, matplotlib, new_figure
from wordforest.figures.regions import Nested, fitted, nested, tree_colors
from wordforest.figures.style import SCREEN, Style, ink_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEIGHT = 0.66  # of the figure, over its width
_PAD = 0.03  # inches between a node and its children
_LEAST = 0.015  # inches: smaller boxes are not drawn


class Box(NamedTuple):
    """A rectangle: left, top (y falls), width, height."""

    x: float
    y: float
    w: float
    h: float


def treemap(
    forest: Forest, sizes: Sequence[float], labels: Sequence[str], *, depth: int | None = None, style: Style = SCREEN
) -> Figure:
    """Return a figure in which every node is a rectangle, as large as its size says, with its children inside.

    ``sizes`` (M,) and ``labels`` (M,) are those of the nodes. What of a node belongs to none of its children stays
    free. Labels are written as far as they fit. ``depth`` is the last one shown, 0 for roots alone; all if None.

    Examples:
        >>> import wordforest as wf  # needs: matplotlib
        >>> forest = wf.Forest([-1, 0, 0, -1])
        >>> sizes, labels = [0.6, 0.3, 0.2, 0.4], ["sport", "tennis", "football", "music"]
        >>> figure = wf.figures.treemap(forest, sizes, labels)
        >>> figure.savefig("treemap.png")
    """
    shown = nested(forest, sizes, labels, depth)
    with drawing():
        figure = new_figure(style.width, _HEIGHT * style.width)
        figure.set_layout_engine("none")
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, style.width), ylim=(_HEIGHT * style.width, 0))
        axes.set_axis_off()
        page = Box(0, 0, style.width, _HEIGHT * style.width)
        places = _places(shown, -1, _inset(page, _PAD, 0.0), style)
        _draw(axes, shown, places, style)
    return figure


def squarified(sizes: Sequence[float], box: Box) -> list[Box]:
    """Return a box for every size, largest first, that fill ``box`` and are near to squares.

    Rows along the shorter side take sizes as long as that makes their worst box more square (Bruls, Huizing and van
    Wijk 2000).
    """
    left, found = list(sizes), list[Box]()
    total = sum(left)
    while left:
        scale = box.w * box.h / total if total > 0 else 0.0
        side = min(box.w, box.h)
        n = 1
        while n < len(left) and _worst(left[: n + 1], scale, side) <= _worst(left[:n], scale, side):
            n += 1
        row, left = left[:n], left[n:]
        part = sum(row) / total if total > 0 else 0.0
        found += _row(row, box, part)
        upright, total = box.w >= box.h, total - sum(row)
        moved = (box.x + box.w * part, box.y, box.w * (1 - part), box.h)
        box = Box(*moved) if upright else Box(box.x, box.y + box.h * part, box.w, box.h * (1 - part))
    return found


def _worst(row: Sequence[float], scale: float, side: float) -> float:
    """Return the largest ratio of sides in a row of boxes along a side."""
    area = scale * sum(row)
    if min(row) <= 0 or area <= 0 or side <= 0:
        return float("inf")
    return max(side**2 * scale * max(row) / area**2, area**2 / (side**2 * scale * min(row)))


def _row(row: Sequence[float], box: Box, part: float) -> list[Box]:
    """Return boxes one after another along the shorter side of ``box``, which take ``part`` of it."""
    found, done = list[Box](), 0.0
    for size in row:
        share = size / sum(row) if sum(row) > 0 else 0.0
        if box.w >= box.h:
            found.append(Box(box.x, box.y + done * box.h, box.w * part, share * box.h))
        else:
            found.append(Box(box.x + done * box.w, box.y, share * box.w, box.h * part))
        done += share
    return found


def _inset(box: Box, pad: float, header: float) -> Box:
    return Box(box.x + pad, box.y + pad + header, box.w - 2 * pad, box.h - 2 * pad - header)


def _places(shown: Nested, node: int, box: Box, style: Style) -> dict[int, Box]:
    """Return the boxes of all nodes below one whose children fill ``box``, parents before children."""
    nodes = shown.parts(node)
    rest = float(shown.sizes[node] - shown.sizes[nodes].sum()) if node >= 0 else 0.0
    areas = [*(float(shown.sizes[i]) for i in nodes), *([rest] if rest > 0 else [])]
    found: dict[int, Box] = {}
    for i, place in zip(nodes, squarified(areas, box), strict=False):
        if min(place.w, place.h) > _LEAST:
            found[i] = place
            header = _header(place, style)
            inner = _inset(place, _PAD, header)
            if min(inner.w, inner.h) > _LEAST:
                found |= _places(shown, i, inner, style)
    return found


def _header(box: Box, style: Style) -> float:
    """Return the height of the line for the label of a node with children; none where that would take too much."""
    line = 1.35 * style.text / 72
    return line if box.h > 3 * line and box.w > 4 * line else 0.0


def _draw(axes: Axes, shown: Nested, places: dict[int, Box], style: Style) -> None:
    colors = tree_colors(shown.forest)
    inks = ink_on(colors)
    inside = {int(shown.forest.parent[node]) for node in places}
    for node, box in places.items():
        level = int(shown.forest.depth[node])
        look = {"facecolor": colors[node], "edgecolor": "white", "linewidth": max(0.4, 1.6 - 0.6 * level)}
        axes.add_patch(matplotlib().patches.Rectangle((box.x, box.y), box.w, box.h, **look))
        header = _header(box, style)
        height = header if node in inside else box.h - 2 * _PAD
        points = style.text if level == 0 else style.text - min(level, 2)
        weight = "bold" if level == 0 else "normal"
        lines, size = fitted(axes, shown.labels[node], (box.w - 3 * _PAD, height), points, weight)
        place = (box.x + 1.5 * _PAD, box.y + _PAD)
        axes.text(*place, "\n".join(lines), fontsize=size, color=inks[node], weight=weight, va="top", linespacing=1.1)
