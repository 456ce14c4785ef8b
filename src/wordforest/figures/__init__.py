"""Pictures of vectors. Each function takes data and returns a matplotlib Figure to save."""

from wordforest.figures.heatmap import heatmap
from wordforest.figures.style import COLORBLIND, PALETTES, PAPER, PRINT, SCREEN, Palette, Style
from wordforest.figures.trees import trees
from wordforest.figures.word_map import Projection, project, word_map
from wordforest.figures.words import WORD_LISTS, drawable

__all__ = [
    "COLORBLIND",
    "PALETTES",
    "PAPER",
    "PRINT",
    "SCREEN",
    "WORD_LISTS",
    "Palette",
    "Projection",
    "Style",
    "drawable",
    "heatmap",
    "project",
    "trees",
    "word_map",
]
