"""The forest as a sunburst: a ring for each depth, angles are shares of documents, children outside their parent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wordforest.coder.forest import Forest
from wordforest.figures._matplotlib import drawing, matplotlib, new_figure
from wordforest.figures.regions import Nested, fitted, nested, tree_colors
from wordforest.figures.style import SCREEN, Style, ink_on

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDEST = 9.0  # inches
_HOLE = 0.45  # radius of the hole, over the width of a ring
_FREE = 0.9  # of a wedge, for its label


class Wedge(NamedTuple):
    """A node's part of its ring: from one angle to another, in turns clockwise from the top."""

    node: int
    start: float
    end: float


def sunburst(
    forest: Forest, sizes: Sequence[float], labels: Sequence[str], *, depth: int | None = None, style: Style = SCREEN
) -> Figure:
    """Return a figure in which every node is a part of a ring, as wide as its size says, outside its parent.

    ``sizes`` (M,) and ``labels`` (M,) are those of the nodes. What of a node belongs to none of its children has
    nothing outside. Labels are written as far as they fit. ``depth`` is the last one shown, 0 for roots alone; all if
    None.

    Examples:
        >>> import wordforest as wf  # needs: matplotlib
        >>> forest = wf.Forest([-1, 0, 0, -1])
        >>> sizes, labels = [0.6, 0.3, 0.2, 0.4], ["sport", "tennis", "football", "music"]
        >>> figure = wf.figures.sunburst(forest, sizes, labels)
        >>> figure.savefig("sunburst.png")
    """
    shown = nested(forest, sizes, labels, depth)
    wedges = [*_wedges(shown, -1, 0.0, 1.0)]
    rings = 1 + max(int(forest.depth[wedge.node]) for wedge in wedges)
    side = min(_WIDEST, style.width)
    with drawing():
        figure = new_figure(side, side)
        figure.set_layout_engine("none")
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(-side / 2, side / 2), ylim=(-side / 2, side / 2), aspect="equal")
        axes.set_axis_off()
        _draw(axes, shown, wedges, (side / 2 - 0.05) / (rings + _HOLE), style)
    return figure


def _wedges(shown: Nested, node: int, start: float, turn: float) -> Iterator[Wedge]:
    """Yield the wedges of all nodes below one, parents first; ``turn`` is the angle of a size of 1."""
    if node < 0:
        turn = 1 / shown.sizes[shown.forest.roots].sum()
    for i in shown.parts(node):
        end = start + shown.sizes[i] * turn
        yield Wedge(i, start, end)
        yield from _wedges(shown, i, start, turn)
        start = end


def _draw(axes: Axes, shown: Nested, wedges: Sequence[Wedge], ring: float, style: Style) -> None:
    """Draw wedges and labels; ``ring`` is the width of a ring in inches."""
    colors = tree_colors(shown.forest)
    inks = ink_on(colors)
    for node, start, end in wedges:
        level = int(shown.forest.depth[node])
        inner = (level + _HOLE) * ring
        angles = 90 - 360 * end, 90 - 360 * start
        look = {"facecolor": colors[node], "edgecolor": "white", "linewidth": max(0.3, 1.2 - 0.4 * level)}
        axes.add_patch(matplotlib().patches.Wedge((0, 0), inner + ring, *angles, width=ring, **look))
        points = style.text - min(level, 2)
        arc = 2 * np.pi * inner * min(end - start, 0.5)
        lines, size = fitted(axes, shown.labels[node], (_FREE * ring, _FREE * arc), points)
        angle = np.deg2rad(sum(angles) / 2)
        middle = inner + ring / 2
        text = "\n".join(lines)
        rotation = _upright(np.rad2deg(angle))
        centred: dict[str, Any] = {
            "ha": "center",
            "va": "center",
            "rotation": rotation,
            "rotation_mode": "anchor",
            "linespacing": 1.0,
        }
        place = (middle * np.cos(angle), middle * np.sin(angle))
        axes.text(*place, text, fontsize=size, color=inks[node], **centred)


def _upright(angle: float) -> float:
    """Return an angle of text that is read from left to right."""
    return (angle + 90) % 180 - 90
