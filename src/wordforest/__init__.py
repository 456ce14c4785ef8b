"""Word vectors whose dimensions form a forest, learned from raw text by hierarchical sparse coding.

The public names are listed in ``__init__.pyi`` and load on first use, so that ``import wordforest`` stays quick.
"""

from typing import Any

from lazy_loader import attach_stub

_loaded, __dir__, __all__ = attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__version__":  # written once, in pyproject.toml
        from importlib.metadata import version

        return version("wordforest")
    return _loaded(name)
