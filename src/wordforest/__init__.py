"""Word vectors whose dimensions form a forest, learned from raw text by hierarchical sparse coding.

The public names are listed in ``__init__.pyi`` and load on first use, so that ``import wordforest`` stays quick.
"""

from lazy_loader import attach_stub

__getattr__, _, __all__ = attach_stub(__name__, __file__)
__all__.remove("__version__")  # there, but no name that people look for


def __dir__() -> list[str]:
    return [*__all__]
