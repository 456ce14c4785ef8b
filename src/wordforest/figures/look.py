"""How a figure looks: its colours, letters and width, for a screen or for print."""

from __future__ import annotations

from dataclasses import dataclass

from wordforest.errors import InputError
from wordforest.figures.colors import PAPER, Palette

# Okabe and Ito: told apart by colour-blind readers too. The first two are the paper's blue and red in that set.
GROUP_COLORS = ("#0060a8", "#c8400b", "#00795a", "#a3548a", "#7a5a00", "#3b8fc4", "#222222", "#c98a00")
GROUP_MARKERS = ("o", "^", "s", "D", "v", "P", "X", "p")


@dataclass(frozen=True)
class Look:
    """Palette, letters of ``text`` points, at most ``width`` inches wide; ``size`` (inches) fixes both sides."""

    palette: Palette = PAPER
    text: float = 9.0
    width: float = 12.0
    size: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.size is not None and not (min(self.size) >= 1 and max(self.size) <= 100):
            raise InputError(
                f"size = {self.size[0]:g} x {self.size[1]:g} inches, but each side must be 1 to 100. Choose another."
            )

    @property
    def small(self) -> float:
        """Points of the smaller letters: numbers on axes."""
        return self.text - 2


SCREEN = Look()
PRINT = Look(text=8.0, width=7.0)  # two columns of a journal; letters as in its captions
