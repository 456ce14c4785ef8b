"""Hierarchical sparse coding: forest, penalties, solvers, learners. Knows matrices, nothing of text."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
