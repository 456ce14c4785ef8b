"""Words by dimensions: which dimensions a group of words shares, and which it does not use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.figures._matplotlib import new_figure
from wordforest.figures.colors import LINE, add_color_bar, rgb, symmetric_limit
from wordforest.figures.words import drawable
from wordforest.vectors import Vectors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MAX_LABELS = 80  # of dimensions, beside each other, in letters of 7 points
_UPRIGHT = 12  # dimensions up to which their numbers fit without being turned
_MAX_WIDTH = 18.0  # inches


def heatmap(vectors: Vectors, words: Sequence[str], *, title: str | None = None, limit: float | None = None) -> Figure:
    """Return a figure with a row per word and a column per dimension.

    Red is negative, blue positive, darker more extreme, white exactly zero. Columns run from the most
    negative to the most positive mean over the words shown and carry their original index. Words without
    a vector are left out (see present_words). ``limit`` ends the colour scale, by default at the largest
    absolute coefficient shown; give the same one to several figures to compare them.
    """
    shown = drawable(vectors, words)
    A = np.stack([vectors[word] for word in shown]).astype(np.float64)  # (n, M)
    order = column_order(A)
    end = symmetric_limit(A) if limit is None else limit
    if not end > 0:
        raise InputError(f"limit = {limit}, but the colour scale must end above zero. Leave it out.")
    n, M = A.shape
    figure = new_figure(min(_MAX_WIDTH, max(4.0, 2.2 + 0.15 * M)), 1.1 + 0.22 * n)
    axes = figure.add_subplot()
    axes.imshow(rgb(A[:, order], end), aspect="auto", interpolation="nearest")
    _label(axes, shown, order)
    if title:
        axes.set_title(title, fontsize=11, loc="left")
    add_color_bar(figure, axes, end, clipped=symmetric_limit(A) > end)
    return figure


def column_order(A: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the dimensions of A (n, M) by mean over its rows, lowest first, ties by index, (M,)."""
    return np.argsort(A.mean(axis=0), kind="stable")


def _label(axes: Axes, words: Sequence[str], order: NDArray[np.intp]) -> None:
    step = math.ceil(len(order) / _MAX_LABELS)
    columns = np.arange(0, len(order), step)
    axes.set_xticks(columns, labels=[str(order[column]) for column in columns], fontsize=7)
    axes.tick_params(axis="x", rotation=90 if len(order) > _UPRIGHT else 0)
    axes.set_yticks(np.arange(len(words)), labels=words, fontsize=9)
    which = "" if step == 1 else f", one in {step} labelled"
    axes.set_xlabel(f"dimension, by mean coefficient{which}", fontsize=9)
    axes.tick_params(length=0, pad=3)
    axes.set_yticks(np.arange(0.5, len(words) - 1), minor=True)
    axes.grid(which="minor", axis="y", color="white", linewidth=1.2)
    axes.tick_params(which="minor", length=0)
    axes.spines[:].set(color=LINE, linewidth=0.6)
