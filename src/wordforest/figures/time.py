"""Shares of nodes over time: a curve for each with the band of its interval, named at its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordforest.errors import InputError
from wordforest.figures._matplotlib import drawing, new_figure
from wordforest.figures.style import GROUP_COLORS, GROUP_MARKERS, LINE, SCREEN, Style
from wordforest.figures.words import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

_HEIGHT = 0.5  # of the figure, over its width
_NAME = 36  # letters of a name


def over_time(
    times: Sequence[Any],
    share: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    names: Sequence[str],
    *,
    style: Style = SCREEN,
) -> Figure:
    """Return a figure with a curve for each of K nodes over T times, and a band from low to high, (T, K) each.

    Times are numbers, or dates as ISO text. Where the share is nan, as in a bin without documents, the curve has a gap.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf  # needs: matplotlib
        >>> share = np.array([[0.2, 0.8], [0.5, 0.5], [0.7, 0.3]])  # three years, two nodes
        >>> low, high = share - 0.1, share + 0.1
        >>> figure = wf.figures.over_time([1990, 2000, 2010], share, low, high, ["sport", "music"])
        >>> figure.savefig("over_time.png")
    """
    values, below, above = (np.asarray(part, dtype=np.float64) for part in (share, low, high))
    if not 1 <= len(names) <= len(GROUP_COLORS):
        raise InputError(
            f"expected 1 to {len(GROUP_COLORS)} nodes, but {len(names)} came: more curves cannot be told apart. "
            "Choose some."
        )
    if not values.shape == below.shape == above.shape == (len(times), len(names)):
        raise InputError(f"expected shares of {len(times)} times by {len(names)} nodes, but {values.shape} came.")
    x = positions(times)
    with drawing() as mpl:
        figure = new_figure(style.width, _HEIGHT * style.width)
        axes = figure.add_subplot()
        for k in range(len(names)):
            look: dict[str, Any] = {
                "color": GROUP_COLORS[k],
                "marker": GROUP_MARKERS[k],
                "markersize": 3,
                "linewidth": 1.4,
            }
            axes.plot(x, values[:, k], **look)
            axes.fill_between(x, below[:, k], above[:, k], color=GROUP_COLORS[k], alpha=0.16, linewidth=0)
        axes.set_ylim(0, 1.03 * np.nanmax([values, above]) or 1.0)
        axes.yaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: f"{100 * value:g} %"))
        axes.set_ylabel("share of documents", fontsize=style.text)
        axes.tick_params(labelsize=style.small, color=LINE)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(LINE)
        _name(axes, values, names, style)
    return figure


def positions(times: Sequence[Any]) -> Any:
    """Return times on the axis, (T,): numbers, or dates."""
    try:
        return np.array([float(time) for time in times])
    except ValueError:
        return np.array(times, dtype="datetime64[s]")


def _name(axes: Axes, values: Floats, names: Sequence[str], style: Style) -> None:
    """Write each name at the right, at the height of the last point of its curve, off the other names."""
    ends = [column[~np.isnan(column)][-1] if not np.isnan(column).all() else 0.0 for column in values.T]
    bottom, top = axes.get_ylim()
    inches = _HEIGHT * style.width * 0.85
    line = 1.3 * style.text / 72 * (top - bottom) / inches
    heights = _apart(np.array(ends), line, top)
    for k, name in enumerate(names):
        place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "va": "center", "annotation_clip": False}
        axes.annotate(shortened(name, _NAME), (1.015, heights[k]), color=GROUP_COLORS[k], fontsize=style.text, **place)


def _apart(ends: Floats, line: float, top: float) -> Floats:
    """Return heights as near to ``ends`` as they can be with a line between each two, none above ``top``."""
    order = np.argsort(-ends, kind="stable")
    heights = ends.copy()
    ceiling = top
    for k in order:  # downwards, each below the one before
        heights[k] = min(heights[k], ceiling)
        ceiling = heights[k] - line
    floor = 0.0
    for k in order[::-1]:  # and up again, none below the axis
        heights[k] = max(heights[k], floor)
        floor = heights[k] + line
    return heights
