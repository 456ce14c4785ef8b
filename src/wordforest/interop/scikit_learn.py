"""scikit-learn: a vectorizer that turns documents into shares of nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from wordforest.documents.shares import DocumentShares, MeanCoder, edited
from wordforest.documents.space import word_weights
from wordforest.documents.topics import Topics, join_shares
from wordforest.errors import InputError
from wordforest.interop.source import loaded, open_source, word_shares
from wordforest.jobs.documents import chunks, topics_of
from wordforest.reading import feature_names
from wordforest.runtime.machine import Threads, available_cores
from wordforest.store import Run
from wordforest.text import Vocabulary
from wordforest.text.documents import read_documents
from wordforest.vectors import Vectors, forest_of

_FEW = 0.2  # share of values up to which sparse products are quicker


class WordForestVectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns n documents, strings or lists of tokens, into the share (n, M) that every node of a forest has in each.

    ``model`` is a run, vectors, or the path of either; nothing is learned from the documents. On an additive forest
    with its dictionary (``topics``, ``train --preset readable``) shares are those of ``wordforest documents``; on all
    other vectors, the mean over a document's words of what each has in a node and below, frequent words weighing less.
    The rules of the run say what a word is; ``tokenizer`` is the function that it was made with, where it was one of
    Python: folders keep its name alone. The roots of an additive forest share a document out: their shares add up
    to 1. A document without a known word has none.

    Examples:
        >>> import wordforest as wf
        >>> forest = wf.Forest([-1, 0, -1])
        >>> A = [[2, 1, 0], [1, 0, 0], [0, 0, 1]]
        >>> vectors = wf.Vectors(["ship", "sea", "cake"], A, forest=forest)
        >>> vectorizer = wf.WordForestVectorizer(vectors).fit()
        >>> vectorizer.transform(["A ship!", "Cake at sea"]).toarray().round(2)
        array([[1. , 0.5, 0. ],
               [0.5, 0. , 0.5]], dtype=float32)
    """

    def __init__(
        self, model: Any = None, *, tokenizer: Any = None, sparse_output: bool = True, n_jobs: int | None = None
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.sparse_output = sparse_output
        self.n_jobs = n_jobs

    def fit(self, documents: Any = None, y: Any = None) -> WordForestVectorizer:  # noqa: ARG002 scikit-learn's
        """Load the model; documents are not looked at.

        Examples:
            >>> wf.WordForestVectorizer(vectors).fit().transform(["cake"]).shape
            (1, 3)
        """
        if self.model is None:
            raise InputError("which model? Give a run, vectors, or the path of either: WordForestVectorizer(model).")
        source = open_source(model := loaded(self.model))
        self.topics_, self.edits_ = document_coder(model), source.config.get("edits", ())
        if self.tokenizer is not None:
            self.topics_ = replace(self.topics_, rules=replace(self.topics_.rules, tokenizer=self.tokenizer))
        self.vectors_ = source.vectors
        return self

    def transform(self, documents: Any) -> Any:
        """Return the shares of documents, (n, M): CSR, or an array if ``sparse_output`` is off.

        Examples:
            >>> vectorizer.transform(["a cake"]).toarray()
            array([[0., 0., 1.]], dtype=float32)
        """
        if isinstance(documents, str):
            raise InputError("expected several documents, but one string came. Put it into a list.")
        topics = self._fitted().topics_
        executor = Threads(available_cores() if self.n_jobs in (None, -1) else self.n_jobs)
        forest = topics.coder.forest
        found = join_shares([*executor.map(topics.shares, chunks(read_documents(documents)))], len(forest))
        shares = edited(DocumentShares((), found.matrix, forest, [""] * len(forest)), self.edits_).shares
        return shares if self.sparse_output else shares.toarray()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002 scikit-learn's
        """Return a name for every node, (M,): its tree, and the first label word of each node from the root down.

        Examples:
            >>> vectorizer.get_feature_names_out()
            array(['0.ship', '0.ship.ship', '1.cake'], dtype=object)
        """
        vectors = self._fitted().vectors_
        return np.array(feature_names(vectors, labels=vectors.labels), dtype=object)

    def _fitted(self) -> WordForestVectorizer:
        return self if hasattr(self, "topics_") else self.fit()  # nothing is learned, so nobody has to call fit

    def __sklearn_clone__(self) -> WordForestVectorizer:
        """Share the model with a clone, rather than copy all its arrays."""
        return type(self)(**self.get_params(deep=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.requires_fit = False
        return tags


def document_coder(model: Run | Vectors) -> Topics:
    """Return what places documents on the forest of a model: its own way, or the mean of words."""
    if isinstance(model, Run) and model.config.get("additive") and model.dictionary is not None:
        return topics_of(model)
    source = open_source(model)
    vectors = source.vectors
    counts = np.zeros(len(vectors), np.int64) if source.counts is None else source.counts
    words: Any = word_shares(vectors).astype(np.float32)
    weights = word_weights(counts) * (np.diff(words.indptr) > 0)  # a word without codes is as good as unknown
    if words.nnz > _FEW * len(vectors) * vectors.n_dimensions:
        words = words.toarray()
    coder: Any = MeanCoder(words, weights, forest_of(vectors))
    return Topics(Vocabulary(vectors.words, counts), source.rules, coder, sparse.csr_array(vectors.matrix))
