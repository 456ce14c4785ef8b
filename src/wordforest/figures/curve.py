"""How a run went: objective and share of non-zeros against seconds, for one or several runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.figures._matplotlib import drawing, matplotlib, new_figure
from wordforest.figures.style import GROUP_COLORS, INK, LINE, SCREEN, Style
from wordforest.figures.words import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

History = Sequence[Mapping[str, Any]]  # as in history.jsonl: seconds, epoch, objective, nonzeros

_SIZE = 6.4, 4.6  # inches
_LOG_FROM = 5.0  # longest over shortest run from which seconds are drawn on a logarithmic axis
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
_COLUMNS = ("seconds", "epoch", "objective", "nonzeros")


def curve(histories: Mapping[str, History], *, style: Style = SCREEN) -> Figure:
    """Return the objective above the share of non-zeros, both against seconds, a line for each run by its title.

    A dot ends each pass over the words; with one run it has its number. Seconds are on a logarithmic axis where one run
    takes over five times as long as another.
    """
    runs = {title: _columns(title, history) for title, history in histories.items()}
    if not runs:
        raise InputError("expected at least one run, but none came. Name a run folder.")
    last = [seconds[-1] for seconds, *_ in runs.values()]
    width, height = style.size or (min(_SIZE[0], style.width), _SIZE[1] * min(1.0, style.width / _SIZE[0]))
    with drawing():
        figure = new_figure(width, height)
        upper, lower = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": (3, 2)})
        for index, (title, (seconds, epoch, objective, nonzeros)) in enumerate(runs.items()):
            ends = np.flatnonzero(np.append(epoch[1:] != epoch[:-1], True))  # of the passes
            color, dashes = GROUP_COLORS[index % len(GROUP_COLORS)], _DASHES[index % len(_DASHES)]
            dots = {"marker": "o", "markersize": 3.6, "markevery": ends.tolist()}
            line = {"color": color, "linestyle": dashes, "linewidth": 1.4, **dots}
            upper.plot(seconds, objective, label=shortened(title, 50), **line)
            lower.plot(seconds, 100 * nonzeros, **line)
            for row in ends if len(runs) == 1 else ():
                at = {"xytext": (0, 5), "textcoords": "offset points", "ha": "center"}
                place = (seconds[row], objective[row])
                upper.annotate(f"pass {epoch[row]:g}", place, fontsize=style.small, color=color, **at)
        _finish(upper, lower, min(last) > 0 and max(last) / min(last) > _LOG_FROM, style)
        if len(runs) > 1:
            columns = int(width / (0.6 + 0.08 * min(50, max(map(len, runs)))))
            look = {"frameon": False, "fontsize": style.text, "labelcolor": INK}
            figure.legend(loc="outside upper left", ncols=min(len(runs), max(1, columns)), **look)
    return figure


def _columns(title: str, history: History) -> NDArray[np.float64]:
    """Return the columns of a history, (4, steps), from the steps that have all that is drawn."""
    steps = [step for step in history if all(_is_number(step.get(name)) for name in _COLUMNS)]
    if not steps:
        raise InputError(
            f"{title}: expected a history with {', '.join(_COLUMNS)}, but "
            f"{'it is empty' if not history else 'its steps have ' + ', '.join(history[0])}. "
            "Choose a run of wordforest train."
        )
    return np.array([[float(step[name]) for step in steps] for name in _COLUMNS])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _finish(upper: Axes, lower: Axes, logarithmic: bool, style: Style) -> None:
    ticker = matplotlib().ticker
    for axes in (upper, lower):
        axes.tick_params(which="both", length=2.5, width=0.6, color=LINE)
        axes.tick_params(labelsize=style.small)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set(color=LINE, linewidth=0.6)
        axes.grid(axis="y", color="#e6e6e6", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.margins(y=0.12)
    upper.set_ylabel("objective", fontsize=style.text)
    lower.set_ylabel("non-zeros, %", fontsize=style.text)
    lower.set_ylim(0, 108)
    lower.set_yticks([0, 25, 50, 75, 100])
    lower.set_xlabel("seconds; a dot ends a pass", fontsize=style.text)
    upper.yaxis.set_major_formatter(ticker.EngFormatter())
    if logarithmic:
        lower.set_xscale("log")
        lower.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        lower.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        lower.xaxis.set_minor_formatter(ticker.NullFormatter())
    else:
        lower.set_xlim(left=0)
