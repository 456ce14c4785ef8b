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
from wordforest.figures.words import check_labels, drawable, shortened
from wordforest.vectors import Vectors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CELL = 0.175, 0.22  # inches, width and height, where there is room
_MARGIN = 2.0  # inches left and right of the cells: words, colour bar
_UPRIGHT = 12  # dimensions up to which their numbers fit without being turned
_PITCH = 1.1  # heights of a letter from one turned number to the next
_NAME = 34  # letters of the name of a column
_LETTER = 0.58  # width of a usual letter, over its size
_LOWEST = 1.5  # inches of the figure, for the name of the colour bar
_LINED = 0.08  # inches, width of a column from which lines part the columns
_GRID = "#b4b4b4"  # not white: white is for zeros


def heatmap(
    vectors: Vectors,
    words: Sequence[str] | Mapping[str, Sequence[str]],
    *,
    labels: Sequence[Sequence[str]] | None = None,
    limit: float | None = None,
    style: Style = SCREEN,
) -> Figure:
    """Return a figure with a row per word and a column per dimension that one of them uses.

    Red is negative, blue positive, darker more extreme, white exactly zero. Columns run from the lowest to the highest
    mean over the words shown and carry their original index; ``labels``, some words for each of the M dimensions, stand
    behind it. Where more columns are used than names find room, the strongest are shown; the axis tells what is left
    out. Words without a vector are left out, too (see drawable). Lists of words by title stand below each other,
    each with its own columns, as in the paper: animals and countries agree in different ones. ``limit`` ends the colour
    scale, by default at the largest absolute coefficient shown; give the same one to several figures to compare them.

    Examples:
        >>> import wordforest as wf  # needs: matplotlib
        >>> vectors = wf.Vectors(["sport", "tennis", "music"], [[4, 1, 0], [2, 3, 0], [0, 0, 4]])
        >>> wf.figures.heatmap(vectors, ["sport", "tennis"]).savefig("heatmap.png")
    """
    blocks = words if isinstance(words, Mapping) else {"": words}
    shown = {title: drawable(block, vectors) for title, block in blocks.items()}
    if not shown:
        raise InputError("expected at least one block of words, but none came. Name some words.")
    check_labels(labels, vectors.n_dimensions)
    codes = {t: np.stack([vectors[w] for w in block]).astype(np.float64) for t, block in shown.items()}  # (n, M) each
    values = np.concatenate(list(codes.values()))
    end = symmetric_limit(values) if limit is None else limit
    if not end > 0:
        raise InputError(f"limit = {limit}, but the colour scale must end above zero. Leave it out.")
    room = vectors.n_dimensions if labels is None else int(72 * (style.width - _MARGIN) / (_PITCH * style.small))
    columns = {title: columns_shown(A, room) for title, A in codes.items()}
    every = [shortened(" ".join([str(i), *(labels[i] if labels else ())]), _NAME) for i in range(vectors.n_dimensions)]
    names = {title: [every[i] for i in order] for title, order in columns.items()}
    width, height = _size(shown, names, style)
    with drawing():
        figure = new_figure(width, height)
        rows = [len(A) for A in codes.values()]
        panels = figure.subplots(len(codes), 1, squeeze=False, gridspec_kw={"height_ratios": rows})[:, 0]
        for axes, (title, A) in zip(panels, codes.items(), strict=True):
            part = A[:, columns[title]]
            axes.imshow(rgb(part, end, style.palette), aspect="auto", interpolation="nearest")
            _name_rows(axes, shown[title], style)
            _name_columns(axes, names[title], A, width - _MARGIN, style)
            rule(axes, part.shape, (width - _MARGIN) / part.shape[1])
            axes.set_title(shortened(title), fontsize=style.text + 1, loc="left")
        add_color_bar(figure, list(panels), values, end, style, below=_height_of_names([*names.values()][-1], style))
    return figure


def columns_shown(A: NDArray[np.float64], room: int) -> NDArray[np.intp]:
    """Return the dimensions that a row of A (n, M) uses, by mean over the rows, lowest first, ties by index.

    Where these are more than ``room``, only those of the largest absolute values on average; all where none is used.
    """
    used = np.flatnonzero(A.any(axis=0)) if A.any() else np.arange(A.shape[1])
    strongest = np.argsort(-np.abs(A[:, used]).mean(axis=0), kind="stable")[:room]
    kept = used[np.sort(strongest)]
    return kept[np.argsort(A[:, kept].mean(axis=0), kind="stable")]


def _size(shown: Mapping[str, Sequence[str]], names: Mapping[str, list[str]], style: Style) -> tuple[float, float]:
    scale = style.text / SCREEN.text
    height = 0.15
    for title, words in shown.items():
        height += (0.12 + 0.25 * bool(title) + _CELL[1] * len(words)) * scale + _height_of_names(names[title], style)
    widest = max(map(len, names.values()))
    return min(style.width, max(4.0, _MARGIN + _CELL[0] * widest)), max(_LOWEST, height)


def _height_of_names(names: list[str], style: Style) -> float:
    """Return the inches that the names of columns take, and what stands below them."""
    letters = max(map(len, names)) if _are_turned(names) else 1
    return letters * _LETTER * style.small / 72 + 0.35 * style.text / SCREEN.text


def _are_turned(names: list[str]) -> bool:
    return len(names) > _UPRIGHT or max(map(len, names)) > 4


def _name_rows(axes: Axes, words: Sequence[str], style: Style) -> None:
    axes.set_yticks(np.arange(len(words)), labels=[shortened(word) for word in words], fontsize=style.text)
    axes.tick_params(length=0, pad=3)


def _name_columns(axes: Axes, names: list[str], A: NDArray[np.float64], width: float, style: Style) -> None:
    """Write the names of the columns, as many as can be read, and below what is left out of the dimensions of A."""
    step = math.ceil(len(names) * _PITCH * style.small / (72 * max(width, 0.5)))
    axes.set_xticks(np.arange(0, len(names), step), labels=names[::step], fontsize=style.small)
    axes.tick_params(axis="x", rotation=90 if _are_turned(names) else 0)
    used, M = int(A.any(axis=0).sum()), A.shape[1]
    notes = [f"one in {step} named"] * (step > 1)
    notes += [f"the strongest {len(names)} of {used}"] * (len(names) < used) + [f"{M - used} not used"] * (0 < used < M)
    noted = f" ({', '.join(notes)})" if notes else ""
    axes.set_xlabel(f"dimension{noted}, from lowest to highest mean", fontsize=style.text)


def rule(axes: Axes, shape: tuple[int, ...], column: float) -> None:
    """Draw lines between rows, and between columns that are wide enough, so that a white cell is seen as a cell."""
    axes.set_yticks(np.arange(0.5, shape[0] - 1), minor=True)
    axes.grid(which="minor", axis="y", color=_GRID, linewidth=0.5)
    if column >= _LINED:
        axes.set_xticks(np.arange(0.5, shape[1] - 1), minor=True)
        axes.grid(which="minor", axis="x", color=_GRID, linewidth=0.35)
    axes.tick_params(which="minor", length=0)
    axes.spines[:].set(color=LINE, linewidth=0.6)
