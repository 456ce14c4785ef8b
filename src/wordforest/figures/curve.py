"""How a run went: objective and share of non-zeros against seconds, for one or several runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.figures._matplotlib import drawing, matplotlib, new_figure
from wordforest.figures.colors import INK, LINE
from wordforest.figures.look import GROUP_COLORS, SCREEN, Look
from wordforest.figures.words import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

History = Sequence[Mapping[str, Any]]  # as in history.jsonl: seconds, epoch, objective, nonzeros

_SIZE = 6.4, 4.6  # inches
_LOG_FROM = 5.0  # longest over shortest run from which seconds are drawn on a logarithmic axis
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1.5, 1.5)))
_STEPS = ("seconds", "epoch", "objective", "nonzeros")


class _Steps(NamedTuple):
    """Columns of a history, (steps,) each, and the rows that end a pass."""

    seconds: NDArray[np.float64]
    epoch: NDArray[np.float64]
    objective: NDArray[np.float64]
    nonzeros: NDArray[np.float64]
    ends: NDArray[np.intp]


def curve(histories: Mapping[str, History], *, look: Look = SCREEN) -> Figure:
    """Return the objective above the share of non-zeros, both against seconds, a line for each run by its title.

    A dot ends each pass over the words; with one run it has its number. Seconds are on a logarithmic axis where one run
    takes over five times as long as another.
    """
    runs = {title: _columns(title, history) for title, history in histories.items()}
    if not runs:
        raise InputError("expected at least one run, but none came. Name a run folder.")
    lengths = [float(steps.seconds[-1]) for steps in runs.values()]
    logarithmic = min(lengths) > 0 and max(lengths) / min(lengths) > _LOG_FROM
    width, height = look.size or (min(_SIZE[0], look.width), _SIZE[1] * min(1.0, look.width / _SIZE[0]))
    with drawing():
        figure = new_figure(width, height)
        upper, lower = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": (3, 2)})
        for index, (title, steps) in enumerate(runs.items()):
            upper.plot(steps.seconds, steps.objective, label=shortened(title, 50), **_strokes(index, steps))
            lower.plot(steps.seconds, 100 * steps.nonzeros, **_strokes(index, steps))
        _finish(upper, lower, logarithmic, look)
        if len(runs) == 1:
            _number_passes(upper, next(iter(runs.values())), look)
        else:
            figure.legend(
                *upper.get_legend_handles_labels(), loc="outside upper left", frameon=False, fontsize=look.text,
                ncols=min(len(runs), max(1, int(width / (0.6 + 0.08 * min(50, max(map(len, runs))))))), labelcolor=INK,
            )  # fmt: skip
    return figure


def _columns(title: str, history: History) -> _Steps:
    """Return the columns of a history whose steps have all that is drawn, sorted as they came."""
    steps = [step for step in history if all(_is_number(step.get(name)) for name in _STEPS)]
    if not steps:
        raise InputError(
            f"{title}: expected a history with {', '.join(_STEPS)}, but "
            f"{'it is empty' if not history else 'its steps have ' + ', '.join(history[0])}. "
            "Choose a run of wordforest train."
        )
    columns = {name: np.array([float(step[name]) for step in steps]) for name in _STEPS}
    epoch = columns["epoch"]
    return _Steps(**columns, ends=np.flatnonzero(np.append(epoch[1:] != epoch[:-1], True)))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _strokes(index: int, steps: _Steps) -> dict[str, Any]:
    return {
        "color": GROUP_COLORS[index % len(GROUP_COLORS)],
        "linestyle": _DASHES[index % len(_DASHES)],
        "linewidth": 1.4,
        "marker": "o",
        "markersize": 3.6,
        "markevery": steps.ends.tolist(),
    }


def _number_passes(axes: Axes, steps: _Steps, look: Look) -> None:
    for row in steps.ends:
        axes.annotate(
            f"pass {steps.epoch[row]:g}", (steps.seconds[row], steps.objective[row]), xytext=(0, 5),
            textcoords="offset points", ha="center", fontsize=look.small, color=GROUP_COLORS[0],
        )  # fmt: skip


def _finish(upper: Axes, lower: Axes, logarithmic: bool, look: Look) -> None:
    mpl = matplotlib()
    for axes in (upper, lower):
        axes.tick_params(which="both", length=2.5, width=0.6, color=LINE)
        axes.tick_params(labelsize=look.small)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set(color=LINE, linewidth=0.6)
        axes.grid(axis="y", color="#e6e6e6", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.margins(y=0.12)
    upper.set_ylabel("objective", fontsize=look.text)
    lower.set_ylabel("non-zeros, %", fontsize=look.text)
    lower.set_ylim(0, 108)
    lower.set_yticks([0, 25, 50, 75, 100])
    lower.set_xlabel("seconds; a dot ends a pass", fontsize=look.text)
    upper.yaxis.set_major_formatter(mpl.ticker.EngFormatter())
    if logarithmic:
        lower.set_xscale("log")
        lower.xaxis.set_major_locator(mpl.ticker.LogLocator(subs=(1, 2, 5)))
        lower.xaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda value, _: f"{value:g}"))
        lower.xaxis.set_minor_formatter(mpl.ticker.NullFormatter())
    else:
        lower.set_xlim(left=0)
