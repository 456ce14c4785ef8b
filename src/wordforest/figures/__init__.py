"""Pictures of vectors. Each function takes data and returns a matplotlib Figure to save."""

from wordforest.figures.heatmap import heatmap
from wordforest.figures.style import COLORBLIND, PALETTES, PAPER, PRINT, SCREEN, Palette, Style
from wordforest.figures.trees import trees
from wordforest.figures.tsne import Projection, project
from wordforest.figures.word_map import word_map
from wordforest.figures.words import WORD_LISTS, present_words

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
    "heatmap",
    "present_words",
    "project",
    "trees",
    "word_map",
]
