"""The only file that imports matplotlib: without a display and without pyplot's global state."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import PurePath
from types import ModuleType
from typing import TYPE_CHECKING, Any

from wordforest.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Nothing of the user's own settings, and nothing that changes from day to day, may reach a file.
_FIXED: dict[str, Any] = {
    "font.family": ["sans-serif"],
    "text.parse_math": False,  # "$5" is a word, not a formula
    "svg.fonttype": "none",  # text stays text: it can be searched, and read aloud
    "svg.hashsalt": "wordforest",
    "pdf.fonttype": 42,  # TrueType; many publishers refuse Type 3
    "axes.linewidth": 0.6,
}
_METADATA: dict[str, dict[str, str | None]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": "wordforest"},
    "pdf": {"CreationDate": None, "Creator": "wordforest", "Producer": "matplotlib"},
}
# Fonts for letters that matplotlib's own one lacks, asked in this order where they are installed.
_FALLBACK = (
    "Noto Sans, Noto Sans CJK SC, Noto Sans CJK JP, Noto Sans Arabic, Noto Sans Devanagari, WenQuanYi Micro Hei, "
    "Noto Emoji, Symbola"
)


def matplotlib() -> ModuleType:
    """Return the package with the modules that the figures need, or say which extra brings it."""
    try:
        import matplotlib.backends.backend_agg
        import matplotlib.cm
        import matplotlib.collections
        import matplotlib.colors
        import matplotlib.dates
        import matplotlib.figure
        import matplotlib.font_manager
        import matplotlib.lines
        import matplotlib.patches
        import matplotlib.ticker
    except ImportError as error:
        raise MissingExtraError("drawing", "figures") from error
    module: ModuleType = matplotlib
    return module


@contextmanager
def drawing() -> Iterator[ModuleType]:
    """Yield matplotlib with fixed settings, in place of those of the user; they are back afterwards.

    Letters that no installed font has are drawn as boxes, without a warning for each.
    """
    mpl = matplotlib()
    plain = {key: value for key, value in mpl.rcParamsDefault.items() if not key.startswith("backend")}
    fonts = {"font.sans-serif": ["DejaVu Sans", *_installed(), "Arial", "Helvetica", "sans-serif"]}
    with mpl.rc_context(plain | _FIXED | fonts), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        yield mpl


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of that many inches, drawn by Agg.

    Its files depend on its content alone: no date, no random ids, no user settings.
    """
    mpl = matplotlib()
    figure: Any = mpl.figure.Figure(figsize=(width, height), layout="constrained", facecolor="white")
    mpl.backends.backend_agg.FigureCanvasAgg(figure)
    plain = figure.savefig

    def savefig(fname: Any, **options: Any) -> None:
        suffix = PurePath(fname).suffix.removeprefix(".") if isinstance(fname, str | PurePath) else ""
        metadata = _METADATA.get(options.get("format") or suffix or "png")
        with drawing():
            plain(fname, **{"metadata": metadata, **options})

    figure.savefig = savefig
    drawn: Figure = figure
    return drawn


def text_size(axes: Axes, text: str, points: float, weight: str = "normal") -> tuple[float, float]:
    """Return width and height in inches of a line of text in the axes."""
    drawn = axes.text(0, 0, text, fontsize=points, weight=weight)
    extent = drawn.get_window_extent()
    drawn.remove()
    return extent.width / axes.figure.dpi, extent.height / axes.figure.dpi


@cache
def _installed() -> list[str]:
    names = {font.name for font in matplotlib().font_manager.fontManager.ttflist}
    return [name for name in _FALLBACK.split(", ") if name in names]
