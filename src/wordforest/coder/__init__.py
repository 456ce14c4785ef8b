"""Hierarchical sparse coding: forest, penalties, solvers, learners. Knows matrices, nothing of text."""
