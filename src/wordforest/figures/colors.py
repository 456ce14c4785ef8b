"""One colour scheme for every coefficient: red below zero, blue above, white at exactly zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordforest.figures._matplotlib import matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#222222"
LINE = "#9a9a9a"
_BAR = 0.13  # inches, thickness of the colour bar
_STOPS = np.array([0.0, 0.35, 0.7, 1.0])
_RED = np.array([(254, 217, 203), (244, 130, 100), (200, 35, 30), (95, 0, 16)]) / 255  # (4, 3)
_BLUE = np.array([(212, 228, 247), (107, 164, 222), (28, 92, 178), (6, 32, 92)]) / 255


def symmetric_limit(values: ArrayLike) -> float:
    """Return the largest absolute value, the end of the colour scale; 1 if all values are zero."""
    return float(np.abs(np.asarray(values)).max(initial=0.0)) or 1.0


def rgb(values: ArrayLike, limit: float) -> NDArray[np.float64]:
    """Return the colour of every value, shape (...) -> (..., 3), darker the nearer |value| is to ``limit``.

    The smallest non-zero value already has a visible tint, so that white means exact zero and nothing else.
    """
    values = np.asarray(values, dtype=np.float64)
    strength = np.minimum(np.abs(values) / limit, 1.0)
    red, blue = (_ramp(strength, stops) for stops in (_RED, _BLUE))
    colors = np.where((values < 0)[..., None], red, blue)
    colors[values == 0] = 1.0
    return colors


def ink_on(colors: NDArray[np.float64]) -> list[str]:
    """Return for every background, shape (n, 3), the text colour that can be read on it."""
    brightness = colors @ np.array([0.299, 0.587, 0.114])
    return ["white" if b < 0.55 else INK for b in brightness]


def add_color_bar(figure: Figure, axes: Axes | list[Axes], limit: float, *, clipped: bool = False) -> None:
    """Draw the scale from -limit to limit beside the axes, pointed where values beyond it are clipped."""
    mpl = matplotlib()
    steps = np.linspace(-limit, limit, 513)  # odd: the middle one is zero, hence white
    colormap = mpl.colors.ListedColormap(rgb(steps, limit))
    mappable = mpl.cm.ScalarMappable(mpl.colors.Normalize(-limit, limit), colormap)
    width, height = figure.get_size_inches()
    bar = figure.colorbar(
        mappable,
        ax=axes,
        fraction=_BAR / width,
        aspect=0.8 * height / _BAR,
        pad=0.015,
        extend="both" if clipped else "neither",
        extendfrac=0.03,
    )
    bar.outline.set(edgecolor=LINE, linewidth=0.6)
    bar.locator = mpl.ticker.MaxNLocator(6 if height > 2 else 2, symmetric=True)
    bar.update_ticks()
    bar.ax.tick_params(labelsize=8, length=2.5, width=0.6, color=LINE)
    bar.set_label("coefficient", fontsize=9)


def _ramp(strength: NDArray[np.float64], stops: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([np.interp(strength, _STOPS, channel) for channel in stops.T], axis=-1)
