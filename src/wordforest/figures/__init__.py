"""Pictures of vectors and runs. Each function takes data and returns a matplotlib Figure to save."""

from wordforest.figures.colors import COLORBLIND, PALETTES, PAPER, Palette
from wordforest.figures.curve import curve
from wordforest.figures.heatmap import heatmap, heatmap_blocks
from wordforest.figures.look import PRINT, SCREEN, Look
from wordforest.figures.maps import word_map
from wordforest.figures.trees import trees
from wordforest.figures.tsne import Projection, project
from wordforest.figures.words import (
    ANIMALS,
    BAD,
    COUNTRIES,
    GOOD,
    MAN,
    WOMAN,
    WORD_LISTS,
    nearest_groups,
    present_words,
)

__all__ = [
    "ANIMALS",
    "BAD",
    "COLORBLIND",
    "COUNTRIES",
    "GOOD",
    "MAN",
    "PALETTES",
    "PAPER",
    "PRINT",
    "SCREEN",
    "WOMAN",
    "WORD_LISTS",
    "Look",
    "Palette",
    "Projection",
    "curve",
    "heatmap",
    "heatmap_blocks",
    "nearest_groups",
    "present_words",
    "project",
    "trees",
    "word_map",
]
