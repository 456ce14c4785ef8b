"""Pictures of vectors. Each function takes vectors and words and returns a matplotlib Figure to save."""

from wordforest.figures.heatmap import heatmap
from wordforest.figures.trees import trees
from wordforest.figures.words import ANIMALS, COUNTRIES, present_words

__all__ = ["ANIMALS", "COUNTRIES", "heatmap", "present_words", "trees"]
