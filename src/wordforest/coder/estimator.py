"""The scikit-learn face of the coder."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names_in, _check_sample_weight, check_is_fitted, validate_data

from wordforest.coder.additive import additive_penalty, encode_additive
from wordforest.coder.coding import encode
from wordforest.coder.fit import Fitted, Plan, fit, start_named
from wordforest.coder.forest import Forest
from wordforest.coder.kernels import on_host, row_squares
from wordforest.coder.learn import check_learning_fits
from wordforest.coder.losses import objective
from wordforest.coder.penalties import MostActive, NoPenalty, Penalty, forest_penalty
from wordforest.coder.rows import Rows, place_rows
from wordforest.coder.rows.base import Loss
from wordforest.coder.rows.host import is_sparse
from wordforest.coder.starts import Start
from wordforest.coder.stream import Learnt, learn_block
from wordforest.coder.weighted import encode_weighted
from wordforest.errors import InputError
from wordforest.options import OPTIONS, PRESETS, default, usual_density
from wordforest.runtime.machine import Threads, available_cores, check_device

Array = NDArray[Any]


_ACTIVE = {"epochs": 10, "tol": 1e-3}  # with a bound on the nodes that are on, where they are not given
_MOST = 4  # times mean_active: nodes that are on in any row, at most; time and memory of a row grow with its square


class ForestCoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Codes the rows of any matrix X (V, C), sparse or dense, under the forest penalty.

    Minimises ``|X - A D'|^2 + lam * sum_v Omega(a_v)`` over codes A (V, M) and dictionaries D (C, M) with columns in
    the unit ball, where ``Omega(a) = sum over nodes i of w_i |a_i and all its descendants|_2``; there is no 1/2 before
    the loss. After a nested or grown start the trees that explain most rows come first.

    After ``fit``: ``components_`` (M, C), the dictionary transposed; ``forest_``; ``lam_``; ``history_``, a list of
    steps; ``objective_``; ``price_``, what a node must lower the squared error by to be on, 0 without ``mean_active``;
    ``dual_gap_``, the worst bound over the rows on ``(objective - best objective) / |x|^2`` for
    this dictionary; ``n_iter_``, passes over the rows; ``learnt_``, what ``partial_fit``
    goes on from. The examples of the methods go on from the one below.

    Args:
        trees: Number of trees.
        branching: Children of a node at each depth; M is 13 a tree for 3,3.
        lam: Weight of the penalty; ``"auto"`` finds one for which about ``density`` of all codes are not zero.
        forest: A Forest or a list of parents, in place of ``trees`` and ``branching``.
        depth_weights: w for each depth, the last going for all below; all 1 if None.
        density: The share of codes that ``lam="auto"`` aims at; if None 0.5, or less in an additive forest.
        active: In place of lam: at most so many nodes are on in a row, none of them under one that is off, and codes
            are not shrunk. They are found greedily, so ``dual_gap_`` is NaN.
        mean_active: In place of lam and ``active``: so many nodes are on in a row on average, more in rows in which
            there is more to explain, at most four times as many. A node is on if it lowers the squared error by more
            than a price, the same for all rows, which is found on a sample of them.
        additive: A parent is on wherever a child is: it has what it has itself plus all that its children have. Rows
            are divided by their lengths, and lam is that of such rows.
        nonnegative: Keep codes at or above zero.
        nonnegative_dictionary: Keep the dictionary at or above zero.
        center: Take the mean row, ``mean_``, away first; for dense X.
        scale: Divide rows by their lengths while they are coded, so that long ones count no more than short ones; lam
            is that of such rows. An additive forest always does.
        init: Where the dictionary begins: random, rows (of X), nested (clusters of rows), grown (nested clusters that
            also find the shape of the trees, with at most as many nodes), spectral (rotated singular vectors), atoms
            (single nodes that are then nested, for rows in which many things are on at once; it finds the shape, too),
            or a Start.
        learner: online, or entries: the paper's Algorithm 1, whose weights are |x| unless they are given.
        epochs: Passes over the rows at most.
        tol: Learning ends when a pass gains less than this share of the objective.
        tol_of: With ``"penalty"`` it is a share of lam Omega, for the learner online.
        weights: How much each stored pair of X counts (all pairs of a dense X are stored): a sparse matrix with the
            pattern of X, an array (nnz,) in the order of ``X.data``, or a function that takes X and returns either.
        zeros: Weight of all pairs that are not stored; 0 is the paper's for entries.
        device: ``"cuda"`` computes on a GPU, for the learner online.
        n_jobs: Threads; None and -1 mean all cores. The bits are the same.
        random_state: Seed of the start and of the order of rows.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> X = np.array([[4.0, 2, 0, 0], [5, 3, 0, 0], [3, 1, 0, 0], [0, 0, 4, 3], [0, 0, 2, 3]])
        >>> coder = wf.ForestCoder(trees=2, branching=(2,), init="nested", random_state=0)
        >>> A = coder.fit_transform(X)
        >>> A.shape, coder.components_.shape
        ((5, 6), (6, 4))

        Nodes that are on, three in a row on average, none to eight in each:

        >>> rng = np.random.default_rng(0)
        >>> on = rng.random((400, 8)) < rng.choice([0.1, 0.6], (400, 1))  # few things are on in a row, or many
        >>> mean = wf.ForestCoder(forest=wf.Forest.flat(8), mean_active=3, init="rows", random_state=0)
        >>> n_on = np.count_nonzero(mean.fit_transform(on * rng.uniform(1, 2, on.shape)), axis=1)
        >>> round(float(n_on.mean()), 1), mean.price_ > 0
        (3.0, True)
    """

    def __init__(
        self,
        trees: int = default("trees"),
        branching: Sequence[int] = default("branching"),
        lam: float | str = default("lam"),
        *,
        forest: Forest | Sequence[int] | None = None,
        depth_weights: Sequence[float] | None = None,
        density: float | None = default("density"),
        active: int | None = None,
        mean_active: float | None = None,
        additive: bool = default("additive"),
        nonnegative: bool = default("nonnegative"),
        nonnegative_dictionary: bool = False,
        center: bool = False,
        scale: bool = False,
        init: str | Start = default("init"),
        learner: str = default("learner"),
        epochs: int | None = None,
        tol: float | None = None,
        tol_of: str = default("tol_of"),
        weights: Any = None,
        zeros: float = default("zeros"),
        device: str = default("device"),
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.trees = trees
        self.branching = branching
        self.lam = lam
        self.forest = forest
        self.depth_weights = depth_weights
        self.density = density
        self.active = active
        self.mean_active = mean_active
        self.additive = additive
        self.nonnegative = nonnegative
        self.nonnegative_dictionary = nonnegative_dictionary
        self.center = center
        self.scale = scale
        self.init = init
        self.learner = learner
        self.epochs = epochs
        self.tol = tol
        self.tol_of = tol_of
        self.weights = weights
        self.zeros = zeros
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state

    @classmethod
    def readable(cls, **more: Any) -> ForestCoder:
        """Return a coder whose trees are made to be read: additive, from nested clusters, with few nodes a row.

        lam is found for the density asked for, whatever the matrix: associations, tf-idf, dense embeddings; with
        ``active`` or ``mean_active`` there is none.

        Examples:
            >>> wf.ForestCoder.readable(trees=2).additive
            True
        """
        known = cls().get_params()
        preset = {name: value for name, value in PRESETS["readable"].settings.items() if name in known}
        if more.get("active") is not None or more.get("mean_active") is not None:
            del preset["lam"]
        return cls(**{**preset, **more})

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ForestCoder:
        """Learn the dictionary from the rows of X (V, C); a row of weight 2 counts like two rows.

        A start that looks at the data sees every row of positive weight once.

        Examples:
            >>> coder.fit(X, sample_weight=[2, 1, 1, 1, 1]).components_.shape
            (6, 4)
        """
        self.fit_transform(X, y, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:  # noqa: ARG002 scikit-learn's
        """Learn the dictionary and return the codes A (V, M).

        Examples:
            >>> coder.fit_transform(X).shape
            (5, 6)
        """
        X = self._centred(self._validated(X, reset=True), reset=True)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        fitted = fit(self._rows(X), self._plan(X, weights))
        for notice in (*fitted.learned.notices, *fitted.notes):
            if not notice.startswith("note:"):
                warnings.warn(notice, ConvergenceWarning, stacklevel=2)
        return self._keep(fitted)

    def _keep(self, fitted: Fitted) -> Array:
        learned = fitted.learned
        self._keep_forest(fitted.forest, fitted.penalty)
        self.components_ = np.ascontiguousarray(fitted.D.T)
        self.history_ = learned.history
        self.objective_ = learned.history[-1].objective
        self.dual_gap_ = learned.gap
        self.n_iter_ = sum(1 for step in learned.history if step.batch == 1)
        self.learnt_ = Learnt.of(fitted.forest, fitted.penalty, fitted.D, fitted.mean)
        return np.asarray(fitted.A)

    def _keep_forest(self, forest: Forest, penalty: Penalty) -> None:
        self.forest_, self.lam_ = forest, penalty.lam
        self.price_ = penalty.price if isinstance(penalty, MostActive) else 0.0

    def _plan(self, X: Any, sample_weight: Array | None) -> Plan:
        check_device(self.device)
        if self.learner not in ("online", "entries"):
            raise InputError(f"learner = {self.learner!r}, but it must be one of online, entries.")
        forest, loss = self._forest(), self._loss(X)
        if self.additive and (self.learner != "online" or not loss.is_plain or self.depth_weights is not None):
            raise InputError(
                "an additive forest is learned by the learner online, without weights, zeros and depth_weights. Leave "
                "them out, or additive."
            )
        self._check_active(forest, loss)
        check_learning_fits(len(forest), *X.shape)
        if sample_weight is not None and not (loss.is_plain and self.learner == "online"):
            raise InputError("rows and pairs have weights. Multiply the weights of a row's pairs by the row's instead.")
        tol_of = OPTIONS["tol_of"].check(self.tol_of)
        if tol_of != default("tol_of") and (self.additive or self.learner != "online"):
            raise InputError(
                f"tol_of = {tol_of!r} is for the learner online without additive. Leave it out, or use that."
            )
        given = {"epochs": self.epochs, "tol": self.tol, "tol_of": None if tol_of == default("tol_of") else tol_of}
        settings = {name: value for name, value in given.items() if value is not None}
        if self._is_bounded:
            settings = {**_ACTIVE, **settings} | ({"n_rows": None} if self.additive else {})
        return Plan(
            forest,
            partial(self._penalty, lam=0.0 if self._is_bounded else 1.0 if self.lam == "auto" else self.lam),
            "entries" if self.learner == "entries" else "online",
            auto_lam=self.lam == "auto",
            density=self._density(forest),
            mean_active=self.mean_active,
            start=self._start(),
            nonnegative=self.nonnegative_dictionary or (self.additive and _has_no_negatives(X)),
            loss=loss,
            word_weights=sample_weight,
            seed=self._seed(),
            settings=settings,
            additive=self.additive,
            unit=self.scale,
            centred=self.center,
        )

    @property
    def _is_bounded(self) -> bool:
        """Whether a number of nodes takes the place of lam."""
        return self.active is not None or self.mean_active is not None

    def _check_active(self, forest: Forest, loss: Loss) -> None:
        if (self._is_bounded or self.scale) and (self.learner != "online" or not loss.is_plain):
            raise InputError(
                "active, mean_active and scale are for the learner online, without weights and zeros. Leave them out."
            )
        if self.active is not None and self.mean_active is not None:
            raise InputError(
                "active is the most nodes that are on in any row, mean_active how many are on average. Leave out one "
                "of them."
            )
        if self._is_bounded and self.lam == "auto":
            name = "mean_active" if self.active is None else "active"
            raise InputError(f'{name} and lam="auto" both say how many nodes are on. Leave out one of them.')
        if self.mean_active is not None and not 0 < self.mean_active <= len(forest):
            raise InputError(
                f"mean_active = {self.mean_active}, but more than 0 nodes are on in a row on average, and at most "
                f"{len(forest)}, as many as the forest has."
            )

    def partial_fit(self, X: Any, y: Any = None) -> ForestCoder:  # noqa: ARG002 scikit-learn's signature
        """Go on learning with more rows, (n, C). What was learned before stays in sums of fixed size, not in rows.

        The first rows decide what looks at rows: the start, the mean, and outside of additive forests ``lam="auto"``.
        So give as many of them as fit into memory. The price of ``mean_active`` is found on every block, for the
        dictionary after it. ``wf.interop.fit_rows`` calls this for files and generators.

        Examples:
            >>> online = wf.ForestCoder(trees=2, branching=(2,), random_state=0)
            >>> online.partial_fit(X[:3]).partial_fit(X[3:]).components_.shape
            (6, 4)
        """
        first = not hasattr(self, "components_")
        X = self._centred(self._validated(X, reset=first), reset=first)
        learnt = learn_block(self._rows(X), self._plan(X, None), None if first else self.learnt_)
        self._keep_learnt(learnt)
        return self

    def restore(self, arrays: dict[str, Array]) -> ForestCoder:
        """Take up what ``learnt_.arrays()`` of a coder with the same settings has written down.

        Examples:
            >>> again = wf.ForestCoder(**coder.get_params()).restore(coder.learnt_.arrays())
            >>> np.array_equal(again.transform(X), coder.transform(X))
            True
        """
        self.n_features_in_ = len(arrays["D"])
        none = np.zeros((1, self.n_features_in_), dtype=arrays["D"].dtype)
        self._keep_learnt(Learnt.load(self._plan(none, None), arrays))
        return self

    def _keep_learnt(self, learnt: Learnt) -> None:
        self.learnt_ = learnt
        self._keep_forest(learnt.forest, learnt.penalty)
        self.components_ = np.ascontiguousarray(learnt.atoms.T)
        self.dual_gap_ = float("nan")

    def transform(self, X: Any) -> Array:
        """Return the codes A (V, M) of the rows of X (V, C).

        Without weights of pairs each row is certain to be within 1e-6 ``|x|^2`` of its best objective, in float64
        within 1e-9; with ``active`` nothing is certain but the number of nodes. With ``mean_active`` the price is that
        of ``fit``, so other rows may have more or fewer nodes on, on average.

        Examples:
            >>> coder.transform(X[:2]).shape
            (2, 6)
        """
        check_is_fitted(self)
        check_device(self.device)
        X = self._centred(self._validated(X, reset=False))
        rows, penalty = self._rows(X), self._penalty(self.forest_, self.lam_)
        D = np.ascontiguousarray(self.components_.T, dtype=X.dtype)
        loss = Loss() if self.learner == "entries" else self._loss(X, fitting=False)
        if not loss.is_plain:
            return np.asarray(on_host(encode_weighted(rows, loss, D, penalty)))
        lengths = rows.lengths() if self.scale else None
        if self.additive:
            codes = encode_additive(rows, D, self.forest_, self.lam_, active=self._most(self.forest_))
        else:
            codes = encode(rows, D, penalty, lengths=lengths)
        if not codes.converged:
            warnings.warn(f"the worst relative gap is {codes.gap:.1e}", ConvergenceWarning, stacklevel=2)
        A = np.asarray(on_host(codes.A))
        return A if lengths is None or self.additive else A * lengths.astype(A.dtype)[:, None]

    def inverse_transform(self, A: Any) -> Array:
        """Return what codes A (V, M) stand for, ``A D'``, shape (V, C), with ``center`` plus the mean row.

        Examples:
            >>> coder.inverse_transform(A[:2]).round().astype(int)
            array([[4, 2, 0, 0],
                   [5, 3, 0, 0]])
        """
        check_is_fitted(self)
        X = np.asarray(A @ self.components_)
        return X + self.mean_ if self.center else X

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002 scikit-learn's signature
        """Return the share of ``|X|^2`` that the codes of X (V, C) explain, ``1 - |X - A D'|^2 / |X|^2``; 1 is all.

        With ``center`` X is taken less the mean row: the share of the variance.

        Examples:
            >>> coder.score(X) > 0.99
            True
        """
        A = self.transform(X)
        X = self._centred(self._validated(X, reset=False))
        energy = float(row_squares(X).sum())
        loss = objective(X, self.components_.T, A, NoPenalty())
        return 1 - loss / energy if energy > 0 else 1.0

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return a name for every column of A, (M,): its node, then the two columns of X that are strongest there.

        Such as ``130.oil.opec``. Where no names of the columns of X are known or given, they are ``forestcoder130``.

        Examples:
            >>> coder.get_feature_names_out(["bike", "wheel", "cake", "sugar"])[0]
            '0.bike.wheel'
        """
        check_is_fitted(self)
        columns = _check_feature_names_in(self, input_features, generate_names=False)
        if columns is None:
            return np.asarray(super().get_feature_names_out(), dtype=object)
        strongest = np.argsort(-self.components_, axis=1, kind="stable")[:, :2]
        return np.array(
            [
                ".".join([str(node), *(str(columns[i]) for i in best if atom[i] > 0)])
                for node, (atom, best) in enumerate(zip(self.components_, strongest, strict=True))
            ],
            dtype=object,
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _validated(self, X: Any, *, reset: bool) -> Any:
        return validate_data(self, X, accept_sparse="csr", dtype=[np.float32, np.float64], reset=reset)

    def _centred(self, X: Any, *, reset: bool = False) -> Any:
        """Return X less its mean row, which is looked at where ``reset`` says so."""
        if not self.center:
            return X
        if not isinstance(X, np.ndarray):
            raise InputError("center would fill a sparse X. Give a dense array, or leave center out.")
        if reset:
            self.mean_ = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        return X - self.mean_.astype(X.dtype)

    def _rows(self, X: Any) -> Rows:
        """Return X where learning takes place."""
        return place_rows(X, self.device, len(self._forest()), self._executor())

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

    def _density(self, forest: Forest) -> float:
        levels = int(forest.depth.max()) + 1
        given = OPTIONS["density"].check(self.density)
        return usual_density(self.additive, len(forest), levels) if given is None else float(given)

    def _start(self) -> Start:
        return start_named(self.init, drawn=True) if isinstance(self.init, str) else self.init

    def _loss(self, X: Any, *, fitting: bool = True) -> Loss:
        """Return the loss over the stored pairs of X."""
        weights = self.weights
        if callable(weights):
            weights = weights(X) if X is not None else weights
        elif weights is not None and not fitting:
            raise InputError("these weights are of the pairs of fit. Give a function of X as weights to code new rows.")
        if is_sparse(weights):
            weights = weights.tocsr()
            same = is_sparse(X) and weights.shape == X.shape and np.array_equal(weights.indptr, X.indptr)
            if not (same and np.array_equal(weights.indices, X.indices)):
                raise InputError("weights and X do not store the same pairs in the same order. Sort both, or rebuild.")
            weights = weights.data
        return Loss(weights if weights is None or callable(weights) else np.ravel(weights), self.zeros)

    def _penalty(self, forest: Forest, lam: Any) -> Penalty:
        most = self._most(forest)
        if self.additive:
            return additive_penalty(forest, lam, most)
        if most is not None:
            return MostActive(forest, most, self.nonnegative, lam)
        return forest_penalty(forest, lam, self.depth_weights, nonnegative=self.nonnegative)

    def _most(self, forest: Forest) -> int | None:
        """Return how many nodes are on in a row, at most; None if lam alone says so."""
        return self.active if self.mean_active is None else min(len(forest), ceil(_MOST * self.mean_active))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32", "float64"]
        return tags


def _has_no_negatives(X: Any) -> bool:
    """Say whether no value of a matrix, sparse or dense, is below zero."""
    return bool(np.min(X.data if is_sparse(X) else X, initial=0) >= 0)
