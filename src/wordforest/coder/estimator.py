"""The scikit-learn face of the coder."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from wordforest.coder.dictionary import CodeStats, update_dictionary, update_nonnegative_dictionary
from wordforest.coder.encode import as_rows, check_learning_fits, encode
from wordforest.coder.forest import Forest
from wordforest.coder.kernels import DeviceRows, Precision, check_device, check_precision, on_host
from wordforest.coder.kernels.stream import place_rows
from wordforest.coder.losses import Loss
from wordforest.coder.objective import objective, row_squares
from wordforest.coder.online import Learned, OnlineSettings, learn_online
from wordforest.coder.penalties import ForestL2, NoPenalty, depth_weights
from wordforest.coder.shape import in_order
from wordforest.coder.spectral import SpectralStart
from wordforest.coder.start import Begun, NestedStart, RandomStart, RowStart, Start
from wordforest.coder.weighted import WeightedSettings, encode_weighted, learn_weighted
from wordforest.errors import InputError
from wordforest.runtime.threads import Threads, available_cores

Array = NDArray[Any]

_STARTS: dict[str, Start] = {
    "random": RandomStart(),
    "rows": RowStart(),
    "nested": NestedStart(drawn=True),
    "grown": NestedStart(drawn=True, grow=True),
    "spectral": SpectralStart(),
}


class ForestCoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Codes the rows of any matrix, sparse or dense, under the forest penalty.

    Minimises ``|X - A D'|^2 + lam * sum_v Omega(a_v)`` over dictionaries with columns in the unit ball; there is no
    1/2 before the loss. ``forest`` (a Forest or a list of parents) takes the place of ``trees`` and
    ``branching``; ``depth_weights`` gives a weight of the penalty for each depth, the last going for all below;
    ``nonnegative`` keeps codes at or above zero, ``nonnegative_dictionary`` the dictionary. ``init`` says where the
    dictionary begins: random, rows of X, nested clusters of rows, grown (nested clusters that also find the shape
    of the trees, with at most as many nodes), spectral (rotated singular vectors), or a Start object. ``weights``
    says how much each stored pair of a sparse X counts: a sparse matrix with the pattern of X, an array in the
    order of ``X.data``, or a function that takes X and returns either; ``zeros`` is the weight of all pairs that
    are not stored. After a nested or grown start the trees that explain most rows come first. ``device="cuda"``
    fits and transforms on a graphics card, ``partial_fit`` is the processor's; ``precision`` tf32 or bfloat16 takes
    the dense products of learning there with fewer digits, those of the last pass never.

    After ``fit``: ``components_`` (M, C), the dictionary transposed; ``forest_``; ``history_``, a list of steps;
    ``objective_``; ``dual_gap_``, the worst bound over the rows on ``(objective - best objective) / |x|^2`` for this
    dictionary; ``n_iter_``, passes over the rows.
    """

    def __init__(
        self,
        trees: int = 4,
        branching: Sequence[int] = (3, 3),
        lam: float = 0.1,
        *,
        forest: Forest | Sequence[int] | None = None,
        depth_weights: Sequence[float] | None = None,
        nonnegative: bool = False,
        nonnegative_dictionary: bool = False,
        init: str | Start = "random",
        epochs: int = 100,
        tol: float = 5e-3,
        weights: Any = None,
        zeros: float = 1.0,
        device: str = "cpu",
        precision: Precision = "float32",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.trees = trees
        self.branching = branching
        self.lam = lam
        self.forest = forest
        self.depth_weights = depth_weights
        self.nonnegative = nonnegative
        self.nonnegative_dictionary = nonnegative_dictionary
        self.init = init
        self.epochs = epochs
        self.tol = tol
        self.weights = weights
        self.zeros = zeros
        self.device = device
        self.precision = precision
        self.n_jobs = n_jobs
        self.random_state = random_state

    @classmethod
    def readable(cls, trees: int = 20, branching: Sequence[int] = (3, 3), lam: float = 0.8, **more: Any) -> ForestCoder:
        """Return a coder whose trees are made to be read: nested clusters, few and non-negative codes.

        For counts or positive associations also pass ``nonnegative_dictionary=True``.
        """
        settings = {"depth_weights": (0.5, 0.8, 1.0), "nonnegative": True, "init": "nested", **more}
        return cls(trees, branching, lam, **settings)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ForestCoder:
        """Learn the dictionary from the rows of X (V, C); a row of weight 2 counts like two rows.

        A start that looks at the data sees every row of positive weight once.
        """
        self.fit_transform(X, y, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:  # noqa: ARG002 scikit-learn's
        """Learn the dictionary and return the codes A (V, M)."""
        X = self._validated(X, reset=True)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        check_device(self.device)
        check_precision(self.precision, card=self.device == "cuda", single=X.dtype == np.float32)
        loss = self._loss(X)
        learned = self._learn(X, weights) if loss.is_plain else self._learn_weighted(X, loss, weights)
        for notice in learned.notices:
            warnings.warn(notice, ConvergenceWarning, stacklevel=2)
        A, D = self._in_order(on_host(learned.A), on_host(learned.D))
        self.components_ = np.ascontiguousarray(D.T)
        self.history_ = learned.history
        self.objective_ = learned.history[-1].objective
        self.dual_gap_ = learned.gap
        self.n_iter_ = learned.history[-1].epoch - 1
        self.__dict__.pop("_stats", None)
        return A

    def _learn(self, X: Any, weights: Array | None) -> Learned:
        settings = OnlineSettings(
            epochs=self.epochs, tol=self.tol, seed=self._seed(), nonnegative=self.nonnegative_dictionary,
            revive=not isinstance(self._start(), NestedStart), precision=self.precision,
        )  # fmt: skip
        D = self._begin(X if weights is None or not weights.any() else X[weights > 0], settings.seed).D
        return learn_online(
            self._placed(X), self._penalty(), len(self.forest_), settings,
            start=D, weights=weights, executor=self._executor(),
        )  # fmt: skip

    def _learn_weighted(self, X: Any, loss: Loss, weights: Array | None) -> Learned:
        if weights is not None:
            raise InputError("rows and pairs have weights. Multiply the weights of a row's pairs by the row's instead.")
        settings = WeightedSettings(
            epochs=self.epochs, tol=self.tol, seed=self._seed(), nonnegative=self.nonnegative_dictionary
        )
        begun = self._begin(X, settings.seed, loss)
        return learn_weighted(
            self._placed(X, streamed=False), loss, self._penalty(), len(self.forest_), settings,
            start=(begun.D, begun.A), executor=self._executor(),
        )  # fmt: skip

    def partial_fit(self, X: Any, y: Any = None) -> ForestCoder:  # noqa: ARG002 scikit-learn's signature
        """Go on learning with more rows. What was learned before stays in sums of fixed size, not in rows."""
        if not Loss(self.weights, self.zeros).is_plain:
            raise InputError("under weights no sums of fixed size tell what was learned before. Use fit.")
        first = not hasattr(self, "components_")
        X = as_rows(self._validated(X, reset=first))
        if first:
            self.components_ = self._begin(X, self._seed()).D.T.astype(X.dtype)
        D = np.ascontiguousarray(self.components_.T, dtype=X.dtype)
        codes = encode(X, D, self._penalty(), executor=self._executor())
        seen = CodeStats(codes.A.T @ codes.A, np.asarray(X.T @ codes.A))
        before: CodeStats | None = getattr(self, "_stats", None)
        self._stats = seen if before is None else before + seen
        update = update_nonnegative_dictionary if self.nonnegative_dictionary else update_dictionary
        D = update(D, self._stats, D.T @ D, executor=self._executor())
        if not np.isfinite(D).all():
            raise InputError("the dictionary is not finite: the values of X are too large. Scale the data.")
        self.components_ = np.ascontiguousarray(D.T)
        self.dual_gap_ = codes.gap
        return self

    def transform(self, X: Any) -> Array:
        """Return the codes A (V, M) of the rows of X (V, C).

        Each row is certain to be within 1e-6 ``|x|^2`` of its best objective, in float64 within 1e-9.
        """
        check_is_fitted(self)
        check_device(self.device)
        X = self._validated(X, reset=False)
        D = np.ascontiguousarray(self.components_.T, dtype=X.dtype)
        loss = self._loss(X, fitting=False)
        if not loss.is_plain:
            placed = self._placed(X, streamed=False)
            return np.asarray(on_host(encode_weighted(placed, loss, D, self._penalty(), executor=self._executor())))
        codes = encode(self._placed(X), D, self._penalty(), executor=self._executor())
        if not codes.converged:
            warnings.warn(f"the worst relative gap is {codes.gap:.1e}", ConvergenceWarning, stacklevel=2)
        return np.asarray(on_host(codes.A))

    def inverse_transform(self, A: Any) -> Array:
        """Return what codes A (V, M) stand for, ``A D'``, shape (V, C)."""
        check_is_fitted(self)
        return np.asarray(A @ self.components_)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002 scikit-learn's signature
        """Return the share of ``|X|^2`` that the codes of X explain; 1 is all."""
        A = self.transform(X)
        X = self._validated(X, reset=False)
        energy = float(row_squares(X).sum())
        loss = objective(X, self.components_.T, A, NoPenalty())
        return 1 - loss / energy if energy > 0 else 1.0

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _validated(self, X: Any, *, reset: bool) -> Any:
        return validate_data(self, X, accept_sparse="csr", dtype=[np.float32, np.float64], reset=reset)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _executor(self) -> Threads:
        """Return as many threads as ``n_jobs`` says: None and -1 mean all cores, -2 all but one, and so on."""
        n = self.n_jobs
        return Threads(max(1, available_cores() + 1 + n) if n is not None and n < 0 else n)

    def _forest(self) -> Forest:
        if self.forest is None:
            return Forest.complete(self.trees, self.branching)
        return self.forest if isinstance(self.forest, Forest) else Forest(self.forest)

    def _placed(self, X: Any, *, streamed: bool = True) -> Any:
        """Return X where learning takes place; ``streamed`` if it may stay behind where it does not fit."""
        if self.device == "cpu":
            return X
        if hasattr(X, "tocsr"):
            return place_rows(X, self.device, len(self.forest_)) if streamed else DeviceRows.put(X, self.device)
        import torch

        return torch.as_tensor(X, device=self.device)

    def _start(self) -> Start:
        if not isinstance(self.init, str):
            return self.init
        if self.init not in _STARTS:
            raise InputError(f"init = {self.init!r}, but it must be one of {', '.join(_STARTS)}, or a Start object.")
        return _STARTS[self.init]

    def _loss(self, X: Any, *, fitting: bool = True) -> Loss:
        """Return the loss over the stored pairs of X."""
        weights = self.weights
        if callable(weights):
            weights = weights(X)
        elif weights is not None and not fitting:
            raise InputError("these weights are of the pairs of fit. Give a function of X as weights to code new rows.")
        if hasattr(weights, "tocsr"):
            weights = weights.tocsr()
            same = hasattr(X, "indptr") and weights.shape == X.shape and np.array_equal(weights.indptr, X.indptr)
            if not (same and np.array_equal(weights.indices, X.indices)):
                raise InputError("weights and X do not store the same pairs in the same order. Sort both, or rebuild.")
            weights = weights.data
        return Loss(weights, self.zeros)

    def _begin(self, X: Any, seed: int, loss: Loss | None = None) -> Begun:
        """Return where the dictionary begins, and set the forest it is for."""
        start, forest = self._start(), self._forest()
        check_learning_fits(X.shape[0], X.shape[1], len(forest))
        if loss is not None and isinstance(start, SpectralStart):
            start = replace(start, loss=loss)
        first = start(X, forest, nonnegative=self.nonnegative_dictionary, seed=seed, executor=self._executor())
        self.forest_ = first.forest
        return first

    def _in_order(self, A: Array, D: Array) -> tuple[Array, Array]:
        """Put the strongest trees of a nested start first; take out nodes of a grown one that no row uses."""
        start = self._start()
        if not isinstance(start, NestedStart):
            return A, D
        self.forest_, A, D = in_order(self.forest_, A, D, prune=start.grow)
        return A, D

    def _penalty(self) -> ForestL2:
        weights = None
        if self.depth_weights is not None and len(self.depth_weights):
            deeper = [self.depth_weights[-1]] * int(self.forest_.depth.max())
            weights = depth_weights(self.forest_, [*self.depth_weights, *deeper])
        return ForestL2(self.forest_, self.lam, weights, self.nonnegative)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32", "float64"]
        return tags
