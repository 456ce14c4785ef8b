"""What lies on the disk: RUN and COUNTS folders, checkpoints, locks, and files of vectors of other tools.

The names are listed in ``__init__.pyi`` and load on first use.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
