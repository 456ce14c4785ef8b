"""Words and their vectors: words as people spell them, matrices that nobody writes to, and what can be asked."""

from wordforest.vectors.matrices import CSR, Dense, first_non_finite_row
from wordforest.vectors.notes import NodeNote, as_notes
from wordforest.vectors.spelling import UnknownWordError, WordIndex, is_marker
from wordforest.vectors.vectors import Neighbors, Vectors, check_k, forest_of, largest

__all__ = [
    "CSR",
    "Dense",
    "Neighbors",
    "NodeNote",
    "UnknownWordError",
    "Vectors",
    "WordIndex",
    "as_notes",
    "check_k",
    "first_non_finite_row",
    "forest_of",
    "is_marker",
    "largest",
]
