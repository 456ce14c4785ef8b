"""The scikit-learn face of the coder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from wordforest.coder.encode import encode
from wordforest.coder.forest import Forest
from wordforest.coder.online import OnlineSettings, learn_online
from wordforest.coder.penalties import ForestL2
from wordforest.execution import Threads

Array = NDArray[Any]


def _canonical(X: Any) -> Any:
    """Return a CSR matrix with sorted columns and no position stored twice; X itself if it is one."""
    if X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    return X


class ForestCoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Codes the rows of any matrix, sparse or dense, under the forest penalty.

    Minimises ``|X - A D'|^2 + lam * sum_v Omega(a_v)`` over dictionaries with columns in the unit ball; there is no 1/2
    before the loss. ``forest`` (a Forest or a list of parents) takes the place of ``n_trees`` and ``branching``.

    After ``fit``: ``components_`` (M, C), the dictionary transposed; ``forest_``; ``history_``, a list of steps;
    ``objective_``; ``n_iter_``, passes over the rows.
    """

    def __init__(
        self,
        n_trees: int = 4,
        branching: Sequence[int] = (3, 3),
        lam: float = 0.1,
        *,
        forest: Forest | Sequence[int] | None = None,
        epochs: int = 20,
        tol: float = 1e-3,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_trees = n_trees
        self.branching = branching
        self.lam = lam
        self.forest = forest
        self.epochs = epochs
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> ForestCoder:
        """Learn the dictionary from the rows of X (V, C)."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:  # noqa: ARG002 scikit-learn's signature
        """Learn the dictionary and return the codes A (V, M)."""
        X = self._validated(X, reset=True)
        self.forest_ = self._forest()
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        settings = OnlineSettings(epochs=self.epochs, tol=self.tol, seed=seed)
        learned = learn_online(X, self._penalty(), len(self.forest_), settings, executor=Threads(self.n_jobs))
        self.components_ = np.ascontiguousarray(learned.D.T)
        self.history_ = learned.history
        self.objective_ = learned.history[-1].objective
        self.n_iter_ = learned.history[-1].epoch
        return learned.A

    def transform(self, X: Any) -> Array:
        """Return the codes A (V, M) of the rows of X (V, C), solved to the end."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        D = np.ascontiguousarray(self.components_.T, dtype=X.dtype)
        return np.asarray(encode(X, D, self._penalty(), executor=Threads(self.n_jobs)).A)

    def inverse_transform(self, A: Any) -> Array:
        """Return what codes A (V, M) stand for, ``A D'``, shape (V, C)."""
        check_is_fitted(self)
        return np.asarray(A @ self.components_)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _validated(self, X: Any, *, reset: bool) -> Any:
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float32, np.float64], reset=reset)
        return _canonical(X) if sparse.issparse(X) else X

    def _forest(self) -> Forest:
        if self.forest is None:
            return Forest.complete(self.n_trees, self.branching)
        return self.forest if isinstance(self.forest, Forest) else Forest(self.forest)

    def _penalty(self) -> ForestL2:
        return ForestL2(self.forest_, self.lam)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32", "float64"]
        return tags
