"""Slices of text on one forest: nodes that change most over time, or that differ most between slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill, shorten
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.figures._matplotlib import drawing, new_figure
from wordforest.figures.groups import differences
from wordforest.figures.style import GROUP_COLORS, INK, LINE, SCREEN, Style
from wordforest.figures.time import positions
from wordforest.figures.words import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

_ACROSS = 4  # curves beside each other
_PANEL = 2.1  # inches, height of a curve
_ROW = 0.26  # inches, height of a node with its dots
_PANELS = 6  # slices that have room beside each other
_NAME = 34  # letters of a line of a name
_LETTER = 0.62  # width of a usual letter, over its size
_LEVEL = 0.05


def compared(found: Any, *, nodes: int | None = None, style: Style = SCREEN) -> Figure:
    """Return a figure of what `compare` found: nodes that change most over time, or that differ most between slices.

    Over time, each of 8 ``nodes`` has a curve of its shares in their 95 % band; dashed lines say from which slice on
    there is more or less of it. Other slices have a dot for each of 16 nodes, its log odds against all other slices
    with the 95 % interval, hollow where q is not below 0.05; more than six slices are drawn as ``differences``.

    Examples:
        >>> import wordforest as wf  # needs: matplotlib
        >>> old = ["the ship sails the sea with its sailors", "sailors load the ship in the harbour"] * 20
        >>> new = ["the ship flies to the moon with rockets", "rockets lift the ship into the sky"] * 20
        >>> run = wf.train([*old, *new], trees=1, branching=(2,), min_count=5)
        >>> figure = wf.figures.compared(wf.compare(run, slices={"old": old, "new": new}))
        >>> figure.savefig("compared.png")
    """
    table, S = found.tables["nodes"], len(found.slices)
    names = [f"{node} {label}" for node, label in zip(table["node"][::S], table["label"][::S], strict=True)]
    if not names:
        raise InputError("expected a comparison with nodes, but there is none. Compare slices on a forest.")
    if found.is_time:
        return _curves(found, names, nodes or 2 * _ACROSS, style)
    log_odds, q = _column(table, "log_odds", S), _column(table, "q", S)  # (M, S)
    sure = np.where(q < _LEVEL, np.abs(log_odds), 0.0).max(axis=1)
    order = np.lexsort((-np.nan_to_num(np.abs(log_odds)).max(axis=1), -sure))[: nodes or 16]
    if S == 2:
        order = order[np.argsort(log_odds[order, 1], kind="stable")]  # from one slice to the other
    chosen = [shorten(names[node], _NAME, placeholder="") for node in order]
    if S > _PANELS:
        groups = [str(name) for name in found.slices]
        return differences(groups, chosen, np.nan_to_num(log_odds[order]).T, q[order].T, level=_LEVEL, style=style)
    return _dots(found, order, chosen, style)


def _curves(found: Any, names: Sequence[str], n: int, style: Style) -> Figure:
    """Return a figure with a curve for each of the n nodes that change most."""
    S = len(found.slices)
    share, low, high = (_column(found.tables["nodes"], name, S) for name in ("share", "low", "high"))  # (M, S)
    changes = _changes(found, len(names))
    chosen = _most_changed(found.tables["nodes"]["parent"][::S], share, changes)[:n]
    x = positions(found.slices)
    across = min(_ACROSS, len(chosen))
    rows = -(-len(chosen) // across)
    with drawing() as mpl:
        figure = new_figure(style.width * across / _ACROSS, _PANEL * rows)
        lines = 0
        for place, node in enumerate(chosen):
            axes = figure.add_subplot(rows, across, place + 1)
            axes.plot(x, share[node], color=GROUP_COLORS[0], marker="o", markersize=2, linewidth=1.3)
            axes.fill_between(x, low[node], high[node], color=GROUP_COLORS[0], alpha=0.2, linewidth=0)
            top = np.nanmax([share[node], high[node]]) if not np.isnan(share[node]).all() else 0.0
            axes.set_ylim(0, 1.05 * top or 1.0)
            axes.yaxis.set_major_locator(mpl.ticker.MaxNLocator(4))
            axes.yaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: f"{100 * value:g} %"))
            lines = max(lines, _mark(axes, x, found.slices, changes[node], style))
            _plain(axes, style)
        for axes, node in zip(figure.axes, chosen, strict=True):
            title: dict[str, Any] = {
                "fontsize": style.text,
                "color": INK,
                "loc": "left",
                "pad": 5 + lines * style.small,
            }
            axes.set_title(fill(names[node], _NAME), **title)
        figure.supylabel("share of the words of a slice", fontsize=style.text)
    return figure


def _mark(axes: Axes, x: Any, slices: Sequence[Any], changes: Sequence[tuple[int, float]], style: Style) -> int:
    """Draw a dashed line amid two slices where a change is, with the name of the second; return the lines of names."""
    points = style.small - 1
    letter = _LETTER * points / 72 / (0.8 * style.width / _ACROSS)  # of the width of the axes
    ends: list[float] = []
    for i, ratio in changes:
        at = x[i] if i == 0 else x[i - 1] + (x[i] - x[i - 1]) / 2
        axes.axvline(at, color=LINE, linewidth=0.8, linestyle=(0, (3, 3)))
        name = ("▲" if ratio > 0 else "▼") + shortened(str(slices[i]), 10)
        middle, half = float((at - x[0]) / (x[-1] - x[0])), (len(name) + 1) * letter / 2
        line = next((k for k, end in enumerate(ends) if end < middle - half), len(ends))
        ends[line:] = [middle + half, *ends[line + 1 :]]
        look: dict[str, Any] = {"ha": "center", "fontsize": points, "annotation_clip": False}
        place: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
        axes.annotate(name, (at, 1), (0, 2 + line * style.small), **place, **look)
    return len(ends)


def _dots(found: Any, order: NDArray[np.intp], names: Sequence[str], style: Style) -> Figure:
    """Return a figure with a panel for each slice (of two for the second alone) and a dot for each node."""
    S = len(found.slices)
    columns = ("log_odds", "log_low", "log_high", "q")
    middle, low, high, q = (_column(found.tables["nodes"], name, S)[order] for name in columns)  # (n, S)
    shown = [1] if S == 2 else [*range(S)]
    y = np.arange(len(order))
    with drawing() as mpl:
        figure = new_figure(min(style.width, 3.4 + 2.6 * len(shown)), max(1.8, _ROW * len(order) + 0.9))
        first: Axes | None = None
        for place, s in enumerate(shown):
            axes = figure.add_subplot(1, len(shown), place + 1, sharex=first, sharey=first)
            color = GROUP_COLORS[s % len(GROUP_COLORS)]
            axes.axvline(0, color=LINE, linewidth=0.8)
            axes.hlines(y, low[:, s], high[:, s], color=color, linewidth=1.4)
            filled = [color if one < _LEVEL else "white" for one in q[:, s]]
            axes.scatter(middle[:, s], y, s=22, c=filled, edgecolors=color, linewidths=1.2, zorder=3)
            against = shortened(str(found.slices[0])) if S == 2 else "the others"
            axes.set_title(f"{shortened(str(found.slices[s]))} against {against}", fontsize=style.text, color=color)
            axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(5))
            axes.set_yticks(y, labels=names)
            _plain(axes, style)
            axes.tick_params(axis="y", length=0, labelsize=style.text, labelleft=first is None)
            if first is None:
                axes.set_ylim(len(order) - 0.5, -0.5)
            first = first or axes
        figure.supxlabel("log odds, 95 % interval (hollow: q ≥ 0.05)", fontsize=style.text)
    return figure


def _plain(axes: Axes, style: Style) -> None:
    axes.tick_params(labelsize=style.small, color=LINE)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(LINE)


def _column(table: Mapping[str, Sequence[Any]], name: str, n_slices: int) -> Floats:
    """Return a column of nodes by slices, (M, S), nan where nothing is known."""
    return np.array(table[name], dtype=np.float64).reshape(-1, n_slices)


def _changes(found: Any, n_nodes: int) -> list[list[tuple[int, float]]]:
    """Return the changes of every node: number of a slice, and logarithm of the ratio of shares after and before."""
    number = {name: i for i, name in enumerate(found.slices)}
    changes: list[list[tuple[int, float]]] = [[] for _ in range(n_nodes)]
    table = found.tables["changes"]
    columns = (table[name] for name in ("node", "slice", "before", "after"))
    for node, name, before, after in zip(*columns, strict=True):
        changes[node].append((number[name], float(np.log((after + 1e-9) / (before + 1e-9)))))
    return [sorted(some) for some in changes]


def _most_changed(parent: Sequence[int], share: Floats, changes: Sequence[Sequence[tuple[int, float]]]) -> list[int]:
    """Return nodes by the size of their largest change, then of their spread, without those above or below another."""
    largest = [max((abs(ratio) for _, ratio in some), default=0.0) for some in changes]
    spread = np.ptp(np.nan_to_num(share), axis=1)
    chosen: list[int] = []
    above: dict[int, set[int]] = {}
    for node, up in enumerate(parent):  # parents come before their children
        above[node] = {up, *above[up]} if up >= 0 else set()
    for node in np.lexsort((-spread, -np.array(largest))).tolist():
        if not any(node in above[other] or other in above[node] for other in chosen):
            chosen.append(node)
    return chosen
