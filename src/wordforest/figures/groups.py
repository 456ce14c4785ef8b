"""Groups of documents by nodes: where a group has more of a node than the others, and where less."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from wordforest.errors import InputError
from wordforest.figures._matplotlib import drawing, new_figure
from wordforest.figures.heatmap import rule
from wordforest.figures.style import SCREEN, Style, add_color_bar, rgb, symmetric_limit
from wordforest.figures.words import shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CELL = 0.3, 0.2  # inches, width and height, where there is room
_NAMES = 3.6  # inches beside the cells: names of nodes, colour bar
_NAME = 34  # letters of a name
_LETTER = 0.62  # width of a usual letter, over its size


def differences(
    groups: Sequence[str],
    nodes: Sequence[str],
    difference: ArrayLike,
    q: ArrayLike,
    *,
    level: float = 0.05,
    style: Style = SCREEN,
) -> Figure:
    """Return a figure with a row per node and a column per group, coloured by the difference in share from the rest.

    ``difference`` and ``q`` are (G, K). Blue is more than in all other groups, red less; white is no difference, or one
    whose q is not below ``level``.

    Examples:
        >>> import wordforest as wf  # needs: matplotlib
        >>> groups, nodes = ["1990s", "2000s"], ["0 sport", "1 music"]
        >>> difference, q = [[0.1, -0.1], [-0.1, 0.1]], [[0.01, 0.2], [0.01, 0.2]]
        >>> figure = wf.figures.differences(groups, nodes, difference, q)
        >>> figure.savefig("differences.png")
    """
    values, adjusted = np.asarray(difference, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if not values.shape == adjusted.shape == (len(groups), len(nodes)):
        raise InputError(f"expected {len(groups)} groups by {len(nodes)} nodes, but {values.shape} came.")
    seen = np.where(adjusted < level, values, 0.0).T  # (K, G)
    limit = symmetric_limit(seen)
    below = _LETTER * style.small / 72 * max(len(shortened(group)) for group in groups)
    with drawing():
        width = min(style.width, _NAMES + _CELL[0] * len(groups))
        figure = new_figure(width, max(1.8, _CELL[1] * len(nodes) + below + 0.3))
        axes = figure.add_subplot()
        axes.imshow(rgb(seen, limit, style.palette), aspect="auto", interpolation="nearest")
        names = [shortened(node, _NAME) for node in nodes]
        axes.set_yticks(np.arange(len(nodes)), labels=names, fontsize=style.text)
        axes.set_xticks(np.arange(len(groups)), labels=map(shortened, groups), fontsize=style.small, rotation=90)
        axes.tick_params(length=0, pad=3)
        rule(axes, seen.shape, (width - _NAMES) / len(groups))
        label = f"difference from the rest (white: q ≥ {level:g})"
        add_color_bar(figure, axes, seen, limit, style, below=below, label=label)
    return figure
