"""The only file that imports matplotlib: without a display and without pyplot's global state."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from wordforest.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def matplotlib() -> ModuleType:
    """Return the package with the modules that the figures need, or say which extra brings it."""
    try:
        import matplotlib.backends.backend_agg
        import matplotlib.cm
        import matplotlib.collections
        import matplotlib.colors
        import matplotlib.figure
        import matplotlib.patches
        import matplotlib.ticker
    except ImportError as error:
        raise MissingExtraError("drawing", "figures") from error
    module: ModuleType = matplotlib
    return module


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of that many inches, drawn by Agg."""
    module = matplotlib()
    figure: Figure = module.figure.Figure(figsize=(width, height), layout="constrained", facecolor="white")
    module.backends.backend_agg.FigureCanvasAgg(figure)
    return figure
