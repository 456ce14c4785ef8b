"""Pictures of vectors and runs. Each function takes data and returns a matplotlib Figure to save."""

from wordforest.figures.curve import curve
from wordforest.figures.heatmap import heatmap
from wordforest.figures.style import COLORBLIND, PALETTES, PAPER, PRINT, SCREEN, Palette, Style
from wordforest.figures.trees import trees
from wordforest.figures.tsne import Projection, project
from wordforest.figures.word_map import word_map
from wordforest.figures.words import WORD_LISTS, nearest_groups, present_words

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
    "curve",
    "heatmap",
    "nearest_groups",
    "present_words",
    "project",
    "trees",
    "word_map",
]
