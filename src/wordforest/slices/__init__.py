"""Texts in slices on one forest: what changed, where, and how sure are we."""

from wordforest.slices.comparison import Comparison, compare_slices
from wordforest.slices.texts import Slices, read_slices

__all__ = ["Comparison", "Slices", "compare_slices", "read_slices"]
