"""How a figure looks: colours, sizes of letters, width. White is exactly zero, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordforest.figures._matplotlib import matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Ramp: TypeAlias = tuple[tuple[int, int, int], ...]

INK = "#222222"
LINE = "#9a9a9a"
# Okabe and Ito: colour-blind readers can tell them apart too. The first two are the paper's blue and red in that set.
GROUP_COLORS = ("#0060a8", "#c8400b", "#00795a", "#a3548a", "#7a5a00", "#3b8fc4", "#222222", "#c98a00")
GROUP_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "p")
_BAR = 0.13  # inches, thickness of the colour bar
_STOPS = np.array([0.0, 0.35, 0.7, 1.0])  # of |value| / limit


@dataclass(frozen=True)
class Palette:
    """Colours (red, green, blue), 0 to 255, of values below and above zero: nearest to zero first, then darker.

    Examples:
        >>> import wordforest as wf
        >>> reds, greys = (
        ...     ((254, 217, 203), (200, 35, 30), (95, 0, 16)),
        ...     ((230,) * 3, (120,) * 3, (0,) * 3),
        ... )
        >>> style = wf.figures.Style(palette=wf.figures.Palette(negative=reds, positive=greys))
        >>> style.palette.positive[1]
        (120, 120, 120)
    """

    negative: Ramp
    positive: Ramp


PAPER = Palette(
    negative=((254, 217, 203), (244, 130, 100), (200, 35, 30), (95, 0, 16)),
    positive=((212, 228, 247), (107, 164, 222), (28, 92, 178), (6, 32, 92)),
)
"""Red and blue, as in the paper."""

COLORBLIND = Palette(
    negative=((254, 224, 170), (244, 160, 40), (202, 100, 0), (128, 56, 0)),
    positive=((206, 218, 244), (112, 148, 220), (44, 80, 180), (16, 28, 112)),
)
"""Orange and blue: for readers without red or green cones twice as far apart as red and blue."""

PALETTES = {"paper": PAPER, "colorblind": COLORBLIND}
"""The palettes by the names that commands take."""


@dataclass(frozen=True)
class Style:
    """Palette, letters of ``text`` points, at most ``width`` inches wide.

    Examples:
        >>> import wordforest as wf
        >>> wf.figures.Style(palette=wf.figures.COLORBLIND, text=12).small < 12
        True
    """

    palette: Palette = PAPER
    text: float = 9.0
    width: float = 12.0

    @property
    def small(self) -> float:
        """Points of the smaller letters: numbers on axes."""
        return self.text - 2


SCREEN = Style()
"""For screens: the default of all figures."""

PRINT = Style(text=8.0, width=7.0)
"""For two columns of a journal: letters as in its captions."""


def symmetric_limit(values: ArrayLike) -> float:
    """Return the largest absolute value, the end of the colour scale; 1 if all values are zero."""
    return float(np.abs(np.asarray(values)).max(initial=0.0)) or 1.0


def rgb(values: ArrayLike, limit: float, palette: Palette = PAPER) -> NDArray[np.float64]:
    """Return the colour of every value, shape (...) -> (..., 3), darker the nearer |value| is to ``limit``.

    The smallest non-zero value already has a visible tint, so that white means exact zero and nothing else.
    """
    values = np.asarray(values, dtype=np.float64)
    strength = np.minimum(np.abs(values) / limit, 1.0)
    below, above = (_ramp(strength, ramp) for ramp in (palette.negative, palette.positive))
    colors = np.where((values < 0)[..., None], below, above)
    colors[values == 0] = 1.0
    return colors


def ink_on(colors: NDArray[np.float64]) -> list[str]:
    """Return for every background, shape (n, 3), the text colour that can be read on it."""
    linear = np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)
    luminance = linear @ np.array([0.2126, 0.7152, 0.0722])
    # contrast as in WCAG, (lighter + 0.05) / (darker + 0.05): at least 3.9 with either ink
    return ["white" if y < 0.22 else INK for y in luminance]


def add_color_bar(
    figure: Figure,
    axes: Axes | list[Axes],
    values: ArrayLike,
    limit: float,
    style: Style,
    below: float = 0.0,
    label: str = "coefficient (white: exactly 0)",
) -> None:
    """Draw the scale of some values beside the axes, from -limit or 0 to limit, pointed where values are beyond.

    ``below`` is the height in inches of what stands under the axes. A short bar has the first word of the label.
    """
    mpl = matplotlib()
    lowest, highest = float(np.min(values)), float(np.max(values))
    low = -limit if lowest < 0 else 0.0
    steps = np.linspace(low, limit, 513)  # odd: the first or the middle one is zero, hence white
    colormap = mpl.colors.ListedColormap(rgb(steps, limit, style.palette))
    mappable = mpl.cm.ScalarMappable(mpl.colors.Normalize(low, limit), colormap)
    beyond = ("neither", "both" if low < 0 else "max")[max(-lowest, highest) > limit]
    width, height = figure.get_size_inches()
    height -= below
    length = min(0.8 * height, 4.0)
    shape = {"fraction": _BAR / width, "shrink": length / height, "aspect": length / _BAR, "pad": 0.015}
    bar = figure.colorbar(mappable, ax=axes, extend=beyond, extendfrac=0.03, **shape)
    bar.outline.set(edgecolor=LINE, linewidth=0.6)
    bar.locator = mpl.ticker.MaxNLocator(6 if length > 1.5 else 2, symmetric=low < 0)
    bar.formatter = mpl.ticker.FuncFormatter(lambda value, _: f"{value:g}".replace("-", "\N{MINUS SIGN}"))
    bar.update_ticks()
    bar.ax.tick_params(labelsize=style.small, length=2.5, width=0.6, color=LINE)
    bar.set_label(label if length > 1.8 else label.split()[0], fontsize=style.text)


def _ramp(strength: NDArray[np.float64], ramp: Ramp) -> NDArray[np.float64]:
    stops = np.array(ramp) / 255  # (4, 3)
    return np.stack([np.interp(strength, _STOPS, channel) for channel in stops.T], axis=-1)
