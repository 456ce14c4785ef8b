"""Words by dimensions: which dimensions a group of words shares, and which it does not use."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.figures._matplotlib import drawing, new_figure
from wordforest.figures.style import LINE, SCREEN, Style, add_color_bar, rgb, symmetric_limit
from wordforest.figures.words import drawable, shortened
from wordforest.vectors import Vectors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CELL = 0.175, 0.22  # inches, width and height, where there is room
_MARGIN = 2.0  # inches left and right of the cells: words, colour bar
_UPRIGHT = 12  # dimensions up to which their numbers fit without being turned
_PITCH = 1.1  # heights of a letter from one turned number to the next
_LOWEST = 1.5  # inches of the figure, for the name of the colour bar
_LINED = 0.08  # inches, width of a column from which lines part the columns
_GRID = "#b4b4b4"  # not white: white is for zeros


def heatmap(
    vectors: Vectors,
    words: Sequence[str] | Mapping[str, Sequence[str]],
    *,
    limit: float | None = None,
    style: Style = SCREEN,
) -> Figure:
    """Return a figure with a row per word and a column per dimension.

    Red is negative, blue positive, darker more extreme, white exactly zero. Columns run from the most negative to the
    most positive mean over the words shown and carry their original index. Words without a vector are left out (see
    present_words). Lists of words by title stand below each other, each with its own order of dimensions, as in the
    paper: animals and countries agree in different ones. ``limit`` ends the colour scale, by default at the largest
    absolute coefficient shown; give the same one to several figures to compare them.
    """
    blocks = words if isinstance(words, Mapping) else {"": words}
    shown = {title: drawable(vectors, block) for title, block in blocks.items()}
    if not shown:
        raise InputError("expected at least one block of words, but none came. Name some words.")
    codes = {t: np.stack([vectors[w] for w in block]).astype(np.float64) for t, block in shown.items()}  # (n, M) each
    largest = symmetric_limit(np.concatenate(list(codes.values())))
    end = largest if limit is None else limit
    if not end > 0:
        raise InputError(f"limit = {limit}, but the colour scale must end above zero. Leave it out.")
    width, height = _size(codes, style)
    with drawing():
        figure = new_figure(width, height)
        rows = [len(A) for A in codes.values()]
        panels = figure.subplots(len(codes), 1, squeeze=False, gridspec_kw={"height_ratios": rows})[:, 0]
        for axes, (title, A) in zip(panels, codes.items(), strict=True):
            order = column_order(A)
            axes.imshow(rgb(A[:, order], end, style.palette), aspect="auto", interpolation="nearest")
            _label(axes, shown[title], order, width - _MARGIN, style)
            _rule(axes, A.shape, (width - _MARGIN) / A.shape[1])
            axes.set_title(shortened(title), fontsize=style.text + 1, loc="left")
        add_color_bar(figure, list(panels), end, style, clipped=largest > end)
    return figure


def column_order(A: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the dimensions of A (n, M) by mean over its rows, lowest first, ties by index, (M,)."""
    return np.argsort(A.mean(axis=0), kind="stable")


def _size(codes: Mapping[str, NDArray[np.float64]], style: Style) -> tuple[float, float]:
    M = next(iter(codes.values())).shape[1]
    rows = sum(len(A) for A in codes.values())
    scale = style.text / SCREEN.text
    around = sum(0.65 + 0.25 * bool(title) for title in codes) * scale  # title, numbers and their name
    return min(style.width, max(4.0, _MARGIN + _CELL[0] * M)), max(_LOWEST, around + 0.15 + _CELL[1] * scale * rows)


def _label(axes: Axes, words: Sequence[str], order: NDArray[np.intp], width: float, style: Style) -> None:
    M = len(order)
    step = math.ceil(M * _PITCH * style.small / (72 * max(width, 0.5)))  # as many numbers as can be read
    columns = np.arange(0, M, step)
    axes.set_xticks(columns, labels=[str(order[column]) for column in columns], fontsize=style.small)
    axes.tick_params(axis="x", rotation=90 if M > _UPRIGHT else 0)
    axes.set_yticks(np.arange(len(words)), labels=[shortened(word) for word in words], fontsize=style.text)
    which = "" if step == 1 else f" (one in {step} numbered)"
    axes.set_xlabel(f"dimension{which}, from most negative to most positive mean", fontsize=style.text)
    axes.tick_params(length=0, pad=3)


def _rule(axes: Axes, shape: tuple[int, ...], column: float) -> None:
    """Draw lines between rows, and between columns that are wide enough, so that a white cell is seen as a cell."""
    axes.set_yticks(np.arange(0.5, shape[0] - 1), minor=True)
    axes.grid(which="minor", axis="y", color=_GRID, linewidth=0.5)
    if column >= _LINED:
        axes.set_xticks(np.arange(0.5, shape[1] - 1), minor=True)
        axes.grid(which="minor", axis="x", color=_GRID, linewidth=0.35)
    axes.tick_params(which="minor", length=0)
    axes.spines[:].set(color=LINE, linewidth=0.6)
