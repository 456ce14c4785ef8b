"""A page to walk through the forest: served on this machine, or written as one file to send."""

from wordforest.explorer.model import Model, build_model, complete, summary
from wordforest.explorer.views import analogy, comparison, node_card, word_forest, word_view

__all__ = [
    "Model",
    "analogy",
    "build_model",
    "comparison",
    "complete",
    "node_card",
    "summary",
    "word_forest",
    "word_view",
]
