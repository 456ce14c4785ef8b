"""Word vectors whose dimensions form a forest, learned from raw text by hierarchical sparse coding.

The public names are listed in ``__init__.pyi`` and load on first use, so that ``import wordforest`` stays quick.
"""

from lazy_loader import attach_stub

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
