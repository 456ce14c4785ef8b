"""Where X lives. Every matrix is ``Rows``; solvers, starts and learners ask nothing else of it."""

from wordforest.coder.rows.base import Rows, Words, split_blocks
from wordforest.coder.rows.host import as_rows, place_rows

__all__ = ["Rows", "Words", "as_rows", "place_rows", "split_blocks"]
