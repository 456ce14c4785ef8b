"""Pictures of vectors, of documents and of slices. Each function takes data and returns a matplotlib Figure to save."""

from wordforest.figures.groups import differences
from wordforest.figures.heatmap import heatmap
from wordforest.figures.slices import compared
from wordforest.figures.style import COLORBLIND, PALETTES, PAPER, PRINT, SCREEN, Palette, Style
from wordforest.figures.sunburst import sunburst
from wordforest.figures.time import over_time
from wordforest.figures.treemap import treemap
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
    "compared",
    "differences",
    "drawable",
    "heatmap",
    "over_time",
    "project",
    "sunburst",
    "treemap",
    "trees",
    "word_map",
]
