"""Plugs to the tools that people use: one file for each, none of them needed by the rest of the package.

A plug takes a run, vectors, or the path of either; those of matrices take a coder. What goes out has the cosines of
``Vectors.similarity``: where these are of ``Vectors.comparable``, as in additive forests, so are the rows that other
tools get.
The names are listed in ``__init__.pyi`` and load on first use.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
