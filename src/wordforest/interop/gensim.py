"""gensim: KeyedVectors in memory, both ways."""

from __future__ import annotations

from typing import Any

from wordforest.errors import MissingExtraError
from wordforest.interop.source import Model, open_source
from wordforest.vectors import Vectors


def to_gensim(model: Model) -> Any:
    """Return gensim's KeyedVectors of all words; how often a word occurs, if known, is its attribute ``count``.

    Examples:
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["hot", "warm", "cold"], [[2, 0], [1, 1], [-1, 0]])
        >>> keyed = wf.interop.to_gensim(vectors)  # needs: gensim
        >>> keyed.most_similar("hot", topn=1)[0][0]
        'warm'
    """
    try:
        from gensim.models import KeyedVectors
    except ImportError as error:
        raise MissingExtraError("a KeyedVectors", "gensim") from error
    vectors, counts, _ = open_source(model)
    keyed = KeyedVectors(vectors.n_dimensions)
    keyed.add_vectors([*vectors.words], vectors.comparable.dense)
    keyed.fill_norms()
    keyed.norms[keyed.norms == 0] = 1  # words without a code: gensim would divide 0 by 0
    if counts is not None:
        keyed.allocate_vecattrs(["count"], [counts.dtype])
        keyed.expandos["count"][:] = counts
    return keyed


def from_gensim(keyed: Any) -> Vectors:
    """Return the vectors (V, M) of KeyedVectors, or of a model of gensim that has them.

    Examples:
        >>> import wordforest as wf
        >>> from gensim.models import KeyedVectors  # needs: gensim
        >>> keyed = KeyedVectors(2)
        >>> keyed.add_vectors(["hot", "cold"], [[1.0, 2.0], [2.0, 1.0]])
        >>> wf.interop.from_gensim(keyed)
        Vectors(2 words, 2 dimensions, forest=None)
    """
    keyed = getattr(keyed, "wv", keyed)
    return Vectors(keyed.index_to_key, keyed.vectors)
